"""How `quantize` converts numbers to a scalar, a block or an affine format, and how it shows the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from softfloat_ref.app.options import Choices
from softfloat_ref.base.errors import Error
from softfloat_ref.explanation.scalar import scale_text
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.affine import (
    AffineFormat,
    Rule,
    choose,
    dequantize_value,
    get_affine_format,
    get_rule,
    is_affine,
    quantize_value,
)
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import AXIS, FP32, TENSOR, BlockFormat, any_format
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.quantize import quantize_block, resolve
from softfloat_ref.oracle.blocks.scales import largest_magnitude
from softfloat_ref.oracle.blocks.tensor_scales import VALUE_BITS, tensor_scale_of
from softfloat_ref.oracle.codec import decode, decoder, encode, encoder, needed_bits, to_value
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.literals import shortest, writer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softfloat_ref.arrays.block_array import BlockArray

    Array = NDArray[Any]

Texts = list[list[str]]
Numbers = list[list[Fraction | Value]]
ARRAY_FILES: Final = (".npy", ".npz")
FILES: Final = (*ARRAY_FILES, ".csv", ".json")


class QuantizedRow(NamedTuple):
    """Numbers that are quantized together. scales: for a block format, one code per `size` elements; columns: the
    text that a table shows before the codes, first the numbers as given."""

    columns: list[list[str]]
    codes: list[int]
    values: list[Value]
    scales: list[int] | None = None
    size: int = 1
    tensor_scale: int | None = None  # FP32, if the format has one
    zero_point: int = 0


class Arrays(NamedTuple):
    """A quantized array. parts: the arrays of an .npz file."""

    codes: Array
    values: Array
    parts: dict[str, Array]
    blocks: BlockArray | None = None


class Pieces(NamedTuple):
    """How an array may be cut: into rows of a length, each between blocks of a size; uncut if that is None."""

    rows: int
    length: int
    size: int | None


class Kind(ABC):
    """A format with everything that a quantization to it depends on."""

    fmt: Format | BlockFormat | AffineFormat
    choices: Choices
    as_printed = False  # whether a text file of any kind gets the printed form

    @abstractmethod
    def rows(self, texts: Texts, numbers: Numbers, words: list[int]) -> list[QuantizedRow]:
        """Quantize rows of numbers, each number with its random word; empty rows are left out."""

    @abstractmethod
    def array(self, x: Array, words: Any, axis: int | None = None, tensor_scale: float | None = None) -> Arrays:
        """Quantize an array. words: its random bits, or their random source; axis: if one was given."""

    @abstractmethod
    def hex(self, code: int) -> str:
        """An element's code in hexadecimal."""

    @abstractmethod
    def writer(self) -> Callable[[Value], str]:
        """The function that formats values."""

    def array_rows(self, arrays: Arrays, form: str | None) -> list[QuantizedRow]:
        """The rows of an array's last axis, to be shown."""
        raise NotImplementedError  # `check` refuses the options that would need it

    def array_parts(self, rows: list[QuantizedRow]) -> dict[str, Array]:
        """The parts of an .npz file of rows of one length."""
        raise NotImplementedError  # likewise

    def check(self, output: str | None, form: str | None, is_array: bool, axis: int | None) -> None:
        """Raise Error for options that do not go together."""
        self.choices.check_seed()
        if output is not None and Path(output).suffix not in FILES:
            raise Error(f"{output}: unknown kind of file; use {', '.join(FILES)}")
        if axis not in (None, -1) and not (is_array and isinstance(self.fmt, BlockFormat)):
            raise Error("--axis is for block formats and .npy input; text has its blocks along each line")

    def pieces(self, x: Array, axis: int | None) -> Pieces | None:
        """How an array may be cut; None if it is quantized whole. Raises Error for what no piece would show."""
        return None

    def tensor_scale(self, amax: Callable[[], float]) -> float | None:
        """The second-level scale of all values, from their largest magnitude, if the format has one."""
        return None

    def table(self, row: QuantizedRow) -> Iterator[tuple[int, str]]:
        """Lines of a table to print above certain elements, by the elements' indices."""
        return iter(())

    def hex_lines(self, row: QuantizedRow) -> Iterator[str]:
        yield " ".join(map(self.hex, row.codes))

    def json(self, rows: list[QuantizedRow]) -> dict[str, Any]:
        return {"format": self.fmt.name, "rows": list(map(self.entry, rows))}

    def entry(self, row: QuantizedRow) -> dict[str, Any]:
        return {"codes": list(map(self.hex, row.codes)), "values": list(map(self.writer(), row.values))}


