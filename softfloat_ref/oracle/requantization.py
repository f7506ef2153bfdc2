"""Requantization: an accumulator times a scale, rounded, plus a zero point, saturated to a narrow integer.

The scale is an integer multiplier and a shift, or a float. Each difference between implementations is a field of a
RequantizeRule.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.search import find_first
from softfloat_ref.base.tables import LIKE, check_choices, choices, from_table, load_definition, split_like
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.rounding import Rounding

MOST_BITS: Final = 64  # of accumulators, multipliers and results
MOST_SHIFT: Final = 127
_MODES: Final = tuple(x.name.lower() for x in Rounding if not x.stochastic)
_WIDTHS: Final = {"accumulator_bits": MOST_BITS, "register_bits": MOST_BITS, "first_bits": MOST_BITS}


@dataclass(frozen=True)
class RequantizeRule:
    """Everything that "accumulator * scale + zero point" leaves open.

    multiplier: its format: of integers, with a shift; or of floats, the scale.
    arithmetic: of a float scale: the product is "exact", or accumulator, product and what is added to it are each
        rounded to "fp32" or "fp64".
    fraction: bits of an integer multiplier below the point, so that a shift of zero divides the product by
        2^fraction.
    shift: the format of the shift. direction: of a positive shift. least_shift, most_shift: others have no result.
    negative: whether negative multipliers have a result. range: "shift": only accumulators from -2^(shift - 1) to
        2^(shift - 1) - 1 have one.
    reduced: low bits of the multiplier that are rounded away first, halves up, saturating.
    left: a shift to the left is done before the multiplication, within the register, which is "wrapped" or "saturated";
        or "together" with the one to the right.
    first_bits: bits that a first rounding drops from the product; 0: there is one rounding only. first: its direction.
    high: its result, if it does not fit the register, is "saturated" or "wrapped".
    rounding: of the last, or only, rounding.
    result: a rounded number that does not fit the register is "exact", "wrapped", "saturated", "undefined", or
        "wrapped-early": the shifted product is, before its last bit rounds it.
    sum: the same of the sum with the zero point.
    order: the zero point is added "outside" the rounding or "inside" it.
    register_bits: of the register; 0: as many as the accumulator has. accumulator_bits: the most that it takes; 0: any.
    """

    name: str = "single"
    multiplier: str = "i32"
    arithmetic: Literal["exact", "fp32", "fp64"] = "exact"
    fraction: int = 31
    shift: str = "i6"
    direction: Literal["left", "right"] = "left"
    least_shift: int = -31
    most_shift: int = 30
    negative: Literal["allowed", "undefined"] = "allowed"
    range: Literal["any", "shift"] = "any"
    reduced: int = 0
    left: Literal["together", "wrapped", "saturated"] = "together"
    first_bits: int = 0
    first: str = "rnu"
    high: Literal["saturated", "wrapped"] = "saturated"
    rounding: str = "rnu"
    result: Literal["exact", "wrapped", "saturated", "undefined", "wrapped-early"] = "exact"
    sum: Literal["exact", "wrapped", "undefined"] = "exact"
    order: Literal["outside", "inside"] = "outside"
    register_bits: int = 0
    accumulator_bits: int = 0
    source: str = dataclasses.field(default="user definition", compare=False)

    def __post_init__(self) -> None:
        where = f"requantization rule {self.name!r}"
        check_choices(self, where, CHOICES)
        for field, most in _WIDTHS.items():
            _check_range(where, field, getattr(self, field), 0, most)
        _check_range(where, "fraction", self.fraction, 0, MOST_BITS)
        for field in ("least_shift", "most_shift"):
            _check_range(where, field, getattr(self, field), -MOST_SHIFT, MOST_SHIFT)
        fmt = self.multiplier_format
        if fmt.width > MOST_BITS or not (fmt.is_integer or (fmt.exponent_bits and fmt.signed)):
            raise Error(f"{where}: a multiplier is an integer or a float of at most {MOST_BITS} bits, not {fmt.name}")
        if not self.has_shift:
            self._check_float(where)
            return
        _check_range(where, "reduced", self.reduced, 0, fmt.width - 2)
        if self.arithmetic != "exact":
            raise Error(f"{where}: arithmetic = {self.arithmetic} is for a float multiplier, not {fmt.name}")
        if not self.shift_format.is_integer:
            raise Error(f"{where}: a shift is an integer, not {self.shift}")
        if self.range == "shift" and self.least_shift < 1:
            raise Error(f"{where}: range = shift needs shifts of at least 1; set least_shift")
        if self.order == "inside" and (self.first_bits or self.result == "wrapped-early"):
            raise Error(f"{where}: order = inside is for one rounding")
        if self.result == "wrapped-early" and (self.first_bits or self.rounding != "rnu"):
            raise Error(f"{where}: result = wrapped-early is for one rounding, rnu")

    def _check_float(self, where: str) -> None:
        """Raise Error for a field that only integer multipliers have."""
        for field in ("reduced", "left", "first_bits"):
            if getattr(self, field) != _default(field):
                raise Error(f"{where}: {field} is for an integer multiplier, not {self.multiplier}")
        if self.result == "wrapped-early":
            raise Error(f"{where}: result = wrapped-early is for an integer multiplier, not {self.multiplier}")

    @property
    def multiplier_format(self) -> Format:
        """The format of the multiplier or scale."""
        return get_format(self.multiplier)

    @property
    def shift_format(self) -> Format:
        """The format of the shift."""
        return get_format(self.shift)

    @property
    def has_shift(self) -> bool:
        """Whether the multiplier is an integer, with a shift."""
        return self.multiplier_format.is_integer

    def mode(self, first: bool = False) -> int:
        """The number of a rounding."""
        return int(Rounding[(self.first if first else self.rounding).upper()])

    def register(self, accumulator: Format) -> int:
        """The bits of the register, for accumulators of a format."""
        return self.register_bits or accumulator.width

    def replace(self, **fields: Any) -> RequantizeRule:
        """This rule with some fields replaced. Raises Error."""
        return dataclasses.replace(self, **fields)

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as files store it and `define_rule` reads it."""
        return dataclasses.asdict(self)


