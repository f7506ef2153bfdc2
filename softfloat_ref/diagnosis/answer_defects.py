"""Defects of a unit's answer: the wires of its result; of an operation, its flags and its NaNs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from softfloat_ref.diagnosis.conditions import FEWEST
from softfloat_ref.diagnosis.defects import answering
from softfloat_ref.diagnosis.hypotheses import SHARE, AnsweredCase, Hypothesis, Model, WrongCode
from softfloat_ref.diagnosis.rounding_defects import ZERO_DEFECTS
from softfloat_ref.diagnosis.roundings import with_zero
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import NAN, Value
from softfloat_ref.oracle.flags import INEXACT, INVALID, OVERFLOW, UNDERFLOW, Flags
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.table import LETTERS
from softfloat_ref.units import OperationUnit, Unit

Change = Callable[[Sequence[int], int, int], tuple[int, int]]  # from operands, code and flags to code and flags
_CONSTANTS: Final = 2  # wrong results that are tried
_CONSTANT_SIZE: Final = 4  # so that every other hypothesis comes first
_ROUNDING_FLAGS: Final = OVERFLOW | UNDERFLOW | INEXACT
Row = tuple[str, str, Change]  # a name, what such a device does, and how it changes the answer


def answer_defects(unit: OperationUnit, under: Model | None = None) -> Iterator[Hypothesis]:
    """Every listed defect of the answer. under: the model whose answer is changed, if it is not the plain operation."""
    n = len(unit.formats)
    groups: tuple[tuple[Iterator[Row], bool, Callable[[AnsweredCase], bool] | None], ...] = (
        (_missing_flags(), True, _has_right_code),
        (_of_flags(unit), False, _has_right_code),
        (_of_nans(unit), False, partial(_has_nan, unit)),
        (_of_zeros(unit, under), False, None),
    )
    for rows, usual, may_give in groups:
        for name, text, change in rows:
            changed = answering(unit, lambda i, codes, change=change: change(i[:n], *codes[:2]), under)  # type: ignore[misc]
            yield Hypothesis(name, text, changed, usual=usual, may_give=may_give)
    yield from wire_defects(unit, under)


def _has_right_code(case: AnsweredCase) -> bool:
    """Whether only flags are wrong."""
    return case.expected[0] == case.got[0]


def _has_nan(unit: OperationUnit, case: AnsweredCase) -> bool:
    """Whether an operand or the right result is a NaN."""
    return unit.out.is_nan(case.expected[0]) or any(
        f.is_nan(x) for f, x in zip(unit.formats, case.inputs, strict=False)
    )


def wire_defects(unit: Unit, under: Model | None = None) -> Iterator[Hypothesis]:
    """Defects of the bits of a unit's only result. under: as above."""
    for name, text, change in _wires(unit.results[0].width):
        changed = answering(unit, lambda _, codes, change=change: (change(codes[0]), *codes[1:]), under)  # type: ignore[misc]
        yield Hypothesis(name, text, changed, may_give=partial(_is_wire, change))


def _is_wire(change: Callable[[int], int], case: AnsweredCase) -> bool:
    """Whether a change of the right code gives the wrong answer."""
    return change(case.expected[0]) == case.got[0] and case.expected[1:] == case.got[1:]


def constant_results(unit: Unit, wrong: Sequence[WrongCode]) -> Iterator[Hypothesis]:
    """The most frequent wrong results, given always, with the right sign: seldom the whole fault, but often what a
    device gives under some condition."""
    fmt = unit.result_formats[0]
    if fmt is None:
        return
    mask = fmt.magnitude_mask
    got = (fmt.stored(x.got) for x in wrong if x.place == 0 and not x.got >> fmt.hidden.width)
    counted = Counter(x & mask for x in got)
    for code, n in counted.most_common(_CONSTANTS):
        if n >= FEWEST:
            signed = ", with the right sign" if fmt.sign_bit else ""
            changed = answering(unit, lambda _, codes, code=code: (codes[0] & ~mask | code, *codes[1:]))  # type: ignore[misc]
            text = f"gives {fmt.hex(code)}{signed}"
            yield Hypothesis(f"result {fmt.hex(code)}", text, changed, size=_CONSTANT_SIZE, share=SHARE)


