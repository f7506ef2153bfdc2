"""Memory images of matrix products: each is the content of a memory, `word` bits per line for $readmemh, the first byte
in the lowest bits. Products follow each other; the header has the start of each of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers.batch import LICENSE, Batch, Data, Facts
from softfloat_ref.golden.writers.readmemh import HeaderWriter
from softfloat_ref.golden.writers.writer import LineWriter
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.units import Line, MatmulUnit
from softfloat_ref.units.dot import AnyFormat
from softfloat_ref.units.unit import split

ALL_IMAGES: Final = "images"
_FIELD_OF_IMAGE: Final = {"expected": "result"}  # images that are not called as their field is


class ImageWriter(LineWriter):
    """NAME.memh of one of a product's matrices, or of its scales."""

    comments = True

    def __init__(self, image: str) -> None:
        self.image, self.key = image, f"{image}.memh"

    def has(self, vectors: VectorSet) -> bool:
        return self.image in images_of(vectors.unit)

    def file_name(self, vectors: VectorSet) -> str:
        return f"{self.image}.memh"

    def opening(self, vectors: VectorSet) -> bytes:
        each = image_bytes(vectors.unit, self.image)
        return f"// {LICENSE}\n// {vectors.name}: {self.image}, {each} bytes a product\n".encode("ascii")

    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        unit: Any = vectors.unit
        size = unit.word // 8
        words = []
        for line in batch.lines:
            data = image_data(unit, self.image, line)
            data += bytes(-len(data) % size)
            words += [data[at : at + size][::-1].hex() for at in range(0, len(data), size)]
        return ["".join(f"{word}\n" for word in words).encode("ascii")]

    def record(self, vectors: VectorSet, stream: int) -> int:
        unit: Any = vectors.unit
        return image_words(unit, self.image) * (2 * (int(unit.word) // 8) + 1)

    def lines(self, vectors: VectorSet, facts: Facts) -> int:
        return facts.count * image_words(vectors.unit, self.image)


class ImageHeaderWriter(HeaderWriter):
    """vectors.svh of images."""

    key = "images-svh"

    def header(self, vectors: VectorSet, count: int) -> str:
        return images_header(vectors, count)


_IMAGES: Final = ("a", "a_scale", "b", "b_scale", "c", "expected", "steps")
IMAGE_WRITERS: Final = (*map(ImageWriter, _IMAGES), ImageHeaderWriter())
IMAGES: Final = tuple(w.key for w in IMAGE_WRITERS)


def images_of(unit: Any) -> list[str]:
    """The images of a product, in their order: those of scales only if the layout separates them."""
    fields = {f.name for f in unit.fields}
    return [x for x in _IMAGES if _FIELD_OF_IMAGE.get(x, x) in fields and (not x.endswith("_scale") or _apart(unit))]


def _apart(unit: MatmulUnit) -> bool:
    from softfloat_ref.arrays.packing import get_layout

    return not get_layout(unit.layout).together


def image_bytes(unit: Any, image: str) -> int:
    """The bytes per product of an image."""
    return len(image_data(unit, image, [0] * sum(f.lanes for f in unit.fields)))


def image_words(unit: Any, image: str) -> int:
    """The words per product of an image."""
    return -(-image_bytes(unit, image) // (int(unit.word) // 8))


def image_data(unit: MatmulUnit, image: str, line: Line | Sequence[int]) -> bytes:
    """The content of an image for one product."""
    codes = {f.name: own for f, own in split(unit.fields, line)}
    own = codes[_FIELD_OF_IMAGE.get(image, image)]
    if image in ("a", "b", "a_scale", "b_scale"):
        side, rows = (unit.dot.a, unit.m) if image[0] == "a" else (unit.dot.b, unit.n)
        elements, scales = _packed(unit, side, rows, codes[image[0]], codes.get(f"{image[0]}_scale", ()))
        return scales if image.endswith("_scale") else elements
    fmt = {"c": unit.dot.c, "expected": unit.dot.out, "steps": unit.dot.setting.result}[image]
    size = -(-fmt.width // 8)  # codes of c and results lie in whole bytes, the low byte first
    return b"".join(int(code).to_bytes(size, "little") for code in own)


def _packed(
    unit: MatmulUnit, fmt: AnyFormat, rows: int, codes: Sequence[int], scales: Sequence[int]
) -> tuple[bytes, bytes]:
    """Elements and scales in the layout."""
    import numpy as np

    from softfloat_ref.arrays import packing
    from softfloat_ref.arrays.convert import code_dtype

    if not isinstance(fmt, BlockFormat):
        table = np.array(codes, np.uint64).astype(code_dtype(fmt)).reshape(rows, 1, -1)
        none = np.zeros((rows, 1), np.uint8)
        return packing.pack(table, none, fmt.width, 8, unit.layout).data.tobytes(), b""
    table = np.array(codes, np.uint64).astype(code_dtype(fmt.element)).reshape(rows, -1, fmt.size)
    own = np.array(scales, np.uint64).astype(code_dtype(fmt.scale)).reshape(rows, -1)
    packed = packing.pack(table, own, fmt.element.width, fmt.scale.width, unit.layout)
    return packed.data.tobytes(), b"" if packed.scales is None else packed.scales.tobytes()


def images_header(vectors: VectorSet, count: int) -> str:
    """The SystemVerilog header: sizes, and the words and bytes per product of each image."""
    unit: Any = vectors.unit
    values = {
        "COUNT": count,
        "M": unit.m,
        "N": unit.n,
        "K": unit.dot.k,
        "WORD": unit.word,
        "C_WIDTH": unit.dot.c.width,
        "RESULT_WIDTH": unit.dot.out.width,
        "STEPS": unit.dot.step_count,
    }
    lines = [
        f"// {LICENSE}",
        f'// Generated by softfloat-ref for {vectors.name}: read an image as $readmemh("a.memh", a_memory);',
        "// product p of it begins at word p * MAT_A_WORDS. docs/vectors.md says how elements lie in the bytes.",
    ]
    lines += [f"localparam int MAT_{name} = {value};" for name, value in values.items()]
    for image in images_of(unit):
        name = f"MAT_{image.upper()}"
        lines += [
            f"localparam int {name}_BYTES = {image_bytes(unit, image)};",
            f"localparam int {name}_WORDS = {image_words(unit, image)};",
        ]
    return "\n".join(lines) + "\n"
