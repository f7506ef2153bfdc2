"""Which instructions compute an operation on some formats in a rounding: the tables of RISC-V's F, D, Zfh, Zfbfmin, V,
Zvfh, Zvfbfmin, Zvfbfwma and Zvfofp8min (draft), for RV64.

A test has its operands in fa0, fa1, fa2 (an integer in a4) and its result in fa3 or a0; vectors have theirs in v8, v16
and v24, the result in v4, a mask in v0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from softfloat_ref.golden.writers.riscv.encoding import DYNAMIC, Instruction, op_fp, op_v, r4
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations.formula import Formula
from softfloat_ref.oracle.policies import Overflow, rounding_name
from softfloat_ref.units import OperationUnit

FRM: Final = {"rne": 0, "rtz": 1, "rdn": 2, "rup": 3, "rna": 4}
OPERANDS: Final = (8, 16, 24)  # vector registers
RESULT: Final = 4
MASK: Final = 0
_A, _B, _C, _D = 10, 11, 12, 13  # fa0 to fa3, and a0
_INTEGER: Final = 14  # a4

# suffix, fmt field, extension of arithmetic; vector extension
_SCALAR: Final = {"fp16": ("h", 2, "Zfh"), "fp32": ("s", 0, "F"), "fp64": ("d", 1, "D")}
_VECTOR: Final = {"fp16": "Zvfh", "fp32": "V", "fp64": "V"}
_INTEGERS: Final = {"i32": ("w", 0), "u32": ("wu", 1), "i64": ("l", 2), "u64": ("lu", 3)}
_KNOWN_TO_ASSEMBLERS: Final = ("F", "D", "V", "Zvfh", "Zvfhmin")  # Zvfh has V's encodings at another element width
_OFP8: Final = ("fp8_e4m3", "fp8_e5m2")
_WITHOUT_SIGNALING: Final = " without signaling NaNs"


@dataclass(frozen=True)
class Form:
    """An instruction as a test executes it. before: instructions that make its operands from those of the case."""

    instruction: Instruction
    extension: str
    before: tuple[Instruction, ...] = ()

    @property
    def name(self) -> str:
        """The mnemonic."""
        return self.instruction.text.split()[0]


@dataclass(frozen=True)
class VectorForm(Form):
    """A vector instruction. sew: the selected element width; operands: their registers; mask: whether the result is a
    mask; altfmt: the bit of vtype."""

    sew: int = 0
    operands: tuple[int, ...] = OPERANDS
    mask: bool = False
    altfmt: bool = False


class _Row(NamedTuple):
    """An operation on operands of one format, with funct5 (-1: none) and funct6 of its scalar and vector instructions.

    rm: of an instruction that does not round. rs2, vs1: in place of the second operand. widening: funct6 of the vector
    instruction with a result twice as wide.
    """

    op: str
    name: str
    funct5: int
    funct6: int
    rm: int = DYNAMIC
    rs2: int = -1
    vs1: int = -1
    widening: int = -1
    mask: bool = False


_ROWS: Final = (
    _Row("add", "add", 0x00, 0x00, widening=0x30),
    _Row("sub", "sub", 0x01, 0x02, widening=0x32),
    _Row("mul", "mul", 0x02, 0x24, widening=0x38),
    _Row("div", "div", 0x03, 0x20),
    _Row("sqrt", "sqrt", 0x0B, 0x13, rs2=0, vs1=0x00),
    _Row("copysign", "sgnj", 0x04, 0x08, rm=0),
    _Row("neg", "sgnjn", 0x04, 0x09, rm=1, rs2=_A, vs1=OPERANDS[0]),
    _Row("abs", "sgnjx", 0x04, 0x0A, rm=2, rs2=_A, vs1=OPERANDS[0]),
    _Row("min", "min", 0x05, 0x04, rm=0),
    _Row("minimum_number", "min", 0x05, 0x04, rm=0),
    _Row("max", "max", 0x05, 0x06, rm=1),
    _Row("maximum_number", "max", 0x05, 0x06, rm=1),
    _Row("le", "le", 0x14, 0x19, rm=0, mask=True),
    _Row("lt", "lt", 0x14, 0x1B, rm=1, mask=True),
    _Row("eq", "eq", 0x14, 0x18, rm=2, mask=True),
    _Row("class", "class", 0x1C, 0x13, rm=1, rs2=0, vs1=0x10),
    _Row("vfrsqrt7", "rsqrt7", -1, 0x13, vs1=0x04),
    _Row("vfrec7", "rec7", -1, 0x13, vs1=0x05),
)
# name, opcode, whether it negates the product, the addend
_FUSED: Final = (
    ("fmadd", 0x43, False, False),
    ("fmsub", 0x47, False, True),
    ("fnmsub", 0x4B, True, False),
    ("fnmadd", 0x4F, True, True),
)
# name, funct6, which operand is in the destination, what it negates
_FUSED_VECTORS: Final = (
    ("vfmacc.vv", 0x2C, 2, False, False),
    ("vfmsac.vv", 0x2E, 2, False, True),
    ("vfnmsac.vv", 0x2F, 2, True, False),
    ("vfnmacc.vv", 0x2D, 2, True, True),
    ("vfmadd.vv", 0x28, 0, False, False),
)
# formats (operands, result) of a widening product with addend: extension; what is negated: name, funct6
_WIDENING_FUSED: Final = {("fp16", "fp32"): "Zvfh", ("fp32", "fp64"): "V", ("bf16", "fp32"): "Zvfbfwma"}
_WIDENING_NAMES: Final = {
    (False, False): ("vfwmacc.vv", 0x3C),
    (True, True): ("vfwnmacc.vv", 0x3D),
    (False, True): ("vfwmsac.vv", 0x3E),
    (True, False): ("vfwnmsac.vv", 0x3F),
}


@cache
def spelling(fmt: Format) -> str:
    """The format's name in these tables, whatever name its definition gave it; '' for a format of no instruction."""
    for name in (*_SCALAR, "bf16", *_OFP8, "u1", "u10", *(f"{s}{w}" for w in (8, 16, 32, 64) for s in "iu")):
        if fmt == dataclasses.replace(get_format(name), name=fmt.name):
            return name
    e5m2 = dataclasses.replace(get_format("fp8_e5m2"), name=fmt.name, signaling=False)
    return f"fp8_e5m2{_WITHOUT_SIGNALING}" if fmt == e5m2 else ""


