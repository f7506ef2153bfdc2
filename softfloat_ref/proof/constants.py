"""Parameters, widths and generated blocks of a design: as slang elaborates it, and as Yosys' front end read it.

Yosys has a slang of its own, of another version, which evaluates some constants otherwise: a signed remainder of
constants is unsigned there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.constructs import Nodes, below, loop_variables, variables
from softfloat_ref.rtl.module_ports import Elaborated

_WITH_TYPE: Final = ("Net", "Variable", "Port")
_WITH_MEMBERS: Final = ("GenerateBlock", "GenerateBlockArray", "InstanceArray")
_WIDTHS: Final = re.compile(r"(logic|bit|reg)( signed)?(\[-?\d+:-?\d+\])*(\$(\[-?\d+:-?\d+\])+)?")
_VALUE: Final = re.compile(
    r"""-?\d+'s?[bodh][0-9a-fA-FxzXZ_]+|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|"(?:[^"\\]|\\.)*"|[^\s,'{}\[\]]+"""
)
_LITERAL: Final = re.compile(r"(-?)(\d+)'s?([bodh])([0-9a-fA-FxzXZ_]+)")
_DECIMAL_BITS: Final = 64  # of numbers that are shown in decimal
_ADDRESS: Final = re.compile(r"^\d+ ")  # before a type's name, in a dump
_SIGN_DEPENDENT: Final = (  # operators whose result depends on the sign of a number
    *("LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual", "Divide", "Mod", "ArithmeticShiftRight"),
)


class ElaboratedFact(NamedTuple):
    """What a front end elaborates: the path of a parameter, signal or block, and its value or type."""

    path: str
    text: str


def facts(design: Elaborated) -> tuple[ElaboratedFact, ...]:
    """What slang says of the module and those below it, and of packages."""
    elaborated = list(_facts(design.body, ""))
    for package in design.body.compilation.getPackages():
        elaborated += _facts(package, f"{package.name}::")
    return tuple(elaborated)


def _facts(scope: Any, path: str) -> Iterator[ElaboratedFact]:
    for place, member in enumerate(_parts(scope)):
        kind = member.kind.name
        own = f"{path}{member.name or place}"
        if kind == "Parameter":
            yield ElaboratedFact(own, ", ".join(_values(member.value.value)))
        elif kind in _WITH_TYPE:
            yield from _typed(own, str(member.type))
        elif kind == "Instance":
            yield ElaboratedFact(own, "instance")
            yield from _facts(member.body, f"{own}.")
        else:
            yield ElaboratedFact(own, "block")
            yield from _facts(member, f"{own}.")


def _parts(scope: Any) -> Iterator[Any]:
    for member in scope:
        left_out = member.kind.name in _WITH_MEMBERS and getattr(member, "isUninstantiated", False)
        if member.kind.name in ("Parameter", "Instance", *_WITH_TYPE, *_WITH_MEMBERS) and not left_out:
            yield member


def dumped_facts(text: str, top: str) -> tuple[list[ElaboratedFact], str]:
    """What Yosys' front end says of the instance `dut` in a module, in what it prints, and the rest of that."""
    begin = re.search(r'^\{\n *"name": "\\?\$root"', text, re.MULTILINE)
    if begin is None:
        return [], text
    root, end = json.JSONDecoder().raw_decode(text, begin.start())
    elaborated = list[ElaboratedFact]()
    for unit in root["members"]:
        if unit["kind"] == "Instance" and unit["name"] == top:
            for dut in (m for m in unit["body"]["members"] if m["kind"] == "Instance" and m["name"] == "dut"):
                elaborated += _dumped(dut["body"], "")
    for unit in root["members"]:
        for package in (m for m in unit.get("members", ()) if m["kind"] == "Package"):
            elaborated += _dumped(package, f"{package['name']}::")
    return elaborated, text[: begin.start()] + text[begin.start() + end - begin.start() :]


def _dumped(scope: Mapping[str, Any], path: str) -> Iterator[ElaboratedFact]:
    parts = [m for m in scope.get("members", ()) if m["kind"] in ("Parameter", "Instance", *_WITH_TYPE, *_WITH_MEMBERS)]
    for place, member in enumerate(m for m in parts if not m.get("isUninstantiated")):
        own = f"{path}{member['name'] or place}"
        if member["kind"] == "Parameter":
            yield ElaboratedFact(own, ", ".join(map(_plain, _VALUE.findall(str(member.get("value", ""))))))
        elif member["kind"] in _WITH_TYPE:
            yield from _typed(own, member.get("type", ""))
        elif member["kind"] == "Instance":
            yield ElaboratedFact(own, "instance")
            yield from _dumped(member["body"], f"{own}.")
        else:
            yield ElaboratedFact(own, "block")
            yield from _dumped(member, f"{own}.")