def kind_of(fmt: str, profile: str | None, choices: Choices) -> Kind:
    """The kind that the options select. Raises Error."""
    if is_affine(fmt):
        affine = get_affine_format(fmt)
        return AffineKind(affine, get_rule("exact" if profile is None else profile), choices.of(affine, profile))
    target = any_format(fmt)
    if isinstance(target, BlockFormat):
        return BlockKind(*resolve(target, profile), choices.of(target, profile))
    if profile is not None:
        raise Error(f"--profile is for block formats; {target.name} is a scalar format")
    return ScalarKind(target, choices)


@dataclass(frozen=True)
class ScalarKind(Kind):
    """A scalar format."""

    fmt: Format
    choices: Choices

    def rows(self, texts: Texts, numbers: Numbers, words: list[int]) -> list[QuantizedRow]:
        encode, value_of = encoder(self.fmt, self.choices.policy), decoder(self.fmt)
        bits, remaining, quantized = needed_bits(self.fmt, self.choices.policy), iter(words), []
        for row, parsed in zip(texts, numbers, strict=True):
            codes = [encode(to_value(x, bits), next(remaining))[0] for x in parsed]
            if row:
                quantized.append(QuantizedRow([row], codes, list(map(value_of, codes))))
        return quantized

    def array(self, x: Array, words: Any, axis: int | None = None, tensor_scale: float | None = None) -> Arrays:
        from softfloat_ref.arrays import convert

        codes = convert.encode(x, self.fmt, self.choices.policy, words)
        values = convert.decode(codes, self.fmt)
        return Arrays(codes, values, {"codes": codes, "values": values})

    def pieces(self, x: Array, axis: int | None) -> Pieces | None:
        return Pieces(1, x.size, 1)

    def array_rows(self, arrays: Arrays, form: str | None) -> list[QuantizedRow]:
        return [QuantizedRow([], codes, values) for codes, values in _lines_of(arrays)]

    def array_parts(self, rows: list[QuantizedRow]) -> dict[str, Array]:
        from softfloat_ref.arrays import convert

        return _parts_of(rows, convert.code_dtype(self.fmt), convert.value_dtype(self.fmt))

    def hex(self, code: int) -> str:
        return self.fmt.hex(code)

    def writer(self) -> Callable[[Value], str]:
        return writer(self.fmt.precision)


