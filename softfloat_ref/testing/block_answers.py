"""Checking block conversions: a block's answer is all its codes, a scale and elements, or values; it has no flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from softfloat_ref.codec import decoder
from softfloat_ref.explain import value_text
from softfloat_ref.formats import Format
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.literals import shortest
from softfloat_ref.testing.compare import Answer, CompareNan, Rule, same_result

SHOWN_LANES: Final = 8


def formats(vectors: VectorSet) -> tuple[Format, ...]:
    """The format of each code of an answer."""
    block = vectors.block
    assert block is not None
    if vectors.op == "dequantize":
        return (vectors.out,) * block.size
    return (block.scale, *(block.element,) * block.size)


def differing(expected: Sequence[int], got: Sequence[int], vectors: VectorSet, nan: CompareNan) -> list[int]:
    """The places of the codes that differ."""
    places = zip(expected, got, formats(vectors), strict=True)
    return [i for i, (x, y, f) in enumerate(places) if not same_result(x, y, Rule(f, nan))]


def kind(places: Sequence[int], vectors: VectorSet) -> str:
    """The kind of a mismatch, for counting."""
    if vectors.op == "dequantize":
        return "values"
    if places[0] != 0:
        return "elements"
    return "scale" if len(places) == 1 else "scale and elements"


def operand_lines(vectors: VectorSet, inputs: Sequence[int], expected: Sequence[int], got: Answer) -> list[str]:
    """The lanes that differ, the first few of them: what went in, what must come out, what came."""
    places = differing(expected, got.codes, vectors, CompareNan.EXACT)
    lines = []
    for i in places[:SHOWN_LANES]:
        fmt = formats(vectors)[i]
        decode = decoder(fmt)
        shown = [
            f"{fmt.hex(x)} = {value_text(decode(x)) if not x >> fmt.width else 'too wide'}"
            for x in (expected[i], got.codes[i])
        ]
        lines.append(f"  {_name(vectors, i)}{_operand(vectors, inputs, i)}: expected {shown[0]}, got {shown[1]}")
    rest = len(places) - SHOWN_LANES
    return [*lines, f"  and {rest} more lanes"] if rest > 0 else lines


def _name(vectors: VectorSet, place: int) -> str:
    if vectors.op == "quantize":
        return "scale" if place == 0 else f"element {place - 1}"
    return f"value {place}"


def _operand(vectors: VectorSet, inputs: Sequence[int], place: int) -> str:
    assert vectors.block is not None
    if vectors.op == "quantize":
        if place == 0:
            return ""
        code, fmt = inputs[place - 1], vectors.formats[0]
        return f" of {fmt.hex(code)} = {value_text(decoder(fmt)(code))}"
    scale, element = vectors.block.scale, vectors.block.element
    return f" of scale {scale.hex(inputs[0])}, element {element.hex(inputs[1 + place])}"


def explain_command(vectors: VectorSet, inputs: Sequence[int], got: Answer, options: Sequence[str]) -> str:
    """The command that shows every step of this block; of a dequantization, the one that decodes its elements."""
    block = vectors.block
    assert block is not None
    if vectors.op == "dequantize":
        codes = " ".join(block.element.hex(x) for x in inputs[1 : 1 + block.size])
        return f"softfloat-ref decode --fmt {block.element.name} {codes}"
    decode = decoder(vectors.formats[0])
    values = " ".join(shortest(decode(x)) for x in inputs[: block.size])
    answer = f"{block.scale.hex(got.codes[0])}:{','.join(map(block.element.hex, got.codes[1:]))}"
    words = [f"softfloat-ref explain --fmt {block.name} --profile {vectors.profile.name}", *options]
    return " ".join([*words, f"--got {answer}", "--", values])
