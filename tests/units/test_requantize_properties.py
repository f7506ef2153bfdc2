"""The suite of requantizers: the oracle passes it, and each planted error breaks the property made for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_affine_properties import broken, quick  # noqa: F401  (a fixture)

from softfloat_ref import testing
from softfloat_ref.oracle.requantization import RULES
from softfloat_ref.units import RequantizeUnit


def suite(model: Callable[..., Any], **attributes: Any) -> Any:
    body = {"model": model, "max_examples": 150, "fmt": "i32", "rule": "gemmlowp", **attributes}
    return type("Planted", (testing.RequantizeConformance,), body)()


def by(**changes: Any) -> Callable[..., int]:
    """The oracle, by another rule or to another format."""

    def model(self: Any, *inputs: int) -> int:
        rule = changes.get("rule", self.rule)
        unit = RequantizeUnit.make(self.fmt, self.out, rule, self.fixed, self.clamped)
        return int(unit.answer(inputs)[0])

    return model


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("name", RULES)
def test_the_oracle_conforms(name: str) -> None:
    fmt = "i48" if RULES[name].accumulator_bits == 48 else "i32"
    assert broken(suite(by(), fmt=fmt, rule=name, max_examples=40)) == set()
    assert broken(suite(by(), fmt=fmt, rule=name, out="u4", clamped=True, max_examples=40)) == set()


def no_zero_point(self: Any, x: int, multiplier: int, shift: int, zero_point: int) -> int:
    return by()(self, x, multiplier, shift, 0)


def no_saturation(self: Any, x: int, multiplier: int, shift: int, zero_point: int) -> int:
    wide = RequantizeUnit.make("i32", "i32", self.rule)
    return int(wide.answer((x, multiplier, shift, ((zero_point ^ 128) - 128) % (1 << 32)))[0]) & 0xFF


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("model", "attributes", "names"),
    [
        (by(rule="gemmlowp,rounding=rdn"), {}, {"oracle", "error"}),
        (by(rule="gemmlowp,first=rtz"), {}, {"oracle"}),
        (no_zero_point, {}, {"oracle", "zero", "error"}),
        (no_saturation, {}, {"oracle", "monotonic"}),
        (lambda self, *inputs: by()(self, *inputs[:4], 0x80, 0x7F), {"clamped": True}, {"oracle", "in_range", "zero"}),
    ],
)
def test_planted_errors(model: Callable[..., int], attributes: dict[str, Any], names: set[str]) -> None:
    assert broken(suite(model, **attributes)) >= names
