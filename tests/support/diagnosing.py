"""Devices made of models, diagnosed."""

from __future__ import annotations

from softfloat_ref.diagnosis.asking import ask_model
from softfloat_ref.diagnosis.checked import diagnosis_of, space_of
from softfloat_ref.diagnosis.findings import Diagnosis
from softfloat_ref.diagnosis.hypotheses import Model
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.judge import Judge


def diagnosis(vectors: VectorSet, model: Model, *, shrink: bool = False, flags: bool = True) -> Diagnosis:
    """What a check of such a device would say of it. flags: whether it gives any."""
    ask = ask_model(vectors.unit, model)
    judge = Judge(vectors, shown=0)
    width = vectors.unit.input_width
    lines = [line for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None]
    for line, answer in zip(lines, ask([line[:width] for line in lines]), strict=True):
        judge.compare(line, answer if flags else Answer(answer.codes, None))
    found = diagnosis_of(judge.report, ask if shrink else None)
    assert found is not None, "no case shows it"
    return found


def defect(vectors: VectorSet, name: str) -> Model:
    """The device with a listed defect."""
    space = space_of(vectors)
    return next(h.model for h in space.defects(space.base) if h.name == name)


def names(found: Diagnosis) -> list[str]:
    """The best explanations."""
    return [f.hypothesis.name for f in found.best]
