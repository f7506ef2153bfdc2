"""Operands of units from the tensors of models: blocks of values, and rows of weights and activations."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from softfloat_ref.arrays import blocks, convert
from softfloat_ref.base.errors import Error, counted, unknown
from softfloat_ref.golden.operands import MAX_CODES, OperandTensor, TensorOperands, operand_fields
from softfloat_ref.nn.model_files import ModelTensor, tensors
from softfloat_ref.nn.model_files.quantized import LayoutTensor, Span
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, BlockFormat
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE, tensor_scale_of
from softfloat_ref.oracle.codec import to_value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import DotUnit, Line, MatmulUnit, QuantizeUnit, Unit

SEPARATOR: Final = "::"
_PART: Final = 1 << 20  # values that are read together
_TAKEN: Final[dict[type[Any], tuple[str, ...]]] = {
    QuantizeUnit: ("values",),
    DotUnit: ("a", "b"),
    MatmulUnit: ("a", "b"),
}
Array = np.ndarray[Any, np.dtype[Any]]


class _Operand(NamedTuple):
    """A tensor for a field. fmt: of the operands; second: the second-level scale of the whole tensor, an FP32 code;
    as_stored: whether operands are the codes in the file."""

    origin: OperandTensor
    tensor: ModelTensor
    fmt: Format | BlockFormat
    second: int
    as_stored: bool

    @property
    def rows(self) -> int:
        return self.tensor.size // self.tensor.shape[-1]

    def row(self, i: int) -> Array:
        length = self.tensor.shape[-1]
        return self.tensor.read(i * length, length)


def operands_of_tensors(unit: Unit, places: Sequence[str], count: int | None, usual: int) -> TensorOperands:
    """The operands of `count` cases of a quantizer, a dot product or a matrix product, by default of all that the
    tensors give, up to `usual`. places: FIELD=FILE::TENSOR, for a unit of one such field also FILE::TENSOR. Raises
    Error."""
    operands = {x.origin.field: x for x in (_operand(unit, place) for place in places)}
    names = _names(unit)
    if len(operands) != len(places) or set(operands) != set(names):
        raise Error(f"{unit.name}: give a tensor for each of {', '.join(names)}: {names[0]}=FILE{SEPARATOR}TENSOR")
    most = MAX_CODES // sum(f.lanes for f in operand_fields(unit))
    lines = tuple(itertools.islice(_lines(unit, operands), min(usual, most) if count is None else min(count, most) + 1))
    if count is not None:
        if count > most:
            raise Error(f"{unit.name}: at most {most} vectors of tensors, whose operands stand in the manifest")
        if count > len(lines):
            raise Error(f"{unit.name}: the tensors give {counted(len(lines), 'case')}, not {count}")
        lines = lines[:count]
    return TensorOperands(tuple(operands[name].origin for name in names), lines)


def difference(unit: Unit, stored: TensorOperands, models: Sequence[str]) -> str:
    """What differs between stored operands and the tensors of those names in models; '' if nothing does. Raises
    Error."""
    listed = [(model, {t.name for t in tensors(model)}) for model in models]
    places = []
    for origin in stored.tensors:
        having = [model for model, names in listed if origin.tensor in names]
        model = next((x for x in having if Path(x).name == origin.file), next(iter(having), None))
        if model is None:
            raise unknown(
                f"tensor in {', '.join(models)}:", origin.tensor, sorted(set().union(*(x for _, x in listed)))
            )
        places.append(f"{origin.field}={model}{SEPARATOR}{origin.tensor}")
    own = operands_of_tensors(unit, places, len(stored.lines), 0)
    for mine, theirs in zip(own.tensors, stored.tensors, strict=True):
        if mine.sha256 != theirs.sha256:
            return f"{theirs.tensor}: its values in {mine.file} are not those of {theirs.file}, by their SHA-256"
    return "" if own.lines == stored.lines else "the operands are not those that the tensors give"


def _names(unit: Unit) -> tuple[str, ...]:
    if type(unit) not in _TAKEN:
        kinds = ", ".join(str(kind.op) for kind in _TAKEN)
        raise Error(f"{unit.name}: operands of tensors are for {kinds}")
    return _TAKEN[type(unit)]


def _operand(unit: Unit, place: str) -> _Operand:
    """The tensor of FIELD=FILE::TENSOR. Raises Error."""
    names = _names(unit)
    start, equals, rest = place.partition("=")
    field, path = (start, rest) if equals and start in names else (names[0], place)
    file, separator, name = path.rpartition(SEPARATOR) if SEPARATOR in path else (path, "", "")
    members = tensors(file)
    if not separator and len(members) == 1:
        name = members[0].name
    tensor = next((t for t in members if t.name == name), None)
    if tensor is None:
        raise unknown(f"tensor in {file}:", name, [t.name for t in members])
    if tensor.skipped:
        raise Error(f"{file}: {tensor.name}: {tensor.skipped}")
    fmt = unit.block if isinstance(unit, QuantizeUnit) else getattr(getattr(unit, "dot", unit), field)
    digest, amax = _scanned(tensor)
    profile = unit.profile if isinstance(unit, QuantizeUnit) else _profile(fmt)
    second = FP32_ONE if profile is None else tensor_scale_of(to_value(amax, 0) if amax else None, fmt, profile)
    as_stored = isinstance(tensor, LayoutTensor) and tensor.fmt == fmt.name and not isinstance(unit, QuantizeUnit)
    rule = f" by profile {profile.name}" if profile else ", to nearest even"
    taken = "values" if isinstance(unit, QuantizeUnit) else "codes and scales" if as_stored else f"{fmt.name}{rule}"
    shape = "x".join(map(str, tensor.shape))
    origin = OperandTensor(field, Path(file).name, tensor.name, shape, tensor.fmt, taken, digest)
    return _Operand(origin, tensor, fmt, second, as_stored)


def _scanned(tensor: ModelTensor) -> tuple[str, float]:
    """The SHA-256 of the values, and their largest finite magnitude."""
    digest, amax = hashlib.sha256(), 0.0
    for first in range(0, tensor.size, _PART):
        x = tensor.read(first, min(_PART, tensor.size - first))
        x = x.astype(np.float32) if x.itemsize < 4 else x
        digest.update(x.astype(x.dtype.newbyteorder("<")).tobytes())
        amax = max(amax, float(np.abs(x[np.isfinite(x)]).max(initial=0.0)))
    return digest.hexdigest(), amax


def _profile(fmt: Format | BlockFormat) -> Profile | None:
    """The profile by which values become operands of a product: the format's own, which the unit does not keep."""
    if isinstance(fmt, Format):
        return None
    return get_profile(BLOCK_FORMATS.get(fmt.name, fmt).profile)