def scalar_forms(unit: OperationUnit) -> list[Form]:
    """The scalar instructions that compute a unit's operation in its rounding."""
    if rounding_name(unit.policy.rounding) not in FRM or unit.policy.overflow_for(unit.out) != _overflow(unit):
        return []
    formats, out = [spelling(f) for f in unit.formats], spelling(unit.out)
    if unit.signature.operation.is_conversion:
        return list(_conversion(formats[0], out))
    if unit.signature.operation.modular:
        modular = (formats[0], out, rounding_name(unit.policy.rounding)) == ("fp64", "i32", "rtz")
        return [Form(_made("fcvtmod.w.d a0, fa0, rtz", op_fp(0x18, 1, 8, _A, 1, _A), "Zfa"), "Zfa")] if modular else []
    if len({*formats}) != 1 or formats[0] not in _SCALAR:
        return []
    suffix, fmt, extension = _SCALAR[formats[0]]
    if (minus := _signs(unit)) is not None and formats[0] == out:
        return list(_fused(suffix, fmt, extension, minus))
    integer = unit.signature.operation.result in ("boolean", "class")
    if not integer and formats[0] != out:
        return []
    return [_arithmetic(row, suffix, fmt, extension, integer) for row in _ROWS if row.op == unit.op and row.funct5 >= 0]


