"""Defects of operands: how their codes are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from softfloat_ref.diagnosis.defects import defective, in_parts, replaced
from softfloat_ref.diagnosis.hypotheses import SHARE, AnsweredCase, Hypothesis, WrongCode
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import Decoder, decoder, encoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding_steps import read
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import SteppedUnit

_MOST_SEEN: Final = 1 << 8  # mismatches in which operands of a kind are looked for
ValueChange = Callable[[int, Value, Format], Value]  # from a code, its value and its format
ClassTest = Callable[[int, Value, Format], bool]  # the same


def reading(change_of: ValueChange) -> Change:
    """Finite operands changed after they are read, depending on their codes."""

    def wrong(here: Traced, right: Function, code: int, decode: Decoder, fmt: Format) -> Value:
        x = right(code, decode, fmt)
        return change_of(fmt.unstored(code), x, fmt.hidden) if x.kind == FINITE else x

    return replaced(read, wrong)


def _is_subnormal(code: int, fmt: Format) -> bool:
    """Whether a code is that of a subnormal number or of zero."""
    return code & fmt.magnitude_mask < fmt.min_normal_code


def _flushed(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands as zeros."""
    return exact.zero(x.sign) if _is_subnormal(code, fmt) else x


def low_exponent(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands with the exponent 0 of their field instead of 1."""
    return _scaled(x, -1) if _is_subnormal(code, fmt) else x


def _scaled(x: Value, places: int) -> Value:
    return x._replace(exponent=x.exponent + places) if x.significand else x


def _normalised(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands whose significand is normalised, but whose exponent stays that of the field."""
    return _scaled(x, fmt.emin - exact.top(x)) if _is_subnormal(code, fmt) and x.significand else x


def _leading_one(exponent: int, zeros: bool) -> ValueChange:
    """Subnormal operands read with a leading one, and zeros, too. exponent: the field that they are taken to have."""

    def change(code: int, x: Value, fmt: Format) -> Value:
        one, fraction = 1 << fmt.mantissa_bits, code & (1 << fmt.mantissa_bits) - 1
        if not _is_subnormal(code, fmt) or not fmt.exponent_bits or not (x.significand or zeros):
            return x
        return exact.finite(x.sign, fraction | one, exponent - fmt.bias - fmt.mantissa_bits)

    return change


OPERAND_DEFECTS: Final[tuple[tuple[str, str, ValueChange], ...]] = (
    ("subnormals flushed", "treats subnormals as zero", _flushed),
    ("subnormals with exponent 0", "gives subnormals the exponent 0 in place of 1", low_exponent),
    ("subnormals as normal", "treats subnormals as normal numbers, with a leading one", _leading_one(0, False)),
    (
        "subnormals as normal, exponent 1",
        "gives subnormals a leading one, and the exponent 1",
        _leading_one(1, False),
    ),
    ("subnormals normalised", "normalises subnormals, but leaves their exponent at 1", _normalised),
    ("leading one always", "reads every number with a leading one, subnormals and zeros too", _leading_one(0, True)),
    (
        "leading one always, exponent 1",
        "reads every number with a leading one, subnormals and zeros too, with the exponent 1",
        _leading_one(1, True),
    ),
    ("exponent one high", "reads the exponent one too high", lambda code, x, fmt: _scaled(x, 1)),
    ("exponent one low", "reads the exponent one too low", lambda code, x, fmt: _scaled(x, -1)),
    (
        "last bit ignored",
        "ignores the last bit of the significand",
        lambda code, x, fmt: x._replace(significand=x.significand & ~1) if x.significand > 1 else x,
    ),
    ("sign ignored", "ignores the sign", lambda code, x, fmt: x._replace(sign=0)),
    ("sign inverted", "inverts the sign", lambda code, x, fmt: x._replace(sign=1 - x.sign)),
)
OPERAND_NAMES: Final = tuple(name for name, *_ in OPERAND_DEFECTS)
OF_SUBNORMALS: Final = tuple(x for x in OPERAND_NAMES if x.startswith(("subnormals", "leading one")))
NARROW: Final = ("bf16", "fp16")


def reading_defects(
    unit: SteppedUnit,
    where: str,
    names: Collection[str] = OPERAND_NAMES,
    parts: Sequence[object] = (),
    of: str = "",
    more: Sequence[Change] = (),
) -> Iterator[Hypothesis]:
    """Some of these defects, of the operands read in some parts of the computation; without parts, of all.

    of, where: follow the names and the descriptions. more: changes that each needs besides.
    """
    for name, text, change in OPERAND_DEFECTS:
        if name in names:
            share = SHARE if "leading one" in text else 0.0
            yield defective(unit, name + of, text + where, *in_parts(parts, reading(change)), *more, share=share)


def narrow_defects(unit: Any, policy: Policy, *parts: object) -> Iterator[Hypothesis]:
    """Values rounded to a narrower format first."""
    for name in NARROW:
        if CATALOGUE[name].mantissa_bits < unit.values.mantissa_bits:
            narrow = rounded_to(name, policy)
            changes = in_parts(parts, reading(lambda code, x, fmt, narrow=narrow: narrow(x)))  # type: ignore[misc]
            yield defective(unit, f"values rounded to {name}", f"rounds its values to {name} first", *changes)


def rounded_to(name: str, policy: Policy) -> Callable[[Value], Value]:
    """The rounding of a value to a format of the catalogue."""
    first, back = encoder(CATALOGUE[name], policy), decoder(CATALOGUE[name])
    return lambda x: back(first(x, 0)[0])


# -- NaNs and infinities taken for others ------------------------------------------------------------------------------


def _number(code: int, x: Value, fmt: Format) -> Value:
    """The number that the code of a NaN or an infinity would be in a format with one more exponent."""
    return exact.finite(x.sign, *fmt.magnitude(code & fmt.magnitude_mask))


_NANS_AS_ZEROS: Final = "NaNs as zeros"
_SPECIAL_READINGS: Final[tuple[tuple[str, str, tuple[int, ...], ValueChange], ...]] = (
    ("NaNs and infinities as numbers", "reads NaNs and infinities as numbers", (NAN, INF), _number),
    ("NaNs as numbers", "reads NaNs as numbers", (NAN,), _number),
    ("infinities as numbers", "reads infinities as numbers", (INF,), _number),
    ("NaNs as infinities", "takes NaNs for infinities", (NAN,), lambda code, x, fmt: exact.inf(x.sign)),
    (_NANS_AS_ZEROS, "takes NaNs for zeros", (NAN,), lambda code, x, fmt: exact.zero(x.sign)),
    ("infinities as zeros", "takes infinities for zeros", (INF,), lambda code, x, fmt: exact.zero(x.sign)),
)


def special_kinds(unit: SteppedUnit, cases: Sequence[AnsweredCase]) -> set[int]:
    """The kinds of special operands, NaNs and infinities, in mismatches: infinities in any, NaNs where a result is no
    NaN."""
    places = [(i, f) for i, f in enumerate(unit.input_formats) if f and f.has_nan]
    kinds: set[int] = set()
    for c in islice((c for c in cases if not c.agrees), _MOST_SEEN if places else 0):
        if any(_is_ieee(f) and c.inputs[i] & f.magnitude_mask == f.inf_code for i, f in places):
            kinds.add(INF)
        results = zip(unit.result_formats, c.got, strict=False)
        if any(f.is_nan(c.inputs[i]) for i, f in places) and any(f and not f.is_nan(x) for f, x in results):
            kinds.add(NAN)
    return kinds


def _is_ieee(fmt: Format) -> bool:
    return fmt.nan == "ieee" and fmt.infinity


def special_readings(
    unit: SteppedUnit, seen: Collection[int], where: str, parts: Sequence[object] = (), of: str = ""
) -> Iterator[Hypothesis]:
    """NaNs and infinities read as others, where both have codes of their own exponent; elsewhere, NaNs read as zeros.
    parts, of, where: as for `reading_defects`."""
    ieee = any(f is not None and _is_ieee(f) for f in unit.input_formats)
    for name, text, kinds, change in _SPECIAL_READINGS:
        everywhere = name == _NANS_AS_ZEROS
        if not set(kinds) <= set(seen) or not (ieee or everywhere):
            continue

        def wrong(
            here: Traced,
            right: Function,
            code: int,
            decode: Decoder,
            fmt: Format,
            kinds: tuple[int, ...] = kinds,
            change: ValueChange = change,
            everywhere: bool = everywhere,
        ) -> Value:
            x = right(code, decode, fmt)
            return change(fmt.unstored(code), x, fmt.hidden) if x.kind in kinds and (everywhere or _is_ieee(fmt)) else x

        yield defective(unit, name + of, text + where, *in_parts(parts, replaced(read, wrong)))


# -- operands that make a NaN ------------------------------------------------------------------------------------------

# Kinds of operands, and which codes they are.
OPERAND_CLASSES: Final[tuple[tuple[str, ClassTest], ...]] = (
    ("subnormals", lambda code, x, fmt: x.kind == FINITE and x.significand > 0 and _is_subnormal(code, fmt)),
    ("zeros", lambda code, x, fmt: x.is_zero),
    ("subnormals and zeros", lambda code, x, fmt: x.kind == FINITE and _is_subnormal(code, fmt)),
    ("infinities", lambda code, x, fmt: x.kind == INF),
)


def unexpected_nan(wrong: Sequence[WrongCode]) -> bool:
    """Whether a wrong code is a NaN where none is expected."""
    return any(x.fmt.is_nan(x.got) and not x.fmt.is_nan(x.expected) for x in wrong)


def nan_readings(
    unit: SteppedUnit, wrong: Sequence[WrongCode], where: str, parts: Sequence[object] = (), of: str = ""
) -> Iterator[Hypothesis]:
    """Operands of one kind taken for NaNs, quiet or signalling ones, if the device gives NaNs where none is expected.

    parts, of, where: as for `reading_defects`.
    """
    if not unexpected_nan(wrong):
        return
    for name, holds in OPERAND_CLASSES:
        for loud in (False, True):
            changes = in_parts(parts, _as_nan(holds, loud))
            kind = "signalling NaNs" if loud else "NaNs"
            yield defective(unit, f"{name} as {kind}{of}", f"takes {name} for {kind}{where}", *changes, share=SHARE)


def _as_nan(holds: ClassTest, loud: bool) -> Change:
    nan = exact.GENERATED._replace(signaling=loud)

    def wrong(here: Traced, right: Function, code: int, decode: Decoder, fmt: Format) -> Value:
        x = right(code, decode, fmt)
        return nan if holds(code, x, fmt) else x

    return replaced(read, wrong)
