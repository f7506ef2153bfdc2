"""Vectors of codes for dot products, special ones among them."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.formats import get_format

SHORT = st.integers(1, 40)


def vectors(fmt: str, count: st.SearchStrategy[int] = SHORT) -> st.SearchStrategy[tuple[list[int], ...]]:
    """Two vectors of codes."""
    f = get_format(fmt)
    special = [0, 1, f.max_code, max(f.inf_code, 0), max(f.canonical_nan, 0), max(f.inf_code, 0) + 1]
    special = [code for code in special if code < f.sign_bit]
    code = st.one_of(
        st.integers(0, (1 << f.width) - 1), st.sampled_from([*special, *(code | f.sign_bit for code in special)])
    )
    return count.flatmap(lambda n: st.tuples(*[st.lists(code, min_size=n, max_size=n)] * 2))


def fractions(codes: list[int], fmt: str) -> list[Fraction] | None:
    """The values, where all are finite."""
    values = [decoder(get_format(fmt))(c) for c in codes]
    return [v.as_fraction() for v in values] if all(v.kind == FINITE for v in values) else None
