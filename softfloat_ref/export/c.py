"""A circuit as C99: a function of 64-bit words, without dependencies; or a call of the C library's core."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from softfloat_ref.base.systemverilog import sv_name
from softfloat_ref.export.branches import Branches, BranchPath, ChoiceGroup, branches
from softfloat_ref.export.core_functions import CoreFunction, core_text
from softfloat_ref.export.plan import FLIPPED, PrintPlan, is_atom, make_plan, wrap_line
from softfloat_ref.export.words import WORD, on_words
from softfloat_ref.symbolic.circuit import Circuit, CircuitPort
from softfloat_ref.symbolic.terms import Term, subterms

_C_KEYWORDS: Final = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
main errno"""
_LIBRARY_NAMES: Final = """
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh div erf erfc exp exp2 expm1 fabs fdim floor fma
fmax fmin fmod frexp hypot ldexp lgamma log log10 log1p log2 logb modf nearbyint nextafter pow remainder remquo rint
round scalbn scalbln sin sinh sqrt tan tanh tgamma trunc"""
KEYWORDS: Final = frozenset((_C_KEYWORDS + _LIBRARY_NAMES).split())  # and functions that compilers know
_CAST: Final = "(uint64_t)"
_LONG_LITERAL_BITS: Final = 32
_MIN_HEX: Final = 10  # constants below are decimal


def c_text(circuits: Sequence[Circuit], header: str | None = None) -> str:
    """The functions. header: the file that declares them; None to declare them here."""
    lines = ["// SPDX-License-Identifier: 0BSD", "#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>"]
    lines += [f'#include "{header}"', ""] if header else ["", *_declarations(circuits)]
    if words := {x.word for x in circuits if isinstance(x, CoreFunction)}:
        lines += [core_text(words)]
    for circuit in circuits:
        lines += [*_definition(circuit), *_array(circuit), ""]
    return "\n".join(lines)


def header_text(circuits: Sequence[Circuit]) -> str:
    """The header, for C and C++."""
    lines = ["// SPDX-License-Identifier: 0BSD", "#pragma once", "#include <stddef.h>", "#include <stdint.h>", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", "", *_declarations(circuits)]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", ""])


# -- what a user calls ---------------------------------------------------------------------------------------------


def _declarations(circuits: Iterable[Circuit]) -> Iterator[str]:
    for circuit in circuits:
        on = on_words(Circuit(circuit.name, circuit.inputs, (), {}))
        outs = on_words(Circuit(circuit.name, circuit.outputs, (), {})).inputs
        yield from (f"// {line}" for line in circuit.comment.splitlines())
        yield from _port_notes(circuit)
        yield "// In SystemVerilog:"
        arguments = [*(f"input {_longint(p)}" for p in on.inputs), *(f"output {_longint(p)}" for p in outs)]
        declaration = f'import "DPI-C" function void {circuit.name}({", ".join(arguments)});'
        yield from (f"//   {line}" for line in wrap_line(declaration, ""))
        yield from wrap_line(f"{_signature(circuit.name, on.inputs, outs)};", "")
        if is_scalar(circuit):
            yield "// Many cases: a function for `softfloat-ref check --dut-lib`."
            yield from wrap_line(f"{_array_signature(circuit)};", "")
        yield ""


