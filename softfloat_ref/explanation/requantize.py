"""Explains a requantization: the product, each rounding, the register, the zero point and the clamp; finds other rules
that give an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.explanation.scalar import Rows, describe, value_text
from softfloat_ref.explanation.steps import Change, alternatives, matching_changes, steps
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.requantization import CHOICES, RULES, RequantizeRule, get_rule, spelled
from softfloat_ref.oracle.requantization_steps import (
    early_register,
    first_rounded,
    held,
    high_part,
    in_register,
    last_rounded,
    multiplied,
    operand_value,
    reduced,
    scaled,
    shifted_left,
    with_zero_point,
)
from softfloat_ref.oracle.rounding_steps import rounded
from softfloat_ref.oracle.steps import Recorded, Traced, recording
from softfloat_ref.units import RequantizeUnit

_UNDEFINED: Final = "undefined"
_SHOWN_FIELDS: Final = tuple(k for k in CHOICES if k not in ("negative", "range"))


def integer_text(code: int, fmt: Format) -> str:
    """The code of an integer, and the integer."""
    return f"{fmt.hex(code)} = {operand_value(code, fmt)}"


@steps.register
def _steps(unit: RequantizeUnit, inputs: Sequence[int]) -> Rows:
    run = recording()
    (code,) = unit.computed(run, inputs)
    rows = [
        (f.name.replace("_", " "), integer_text(c, f.fmt) if f.fmt and f.fmt.is_integer else describe(c, f.fmt))
        for f, c in zip(unit.inputs, inputs, strict=True)
        if f.fmt
    ]
    rows += [("constants", unit.fixed)] if unit.fixed else []
    return [*rows, ("rule", spelled(unit.rule)), *_rows(unit.rule, run), ("result", integer_text(code, unit.out))]


def _rows(rule: RequantizeRule, run: Traced) -> Iterator[tuple[str, str]]:
    """What the steps gave, in their order."""
    for x in run.record:
        text = _TEXTS.get(x.function)
        if text is not None and (shown := text(x, rule)):
            yield shown


def _fitted(what: str) -> Any:
    """The text of a step that puts a number into a register; none if it fits."""

    def text(x: Recorded, rule: RequantizeRule) -> tuple[str, str] | None:
        before = x.args[0] << x.args[1] if x.function is shifted_left else x.args[0]
        if x.function is with_zero_point:
            before += x.args[1]
            if not x.args[1] and before == x.value:
                return None
        elif before == x.value and (x.function is not shifted_left or not x.args[1]):
            return None
        more = "" if before == x.value else f": {before} {x.args[-1]} to {x.args[-2]} bits"
        return what, f"{x.value}{more}"

    return text


def _rounding(x: Recorded, rule: RequantizeRule) -> tuple[str, str]:
    """A rounding: the number, and the integer."""
    first = x.function is first_rounded
    n, bits, added = x.args[0], x.args[1], 0 if first else x.args[2]
    n += added << max(bits, 0)
    number = exact.finite(int(n < 0), abs(n), -bits) if n else exact.zero(0)
    twice = ("first" if first else "then") if rule.first_bits else "rounded"
    how = f"rounded by {rule.first if first else rule.rounding}" if bits > 0 else "exact"
    return twice, f"{value_text(number)}, {how}: {x.value}" if bits else f"{x.value}: nothing to round"


def _clamp(x: Recorded, rule: RequantizeRule) -> tuple[str, str]:
    number, low, high = x.args
    where = f"none: within {low} to {high}"
    if number != x.value:
        where = f"below the smallest integer, {low}" if number < low else f"above the largest integer, {high}"
    return "clamp", where


def _scaled(x: Recorded, rule: RequantizeRule) -> tuple[str, str]:
    n, bits = x.value
    number = exact.finite(int(n < 0), abs(n), -bits) if n else exact.zero(0)
    return "product", f"{value_text(number)}" + ("" if rule.arithmetic == "exact" else f", by {rule.arithmetic} steps")


_TEXTS: Final[dict[Any, Any]] = {
    reduced: lambda x, rule: ("reduced", f"{x.value}: the multiplier without {x.args[1]} low bits"),
    shifted_left: _fitted("left shift"),
    multiplied: lambda x, rule: ("product", str(x.value)) if rule.has_shift else None,
    rounded: lambda x, rule: ("step", f"{describe(x.value[0], x.args[2].fmt)}, rounded to {x.args[2].fmt.name}"),
    scaled: _scaled,
    first_rounded: _rounding,
    high_part: _fitted("high part"),
    early_register: lambda x, rule: ("early", f"{x.value}: the product and one bit below, wrapped to {x.args[2]} bits"),
    last_rounded: _rounding,
    in_register: _fitted("register"),
    with_zero_point: _fitted("sum"),
    held: _clamp,
}


# -- which rules give an answer ------------------------------------------------------------------------------------


@alternatives.register
def _alternatives(unit: RequantizeUnit, inputs: Sequence[int], got: Sequence[int]) -> list[Change]:
    """The unit itself; the named rules and the changes of one choice; changes of two."""
    single = [{"rule": name} for name, r in RULES.items() if r != unit.rule] + list(_single_changes(unit.rule))
    return matching_changes(unit, inputs, got, single, _exclusive, _gives)


def _exclusive(first: Change, second: Change) -> bool:
    """Whether two changes are of the same field, or one is of the whole rule."""
    keys = {*first, *second}
    return len(keys) == 1 or "rule" in keys


def _single_changes(rule: RequantizeRule) -> Iterator[Change]:
    for field in _SHOWN_FIELDS:
        yield from ({field: x} for x in CHOICES[field] if x not in (getattr(rule, field), _UNDEFINED))
    if rule.first_bits:
        yield {"first_bits": "0"}


def _gives(unit: RequantizeUnit, change: Change, inputs: Sequence[int], got: Sequence[int]) -> bool:
    """Whether the unit by the changed rule gives the answer."""
    with suppress(Error):
        name = change.get("rule")
        changed = get_rule(name) if name else changed_rule(unit.rule, change)
        return tuple(unit.under(changed).answer(inputs)) == tuple(got)
    return False


def changed_rule(rule: RequantizeRule, change: Change) -> RequantizeRule:
    """A rule with other choices. Raises Error."""
    return rule.replace(**{k: int(v) if k == "first_bits" else v for k, v in change.items()})
