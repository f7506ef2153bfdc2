"""Recording: tensors get names and codes, operations become nodes of a trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.case import FP32, Codes, canonical, case_of, fp32_codes
from softfloat_ref.golden.trace.model import CodeTensor, Node, TensorView, TraceSet
from softfloat_ref.golden.trace.operations import SELECTIONS, operation_of
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.sources import RandomSource

Array = NDArray[Any]
UNSIGNED: Final = get_format("u32")
_SIZES: Final = (np.shape, np.ndim, np.size)


class RecordedArray(np.ndarray[Any, np.dtype[Any]]):
    """A tensor of a recorded step: its values, under its name in the trace.

    Operations of `Numerics` take it, and `numpy.asarray` reads it. Any other use is an error, so that every operation
    is recorded.
    """

    name = ""

    def reshape(self, *shape: Any, **_: Any) -> RecordedArray:
        """The same tensor in another shape."""
        return as_recorded(np.asarray(self).reshape(*shape), self.name)

    def __array_ufunc__(self, ufunc: Any, *_: Any, **__: Any) -> Any:
        raise self._unrecorded(f"numpy's {ufunc.__name__}")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _SIZES:
            return function(np.asarray(args[0]), *args[1:], **kwargs)
        raise self._unrecorded(f"numpy's {function.__name__}")

    def __getitem__(self, key: Any) -> Any:
        raise self._unrecorded("a slice")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise Error(f"a layer or an optimizer changes {self.name}, which is being recorded, in place")

    def _unrecorded(self, operation: str) -> Error:
        return Error(
            f"a layer or an optimizer computes {operation} of {self.name or 'a tensor'}, which no trace records: "
            "use an operation of its numerics"
        )


def as_recorded(values: Array, name: str) -> RecordedArray:
    """Values under a name."""
    recorded = values.view(RecordedArray)
    recorded.name = name
    return recorded


class Recorder:
    """Tensors and nodes, in the order of execution."""

    def __init__(self) -> None:
        self.tensors: dict[str, CodeTensor] = {}
        self.codes: dict[str, Codes] = {}
        self.nodes: list[Node] = []
        self._constants: dict[tuple[str, float], RecordedArray] = {}
        self._outputs: dict[str, list[TensorView]] = {}

    def trace(self, recipe_name: str, recipe: str, step: int) -> TraceSet:
        return TraceSet(recipe_name, recipe, step, self.tensors, tuple(self.nodes))

    # -- tensors -----------------------------------------------------------------------------------------------------

    def input(self, name: str, x: Array) -> RecordedArray:
        """A tensor that no node computes, in FP32, or of integers from 0."""
        if x.dtype.kind in "iu":
            fmt, codes = UNSIGNED, x.astype(np.uint32)
        else:
            fmt, codes = FP32, canonical(np.ascontiguousarray(x, np.float32).view(np.uint32))
        return as_recorded(x, self._add(CodeTensor(name, fmt, x.shape), codes))

    def input_codes(self, tensor: CodeTensor, codes: Codes) -> TensorView:
        """Codes that no node computes, of any format."""
        return TensorView(self._add(tensor, codes.astype(np.uint64)), tensor.shape)

    def constant(self, name: str, value: float) -> RecordedArray:
        """A number, in FP32."""
        key = name, float(value)
        if key not in self._constants:
            self._constants[key] = self.input(f"constants/{name}", np.array(value, np.float32))
        return self._constants[key]

    def view(self, x: Array) -> TensorView:
        """A tensor as an input of a node."""
        if not isinstance(x, RecordedArray) or not x.name:
            raise Error(
                "a layer or an optimizer gives an operation a tensor that no operation of its numerics made, which no "
                "trace records"
            )
        return TensorView(x.name, x.shape)

    def tensor(self, view: TensorView) -> RecordedArray:
        """A node's output, as an input of operations."""
        codes = self.codes[view.tensor].reshape(view.shape)
        return as_recorded(fp32_codes(codes, self.tensors[view.tensor].fmt).view(np.float32), view.tensor)

    def words(self, view: TensorView) -> RecordedArray:
        """Integers that a node computed."""
        return as_recorded(self.codes[view.tensor].reshape(view.shape), view.tensor)

    def _add(self, tensor: CodeTensor, codes: Codes) -> str:
        name, count = tensor.name, 1
        while name in self.tensors:
            count += 1
            name = f"{tensor.name}.{count}"
        self.tensors[name] = dataclasses.replace(tensor, name=name)
        self.codes[name] = np.array(codes).reshape(tensor.shape)
        return name

    # -- nodes -------------------------------------------------------------------------------------------------------

    def make(
        self,
        op: str,
        inputs: Sequence[TensorView],
        outputs: Sequence[CodeTensor],
        options: Mapping[str, Any] | None = None,
    ) -> list[TensorView]:
        """Execute an operation of the trace; returns its outputs. Repeated operations are executed once."""
        node = Node(op, tuple(inputs), tuple(m.name for m in outputs), dict(options or {}))
        key = repr((op, node.inputs, sorted(node.options.items(), key=str), [(m.fmt.name, m.shape) for m in outputs]))
        if key not in self._outputs:
            self._outputs[key] = self._store(node, outputs, self._computed(node, outputs))
        return self._outputs[key]

    def record(
        self, op: str, inputs: Sequence[TensorView], y: Array, name: str, options: Mapping[str, Any]
    ) -> RecordedArray:
        """The result of an operation that the host computed, as the trace defines it."""
        formats = [self.tensors[v.tensor].fmt for v in inputs]
        same_format = op in SELECTIONS and all(f == formats[0] for f in formats if not f.is_integer)
        output = CodeTensor(name, formats[0] if same_format else FP32, y.shape)
        node = Node(op, tuple(inputs), (name,), dict(options))
        return self.tensor(self._store(node, [output], self._computed(node, [output]))[0])

    def random(
        self, name: str, source: RandomSource, n: int, shape: tuple[int, ...], transposed: bool = False
    ) -> TensorView:
        """Random words of a source. transposed: the order of its positions."""
        options = {"source": source.spec()} | ({"transposed": True} if transposed else {})
        return self.make("random", [], [CodeTensor(name, get_format(f"u{n}"), shape)], options)[0]

    def _computed(self, node: Node, outputs: Sequence[CodeTensor]) -> list[Codes]:
        results = operation_of(node).compute(case_of(node, self.tensors, self.codes, outputs))
        for codes, output in zip(results, outputs, strict=True):
            if codes.size != output.size:
                raise Error(f"{node.op} makes {codes.size} codes, not {output.shape}")
        return results

    def _store(self, node: Node, outputs: Sequence[CodeTensor], codes: Sequence[Codes]) -> list[TensorView]:
        names = tuple(self._add(m, c) for m, c in zip(outputs, codes, strict=True))
        self.nodes.append(Node(node.op, node.inputs, names, node.options))
        return [TensorView(name, m.shape) for name, m in zip(names, outputs, strict=True)]
