"""One node with the codes of its inputs, the interface of a trace's operations, and their FP32 arithmetic: on arrays,
and one by one by the scalar oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert, operations
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.model import CodeTensor, Node
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.operations import evaluate

T = TypeVar("T")
Codes = NDArray[Any]

FP32: Final = CATALOGUE["fp32"]
ONE: Final = 0x3F800000
NAN: Final = FP32.canonical_nan
_UFUNCS: Final = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


@dataclass(frozen=True)
class NodeCase:
    """A node's inputs in the shapes in which it takes them, with their formats; its outputs, and its options."""

    inputs: tuple[Codes, ...]
    formats: tuple[Format, ...]
    outputs: tuple[CodeTensor, ...]
    options: Mapping[str, Any]
    _known: dict[object, Any] = field(default_factory=dict, compare=False)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Values needed for every unit, computed once."""
        if key not in self._known:
            self._known[key] = make()
        value: T = self._known[key]
        return value

    def values(self, i: int) -> Codes:
        """An input as FP32 codes."""
        return self.once(i, lambda: fp32_codes(self.inputs[i], self.formats[i]))

    def integer(self, name: str, low: int, high: int) -> int:
        """An option that is an integer between two. Raises Error."""
        value = self.options.get(name)
        if type(value) is not int or not low <= value <= high:
            raise Error(f"option {name} = {value!r} is not an integer from {low} to {high}")
        return value

    def needs(self, inputs: int, outputs: int = 1) -> None:
        """Raise Error if the node has different numbers of them."""
        if (len(self.inputs), len(self.outputs)) != (inputs, outputs):
            raise Error(f"takes {inputs} inputs to {outputs} outputs, not {len(self.inputs)} to {len(self.outputs)}")


def case_of(
    node: Node,
    tensors: Mapping[str, CodeTensor],
    codes: Mapping[str, Codes],
    outputs: Iterable[CodeTensor] | None = None,
) -> NodeCase:
    """A node with the codes of its inputs. outputs: those that are not yet among the tensors."""
    return NodeCase(
        tuple(codes[v.tensor].reshape(v.shape) for v in node.inputs),
        tuple(tensors[v.tensor].fmt for v in node.inputs),
        tuple(outputs or (tensors[name] for name in node.outputs)),
        node.options,
    )


class OracleCodes(NamedTuple):
    """The oracle's codes: of which output, at which positions (in row order), and the codes."""

    output: int
    places: list[int]
    codes: list[int]


class NodeOperation(Protocol):
    """An operation of a trace, computed on arrays, and unit by unit by the scalar oracle."""

    def compute(self, case: NodeCase) -> list[Codes]:
        """The codes of every output. Raises Error if inputs, outputs and options do not match."""

    def units(self, case: NodeCase) -> int:
        """The number of units that the oracle can compute independently."""

    def one(self, case: NodeCase, unit: int) -> list[OracleCodes]:
        """Compute one of them."""


def broadcast_code(codes: Codes, shape: tuple[int, ...], place: int) -> int:
    """The code at a position of a shape after broadcasting."""
    at = np.unravel_index(place, shape)
    last = at[len(shape) - codes.ndim :]
    return int(codes[tuple(0 if n == 1 else i for i, n in zip(last, codes.shape, strict=True))])


class ByElement:
    """The base of operations with one output and one unit per element."""

    def units(self, case: NodeCase) -> int:
        return case.outputs[0].size

    def one(self, case: NodeCase, unit: int) -> list[OracleCodes]:
        return [OracleCodes(0, [unit], [self.element(case, unit)])]

    def element(self, case: NodeCase, place: int) -> int:
        """The code at a position, by the oracle."""
        raise NotImplementedError


# -- FP32 --------------------------------------------------------------------------------------------------------------


def fp32_codes(codes: Codes, fmt: Format) -> Codes:
    """The FP32 codes of values of a format that FP32 contains; every NaN is the canonical one."""
    bits = codes.astype(np.uint32) if fmt == FP32 else np.asarray(convert.decode(codes, fmt)).view(np.uint32)
    return canonical(bits)


def canonical(codes: Codes) -> Codes:
    """FP32 codes with one NaN."""
    return np.where((codes & 0x7FFFFFFF) > FP32.inf_code, np.uint32(NAN), codes).astype(np.uint32)


def apply(op: str, a: Codes, b: Codes) -> Codes:
    """add, sub, mul or div of FP32 codes, to nearest even; shapes broadcast."""
    if convert.flushes_subnormals():
        return np.asarray(operations.evaluate(op, (a, b), FP32))
    with np.errstate(all="ignore"):
        values = _UFUNCS[op](a.view(np.float32), b.view(np.float32))
    return canonical(np.asarray(values, np.float32).view(np.uint32))


def root(a: Codes) -> Codes:
    """The square roots of FP32 codes, to nearest even."""
    if convert.flushes_subnormals():
        return np.asarray(operations.evaluate("sqrt", (a,), FP32))
    with np.errstate(all="ignore"):
        return canonical(np.sqrt(a.view(np.float32)).view(np.uint32))


def apply_one(op: str, a: int, b: int) -> int:
    """The same of two codes, by the oracle."""
    return int(evaluate(op, (a, b), FP32).bits)


def summed(rows: Codes) -> Codes:
    """The sequential sum over the first axis: the first, and the others added to it one after the other."""
    return reduce(partial(apply, "add"), rows)


def summed_one(codes: Iterable[int]) -> int:
    """The same of codes, by the oracle."""
    return int(reduce(partial(apply_one, "add"), codes))


def positive(code: int) -> bool:
    """Whether an FP32 code is a number above zero, or Inf."""
    return 0 < code <= FP32.inf_code


def matrix(codes: Codes) -> Codes:
    """The codes. Raises Error if they are not a matrix."""
    if codes.ndim != 2 or not codes.size:
        raise Error(f"expects a matrix, not an array of shape {codes.shape}")
    return codes