def _check_range(where: str, field: str, value: int, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise Error(f"{where}: {field} = {value!r}; it must be from {least} to {most}")


CHOICES: Final = choices(RequantizeRule, first=_MODES, rounding=_MODES)
_FIELDS: Final = tuple(f.name for f in dataclasses.fields(RequantizeRule) if f.name not in ("name", "source"))


def _default(field: str) -> Any:
    return find_first(f.default for f in dataclasses.fields(RequantizeRule) if f.name == field)


_TFLITE: Final = RequantizeRule(
    "tflite",
    left="wrapped",
    first_bits=31,
    rounding="rna",
    sum="undefined",
    register_bits=32,
    accumulator_bits=32,
    source="TensorFlow Lite, MultiplyByQuantizedMultiplier (internal/common.cc, tensorflow 4713c15)",
)
_TFLITE_SINGLE: Final = RequantizeRule(
    "tflite-single",
    negative="undefined",
    result="undefined",
    sum="undefined",
    register_bits=32,
    accumulator_bits=32,
    source="TensorFlow Lite built with TFLITE_SINGLE_ROUNDING (internal/common.cc, tensorflow 4713c15)",
)
_TOSA: Final = _TFLITE_SINGLE.replace(
    name="tosa",
    fraction=0,
    shift="u6",
    direction="right",
    range="shift",
    least_shift=2,
    most_shift=62,
    source="TOSA, apply_scale_32 (tosa/reference_model, quant_util.h)",
)
RULES: Final[dict[str, RequantizeRule]] = {
    r.name: r
    for r in (
        _TFLITE,
        _TFLITE_SINGLE,
        _TFLITE_SINGLE.replace(
            name="tflite-int64",
            fraction=15,
            reduced=16,
            most_shift=7,
            accumulator_bits=48,
            source="TensorFlow Lite, MultiplyByQuantizedMultiplier of int64 (internal/common.cc, tensorflow 4713c15)",
        ),
        _TFLITE.replace(
            name="gemmlowp",
            shift="u6",
            direction="right",
            least_shift=0,
            most_shift=31,
            left="together",
            source="gemmlowp 16e8662, OutputStageQuantizeDownInt32ByFixedPoint (internal/output.h)",
        ),
        _TFLITE.replace(
            name="cmsis-nn", high="wrapped", source="CMSIS-NN 99f736a, arm_nn_requantize (arm_nnsupportfunctions.h)"
        ),
        _TFLITE_SINGLE.replace(
            name="cmsis-nn-single",
            negative="allowed",
            result="wrapped",
            source="CMSIS-NN 99f736a with CMSIS_NN_USE_SINGLE_ROUNDING, arm_nn_requantize",
        ),
        _TFLITE_SINGLE.replace(
            name="cmsis-nn-single-7",
            negative="allowed",
            result="wrapped-early",
            source="CMSIS-NN 4.1.0 to 7.0.0 with CMSIS_NN_USE_SINGLE_ROUNDING, arm_nn_requantize",
        ),
        _TFLITE_SINGLE.replace(
            name="cmsis-nn-s64",
            multiplier="i16",
            fraction=15,
            negative="allowed",
            most_shift=7,
            result="wrapped-early",
            accumulator_bits=48,
            source="CMSIS-NN 99f736a, arm_nn_requantize_s64: the multiplier is reduced to 16 bits by the caller",
        ),
        _TOSA,
        _TOSA.replace(name="tosa-double", first_bits=31, rounding="rna"),
        _TOSA.replace(
            name="tosa-16",
            multiplier="i16",
            range="any",
            accumulator_bits=48,
            source="TOSA, apply_scale_16 (tosa/reference_model)",
        ),
        RequantizeRule(
            "onnxruntime",
            "fp32",
            "fp32",
            rounding="rne",
            source="ONNX Runtime, MlasRequantizeOutput (mlas/lib/quantize.cpp)",
        ),
        RequantizeRule(
            "onnx-reference",
            "fp32",
            "fp64",
            rounding="rne",
            order="inside",
            source="onnx 1.23.2's reference evaluator: QLinearMatMul and QLinearConv, in float64",
        ),
        RequantizeRule(
            "xnnpack-fp32",
            "fp32",
            "fp32",
            rounding="rne",
            accumulator_bits=32,
            source="XNNPACK 75db3c0, xnn_qs8_requantize_fp32 (src/xnnpack/requantization.h)",
        ),
        RequantizeRule(
            "xnnpack-rndnu",
            "fp32",
            result="wrapped",
            register_bits=32,
            accumulator_bits=32,
            source="XNNPACK 75db3c0, xnn_qs8_requantize_rndnu (src/xnnpack/requantization.h)",
        ),
        RequantizeRule(source="round(accumulator * multiplier / 2^(31 - shift)), halves up, then the zero point"),
    )
}


@lru_cache(maxsize=64)
def _named(text: str) -> RequantizeRule:
    """A rule of the catalogue, with changes."""
    name, changes = assignments.parse_named(text, "requantization rule", _FIELDS)
    if name not in RULES:
        raise unknown("requantization rule", name, RULES)
    return _changed(RULES[name], changes)


def _changed(base: RequantizeRule, changes: dict[str, str]) -> RequantizeRule:
    if not changes:
        return base
    name = ",".join([base.name, *map("=".join, changes.items())])
    values: dict[str, Any] = {k: _number(k, v) if type(_default(k)) is int else v for k, v in changes.items()}
    return base.replace(name=name, **values)


def _number(field: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Error(f"requantization rule: {field} = {text[:60]!r} is not an integer") from None


def get_rule(rule: str | RequantizeRule) -> RequantizeRule:
    """A requantization rule: a name, `NAME,field=choice,...`, or FILE.toml[:NAME] (a [requantize_rules.NAME] table).
    Raises Error."""
    if isinstance(rule, RequantizeRule):
        return rule
    if not isinstance(rule, str):
        raise Error(f"a requantization rule must be a name, not {rule!r}")
    if ".toml" not in rule:
        return _named(rule)
    name, changes = assignments.parse_named(rule, "requantization rule", _FIELDS)
    return _changed(load_definition(name, "requantize_rules", define_rule), changes)


def spelled(rule: RequantizeRule) -> str:
    """A rule in the notation of `get_rule`: its name, or the fewest fields in which it differs from a named one."""
    with suppress(Error):
        if get_rule(rule.name) == rule:
            return rule.name
    return min((_difference(rule, named) for named in RULES.values()), key=lambda words: words.count(","))


def _difference(rule: RequantizeRule, named: RequantizeRule) -> str:
    fields = (f"{k}={v}" for k in _FIELDS if (v := getattr(rule, k)) != getattr(named, k))
    return ",".join([named.name, *fields])


def define_rule(table: object, name: str | None = None) -> RequantizeRule:
    """A rule from a table: the fields of RequantizeRule; other fields are those of `like` (default: single). Raises
    Error."""
    where = f"requantization rule {name or '?'}"
    values, like = split_like(table, where)
    if name is not None:
        values["name"] = name
    base = dataclasses.replace(get_rule("single" if like is None else like), source="user definition")
    return from_table(RequantizeRule, values, where, base, "field", LIKE)
