"""Ways to ask a device questions, a list at a time: a command, a function of arrays, a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from softfloat_ref.diagnosis.hypotheses import Model, Output
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.writers import text_line
from softfloat_ref.testing.check import Checkable, input_width, parse_answer
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.devices import CommandDevice, DeviceError, Late, check_startable
from softfloat_ref.testing.dialogue import Broken, Dialogue

_LONGER_S: Final = 1.0  # than its first answers took, before a device is taken for one that answers at the end
Questions = Sequence[tuple[int, ...]]
Asker = Callable[[Questions], list[Answer]]  # as many answers as questions. Raises DeviceError


@contextmanager
def ask_command(vectors: Checkable, command: str, timeout_s: float = 10.0) -> Iterator[Asker]:
    """A command, while the block lasts.

    One that answers line by line is kept running; one that answers when its input ends is started for each list of
    questions. Which it is shows with the second list; the first says how long it takes to start and to answer. Raises
    Error for a command that cannot be one.
    """
    check_startable(command)
    as_operands = text_line([f for f in vectors.fields if f.role in ("operand", "random")])
    kept: Dialogue | None = None

    def answers(lines: list[str]) -> list[str]:
        nonlocal kept
        if kept is None:
            begin = time.monotonic()
            found = _alone(command, lines, timeout_s)
            took = time.monotonic() - begin
            kept = Dialogue(command, timeout_s, patience_s=took + _LONGER_S)
            return found
        if not kept.answers_at_once:
            return _alone(command, lines, timeout_s)
        try:
            return kept.ask(lines)
        except Broken as e:
            raise DeviceError(str(e)) from None

    def ask(questions: Questions) -> list[Answer]:
        if not questions:
            return []
        lines = answers([as_operands(q) for q in questions])
        return [parse_answer(line, vectors, q) for line, q in zip(lines, questions, strict=True)]

    try:
        yield ask
    finally:
        if kept is not None:
            kept.close()


def _alone(command: str, lines: Sequence[str], timeout_s: float) -> list[str]:
    """The answers to these lines of a process of their own, which must end well. Raises DeviceError."""
    with CommandDevice(command, timeout_s) as device:
        try:
            found = [x for x in device.answers(iter(lines)) if x.strip()]
            device.finish()
        except DeviceError as e:
            raise DeviceError(str(e) if isinstance(e, Late) else f"{e}; {device.how_it_ended()}") from None
    if len(found) != len(lines):
        raise DeviceError(f"it answered {len(found)} lines to {len(lines)} questions")
    return found


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
