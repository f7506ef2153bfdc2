"""Explains a case of a pipeline: the result of every step, and how far the last one is from the exact function's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softfloat_ref.explanation.scalar import Rows, describe, flag_text
from softfloat_ref.explanation.steps import SHOWN_LANES, field_lines, labelled_rows, steps
from softfloat_ref.units import OperationUnit, PipelineUnit
from softfloat_ref.units.pipeline_steps import PipelineStep


@steps.register
def _pipeline_steps(unit: PipelineUnit, inputs: Sequence[int]) -> Rows:
    rows: Rows = labelled_rows(field_lines(unit.inputs, inputs))
    results: dict[str, list[int]] = {s.name: [] for s in unit.stages}
    flags = dict.fromkeys(results, 0)
    for case in unit.part_cases(inputs):
        results[case.stage].append(case.code)
        flags[case.stage] |= case.flags
    outputs = unit.answer(inputs)
    for s in unit.stages:
        codes = results[s.name]
        rows.append((s.name, f"{_what(s)}: {flag_text(flags[s.name]) if flags[s.name] else 'no flags'}"))
        form = "{} {}" if s.order else "{}[{}]"  # calls, or lanes
        rows += [(form.format(s.name, k), describe(x, s.out)) for k, x in enumerate(codes[:SHOWN_LANES])]
        if len(codes) > SHOWN_LANES:
            rows.append((f"{s.name} ...", f"and {len(codes) - SHOWN_LANES} more"))
    rows += _exact_rows(unit, inputs, outputs[-1 - unit.last.lanes : -1])
    return [*rows, ("flags", flag_text(outputs[-1]))]


def _what(s: PipelineStep) -> str:
    """What a step does, to what, and where to."""
    part = s.unit
    formats = part.formats if isinstance(part, OperationUnit) else (s.out,) * len(s.of)
    of = ", ".join(x if isinstance(x, str) else describe(x, f) for x, f in zip(s.of, formats, strict=False))
    op = part.op if isinstance(part, OperationUnit) else part.name
    order = f", {s.order}" if s.order else ""
    rounding = part.properties().get("rounding")
    return f"{op} of {of}{order}, to {s.out.name}" + (f" by {rounding}" if rounding else "")


def _exact_rows(unit: PipelineUnit, inputs: Sequence[int], own: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The results of the function that is computed so, rounded once, and their distance from these in codes."""
    exact = unit.exact
    if exact is None:
        return
    right = exact.answer(tuple(inputs)[: exact.input_width])
    yield exact.op, "of the same operands, each result rounded once"
    for k, (x, y) in enumerate(zip(own[:SHOWN_LANES], right, strict=False)):
        yield f"{exact.op}[{k}]", f"{describe(y, exact.out)}{_distance(unit.last, k, x, y)}"


def _distance(last: PipelineStep, lane: int, own: int, exact: int) -> str:
    if own == exact:
        return ""
    fmt, name = last.out, f"{last.name}[{lane}]"
    if (own ^ exact) & fmt.sign_bit or max(own & fmt.magnitude_mask, exact & fmt.magnitude_mask) > fmt.max_code:
        return f"; {name} is not near it"
    off = (own & fmt.magnitude_mask) - (exact & fmt.magnitude_mask)
    return f"; {name} is {abs(off)} code{'s' * (abs(off) > 1)} {'further from' if off > 0 else 'nearer to'} zero"
