"""Defects of a scalar operation: of its operands, of the operation itself, of its flags; and those of its rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Final

from softfloat_ref import exact
from softfloat_ref.codec import decoder, encoder
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Model, Output
from softfloat_ref.diagnosis.random_defects import random_defects
from softfloat_ref.diagnosis.stages import stage_defects
from softfloat_ref.errors import Error, Undefined
from softfloat_ref.exact import FINITE, NAN, Value
from softfloat_ref.formats import CATALOGUE, Format
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.ops import OPERATIONS, Signature, context, evaluator, get_operation, unrounded
from softfloat_ref.ops.table import nan_operand
from softfloat_ref.policies import Policy
from softfloat_ref.rounding import INEXACT, INVALID, UNDERFLOW, Flags

MORE_BITS: Final = 16  # of quotients and roots, for defects that look at bits below the guard bit
_LETTERS: Final = "abc"
Values = list[Value]


@dataclass(frozen=True)
class Scalar:
    """An operation with its formats, under a policy: what defects are made from."""

    sig: Signature
    policy: Policy
    source: str = ""  # of random bits

    @staticmethod
    def of(vectors: VectorSet, policy: Policy | None = None) -> Scalar:
        """That of a vector set."""
        sig = Signature(get_operation(vectors.op), vectors.formats, vectors.out)
        return Scalar(sig, policy or vectors.policy, vectors.source)

    @cached_property
    def arity(self) -> int:
        return self.sig.operation.arity

    @cached_property
    def rounds(self) -> bool:
        """Whether it has an exact result that is then rounded."""
        return self.sig.operation.result == "float"

    def model(self, run: Callable[[Sequence[int], int], tuple[int, int]]) -> Model:
        """A function of codes and random bits as a model."""
        arity, takes_random = self.arity, self.policy.random_count > 0

        def model(inputs: Inputs) -> Output | None:
            try:
                return run(inputs[:arity], inputs[arity] if takes_random and len(inputs) > arity else 0)
            except Undefined:
                return None

        return model

    def plain(self) -> Model:
        """The operation as it is."""
        return self.model(evaluator(self.sig, self.policy))

    def on_values(self, change: Callable[[Sequence[int], Values], Values | None]) -> Model:
        """The operation on operands that were changed after decoding; None leaves them as they are."""
        operation, formats = self.sig.operation, self.sig.formats
        decoders = [decoder(f, operation.flushes and self.policy.flush_inputs) for f in formats]
        right, ctx, encode = (
            evaluator(self.sig, self.policy),
            context(self.sig, self.policy),
            encoder(self.sig.out, self.policy),
        )

        def run(codes: Sequence[int], random_bits: int) -> tuple[int, int]:
            values = [decode(code) for decode, code in zip(decoders, codes, strict=True)]
            changed = change(codes, values)
            if changed is None:
                return right(codes, random_bits)
            if any(x.kind == NAN for x in changed) and not operation.nans:
                value, flags = nan_operand(self.policy.nan_rule, changed)
            else:
                value, flags = operation.function(ctx._replace(random_bits=random_bits), *changed)
            code, more = encode(value, random_bits)
            return code, flags | more

        return self.model(run)

    def flags_kept(self, wrong: Model) -> Model:
        """Another model's result with the right flags."""
        right = self.plain()

        def model(inputs: Inputs) -> Output | None:
            found, own = wrong(inputs), right(inputs)
            return found if found is None or own is None else (found[0], own[1])

        return model

    def after(self, change: Callable[[Sequence[int], int, int], tuple[int, int]]) -> Model:
        """The right answer, changed: operands, code and flags to code and flags."""
        right = evaluator(self.sig, self.policy)
        return self.model(lambda codes, r: change(codes, *right(codes, r)))


def scalar_defects(s: Scalar) -> Iterator[Hypothesis]:
    """Every listed defect that the operation can have."""
    yield from _flag_defects(s)
    yield from _wire_defects(s)
    yield from _nan_defects(s)
    if s.sig.operation.result == "float":
        yield from _rounding_defects(s)
        if s.sig.operation.name != "round_to_integral":
            yield from _operand_defects(s)
    if s.sig.operation.name in ("add", "sub", "fma"):
        yield from _sum_defects(s)
    if s.sig.operation.name == "fma":
        yield from _fma_defects(s)
    if s.policy.random_count:
        yield from random_defects(s.model, evaluator(s.sig, s.policy), s.policy.random_count, s.arity, s.source)
    yield from _other_operations(s)


# -- rounding --------------------------------------------------------------------------------------------------------