def _port_notes(circuit: Circuit) -> Iterator[str]:
    for port in (*circuit.inputs, *circuit.outputs):
        words = -(-port.width // WORD)
        lanes = f"{port.lanes} lanes of " if port.lanes > 1 else ""
        more = f" in {words} words each, lowest first" if words > 1 else ""
        note = f": {port.comment}" if port.comment else ""
        yield f"//   {port.name}: {lanes}{port.width} bits{more}{note}"


def _longint(port: CircuitPort) -> str:
    return f"longint unsigned {sv_name(port.name)}" + (f"[{port.lanes}]" if port.lanes > 1 else "")


def _signature(name: str, inputs: Iterable[CircuitPort], outputs: Iterable[CircuitPort]) -> str:
    parameters = [f"const uint64_t {p.name}[{p.lanes}]" if p.lanes > 1 else f"uint64_t {p.name}" for p in inputs]
    parameters += [f"uint64_t {p.name}[{p.lanes}]" if p.lanes > 1 else f"uint64_t *{p.name}" for p in outputs]
    return f"void {name}({', '.join(parameters)})"


def is_scalar(circuit: Circuit) -> bool:
    """Whether each port fits one word, and the only outputs are a result and flags."""
    ports = (*circuit.inputs, *circuit.outputs)
    others = [p for p in circuit.outputs if p.name != "flags"]
    return len(others) == 1 and all(p.lanes == 1 and p.width <= WORD for p in ports)


def _array_signature(circuit: Circuit) -> str:
    [result] = [p for p in circuit.outputs if p.name != "flags"]
    pointers = [*(f"const uint64_t *{p.name}" for p in circuit.inputs), f"uint64_t *{result.name}", "uint8_t *flags"]
    return f"void {circuit.name}_array(size_t count, {', '.join(pointers)})"


def _array(circuit: Circuit) -> Iterator[str]:
    if not is_scalar(circuit):
        return
    flagged = any(p.name == "flags" for p in circuit.outputs)
    yield from ("", *wrap_line(_array_signature(circuit), ""), "{")
    yield "    for (size_t at = 0; at < count; at++) {"
    yield from ["        uint64_t raised = 0;"] if flagged else []
    outs = ["&raised" if p.name == "flags" else f"&{p.name}[at]" for p in circuit.outputs]
    yield f"        {circuit.name}({', '.join([*(f'{p.name}[at]' for p in circuit.inputs), *outs])});"
    yield from ["        flags[at] = (uint8_t)raised;"] if flagged else []
    yield "    }"
    yield from [] if flagged else ["    (void)flags;"]
    yield "}"


def _definition(circuit: Circuit) -> Iterator[str]:
    if not isinstance(circuit, CoreFunction):
        yield from _CFunction(on_words(circuit)).lines()
        return
    yield from wrap_line(_signature(circuit.name, circuit.inputs, circuit.outputs), "")
    yield from ("{", *(f"    {line}" for line in circuit.body), "}")


# -- the body ------------------------------------------------------------------------------------------------------


class _CFunction:
    """The function of a circuit on words."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.branches: Branches = branches(circuit.roots)
        order = subterms(circuit.roots)
        forced = [t for t in order if self.branches.group(t)]
        reserved = {*KEYWORDS, circuit.name, *(p.name for p in circuit.inputs)}
        self.plan: PrintPlan = make_plan(circuit, reserved, _needs, forced)
        self.most = _most(order)
        self.inside: dict[BranchPath, list[Term]] = defaultdict(list)
        for t in self.plan.stated:
            self.inside[self.branches.places[t]].append(t)
        self.shared: set[Term] = set()  # choices whose variable is that of an outer choice

    def lines(self) -> Iterator[str]:
        """The definition."""
        circuit = self.circuit
        yield from wrap_line(_signature(circuit.name, circuit.inputs, circuit.outputs), "")
        yield "{"
        yield from self._inputs()
        yield from self._statements((), "    ")
        for port in circuit.outputs:
            for k, name in enumerate(port.names):
                to = f"{port.name}[{k}]" if port.lanes > 1 else f"*{port.name}"
                yield from wrap_line(f"    {to} = {self.text(circuit.terms[name])};", "    ")
        yield "}"

    def _inputs(self) -> Iterator[str]:
        used = {t.value for t in self.plan.names if t.op == "var"}
        for port in self.circuit.inputs:
            mask = "" if port.width == WORD else f" & {_hex((1 << port.width) - 1)}"
            if not used & set(port.names):
                yield f"    (void){port.name};"
            elif port.lanes == 1:
                yield from [f"    {port.name} &={mask[2:]};"] if mask else []
            else:
                lanes = [(k, name) for k, name in enumerate(port.names) if name in used]
                yield from (f"    uint64_t {name} = {port.name}[{k}]{mask};" for k, name in lanes)

    def _statements(self, place: BranchPath, indent: str) -> Iterator[str]:
        """What is computed at a place, without the branches' values."""
        groups: dict[ChoiceGroup, list[Term]] = defaultdict(list)
        items: list[tuple[tuple[int, bool, int], ChoiceGroup | Term]] = []
        for t in self.inside[place]:
            group = self.branches.group(t)
            if group is None:
                items.append(((-self.branches.depths[t], True, t.number), t))
            else:
                groups[group].append(t)
        items += [((-g.depth, False, terms[0].number), g) for g, terms in groups.items()]
        for _, item in sorted(items, key=lambda x: x[0]):
            if isinstance(item, ChoiceGroup):
                yield from self._choice(place, item, groups[item], indent)
            else:
                # not const: Clang evaluates the initial value of a constant again at each use, hence of all before it
                yield from wrap_line(f"{indent}{_type(item)} {self.plan.names[item]} = {self._whole(item)};", indent)

    def _choice(self, place: BranchPath, group: ChoiceGroup, terms: list[Term], indent: str) -> Iterator[str]:
        for t in terms:
            if t not in self.shared:
                yield f"{indent}{_type(t)} {self.plan.names[t]};"
        yield from wrap_line(f"{indent}if ({self.text(group.condition)}) {{", indent)
        for side in (True, False):
            if not side:
                yield f"{indent}}} else {{"
            inner = (*place, (group, side))
            values = [t.args[1 if side else 2] for t in terms]
            self._share(inner, terms, values)
            yield from self._statements(inner, indent + "    ")
            for t, value in zip(terms, values, strict=True):
                if value not in self.shared or self.plan.names[value] != self.plan.names[t]:
                    text = f"{indent}    {self.plan.names[t]} = {self.text(value)};"
                    yield from wrap_line(text, indent + "    ")
        yield f"{indent}}}"

    def _share(self, inner: BranchPath, terms: list[Term], values: list[Term]) -> None:
        """A choice that is all of an outer one's side is assigned to its variable."""
        for t, value in zip(terms, values, strict=True):
            if self.branches.group(value) and self.branches.places[value] == inner and value not in self.shared:
                self.plan.names[value] = self.plan.names[t]
                self.shared.add(value)

    # -- expressions

    def text(self, t: Term) -> str:
        """The name of a term, or its expression."""
        return self.plan.names.get(t) or self._whole(t)

    def atom(self, t: Term) -> str:
        """An operand."""
        text = self.text(t)
        return text if is_atom(text) else f"({text})"

    def wide(self, t: Term) -> str:
        """An operand whose type must have 64 bits."""
        if t.is_const:
            return f"UINT64_C({_hex(t.value, '')})"
        return f"{_CAST}{self.atom(t)}" if t.width == 1 else self.atom(t)

    def _whole(self, t: Term) -> str:
        if t.is_const:
            return _hex(t.value)
        return _EXPRESSIONS[t.op](self, t)

    def cut(self, t: Term, text: str, most: int) -> str:
        """A sum or product of at most `most`, without the bits above the term's width."""
        mask = (1 << t.width) - 1
        return text if t.width == WORD or most <= mask else f"({text}) & {_hex(mask)}"


def _type(t: Term) -> str:
    return "bool" if t.width == 1 else "uint64_t"


def _hex(value: int, unsigned: str = "u") -> str:
    if value >= 1 << _LONG_LITERAL_BITS and unsigned:
        return f"UINT64_C(0x{value:x})"
    return str(value) if value < _MIN_HEX else f"0x{value:x}{unsigned}"


def _needs(t: Term) -> Iterable[Term]:
    return t.args if t.op in ("udiv", "urem") else t.args[1:] if t.op in ("shl", "lshr") else ()


def _most(order: Iterable[Term]) -> dict[Term, int]:
    """An upper bound of each term."""
    bounds: dict[Term, int] = {}
    for t in order:
        a = [bounds[x] for x in t.args]
        mask = (1 << t.width) - 1
        if t.op == "const":
            bound = t.value
        elif t.op == "and":
            bound = min(a)
        elif t.op in ("or", "xor"):
            bound = (1 << max(a).bit_length()) - 1
        elif t.op == "extract":
            bound = a[0] >> t.value[1]
        elif t.op in ("zext", "lshr"):
            bound = a[0]
        elif t.op == "ite":
            bound = max(a[1:])
        elif t.op in ("add", "mul"):
            bound = a[0] + a[1] if t.op == "add" else a[0] * a[1]
        else:
            bound = mask
        bounds[t] = min(bound, mask)
    return bounds


_Expression = Callable[[_CFunction, Term], str]


def _infix(sign: str, of_bits: str = "") -> _Expression:
    def text(f: _CFunction, t: Term) -> str:
        own = of_bits if of_bits and t.width == 1 else sign
        return f" {own} ".join(f.atom(a) for a in t.args) if own not in FLIPPED else _compared(f, t, own)

    return text


def _compared(f: _CFunction, t: Term, sign: str) -> str:
    a, b = t.args
    if a.is_const:
        a, b, sign = b, a, FLIPPED[sign]
    return f" {sign} ".join(f"({x})" if x.startswith("!") else x for x in (f.atom(a), f.atom(b)))


def _not(f: _CFunction, t: Term) -> str:
    a = t.args[0]
    if t.width == 1:
        if a not in f.plan.names and a.op in ("eq", "ult"):
            return _compared(f, a, "!=" if a.op == "eq" else ">=")
        return f"!{f.atom(a)}"
    return f"~{f.atom(a)}" if t.width == WORD else f"{f.atom(a)} ^ {_hex((1 << t.width) - 1)}"


def _add(f: _CFunction, t: Term) -> str:
    a, b = t.args
    return f.cut(t, f"{f.wide(a)} + {f.wide(b)}", f.most[a] + f.most[b])


def _mul(f: _CFunction, t: Term) -> str:
    a, b = t.args
    return f.cut(t, f"{f.wide(a)} * {f.wide(b)}", f.most[a] * f.most[b])


def _sub(f: _CFunction, t: Term) -> str:
    a, b = t.args
    return f.cut(t, f"{f.wide(a)} - {f.wide(b)}", 1 << WORD)


def _neg(f: _CFunction, t: Term) -> str:
    return f.cut(t, f"0 - {f.wide(t.args[0])}", 1 << WORD)


def _divided(f: _CFunction, t: Term) -> str:
    a, b = t.args
    text = f"{f.atom(a)} {'/' if t.op == 'udiv' else '%'} {f.atom(b)}"
    if b.is_const and b.value:
        return text
    other = _hex((1 << t.width) - 1) if t.op == "udiv" else f.atom(a)
    return f"{f.atom(b)} == 0 ? {other} : {text}"


def _shift(f: _CFunction, t: Term) -> str:
    a, by = t.args
    text = f"{f.wide(a)} {'<<' if t.op == 'shl' else '>>'} {f.atom(by)}"
    if t.op == "shl":
        text = f.cut(t, text, f.most[a] << min(f.most[by], WORD))
    return text if f.most[by] < WORD else f"{f.atom(by)} < {WORD} ? {text} : 0"


def _concat(f: _CFunction, t: Term) -> str:
    high, low = t.args
    moved = f"{f.wide(high)} << {low.width}"
    return moved if low.is_const and low.value == 0 else f"{moved} | {f.wide(low)}"


def _extract(f: _CFunction, t: Term) -> str:
    a, low = t.args[0], t.value[1]
    moved = f"{f.atom(a)} >> {low}" if low else f.text(a)
    mask = (1 << t.width) - 1
    if f.most[a] >> low <= mask:
        return moved
    return f"({moved}) & {_hex(mask)}" if " " in moved else f"{moved} & {_hex(mask)}"


def _zext(f: _CFunction, t: Term) -> str:
    return f.wide(t.args[0]) if t.args[0].width == 1 else f.text(t.args[0])


def _ite(f: _CFunction, t: Term) -> str:
    c, a, b = t.args
    yes = f.wide(a) if a.is_const and b.is_const and t.width > 1 else f.atom(a)
    return f"{f.atom(c)} ? {yes} : {f.atom(b)}"


_EXPRESSIONS: Final[dict[str, _Expression]] = {
    "not": _not,
    "neg": _neg,
    "and": _infix("&", "&&"),
    "or": _infix("|", "||"),
    "xor": _infix("^", "!="),
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "udiv": _divided,
    "urem": _divided,
    "shl": _shift,
    "lshr": _shift,
    "eq": _infix("=="),
    "ult": _infix("<"),
    "ite": _ite,
    "concat": _concat,
    "extract": _extract,
    "zext": _zext,
}
