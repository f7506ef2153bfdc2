"""Ways to query a device with lists of questions: a command, a function of arrays, a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from softfloat_ref.diagnosis.hypotheses import Model, Output
from softfloat_ref.golden.writers import text_line
from softfloat_ref.testing.answers import AnswerReader
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.devices import CommandDevice, DeviceError, Late, check_startable
from softfloat_ref.testing.dialogue import Broken, Dialogue
from softfloat_ref.units import Unit

_PATIENCE_S: Final = 1.0  # longer than its first answers took, before assuming that a device answers only at the end
Questions = Sequence[tuple[int, ...]]
Asker = Callable[[Questions], list[Answer]]  # returns one answer per question. Raises DeviceError


@contextmanager
def ask_command(unit: Unit, command: str, timeout_s: float = 10.0, base: str | None = None) -> Iterator[Asker]:
    """A command that runs while the block lasts.

    One that answers line by line is kept running; one that answers when its input ends is started for each list of
    questions. Which it is shows with the second list; the first says how long it takes to start and to answer. Raises
    Error for a command that cannot be one.
    """
    check_startable(command)
    as_operands, reader = text_line(unit.inputs), AnswerReader(unit, base)
    dialogue: Dialogue | None = None

    def answers(lines: list[str]) -> list[str]:
        nonlocal dialogue
        if dialogue is None:
            begin = time.monotonic()
            first = _alone(command, lines, timeout_s)
            took = time.monotonic() - begin
            dialogue = Dialogue(command, timeout_s, patience_s=took + _PATIENCE_S)
            return first
        if not dialogue.answers_at_once:
            return _alone(command, lines, timeout_s)
        try:
            return dialogue.ask(lines)
        except Broken as e:
            raise DeviceError(str(e)) from None

    def ask(questions: Questions) -> list[Answer]:
        if not questions:
            return []
        lines = answers([as_operands(q) for q in questions])
        return [reader.answer(line, q) for line, q in zip(lines, questions, strict=True)]

    try:
        yield ask
    finally:
        if dialogue is not None:
            dialogue.close()


def _alone(command: str, lines: Sequence[str], timeout_s: float) -> list[str]:
    """The answers of a new process to these lines; it must end with exit code 0. Raises DeviceError."""
    with CommandDevice(command, timeout_s) as device:
        try:
            lines_out = [x for x in device.answers(iter(lines)) if x.strip()]
            device.finish()
        except DeviceError as e:
            raise DeviceError(str(e) if isinstance(e, Late) else f"{e}; {device.how_it_ended()}") from None
    if len(lines_out) != len(lines):
        raise DeviceError(f"it answered {len(lines_out)} lines to {len(lines)} questions")
    return lines_out


def ask_arrays(unit: Unit, device: Callable[..., Any]) -> Asker:
    """A function of arrays: codes of each operand in, result codes or (result, flags) out.

    Raises Error for a unit with fields of several codes.
    """
    import numpy as np

    from softfloat_ref.testing.answers import array_types, columns

    kinds = array_types(unit)

    def ask(questions: Questions) -> list[Answer]:
        arrays = [np.array(c, k) for c, k in zip(zip(*questions, strict=True), kinds, strict=True)]
        results, flags = columns(device(*arrays), len(questions))
        return [Answer((r,), f) for r, f in zip(results, flags, strict=True)]

    return ask


def ask_model(unit: Unit, model: Model, has_flags: bool = True) -> Asker:
    """A device that answers as a model of this library, with zeros if the model has no answer."""
    count = len(unit.result_formats)
    flags = has_flags and unit.has_flags

    def answer(output: Output | None) -> Answer:
        codes = output or (0,) * (count + flags)
        return Answer(codes[:count], codes[count] if flags else None)

    return lambda questions: [answer(model(q)) for q in questions]
