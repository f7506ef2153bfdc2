"""Pipelines of many cases at once: the codes and flags of the scalar oracle, a step of all cases at a time.

Codes of an operand or a step have the shape (cases, lanes). A part computes flat arrays: the lanes of a case lie beside
each other, so that a flat result is reshaped to (cases, lanes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.arrays.operations import CHUNK, Bulk
from softfloat_ref.base.errors import Undefined
from softfloat_ref.units.dot import DotUnit
from softfloat_ref.units.folds import folded
from softfloat_ref.units.operation import OperationUnit
from softfloat_ref.units.unit import split

if TYPE_CHECKING:
    from softfloat_ref.units.approximation import ApproximationUnit
    from softfloat_ref.units.pipeline_steps import Part, PipelineStep
    from softfloat_ref.units.unit import Field

MAX_WIDTH: Final = 64  # bits of codes in arrays
Codes = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
PartFunction = Callable[..., tuple[Codes, Bytes]]  # flat inputs, one array each -> codes and flags


def answers(fields: Sequence[Field], stages: Sequence[PipelineStep], inputs: Codes) -> dict[str, Codes] | None:
    """The results of every step by its name, and `flags`, each (cases, lanes); None if some case has no defined result,
    or codes are too wide. fields: of the inputs; inputs: (cases, all input lanes)."""
    if max(*(f.width for f in fields), *(s.out.width for s in stages)) > MAX_WIDTH:
        return None
    values: dict[str, Any] = {f.name: np.array(own).T for f, own in split(fields, list(inputs.T))}
    words = iter(values.pop("r").T if "r" in values else ())
    flags = np.zeros(len(inputs), np.uint8)
    try:
        for stage in stages:
            values[stage.name], raised = _results(stage, values, words, len(inputs))
            flags |= raised
    except Undefined:
        return None
    return values | {"flags": flags[:, np.newaxis].astype(np.uint64)}


def _results(
    stage: PipelineStep, values: Mapping[str, Codes], words: Iterator[Codes], rows: int
) -> tuple[Codes, Bytes]:
    """The codes of a step, (cases, lanes), and the flags of each case. words: arrays of (cases,), of which stochastic
    roundings take the next ones, as the scalar oracle does."""
    run, flags = _part_function(stage.unit, rows * stage.lanes), np.zeros(rows, np.uint8)
    if not stage.order:
        drawn = [np.array([next(words) for _ in range(stage.lanes)]).T] if stage.random_count else []
        taken = [_inputs_of_lane(stage, values, lane, rows) for lane in range(stage.lanes)]
        flat = [np.stack(x, axis=1).reshape(-1) for x in zip(*taken, strict=True)]
        codes, raised = run(*flat, *(x.reshape(-1) for x in drawn))
        return codes.reshape(rows, -1), np.bitwise_or.reduce(raised.reshape(rows, -1), axis=1)

    def combined(x: Codes, y: Codes) -> Codes:
        nonlocal flags
        code, raised = run(x, y, *([next(words)] if stage.random_count else []))
        flags |= raised
        return code

    return folded(stage.order, list(values[str(stage.of[0])].T), combined)[:, np.newaxis], flags


def _inputs_of_lane(stage: PipelineStep, values: Mapping[str, Codes], lane: int, rows: int) -> list[Codes]:
    """The inputs of a lane, each (cases,)."""
    by_lane: dict[str, Any] = {name: x.T for name, x in values.items()}
    return stage.taken(by_lane, lane, lambda code: np.full(rows, code, np.uint64))


def _part_function(part: Part, size: int) -> PartFunction:
    """A part as a function of flat arrays, which may raise Undefined. size: about how many answers it will give."""
    if isinstance(part, OperationUnit):
        bulk, stochastic = Bulk(part.signature, part.policy, size), bool(part.policy.random_count)
        return lambda *flat: _in_chunks(bulk, flat, stochastic)
    if isinstance(part, DotUnit):
        return lambda *flat: _one_by_one(part, flat)
    return lambda *flat: _approximated(part, flat[0])


def _in_chunks(bulk: Bulk, flat: tuple[Codes, ...], stochastic: bool) -> tuple[Codes, Bytes]:
    """The answers of an operation, CHUNK at a time. The last input of a stochastic rounding is the random word."""
    codes, flags = np.empty(flat[0].size, np.uint64), np.empty(flat[0].size, np.uint8)
    signed = [np.ascontiguousarray(x).view(np.int64) for x in flat]
    for start in range(0, codes.size, CHUNK):
        part = slice(start, start + CHUNK)
        own = [x[part] for x in signed]
        some, raised = bulk(own[:-1], own[-1]) if stochastic else bulk(own)
        codes[part], flags[part] = some.view(np.uint64), raised
    if codes.size and int(flags.max()) == UNKNOWN:
        raise Undefined("a step has no defined result")
    return codes, flags


def _one_by_one(part: Part, flat: tuple[Codes, ...]) -> tuple[Codes, Bytes]:
    pairs = [part.answer(inputs) for inputs in zip(*(x.tolist() for x in flat), strict=True)]
    return np.array([x for x, _ in pairs], np.uint64), np.array([x for _, x in pairs], np.uint8)


def _approximated(part: ApproximationUnit, x: Codes) -> tuple[Codes, Bytes]:
    """The answers of an approximation, which has no flags."""
    outputs = part.answers(x[:, np.newaxis])
    assert outputs is not None  # every approximation is computed in arrays
    return outputs[:, 0], np.zeros(x.size, np.uint8)
