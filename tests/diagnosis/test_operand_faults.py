"""Operands read in another way: with a leading one, as NaNs, as in another format, by another operation."""

from __future__ import annotations

import itertools

import pytest
from diagnosing import diagnosis, names
from faulty_rounding import Reader, device

from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.diagnosis.parts import explanation
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.judge import Judge
from softfloat_ref.units import MixedUnit, OperationUnit

FP16 = CATALOGUE["fp16"]
E4M3 = CATALOGUE["fp8_e4m3"]
MUL = VectorSet.make("mul", "fp16", 1000)


def leading_one(fmt: Format, zeros: bool, exponent: int) -> Reader:
    """A decoder that gives exponent field 0 a leading one, and takes the field for `exponent`."""
    decode = decoder(fmt)

    def read(code: int) -> Value:
        x, fraction = decode(code), code & (1 << fmt.mantissa_bits) - 1
        if (code & fmt.magnitude_mask) >> fmt.mantissa_bits or not (fraction or zeros):
            return x
        return exact.finite(x.sign, fraction | 1 << fmt.mantissa_bits, exponent - fmt.bias - fmt.mantissa_bits)

    return read


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(("zeros", "exponent"), list(itertools.product((False, True), (0, 1))))
@pytest.mark.parametrize(("op", "fmt"), [("add", "fp16"), ("mul", "bf16"), ("fma", "fp16"), ("sqrt", "fp16")])
def test_a_leading_one_in_every_operand(op: str, fmt: str, zeros: bool, exponent: int) -> None:
    """Each choice of zeros and of the exponent field, for a sum, a product, both, and an operation of one operand."""
    vectors = VectorSet.make(op, fmt, 1200)
    unit = vectors.unit
    assert isinstance(unit, OperationUnit)
    d = diagnosis(vectors, device(unit, [leading_one(f, zeros, exponent) for f in unit.formats]))
    name = "leading one always" if zeros else "subnormals as normal"
    name += ", exponent 1" * exponent + " of every operand" * (len(unit.formats) > 1)
    assert d.complete
    assert names(d)[0] == name


def is_subnormal(code: int) -> bool:
    return 0 < code & 0x7FFF < 0x400


def is_zero(code: int) -> bool:
    return not code & 0x7FFF


def is_infinite(code: int) -> bool:
    return code & 0x7FFF == 0x7C00


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("which", "kind", "places", "of"),
    [
        (is_subnormal, "subnormals", (0, 1), " of every operand"),
        (is_subnormal, "subnormals", (1,), " of b"),
        (is_zero, "zeros", (0,), " of a"),
        (is_infinite, "infinities", (0, 1), " of every operand"),
    ],
)
@pytest.mark.parametrize("flags", [0, 0x10])
def test_a_nan_for_operands_of_a_kind(which, kind: str, places: tuple[int, ...], of: str, flags: int) -> None:  # type: ignore[no-untyped-def]
    """Without flags whatever the other operand is; or as for a signalling NaN."""

    def model(inputs: Inputs) -> Output:
        return (0x7E00, flags) if any(which(inputs[k]) for k in places) else tuple(MUL.unit.answer(inputs))

    d = diagnosis(MUL, model)
    assert d.complete
    assert (f"{kind} as signalling NaNs{of}" if flags else f"NaN for {kind}{of}") in names(d)


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("fmt", ["fp8_e4m3fnuz", "fp8_e5m2", "fp8_e3m4", "fp8_e4m3b11fnuz"])
@pytest.mark.parametrize(
    ("a", "b", "result", "name"),
    [
        (True, False, False, "operand a as {}"),
        (False, True, False, "operand b as {}"),
        (True, True, False, "fp8_e4m3 operands as {}"),
        (True, True, True, "{} for fp8_e4m3"),
    ],
)
def test_a_format_of_the_same_width(fmt: str, a: bool, b: bool, result: bool, name: str) -> None:
    """One operand, both, and the result too."""
    other = get_format(fmt)
    vectors = VectorSet.make("mul", "fp8_e4m3", 1000)
    readers = [decoder(other if x else E4M3) for x in (a, b)]
    assert isinstance(vectors.unit, OperationUnit)
    d = diagnosis(vectors, device(vectors.unit, readers, to=other if result else None))
    assert d.complete
    assert name.format(fmt) in names(d)


