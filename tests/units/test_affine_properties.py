"""The suite of affine quantizers: the oracle passes it, and each planted error breaks the property made for it."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import Phase, settings

import softfloat_ref as sf
from softfloat_ref import testing
from softfloat_ref.units import AffineQuantizeUnit


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    """The same cases every time, and no search for simpler ones."""
    before = settings.default
    assert before is not None
    settings.register_profile("quick", deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    settings.load_profile("quick")
    yield
    settings.register_profile("before", before)
    settings.load_profile("before")


def suite(model: Callable[..., Any], **attributes: Any) -> Any:
    body = {"model": model, "max_examples": 150, "fmt": "qint8", **attributes}
    return type("Planted", (testing.AffineConformance,), body)()


def oracle(self: Any, *inputs: int) -> int:
    unit = AffineQuantizeUnit.make(self.fmt, self.source, self.policy, self.rule)
    return int(unit.answer(inputs)[0])


def broken(found: Any, tried: Iterable[str] = ()) -> set[str]:
    """The properties that a model breaks, of all or of those tried."""
    names = set()
    for name in tried or found.properties:
        try:
            found.check(name)
        except testing.NotConforming:
            names.add(name)
        except unittest.SkipTest:
            pass
    return names


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("fmt", ["qint8", "quint4", "qint8_sym_narrow", "quint8_sym", "quint2_narrow", "qint16"])
@pytest.mark.parametrize("rule", ["exact", "torch", "torch-channel", "torch-fake"])
def test_the_oracle_conforms(fmt: str, rule: str) -> None:
    assert broken(suite(oracle, fmt=fmt, rule=rule, max_examples=20)) == set()


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("rounding", ["rna", "rtz", "rup", "rdn", "rto", "rnu", "rhz"])
@pytest.mark.parametrize(("fmt", "rule"), [("quint8_sym", "exact"), ("qint8", "torch"), ("qint4_sym", "torch-fake")])
def test_the_oracle_conforms_under_every_rounding(fmt: str, rule: str, rounding: str) -> None:
    assert broken(suite(oracle, fmt=fmt, rule=rule, policy=sf.get_policy(rounding=rounding), max_examples=20)) == set()


def test_other_values() -> None:
    for source in ("bf16", "fp64", "fp8_e4m3"):
        assert broken(suite(oracle, source=source, max_examples=20)) == set()


def changed(**fields: Any) -> Callable[..., int]:
    """The oracle with another definition."""

    def model(self: Any, *inputs: int) -> int:
        policy = fields.get("policy", self.policy)
        unit = AffineQuantizeUnit.make(self.fmt, self.source, policy, fields.get("rule", self.rule))
        return int(unit.answer(inputs)[0])

    return model


def wraps(self: Any, value: int, scale: int, zero_point: int) -> int:
    """The low 8 bits of a 16-bit integer."""
    wide = AffineQuantizeUnit.make("qint16").answer((value, scale, (zero_point ^ 0x80) - 0x80 & 0xFFFF))[0]
    return wide & 0xFF


def full(self: Any, *inputs: int) -> int:
    """The range is not narrow."""
    return int(AffineQuantizeUnit.make("qint8_sym").answer(inputs)[0])


def no_zero_point(self: Any, value: int, scale: int, zero_point: int) -> int:
    return int(AffineQuantizeUnit.make("qint8").answer((value, scale, 0))[0])


@pytest.mark.full(keep=4)
@pytest.mark.parametrize(
    ("model", "attributes", "names"),
    [
        (wraps, {}, {"oracle", "saturating", "monotonic"}),
        (full, {"fmt": "qint8_sym_narrow"}, {"oracle", "in_range", "saturating"}),
        (no_zero_point, {}, {"oracle", "zero", "on_the_grid", "error"}),
        (changed(rule="exact,order=outside"), {}, {"oracle"}),
        (changed(policy=sf.get_policy(rounding="rtz")), {}, {"oracle", "error"}),
        (changed(policy=sf.get_policy(rounding="rup")), {"fmt": "qint8_sym"}, {"oracle", "error", "odd"}),
        (lambda self, *inputs: oracle(self, *inputs) & ~1, {}, {"oracle", "shift", "on_the_grid", "zero", "error"}),
    ],
)
def test_planted_errors(model: Callable[..., int], attributes: dict[str, Any], names: set[str]) -> None:
    assert broken(suite(model, max_examples=400, **attributes), names) == names


def test_a_failure_shows_the_case_and_the_command() -> None:
    with pytest.raises(testing.NotConforming) as caught:
        suite(no_zero_point).check("zero")
    text = str(caught.value)
    assert text.startswith("zero: Zero of either sign becomes the zero point.\nqint8 from fp32, rule exact, rne\n")
    assert "softfloat-ref explain quantize --fmt qint8 " in text
    assert "expected by this property: the zero point, " in text


def test_a_code_that_is_too_wide() -> None:
    with pytest.raises(testing.NotConforming, match="a code of 8 bits"):
        suite(lambda self, *_: 0x1FF).check("in_range")


def test_what_says_nothing_is_skipped() -> None:
    reasons = suite(oracle, rule="torch", policy=sf.get_policy(rounding="rtz")).applicable()
    assert {name for name, reason in reasons.items() if reason} == {"on_the_grid", "shift", "odd"}
    with pytest.raises(unittest.SkipTest, match="the zero point of qint8 may have any value"):
        suite(oracle).check("odd")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"fmt": ""}, "set the class attribute fmt = ..."),
        ({"fmt": "qint99"}, "2 to 16 bits, not 99"),
        ({"rule": "none"}, "unknown affine rule 'none'"),
        ({"policy": sf.get_policy(rounding="sr", sr_bits=4)}, "stochastic roundings are tested on conversions"),
    ],
)
def test_wrong_settings(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(sf.Error, match=message):
        suite(oracle, **attributes).check("oracle")
