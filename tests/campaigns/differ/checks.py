"""One check is one draw: what is fast and the scalar oracle, on the same input. Differences raise AssertionError."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest import mock

import numpy as np

from differ.draw import (
    DTYPES,
    a_block_format,
    a_format,
    a_policy,
    a_profile,
    a_rule,
    a_tensor_scale,
    an_affine_format,
    near,
    words,
)
from softfloat_ref import affine, arrays, blocks
from softfloat_ref.arrays.blocks import matmul
from softfloat_ref.arrays.kernels import dispatch
from softfloat_ref.arrays.matmul import operand_matrix
from softfloat_ref.arrays.operations import Bulk
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.cases import crossed, random_cases
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate import ACCUMULATORS, get_accumulator
from softfloat_ref.oracle.accumulate.dots import run, setting
from softfloat_ref.oracle.affine import Parameters, check_scale, choose, dequantize_value, quantize_value
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, TENSOR, BlockFormat
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.operations import OPERATIONS, evaluator, signature
from softfloat_ref.oracle.policies import Policy

FP32: Final = CATALOGUE["fp32"]


@contextmanager
def _compiled(rng: random.Random) -> Iterator[bool]:
    """With the compiled loops for arrays of any size, or without them."""
    always = rng.random() < 0.7
    with mock.patch.object(dispatch, "use_compiled", return_value=always):
        yield always


def _same(codes: Any, wanted: Any, what: str, inputs: Any) -> None:
    codes, wanted = np.asarray(codes), np.asarray(wanted)
    wrong = np.argwhere(codes != wanted) if codes.shape == wanted.shape else [()]
    if len(wrong):
        at = tuple(int(i) for i in wrong[0])
        where = f"{inputs} at {at}: {codes[at]!r}, but the oracle has {wanted[at]!r}"
        raise AssertionError(f"{what.split(':')[0]}: {where}; {what.partition(': ')[2]}")


def conversions(seed: int) -> int:
    """arrays.encode, encode_flags, quantize and decode."""
    rng = random.Random(seed)
    fmt, policy, dtype = a_format(rng), a_policy(rng), rng.choice(DTYPES)
    x = near(rng, fmt, dtype, 400)
    drawn = words(rng, policy, x.shape)
    source = arrays.as_source(x)
    read, write, wide = decoder(source.fmt, policy.flush_inputs), encoder(fmt, policy), decoder(fmt)
    each = [0] * x.size if drawn is None else drawn.tolist()
    what = f"conversions {seed}: {np.dtype(dtype)} to {fmt.name}, {policy}"
    try:
        wanted = [write(read(code), r) for code, r in zip(source.codes.tolist(), each, strict=True)]
    except Error:  # a NaN that the format lacks, and the policy refuses
        return 0
    with _compiled(rng) as how:
        what += f", compiled: {how}"
        codes = arrays.encode(x, fmt, policy, drawn)
        _same(codes, [c for c, _ in wanted], what, "codes")
        encoded, flags = arrays.encode_flags(x, fmt, policy, drawn)
        _same(encoded, [c for c, _ in wanted], f"{what}, with flags", "codes")
        _same(flags, [f for _, f in wanted], what, "flags")
        try:
            decoded = arrays.decode(codes, fmt)
        except Error:  # no float type holds every value
            return x.size
        values = arrays.quantize(x, fmt, policy, drawn)
    _same(values.view(f"u{values.itemsize}"), decoded.view(f"u{decoded.itemsize}"), what, "values")
    target = encoder(arrays.as_source(decoded).fmt, Policy(nan="propagate"))
    _same(decoded.view(f"u{decoded.itemsize}"), [target(wide(c), 0)[0] for c, _ in wanted], what, "decoded")
    return x.size


def block_conversions(seed: int) -> int:
    """blocks.encode and decode."""
    rng = random.Random(seed)
    try:
        fmt = a_block_format(rng)
    except Error:  # an element that is none
        return 0
    profile, policy = a_profile(rng), a_policy(rng)
    dtype, axis = rng.choice(DTYPES), rng.choice((0, 1))
    length = rng.choice((1, 31, 32, 33, 64, 70, rng.randint(1, 100), 600))
    x = _block_values(rng, fmt, dtype, (rng.randint(1, 4), length))
    if profile.tail == "flatten" or fmt.size == TENSOR:  # rows end inside blocks: it is one
        x, axis = x.reshape(1, -1), 1
    x = x if axis else np.ascontiguousarray(x.T)
    drawn, tensor_scale = words(rng, policy, x.shape), a_tensor_scale(rng)
    what = f"blocks {seed}: {np.dtype(dtype)} {x.shape} axis {axis} to {fmt}, {profile}, {policy}, scale {tensor_scale}"
    with _compiled(rng) as how:
        try:
            encoded = blocks.encode(x, fmt, policy, drawn, axis=axis, profile=profile, tensor_scale=tensor_scale)
        except Error:
            return 0  # choices that exclude each other, or refuse these values
        try:
            back = np.moveaxis(encoded.decode(), axis, -1).reshape(-1, x.shape[axis])
        except Error:  # float64 does not hold every element
            back = None
    what += f", compiled: {how}"
    _compare_blocks(x, axis, encoded, policy, drawn, back, what)
    return x.size


def _block_values(rng: random.Random, fmt: BlockFormat, dtype: Any, shape: tuple[int, int]) -> np.ndarray:
    """Near elements under a scale of some exponent; here and there special."""
    count = shape[0] * shape[1]
    plain = near(rng, fmt.element, np.float64, count)
    exponents = np.random.default_rng(rng.getrandbits(40)).integers(-140, 120, (shape[0], 1))
    if rng.random() < 0.6:
        plain = np.where(np.isfinite(plain) & (np.abs(plain) < 1e30), plain, 1.5)
    with np.errstate(all="ignore"):
        return (plain.reshape(shape) * 2.0 ** (exponents if rng.random() < 0.7 else 0)).astype(dtype)


def _compare_blocks(x: Any, axis: int, encoded: Any, policy: Any, drawn: Any, back: Any, what: str) -> None:
    source = arrays.as_source(x)
    read = decoder(source.fmt, policy.flush_inputs)
    scaled = encoded.scales.reshape(1, -1) if encoded.profile.tail == "flatten" else encoded.scales
    rows, codes, scales = (np.moveaxis(a, axis, -1) for a in (source.codes, encoded.codes, scaled))
    row_words = None if drawn is None else np.moveaxis(drawn, axis, -1)
    size = encoded.fmt.size if encoded.fmt.size > 0 else rows.shape[-1]
    tensor = encoded.factor
    for i in range(len(rows)):
        for n, start in enumerate(range(0, rows.shape[-1], size)):
            part = slice(start, start + size)
            values = [read(int(c)) for c in rows[i, part]]
            r = None if row_words is None else row_words[i, part].tolist()
            block = quantize_block(values, encoded.fmt, encoded.profile, policy, r, tensor)
            place = f"row {i}, block {n}, of {[float(v) for v in np.moveaxis(x, axis, -1)[i, part]]}"
            _same(scales[i, n], block.scale, what, f"scale of {place}")
            _same(codes[i, part], list(block.codes), what, f"codes of {place}")
            if back is None:
                continue
            wanted = dequantize_to_fp32(block.scale, block.codes, encoded.fmt, encoded.profile, tensor)
            _same(back[i, part].copy().view(np.uint32), wanted, what, f"values of {place}")


def affine_conversions(seed: int) -> int:
    """affine.encode, quantize and decode."""
    rng = random.Random(seed)
    fmt, rule, policy, dtype = an_affine_format(rng), a_rule(rng), a_policy(rng), rng.choice(DTYPES)
    shape = rng.randint(1, 4), rng.choice((1, 7, 64, rng.randint(1, 100)))
    axis = rng.choice((None, 0, 1))
    x = _block_values(rng, BlockFormat("integers", get_format("int8"), FP32, 1), dtype, shape)
    drawn, options = words(rng, policy, shape), {}
    if rng.random() < 0.6:
        channels = () if axis is None else (shape[axis],)
        scale = np.array(near(rng, FP32, np.float32, 8)[:1]).view(np.uint32) & 0x7FFFFFFF
        scale = np.where(
            rng.random() < 0.7, np.uint32(rng.randint(0x3B000000, 0x42000000)), np.clip(scale, 1, 0x7F7FFFFF)
        )
        steps = np.random.default_rng(seed).integers(0, 1 << 16, channels, np.uint32)
        scales = np.minimum(scale.astype(np.uint32).reshape(()) + steps, np.uint32(0x7F7FFFFF)).astype(np.uint32)
        options = {
            "scale": scales.view(np.float32),
            "zero_point": np.full(channels, rng.randint(fmt.lowest, fmt.highest)),
        }
    what = f"affine {seed}: {np.dtype(dtype)} {shape} axis {axis} to {fmt}, {rule}, {policy}, {options}"
    with _compiled(rng) as how:
        try:
            encoded = affine.encode(x, fmt, policy, drawn, axis=axis, profile=rule, **options)
        except Error:
            return 0  # values, or a scale, that the rule refuses
        values, decoded = affine.quantize(x, fmt, policy, drawn, axis=axis, profile=rule, **options), encoded.decode()
    what += f", compiled: {how}"
    source = arrays.as_source(x)
    read = decoder(source.fmt, policy.flush_inputs)
    rows, q, r, back, quick = (
        np.moveaxis(a, axis or 0, 0).reshape(1 if axis is None else shape[axis], -1)
        for a in (source.codes, encoded.integers, source.codes if drawn is None else drawn, decoded, values)
    )
    for i in range(len(rows)):
        own = Parameters(*(int(np.atleast_1d(a)[i]) for a in (encoded.scales.view(np.uint32), encoded.zero_points)))
        check_scale(decoder(FP32)(own.scale), rule)
        numbers = [read(int(code)) for code in rows[i]]
        if not options:
            ends = [exact.zero(0), *(v for v in numbers if v.kind == FINITE)]
            low, high = (pick(ends, key=lambda v: v.as_fraction()) for pick in (min, max))
            _same(list(own), list(choose(low, high, fmt, rule)), what, f"parameters of {rows[i].tolist()}")
        each = [0] * len(numbers) if drawn is None else r[i].tolist()
        wanted = [quantize_value(v, own, fmt, rule, policy, w) for v, w in zip(numbers, each, strict=True)]
        _same(q[i], wanted, what, f"integers of {x.tolist()}")
        scaled = [dequantize_value(code, own) for code in wanted]
        for name, some in (("decoded", back), ("values", quick)):
            _same(np.ascontiguousarray(some[i]).view(np.uint32), scaled, what, name)
    return x.size


def operations(seed: int) -> int:
    """Compiled operations on codes, with flags."""
    rng = random.Random(seed)
    op = rng.choice([name for name, row in OPERATIONS.items() if row.loop or row.estimate])
    policy = a_policy(rng)
    kinds = OPERATIONS[op].operands
    formats = [a_format(rng, 64) if kind == "float" else get_format(rng.choice(("i8", "i16", "i32"))) for kind in kinds]
    if rng.random() < 0.5:
        formats = [formats[0] if kind == "float" else f for kind, f in zip(kinds, formats, strict=True)]
    try:
        sig = signature(op, formats, a_format(rng, 64) if OPERATIONS[op].result == "float" else None)
        run_one = evaluator(sig, policy)
        bulk = Bulk(sig, policy, 1 << 30)
    except Error:
        return 0
    listed = rng.sample(crossings := list(crossed(sig.formats, 2000)), min(300, len(crossings)))
    listed += list(random_cases(sig.formats, seed, 300))
    drawn = words(rng, policy, (len(listed),))
    each = [0] * len(listed) if drawn is None else drawn.tolist()
    columns = list(np.array(listed, np.uint64).reshape(len(listed), -1).T.copy().view(np.int64))
    try:
        wanted = [run_one(case, r) for case, r in zip(listed, each, strict=True)]
    except Error:
        return 0
    codes, flags = bulk(columns, None if drawn is None else drawn.view(np.int64))
    what = f"operations {seed}: {op} {[f.name for f in sig.formats]} to {sig.out.name}, {policy}"
    _same(codes.view(np.uint64), np.array([c for c, _ in wanted], np.uint64), what, "codes")
    _same(flags, [f for _, f in wanted], what, "flags")
    return len(listed)


SCALAR: Final = [
    (name, fmt)
    for name, acc in ACCUMULATORS.items()
    for fmt in (acc.formats.split() or ["fp8_e4m3", "fp8_e5m2", "fp16", "bf16", "fp32", "fp4_e2m1"])
]
BLOCKED: Final = [
    (name, fmt)
    for name, acc in ACCUMULATORS.items()
    if acc.scales != "none"
    for fmt, found in BLOCK_FORMATS.items()
    if not acc.formats or found.element.name in acc.formats.split()
]


def _codes(rng: random.Random, fmt: Format, shape: tuple[int, int]) -> np.ndarray:
    """Codes of a few binades, or of any; special ones among them, more or fewer."""
    numbers = np.random.default_rng(rng.getrandbits(40))
    codes = numbers.integers(0, 1 << fmt.width, shape, dtype=np.uint64)
    if rng.random() < 0.6:
        low = max((fmt.max_code + 1) // 2 - (3 << fmt.mantissa_bits), 0)
        magnitude = low + (codes & np.uint64(fmt.magnitude_mask)) % np.uint64(6 << fmt.mantissa_bits)
        codes = np.minimum(magnitude, np.uint64(fmt.max_code)) | codes & np.uint64(fmt.sign_bit)
    special = [0, 1, fmt.max_code, fmt.min_normal_code] + [fmt.inf_code] * fmt.infinity
    special += [fmt.canonical_nan] * (fmt.has_nan and rng.random() < 0.3)
    chosen = numbers.choice(np.array(special, np.uint64), shape) ^ (codes & np.uint64(fmt.sign_bit))
    return np.where(numbers.random(shape) < rng.choice((0, 0.05, 0.5)), chosen, codes)


RESULTS: Final = ("fp32", "fp32", "fp32", "fp16", "bf16", "fp64")


def products(seed: int) -> int:
    """Matrix products, of scalar and of block formats. The loops for many columns take 16 or more."""
    rng = random.Random(seed)
    m, k = rng.randint(1, 3), rng.choice((1, 3, 16, 31, 32, 33, 64, 67, rng.randint(1, 130)))
    n = rng.choice((rng.randint(1, 9), rng.choice((15, 16, 17, 63, 64, 65, 70))))
    out = get_format(rng.choice(RESULTS))
    name: str | None
    if rng.random() < 0.6:
        acc, name = rng.choice(SCALAR)
        fmt = get_format(name)
        a, b = (_codes(rng, fmt, s).astype(arrays.code_dtype(fmt)) for s in ((m, k), (k, n)))
    else:
        acc, block = rng.choice(BLOCKED)
        a, b, name = _blocked(rng, block, (m, k), 1), _blocked(rng, block, (k, n), 0), None
    start = np.zeros((m, n), arrays.code_dtype(out))
    if rng.random() < 0.6:
        start = _codes(rng, out, (m, n)).astype(start.dtype)
    c = arrays.decode(start, out) if start.any() or rng.random() < 0.5 else None
    p, q = (a, b) if name is None else (arrays.from_codes(v, name) for v in (a, b))
    x, y = operand_matrix(p, 1, "a"), operand_matrix(q, 0, "b")
    what = f"products {seed}: {acc} of {name or a.fmt.name} to {out.name}, {m} x {k} x {n}"
    try:
        s = setting(x.vector(0), y.vector(0), get_accumulator(acc), out)
    except Error:  # the unit does not take second-level scales, or has other results
        return 0
    got = matmul(a, b, acc, fmt=name, c=c, to=out)
    wanted = [[run(s, x.vector(i), y.vector(j), int(start[i, j])).bits for j in range(n)] for i in range(m)]
    _same(got.view(f"u{got.itemsize}"), _bits_of_values(np.array(wanted, start.dtype), out), what, "results")
    return m * n


def _bits_of_values(codes: np.ndarray, fmt: Format) -> np.ndarray:
    values = arrays.decode(codes, fmt)
    return values.view(f"u{values.itemsize}")


def _blocked(rng: random.Random, name: str, shape: tuple[int, int], axis: int) -> blocks.BlockArray:
    fmt = BLOCK_FORMATS[name]
    codes = _codes(rng, fmt.element, shape).astype(np.uint8)
    count = list(shape)
    count[axis] = -(-shape[axis] // fmt.size)
    scales = _codes(rng, fmt.scale, (count[0], count[1])).astype(np.uint8)
    return blocks.BlockArray(codes, scales, fmt, axis, tensor_scale=a_tensor_scale(rng))


CHECKS: Final[dict[str, Callable[[int], int]]] = {
    "conversions": conversions,
    "blocks": block_conversions,
    "affine": affine_conversions,
    "operations": operations,
    "products": products,
}