def _lines(unit: Any, operands: dict[str, _Operand]) -> Iterator[Line]:
    if isinstance(unit, QuantizeUnit):
        return _blocks(unit, operands["values"])
    if isinstance(unit, DotUnit):
        pairs = itertools.product(range(operands["a"].rows), range(operands["b"].rows))
        return (x for i, j in pairs for x in _products(unit, operands, range(i, i + 1), range(j, j + 1)))
    tops, lefts = range(0, operands["a"].rows, unit.m), range(0, operands["b"].rows, unit.n)
    tiles = itertools.product(tops, lefts)
    return (x for i, j in tiles for x in _products(unit.dot, operands, range(i, i + unit.m), range(j, j + unit.n)))


def _blocks(unit: QuantizeUnit, operand: _Operand) -> Iterator[Line]:
    """The blocks of each row; the last one of a row is padded with zeros."""
    if unit.block.rows > 1:
        raise Error(f"{unit.block.name}: operands of tensors are blocks of one row")
    second = (operand.second,) if unit.two_levels else ()
    for i in range(operand.rows):
        codes = _exactly(operand.row(i), unit.values, operand.origin)
        for block in _pieces(codes, unit.block.size):
            yield (*block.tolist(), *second)


def _exactly(x: Array, fmt: Format, origin: OperandTensor) -> Array:
    """The codes of values that the format has. Raises Error for others."""
    codes: Array = convert.encode(x, fmt)
    same = convert.to_float64(convert.Source(codes, fmt)) == x
    if not (same | np.isnan(x)).all():
        raise Error(f"{origin}: has values that are not {fmt.name}'s; choose the format of the values by --out")
    return codes


def _pieces(x: Array, size: int) -> Array:
    """A row in pieces of a size, the last one with zeros behind."""
    count = -(-x.size // size)
    padded = np.zeros(count * size, x.dtype)
    padded[: x.size] = x
    return padded.reshape(count, size)


def _products(dot: DotUnit, operands: dict[str, _Operand], a_rows: range, b_rows: range) -> Iterator[Line]:
    """Rows of a by rows of b, in pieces of k; rows that are not there are zeros, and so is c."""
    if operands["a"].tensor.shape[-1] != operands["b"].tensor.shape[-1]:
        shapes = " and ".join(f"{x.origin} {x.origin.shape}" for x in operands.values())
        raise Error(f"{shapes}: rows of a and b must have one length")
    sides = [_side(operands[name], rows, dot.k) for name, rows in (("a", a_rows), ("b", b_rows))]
    zeros = (0,) * (len(a_rows) * len(b_rows))
    for a, b in zip(*sides, strict=True):
        yield (*a, *b, *zeros)


def _side(operand: _Operand, rows: range, k: int) -> list[list[int]]:
    """The operands of each piece of k: the scales of all rows, if there are any, then their elements."""
    coded = [_coded(operand, i, k) if i < operand.rows else None for i in rows]
    length = -(-operand.tensor.shape[-1] // k)
    blocks_of_k = k // operand.fmt.size if isinstance(operand.fmt, BlockFormat) else 0
    none = np.zeros((length, blocks_of_k), np.uint64), np.zeros((length, k), np.uint64)
    pairs = [none if x is None else x for x in coded]
    return [[int(c) for part in (0, 1) for pair in pairs for c in pair[part][piece]] for piece in range(length)]


def _coded(operand: _Operand, i: int, k: int) -> tuple[Array, Array]:
    """Scales and elements of a row, in pieces of k: as they are stored, if the tensor has the format, or quantized."""
    tensor = operand.tensor
    if not isinstance(operand.fmt, BlockFormat):
        codes = _pieces(convert.encode(operand.row(i), operand.fmt), k)
        return np.zeros((len(codes), 0), np.uint8), codes
    if operand.as_stored and isinstance(tensor, LayoutTensor) and (stored := tensor.part("scales")):
        span = Span(i, i + 1, 0, tensor.shape[-1])
        scales, codes = stored.codes(span, tensor.shape)[0], tensor.elements(span)[0]
    else:
        profile, second = _profile(operand.fmt), float(np.uint32(operand.second).view(np.float32))
        two_levels = profile is not None and profile.two_levels
        array = blocks.encode(operand.row(i), operand.fmt, profile=profile, tensor_scale=second if two_levels else None)
        scales, codes = array.scales, array.codes
    return _pieces(scales, k // operand.fmt.size), _pieces(codes, k)
