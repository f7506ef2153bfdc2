"""Defects of a scalar operation's answer: its flags, the wires of its result, its NaNs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model
from softfloat_ref.diagnosis.operation_models import ScalarOperation
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import NAN, Value
from softfloat_ref.oracle.flags import INVALID, Flags
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.table import LETTERS


def answer_defects(s: ScalarOperation) -> Iterator[Hypothesis]:
    """Every listed defect of the answer."""
    yield from _flag_defects(s)
    yield from wire_defects(s.sig.out.width, lambda change: s.after(lambda _, c, f: (change(c), f)))
    yield from _nan_defects(s)
    if s.under is not None and s.sig.out.negative_zero and s.sig.operation.result == "float":
        yield from _zero_defects(s)


def _zero_defects(s: ScalarOperation) -> Iterator[Hypothesis]:
    """Signs of zeros that another fault may have made; a rounding has the same defects by itself."""
    out = s.sig.out
    for name, text, keep, flip in (
        ("zero without sign", "loses the sign of zero results", 0, 0),
        ("zero negative", "makes every zero result negative", 0, 1),
        ("zero of the other sign", "gives zero results the other sign", 1, 1),
    ):

        def signed(_: Sequence[int], code: int, flags: int, keep: int = keep, flip: int = flip) -> tuple[int, int]:
            zero = not code & out.magnitude_mask
            return (code * keep ^ out.sign_bit * flip if zero else code), flags

        yield Hypothesis(name, text, s.after(signed))


def _flag_defects(s: ScalarOperation) -> Iterator[Hypothesis]:
    for flag in Flags:
        name, mask = str(flag.name).lower().replace("_", " "), int(flag)
        yield Hypothesis(f"no {name}", f"never raises {name}", s.after(lambda _, c, f, m=mask: (c, f & ~m)))  # type: ignore[misc]
    yield Hypothesis("no flags", "raises no flags at all", s.after(lambda _, c, f: (c, 0)))
    overflow, underflow, inexact = Flags.OVERFLOW, Flags.UNDERFLOW, Flags.INEXACT
    for name, raised in (("overflow", overflow), ("underflow", underflow)):
        text = f"does not raise inexact with {name}"
        yield Hypothesis(
            f"{name} without inexact",
            text,
            s.after(lambda _, c, f, m=raised: (c, f & ~inexact if f & m else f)),  # type: ignore[misc]
        )
    yield Hypothesis(
        "flag bits reversed",
        "has its flag bits in reverse order",
        s.after(lambda _, c, f: (c, int(f"{f:0{len(Flags)}b}"[::-1], 2))),
    )
    yield from _underflow_only_with_zero(s)
    formats = s.sig.formats

    def quiet(codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
        loud = any(decoder(f)(x).signaling for f, x in zip(formats, codes, strict=True))
        return code, flags & ~INVALID if loud else flags

    def loud(codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
        return code, flags | INVALID if _first_nan(formats, codes) else flags

    if any(f.has_nan for f in formats):
        yield Hypothesis("invalid for every NaN", "raises invalid for every NaN operand, quiet ones too", s.after(loud))
    yield Hypothesis("signalling NaN not invalid", "does not raise invalid for a signalling NaN", s.after(quiet))


def _underflow_only_with_zero(s: ScalarOperation) -> Iterator[Hypothesis]:
    out, underflow = s.sig.out, Flags.UNDERFLOW
    if s.sig.operation.result == "float":
        text = "raises underflow only where the result is zero"
        model = s.after(lambda _, c, f: (c, f & ~underflow if c & out.magnitude_mask else f))
        yield Hypothesis("underflow only with zero", text, model)


def wire_defects(width: int, after: Callable[[Callable[[int], int]], Model]) -> Iterator[Hypothesis]:
    """Defects of the result's bits, regardless of their meaning. after: gives the model with a changed result code."""
    for bit in range(width - 1, -1, -1):
        for value in (0, 1):
            stuck = after(lambda c, b=bit, v=value: c & ~(1 << b) | v << b)  # type: ignore[misc]
            yield Hypothesis(f"bit {bit} is {value}", f"has bit {bit} of its result stuck at {value}", stuck)
    if width > 8 and width % 8 == 0:
        size = width // 8
        swapped = after(lambda c: int.from_bytes(c.to_bytes(size, "big"), "little"))
        yield Hypothesis("bytes reversed", "has the bytes of its result in reverse order", swapped)
    mirrored = after(lambda c: int(f"{c:0{width}b}"[::-1], 2))
    yield Hypothesis("bits reversed", "has the bits of its result in reverse order", mirrored)


