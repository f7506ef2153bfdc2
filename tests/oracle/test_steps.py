"""Steps: what a run calls, records and replaces; and rounding in steps, which is `round_pack`."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import softfloat_ref.units  # noqa: F401  (every step is known)
from softfloat_ref.oracle import exact, rounding_steps
from softfloat_ref.oracle.codec import encoder, target
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import ROUNDINGS, Policy, get_policy
from softfloat_ref.oracle.rounding_steps import destination, magnitude, place, round_up, rounded, rounded_in_steps
from softfloat_ref.oracle.steps import PLAIN, STEPS, Change, Do, Plan, Traced, step

# -- runs ------------------------------------------------------------------------------------------------------------


@step("half", "number")
def half(x: int) -> int:
    return x // 2


@step("next", "number")
def following(x: int) -> int:
    return x + 1


def quarter_in_steps(do: Do, x: int) -> int:
    return do(half, do(half, x))


@step("quarter", "number", quarter_in_steps, [half])
def quarter(x: int) -> int:
    return x // 4


def total(do: Do, numbers: list[int]) -> int:
    return sum(do.at("lane", k)(following, do.at("lane", k)(quarter, x)) for k, x in enumerate(numbers))


def test_plain_and_traced_runs_give_the_same() -> None:
    assert total(PLAIN, [8, 12]) == total(Traced(Plan()), [8, 12]) == total(Traced(Plan((), True)), [8, 12]) == 7


def test_the_record_has_each_step_with_its_path() -> None:
    run = Traced(Plan((), record_all=True))
    total(run, [8, 12])
    assert [(*x.path, x.name, x.value) for x in run.record[:4]] == [
        ("lane", 0, "quarter", "half", 4),
        ("lane", 0, "quarter", "half", 2),
        ("lane", 0, "quarter", 2),
        ("lane", 0, "next", 3),
    ]
    assert [x.value for x in run.all(following)] == [3, 4]
    assert run.last(following, "lane", 0) == 3
    assert run.last(half, "lane", 2) is None


def test_a_step_inside_another_is_replaced() -> None:
    """And only there the inner form runs."""
    plan = Plan([Change(half, lambda here, right, x: right(x) + 1, ("quarter",))])
    assert total(Traced(plan), [8, 12]) == (8 // 2 + 1) // 2 + 1 + (12 // 2 + 1) // 2 + 1 + 2 + 2 - 2
    assert set(plan.other) == {quarter}
    assert Traced(plan)(half, 8) == 4


def test_a_step_is_replaced_in_one_part() -> None:
    tens = Change(following, lambda here, right, x: right(x) + 10 * here.path[-1], ("lane",), placed=True)
    assert total(Traced(Plan([tens])), [8, 12, 16]) == 3 + 14 + 25
    for part, found in (("lane", 33), (("lane", 1), 22), (1, 22), (("lane", 3), 12), ("other", 12)):
        ten = Change(following, lambda here, right, x: right(x) + 7, (part,))
        assert total(Traced(Plan([ten])), [8, 12, 16]) == 12 + {33: 21, 22: 7, 12: 0}[found]
    both = Change(half, lambda here, right, x: right(x) + 1, (("lane", 1), "quarter"))
    assert total(Traced(Plan([both])), [8, 12]) == 3 + 4 + 1


def test_changes_of_one_step_compose_in_their_order() -> None:
    plan = Plan([Change(half, lambda here, right, x: right(x) + 1), Change(half, lambda here, right, x: 10 * right(x))])
    assert Traced(plan)(half, 8) == 50


def test_a_change_reads_what_was_done_before() -> None:
    read = Change(following, lambda here, right, x: here.last(quarter), (), (quarter,))
    assert total(Traced(Plan([read])), [8, 12]) == 2 + 3


# -- rounding --------------------------------------------------------------------------------------------------------

SIMPLE = ("fp4_e2m1", "s1e2m2b1", "fp6_e3m2", "s1e2m1b1fnuz", "binary4p2se", "binary4p1uf", "i4", "s1e3m0b3", "e8m0")
NORMAL = dataclasses.replace(get_format("s1e3m2b3"), name="normal", subnormals="normal")
FORMATS = (*map(get_format, SIMPLE), NORMAL, dataclasses.replace(NORMAL, name="gap", subnormals="none"))
FIELDS: tuple[dict[str, Any], ...] = (
    *({}, {"overflow": "sat-finite"}, {"overflow": "sat-none"}, {"tininess": "before"}, {"flush_outputs": True}),
    *({"flush_outputs": True, "flush_rule": "before"}, {"overflow": "sat-propagate", "specials": "p3109"}),
)


def policies(mode: str) -> Iterator[Policy]:
    random = {"sr_bits": 2} if mode.startswith("sr") else {}
    return (get_policy(None, rounding=mode, **random, **fields) for fields in FIELDS)


def values(fmt: Format, n: int) -> Iterator[Value]:
    """Every number of two bits more than the format has, from far below its smallest to beyond its largest; with a
    sticky bit below; and the special values."""
    bits = fmt.precision + n + 2
    ends = fmt.emin - fmt.mantissa_bits - bits - 2, fmt.emax + 2 - bits
    near = (range(ends[0], ends[0] + 8), range(-3, 3), range(ends[1] - 6, ends[1]))
    exponents = range(*ends) if ends[1] - ends[0] < 40 else [*itertools.chain(*near)]
    for sign in (0, 1):
        yield from (exact.zero(sign), Value(INF, sign), Value(NAN, sign, 0, 0))
        for exponent in exponents:
            for significand in range(1 << bits - 1, 1 << bits):
                yield Value(FINITE, sign, significand, exponent, significand & 1)
                yield Value(FINITE, sign, significand, exponent)


@pytest.mark.full(keep=9)
@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("mode", ROUNDINGS)
def test_rounding_in_steps_is_round_pack(fmt: Format, mode: str) -> None:
    for policy in policies(mode):
        for overflow, zero in (("ieee", "ieee"), ("inf", "positive")):
            to = destination(fmt, policy, overflow, zero)
            for k, x in enumerate(values(fmt, policy.random_count)):
                r = k & (1 << policy.random_count) - 1
                assert rounded_in_steps(PLAIN, x, r, to) == rounded(x, r, to), (policy, x)


def test_the_plain_form_is_the_encoder() -> None:
    fmt, policy = get_format("fp16"), get_policy("arm")
    destination.cache_clear()  # one made before `encoder` dropped its own from its cache holds another function object
    assert destination(fmt, policy).encode is encoder(fmt, policy)
    assert destination(fmt, policy).target == target(fmt, policy)


def test_the_steps_of_a_rounding() -> None:
    """1.75 in a format of two bits: a tie, up to 2, with a carry."""
    fmt = get_format("s1e5m1b15")
    run = Traced(Plan((), record_all=True))
    assert run(rounded, exact.finite(0, 7, -2), 0, destination(fmt, Policy())) == (16 << 1, 1)
    done = {x.name: x.value for x in run.record}
    assert list(done) == ["place", "round up", "magnitude", "overflow", "inexact", "pack", "round"]
    assert (done["place"].kept, done["place"].guard, done["place"].sticky) == (3, 1, 0)
    assert done["round up"] is True
    assert {x.path for x in run.record} == {("round",), ()}


def test_every_step_inside_a_rounding_is_known() -> None:
    assert STEPS[rounded].inside == set(rounding_steps.INSIDE)
    assert {place, round_up, magnitude} < STEPS[rounded].inside


@pytest.mark.parametrize("name", sorted({x.name for x in STEPS.values()} - {"half", "next", "quarter"}))
def test_a_name_has_one_kind_of_value(name: str) -> None:
    assert len({x.kind for x in STEPS.values() if x.name == name}) == 1


def test_the_names_of_steps_are_listed() -> None:
    """In docs/design.md, under Steps; those of this module are not."""
    text = (Path(__file__).parents[2] / "docs" / "design.md").read_text(encoding="utf-8")
    section = text.partition("## Steps")[2].partition("\n## ")[0]
    rows = [x for x in section.splitlines() if x.startswith("| ")]
    listed = {name for row in rows for name in re.findall(r"`([a-z0 ]+)`", row)}
    assert listed == {x.name for f, x in STEPS.items() if f.__module__ != __name__}