def _signs(unit: OperationUnit) -> tuple[bool, ...] | None:
    """Whether a multiply-add negates its product, and its addend; None of other operations."""
    operation = unit.signature.operation
    formula: Formula | None = operation.formula
    return formula.minus if formula and formula.is_multiply_add and not operation.negated else None


def _overflow(unit: OperationUnit) -> Overflow:
    """The overflow rule of scalar instructions; integers have rules of their own."""
    return Overflow.SAT_NONE if unit.out.exponent_bits else unit.policy.overflow_for(unit.out)


def _made(text: str, code: int, extension: str) -> Instruction:
    return Instruction(text, code, extension in _KNOWN_TO_ASSEMBLERS)


def _arithmetic(row: _Row, suffix: str, fmt: int, extension: str, integer: bool) -> Form:
    rs2 = _B if row.rs2 < 0 else row.rs2
    shown = {_A: ", fa0", _B: ", fa1"}.get(rs2, "")
    text = f"f{row.name}.{suffix} {'a0' if integer else 'fa3'}, fa0{shown}"
    rd = _A if integer else _D
    rounded = ", dyn" if row.rm == DYNAMIC else ""
    return Form(_made(text + rounded, op_fp(row.funct5, fmt, rs2, _A, row.rm, rd), extension), extension)


def _fused(suffix: str, fmt: int, extension: str, minus: tuple[bool, ...]) -> Iterator[Form]:
    """All four instructions, of operands that are negated before where the operation has another sign."""
    for name, opcode, product, addend in _FUSED:
        negated = [r for r, turned in zip((_A, _C), _differ(minus, (product, addend)), strict=True) if turned]
        before = tuple(
            _made(f"fsgnjn.{suffix} fa{r - _A}, fa{r - _A}, fa{r - _A}", op_fp(0x04, fmt, r, r, 1, r), extension)
            for r in negated
        )
        text = f"{name}.{suffix} fa3, fa0, fa1, fa2, dyn"
        yield Form(_made(text, r4(opcode, fmt, _C, _B, _A, _D), extension), extension, before)


def _differ(minus: tuple[bool, ...], other: tuple[bool, ...]) -> list[bool]:
    return [x != y for x, y in zip(minus, other, strict=True)]


def _conversion(source: str, out: str) -> Iterator[Form]:
    """fcvt, between two floats, or a float and an integer."""
    pair = {source, out}
    if pair == {"bf16", "fp32"}:
        text, fmt, rs2 = ("fcvt.bf16.s", 2, 8) if out == "bf16" else ("fcvt.s.bf16", 0, 6)
        code = op_fp(0x08, fmt, rs2, _A, DYNAMIC, _D)
        yield Form(_made(f"{text} fa3, fa0, dyn", code, "Zfbfmin"), "Zfbfmin")
    elif pair <= _SCALAR.keys() and source != out:
        (to, fmt, _), (suffix, rs2, _) = _SCALAR[out], _SCALAR[source]
        extension = "Zfhmin" if "fp16" in pair else "D"
        widens = get_format(out).width > get_format(source).width  # exact: rm is 0, as assemblers set it
        code = op_fp(0x08, fmt, rs2, _A, 0 if widens else DYNAMIC, _D)
        yield Form(_made(f"fcvt.{to}.{suffix} fa3, fa0{'' if widens else ', dyn'}", code, extension), extension)
    elif source in _SCALAR and out in _INTEGERS:
        (suffix, fmt, extension), (to, rs2) = _SCALAR[source], _INTEGERS[out]
        code = op_fp(0x18, fmt, rs2, _A, DYNAMIC, _A)
        yield Form(_made(f"fcvt.{to}.{suffix} a0, fa0, dyn", code, extension), extension)
    elif source in _INTEGERS and out in _SCALAR:
        (to, fmt, extension), (suffix, rs2) = _SCALAR[out], _INTEGERS[source]
        exact = out == "fp64" and get_format(source).width == 32  # rm is 0, as assemblers set it
        code = op_fp(0x1A, fmt, rs2, _INTEGER, 0 if exact else DYNAMIC, _D)
        yield Form(_made(f"fcvt.{to}.{suffix} fa3, a4{'' if exact else ', dyn'}", code, extension), extension)