def _of_zeros(unit: OperationUnit, under: Model | None) -> Iterator[Row]:
    """Signs of zeros that another fault may have made; a rounding has the same defects by itself."""
    if under is not None and unit.out.negative_zero and unit.signature.operation.result == "float":
        for name, text, sign in ZERO_DEFECTS:
            yield name, text, lambda _, c, f, sign=sign: (with_zero(sign, c, unit.out), f)  # type: ignore[misc]


def _missing_flags() -> Iterator[Row]:
    """Flags that a device does not have."""
    for flag in Flags:
        name, mask = str(flag.name).lower().replace("_", " "), int(flag)
        yield f"no {name}", f"never raises {name}", lambda _, c, f, m=mask: (c, f & ~m)  # type: ignore[misc]
    yield "no flags", "raises no flags at all", lambda _, c, f: (c, 0)
    text = "raises no flags of rounding: neither overflow, underflow nor inexact"
    yield "no flags of rounding", text, lambda _, c, f: (c, f & ~_ROUNDING_FLAGS)


def _of_flags(unit: OperationUnit) -> Iterator[Row]:
    for name, raised in (("overflow", OVERFLOW), ("underflow", UNDERFLOW)):
        yield (
            f"{name} without inexact",
            f"does not raise inexact with {name}",
            lambda _, c, f, m=raised: (c, f & ~INEXACT if f & m else f),  # type: ignore[misc]
        )
    reverse = "has its flag bits in reverse order"
    yield "flag bits reversed", reverse, lambda _, c, f: (c, int(f"{f:0{len(Flags)}b}"[::-1], 2))
    if unit.signature.operation.result == "float":
        text, magnitude = "raises underflow only where the result is zero", unit.out.magnitude_mask
        yield "underflow only with zero", text, lambda _, c, f: (c, f & ~UNDERFLOW if c & magnitude else f)

    def quiet(codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
        loud = any(decoder(f)(x).signaling for f, x in zip(unit.formats, codes, strict=True))
        return code, flags & ~INVALID if loud else flags

    def loud(codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
        return code, flags | INVALID if _first_nan(unit.formats, codes) else flags

    if any(f.has_nan for f in unit.formats):
        yield "invalid for every NaN", "raises invalid for every NaN operand, quiet ones too", loud
    yield "signalling NaN not invalid", "does not raise invalid for a signalling NaN", quiet


def _wires(width: int) -> Iterator[tuple[str, str, Callable[[int], int]]]:
    """Defects of the result's bits, regardless of their meaning, with the changed codes."""
    for bit in range(width - 1, -1, -1):
        for value in (0, 1):
            stuck = f"has bit {bit} of its result stuck at {value}"
            yield f"bit {bit} is {value}", stuck, lambda c, b=bit, v=value: c & ~(1 << b) | v << b  # type: ignore[misc]
        yield f"bit {bit} inverted", f"inverts bit {bit} of its result", lambda c, b=bit: c ^ 1 << b  # type: ignore[misc]
    if width > 8 and width % 8 == 0:
        text = "has the bytes of its result in reverse order"
        yield "bytes reversed", text, lambda c: int.from_bytes(c.to_bytes(width // 8, "big"), "little")
    yield "bits reversed", "has the bits of its result in reverse order", lambda c: int(f"{c:0{width}b}"[::-1], 2)


# -- NaNs ------------------------------------------------------------------------------------------------------------


def _of_nans(unit: OperationUnit) -> Iterator[Row]:
    """Defects of NaN operands and NaN results."""
    out, first = unit.out, partial(_first_nan, unit.formats)
    for i, fmt in enumerate(unit.formats):
        cut = fmt.mantissa_bits - out.mantissa_bits
        if fmt.has_nan and fmt.exponent_bits == out.exponent_bits and cut >= 0:
            of, where = (f" of {LETTERS[i]}", f"in operand {LETTERS[i]}") if len(unit.formats) > 1 else ("", "operand")
            text = f"passes a NaN {where} on unchanged" + ", cut" * (cut > 0)
            yield f"NaN{of} passed on", text, partial(_passed, i, fmt, cut)
    if out.has_nan and out.nan != "negative-zero" and out.sign_bit:
        yield (
            "NaN with the operand's sign",
            "gives its NaN the operand's sign, and no payload",
            lambda codes, c, f: (_signed(out, c, x[0].sign) if (x := first(codes)) else c, f),
        )
        yield from _product_sign(unit)
        yield from _infinite_product(unit)
    elif not out.has_nan and out.negative_zero:
        zero = out.sign_bit
        yield "NaN becomes -0", "gives -0 for a NaN", lambda codes, c, f: (zero if first(codes) else c, f)
        yield (
            "NaN becomes zero of the other sign",
            "gives a zero of the other sign for a NaN",
            lambda codes, c, f: (zero * (1 - x[0].sign) if (x := first(codes)) else c, f),
        )
    if out.nan == "ieee" and out.quiet_bit:
        yield "NaN not quieted", "passes a NaN's payload on without quieting it", partial(_loud, unit)
        lowest = out.inf_code + 1
        nans = {
            "all ones": out.magnitude_mask | out.sign_bit,
            "all ones, positive": out.magnitude_mask,
            "the code after infinity": lowest,
            "the code after minus infinity": lowest | out.sign_bit,
        }
        for name, nan in nans.items():
            yield (
                f"every NaN {name}",
                f"gives {out.hex(nan)} for every NaN",
                lambda _, c, f, nan=nan: (nan if out.is_nan(c) else c, f),  # type: ignore[misc]
            )
            yield (
                f"NaN of its own {name}",
                f"gives {out.hex(nan)} where no operand is a NaN",
                lambda codes, c, f, nan=nan: (nan if out.is_nan(c) and not first(codes) else c, f),  # type: ignore[misc]
            )


def _product_sign(unit: OperationUnit) -> Iterator[Row]:
    """Every NaN gets the sign that the product or quotient of the operands has."""
    out, formula = unit.out, unit.signature.operation.formula
    if formula is None:
        return
    factors = [*formula.terms[0].factors, *([] if formula.divisor is None else [formula.divisor])]
    if len(factors) < 2 or not all(unit.formats[i].sign_bit for i in factors):
        return

    def signed(codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
        minus = sum(codes[i] & unit.formats[i].sign_bit > 0 for i in factors) % 2
        return (_signed(out, code, minus) if out.is_nan(code) else code), flags

    what = "product" if formula.divisor is None else "quotient"
    yield f"NaN with the sign of the {what}", f"gives its NaN the sign of the {what}", signed


def _infinite_product(unit: OperationUnit) -> Iterator[Row]:
    """Infinity times zero is infinity."""
    out, formula = unit.out, unit.signature.operation.formula
    factors = formula.terms[0].factors if formula is not None else ()
    if len(factors) < 2 or not out.infinity:
        return

    def infinite(codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
        values = [decoder(unit.formats[i])(codes[i]) for i in factors]
        if not (out.is_nan(code) and any(x.is_inf for x in values) and any(x.is_zero for x in values)):
            return code, flags
        if _first_nan(unit.formats, codes):
            return code, flags
        return _signed(out, out.inf_code, sum(x.sign for x in values) % 2), flags & ~INVALID

    yield "Inf * 0 is Inf", "gives infinity for infinity times zero, without invalid", infinite


def _signed(fmt: Format, code: int, sign: int) -> int:
    return code & ~fmt.sign_bit | fmt.sign_bit * sign


def _passed(i: int, fmt: Format, cut: int, codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
    return (codes[i] >> cut if fmt.is_nan(codes[i]) else code), flags


def _first_nan(formats: Sequence[Format], codes: Sequence[int]) -> tuple[Value, Format] | None:
    """The first operand that is a NaN, and its format."""
    operands = ((decoder(f)(x), f) for f, x in zip(formats, codes, strict=True))
    return next(((x, f) for x, f in operands if x.kind == NAN), None)


def _loud(unit: OperationUnit, codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
    """The unchanged upper bits of a NaN; if none is set, the last bit is, so that the code is not an infinity."""
    out, operand = unit.out, _first_nan(unit.formats, codes)
    if operand is None or not out.is_nan(code):
        return code, flags
    x, fmt = operand
    payload = x.significand | (0 if x.signaling else fmt.quiet_bit)
    shift = out.mantissa_bits - fmt.mantissa_bits
    moved = payload << shift if shift >= 0 else payload >> -shift
    return out.inf_code | (moved or 1) | (out.sign_bit if x.sign else 0), flags