@dataclass(frozen=True)
class BlockKind(Kind):
    """A block format: blocks run along each row; a format with one scale per tensor takes all rows together."""

    fmt: BlockFormat
    profile: Profile
    choices: Choices

    def rows(self, texts: Texts, numbers: Numbers, words: list[int]) -> list[QuantizedRow]:
        if self.profile.tail == "flatten":
            raise Error(f"profile {self.profile.name} has blocks that span rows; give .npy input")
        if self.fmt.rows > 1:
            raise Error(f"{self.fmt.name} has blocks of {self.fmt.size_name}; give .npy input")
        values = [[to_value(x, VALUE_BITS) for x in row] for row in numbers]
        every = [x for row in values for x in row]
        if self.fmt.size == TENSOR:
            texts, values = [[x for row in texts for x in row]], [every]
        amax = largest_magnitude([x for x in every if x.is_finite and not x.is_zero])
        tensor_scale, remaining = tensor_scale_of(amax, self.fmt, self.profile), iter(words)
        rows = []
        for text, row in zip(texts, values, strict=True):
            size = self._size(len(row))
            if self.profile.tail == "refuse" and len(row) % size:
                raise Error(f"a row has {len(row)} values; profile {self.profile.name} needs a multiple of {size}")
            if row:
                rows.append(self._row(text, row, tensor_scale, [next(remaining) for _ in row]))
        return rows

    def _size(self, length: int) -> int:
        return self.fmt.columns if self.fmt.size > 0 else max(length, 1)

    def _row(self, texts: list[str], values: list[Value], tensor_scale: int, words: list[int]) -> QuantizedRow:
        factor, size, decode = decoder(FP32)(tensor_scale), self._size(len(values)), decoder(FP32)
        row = QuantizedRow([texts], [], [], [], size, None if not self.profile.two_levels else tensor_scale)
        assert row.scales is not None
        for i in range(0, len(values), size):
            part, part_words = values[i : i + size], words[i : i + size]
            block = quantize_block(part, self.fmt, self.profile, self.choices.policy, part_words, factor)
            row.scales.append(block.scale)
            row.codes.extend(block.codes)
            worth = dequantize_to_fp32(block.scale, block.codes, self.fmt, self.profile, factor)
            row.values.extend(map(decode, worth))
        return row

    def array(self, x: Array, words: Any, axis: int | None = None, tensor_scale: float | None = None) -> Arrays:
        from softfloat_ref.arrays import blocks

        policy, along = self.choices.policy, -1 if axis is None else axis
        block_array = blocks.encode(
            x, self.fmt, axis=along, profile=self.profile, policy=policy, random_bits=words, tensor_scale=tensor_scale
        )
        parts: dict[str, Array] = {
            "codes": block_array.codes,
            "values": block_array.decode(),
            "scales": block_array.scales,
        }
        if block_array.tensor_scale is not None:
            parts["tensor_scale"] = _fp32_array(_code_of(block_array.tensor_scale))
        return Arrays(parts["codes"], parts["values"], parts, block_array)

    def pieces(self, x: Array, axis: int | None) -> Pieces | None:
        from softfloat_ref.arrays.block_layout import block_layout, check_axis

        along = check_axis(x, -1 if axis is None else axis)
        block_layout(x.shape, along, self.fmt, self.profile)  # refuses an axis by its length
        if along != x.ndim - 1 or self.fmt.size == TENSOR or self.fmt.rows > 1:
            return None
        length = x.size if self.profile.tail == "flatten" and self.fmt.size != AXIS else x.shape[-1]
        return Pieces(x.size // length, length, None if self.fmt.size == AXIS else self.fmt.size)

    def tensor_scale(self, amax: Callable[[], float]) -> float | None:
        if not self.profile.two_levels:
            return None
        largest = amax()
        return float(decode(tensor_scale_of(to_value(largest, 0) if largest else None, self.fmt, self.profile), FP32))

    def array_rows(self, arrays: Arrays, form: str | None) -> list[QuantizedRow]:
        from softfloat_ref.arrays import blocks

        assert arrays.blocks is not None
        scales = blocks.scale_rows(arrays.codes, arrays.blocks.in_rows().scales)
        if scales[0] is None and form != "value":
            raise Error("blocks along another axis than the last cannot be printed as rows; use -o FILE.npz")
        size = self._size(arrays.codes.size if self.fmt.size == TENSOR else arrays.codes.shape[arrays.blocks.axis])
        second = None if arrays.blocks.tensor_scale is None else _code_of(arrays.blocks.tensor_scale)
        lines = zip(_lines_of(arrays), scales, strict=True)
        return [QuantizedRow([], codes, values, scale, size, second) for (codes, values), scale in lines]

    def array_parts(self, rows: list[QuantizedRow]) -> dict[str, Array]:
        import numpy as np

        from softfloat_ref.arrays import convert

        parts = _parts_of(rows, convert.code_dtype(self.fmt.element), np.dtype(np.float32))
        parts["scales"] = np.array([r.scales for r in rows], convert.code_dtype(self.fmt.scale))
        if rows[0].tensor_scale is not None:
            parts["tensor_scale"] = _fp32_array(rows[0].tensor_scale)
        return parts

    def hex(self, code: int) -> str:
        return self.fmt.element.hex(code)

    def writer(self) -> Callable[[Value], str]:
        return writer(self.fmt.element.precision + self.fmt.scale.precision)

    def table(self, row: QuantizedRow) -> Iterator[tuple[int, str]]:
        if row.tensor_scale is not None:
            yield 0, f"tensor scale {FP32.hex(row.tensor_scale)} = {shortest(decoder(FP32)(row.tensor_scale))}"
        for i, scale in enumerate(row.scales or ()):
            yield i * row.size, f"block {i}: scale {scale_text(scale, self.fmt.scale)}"

    def hex_lines(self, row: QuantizedRow) -> Iterator[str]:
        """One line per block, starting with its scale; the tensor scale comes first."""
        if row.tensor_scale is not None:
            yield f"tensor scale: {FP32.hex(row.tensor_scale)}"
        for i, scale in enumerate(row.scales or ()):
            part = row.codes[i * row.size : (i + 1) * row.size]
            yield f"{self.fmt.scale.hex(scale)}: " + " ".join(map(self.hex, part))

    def entry(self, row: QuantizedRow) -> dict[str, Any]:
        whole = super().entry(row)
        fields = {"codes": whole["codes"], "scales": list(map(self.fmt.scale.hex, row.scales or ()))}
        if row.tensor_scale is not None:
            fields["tensor_scale"] = FP32.hex(row.tensor_scale)
        return {**fields, "values": whole["values"]}


@dataclass(frozen=True)
class AffineKind(Kind):
    """An affine format: one scale and zero point for all numbers, or for each channel of an array."""

    fmt: AffineFormat
    rule: Rule
    choices: Choices

    as_printed = True

    def check(self, output: str | None, form: str | None, is_array: bool, axis: int | None) -> None:
        self.choices.check_seed()
        suffix = None if output is None else Path(output).suffix
        if is_array and suffix not in ARRAY_FILES:
            raise Error("arrays of affine integers go to -o FILE.npy (values, or codes with --as hex) or FILE.npz")
        if not is_array and axis is not None:
            raise Error("--axis is for .npy input; numbers as text have one scale")
        if not is_array and output is not None and (form is None or suffix not in (".txt", ".csv", ".json")):
            raise Error(f"{output}: numbers as text go to .txt, .csv or .json, with --as value, hex or json")

    def rows(self, texts: Texts, numbers: Numbers, words: list[int]) -> list[QuantizedRow]:
        values = [to_value(x, VALUE_BITS) for row in numbers for x in row]
        parameters = choose(*self._range(values), self.fmt, self.rule)
        pairs = zip(values, words, strict=True)
        policy = self.choices.typed_policy
        integers = [quantize_value(x, parameters, self.fmt, self.rule, policy, r) for x, r in pairs]
        decode, mask = decoder(FP32), (1 << self.fmt.bits) - 1
        return [
            QuantizedRow(
                [[text for row in texts for text in row], list(map(str, integers))],
                [q & mask for q in integers],
                [decode(dequantize_value(q, parameters)) for q in integers],
                [parameters.scale],
                zero_point=parameters.zero_point,
            )
        ]

    def _range(self, values: list[Value]) -> tuple[Value, Value]:
        finite = [x for x in values if x.is_finite]
        if self.rule.range == "error" and len(finite) < len(values):
            raise Error(f"a NaN or Inf: affine rule {self.rule.name} has no range for it")
        low = high = exact.zero(0)
        for x in finite:
            low = x if exact.compare(x, low) < 0 else low
            high = x if exact.compare(x, high) > 0 else high
        return low, high

    def array(self, x: Array, words: Any, axis: int | None = None, tensor_scale: float | None = None) -> Arrays:
        from softfloat_ref.arrays import affine

        policy = self.choices.typed_policy
        q = affine.encode(x, self.fmt, axis=axis, profile=self.rule, policy=policy, random_bits=words)
        values = q.decode()
        parts = {"integers": q.integers, "scale": q.scales, "zero_point": q.zero_points, "values": values}
        return Arrays(q.codes, values, parts)

    def hex(self, code: int) -> str:
        return f"{code:0{-(-self.fmt.bits // 4)}x}"

    def writer(self) -> Callable[[Value], str]:
        return shortest

    def table(self, row: QuantizedRow) -> Iterator[tuple[int, str]]:
        for scale in row.scales or ():
            text = f"{FP32.hex(scale)} = {shortest(decoder(FP32)(scale))}"
            yield 0, f"scale {text}, zero point {row.zero_point}"

    def json(self, rows: list[QuantizedRow]) -> dict[str, Any]:
        (row,), fields = rows, {"format": self.fmt.name}
        fields |= {"scale": FP32.hex(row.scales[0]), "zero_point": row.zero_point}  # type: ignore[index,dict-item]
        return {**fields, "integers": list(map(int, row.columns[1])), "values": list(map(shortest, row.values))}


def _lines_of(arrays: Arrays) -> Iterator[tuple[list[int], list[Value]]]:
    """Codes and exact values along an array's last axis."""
    codes, values = arrays.codes, arrays.values
    decode = decoder(CATALOGUE["fp64" if values.dtype.itemsize == 8 else "fp32"])
    patterns = values.reshape(-1, values.shape[-1]).view(f"u{values.dtype.itemsize}")
    for line, pattern in zip(codes.reshape(patterns.shape), patterns, strict=True):
        yield line.tolist(), [decode(p) for p in pattern.tolist()]


def _parts_of(rows: list[QuantizedRow], codes: Any, values: Any) -> dict[str, Array]:
    import numpy as np

    return {
        "codes": np.array([r.codes for r in rows], codes),
        "values": np.array([[float(v) for v in r.values] for r in rows], values),
    }


def _code_of(number: float) -> int:
    return encode(number, FP32).bits


def _fp32_array(code: int) -> Array:
    import numpy as np

    return np.array(code, np.uint32).view(np.float32)