# -- vectors -----------------------------------------------------------------------------------------------------------


def vector_forms(unit: OperationUnit) -> list[VectorForm]:
    """The vector instructions that compute a unit's operation in its rounding."""
    formats, out, rounding = [spelling(f) for f in unit.formats], spelling(unit.out), unit.policy.rounding
    if unit.signature.operation.is_conversion:
        return list(_vector_conversion(unit, formats[0], out))
    if rounding_name(rounding) not in FRM or unit.policy.overflow_for(unit.out) != _overflow(unit):
        return []
    narrow, minus = formats[0], _signs(unit)
    if minus is not None and formats[1] == narrow and formats[2] == out and (narrow, out) in _WIDENING_FUSED:
        if narrow == "bf16" and any(minus):
            return []
        name, funct6 = ("vfwmaccbf16.vv", 0x3B) if narrow == "bf16" else _WIDENING_NAMES[minus]  # type: ignore[index]
        return [_vector_fused(name, funct6, 2, unit.formats[0].width, _WIDENING_FUSED[narrow, out])]
    if len({*formats}) != 1 or narrow not in _VECTOR:
        return []
    sew, extension = unit.formats[0].width, _VECTOR[narrow]
    if minus is not None and narrow == out:
        return [
            _vector_fused(name, funct6, place, sew, extension, *_differ(minus, (product, addend)))
            for name, funct6, place, product, addend in _FUSED_VECTORS
        ]
    rows = [row for row in _ROWS if row.op == unit.op]
    if (narrow, out) in (("fp16", "fp32"), ("fp32", "fp64")):
        return [_vector(f"vfw{r.name}", r.widening, r, sew, extension) for r in rows if r.widening >= 0]
    if unit.out.exponent_bits and narrow != out:
        return []
    return [_vector(f"v{'m' if r.mask else ''}f{r.name}", r.funct6, r, sew, extension) for r in rows]


def _vector(name: str, funct6: int, row: _Row, sew: int, extension: str) -> VectorForm:
    a, b = OPERANDS[0], OPERANDS[1]
    vs1, vd = (b if row.vs1 < 0 else row.vs1), MASK if row.mask else RESULT
    unary = row.vs1 >= 0 and row.vs1 != a
    text = f"{name}.v v{vd}, v{a}" if unary else f"{name}.vv v{vd}, v{a}, v{vs1}"
    instruction = _made(text, op_v(funct6, a, vs1, vd), extension)
    return VectorForm(instruction, extension, sew=sew, mask=row.mask)


def _vector_fused(
    name: str, funct6: int, place: int, sew: int, extension: str, product: bool = False, addend: bool = False
) -> VectorForm:
    """place: the operand that the result replaces: 2 is c, 0 is a."""
    a, b, c = registers = tuple(RESULT if i == place else r for i, r in enumerate(OPERANDS))
    before = tuple(
        _made(f"vfsgnjn.vv v{r}, v{r}, v{r}", op_v(0x09, r, r, r), extension)
        for r, wanted in ((a, product), (c, addend))
        if wanted
    )
    vs2 = c if place == 0 else a
    instruction = _made(f"{name} v{RESULT}, v{b}, v{vs2}", op_v(funct6, vs2, b, RESULT), extension)
    return VectorForm(instruction, extension, before, sew, registers)


