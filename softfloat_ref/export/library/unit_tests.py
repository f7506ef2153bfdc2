"""Cases of a library's blocks and dot products for its test program: the answers are those of the oracle."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.base.search import find_first
from softfloat_ref.export.library.blocks import INPUTS, LibraryBlock
from softfloat_ref.export.library.constants import LibraryFormat
from softfloat_ref.export.library.dots import DotUnit
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate import dot
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import FP32
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import Format

_MOST: Final = 40  # values of a block, and products
_ONE: Final = exact.finite(0, 1, 0)
_CODE_OF_ONE: Final = FP32.bias << FP32.mantissa_bits


def near_one(fmt: Format, rng: random.Random) -> int:
    """A code of a number within a few powers of two of one, or near the largest one."""
    if fmt.twos_complement or not fmt.signed:
        return min(rng.getrandbits(fmt.width), fmt.max_code)
    code = (fmt.bias + rng.randint(-5, 3) << fmt.mantissa_bits) + rng.getrandbits(fmt.mantissa_bits)
    return max(0, min(code, fmt.max_code)) | rng.choice((0, fmt.sign_bit))


def _array(kind: str, name: str, codes: Sequence[int], in_struct: bool) -> str:
    values = ", ".join(f"{{{x:#x}}}" if in_struct else f"{x:#x}" for x in codes)
    return f"static const {kind} {name}[{len(codes)}] = {{{values}}};"


def block_test(block: LibraryBlock, formats: Sequence[LibraryFormat], prefix: str, rng: random.Random) -> Iterator[str]:
    """The statements of a function: a block quantized, and back."""
    own = find_first(x for x in formats if x.fmt.name in INPUTS)
    size, policy, p = min(block.size, _MOST), block.policy.policy, prefix
    x = [near_one(own.fmt, rng) for _ in range(size)]
    words = [rng.getrandbits(policy.random_count) for _ in x]
    read = decoder(own.fmt, policy.flush_inputs)
    scale, codes, flags = quantize_block([read(c) for c in x], block.block, block.profile, policy, words, _ONE)
    element = block.element_type if block.is_integer else f"{p}{block.element_type}"
    tensor = "one, " if block.has_tensor_scale else ""
    member = f"(uint{block.element.storage}_t)codes[i]" if block.is_integer else "codes[i].v"
    yield _array(f"{p}{own.type}", "x", x, True)
    yield _array("uint32_t", "want", codes, False)
    yield _array("uint8_t", "want_flags", flags, False)
    if policy.random_count:
        yield _array("uint32_t", "words", words, False)
    yield f"{p}{block.scale.type} scale;"
    yield f"{element} codes[{size}];"
    yield f"uint8_t flags[{size}];"
    if block.has_tensor_scale:
        yield f"{p}float32_t one;"
        yield f"one.v = {_CODE_OF_ONE:#x};"
    more = "words, " if policy.random_count else ""
    yield f"{p}{own.name}_to_{block.name}({size}, x, {tensor}&scale, codes, {more}flags);"
    name = f"{p}{own.name}_to_{block.name}"
    yield f'compare("{name}, scale", 0, scale.v, 0, 0, {scale:#x}, 0);'
    yield f"for (int i = 0; i < {size}; i++)"
    yield f'    compare("{name}", 0, {member}, flags[i], 0, want[i], want_flags[i]);'
    if any(x.fmt == FP32 for x in formats):
        back = dequantize_to_fp32(scale, codes, block.block, block.profile)
        yield _array("uint32_t", "back", back, False)
        yield f"{p}float32_t z[{size}];"
        yield f"{p}{block.name}_to_f32({size}, &scale, codes, {tensor}z);"
        yield f'for (int i = 0; i < {size}; i++) compare("{p}{block.name}_to_f32", 0, z[i].v, 0, 0, back[i], 0);'


def dot_test(unit: DotUnit, prefix: str, rng: random.Random) -> Iterator[str]:
    """The statements of a function: one dot product."""
    n, p, out, block = min(2 * unit.step - 1, _MOST), prefix, unit.out, unit.block
    a, b = ([near_one(unit.fmt, rng) for _ in range(n)] for _ in "ab")
    c = near_one(out.fmt, rng)
    in_struct = not (block and block.is_integer)
    operand = unit.operand.element_type if isinstance(unit.operand, LibraryBlock) else unit.operand.type
    signed = [x - (1 << unit.fmt.width) if not in_struct and x & unit.fmt.sign_bit else x for x in (*a, *b)]
    kind = f"{p}{operand}" if in_struct else operand
    yield _array(kind, "a", signed[:n], in_struct)
    yield _array(kind, "b", signed[n:], in_struct)
    arguments = ["a", "b"]
    if block:
        middle = block.block.scale.bias << block.block.scale.mantissa_bits
        scales = [[middle + rng.randint(-3, 3) for _ in range(-(-n // block.size))] for _ in "ab"]
        tensors = (1.0, 1.0) if block.has_tensor_scale else None
        want = dot(
            a, b, block.block, c, unit.accumulator, out.fmt, scales=(scales[0], scales[1]), tensor_scales=tensors
        )
        for name, codes in zip(("sa", "sb"), scales, strict=True):
            yield _array(f"{p}{block.scale.type}", name, codes, True)
        arguments = ["sa", "a", "sb", "b"]
    else:
        want = dot(a, b, unit.fmt, c, unit.accumulator, out.fmt)
    yield f"{p}{out.type} c;"
    yield f"c.v = {c:#x};"
    yield f"{p}softfloat_exceptionFlags = 0;"
    yield f"c = {unit.name}({n}, {', '.join(arguments)}, c);"
    flags = f"{p}softfloat_exceptionFlags"
    yield f'compare("{unit.name}", 0, c.v, {flags}, 0, {want.bits:#x}, {int(want.flags):#x});'


def unit_tests(
    blocks: Sequence[LibraryBlock], dots: Sequence[DotUnit], formats: Sequence[LibraryFormat], prefix: str
) -> dict[str, list[str]]:
    """The bodies of test functions, by their names."""
    rng = random.Random(2)
    tests = {f"test_{x.name}": list(block_test(x, formats, prefix, rng)) for x in blocks}
    return tests | {f"test_{x.name.removeprefix(prefix)}": list(dot_test(x, prefix, rng)) for x in dots}
