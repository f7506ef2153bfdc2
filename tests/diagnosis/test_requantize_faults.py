"""Faults of requantizers: every listed defect that shows is named, and the rules of libraries are told apart."""

from __future__ import annotations

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis import report
from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.hypotheses import Model
from softfloat_ref.diagnosis.requantize_defects import requantize_defects
from softfloat_ref.diagnosis.stepped_defects import stepped_defects
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.oracle.requantization import get_rule
from softfloat_ref.units import RequantizeUnit

TFLITE = of_unit(RequantizeUnit.make("i32", "i8", "tflite"), 900, seed=2)
CLAMPED = of_unit(RequantizeUnit.make("i32", "u8", "tosa", clamped=True), 900, seed=3)
SCALED = of_unit(RequantizeUnit.make("i32", "i8", "onnxruntime"), 900, seed=4)


def ruled(vectors: VectorSet, rule: str) -> Model:
    """A device by another rule."""
    unit = vectors.unit.under(get_rule(rule))  # type: ignore[attr-defined]
    return lambda inputs: tuple(unit.answer(tuple(inputs)))


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("vectors", "rule", "name"),
    [
        (TFLITE, "cmsis-nn", "rule cmsis-nn"),
        (TFLITE, "tflite-single", "rule tflite-single"),
        (TFLITE, "cmsis-nn-single", "rule cmsis-nn-single"),
        (TFLITE, "cmsis-nn-single-7", "rule cmsis-nn-single-7"),
        (TFLITE, "tflite,rounding=rnu", "rounding = rnu"),
        (TFLITE, "tflite,first=rdn", "first = rdn"),
        (TFLITE, "tflite,left=saturated", "left = saturated"),
        (CLAMPED, "tosa-double", "rule tosa-double"),
        (SCALED, "onnx-reference", "rule onnx-reference"),
        (SCALED, "onnxruntime,rounding=rna", "rounding = rna"),
        (SCALED, "xnnpack-rndnu", "rule xnnpack-rndnu"),
    ],
)
def test_a_rule_is_named(vectors: VectorSet, rule: str, name: str) -> None:
    d = diagnosis(vectors, ruled(vectors, rule))
    assert d.complete
    assert names(d)[0] == name
    assert report.lines(d, vectors.unit)[0].startswith("diagnosis: the device ")


def faults() -> list[tuple[VectorSet, str]]:
    """The listed defects of each set, but those of the result's wires, which every unit has, and of other steps."""
    found = []
    for vectors in (TFLITE, CLAMPED, SCALED):
        listed = [h.name for h in requantize_defects(vectors.unit)]  # type: ignore[arg-type]
        others = {h.name for h in (*wire_defects(vectors.unit), *stepped_defects(vectors.unit))}  # type: ignore[arg-type]
        found += [(vectors, name) for name in listed if name not in others]
    return found


FAULTS = faults()
NO_FAULTS = {  # of these units, whatever the operands
    "tflite": {
        "accumulator unsigned",  # it is wrapped to 32 bits
        "shift of 5 bits",
        "shift up to 31",
    },
    "tosa": {"multiplier unsigned", "product of 63 bits"},
    "onnxruntime": set(),
}


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(("vectors", "name"), FAULTS, ids=[f"{v.unit.rule.name}-{n}" for v, n in FAULTS])  # type: ignore[attr-defined]
def test_a_defect_is_named(vectors: VectorSet, name: str) -> None:
    model, width = defect(vectors, name), vectors.unit.input_width
    shown = any(model(line[:width]) != line[width:] for line in vectors.lines())
    assert shown != (name in NO_FAULTS[vectors.unit.rule.name])  # type: ignore[attr-defined]
    if shown:
        d = diagnosis(vectors, model)
        assert d.complete
        assert name in names(d)
