"""Defects of a scalar operation's operands: how they are read, which of them is taken, and how a sum aligns them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations, product
from typing import Final

from softfloat_ref.diagnosis.defects import replaced, within
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.diagnosis.operation_models import FLAGS_KEPT, ScalarOperation, Values, of_values, taken
from softfloat_ref.diagnosis.twins import twins
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import Decoder, decoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.formula import Formula
from softfloat_ref.oracle.operations.table import LETTERS
from softfloat_ref.oracle.rounding_steps import read
from softfloat_ref.oracle.steps import Change, Function, Traced

_ALIGNED_PLACES: Final = (1, 2, 3, 4)  # places that an adder may keep below the larger operand


def operand_defects(s: ScalarOperation) -> Iterator[Hypothesis]:
    """Every listed defect of the operands."""
    formula = s.sig.operation.formula
    if s.sig.operation.result == "float":
        yield from _read_wrongly(s)
        yield from _twin_operands(s)
    if formula is not None and len(formula.terms) == 2 and all(len(term.factors) == 1 for term in formula.terms):
        yield from _alignment_defects(s, formula)


def _read_wrongly(s: ScalarOperation) -> Iterator[Hypothesis]:
    for i, fmt in enumerate(s.sig.formats):
        if fmt.is_integer or fmt.twos_complement:
            continue
        of = f" of {LETTERS[i]}" if s.arity > 1 else ""
        in_ = f" in operand {LETTERS[i]}" if s.arity > 1 else ""
        for name, text, change in OPERAND_DEFECTS:
            if "subnormal" in name and fmt.subnormals != "gradual":
                continue
            changes = within(LETTERS[i], [reading(change)])
            yield s.defect(name + of, text + in_, *changes)
            if name == "subnormals flushed":
                with_flags = f"{text}{in_}, but raises the right flags"
                yield s.defect(f"{name}{of}, flags kept", with_flags, *changes, FLAGS_KEPT)


def _twin_operands(s: ScalarOperation) -> Iterator[Hypothesis]:
    """All operands of a format read as in its twin."""
    for fmt in dict.fromkeys(s.sig.formats):
        for name, text, twin in twins(fmt):
            letters = [x for x, f in zip(LETTERS, s.sig.formats, strict=False) if f == fmt]
            changes = (c for x in letters for c in within(x, [_read_as(decoder(twin))]))
            yield s.defect(f"{fmt.name} operands as {name}", f"reads {fmt.name} as {text}", *changes)


def _read_as(other: Decoder) -> Change:
    """Codes read by another decoder, where it gives another kind of value."""

    def wrong(here: Traced, right: Function, code: int, decode: Decoder, fmt: Format) -> Value:
        x, y = right(code, decode, fmt), other(code)
        return x if x.kind == y.kind else y

    return replaced(read, wrong)


_Change = Callable[[int, Value, Format], Value]


def reading(change_of: _Change) -> Change:
    """Finite operands changed after they are read, depending on their codes."""

    def wrong(here: Traced, right: Function, code: int, decode: Decoder, fmt: Format) -> Value:
        x = right(code, decode, fmt)
        return change_of(code, x, fmt) if x.kind == FINITE else x

    return replaced(read, wrong)


def _is_subnormal(code: int, fmt: Format) -> bool:
    return code & fmt.magnitude_mask < fmt.min_normal_code


def flushed(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands as zeros."""
    return exact.zero(x.sign) if _is_subnormal(code, fmt) else x


def low_exponent(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands with the exponent 0 of their field instead of 1."""
    return _scaled(x, -1) if _is_subnormal(code, fmt) else x


def _scaled(x: Value, places: int) -> Value:
    return x._replace(exponent=x.exponent + places) if x.significand else x


def hidden_bit(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands (not zero) read as normal ones: a leading one, and the exponent of field 0."""
    if not _is_subnormal(code, fmt) or not x.significand:
        return x
    return exact.finite(x.sign, x.significand | 1 << fmt.mantissa_bits, x.exponent - 1)


OPERAND_DEFECTS: Final[tuple[tuple[str, str, _Change], ...]] = (
    ("subnormals flushed", "treats subnormals as zero", flushed),
    ("subnormals with exponent 0", "gives subnormals the exponent 0 in place of 1", low_exponent),
    ("subnormals as normal", "treats subnormals as normal numbers, with a leading one", hidden_bit),
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


# -- operands taken for others ---------------------------------------------------------------------------------------


def taken_defects(s: ScalarOperation) -> Iterator[Hypothesis]:
    """Another operand, or zero, taken for an operand: for operations of several operands of one format.

    Such a device is seldom wrong in all cases: it selects the operand by mistake under some condition.
    """
    for i, fmt in enumerate(s.sig.formats):
        if s.arity > 1 and fmt.zero:
            yield s.defect(f"zero for {LETTERS[i]}", f"takes zero for operand {LETTERS[i]}", *taken((i, None)))
    for i, j in permutations(range(s.arity), 2):
        if s.sig.formats[i] == s.sig.formats[j]:
            text = f"takes operand {LETTERS[j]} for operand {LETTERS[i]}"
            yield s.defect(f"{LETTERS[j]} for {LETTERS[i]}", text, *taken((i, j)))


# -- alignment of a sum ----------------------------------------------------------------------------------------------


def _alignment_defects(s: ScalarOperation, formula: Formula) -> Iterator[Hypothesis]:
    """Adders of two operands that lose what alignment shifts out of the smaller one, or do not borrow for it; and
    multiply-adds used as adders, which lose it below a whole product, of one operand only."""
    for places in _ALIGNED_PLACES:
        below = f"{places} place{'s' * (places > 1)} below the larger"
        yield s.defect(
            f"smaller addend cut {below}",
            f"loses the bits that alignment shifts out of the smaller operand, {below}",
            of_values(partial(_cut_smaller, formula, None, places, False)),
        )
        yield s.defect(
            f"no borrow {below}",
            f"does not borrow for the bits that alignment shifts out of the smaller operand, {below}",
            of_values(partial(_cut_smaller, formula, None, places, True)),
        )
    fraction = s.sig.formats[0].mantissa_bits
    for i, places in product((0, 1), sorted({wide + x for wide in (0, fraction) for x in _ALIGNED_PLACES})):
        below = f"{places} place{'s' * (places > 1)} below operand {LETTERS[1 - i]}"
        yield s.defect(
            f"{LETTERS[i]} cut {below}",
            f"loses the bits that alignment shifts out of operand {LETTERS[i]}, {below}",
            of_values(partial(_cut_smaller, formula, i, places, False)),
        )


def _cut_smaller(formula: Formula, only: int | None, places: int, no_borrow: bool, values: Values) -> Values | None:
    """The operands with the smaller one cut some places below the other's last bit, if it is `only`; no_borrow: the
    exact sum with that, and what was cut or-ed below it."""
    if not all(x.kind == FINITE and x.significand for x in values):
        return None
    terms = formula.values(values)
    i = min((0, 1), key=lambda i: exact.top(terms[i]))
    if only not in (None, i):
        return None
    small, large = values[i], terms[1 - i]
    drop = large.exponent - places - small.exponent
    significand = small.significand >> drop << drop if drop > 0 else small.significand
    if significand == small.significand:
        return None
    cut = small._replace(significand=significand) if significand else exact.zero(small.sign)
    changed = [cut if k == i else x for k, x in enumerate(values)]
    if not no_borrow:
        return changed
    one, other = formula.values(changed)
    total = exact.add(one, other)
    if not total.significand:
        return None
    return [exact.add(total, exact.finite(total.sign, 1, large.exponent - places - 1)), exact.zero(total.sign)]
