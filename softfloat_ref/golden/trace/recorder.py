"""Recording a trace: tensors are known by their values, so that one operation's output is the next one's input."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.errors import Error
from softfloat_ref.formats import Format, get_format
from softfloat_ref.golden.trace.check import case_of, operation
from softfloat_ref.golden.trace.model import Node, Tensor, TraceSet, View
from softfloat_ref.golden.trace.numbers import FP32, Codes, canonical, fp32
from softfloat_ref.golden.trace.operations import RECORDED

Array = NDArray[Any]
UNSIGNED: Final = get_format("u32")


class Made(NamedTuple):
    """An output of a node that is to be: what it is called, its format and shape."""

    name: str
    fmt: Format
    shape: tuple[int, ...]


class Recorder:
    """Tensors and nodes, in the order in which they come."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.codes: dict[str, Codes] = {}
        self.nodes: list[Node] = []
        self._by_values: dict[bytes, list[str]] = {}
        self._made: dict[str, tuple[str, ...]] = {}

    def trace(self, recipe_name: str, recipe: str, step: int) -> TraceSet:
        """What was recorded."""
        return TraceSet(recipe_name, recipe, step, self.tensors, tuple(self.nodes))

    # -- tensors -----------------------------------------------------------------------------------------------------

    def find(self, x: Array, fmt: Format | None = None) -> str | None:
        """The last tensor that has these values, in whatever shape; fmt: in this format."""
        names = self._by_values.get(_key(x), ())
        return next((n for n in reversed(names) if fmt is None or self.tensors[n].fmt == fmt), None)

    def given(self, name: str, x: Array) -> str:
        """A tensor that no node makes, in FP32, or of integers from 0."""
        if name in self.tensors and name in self._by_values.get(_key(x), ()):
            return name
        if x.dtype.kind in "iu":
            return self._add(Made(name, UNSIGNED, x.shape), x.astype(np.uint32))
        return self._add(Made(name, FP32, x.shape), _bits(x))

    def given_codes(self, made: Made, codes: Codes) -> str:
        """Codes that no node makes, of any format."""
        return self._add(made, codes.astype(np.uint64))

    def constant(self, name: str, value: float | np.floating[Any]) -> str:
        """A number, in FP32."""
        return self.given(f"constants/{name}", np.array(value, np.float32))

    def _add(self, made: Made, codes: Codes) -> str:
        name, count = made.name, 1
        while name in self.tensors:
            count += 1
            name = f"{made.name}.{count}"
        self.tensors[name] = Tensor(name, made.fmt, made.shape)
        self.codes[name] = np.ascontiguousarray(codes).reshape(made.shape)
        values = codes if made.fmt == UNSIGNED else self._values(self.codes[name], made.fmt)
        if values is not None:
            self._by_values.setdefault(_key(values), []).append(name)
        return name

    @staticmethod
    def _values(codes: Codes, fmt: Format) -> Array | None:
        """What the codes are worth; None for those that no layer takes: integers and scales."""
        if fmt.is_integer or not fmt.signed:
            return None
        return fp32(codes, fmt).view(np.float32)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def view(self, name: str, shape: Sequence[int] | None = None) -> View:
        """A tensor as an input, in its own shape or another."""
        return View(name, self.tensors[name].shape if shape is None else tuple(shape))

    def make(
        self, op: str, inputs: Sequence[View], outputs: Sequence[Made], options: Mapping[str, Any] | None = None
    ) -> tuple[str, ...]:
        """Do an operation; its outputs become tensors. The same operation of the same inputs is done once."""
        node = Node(op, tuple(inputs), tuple(m.name for m in outputs), dict(options or {}))
        known = self._made.get(_identity(node, outputs))
        return self._store(node, outputs, self._computed(node, outputs)) if known is None else known

    def explain(
        self, x: Array, op: str, inputs: Sequence[View], made: Made, options: Mapping[str, Any] | None = None
    ) -> str | None:
        """The operation, where it gives exactly these values; else None, and nothing is recorded."""
        node = Node(op, tuple(inputs), (made.name,), dict(options or {}))
        try:
            codes = self._computed(node, [made])
        except (Error, ValueError, IndexError):
            return None
        values = self._values(codes[0], made.fmt)
        if values is None or values.size != x.size or _key(values) != _key(x):
            return None
        return self._store(node, [made], codes)[0]

    def record(self, x: Array, name: str, what: str, inputs: Sequence[View] = ()) -> str:
        """A tensor that the host computed, with what went into it."""
        node = Node(RECORDED, tuple(inputs), (name,), {"of": what})
        return self._store(node, [Made(name, FP32, x.shape)], [_bits(x)])[0]

    def _computed(self, node: Node, outputs: Sequence[Made]) -> list[Codes]:
        case = case_of(self.trace("", "", 0), _without_outputs(node), self.codes)
        tensors = tuple(Tensor(*m) for m in outputs)
        made = operation(node).compute(type(case)(case.inputs, case.formats, tensors, node.options))
        for codes, output in zip(made, outputs, strict=True):
            if codes.size != prod(output.shape):
                raise Error(f"{node.op} makes {codes.size} codes, not {output.shape}")
        return made

    def _store(self, node: Node, outputs: Sequence[Made], codes: Sequence[Codes]) -> tuple[str, ...]:
        names = tuple(self._add(m, c) for m, c in zip(outputs, codes, strict=True))
        self.nodes.append(Node(node.op, node.inputs, names, node.options))
        self._made[_identity(node, outputs)] = names
        return names

    def values(self, name: str) -> Array:
        """What a tensor is worth, float32."""
        return fp32(self.codes[name], self.tensors[name].fmt).view(np.float32)


def _identity(node: Node, outputs: Sequence[Made]) -> str:
    return repr((node.op, node.inputs, sorted(node.options.items(), key=str), [(m.fmt.name, m.shape) for m in outputs]))


def _without_outputs(node: Node) -> Node:
    return Node(node.op, node.inputs, (), node.options)


def _bits(x: Array) -> Codes:
    return canonical(np.ascontiguousarray(x, np.float32).view(np.uint32))


def _key(x: Array) -> bytes:
    """The values' own: the bits of numbers, every NaN being one."""
    data = x.astype(np.uint32) if x.dtype.kind in "iu" else _bits(x)
    kind = b"i" if x.dtype.kind in "iu" else b"f"
    return kind + hashlib.blake2b(np.ascontiguousarray(data).tobytes(), digest_size=16).digest()