@pytest.mark.parametrize("fmt", ["fp8_e4m3fnuz", "fp8_e5m2"])
def test_elements_of_a_dequantizer_in_another_format(fmt: str) -> None:
    vectors = VectorSet.make("dequantize", "fp8_e4m3@e8m0/8", 100)
    element, to_fp32 = decoder(get_format(fmt)), encoder(CATALOGUE["fp32"], Policy())

    def model(inputs: Inputs) -> Output:
        scale = decoder(CATALOGUE["e8m0"])(inputs[0])
        values = [element(c) for c in inputs[1:]]
        products = [scale if scale.kind else exact.multiply(scale, x) if not x.kind else x for x in values]
        return tuple(to_fp32(x._replace(sign=x.sign * (x.kind != NAN)), 0)[0] for x in products)

    assert f"elements as {fmt}" in names(diagnosis(vectors, model))


# -- mixed sets --------------------------------------------------------------------------------------------------------

PARTS = MixedUnit(
    (
        *(OperationUnit.make(op, f, policy="riscv") for op in ("add", "mul") for f in ("fp16", "bf16", "fp32")),
        OperationUnit.make("fma", "fp16", policy="riscv"),
        OperationUnit.make("sqrt", "fp32", policy="riscv"),
        OperationUnit.make("recip", "fp32", policy="riscv"),
    )
)
MIXED = VectorSet(PARTS, 900, seed=3, unboxed=8)
BY_NAME = {f"{p.op} {p.formats[0].name}": p for p in PARTS.operations}


def sentences(model) -> dict[str, str]:  # type: ignore[no-untyped-def]
    judge = Judge(MIXED)
    for inputs in MIXED.inputs():
        if (line := MIXED.line(inputs)) is not None:
            code, flags = model(inputs)
            judge.compare(line, Answer((code,), flags))
    cause = explanation(judge.report)
    assert cause is not None
    return {p.unit.label: p.sentence or ", ".join(p.report.kinds) for p in cause.parts if p.report.mismatched}


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("one", "other"),
    [("add fp16", "mul fp16"), ("sqrt fp32", "recip fp32"), ("mul fp32", "add fp32"), ("mul fp16", "fma fp16")],
)
def test_two_operations_of_a_mixed_set_exchanged(one: str, other: str) -> None:
    """Of one family, of none, with operands of their own, and of another number of operands."""
    exchanged = {BY_NAME[one]: BY_NAME[other], BY_NAME[other]: BY_NAME[one]}

    def model(inputs: Inputs) -> tuple[int, int]:
        part, _ = PARTS.selected(inputs)
        done = exchanged.get(part, part)
        padded = inputs[len(PARTS.controls) :]
        codes = [PARTS.unpadded(x, f, done) or 0 for x, f in zip(padded, done.formats, strict=False)]
        code, flags = done.answer(codes)
        return PARTS.padded(code, done.out, 32), flags

    said = sentences(model)
    assert said.keys() == {f"{one} rne", f"{other} rne"}
    assert said[f"{one} rne"] == f"the device computes {other.split()[0]}"
    without_c = "takes zero for operand c" if other == "fma fp16" else f"computes {one.split()[0]}"
    assert said[f"{other} rne"] == f"the device {without_c}"


@pytest.mark.parametrize(("code", "kind"), [(0x7E00, "fp16's NaN"), (0, "zero")])
def test_an_unboxed_operand_taken_for_a_constant(code: int, kind: str) -> None:
    """A bf16 operand that is not boxed becomes FP16's NaN, or zero."""

    def model(inputs: Inputs) -> tuple[int, int]:
        part, own = PARTS.selected(inputs)
        pairs = zip(own, PARTS.unchecked(inputs), part.formats, strict=True)
        operands = [x if x == y or f.name != "bf16" else code for x, y, f in pairs]
        result, flags = part.answer(operands)
        return PARTS.padded(result, part.out, 32), flags

    for said in sentences(model).values():
        assert f"unboxed operand taken as {kind}" in said


def test_the_right_device_has_none_of_them() -> None:
    """No fault that is suggested by mismatches changes a device's name that has another fault."""
    d = diagnosis(MUL, Faulty(OperationUnit.make("mul", "fp16", policy={"rounding": "rtz"})))
    assert names(d) == ["rounding = rtz"]
