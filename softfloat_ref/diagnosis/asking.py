"""Ways to ask a device questions, a list at a time: a command, a function of arrays, a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from softfloat_ref.diagnosis.hypotheses import Model, Output
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.writers import text_line
from softfloat_ref.testing.check import Checkable, input_width, parse_answer
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.devices import CommandDevice, DeviceError, Late

Questions = Sequence[tuple[int, ...]]
Asker = Callable[[Questions], list[Answer]]  # as many answers as questions. Raises DeviceError


def ask_command(vectors: Checkable, command: str, timeout_s: float = 10.0) -> Asker:
    """A command, started anew for each list of questions: many devices answer only when their input ends."""
    as_operands = text_line([f for f in vectors.fields if f.role in ("operand", "random")])

    def ask(questions: Questions) -> list[Answer]:
        with CommandDevice(command, timeout_s) as device:
            try:
                lines = [x for x in device.answers(as_operands(q) for q in questions) if x.strip()]
                device.finish()
            except DeviceError as e:
                raise DeviceError(str(e) if isinstance(e, Late) else f"{e}; {device.how_it_ended()}") from None
        if len(lines) != len(questions):
            raise DeviceError(f"it answered {len(lines)} lines to {len(questions)} questions")
        return [parse_answer(line, vectors, q) for line, q in zip(lines, questions, strict=True)]

    return ask


def ask_arrays(vectors: Checkable, device: Callable[..., Any]) -> Asker:
    """A function of arrays: codes of each operand in, result codes or (result, flags) out; scalar operations only."""
    import numpy as np

    from softfloat_ref.arrays import code_dtype
    from softfloat_ref.testing.check import columns

    assert not isinstance(vectors, DotSet)
    kinds = [code_dtype(f) for f in vectors.formats]
    kinds += [np.dtype(np.uint64)] * (input_width(vectors) - len(kinds))

    def ask(questions: Questions) -> list[Answer]:
        arrays = [np.array(c, k) for c, k in zip(zip(*questions, strict=True), kinds, strict=True)]
        results, flags = columns(device(*arrays), len(questions))
        return [Answer(r, f) for r, f in zip(results, flags, strict=True)]

    return ask


def ask_model(vectors: Checkable, model: Model, has_flags: bool = True) -> Asker:
    """A device made of a model of this library; where that has no answer, it gives zeros."""
    block = getattr(vectors, "block", None) is not None
    width = sum(f.lanes for f in vectors.fields) - input_width(vectors)

    def answer(output: Output | None) -> Answer:
        found = output or (0,) * width
        if block:
            return Answer(found[0], None, found)
        return Answer(found[0], found[1] if has_flags else None)

    return lambda questions: [answer(model(q)) for q in questions]
