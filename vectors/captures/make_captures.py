# SPDX-License-Identifier: 0BSD
"""Capture what the instructions of an H100 give: run it from the top of a checkout on a machine with one, and CuPy.

python vectors/captures/make_captures.py [FOLDER]

Operands are drawn by a fixed seed: ordinary numbers, every class of special ones, subnormals, zero terms, cancellation,
overflow, and the distances at which an alignment cuts. docs/captures.md describes the files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TOP = Path(__file__).parents[2]
ROWS = 20  # of each kind of case
Codes = np.ndarray


class Layout(NamedTuple):
    """A format: exponent and mantissa bits, the exponents of normal numbers, and the bytes of its registers."""

    exponent_bits: int
    mantissa_bits: int
    emin: int
    emax: int
    size: int


LAYOUTS = {
    "e4m3": Layout(4, 3, -6, 8, 1),
    "e5m2": Layout(5, 2, -14, 15, 1),
    "f16": Layout(5, 10, -14, 15, 2),
    "bf16": Layout(8, 7, -126, 127, 2),
    "tf32": Layout(8, 10, -126, 127, 4),
    "f32": Layout(8, 23, -126, 127, 4),
    "f64": Layout(11, 52, -1022, 1023, 8),
}
FILES = {"f16": "fp16", "f32": "fp32", "f64": "fp64"}
FP8 = ("e4m3", "e5m2")
DOTS = (
    *(f"mma.m16n8k{k}.{out}.f16.f16" for k in (16, 8) for out in ("f32", "f16")),
    *(f"mma.m16n8k{k}.f32.bf16.bf16" for k in (16, 8)),
    *(f"mma.m16n8k{k}.f32.tf32.tf32" for k in (8, 4)),
    "mma.m8n8k4.f64.f64.f64",
    *(f"wgmma.m64n8k16.{out}.f16.f16" for out in ("f32", "f16")),
    "wgmma.m64n8k16.f32.bf16.bf16",
    "wgmma.m64n8k8.f32.tf32.tf32",
    *(
        f"{unit}k32.{out}.{a}.{b}"
        for unit in ("mma.m16n8", "wgmma.m64n8")
        for out in ("f32", "f16")
        for a in FP8
        for b in FP8
    ),
)
DIRECTED = ("rn", "rz", "rm", "rp")
FLUSHED = ("", ".ftz")


def scalars() -> Iterator[str]:
    """The names of the scalar instructions."""
    for op in ("add", "sub", "mul", "fma", "div", "sqrt", "rcp"):
        yield from (f"{op}.{r}{f}.f32" for r in DIRECTED for f in FLUSHED)
        yield from (f"{op}.{r}.f64" for r in DIRECTED)
    for op in ("add", "sub", "mul", "fma"):
        yield from (f"{op}.rn{f}{sat}.f16" for f in FLUSHED for sat in ("", ".sat"))
        yield from (f"{op}.rn.bf16", f"{op}.rn.sat.f32")
    yield from ("fma.rn.relu.f16", "fma.rn.relu.bf16")
    for op in ("min", "max"):
        yield from (f"{op}{f}{nan}.{t}" for f in FLUSHED for nan in ("", ".NaN") for t in ("f32", "f16"))
        yield from (f"{op}.bf16", f"{op}.NaN.bf16", f"{op}.f64", f"{op}.xorsign.abs.f32")
    for r in DIRECTED:
        yield from (f"cvt.{r}.f16.f32", f"cvt.{r}.f32.f64", f"cvt.{r}.f16.f64")
        for integer in ("s32", "u32", "s64", "u64"):
            yield from (f"cvt.{r}.{t}.{integer}" for t in ("f16", "f32", "f64"))
    for r in ("rni", "rzi", "rmi", "rpi"):
        for integer in ("s16", "u16", "s32", "u32", "s64", "u64"):
            yield from (f"cvt.{r}.{integer}.{t}" for t in ("f16", "f32", "f64"))
        yield from (f"cvt.{r}.{t}.{t}" for t in ("f16", "f32", "f64"))
        yield f"cvt.{r}.ftz.f32.f32"
    for relu in ("", ".relu"):
        yield from (f"cvt.{r}{relu}.{t}.f32" for r in ("rn", "rz") for t in ("bf16", "tf32", "f16x2", "bf16x2"))
        for t in FP8:
            yield from (f"cvt.rn.satfinite{relu}.{t}x2.f32", f"cvt.rn.satfinite{relu}.{t}x2.f16x2")
            yield f"cvt.rn{relu}.f16x2.{t}x2"
    yield from ("cvt.rna.tf32.f32", "cvt.f32.f16", "cvt.f64.f16", "cvt.f64.f32", "cvt.ftz.f64.f32", "cvt.f32.bf16")
    yield from (f"{op}.approx{f}.f32" for op in APPROXIMATIONS for f in FLUSHED)
    yield from ("tanh.approx.f32", *TABLES)
    yield from (f"div.{kind}{f}.f32" for kind in ("approx", "full") for f in FLUSHED)
    yield from ("rcp.approx.ftz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64")


APPROXIMATIONS = ("rcp", "rsqrt", "sqrt", "sin", "cos", "lg2", "ex2")
TABLES = ("tanh.approx.f16", "tanh.approx.bf16", "ex2.approx.f16", "ex2.approx.ftz.bf16")


# -- operands ----------------------------------------------------------------------------------------------------------


class Draw:
    """Codes of formats, drawn in order."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def numbers(self, name: str, exponents: Any, shape: tuple[int, ...]) -> Codes:
        """Numbers with those exponents; subnormal ones below the format's, and its largest binade above."""
        f = LAYOUTS[name]
        e = np.broadcast_to(exponents, shape).astype(np.int64)
        mantissa = self.rng.integers(0, 1 << f.mantissa_bits, shape)
        cut = self.rng.integers(0, f.mantissa_bits + 1, shape)
        mantissa = np.where(self.rng.random(shape) < 0.3, mantissa >> cut << cut, mantissa)
        down = np.clip(f.emin - e, 0, f.mantissa_bits + 2)
        normal = (np.minimum(e, f.emax) - f.emin + 1 << f.mantissa_bits) | mantissa
        codes = np.where(down > 0, (1 << f.mantissa_bits | mantissa) >> down, normal)
        if name == "e4m3":
            codes = np.where(codes == 0x7F, 0x7E, codes)
        return self.signed(name, codes.astype(np.uint64))

    def signed(self, name: str, codes: Codes) -> Codes:
        """With random signs; tf32 in the upper bits of its register."""
        f = LAYOUTS[name]
        sign = self.rng.integers(0, 2, codes.shape, dtype=np.uint64) << np.uint64(f.exponent_bits + f.mantissa_bits)
        return (codes | sign) << np.uint64(13 if name == "tf32" else 0)

    def any(self, name: str, shape: tuple[int, ...]) -> Codes:
        f = LAYOUTS[name]
        return self.signed(name, self.rng.integers(0, 1 << f.exponent_bits + f.mantissa_bits, shape, dtype=np.uint64))

    def special(self, name: str, count: int) -> Codes:
        return self.rng.choice(specials(name), count)

    def between(self, low: Any, high: Any, shape: tuple[int, ...]) -> Codes:
        return self.rng.integers(low, high + 1, shape)

    def chosen(self, share: Any, shape: tuple[int, ...]) -> Codes:
        return self.rng.random(shape) < share