def _rounding_defects(s: Scalar) -> Iterator[Hypothesis]:
    compute = unrounded(s.sig, s.policy, MORE_BITS)
    for row in stage_defects():
        encode = row.stage(s.sig.out, s.policy)
        if encode is None:
            continue

        def run(
            codes: Sequence[int], r: int, encode: Callable[[Value, int], tuple[int, int]] = encode
        ) -> tuple[int, int]:
            value, flags = compute(codes, r)
            code, more = encode(value, r)
            return code, flags | more

        yield Hypothesis(row.name, row.says, s.model(run), size=row.size)


# -- flags and NaNs --------------------------------------------------------------------------------------------------


def _flag_defects(s: Scalar) -> Iterator[Hypothesis]:
    for flag in Flags:
        name, mask = str(flag.name).lower().replace("_", " "), int(flag)
        yield Hypothesis(f"no {name}", f"never raises {name}", s.after(lambda _, c, f, m=mask: (c, f & ~m)))  # type: ignore[misc]
    yield Hypothesis("no flags", "raises no flags at all", s.after(lambda _, c, f: (c, 0)))
    overflow, underflow, inexact = Flags.OVERFLOW, Flags.UNDERFLOW, Flags.INEXACT
    for name, raised in (("overflow", overflow), ("underflow", underflow)):
        says = f"does not raise inexact with {name}"
        yield Hypothesis(
            f"{name} without inexact",
            says,
            s.after(lambda _, c, f, m=raised: (c, f & ~inexact if f & m else f)),  # type: ignore[misc]
        )
    yield Hypothesis(
        "flag bits reversed",
        "has its flags in the other order",
        s.after(lambda _, c, f: (c, int(f"{f:0{len(Flags)}b}"[::-1], 2))),
    )
    formats = s.sig.formats

    def quiet(codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
        loud = any(decoder(f)(x).signaling for f, x in zip(formats, codes, strict=True))
        return code, flags & ~INVALID if loud else flags

    yield Hypothesis("signalling NaN not invalid", "does not raise invalid for a signalling NaN", s.after(quiet))


def _wire_defects(s: Scalar) -> Iterator[Hypothesis]:
    """Of the result's bits, whatever they mean."""
    width = s.sig.out.width
    for bit in range(width - 1, -1, -1):
        for value in (0, 1):
            stuck = s.after(lambda _, c, f, b=bit, v=value: (c & ~(1 << b) | v << b, f))  # type: ignore[misc]
            yield Hypothesis(f"bit {bit} is {value}", f"has bit {bit} of its result stuck at {value}", stuck)
    if width > 8 and width % 8 == 0:
        size = width // 8
        swapped = s.after(lambda _, c, f: (int.from_bytes(c.to_bytes(size, "big"), "little"), f))
        yield Hypothesis("bytes reversed", "has the bytes of its result in reverse order", swapped)
    mirrored = s.after(lambda _, c, f: (int(f"{c:0{width}b}"[::-1], 2), f))
    yield Hypothesis("bits reversed", "has the bits of its result in reverse order", mirrored)


def _nan_defects(s: Scalar) -> Iterator[Hypothesis]:
    """Operands that are NaN, handed through as they are."""
    out = s.sig.out
    for i, fmt in enumerate(s.sig.formats):
        cut = fmt.mantissa_bits - out.mantissa_bits
        if not fmt.has_nan or fmt.exponent_bits != out.exponent_bits or cut < 0:
            continue

        def passed(
            codes: Sequence[int], code: int, flags: int, i: int = i, fmt: Format = fmt, cut: int = cut
        ) -> tuple[int, int]:
            return (codes[i] >> cut if fmt.is_nan(codes[i]) else code), flags

        name = f"NaN of {_LETTERS[i]} passed on" if s.arity > 1 else "NaN passed on"
        says = "passes a NaN operand on as it is" + (", cut" if cut else "")
        yield Hypothesis(
            name, says if s.arity == 1 else says.replace("operand", f"in operand {_LETTERS[i]}"), s.after(passed)
        )

    out = s.sig.out
    first = partial(_first_nan, s.sig.formats)
    if out.has_nan and out.nan != "negative-zero" and out.sign_bit:
        sign = s.after(
            lambda codes, c, f: ((c & ~out.sign_bit | out.sign_bit * x[0].sign) if (x := first(codes)) else c, f)
        )
        yield Hypothesis("NaN with the operand's sign", "gives its NaN the operand's sign, and no payload", sign)
    elif not out.has_nan and out.negative_zero:
        zero = s.after(lambda codes, c, f: (out.sign_bit if first(codes) else c, f))
        yield Hypothesis("NaN becomes -0", "gives -0 for a NaN", zero)
        other = s.after(lambda codes, c, f: (out.sign_bit * (1 - x[0].sign) if (x := first(codes)) else c, f))
        yield Hypothesis("NaN becomes zero of the other sign", "gives a zero of the other sign for a NaN", other)
    if out.nan == "ieee" and out.quiet_bit:
        yield Hypothesis("NaN not quieted", "passes a NaN's payload on without quieting it", s.after(partial(_loud, s)))
        for name, code in (("all ones", out.magnitude_mask | out.sign_bit), ("all ones, positive", out.magnitude_mask)):
            ones = s.after(lambda _, c, f, code=code: (code if out.is_nan(c) else c, f))  # type: ignore[misc]
            yield Hypothesis(f"every NaN {name}", f"gives {out.hex(code)} for every NaN", ones)


def _first_nan(formats: Sequence[Format], codes: Sequence[int]) -> tuple[Value, Format] | None:
    """The first operand that is a NaN, and its format."""
    found = ((decoder(f)(x), f) for f, x in zip(formats, codes, strict=True))
    return next(((x, f) for x, f in found if x.kind == NAN), None)


def _loud(s: Scalar, codes: Sequence[int], code: int, flags: int) -> tuple[int, int]:
    """A NaN's upper bits as they are; where none of them is set, the last one, lest it be an infinity."""
    out, found = s.sig.out, _first_nan(s.sig.formats, codes)
    if found is None or not out.is_nan(code):
        return code, flags
    x, fmt = found
    payload = x.significand | (0 if x.signaling else fmt.quiet_bit)
    shift = out.mantissa_bits - fmt.mantissa_bits
    moved = payload << shift if shift >= 0 else payload >> -shift
    return out.inf_code | (moved or 1) | (out.sign_bit if x.sign else 0), flags


# -- operands --------------------------------------------------------------------------------------------------------


def _operand_defects(s: Scalar) -> Iterator[Hypothesis]:
    for i, fmt in enumerate(s.sig.formats):
        if fmt.is_integer or fmt.twos_complement:
            continue
        of = f" of {_LETTERS[i]}" if s.arity > 1 else ""
        in_ = f" in operand {_LETTERS[i]}" if s.arity > 1 else ""
        for name, says, change in _OPERAND_DEFECTS:
            if "subnormal" in name and fmt.subnormals != "gradual":
                continue

            def changed(
                codes: Sequence[int], values: Values, i: int = i, fmt: Format = fmt, change: _Change = change
            ) -> Values | None:
                x = values[i]
                if x.kind != FINITE:
                    return None
                y = change(codes[i], x, fmt)
                return None if y == x else [*values[:i], y, *values[i + 1 :]]

            model = s.on_values(changed)
            yield Hypothesis(name + of, says + in_, model)
            if name == "subnormals flushed":
                yield Hypothesis(
                    f"{name}{of}, flags kept", f"{says}{in_}, with the flags of what they are", s.flags_kept(model)
                )


_Change = Callable[[int, Value, Format], Value]


def _is_subnormal(code: int, fmt: Format) -> bool:
    return code & fmt.magnitude_mask < fmt.min_normal_code


def flushed(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands as zeros."""
    return exact.zero(x.sign) if _is_subnormal(code, fmt) else x


def low_exponent(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands with the exponent 0 of their field, not 1."""
    return x._replace(exponent=x.exponent - 1) if x.significand and _is_subnormal(code, fmt) else x


def hidden_bit(code: int, x: Value, fmt: Format) -> Value:
    """Subnormal operands (not zero) read as normal ones: a leading one, and the exponent of field 0."""
    if not _is_subnormal(code, fmt) or not x.significand:
        return x
    return exact.finite(x.sign, x.significand | 1 << fmt.mantissa_bits, x.exponent - 1)


_OPERAND_DEFECTS: Final[tuple[tuple[str, str, _Change], ...]] = (
    ("subnormals flushed", "takes subnormals for zero", flushed),
    ("subnormals with exponent 0", "gives subnormals the exponent 0 in place of 1", low_exponent),
    ("subnormals as normal", "takes subnormals for normal numbers, with a leading one", hidden_bit),
    (
        "exponent one high",
        "takes the exponent one too high",
        lambda code, x, fmt: x._replace(exponent=x.exponent + 1) if x.significand else x,
    ),
    (
        "exponent one low",
        "takes the exponent one too low",
        lambda code, x, fmt: x._replace(exponent=x.exponent - 1) if x.significand else x,
    ),
    (
        "last bit ignored",
        "ignores the last bit of the significand",
        lambda code, x, fmt: x._replace(significand=x.significand & ~1) if x.significand > 1 else x,
    ),
    ("sign ignored", "ignores the sign", lambda code, x, fmt: x._replace(sign=0)),
    ("sign inverted", "inverts the sign", lambda code, x, fmt: x._replace(sign=1 - x.sign)),
)

# -- sums ------------------------------------------------------------------------------------------------------------


def _sum_defects(s: Scalar) -> Iterator[Hypothesis]:
    out, compute = s.sig.out, unrounded(s.sig, s.policy)
    for sign, shown in ((0, "+0"), (1, "-0")):
        if not out.negative_zero:
            return

        def signed(codes: Sequence[int], r: int, sign: int = sign) -> tuple[int, int]:
            value, flags = compute(codes, r)
            code, more = encoder(out, s.policy)(value, r)
            if value.is_zero and _cancels(s, codes):
                code = out.sign_bit if sign else 0
            return code, flags | more

        yield Hypothesis(f"x - x is {shown}", f"gives {shown} where a sum cancels to zero", s.model(signed))


def _cancels(s: Scalar, codes: Sequence[int]) -> bool:
    """Whether an exact zero comes of terms that are not all zeros of one sign."""
    values = [decoder(f)(x) for f, x in zip(s.sig.formats, codes, strict=True)]
    if s.sig.operation.name == "fma":
        product = values[0].sign ^ values[1].sign
        return product != values[2].sign
    return (values[0].sign != values[1].sign) == (s.sig.operation.name == "add")


# -- fused multiply-add ----------------------------------------------------------------------------------------------


def _fma_defects(s: Scalar) -> Iterator[Hypothesis]:
    for name in dict.fromkeys((s.sig.out.name, "fp32", "fp64")):
        if name in CATALOGUE and CATALOGUE[name].mantissa_bits >= s.sig.out.mantissa_bits:
            says = f"is not fused: it rounds the product to {name} before it adds"
            yield Hypothesis(f"not fused, product in {name}", says, s.model(_unfused(s, CATALOGUE[name])))
    for bits in range(4):
        says = f"cuts the product to {s.sig.out.precision + bits} bits before it adds"
        yield Hypothesis(f"product cut to p+{bits} bits", says, s.on_values(_cut_product(s, bits)))
    for places in (1, 2, 3):
        below = f"{places} place{'s' * (places > 1)} below the product"
        yield Hypothesis(
            f"addend cut {below}",
            f"loses what alignment shifts out of the addend, {below}",
            s.on_values(_cut_addend(s, places, False)),
        )
        yield Hypothesis(
            f"no borrow {below}",
            f"does not borrow for what alignment shifts out of the addend, {below}, when it subtracts",
            s.on_values(_cut_addend(s, places, True)),
        )

    for n in range(2, 2 * s.sig.out.precision):
        yield Hypothesis(
            f"normalised by at most {n} places",
            f"normalises by at most {n} places below the product's first place, and loses the leading one beyond that",
            s.model(_short_normalisation(s, n)),
        )


def _short_normalisation(s: Scalar, places: int) -> Callable[[Sequence[int], int], tuple[int, int]]:
    """A sum whose leading one lies deeper is packed as if it had one just there."""
    out, right, encode = s.sig.out, evaluator(s.sig, s.policy), encoder(s.sig.out, s.policy)
    decoders, compute = [decoder(f) for f in s.sig.formats], unrounded(s.sig, s.policy)
    bits = s.sig.formats[0].precision + s.sig.formats[1].precision

    def run(codes: Sequence[int], r: int) -> tuple[int, int]:
        a, b, _ = (decode(code) for decode, code in zip(decoders, codes, strict=True))
        value, _ = compute(codes, r)
        if not _finite([a, b]) or value.kind != FINITE or not value.significand:
            return right(codes, r)
        lowest = a.exponent + b.exponent + bits - 1 - places
        if exact.top(value) >= max(lowest, out.emin):
            return right(codes, r)
        lowest = max(lowest, out.emin)
        code, flags = encode(exact.add(value, exact.finite(value.sign, 1, lowest)), r)
        return code - (1 << out.mantissa_bits), flags | (UNDERFLOW if flags & INEXACT else 0)

    return run


def _unfused(s: Scalar, product: Format) -> Callable[[Sequence[int], int], tuple[int, int]]:
    first = evaluator(Signature(OPERATIONS["mul"], s.sig.formats[:2], product), s.policy)
    second = evaluator(Signature(OPERATIONS["add"], (product, s.sig.formats[2]), s.sig.out), s.policy)

    def run(codes: Sequence[int], r: int) -> tuple[int, int]:
        code, flags = first(codes[:2], r)
        found, more = second((code, codes[2]), r)
        return found, flags | more

    return run


_ONE: Final = exact.finite(0, 1, 0)


def _finite(values: Values) -> bool:
    return all(x.kind == FINITE and x.significand for x in values)


def _cut_product(s: Scalar, bits: int) -> Callable[[Sequence[int], Values], Values | None]:
    """The product as its field has it, of both operands' bits, its last ones cleared."""
    full = s.sig.formats[0].precision + s.sig.formats[1].precision
    low = max(full - s.sig.out.precision - bits, 0)

    def change(codes: Sequence[int], values: Values) -> Values | None:
        if not _finite(values[:2]) or values[2].kind != FINITE:
            return None
        product = exact.multiply(values[0], values[1])
        return [product._replace(significand=product.significand >> low << low), _ONE, values[2]]

    return change


def _cut_addend(s: Scalar, places: int, no_borrow: bool) -> Callable[[Sequence[int], Values], Values | None]:
    """The addend cut so many places below the product's last bit; no_borrow: and what is lost or-ed into the sum."""

    def change(codes: Sequence[int], values: Values) -> Values | None:
        a, b, c = values
        if not _finite(values):
            return None
        product = exact.multiply(a, b)
        drop = product.exponent - places - c.exponent
        kept = c.significand >> drop << drop if drop > 0 else c.significand
        if kept == c.significand:
            return None
        cut = c._replace(significand=kept) if kept else exact.zero(c.sign)
        if not no_borrow:
            return [product, _ONE, cut]
        total = exact.add(product, cut)
        return [
            exact.add(total, exact.finite(total.sign, 1, product.exponent - places - 1)),
            _ONE,
            exact.zero(total.sign),
        ]

    return change


# -- another operation -----------------------------------------------------------------------------------------------

_LIKE: Final = (
    ("add", "sub"),
    ("min", "max"),
    ("minimum", "maximum", "minimum_number", "maximum_number"),
    ("eq", "lt", "le", "eq_signaling", "lt_quiet", "le_quiet"),
    ("next_up", "next_down"),
    ("round_to_integral", "round_to_integral_exact"),
    ("div", "mul"),
)


def _other_operations(s: Scalar) -> Iterator[Hypothesis]:
    name = s.sig.operation.name
    for other in sorted({x for group in _LIKE if name in group for x in group} - {name}):
        if other in OPERATIONS:
            try:
                run = evaluator(Signature(OPERATIONS[other], s.sig.formats, s.sig.out), s.policy)
            except Error:
                continue
            yield Hypothesis(f"operation {other}", f"computes {other}", s.model(run))
    if name == "div" and s.sig.formats[0] == s.sig.formats[1]:
        yield Hypothesis("a * (1 / b)", "multiplies by the rounded reciprocal of b", s.model(_by_reciprocal(s)))
    run = evaluator(s.sig, s.policy)
    for i, j in combinations(range(s.arity), 2):
        if s.sig.formats[i] != s.sig.formats[j] or (name == "fma" and j == 1):
            continue

        def exchanged(codes: Sequence[int], r: int, i: int = i, j: int = j) -> tuple[int, int]:
            found = list(codes)
            found[i], found[j] = codes[j], codes[i]
            return run(found, r)

        which = "its operands" if s.arity == 2 else f"{_LETTERS[i]} and {_LETTERS[j]}"
        shown = "operands" if s.arity == 2 else which
        yield Hypothesis(f"{shown} exchanged", f"exchanges {which}", s.model(exchanged))


def _by_reciprocal(s: Scalar) -> Callable[[Sequence[int], int], tuple[int, int]]:
    """Two roundings: of 1 / b, then of the product."""
    fmt = s.sig.formats[0]
    divide = evaluator(Signature(OPERATIONS["div"], (fmt, fmt), s.sig.out), s.policy)
    multiply = evaluator(Signature(OPERATIONS["mul"], (fmt, s.sig.out), s.sig.out), s.policy)
    one = encoder(fmt, s.policy)(_ONE, 0)[0]

    def run(codes: Sequence[int], r: int) -> tuple[int, int]:
        code, flags = divide((one, codes[1]), r)
        found, more = multiply((codes[0], code), r)
        return found, flags | more

    return run
