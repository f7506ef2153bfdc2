"""Matrix products as golden vectors: packed memory images of A, B and their scales, of C, and of what must come out.

For bringing up a tensor unit: each image is what a memory holds, `word` bits a line for $readmemh, the first byte in
the lowest bits. Products follow each other; where each part of one begins is in the header.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from softfloat_ref.accumulate import Accumulator, define_accumulator
from softfloat_ref.block_formats import FP32, BlockFormat
from softfloat_ref.errors import Error
from softfloat_ref.formats import Format, define_format
from softfloat_ref.golden.dot_cases import Case, power, random_addends, random_case
from softfloat_ref.golden.dots import AnyFormat, DotSet, restored, stored
from softfloat_ref.sources import Philox

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from softfloat_ref.matmul import Matrix

    Codes = NDArray[np.unsignedinteger[Any]]

MATMUL: Final = "matmul"
MATMUL_GENERATOR: Final = "matmul-1"
MAX_SIDE: Final = 1024
MAX_WIDTH: Final = 64  # bits of a format: of a word of numpy's
WORDS: Final = (8, 16, 32, 64, 128, 256, 512, 1024)
WILD: Final = 5  # one product in so many has any codes, NaN and Inf among them


class Product(NamedTuple):
    """One product: codes of a (m, k), b (n, k), c (m, n); scales (m, blocks) and (n, blocks), or none."""

    a: Codes
    b: Codes
    c: Codes
    a_scale: Codes | None
    b_scale: Codes | None


class Image(NamedTuple):
    """A memory image: a name, its bytes, and how many of them one product has."""

    name: str
    data: bytes
    each: int


@dataclass(frozen=True)
class MatmulSet:
    """A request for matrix products of (m, k) by (k, n), complete: the same set gives the same bytes anywhere.

    layout: of elements and scales, one of packing.py's. word: bits of a memory word. steps: whether there is an image
    of the running results after each step of the accumulator.
    """

    dot: DotSet
    m: int
    n: int
    layout: str = "dense"
    word: int = 64

    def __post_init__(self) -> None:
        from softfloat_ref.packing import get_layout

        for name in ("m", "n"):
            if type(getattr(self, name)) is not int or not 1 <= getattr(self, name) <= MAX_SIDE:
                raise Error(f"{name} = {getattr(self, name)!r}: an integer from 1 to {MAX_SIDE}")
        if self.word not in WORDS:
            raise Error(f"word = {self.word!r}: {', '.join(map(str, WORDS))} bits")
        layout = get_layout(self.layout)
        for wide in (self.dot.operands.a, self.dot.operands.b, self.dot.c, self.dot.out):
            if wide.width > MAX_WIDTH:
                raise Error(f"{wide.name}: memory images are of formats of at most {MAX_WIDTH} bits")
        for x in (self.dot.a, self.dot.b):
            blocks = isinstance(x, BlockFormat)
            element = x.element if isinstance(x, BlockFormat) else x
            layout.check(element.width, x.scale.width if isinstance(x, BlockFormat) else 8)
            if not blocks and layout.scales != "apart":
                raise Error(f"{x.name} has no scales to be {layout.scales}; give the layout of the elements alone")

    @cached_property
    def name(self) -> str:
        """A name for the files: formats, sizes and accumulator."""
        shape = f"{self.m}x{self.n}x{self.dot.k}"
        rest = self.dot.name.removeprefix("dot_")
        return re.sub(r"[^a-z0-9]+", "_", f"matmul_{shape}_{rest}".lower())

    @property
    def count(self) -> int:
        """How many products."""
        return self.dot.count

    @property
    def description(self) -> str:
        """For the manifest."""
        return self.dot.description

    # -- cases ---------------------------------------------------------------------------------------------------

    def products(self) -> Iterator[Product]:
        """The operands. First A is the identity, then B: what comes out shows where the elements went."""
        for turn in range(self.count):
            yield self._product(turn)

    def _product(self, turn: int) -> Product:
        import numpy as np

        f, sides, size = self.dot.operands, max(self.m, self.n), self.m * self.n
        source, wild = Philox(self.dot.seed), turn % WILD == WILD - 1
        rows = [random_case(f, source, turn * sides + i, wild) for i in range(sides)]
        a, b = [r.a for r in rows[: self.m]], [r.b for r in rows[: self.n]]
        a_scales, b_scales = [r.a_scales for r in rows[: self.m]], [r.b_scales for r in rows[: self.n]]
        addends = random_addends(f, Philox(self.dot.seed, stream=1), turn * size, size)
        cs = [addends[i * self.n : (i + 1) * self.n] for i in range(self.m)]
        if turn < 2:
            one = power(f.b if turn else f.a, 0)
            unit = [tuple(one if i % f.k == p else 0 for p in range(f.k)) for i in range(sides)]
            a, b = (a, unit[: self.n]) if turn else (unit[: self.m], b)
            a_scales, b_scales = ([f.ones(s, n)] * sides for s, n in ((f.a_scale, f.a_blocks), (f.b_scale, f.b_blocks)))
            cs = [[0] * self.n for _ in range(self.m)]

        def codes(rows: Sequence[Sequence[int]], fmt: Format) -> Codes:
            return np.array(rows, np.uint64).astype(f"u{_bytes(fmt)}" if _bytes(fmt) in (1, 2, 4, 8) else np.uint64)

        return Product(
            codes(a, f.a),
            codes(b, f.b),
            codes(cs, f.c),
            None if f.a_scale is None else codes(a_scales[: self.m], f.a_scale),
            None if f.b_scale is None else codes(b_scales[: self.n], f.b_scale),
        )

    def results(self, product: Product) -> tuple[list[int], list[int]]:
        """What must come out, row by row, and the running results of each."""
        if self.dot.steps or not self.dot.c == self.dot.out == FP32:
            return self.results_by_oracle(product)
        from softfloat_ref.matmul import multiply

        a, b = (
            self._matrix(self.dot.a, product.a, product.a_scale),
            self._matrix(self.dot.b, product.b, product.b_scale),
        )
        found = multiply(a, b, self.dot.setting, product.c.astype("u4"))
        return found.view("u4").reshape(-1).tolist(), []

    @staticmethod
    def _matrix(fmt: AnyFormat, codes: Codes, scales: Codes | None) -> Matrix:
        from softfloat_ref.matmul import Matrix

        if isinstance(fmt, BlockFormat):
            return Matrix(fmt.element, codes, fmt.scale, scales, fmt.size)
        return Matrix(fmt, codes)

    def results_by_oracle(self, product: Product) -> tuple[list[int], list[int]]:
        """The same by the scalar oracle, one dot product at a time."""
        results, steps = list[int](), list[int]()
        for i in range(self.m):
            for j in range(self.n):
                line = self.dot.line(self.dot.inputs_of(self._case(product, i, j)))
                assert line is not None
                steps += line[-2 - self.dot.step_count : -2] if self.dot.steps else []
                results.append(line[-2])
        return results, steps

    @staticmethod
    def _case(p: Product, i: int, j: int) -> Case:
        def row(codes: Codes | None, at: int) -> tuple[int, ...]:
            return () if codes is None else tuple(codes[at].tolist())

        return Case(row(p.a, i), row(p.b, j), int(p.c[i, j]), row(p.a_scale, i), row(p.b_scale, j))

    # -- images --------------------------------------------------------------------------------------------------

    def operand_images(self, products: Sequence[Product]) -> list[Image]:
        """The images of a, b, their scales, and c."""
        images: dict[str, list[bytes]] = {}
        for p in products:
            for letter, codes, scales, fmt in (("a", p.a, p.a_scale, self.dot.a), ("b", p.b, p.b_scale, self.dot.b)):
                data, own = self._packed(codes, scales, fmt)
                images.setdefault(letter, []).append(data)
                if own is not None:
                    images.setdefault(f"{letter}_scale", []).append(own)
            images.setdefault("c", []).append(_plain(p.c.reshape(-1).tolist(), self.dot.c))
        return [Image(name, b"".join(parts), len(parts[0])) for name, parts in images.items()]

    def _packed(self, codes: Codes, scales: Codes | None, fmt: AnyFormat) -> tuple[bytes, bytes | None]:
        import numpy as np

        from softfloat_ref import packing

        if not isinstance(fmt, BlockFormat):
            none = np.zeros((codes.shape[0], 1), np.uint8)
            return packing.pack(codes[:, np.newaxis, :], none, fmt.width, 8, self.layout).data.tobytes(), None
        assert scales is not None
        blocks = codes.reshape(codes.shape[0], -1, fmt.size)
        found = packing.pack(blocks, scales, fmt.element.width, fmt.scale.width, self.layout)
        return found.data.tobytes(), None if found.scales is None else found.scales.tobytes()

    def unpacked(self, images: Mapping[str, bytes]) -> Iterator[Product]:
        """The operands that images hold. Raises Error for images of another size."""
        for turn in range(self.count):
            a, a_scale = self._unpacked(images, "a", self.dot.a, self.m, turn)
            b, b_scale = self._unpacked(images, "b", self.dot.b, self.n, turn)
            c = _codes(images["c"], self.dot.c, self.m * self.n, turn).reshape(self.m, self.n)
            yield Product(a, b, c, a_scale, b_scale)

    def _unpacked(
        self, images: Mapping[str, bytes], letter: str, fmt: AnyFormat, rows: int, turn: int
    ) -> tuple[Codes, Codes | None]:
        import numpy as np

        from softfloat_ref import packing

        def part(name: str) -> Codes:
            each = len(images[name]) // self.count
            return np.frombuffer(images[name][turn * each : (turn + 1) * each], np.uint8)

        if not isinstance(fmt, BlockFormat):
            none, shape = np.zeros((rows, 1), np.uint8), (rows, 1, self.dot.k)
            codes, _ = packing.unpack(part(letter), none, shape, fmt.width, 8, self.layout)
            return codes.reshape(rows, -1), None
        shape, own = (rows, self.dot.k // fmt.size, fmt.size), f"{letter}_scale"
        scales = part(own) if own in images else None
        widths = fmt.element.width, fmt.scale.width
        codes, found = packing.unpack(part(letter), scales, shape, *widths, self.layout)
        return codes.reshape(rows, -1), found

    def result_images(self, results: Sequence[int], steps: Sequence[int]) -> list[Image]:
        """The images of what must come out."""
        data = _plain(results, self.dot.out)
        images = [Image("expected", data, len(data) // self.count)]
        if self.dot.steps:
            data = _plain(steps, self.dot.setting.result)
            images.append(Image("steps", data, len(data) // self.count))
        return images

    # -- as stored in a manifest ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The full definition."""
        dot = self.dot
        return {
            "op": MATMUL,
            "formats": {letter: stored(getattr(dot, letter)) for letter in "abc"},
            "out": dot.out.to_dict(),
            "accumulator": dot.accumulator.to_dict(),
            "m": self.m,
            "n": self.n,
            "k": dot.k,
            "layout": self.layout,
            "word": self.word,
            "steps": dot.steps,
            "extrapolate": dot.extrapolate,
            "count": dot.count,
            "seed": dot.seed,
            "generator": MATMUL_GENERATOR,
            "order": "a row by row, b column by column, so that k runs fastest in both; c and results row by row; "
            "codes of c and results in whole bytes, the low byte first",
        }

    @staticmethod
    def from_dict(table: Mapping[str, Any]) -> MatmulSet:
        """The set a manifest stores. Raises Error for one that this version cannot make."""
        if table["generator"] != MATMUL_GENERATOR:
            raise Error(f"products of generator {table['generator']!r}; this version has {MATMUL_GENERATOR!r}")
        formats, c = table["formats"], restored(table["formats"]["c"])
        if not isinstance(c, Format):
            raise Error("c is of a scalar format")
        acc: Accumulator = define_accumulator(table["accumulator"])
        dot = DotSet(
            restored(formats["a"]), restored(formats["b"]), c, define_format(table["out"]), acc, table["k"],
            table["count"], table["seed"], table["steps"] is True, table["extrapolate"] is True,
        )  # fmt: skip
        return MatmulSet(dot, table["m"], table["n"], str(table["layout"]), table["word"])

    def replaced(self, **changes: Any) -> MatmulSet:
        """The set with another count or seed."""
        return dataclasses.replace(self, dot=dataclasses.replace(self.dot, **changes))


def _bytes(fmt: Format) -> int:
    return -(-fmt.width // 8)


def _plain(codes: Sequence[int], fmt: Format) -> bytes:
    """Codes in whole bytes, the low byte first."""
    return b"".join(code.to_bytes(_bytes(fmt), "little") for code in codes)


def _codes(data: bytes, fmt: Format, count: int, turn: int) -> Codes:
    import numpy as np

    size = _bytes(fmt)
    start = turn * count * size
    parts = (data[start + i * size : start + (i + 1) * size] for i in range(count))
    return np.array([int.from_bytes(x, "little") for x in parts], np.uint64)
