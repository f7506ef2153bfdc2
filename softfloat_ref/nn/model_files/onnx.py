"""Tensors of an ONNX model: initializers and constants of its graph, subgraphs and functions. Those that
DequantizeLinear reads are joined with their scales. External data stay where they are."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, escaped
from softfloat_ref.base.files import read_bytes
from softfloat_ref.nn.model_files.layouts import Layout, Role
from softfloat_ref.nn.model_files.quantized import LayoutTensor, Part
from softfloat_ref.nn.model_files.recognition import format_name, unit_of
from softfloat_ref.nn.model_files.tensors import ModelTensor, problem_of, require_package
from softfloat_ref.oracle.formats import get_format

_FORMATS: Final = {
    "DOUBLE": "fp64",
    "FLOAT": "fp32",
    "FLOAT16": "fp16",
    "BFLOAT16": "bf16",
    "FLOAT8E4M3FN": "fp8_e4m3",
    "FLOAT8E4M3FNUZ": "fp8_e4m3fnuz",
    "FLOAT8E5M2": "fp8_e5m2",
    "FLOAT8E5M2FNUZ": "fp8_e5m2fnuz",
    "FLOAT8E8M0": "e8m0",
    "FLOAT4E2M1": "fp4_e2m1",
    **{f"{sign}INT{bits}": f"{'u' if sign else 'i'}{bits}" for sign in ("", "U") for bits in (2, 4, 8, 16, 32, 64)},
}
_BYTE: Final = 8
_DEQUANTIZE: Final = "DequantizeLinear"
_SCALED: Final = (_DEQUANTIZE, "QuantizeLinear")  # whose inputs after the first are scales and zero points
LAYOUT: Final = Layout(
    _DEQUANTIZE,
    Role("x", ("u8",)),
    Role("x_scale", ("fp32",)),
    source="ONNX, operator DequantizeLinear",
    checked="against onnx 1.23.2, ReferenceEvaluator, where the scale is FP32",
)

_NBITS: Final = "MatMulNBits"
NBITS: Final = Layout(
    _NBITS,
    Role("B", ("u8",)),
    Role("scales", ("fp32", "fp16", "bf16")),
    elements="u4",
    packing="dense",
    source="onnxruntime, com.microsoft's operator MatMulNBits",
    checked="against onnxruntime 1.32.0 on a CPU",
)


def read(path: Path) -> Iterator[ModelTensor]:
    """The tensors of the model, in their order; those of a subgraph are named NODE.ATTRIBUTE.TENSOR. Raises Error."""
    library = require_package("onnx", path)
    try:
        model = library.load_model_from_string(read_bytes(path, limits.MODEL))
    except (Error, OSError):
        raise
    except Exception as e:  # protobuf raises its own errors
        raise Error(f"{path}: not a readable ONNX model: {str(e).splitlines()[0][:80] if str(e) else ''}") from None
    whole = _Model(library, path)
    whole.graph(model.graph, model.graph.initializer, ChainMap(), "")
    for function in model.functions:
        whole.graph(function, (), ChainMap(), f"{function.name}.")
    yield from whole.tensors()


Names = MutableMapping[str, int]  # the places of tensors by their names in a graph, or in one around it


@dataclass
class _Model:
    """The tensors of all graphs, in order. joined: the quantized ones by the place of their codes; parts: the places of
    scales and zero points, with those of activations."""

    library: Any
    path: Path
    listed: list[ModelTensor] = field(default_factory=list)
    joined: dict[int, ModelTensor] = field(default_factory=dict)
    parts: set[int] = field(default_factory=set)
    activations: set[int] = field(default_factory=set)

    def tensors(self) -> Iterator[ModelTensor]:
        """The tensors, quantized ones with their scales."""
        for i, tensor in enumerate(self.listed):
            if i in self.joined:
                yield self.joined[i]
            elif i in self.activations - self.parts:
                problem = tensor.problem or "a scale or a zero point of activations"
                yield ModelTensor(tensor.name, tensor.shape, tensor.type, problem=problem)
            elif i not in self.parts:
                yield tensor

    def graph(self, graph: Any, initializers: Any, outer: ChainMap[str, int], prefix: str) -> None:
        """Read a graph or a function, with all that is in it."""
        names = outer.new_child()
        for tensor in initializers:
            self._add(str(tensor.name), tensor, names, prefix)
        for number, node in enumerate(graph.node):
            name = node.name or (node.output[0] if node.output else "") or f"{node.op_type}_{number}"
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value" and node.output:
                    self._add(str(node.output[0]), attribute.t, names, prefix)
                graphs = [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
                for i, inner in enumerate(graphs):
                    place = str(attribute.name) + (f"_{i}" if attribute.graphs else "")
                    self.graph(inner, inner.initializer, names, f"{prefix}{name}.{place}.")
        for sparse in getattr(graph, "sparse_initializer", ()):
            self.listed.append(ModelTensor(prefix + str(sparse.values.name), (), "sparse", problem="a sparse tensor"))
        self._join(graph, names)

    def _add(self, name: str, tensor: Any, names: Names, prefix: str) -> None:
        names[name] = len(self.listed)
        self.listed.append(_tensor(self.library, self.path, tensor, prefix + name))

    def _join(self, graph: Any, names: ChainMap[str, int]) -> None:
        """Join what DequantizeLinear reads. A scale may be the result of another one, that of a second level."""
        nodes = [n for n in graph.node if n.op_type in _SCALED]
        for node in nodes:
            self.activations |= {names[x] for x in node.input[1:] if x in names}
        results = {node.output[0]: node for node in nodes if node.op_type == _DEQUANTIZE and node.output}
        inner = {node.input[1] for node in results.values() if len(node.input) > 1} & results.keys()
        for output, node in results.items():
            if output not in inner and node.input and node.input[0] in names:
                self._dequantized(node, results, names)

        for node in graph.node:
            if node.op_type == _NBITS and node.domain == "com.microsoft":
                self._multiplied(node, names)

    def _multiplied(self, node: Any, names: Names) -> None:
        """Join what MatMulNBits reads: codes, scales, zero points and the number of the group of each input."""
        inputs = dict(zip(("A", "codes", "scales", "zero_points", "groups"), node.input, strict=False))
        places = {role: names[x] for role, x in inputs.items() if x in names and role != "A"}
        wanted = {role for role, x in inputs.items() if x and role != "A"}
        if places.keys() != wanted or not {"codes", "scales"} <= wanted or "groups" in wanted:
            return
        place = places.pop("codes")
        weight = _by_blocks(self.listed[place], {role: self.listed[i] for role, i in places.items()}, node)
        if weight is not None and place not in self.joined:
            self.joined[place] = weight
            self.parts |= set(places.values())

    def _dequantized(self, node: Any, results: Mapping[str, Any], names: Names) -> None:
        place, second = names[node.input[0]], None
        if len(node.input) < 2:
            return
        scale = node.input[1]
        if scale in results and results[scale].input:
            second = results[scale]
            scale = second.input[0]
        inputs = {"scales": scale, "zero_points": node.input[2] if len(node.input) > 2 else ""}
        if second is not None:
            inputs["tensor_scale"] = second.input[1] if len(second.input) > 1 else ""
            if len(second.input) > 2 and second.input[2]:
                return  # a scale with a zero point: no weight has such
        places = {role: names[x] for role, x in inputs.items() if x in names}
        if places.keys() != {role for role, x in inputs.items() if x} or place in self.joined:
            return  # computed by the graph
        weight = _weight(self.listed[place], {role: self.listed[i] for role, i in places.items()}, node)
        if weight is not None:
            self.joined[place] = weight
            self.parts |= set(places.values())


def _weight(codes: ModelTensor, parts: Mapping[str, ModelTensor], node: Any) -> LayoutTensor | None:
    """A weight with its scales; None if shapes or types do not fit."""
    if codes.problem or not codes.fmt or not codes.shape or not codes.size:
        return None
    options = {x.name: x.i for x in node.attribute}
    axis, size = options.get("axis", 1), options.get("block_size", 0)
    members = {}
    for role, part in parts.items():
        block = _block(codes.shape, part.shape, axis, 0 if role == "tensor_scale" else size)
        if part.problem or not part.fmt or block is None:
            return None
        if role == "zero_points" and get_format(part.fmt).is_integer != get_format(codes.fmt).is_integer:
            return None
        members[role] = Part(part, part.fmt, block)
    scales = members["scales"]
    if LAYOUT.check_bits(get_format(codes.fmt), get_format(scales.fmt)):
        return None
    fmt = format_name(codes.fmt, scales.fmt, scales.block, codes.shape, "tensor_scale" in members)
    unit = unit_of(scales.block[-1], codes.shape[-1])
    stored = codes.nbytes + sum(x.nbytes for x in parts.values())
    return LayoutTensor(
        codes.name, codes.shape, codes.type, fmt, element=codes.fmt, unit=unit, stored=stored, source=codes,
        members=tuple(members.items()), layout=LAYOUT,
    )  # fmt: skip


def _by_blocks(codes: ModelTensor, parts: Mapping[str, ModelTensor], node: Any) -> LayoutTensor | None:
    """The matrix (outputs, inputs) of MatMulNBits: rows of blocks, the last of a row perhaps short; None if shapes or
    types do not fit."""
    options = {x.name: x.i for x in node.attribute}
    rows, columns, size, bits = (options.get(x, 4 if x == "bits" else 0) for x in ("N", "K", "block_size", "bits"))
    if rows < 1 or columns < 1 or size < 1 or bits not in (2, 4, 8) or codes.problem or codes.fmt != "u8":
        return None
    blocks, scales, zeros = -(-columns // size), parts["scales"], parts.get("zero_points")
    if size * bits % 8 or codes.size != rows * blocks * size * bits // 8 or scales.size != rows * blocks:
        return None
    members = {"scales": Part(replace(scales, shape=(rows, blocks)), scales.fmt, (1, size))}
    if zeros is not None:
        packed = zeros.fmt == "u8" and zeros.size == rows * -(-blocks * bits // 8)
        if not packed and (zeros.fmt != scales.fmt or zeros.size != rows * blocks):
            return None
        fmt = f"u{bits}" if packed else zeros.fmt
        own = replace(zeros, shape=(rows, zeros.size // rows))
        members["zero_points"] = Part(own, fmt, (1, size), "dense" if packed else "")
    zero = 0 if zeros is not None else 1 << bits - 1
    layout = replace(NBITS, elements=f"u{bits}", zero_point=zero)
    if scales.problem or not scales.fmt or layout.check_bits(get_format(layout.elements), get_format(scales.fmt)):
        return None
    stored = codes.nbytes + sum(x.nbytes for x in parts.values())
    name = format_name(layout.elements, scales.fmt, (1, size), (rows, columns), False)
    source = replace(codes, shape=(rows, blocks * size * bits // 8))
    return LayoutTensor(
        codes.name, (rows, columns), codes.type, name, element=layout.elements, unit=unit_of(size, columns),
        stored=stored, source=source, members=tuple(members.items()), layout=layout,
    )  # fmt: skip


def _block(shape: tuple[int, ...], scales: tuple[int, ...], axis: int, size: int) -> tuple[int, ...] | None:
    """The lengths of blocks on each axis, by the rules of DequantizeLinear; None if the shapes do not fit."""
    if scales in ((), (1,)) and not size:
        return shape
    if not -len(shape) <= axis < len(shape):
        return None
    along = axis % len(shape)
    if not size:
        own = tuple(1 if i == along else n for i, n in enumerate(shape))
        return own if scales == (shape[along],) else None
    own = tuple(size if i == along else 1 for i in range(len(shape)))
    return own if scales == tuple(-(-n // b) for n, b in zip(shape, own, strict=True)) else None


def _tensor(library: Any, path: Path, tensor: Any, name: str) -> ModelTensor:
    types = library.TensorProto.DataType
    kind = types.Name(tensor.data_type) if tensor.data_type in types.values() else f"type {tensor.data_type}"
    shape, fmt = tuple(int(n) for n in tensor.dims), _FORMATS.get(kind, "")
    packing = ("low-first" if get_format(fmt).width == 4 else "dense") if fmt and get_format(fmt).width < _BYTE else ""
    described = ModelTensor(name, shape, kind, fmt, problem=problem_of(shape), packing=packing)
    if described.problem or not fmt or not described.size:
        return described
    if tensor.data_location == library.TensorProto.EXTERNAL:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        place, offset = _place(path, name, entries, described)
        return ModelTensor(name, shape, kind, fmt, place, offset, packing=packing)
    try:
        return ModelTensor(name, shape, kind, fmt, data=_data(library, tensor, described), packing=packing)
    except Exception as e:
        raise Error(f"{path}: the values of '{escaped(name)}' do not fit its type and shape: {str(e)[:80]}") from None


def _data(library: Any, tensor: Any, described: ModelTensor) -> Any:
    """The codes of a tensor; of packed ones, their bytes."""
    if described.packing:
        raw = tensor.raw_data if tensor.HasField("raw_data") else bytes(x & 0xFF for x in tensor.int32_data)
        if len(raw) != described.nbytes:
            raise ValueError(f"{len(raw)} bytes where {described.nbytes} are expected")
        return np.frombuffer(raw, np.uint8)
    array = np.ascontiguousarray(library.numpy_helper.to_array(tensor)).reshape(described.shape)
    if array.dtype.itemsize != described.itemsize:
        raise ValueError(f"{array.dtype} of {array.dtype.itemsize} bytes")
    return array.view(f"u{array.dtype.itemsize}")


def _place(path: Path, name: str, entries: dict[str, str], described: ModelTensor) -> tuple[str, int]:
    """The file and the position of external data. Raises Error for a file outside the model's folder."""
    where = f"{path}: external data of '{escaped(name)}'"
    try:
        offset, length = int(entries.get("offset", "0")), int(entries.get("length", str(described.nbytes)))
    except ValueError:
        raise Error(f"{where}: offset and length are not numbers") from None
    folder, file = path.parent.resolve(), (path.parent / entries.get("location", "")).resolve()
    if not file.is_relative_to(folder) or not file.is_file():
        raise Error(f"{where}: {entries.get('location', '')!r} is not a file in the model's folder")
    if offset < 0 or length != described.nbytes:
        raise Error(f"{where}: {length} bytes do not fit shape {described.shape} of {described.type}")
    return str(file), offset
