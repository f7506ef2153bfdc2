"""Units that want codes in the order of their values refuse extf80 in one line, which says what takes its place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from softfloat_ref import dot
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.units import make_unit
from softfloat_ref.units.ranges.operand_range import operand_range

REFUSED = [
    (lambda: dot([1], [1], "extf80"), "dot products"),
    (lambda: make_unit("dot", "fp16", "extf80"), "dot products"),
    (lambda: make_unit("dot", "a=fp16,b=fp16,c=extf80", "fp32"), "dot products"),
    (lambda: make_unit("dot", "fp16", acc="fuse(4+c)->extf80"), "accumulators"),
    (lambda: make_unit("quantize", "mxfp8", "extf80"), "block quantizers"),
    (lambda: make_unit("quantize", "qint8", "extf80"), "affine quantizers"),
    (lambda: make_unit("softmax", "extf80"), "functions of vectors"),
    (lambda: make_unit("softmax", "fp32", "extf80"), "functions of vectors"),
    (lambda: make_unit("convert_from_block", "fp4_e2m1@e8m0/3", "extf80"), "operations on blocks"),
    (lambda: get_block_format("extf80@e8m0/32"), "the elements"),
    (lambda: get_block_format("fp8_e4m3@extf80/32"), "the scales"),
]


@pytest.mark.parametrize(("make", "what"), REFUSED, ids=[what for _, what in REFUSED])
def test_refused(make: Callable[[], object], what: str) -> None:
    with pytest.raises(Error, match=f"{what} take formats that hide the integer bit, not extf80; s1e15m63 has"):
        make()


def test_ranges_are_refused() -> None:
    unit = make_unit("convert", "extf80", "fp64")
    for text in ("a is normal", "a > 1", "exponent(a) < 5"):
        with pytest.raises(Error, match="where: a has the format extf80, whose codes are not in order of value"):
            operand_range(text, unit)
    other = operand_range("b < 3", make_unit("scaleb", "a=extf80,b=i32", "extf80"))
    assert other is not None
    assert other.holds((0, 2))
