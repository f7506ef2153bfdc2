"""Hypothesis strategies: codes, exact values, blocks, formats and policies, weighted towards hard cases.

They shrink to readable cases: +0, then 1.0 and its neighbours in exponent, few significand bits, policy `ieee`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from softfloat_ref.base.errors import Error

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import DrawFn, SearchStrategy
except ImportError:
    raise Error("softfloat_ref.testing needs Hypothesis: pip install 'softfloat-ref[testing]'") from None

from softfloat_ref.coverage.classes import complete, few_specials, specials
from softfloat_ref.oracle import encodings, exact
from softfloat_ref.oracle.blocks.formats import BlockFormat, get_block_format
from softfloat_ref.oracle.codec import decoder, encode, encoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format, p3109
from softfloat_ref.oracle.operations import Signature
from softfloat_ref.oracle.operations.formula import (
    DIFFERENCE,
    IDENTITY,
    MULTIPLY_ADDS,
    PRODUCT,
    QUOTIENT,
    ROOT,
    SUM,
    SUM_OF_THREE,
    Formula,
)
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS, Overflow, Policy, Tininess

__all__ = ["bits", "blocks", "formats", "operands", "policies", "values"]

MAX_RANDOM_BITS: Final = 8  # in the stochastic policies that `policies` draws
MIN_WIDTH: Final = 3  # of the formats that `formats` draws
_UNUSUAL_WIDTH: Final = 6
_MAX_OFFSET: Final = 3  # codes on each side of a code
_COIN: Final = st.booleans()
_OFFSETS: Final = st.just(0) | st.sampled_from([0, *(x for n in range(1, _MAX_OFFSET + 1) for x in (n, -n))])


# -- codes -----------------------------------------------------------------------------------------------------------


def bits(fmt: str | Format, *, finite: bool = False) -> SearchStrategy[int]:
    """Codes of a format: special codes and their neighbours, few significand bits, exponents near 1.0, any code.

    finite: without NaN and Inf. Raises Error for an unknown format.
    """
    known = get_format(fmt)
    return _finite_bits(known) if finite else _bits(known)


@lru_cache(maxsize=256)
def _bits(fmt: Format) -> SearchStrategy[int]:
    if fmt.width <= 3:
        return st.integers(0, (1 << fmt.width) - 1)
    if fmt.explicit_bit:
        others = [x | s for kind in encodings.magnitudes(fmt).values() for x in kind for s in (0, fmt.sign_bit)]
        canonical = _bits(fmt.hidden).map(fmt.stored)
        return st.one_of(canonical, canonical, st.sampled_from(others))
    known = sorted(specials(fmt), key=lambda code: _plainness(fmt, code))
    few = sorted(few_specials(fmt), key=lambda code: _plainness(fmt, code))
    places = st.builds(lambda code, by: (code + by) % (1 << fmt.width), st.sampled_from(known), _OFFSETS)
    return st.one_of(st.sampled_from(few), _composed(fmt), places)


@lru_cache(maxsize=256)
def _finite_bits(fmt: Format) -> SearchStrategy[int]:
    read = decoder(fmt)
    return _bits(fmt).filter(lambda code: read(code).is_finite)


def _plainness(fmt: Format, code: int) -> tuple[bool, bool, int, int, int]:
    """The order of special codes, simplest first: +0, 1, positive numbers of few bits, negative numbers, Inf, NaN."""
    x = decoder(fmt)(code)
    kind = 0 if x.is_zero else 1 if code & fmt.magnitude_mask == encode(1, fmt).bits else 2
    return not x.is_finite, bool(x.sign), kind, x.significand.bit_count() if x.is_finite else 0, code


@lru_cache(maxsize=256)
def _composed(fmt: Format) -> SearchStrategy[int]:
    """Sign, exponent and significand, each shrinking by itself."""
    sign = st.integers(0, int(fmt.signed))
    if fmt.twos_complement:
        size = st.integers(0, fmt.magnitude_mask) | st.integers(0, min(16, fmt.magnitude_mask))
        return st.builds(lambda s, x: complete(fmt, s if x else 0, x), sign, size)
    top = (1 << fmt.exponent_bits) - 1
    exponent = st.integers(0, min(8, top)) | st.integers(0, top)
    m = fmt.mantissa_bits

    def code(s: int, e: int, significand: int) -> int:
        return (fmt.sign_bit if s else 0) | _around(fmt.bias, e, top) << m | significand

    return st.builds(code, sign, exponent, significands(m))


def _around(bias: int, index: int, top: int) -> int:
    """The exponent field number `index`, counted outward from the field of 1.0: itself, above, below, ..."""
    step = (index + 1) >> 1
    return (bias + (step if index & 1 else -step)) % (top + 1)


@lru_cache(maxsize=256)
def significands(m: int) -> SearchStrategy[int]:
    """Trailing significands of m bits: few leading bits, runs of ones, or any; they shrink to 0, then to few bits."""
    if m == 0:
        return st.just(0)
    mask = (1 << m) - 1
    few = st.integers(0, min(mask, 7)).map(lambda x: _reversed(x, m))
    any_ = st.integers(0, mask).map(lambda x: _reversed(x, m))
    runs = st.builds(lambda n, low: (1 << n) - 1 if low else mask & ~((1 << n) - 1), st.integers(0, m), st.booleans())
    ends = st.sampled_from([0, mask, 1 & mask, mask - 1])
    return st.one_of(few, any_, runs, ends)


def _reversed(x: int, m: int) -> int:
    """The bits of x in reverse order, so that a small x gives a significand of few leading bits."""
    return int(f"{x:0{m}b}"[::-1], 2)


# -- values ----------------------------------------------------------------------------------------------------------

# Fractions of the way between two neighbours: the lower one, halfway, just beside these, elsewhere.
_TINY: Final = Fraction(1, 1 << 40)
_HALF: Final = Fraction(1, 2)
_FRACTIONS: Final = (
    Fraction(0),
    _HALF,
    _HALF,
    _HALF + _TINY,
    _HALF - _TINY,
    _TINY,
    1 - _TINY,
    _HALF / 2,
    3 * _HALF / 2,
)
_FRACTION_STRATEGY: Final = (
    st.sampled_from(_FRACTIONS[:3]) | st.sampled_from(_FRACTIONS) | st.integers(0, 255).map(lambda n: Fraction(n, 256))
)


def values(fmt: str | Format, *, finite: bool = False) -> SearchStrategy[Value]:
    """Exact numbers to convert to a format: its values, ties, near-ties, numbers beyond its range, Inf and NaN.

    finite: without Inf and NaN. Every number is dyadic (`.as_fraction()`). Raises Error for an unknown format.
    """
    return _values(get_format(fmt).hidden, finite)


@lru_cache(maxsize=256)
def _values(fmt: Format, finite: bool) -> SearchStrategy[Value]:
    numbers = st.builds(
        lambda s, code, part: _between(fmt, s, code, part), _signs(fmt), _places(fmt), _FRACTION_STRATEGY
    )
    if finite:
        return numbers
    others = [exact.inf(0), exact.inf(1), Value(exact.NAN, 0), exact.zero(1)]
    return st.one_of(numbers, st.sampled_from(others))


@lru_cache(maxsize=256)
def _signs(fmt: Format) -> SearchStrategy[int]:
    return st.integers(0, 1) if fmt.signed else st.just(0)


@lru_cache(maxsize=256)
def _places(fmt: Format) -> SearchStrategy[int]:
    """Magnitude codes up to one past the largest finite one; some are the last of their binade."""
    mask, ones = fmt.magnitude_mask, (1 << fmt.mantissa_bits) - 1
    near_top = st.integers(0, min(2, fmt.max_code)).map(lambda x: fmt.max_code + 1 - x)
    ends = _bits(fmt).map(lambda code: min(code & mask | ones, fmt.max_code))
    return st.one_of(_bits(fmt).map(lambda code: min(code & mask, fmt.max_code)), ends, near_top)


def _between(fmt: Format, sign: int, code: int, part: Fraction) -> Value:
    """The value at that fraction of the way from a magnitude to the next one; past the last one, steps are its ulp."""
    low = _magnitude(fmt, code)
    size = low + part * (_magnitude(fmt, code + 1) - low)
    return exact.from_fraction(-size if sign else size, 0) if size else exact.zero(sign)


def _nearest(fmt: Format, x: Value) -> int:
    """The code of a format that is nearest to a number."""
    return encoder(fmt, POLICIES["ieee"])(x, 0)[0]


def _beside(draw: DrawFn, fmt: Format, x: Value) -> int:
    """That code, or one next to it."""
    return (_nearest(fmt, x) + draw(_OFFSETS)) % (1 << fmt.width)


def _magnitude(fmt: Format, code: int) -> Fraction:
    """The value of a magnitude code, counted on past the largest finite one."""
    if code > fmt.max_code:
        last = _magnitude(fmt, fmt.max_code)
        return last + (code - fmt.max_code) * Fraction(2) ** fmt.magnitude(fmt.max_code)[1]
    significand, exponent = fmt.magnitude(code)
    return Fraction(significand) * Fraction(2) ** exponent


# -- operands of an operation ----------------------------------------------------------------------------------------


def operands(sig: Signature) -> SearchStrategy[tuple[int, ...]]:
    """Operand codes of an operation: from `bits`, and related to the previous operands, so that sums overlap and
    cancel, and conversions, products and roots fall on and beside ties. Raises Error unless sig is a Signature."""
    if not isinstance(sig, Signature):
        raise Error(
            f"operands takes a signature, such as softfloat_ref.oracle.operations.signature('fma', 'fp16'), "
            f"not {str(sig)[:40]!r}"
        )
    operation, fmts = sig.operation, sig.formats
    if any(f.explicit_bit for f in (*fmts, sig.out)):
        hidden = Signature(operation, tuple(f.hidden for f in fmts), sig.out.hidden)
        canonical = operands(hidden).map(lambda codes: tuple(f.stored(x) for f, x in zip(fmts, codes, strict=True)))
        return st.one_of(canonical, canonical, st.tuples(*(_bits(f) for f in fmts)))
    free = st.tuples(*(_bits(f) for f in fmts))
    if operation.ordering:
        return st.one_of(free, _sums(sig), _sums(sig), *([_same_size(sig)] if len(set(fmts)) == 1 else []))
    hard = _HARD_OPERANDS.get(operation.formula) if operation.formula else None
    return free if hard is None else st.one_of(free, hard(sig), hard(sig))


@st.composite
def _same_size(draw: DrawFn, sig: Signature) -> tuple[int, ...]:
    """Numbers of one magnitude and any sign, half of them zeros."""
    fmt = sig.formats[0]
    size = draw(st.just(0) | st.sampled_from(few_specials(fmt))) & fmt.magnitude_mask
    return tuple(complete(fmt, draw(_signs(fmt)), size) for _ in sig.formats)


def related(code: int, source: Format, fmt: Format, draw: DrawFn, precision: int) -> int:
    """A code beside `code` of another format: its opposite or itself, some codes or binades away. precision: of
    the result of their sum."""
    x = decoder(source)(code)
    if x.is_zero and draw(_COIN):
        return fmt.sign_bit if draw(_COIN) else 0
    if not x.is_finite or x.is_zero:
        return draw(_bits(fmt))
    negative = draw(_signs(fmt)) if fmt.signed else x.sign
    away = draw(_distances(precision))
    moved = exact.finite(x.sign ^ negative, x.significand, x.exponent + away)
    near = _nearest(fmt, moved)
    if draw(_COIN):  # an unrelated significand
        high = near & ~((1 << fmt.mantissa_bits) - 1)
        return high | draw(significands(fmt.mantissa_bits)) if not fmt.twos_complement else near
    return (near + draw(_OFFSETS)) % (1 << fmt.width)


@lru_cache(maxsize=64)
def _distances(precision: int) -> SearchStrategy[int]:
    """Binades between two terms: none, one, about as many as make one term half an ulp of the other, or any number."""
    places = [by * (precision + more) for more in (0, 1, -1) for by in (-1, 1)]
    most = 2 * precision + 2
    return st.one_of(st.just(0), st.sampled_from([1, -1, *places]), st.integers(-most, most))


@st.composite
def _sums(draw: DrawFn, sig: Signature) -> tuple[int, ...]:
    codes = [draw(_bits(sig.formats[0]))]
    for fmt in sig.formats[1:]:
        codes.append(related(codes[-1], sig.formats[len(codes) - 1], fmt, draw, sig.out.precision))
    return tuple(codes)


@st.composite
def _products_and_addend(draw: DrawFn, sig: Signature) -> tuple[int, ...]:
    a, b = (draw(_bits(f)) for f in sig.formats[:2])
    x, y = decoder(sig.formats[0])(a), decoder(sig.formats[1])(b)
    if not (x.is_finite and y.is_finite):
        return a, b, draw(_bits(sig.formats[2]))
    fmt = sig.formats[2]
    return a, b, related(_nearest(fmt, exact.multiply(x, y)), fmt, fmt, draw, sig.out.precision)


@st.composite
def _near_results(draw: DrawFn, sig: Signature) -> tuple[int, ...]:
    """Dividends and products whose quotient, or other factor, is a simple value or a tie next to one."""
    second = draw(_bits(sig.formats[1]))
    result = draw(_values(sig.out, False))
    divisor = decoder(sig.formats[1])(second)
    if not (divisor.is_finite and result.is_finite) or divisor.is_zero:
        return draw(_bits(sig.formats[0])), second
    fmt = sig.formats[0]
    exactly = (
        exact.multiply(result, divisor)
        if sig.operation.formula == QUOTIENT
        else exact.divide(result, divisor, 2 * fmt.precision + 4)
    )
    return _beside(draw, fmt, exactly), second


@st.composite
def _near_squares(draw: DrawFn, sig: Signature) -> tuple[int, ...]:
    root = draw(_values(sig.out, True))
    return (_beside(draw, sig.formats[0], exact.multiply(root, root)),)


@st.composite
def _near_values(draw: DrawFn, sig: Signature) -> tuple[int, ...]:
    return (_beside(draw, sig.formats[0], draw(_values(sig.out, True))),)


_HARD_OPERANDS: Final[dict[Formula, Callable[[Signature], SearchStrategy[tuple[int, ...]]]]] = {
    **dict.fromkeys((SUM, DIFFERENCE, SUM_OF_THREE), _sums),
    **dict.fromkeys((PRODUCT, QUOTIENT), _near_results),
    **dict.fromkeys(MULTIPLY_ADDS, _products_and_addend),
    ROOT: _near_squares,
    IDENTITY: _near_values,
}


# -- blocks, formats, policies ---------------------------------------------------------------------------------------


def blocks(
    fmt: str | BlockFormat, source: str | Format = "fp32", *, size: int | None = None, finite: bool = False
) -> SearchStrategy[list[int]]:
    """Blocks of codes of `source`, to be quantized to a block format: `size` codes each (default: the format's size).

    A block's exponents lie within the element format's range of each other. Its largest magnitude is often near a value
    where the scale changes. Blocks contain zeros and, unless `finite`, NaN and Inf. They shrink to trailing zeros.
    """
    block, values_format = get_block_format(fmt), get_format(source)
    if not values_format.exponent_bits:
        raise Error(f"source: {values_format.name} has no exponent; blocks need a floating-point format, such as fp32")
    if size is not None and size < 1:
        raise Error(f"size = {size}: a block has at least one value")
    return _blocks(block, values_format, size or max(block.size, 1), finite)


@st.composite
def _blocks(draw: DrawFn, fmt: BlockFormat, source: Format, size: int, finite: bool) -> list[int]:
    largest = draw(_amax(fmt, source))
    spread = fmt.element.emax - fmt.element.emin + fmt.element.precision + 2
    member = st.builds(
        lambda s, down, m: _below(source, largest, s, down, m),
        _signs(source),
        st.integers(0, spread),
        significands(source.mantissa_bits),
    )
    rest = st.one_of(member, _finite_bits(source) if finite else _bits(source)) if draw(st.integers(0, 3)) else member
    codes = [largest, *draw(st.lists(rest, max_size=size - 1))]
    at = draw(st.integers(0, size - 1))
    padded = codes + [0] * (size - len(codes))
    return padded[-at:] + padded[:-at] if at else padded


@st.composite
def _amax(draw: DrawFn, fmt: BlockFormat, source: Format) -> int:
    """A magnitude next to the element's largest value or a power of two, times a power of two; or any magnitude."""
    if not draw(st.integers(0, 4)):
        return draw(_finite_bits(source))
    significand, exponent = fmt.element.magnitude(fmt.element.max_code)
    place = draw(st.sampled_from([(1, 0), (significand, exponent), (2 * significand + 1, exponent - 1)]))
    least, most = sorted((source.emin, source.emax))  # without normal numbers, emax is less than emin
    power = draw(st.integers(-8, 8) | st.integers(least, most))
    near = _beside(draw, source, exact.finite(0, place[0], place[1] + power))
    return min(near & source.magnitude_mask, source.max_code)


def _below(fmt: Format, largest: int, sign: int, down: int, significand: int) -> int:
    """A code whose exponent field is `down` below that of `largest`."""
    field = max((largest & fmt.magnitude_mask) >> fmt.mantissa_bits, 0) - down
    code = min((max(field, 0) << fmt.mantissa_bits) | significand, largest & fmt.magnitude_mask)
    return code | (fmt.sign_bit if sign else 0)


def formats(*, max_width: int = 32, integers: bool = False) -> SearchStrategy[Format]:
    """Scalar formats: the catalogue's up to max_width bits, every IEEE P3109 shape, and unusual IEEE-style shapes.

    Raises Error for fewer bits than the smallest format has.
    """
    if max_width < MIN_WIDTH:
        raise Error(f"max_width = {max_width}: the smallest format has {MIN_WIDTH} bits")
    named = sorted((f for f in CATALOGUE.values() if f.width <= max_width), key=lambda f: f.width)
    known = [f for f in named if integers or not f.is_integer]
    shapes = st.builds(
        lambda k, p, s, e: p3109(k, min(p, k - int(s)), signed=s, extended=e),
        st.integers(3, min(16, max_width)),
        st.integers(1, 15),
        st.booleans(),
        st.booleans(),
    )
    odd = st.builds(
        lambda e, m, tail: get_format(f"s1e{e}m{m}{tail}"),
        st.integers(2, max(2, min(8, max_width - 4))),
        st.integers(2, max(2, min(23, max_width - 9))),
        st.sampled_from(["", "fn", "fnuz", "finite"]),
    )
    wide = [odd] if max_width >= _UNUSUAL_WIDTH else []
    return st.one_of(*([st.sampled_from(known)] if known else []), shapes, *wide)


def policies(*, stochastic: bool = False, roundings: Sequence[str] | None = None) -> SearchStrategy[Policy]:
    """Policies: the named ones, and combinations of their fields. stochastic: also policies that take random bits."""
    modes = list(roundings or (m for m in ROUNDINGS if stochastic or not m.startswith("sr")))
    words = st.integers(1, MAX_RANDOM_BITS)

    def combined(mode: str, n: int, base: Policy, **fields: Any) -> Policy:
        return base.replace(rounding=mode, sr_bits=n if mode.startswith("sr") else None, **fields)

    return st.builds(
        combined,
        st.sampled_from(modes),
        words,
        st.sampled_from(list(POLICIES.values())),
        overflow=st.sampled_from([None, *Overflow]),
        flush_inputs=st.booleans(),
        flush_outputs=st.booleans(),
        tininess=st.sampled_from(list(Tininess)),
    )


def __dir__() -> list[str]:
    return sorted(__all__)
