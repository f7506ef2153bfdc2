"""The scoreboard of units of every kind: fields in order, by name, packed, or code by code."""

from __future__ import annotations

from typing import Any

import pytest

from softfloat_ref import Error
from softfloat_ref.testing.cocotb import Scoreboard
from softfloat_ref.units import Unit, make_unit

ONE, CASE = 0x3F800000, (0x40200000, 0x3F800000, 5)  # 2.5, scale 1, zero point 5


class Bits:
    """What the scoreboard knows of cocotb's LogicArray."""

    def __init__(self, text: str) -> None:
        self.text = text

    def to_unsigned(self) -> int:
        return int(self.text, 2)

    def __str__(self) -> str:
        return self.text


def packed(codes: list[int], width: int) -> int:
    return sum(x << width * i for i, x in enumerate(codes))


def test_an_affine_quantizer() -> None:
    scoreboard = Scoreboard.of(make_unit("quantize", "qint8"))
    assert scoreboard.expect(*CASE) == (8,)
    assert scoreboard.expect(value=CASE[0], scale=CASE[1], zero_point=5) == (8,)
    assert scoreboard.expect(CASE[0], zero_point=6, scale=CASE[1]) == (8,)
    assert scoreboard.expect(*CASE, rounding="rtz") == (7,)
    assert scoreboard.check(8)
    assert scoreboard.check(integer=Bits("00001000"))
    assert not scoreboard.check(7)
    assert scoreboard.check(7)
    assert (
        scoreboard.mismatches
        == [
            "transaction 3: quantize: off by one ulp\n"
            "  value    40200000 = 2.5 (0x1.4p+1)\n"
            "  scale    3f800000 = 1.0 (0x1p+0)\n"
            "  zero_point 06 = 6.0 (0x1.8p+2)\n"
            "  expected 08 = 8\n"
            "  got      07 = 7\n"
            "  softfloat-ref explain quantize --fmt qint8 40200000 3f800000 06 --got 7"
        ]
        or "quantize: off by one ulp" in scoreboard.mismatches[0]
    )
    assert scoreboard.summary().startswith("quantize fp32 to qint8 rne: 4 compared, 1 mismatched, 0 pending\n")


def test_blocks() -> None:
    unit = make_unit("quantize", "mxfp8")
    scoreboard, values = Scoreboard.of(unit), [ONE + 54321 * i for i in range(32)]
    right = tuple(unit.answer(values))
    scale, elements = right[0], list(right[1:])
    for given in (values, [values], [packed(values, 32)]):
        assert scoreboard.expect(*given) == right
    assert scoreboard.expect(values=values) == right
    assert scoreboard.check(scale, elements)
    assert scoreboard.check(scale, packed(elements, 8))
    assert scoreboard.check(*right)
    elements[3] ^= 1
    assert not scoreboard.check(scale=scale, elements=elements)
    assert "element 3 of " in scoreboard.mismatches[0]
    scoreboard.expect(values)
    assert not scoreboard.check(scale, Bits("X" * 256))
    assert "got      " in scoreboard.mismatches[1]


def test_dot_products_have_flags() -> None:
    unit = make_unit("dot", "fp16", k=2)
    scoreboard = Scoreboard.of(unit)
    for flags in (None, 0, 1):
        found = scoreboard.expect(a=[0x3C00, 0x4000], b=[0x3C00, 0x4000], c=0)
        assert (found.bits, found.flags) == (0x40A00000, 0)
        more = {} if flags is None else {"flags": flags}
        assert scoreboard.check(0x40A00000, **more) == (flags != 1)
    scoreboard.expect(0x3C00, 0x4000, 0x3C00, 0x4000, 0)
    assert scoreboard.check(0x40A00000, 0)


def test_random_words() -> None:
    scoreboard = Scoreboard.of(make_unit("quantize", "mxfp8", policy={"rounding": "sr", "sr_bits": 4}))
    values, words = [ONE + 54321 * i for i in range(32)], [i % 16 for i in range(32)]
    assert scoreboard.expect(values, random_bits=words) == scoreboard.expect(values, random_bits=packed(words, 4))
    with pytest.raises(Error, match="takes 4 random bits"):
        scoreboard.expect(values)


@pytest.mark.parametrize(
    ("unit", "operands", "more", "message"),
    [
        (make_unit("quantize", "qint8"), CASE[:2], {}, "quantize takes 3 operands, not 2"),
        (make_unit("quantize", "qint8"), (*CASE[:2], 256), {}, "does not fit i8"),
        (make_unit("quantize", "qint8"), CASE, {"zero_point": 5}, "has no field 'zero_point' here, but no more fields"),
        (make_unit("quantize", "qint8"), (), {"valeu": 5}, "has no field 'valeu' here, but value, scale, zero_point"),
        (make_unit("quantize", "qint8"), CASE, {"random_bits": 5}, "takes no random bits"),
        (make_unit("dequantize", "qint8"), (1, ONE, 5), {"random_bits": 5}, "takes no random bits"),
        (make_unit("dequantize", "qint8"), (1, ONE, 5), {"rounding": "rtz"}, "has no policy"),
        (make_unit("quantize", "mxfp8"), ([1, 2],), {}, "values has 32 codes, not 2"),
        (make_unit("quantize", "mxfp8"), (1 << 1024,), {}, "does not fit values, of 32 codes of 32 bits"),
        (make_unit("quantize", "mxfp8"), (1, 2), {}, "quantize takes 1 operand, not 2"),
    ],
)
def test_errors(unit: Unit, operands: tuple[Any, ...], more: dict[str, Any], message: str) -> None:
    scoreboard = Scoreboard.of(unit)
    with pytest.raises(Error, match=message):
        scoreboard.expect(*operands, **more)
    assert scoreboard.pending == 0


def test_wrong_answers_are_errors() -> None:
    scoreboard = Scoreboard.of(make_unit("quantize", "qint8"))
    scoreboard.expect(*CASE)
    with pytest.raises(Error, match="quantize has 1 result, not 2"):
        scoreboard.check(8, 0)
    with pytest.raises(Error, match="no field 'flags' here"):
        scoreboard.check(8, flags=0)
