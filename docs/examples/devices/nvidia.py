# SPDX-License-Identifier: 0BSD
"""Instructions of an NVIDIA GPU as devices: operand lines in, result lines out. Needs CuPy; the driver compiles PTX.

python nvidia.py cvt.rn.bf16.f32              any scalar instruction of PTX that has no immediate
python nvidia.py mma.m16n8k32.f32.e4m3.e5m2   a dot product: a line of a, b and c; c is as wide as the result
python nvidia.py wgmma.m64n8k32.f32.e4m3.e5m2 likewise, on the unit of Hopper's warpgroups
"""

import re
import sys

import cupy as cp
import numpy as np

HEAD = """
.version 8.7
.target sm_90a
.address_size 64
"""
SCALAR = """
.visible .entry run(.param .u64 count, .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {{
  .reg .pred %end;
  .reg .b32 %r<3>;
  .reg .b64 %n, %i, %p<4>, %q<4>;
  .reg .b{operand} %a, %b, %c;
  .reg .b{result} %d;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %i, %r0, %r1;
  cvt.u64.u32 %n, %r2;
  add.u64 %i, %i, %n;
  ld.param.u64 %n, [count];
  setp.ge.u64 %end, %i, %n;
  @%end ret;
  ld.param.u64 %p0, [a];
  ld.param.u64 %p1, [b];
  ld.param.u64 %p2, [c];
  ld.param.u64 %p3, [d];
  mad.lo.u64 %q0, %i, {operand_bytes}, %p0;
  mad.lo.u64 %q1, %i, {operand_bytes}, %p1;
  mad.lo.u64 %q2, %i, {operand_bytes}, %p2;
  mad.lo.u64 %q3, %i, {result_bytes}, %p3;
  ld.global.b{operand} %a, [%q0];
  ld.global.b{operand} %b, [%q1];
  ld.global.b{operand} %c, [%q2];
  {instruction} %d, {operands};
  st.global.b{result} [%q3], %d;
  ret;
}}
"""
# A case a block: row 0 of A, column 0 of B and element (0, 0) of C, which the first four threads hold; the rest is 0.
DOT = """
.visible .entry run(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {{
  .shared .align 256 .b32 tile[64];
  .reg .pred %lead, %first;
  .reg .b32 %t, %i, %s, %w, %zero;
  .reg .b{word} %a<4>, %b<2>, %c<4>, %d<4>;
  .reg .b64 %p<4>, %q<4>, %desc;
  mov.u32 %t, %tid.x;
  mov.u32 %i, %ctaid.x;
  mov.u32 %zero, 0;
  {zeros}
  setp.lt.u32 %lead, %t, 4;
  setp.eq.u32 %first, %t, 0;
  ld.param.u64 %p0, [a];
  ld.param.u64 %p1, [b];
  ld.param.u64 %p2, [c];
  ld.param.u64 %p3, [d];
  mad.wide.u32 %q0, %i, {row}, %p0;
  mad.wide.u32 %q1, %i, {row}, %p1;
  mad.wide.u32 %q0, %t, {bytes}, %q0;
  mad.wide.u32 %q1, %t, {bytes}, %q1;
  mad.wide.u32 %q2, %i, {bytes}, %p2;
  mad.wide.u32 %q3, %i, {bytes}, %p3;
  @%lead ld.global.b{word} %a0, [%q0];
  @%lead ld.global.b{word} %b0, [%q1];
  {second}
  @%first ld.global.b{word} %c0, [%q2];
  {product}
  @%first st.global.b{word} [%q3], %d0;
  ret;
}}
"""
SECOND = "@%lead ld.global.b{word} %a2, [%q0 + {half}];\n  @%lead ld.global.b{word} %b1, [%q1 + {half}];"
# B in shared memory: two core matrices of 8 columns by 16 bytes, no swizzle.
SHARED = """
  mov.u32 %s, tile;
  setp.lt.u32 %lead, %t, 64;
  mad.lo.u32 %w, %t, 4, %s;
  @%lead st.shared.b32 [%w], %zero;
  bar.sync 0;
  setp.lt.u32 %lead, %t, 4;
  @%lead st.shared.b32 [%w], %b0;
  @%lead st.shared.b32 [%w + 128], %b1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  and.b32 %s, %s, 0x3ffff;
  shr.u32 %s, %s, 4;
  or.b32 %s, %s, 0x80000;
  mov.u32 %w, 8;
  mov.b64 %desc, {{%s, %w}};
  setp.eq.u32 %first, %zero, %zero;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.{shape}.{types} {d}, {{%a0, %a1, %a2, %a3}}, %desc, %first, 1, 1{transpose};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  setp.eq.u32 %first, %t, 0;
"""
BITS = {"e4m3": 8, "e5m2": 8, "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64}
OPERANDS = {"fma": 3, "add": 2, "sub": 2, "mul": 2, "div": 2, "min": 2, "max": 2, "copysign": 2}


def kernel(ptx: str):
    module = cp.cuda.function.Module()
    module.load((HEAD + ptx).encode() + b"\0")
    return module.get_function("run")


def width(kind: str) -> int:
    """The bits of a type, of f16x2 and s32 too."""
    if kind in BITS:
        return BITS[kind]
    base, lanes = (kind[:-2], 2) if kind.endswith("x2") else (kind, 1)
    return (BITS[base] if base in BITS else int(re.sub(r"\D", "", kind))) * lanes


def unsigned(bits: int):
    return np.dtype(f"u{bits // 8}")


class Scalar:
    """A scalar instruction. Of a conversion of two lanes, both get the operand, and must agree."""

    def __init__(self, name: str) -> None:
        words = name.split(".")
        source, target = words[-1], words[-2] if words[0] == "cvt" else words[-1]
        self.count = OPERANDS.get(words[0], 1)
        self.lane, self.given = (width(x) // (2 if x.endswith("x2") else 1) for x in (target, source))
        self.operand, self.result = width(source), width(target)
        self.two = target.endswith("x2")
        names = ("%a", "%b", "%c")[: self.count]
        if self.two and not source.endswith("x2"):
            names = ("%a", "%a")
        self.run = kernel(self.ptx(name, ", ".join(names)))

    def ptx(self, name: str, operands: str) -> str:
        sizes = {"operand": self.operand, "result": self.result}
        sizes |= {"operand_bytes": self.operand // 8, "result_bytes": self.result // 8}
        return SCALAR.format(instruction=name, operands=operands, **sizes)

    def __call__(self, *arrays):
        """Results of codes, as arrays on the device."""
        arrays = [x.astype(unsigned(self.operand), copy=False) for x in arrays]
        if self.operand > self.given:
            arrays = [x | x << self.given for x in arrays]
        n = arrays[0].size
        d = cp.empty(n, unsigned(self.result))
        a, b, c = (arrays[min(i, len(arrays) - 1)].data.ptr for i in range(3))
        self.run(((n + 255) // 256,), (256,), (np.uint64(n), *map(np.uint64, (a, b, c, d.data.ptr))))
        if self.two:
            low = d & d.dtype.type((1 << self.lane) - 1)
            if not bool((d >> self.lane == low).all()):
                raise SystemExit("nvidia.py: the two lanes of a result differ")
            d = low
        return d


class Dot:
    """mma.sync or wgmma.mma_async: d = a . b + c, a step at a time."""

    def __init__(self, name: str) -> None:
        unit, shape, result, left, right = name.split(".")
        self.k, self.bits = int(shape.rpartition("k")[2]), BITS[left]
        self.word, self.result = (64 if left == "f64" else 32), BITS[result]
        self.row = self.k * self.bits // 8
        self.threads = 128 if unit == "wgmma" else 32
        self.run = kernel(self.ptx(unit, shape, (result, left, right)))

    def ptx(self, unit: str, shape: str, types: tuple[str, str, str]) -> str:
        n = self.word // 8
        second = SECOND.format(word=self.word, half=4 * n) if self.row == 8 * n else ""
        count = 2 if types[0] in ("f16", "f64") else 4
        d, c = ("{" + ", ".join(f"%{x}{i}" for i in range(count)) + "}" for x in "dc")
        if unit == "wgmma":
            moves = "".join(f"mov.b32 %d{i}, %c{i};\n  " for i in range(count))
            transpose = ", 0" if self.bits == 16 else ""
            product = moves + SHARED.format(shape=shape, types=".".join(types), d=d, transpose=transpose)
        else:
            a = "{%a0, %a1, %a2, %a3}" if second else "{%a0, %a1}" if self.word == 32 else "{%a0}"
            b = "{%b0, %b1}" if second else "{%b0}"
            full = ".".join((types[0], types[1], types[2], types[0]))
            product = f"mma.sync.aligned.{shape}.row.col.{full} {d}, {a}, {b}, {c};"
        zeros = "\n  ".join(
            f"mov.b{self.word} %{x}{i}, 0;" for x, m in (("a", 4), ("b", 2), ("c", 4)) for i in range(m)
        )
        return DOT.format(word=self.word, bytes=n, row=self.row, zeros=zeros, second=second, product=product)

    def __call__(self, a, b, c):
        """Results of codes a, b [n, K] and c [n], as arrays on the device."""
        n, total = a.shape
        pad = -total % self.k
        a, b = (cp.pad(x.astype(unsigned(self.bits)), ((0, 0), (0, pad))) for x in (a, b))
        d = c.astype(unsigned(self.word))
        for k in range(0, total + pad, self.k):
            rows = [cp.ascontiguousarray(x[:, k : k + self.k]) for x in (a, b)]
            c, d = d, cp.zeros(n, unsigned(self.word))
            self.run((n,), (self.threads,), tuple(np.uint64(x.data.ptr) for x in (*rows, c, d)))
            d &= d.dtype.type((1 << self.result) - 1)
        return d


def instruction(name: str):
    return Dot(name) if name.partition(".")[0] in ("mma", "wgmma") else Scalar(name)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    unit = instruction(sys.argv[1])
    rows = np.array([[int(word, 16) for word in line.split()] for line in sys.stdin if line.strip()], np.uint64)
    if isinstance(unit, Dot):
        k = (rows.shape[1] - 1) // 2
        results = unit(cp.asarray(rows[:, :k]), cp.asarray(rows[:, k : 2 * k]), cp.asarray(rows[:, -1]))
        digits = unit.result // 4
    else:
        results, digits = unit(*(cp.asarray(rows[:, i]) for i in range(unit.count))), unit.lane // 4
    print("\n".join(f"{int(x):0{digits}x}" for x in results.get()))


if __name__ == "__main__":
    main()