def _nan_defects(s: ScalarOperation) -> Iterator[Hypothesis]:
    """Defects of NaN operands and NaN results."""
    out = s.sig.out
    for i, fmt in enumerate(s.sig.formats):
        cut = fmt.mantissa_bits - out.mantissa_bits
        if not fmt.has_nan or fmt.exponent_bits != out.exponent_bits or cut < 0:
            continue

        name = f"NaN of {LETTERS[i]} passed on" if s.arity > 1 else "NaN passed on"
        text = "passes a NaN operand on unchanged" + (", cut" if cut else "")
        text = text if s.arity == 1 else text.replace("operand", f"in operand {LETTERS[i]}")
        yield Hypothesis(name, text, s.after(partial(_passed, i, fmt, cut)))
    first = partial(_first_nan, s.sig.formats)
    if out.has_nan and out.nan != "negative-zero" and out.sign_bit:
        sign = s.after(
            lambda codes, c, f: ((c & ~out.sign_bit | out.sign_bit * x[0].sign) if (x := first(codes)) else c, f)
        )
        yield Hypothesis("NaN with the operand's sign", "gives its NaN the operand's sign, and no payload", sign)
        yield from _product_sign(s)
    elif not out.has_nan and out.negative_zero:
        zero = s.after(lambda codes, c, f: (out.sign_bit if first(codes) else c, f))
        yield Hypothesis("NaN becomes -0", "gives -0 for a NaN", zero)
        other = s.after(lambda codes, c, f: (out.sign_bit * (1 - x[0].sign) if (x := first(codes)) else c, f))
        yield Hypothesis("NaN becomes zero of the other sign", "gives a zero of the other sign for a NaN", other)
    if out.nan == "ieee" and out.quiet_bit:
        yield Hypothesis("NaN not quieted", "passes a NaN's payload on without quieting it", s.after(partial(_loud, s)))
        lowest = out.inf_code + 1
        codes = {
            "all ones": out.magnitude_mask | out.sign_bit,
            "all ones, positive": out.magnitude_mask,
            "the code after infinity": lowest,
            "the code after minus infinity": lowest | out.sign_bit,
        }
        for name, code in codes.items():
            same = s.after(lambda _, c, f, code=code: (code if out.is_nan(c) else c, f))  # type: ignore[misc]
            yield Hypothesis(f"every NaN {name}", f"gives {out.hex(code)} for every NaN", same)
            own = s.after(lambda x, c, f, code=code: (code if out.is_nan(c) and not first(x) else c, f))  # type: ignore[misc]
            yield Hypothesis(f"NaN of its own {name}", f"gives {out.hex(code)} where no operand is a NaN", own)


def _product_sign(s: ScalarOperation) -> Iterator[Hypothesis]:
    """Every NaN gets the sign that the product or quotient of the operands has."""
    out, formula = s.sig.out, s.sig.operation.formula
    if formula is None:
        return
    factors = [*formula.terms[0].factors, *([] if formula.divisor is None else [formula.divisor])]
    if len(factors) < 2 or not all(s.sig.formats[i].sign_bit for i in factors):
        return

    def signed(codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
        minus = sum(codes[i] & s.sig.formats[i].sign_bit > 0 for i in factors) % 2
        return (code & ~out.sign_bit | out.sign_bit * minus if out.is_nan(code) else code), flags

    what = "product" if formula.divisor is None else "quotient"
    yield Hypothesis(f"NaN with the sign of the {what}", f"gives its NaN the sign of the {what}", s.after(signed))


def _passed(i: int, fmt: Format, cut: int, codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
    return (codes[i] >> cut if fmt.is_nan(codes[i]) else code), flags


def _first_nan(formats: Sequence[Format], codes: Sequence[int]) -> tuple[Value, Format] | None:
    """The first operand that is a NaN, and its format."""
    operands = ((decoder(f)(x), f) for f, x in zip(formats, codes, strict=True))
    return next(((x, f) for x, f in operands if x.kind == NAN), None)


def _loud(s: ScalarOperation, codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
    """The unchanged upper bits of a NaN; if none is set, the last bit is, so that the code is not an infinity."""
    out, operand = s.sig.out, _first_nan(s.sig.formats, codes)
    if operand is None or not out.is_nan(code):
        return code, flags
    x, fmt = operand
    payload = x.significand | (0 if x.signaling else fmt.quiet_bit)
    shift = out.mantissa_bits - fmt.mantissa_bits
    moved = payload << shift if shift >= 0 else payload >> -shift
    return out.inf_code | (moved or 1) | (out.sign_bit if x.sign else 0), flags
