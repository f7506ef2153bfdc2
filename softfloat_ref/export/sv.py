"""A circuit as a combinational module in synthesizable SystemVerilog.

Every operand has the width of its operation, so that the context rules of IEEE 1800-2017, 11.6, extend nothing; what is
wider is a concatenation, whose parts stand by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from softfloat_ref.base.systemverilog import KEYWORDS, sv_name
from softfloat_ref.export.plan import FLIPPED, PrintPlan, by_stage, is_atom, make_plan, wrap_line
from softfloat_ref.symbolic.circuit import Circuit, CircuitPort
from softfloat_ref.symbolic.terms import Term, signed

_MIN_HEX: Final = 10  # constants below are decimal
_TITLE_LENGTH: Final = 74


def sv_text(circuits: Sequence[Circuit]) -> str:
    """The modules."""
    lines = ["// SPDX-License-Identifier: 0BSD"]
    for circuit in circuits:
        lines += ["", *_Module(circuit).lines()]
    return "\n".join([*lines, ""])


class _Module:
    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.plan: PrintPlan = make_plan(circuit, {*KEYWORDS, *_names(circuit)}, _needs)
        self.lanes = {name: (port, k) for port in circuit.inputs for k, name in enumerate(port.names)}

    def lines(self) -> Iterator[str]:
        """The definition."""
        circuit = self.circuit
        yield from (f"// {line}".rstrip() for line in circuit.comment.splitlines())
        yield "// Bits that no result depends on are among the wires, and synthesis removes them."
        yield "// verilator lint_off UNUSEDSIGNAL"
        yield f"module {circuit.name} ("
        ports = [("input ", p) for p in circuit.inputs] + [("output", p) for p in circuit.outputs]
        for k, (direction, port) in enumerate(ports):
            yield f"  {_declared(direction, port)}{',' if k < len(ports) - 1 else ''}{_note(port)}"
        yield ");"
        for stage, terms in by_stage(self.plan):
            yield from ("", f"  // {'-' * (_TITLE_LENGTH - len(stage))} {stage}")
            for t in terms:
                yield from wrap_line(f"  wire {_range(t.width)}{self.plan.names[t]} = {self.whole(t)};", "  ")
        yield ""
        for port in circuit.outputs:
            lanes = [self.text(circuit.terms[n]) for n in reversed(port.names)]
            value = lanes[0] if port.lanes == 1 else f"{{{', '.join(lanes)}}}"
            yield from wrap_line(f"  assign {sv_name(port.name)} = {value};", "  ")
        yield "endmodule"
        yield "// verilator lint_on UNUSEDSIGNAL"

    # -- expressions

    def text(self, t: Term) -> str:
        """The name of a term, or its expression."""
        if t.op == "var":
            return self.bits(t, t.width - 1, 0)
        return self.plan.names.get(t) or self.whole(t)

    def atom(self, t: Term) -> str:
        """An operand."""
        text = self.text(t)
        return text if is_atom(text) else f"({text})"

    def unary(self, sign: str, t: Term) -> str:
        """An operator before an operand, which must be a primary; Yosys reads ~8'(x) as (~8)'(x)."""
        text = self.atom(t)
        return f"{sign}({text})" if text[0] in "!~-" or "'(" in text else f"{sign}{text}"

    def bits(self, t: Term, high: int, low: int) -> str:
        """Bits of a variable or a stated term."""
        width = t.width
        name = self.plan.names[t]
        if t.op == "var":
            port, lane = self.lanes[t.value]
            name, width = sv_name(port.name), port.width * port.lanes
            high, low = high + lane * port.width, low + lane * port.width
        if (high, low) == (width - 1, 0):
            return name
        return f"{name}[{high}]" if high == low else f"{name}[{high}:{low}]"

    def joined(self, t: Term) -> str:
        """A term, which is a concatenation or an extension, by its parts."""
        return f"{{{', '.join(self._parts(t))}}}"

    def _parts(self, t: Term) -> Iterator[str]:
        if t.op == "zext":
            yield _number(0, t.width - t.args[0].width)
        for a in t.args:
            yield from [self.text(a)] if a in self.plan.names or a.op not in ("concat", "zext") else self._parts(a)

    def whole(self, t: Term) -> str:
        """The expression of a term."""
        return _number(t.value, t.width) if t.is_const else _EXPRESSIONS[t.op](self, t)


def _names(circuit: Circuit) -> list[str]:
    return [circuit.name, *(sv_name(p.name) for p in (*circuit.inputs, *circuit.outputs))]


def _declared(direction: str, port: CircuitPort) -> str:
    return f"{direction} logic {_range(port.width * port.lanes)}{sv_name(port.name)}"


def _note(port: CircuitPort) -> str:
    lanes = f"{port.lanes} lanes of {port.width} bits, lane 0 lowest" if port.lanes > 1 else ""
    words = "; ".join(filter(None, (port.comment, lanes)))
    return f"  // {words}" if words else ""


def _range(width: int) -> str:
    return "" if width == 1 else f"[{width - 1}:0] "


def _number(value: int, width: int) -> str:
    if width == 1:
        return f"1'b{value}"
    return f"{width}'d{value}" if value < _MIN_HEX else f"{width}'h{value:x}"


def _needs(t: Term) -> Iterable[Term]:
    if t.op in ("udiv", "urem"):
        return t.args
    return t.args if t.op == "extract" or (t.op == "sext" and t.args[0].width > 1) else ()


_Expression = Callable[[_Module, Term], str]


def _infix(sign: str, of_bits: str = "") -> _Expression:
    def text(m: _Module, t: Term) -> str:
        own = of_bits if of_bits and t.width == 1 else sign
        return f" {own} ".join(m.atom(a) for a in t.args)

    return text


def _not(m: _Module, t: Term) -> str:
    a = t.args[0]
    if a not in m.plan.names and a.op in ("eq", "ult", "slt"):
        return _compared(m, a, {"eq": "!=", "ult": ">=", "slt": ">="}[a.op])
    return m.unary("!" if t.width == 1 else "~", a)


def _compared(m: _Module, t: Term, sign: str) -> str:
    a, b = t.args
    if a.is_const:
        a, b, sign = b, a, FLIPPED[sign]
    side = _as_signed if t.op == "slt" else _Module.atom
    return f"{side(m, a)} {sign} {side(m, b)}"


def _as_signed(m: _Module, t: Term) -> str:
    if not t.is_const:
        return f"$signed({m.text(t)})"
    value = signed(t.value, t.width)
    return f"-{t.width}'sd{-value}" if value < 0 else f"{t.width}'sd{value}"


def _divided(m: _Module, t: Term) -> str:
    a, b = t.args
    text = f"{m.atom(a)} {'/' if t.op == 'udiv' else '%'} {m.atom(b)}"
    if b.is_const and b.value:
        return text
    other = _number((1 << t.width) - 1, t.width) if t.op == "udiv" else m.atom(a)
    return f"({m.atom(b)} == {_number(0, b.width)}) ? {other} : ({text})"


def _zext(m: _Module, t: Term) -> str:
    a = t.args[0]
    named = a in m.plan.names or (a.op == "extract" and a.args[0] in m.plan.names)
    return f"{t.width}'({m.text(a)})" if named else m.joined(t)


def _sext(m: _Module, t: Term) -> str:
    a = t.args[0]
    if a.width == 1:
        return f"{{{t.width}{{{m.text(a)}}}}}"
    sign, n = m.bits(a, a.width - 1, a.width - 1), t.width - a.width
    return f"{{{sign if n == 1 else f'{{{n}{{{sign}}}}}'}, {m.text(a)}}}"


def _ite(m: _Module, t: Term) -> str:
    c, a, b = t.args
    return f"{m.atom(c)} ? {m.atom(a)} : {m.text(b) if b.op == 'ite' else m.atom(b)}"


_EXPRESSIONS: Final[dict[str, _Expression]] = {
    "not": _not,
    "neg": lambda m, t: m.unary("-", t.args[0]),
    "and": _infix("&", "&&"),
    "or": _infix("|", "||"),
    "xor": _infix("^"),
    "add": _infix("+"),
    "sub": _infix("-"),
    "mul": _infix("*"),
    "udiv": _divided,
    "urem": _divided,
    "shl": _infix("<<"),
    "lshr": _infix(">>"),
    "ashr": lambda m, t: f"$unsigned($signed({m.text(t.args[0])}) >>> {m.atom(t.args[1])})",
    "eq": lambda m, t: _compared(m, t, "=="),
    "ult": lambda m, t: _compared(m, t, "<"),
    "slt": lambda m, t: _compared(m, t, "<"),
    "ite": _ite,
    "concat": _Module.joined,
    "extract": lambda m, t: m.bits(t.args[0], *t.value),
    "zext": _zext,
    "sext": _sext,
}