def _vector_conversion(unit: OperationUnit, source: str, out: str) -> Iterator[VectorForm]:
    rounding, overflow = rounding_name(unit.policy.rounding), unit.policy.overflow_for(unit.out)
    from_width, width = unit.formats[0].width, unit.out.width
    ofp8 = _vector_ofp8(source, out, overflow) if rounding in FRM else None
    if ofp8 is not None:
        name, vs1, extension, altfmt = ofp8
        yield _converted(name, vs1, extension, min(from_width, width), altfmt)
    if overflow != _overflow(unit) or not ({source, out} & _VECTOR.keys()):
        return
    if {source, out} == {"bf16", "fp32"} and rounding in FRM:
        name, vs1 = ("vfncvtbf16.f.f.w", 0x1D) if out == "bf16" else ("vfwcvtbf16.f.f.v", 0x0D)
        yield _converted(name, vs1, "Zvfbfmin", 16)
        return
    kinds = [_kind(x) for x in (source, out)]
    if "" in kinds or source == out or not width // 2 <= from_width <= 2 * width:
        return
    extension = _conversion_extension(source, out, kinds)
    shape = (width > from_width) - (width < from_width)
    letter, suffix, high = {0: ("", "v", 0x00), 1: ("w", "v", 0x08), -1: ("n", "w", 0x10)}[shape]
    for to, low in _functions(kinds, rounding, shape):
        name = f"vf{letter}cvt.{to}.{kinds[0]}.{suffix}"
        yield _converted(name, high | low, extension, min(from_width, width))


def _vector_ofp8(source: str, out: str, overflow: Overflow) -> tuple[str, int, str, bool] | None:
    """Zvfofp8min's conversion: name, vs1, extension, and whether altfmt selects E5M2. It widens without flags, so E5M2
    has no signaling NaN; narrowing saturates in separate instructions."""
    widened = {"fp8_e4m3": False, f"fp8_e5m2{_WITHOUT_SIGNALING}": True}
    if source in widened and out == "bf16":
        return "vfwcvtbf16.f.f.v", 0x0D, "Zvfofp8min", widened[source]
    out = out.removesuffix(_WITHOUT_SIGNALING)
    codes = {
        ("bf16", Overflow.SAT_NONE): ("vfncvtbf16.f.f.w", 0x1D),
        ("bf16", Overflow.SAT_FINITE): ("vfncvtbf16.sat.f.f.w", 0x1F),
        ("fp32", Overflow.SAT_NONE): ("vfncvt.f.f.q", 0x19),
        ("fp32", Overflow.SAT_FINITE): ("vfncvt.sat.f.f.q", 0x1B),
    }
    if out not in _OFP8 or (source, overflow) not in codes:
        return None
    return *codes[source, overflow], "Zvfofp8min", out == "fp8_e5m2"


def _kind(name: str) -> str:
    """f, x or xu, as conversions name operands and results."""
    if name in _VECTOR:
        return "f"
    return {"i": "x", "u": "xu"}.get(name[:1], "") if name not in ("u1", "u10") else ""


def _conversion_extension(source: str, out: str, kinds: list[str]) -> str:
    if "fp16" in (source, out):
        return "Zvfhmin" if kinds == ["f", "f"] else "Zvfh"
    return "V"


def _functions(kinds: list[str], rounding: str, shape: int) -> Iterator[tuple[str, int]]:
    """The second part of the name, and the low bits of vs1."""
    source, to = kinds
    if kinds == ["f", "f"]:
        if rounding in FRM:
            yield "f", 4
        elif rounding == "rto" and shape < 0:
            yield "rod.f", 5
    elif rounding in FRM:
        yield (to, {"xu": 0, "x": 1}[to]) if source == "f" else (to, {"xu": 2, "x": 3}[source])
        if source == "f" and rounding == "rtz":
            yield f"rtz.{to}", {"xu": 6, "x": 7}[to]


def _converted(name: str, vs1: int, extension: str, sew: int, altfmt: bool = False) -> VectorForm:
    text, code = f"{name} v{RESULT}, v{OPERANDS[0]}", op_v(0x12, OPERANDS[0], vs1, RESULT)
    return VectorForm(_made(text, code, extension), extension, sew=sew, altfmt=altfmt)
