"""What explain says of overflow: the rule, whether it is the default for the format, and the format's own kind."""

from __future__ import annotations

import pytest
from command import ok

from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import Policy

NAMES = [name for name in CATALOGUE if name not in ("fp128", "extf80")]


def rule_of(fmt: Format, number: str, *options: str) -> str:
    rows = [x for x in ok("explain", "--fmt", fmt.name, *options, number).splitlines() if "overflow = " in x]
    assert len(rows) == 1, number
    return rows[0].partition("overflow = ")[2]


@pytest.mark.parametrize("number", ["1e999", "inf"])
@pytest.mark.parametrize("name", NAMES)
def test_the_default_is_that_of_the_policy(name: str, number: str) -> None:
    fmt = get_format(name)
    if fmt.is_integer:
        return
    default = Policy().overflow_for(fmt)
    kind = f"overflow without saturation is {fmt.overflow}"
    assert rule_of(fmt, number) == f"{default}, the default for this format, whose {kind}"
    for rule in ("sat-none", "sat-propagate", "sat-finite"):
        assert rule_of(fmt, number, "--overflow", rule) == f"{rule}; the format's {kind}"


def test_integers_have_a_rule_of_their_own() -> None:
    for number in ("inf", "1000"):
        shown = ok("explain", "--fmt", "i8", number)
        assert "integers = riscv" in shown
        assert "overflow = " not in shown