def specials(name: str) -> Codes:
    """Zeros, ends of the subnormals and the normals, numbers around 1, infinities, NaNs: of both signs."""
    f = LAYOUTS[name]
    unit = 1 << f.mantissa_bits
    one, top = (1 - f.emin) * unit, (1 << f.exponent_bits) * unit
    found = {0, 1, 2, 3, unit - 1, unit, unit + 1, one - 1, one, one + 1, one + unit}
    if name == "e4m3":
        found |= {0x7E, 0x7F}
    else:
        inf = top - unit
        found |= {inf - 1, inf, inf + 1, inf + unit // 2, inf + unit // 2 + 1, top - 1}
    codes = np.array(sorted(found | {x | top for x in found}), np.uint64)
    return codes << np.uint64(13 if name == "tf32" else 0)


def dot_operands(out: str, left: str, right: str, k: int) -> list[Codes]:
    """a, b [n, k] and c [n] for a dot product: eleven kinds of cases, then the floor of an alignment."""
    d, n, shape = Draw(20261126), ROWS, (ROWS, k)
    a, b, c = LAYOUTS[left], LAYOUTS[right], LAYOUTS[out]
    zero = specials(left)[[0, len(specials(left)) // 2]]
    cases: list[tuple[Codes, Codes, Codes]] = []

    def of(x: Any, y: Any, z: Any) -> list[Codes]:
        return [d.numbers(left, x, shape), d.numbers(right, y, shape), d.numbers(out, z, (n,))]

    cases.append(tuple(of(d.between(-4, 4, shape), d.between(-4, 4, shape), d.between(-12, 12, (n,)))))
    cases.append((d.any(left, shape), d.any(right, shape), d.any(out, (n,))))
    whole = [d.between(f.emin - f.mantissa_bits, f.emax, s) for f, s in ((a, shape), (b, shape), (c, (n,)))]
    cases.append(tuple(of(*whole)))
    x, y, z = of(d.between(-3, 3, shape), d.between(-3, 3, shape), d.between(-6, 6, (n,)))  # a few special values
    for codes, name, share in ((x, left, 1.2 / k), (y, right, 1.2 / k), (z, out, 0.4)):
        where = d.chosen(share, codes.shape)
        codes[where] = d.special(name, int(where.sum()))
    cases.append((x, y, z))
    small, near = d.between(a.emin - a.mantissa_bits - 1, a.emin + 1, shape), c.emin - c.mantissa_bits
    cases.append(tuple(of(small, whole[1], d.between(near, c.emin + 30, (n,)))))
    both = a.emin + b.emin
    cases.append(
        tuple(of(small, d.between(b.emin - b.mantissa_bits - 1, b.emin, shape), d.between(both - 8, both + 8, (n,))))
    )
    total = d.between(near - 28, c.emin + 4, (n, 1))  # around the result's subnormals
    first = np.clip(total // 2, a.emin - a.mantissa_bits, a.emax)
    x, y, z = of(
        first - d.between(0, 6, shape),
        total - first - d.between(0, 20, shape) * d.chosen(0.7, shape),
        d.between(near - 1, c.emin + 1, (n,)),
    )
    x[d.chosen(d.rng.random((n, 1)), shape)] = 0
    z[d.chosen(0.6, (n,))] = 0
    cases.append((x, y, z))
    x, y, z = of(d.between(-8, 8, shape), d.between(-20, 8, shape), d.between(-40, 12, (n,)))  # most terms are zero
    where = d.chosen(1 - 2.5 / k, shape)
    x[where] = d.rng.choice(zero, int(where.sum()))
    z[d.chosen(0.3, (n,))] = 0
    cases.append((x, y, z))
    x, y, z = of(d.between(-6, 2, shape), d.between(-30, 2, shape), d.between(-30, 4, (n,)))  # two terms cancel
    x[:, 0], y[:, 0] = (d.numbers(name, d.between(2, 7, (n,)), (n,)) for name in (left, right))
    rows, lane = np.arange(n), d.between(1, k - 1, (n,))
    x[rows, lane] = x[:, 0] ^ np.uint64(1 << 8 * a.size - 1)
    y[rows, lane] = y[:, 0]
    z[d.chosen(0.4, (n,))] = 0
    cases.append((x, y, z))
    high = np.clip(d.between(c.emax - a.emax - 6, c.emax - a.emax + 3, shape), b.emin, b.emax)
    cases.append(tuple(of(d.between(a.emax - 3, a.emax, shape), high, d.between(c.emax - 2, c.emax, (n,)))))
    e = d.between(-6, 6, (n,))
    x, y, z = of(e[:, np.newaxis] - d.between(0, 2, shape), d.between(-4, 2, shape), e + d.between(-32, 32, (n,)))
    y[d.chosen(0.6, shape)] = 0
    cases.append((x, y, z))
    if (out, left) in (("f16", "f16"), ("f32", "bf16"), ("f32", "tf32")):  # whose products are small enough
        cases.append(floor_operands(out, left, k))
    joined = (np.concatenate(x) for x in zip(*cases, strict=True))
    return [x.astype(f"u{f.size}") for x, f in zip(joined, (a, b, c), strict=True)]


def floor_operands(out: str, name: str, k: int) -> tuple[Codes, Codes, Codes]:
    """Two products that reach the result's last place only together, the second at every distance below: one that is
    cut there shows the floor of the alignment. c and the other products are zero."""
    f, last = LAYOUTS[name], LAYOUTS[out].emin - LAYOUTS[out].mantissa_bits
    rows = []
    for distance in range(3, 34):
        # to zero: 2^last - 2^(last - distance), and 2^(last - distance); to nearest: half of the last place, and more
        whole = out == "f16"
        head = (1, last - 1) if whole else ((1 << distance) - 1, last - distance)
        parts = factors(f, *head), factors(f, 1, last - distance)
        if None in parts:
            continue
        row = np.zeros((2, k), np.uint64)
        for lane, pair in enumerate(parts):
            row[:, lane] = pair
        rows.append(row << np.uint64(13 if name == "tf32" else 0))
    found = np.array(rows)
    return found[:, 0], found[:, 1], np.zeros(len(rows), np.uint64)


def factors(f: Layout, significand: int, exponent: int) -> tuple[int, int] | None:
    """Codes of two numbers whose product is significand * 2^exponent; None if there are none."""
    for x in range(1, 1 << f.mantissa_bits + 1):
        y, rest = divmod(significand, x)
        if rest or y >> f.mantissa_bits + 1:
            continue
        half = exponent // 2  # near it both are normal, so that the product's encoded exponent is as small as it can be
        for at in sorted(range(f.emin - f.mantissa_bits, f.emax), key=lambda e: abs(e - half)):
            pair = code_of(f, x, at), code_of(f, y, exponent - at)
            if pair[0] is not None and pair[1] is not None:
                return pair[0], pair[1]
    return None


def code_of(f: Layout, significand: int, exponent: int) -> int | None:
    """The code of a number; None if it is not in the format."""
    while significand % 2 == 0:
        significand, exponent = significand // 2, exponent + 1
    least = f.emin - f.mantissa_bits
    top = exponent + significand.bit_length() - 1
    if exponent < least or top > f.emax:
        return None
    if top < f.emin:
        return significand << exponent - least
    mantissa = significand << f.mantissa_bits - significand.bit_length() + 1
    return mantissa + (top - f.emin << f.mantissa_bits) if mantissa >> f.mantissa_bits + 1 == 0 else None


def scalar_operands(kind: str, count: int) -> list[Codes]:
    """Operands of a scalar instruction, by the type of its operands and their number."""
    d, name = Draw(20261127), kind.removesuffix("x2")
    if name in FP8:
        return [np.arange(256, dtype=np.uint64)]
    if name[0] in "su":
        width = int(name[1:])
        size = d.between(1, width, (300,)).astype(np.uint64)
        codes = d.rng.integers(0, 1 << 64, 300, dtype=np.uint64) >> (np.uint64(64) - size)
        near = (np.uint64(1) << (size - np.uint64(1))) + d.between(-3, 3, (300,)).astype(np.uint64)
        codes = np.concatenate([codes, near])
        return [np.concatenate([codes, np.uint64(0) - codes]) & np.uint64((1 << width) - 1)]
    f, special = LAYOUTS[name], specials(name)
    least, n = f.emin - f.mantissa_bits, 150
    whole = d.between(least, f.emax, (n,))
    if count == 1:
        near_integers = d.between(-3, min(66, f.emax), (2 * n,))
        return [np.concatenate([special, d.numbers(name, whole, (n,)), d.numbers(name, near_integers, (2 * n,))])]
    if count == 2:
        pairs = [x.ravel() for x in np.meshgrid(special, special)]
        others = [
            (whole, whole + d.between(-f.mantissa_bits - 3, f.mantissa_bits + 3, (n,))),
            (whole, f.emin - whole + d.between(-f.mantissa_bits - 2, 2, (n,))),
            (whole, whole - f.emin + d.between(-3, f.mantissa_bits + 1, (n,))),
        ]
    else:
        few = special[:: 2 if len(special) > 20 else 1]
        pairs = [x.ravel() for x in np.meshgrid(few[::2], few, few[::2])]
        half = [d.between(f.emin // 2 - f.mantissa_bits, f.emax // 2, (n,)) for _ in range(2)]
        others = [
            (*half, sum(half) + d.between(-2 * f.mantissa_bits, 2 * f.mantissa_bits, (n,))),
            (whole, f.emin - whole + d.between(-f.mantissa_bits - 2, 2, (n,)), d.between(least, f.emin + 2, (n,))),
        ]
    drawn = [[d.numbers(name, e, (n,)) for e in x] for x in others]
    return [np.concatenate([pairs[i], *(x[i] for x in drawn)]) for i in range(count)]


# -- captures ----------------------------------------------------------------------------------------------------------

STEP = 1 << 25
BLOCK = 1 << 23  # operands to a digest: a binade


def digests(run: Any) -> Codes:
    """512 digests of the results for all 2^32 operands: the sums of `mixed` of operand and result, modulo 2^64."""
    import cupy as cp

    found = []
    for low in range(0, 1 << 32, STEP):
        codes = cp.arange(low, low + STEP, dtype=cp.uint32)
        key = codes.astype(cp.uint64) << 32 | run(codes).astype(cp.uint64)
        found.append(mixed(key).reshape(-1, BLOCK).sum(axis=1).get())
    return np.concatenate(found)


def mixed(x: Any) -> Any:
    """A hash of 64-bit integers, in place: the finalizer of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        x ^= x >> x.dtype.type(shift)
        x *= x.dtype.type(factor)
    return x


def main() -> None:
    """Write every file."""
    sys.path.insert(0, str(TOP / "docs" / "examples" / "devices"))
    import cupy as cp
    import nvidia

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name in DOTS:
        instruction, shape, out, left, right = name.split(".")
        k = int(shape.rpartition("k")[2])
        a, b, c = dot_operands(out, left, right, k)
        d = nvidia.instruction(name)(*map(cp.asarray, (a, b, c))).get().astype(c.dtype)
        words = (f"{instruction}{k}", *(FILES.get(x, x) for x in (left, right, out)))
        np.savez_compressed(folder / f"H100_{'_'.join(words)}.npz", a=a, b=b, c=c, d=d)
    given, results, sums, tables = {}, {}, {}, {}
    for name in scalars():
        run = nvidia.instruction(name)
        kind = name.rpartition(".")[2]
        operands = scalar_operands(kind, run.count)
        given |= {f"{kind}/{run.count}/{x}": codes for x, codes in zip("abc", operands, strict=False)}
        results[name] = run(*map(cp.asarray, operands)).get()
        if kind == "f32" and run.count == 1 and results[name].dtype.itemsize <= 4:
            found = digests(run)  # of an operation of ours, sixteen are enough
            sums[name] = found if "approx" in name else found.reshape(16, -1).sum(axis=1)
        if name in TABLES:
            tables[name] = run(cp.arange(1 << 16, dtype=cp.uint64)).get()
    np.savez_compressed(folder / "H100_scalar.npz", **given, **results)
    np.savez_compressed(folder / "H100_digests.npz", **sums)
    np.savez_compressed(folder / "H100_tables.npz", **tables)


if __name__ == "__main__":
    main()