def _typed(path: str, text: str) -> Iterator[ElaboratedFact]:
    text = _ADDRESS.sub("", text)
    if _WIDTHS.fullmatch(text):
        yield ElaboratedFact(path, text)


def _values(value: Any) -> Iterator[str]:
    """The numbers and texts of a value, those of an array one after the other."""
    if isinstance(value, list):
        for item in value:
            yield from _values(item.value)
    elif hasattr(value, "bitWidth"):
        bits = "".join(str(value[i]) for i in reversed(range(value.bitWidth)))
        yield _number(int(bits, 2) - (value.isSigned and bits[0] == "1") * (1 << len(bits))) if _known(bits) else bits
    else:
        yield f"{value:.6g}" if isinstance(value, float) else repr(value)


def _known(bits: str) -> bool:
    return set(bits) <= {"0", "1"}


def _number(value: int) -> str:
    """A number as text; in hexadecimal where Python refuses others."""
    return str(value) if value.bit_length() <= _DECIMAL_BITS else hex(value)


def _plain(text: str) -> str:
    """A number or text as a dump has it, in the same form."""
    literal = _LITERAL.fullmatch(text)
    if literal is None:
        real = re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text) is not None and re.search(r"[.e]", text) is not None
        return repr(text[1:-1]) if text.startswith('"') else f"{float(text):.6g}" if real else text
    sign, width, base, digits = literal.groups()
    if re.search(r"[xzXZ]", digits):
        each = {"b": 1, "o": 3, "h": 4}.get(base, int(width))
        bits = "".join(d * each if d in "xz" else f"{int(d, 16):0{each}b}" for d in digits.replace("_", "").lower())
        return bits[-int(width) :].rjust(int(width), bits[0] if bits[0] in "xz" else "0")
    digits = digits.replace("_", "")
    value = int(Decimal(digits)) if base == "d" else int(digits, {"b": 2, "o": 8, "h": 16}[base])
    return _number(-value if sign else value)


def check_facts(ours: Sequence[ElaboratedFact], theirs: Sequence[ElaboratedFact]) -> None:
    """Raises Error if the front end reads a parameter, a width or a generated block otherwise."""
    for mine, other in zip(ours, theirs, strict=False):
        if mine != other:
            theirs_is = other.text if mine.path == other.path else f"{other.path}, {other.text}"
            raise Error(
                f"{mine.path} is {mine.text} as slang elaborates it, and Yosys' front end has {theirs_is}; "
                "write its constants otherwise"
            )
    if len(ours) != len(theirs):
        raise Error("Yosys' front end has other parts of the design than slang elaborates; write constants otherwise")


def signed_remainders(design: Elaborated, nodes: Nodes) -> Iterator[str]:
    """Signed remainders of constants in processes and assignments, beside negative numbers: as above, unsigned."""
    loops = loop_variables(nodes)
    for node in (*nodes.get("BinaryOp", ()), *nodes.get("Conversion", ())):
        wider = node.kind.name == "Conversion" and node.type.bitWidth > node.operand.type.bitWidth
        if wider or (node.kind.name == "BinaryOp" and node.op.name in _SIGN_DEPENDENT):
            parts = below(node, lambda _: True)
            if any(_is_remainder(p, loops) for p in parts if p is not node) and any(map(_is_negative, parts)):
                place = design.place(node.sourceRange.start)
                yield f"{place}: a signed remainder of constants, which Yosys takes as unsigned; use unsigned numbers"


def _is_remainder(node: Any, loops: Iterable[Any]) -> bool:
    if node.kind.name != "BinaryOp" or node.op.name != "Mod" or not node.type.isSigned:
        return False
    return not variables(node) - set(loops)


def _is_negative(node: Any) -> bool:
    """Whether an operator, a literal or a parameter may make a negative number."""
    kind = node.kind.name
    if kind in ("UnaryOp", "BinaryOp"):
        return node.op.name in ("Minus", "Subtract")
    if kind == "IntegerLiteral":
        return str(node.value).startswith("-")
    value = getattr(getattr(node, "symbol", None), "value", None) if kind == "NamedValue" else None
    return value is not None and str(value).startswith("-")
