"""The one interface that every number in a format passes through; one `Numerics` per layer.

It has the operations that layers are made of, and the conversions and products between them. A tensor is held in the
format of its role before a product; a product has FP32 results; a result goes into the format of its role; vector
operations have a format of their own. Quantization has the derivative of the identity (the straight-through
estimator), or none where a value was beyond the format, if the recipe says clip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.blocks import matmul
from softfloat_ref.nn.operations import Operations
from softfloat_ref.nn.quantizers import Quantizer, quantizer
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.nn.watched import Seen, WatchedQuantizer
from softfloat_ref.oracle.sources import Philox, key

Array = NDArray[Any]  # float32; float64 where gradients are checked numerically
ROLES: Final = ("weight", "activation", "error", "weight_gradient", "function", "vector", "master", "optimizer")
BLAS: Final = "blas"


@dataclass
class Run:
    """What all layers of a network share: the seed, the step, and whether it trains.

    A random word depends on the seed, the step, the tensor's name and the position in the tensor alone.
    """

    seed: int = 0
    step: int = 0
    training: bool = True
    phase: str = ""  # what is being done: forward, backward, ...; and the time step
    _seen: dict[str, int] = field(default_factory=dict)

    def begin(self, step: int, training: bool = True) -> None:
        """Start a step; its tensors are counted from 0 again."""
        self.step, self.training = step, training
        self._seen.clear()

    def source(self, tensor: str) -> Philox:
        """The random bits of the next tensor of that name in this step."""
        count = self._seen.get(tensor, 0)
        self._seen[tensor] = count + 1
        return Philox(key(f"{self.seed}/{self.step}/{tensor}/{count}"))


class Held:
    """A tensor as products take it. values: float32, in the format where that is scalar; blocks are made at each
    product, along the axis it reduces. inside: where the format did not clip."""

    __slots__ = ("_blocks", "inside", "quantizer", "role", "source", "values")

    def __init__(
        self, values: Array, role: str, by: Quantizer | None, source: Any = None, inside: Array | None = None
    ) -> None:
        self.values, self.role, self.quantizer, self.source, self.inside = values, role, by, source, inside
        self._blocks: dict[int, Array] = {}

    def along(self, axis: int) -> Array:
        """The values with blocks along an axis, where the format has blocks."""
        if self.quantizer is None or not self.quantizer.by_product:
            return self.values
        if axis not in self._blocks:
            source = None if self.source is None else self.source(axis)
            self._blocks[axis] = self.quantizer.values(self.values, source, axis)
        return self._blocks[axis]

    def moved(self, values: Array) -> Held:
        """Other values that are held likewise: rearranged, or several tensors as one."""
        return Held(values, self.role, self.quantizer, self.source)

    def operand(self, axis: int, place: int) -> tuple[Any, Any]:
        """What a bit-exact product takes, the reduced axis at `place`: a BlockArray, or codes and their format."""
        values = np.ascontiguousarray(self.values if axis == place else self.values.T)
        if self.quantizer is None:
            return values.astype(np.float32, copy=False).view(np.uint32), "fp32"
        return self.quantizer.operand(values, None if self.source is None else self.source(axis), place)


class Numerics(Operations):
    """The operations and formats of one layer. Without specs: FP32 throughout, no copies."""

    def __init__(
        self,
        name: str = "",
        specs: Mapping[str, TensorFormat] | None = None,
        accumulator: str = BLAS,
        run: Run | None = None,
    ) -> None:
        self.name, self.accumulator, self.run = name, accumulator, run or Run()
        self.specs = dict(specs or {})
        self._by_role: dict[str, Quantizer | None] = dict.fromkeys(ROLES)
        self._by_role |= {role: quantizer(spec) for role, spec in self.specs.items()}

    @property
    def takes_values(self) -> bool:
        """Whether products take values, whatever their axis, rather than codes."""
        return self.accumulator == BLAS

    def steps(self, order: Iterable[int]) -> Iterator[int]:
        """Time steps in an order, each with a phase of its own."""
        phase = self.run.phase
        for t in order:
            self.run.phase = f"{phase}/t{t}"
            yield t
        self.run.phase = phase

    # -- tensors ---------------------------------------------------------------------------------------------------

    def given(self, name: str, x: Array) -> Array:
        """A tensor that comes from before the step."""
        return x

    def number(self, name: str, value: float) -> Any:
        """A constant."""
        return value

    def random(self, n: int, shape: tuple[int, ...], name: str) -> Array:
        """Random words of n bits, of this layer and step."""
        return self.run.source(f"{self.name}/{name}").array(n, 0, int(np.prod(shape))).reshape(shape)

    def assign(self, target: Array, values: Array) -> Array:
        """Values in place of others."""
        if values is not target:
            target[...] = values
        return target

    # -- of several operations ---------------------------------------------------------------------------------------

    def sigmoid_slope(self, y: Array, name: str = "slope") -> Array:
        """The derivative of the sigmoid function where its value is y: y (1 - y)."""
        slope = self.sub(self.number("one", 1), y, f"{name}_complement")
        return self.mul(y, slope, name, out=slope)

    def tanh_slope(self, y: Array, name: str = "slope") -> Array:
        """The derivative of tanh where its value is y: 1 - y y."""
        slope = self.mul(y, y, f"{name}_square")
        return self.sub(self.number("one", 1), slope, name, out=slope)

    def parts(self, x: Array, names: Sequence[str]) -> list[Array]:
        """A matrix cut into matrices of as many columns each."""
        n = x.shape[1] // len(names)
        return [self.slice(x, 1, i * n, (i + 1) * n, name) for i, name in enumerate(names)]

    def at(self, x: Array, i: int, name: str) -> Array:
        """x[i]."""
        return self.slice(x, 0, i, i + 1, name).reshape(x.shape[1:])

    # -- formats -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Array]:
        """What a checkpoint stores: the ranges that observers have seen, by role."""
        found: dict[str, Array] = {}
        for role, by in self._by_role.items():
            found |= {f"{role}/{k}": v for k, v in (by.state() if by else {}).items()}
        return found

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a stored state."""
        for role, by in self._by_role.items():
            mine = {k.removeprefix(f"{role}/"): v for k, v in state.items() if k.startswith(f"{role}/")}
            if by is not None and mine:
                by.restore(mine)

    def quantizer(self, role: str) -> Quantizer | None:
        """How tensors of a role are quantized; None in FP32."""
        return self._by_role[role]

    def watch(self, see: Callable[[str, Seen], object]) -> None:
        """Call `see` with its role for each tensor that is quantized from now on."""
        for role, by in self._by_role.items():
            if by is not None:
                self._by_role[role] = WatchedQuantizer(by, partial(see, role))

    def block_size(self, role: str) -> int:
        """The block size of the role's block format; 0 for other formats."""
        by = self._by_role[role]
        return by.fmt.size if by is not None and by.by_product else 0

    def hold(self, x: Array, role: str) -> Held:
        """A tensor for products: quantized now where the format is scalar, later where it has blocks."""
        by = self._by_role[role]
        if by is None:
            return Held(x, role, None)
        if by.by_product:
            return Held(x, role, by, self._source_by_axis(role) if self._draws(by) else None)
        values, clip = self._into(x, by, role), role in self.specs and self.specs[role].clip
        limit = self.number(f"largest_{self.specs[role].format}", by.largest()) if clip else None
        return Held(values, role, by, None, self.inside(x, limit, f"{role}_inside") if clip else None)

    def through(self, gradient: Array, held: Held) -> Array:
        """The straight-through estimator: the gradient of what was held, as it is, or nothing where it was clipped."""
        return gradient if held.inside is None else self.mul(gradient, held.inside, f"{held.role}_clipped")

    def product(self, a: Held, b: Held, a_axis: int, b_axis: int) -> Array:
        """The matrix product that reduces an axis of a with one of b; float32, the other axis of a first."""
        if self.accumulator != BLAS:
            (x, x_format), (y, y_format) = a.operand(a_axis, 1), b.operand(b_axis, 0)
            return matmul(x, y, self.accumulator, fmt=(x_format, y_format))
        left, right = a.along(a_axis), b.along(b_axis)
        return (left if a_axis == 1 else left.T) @ (right if b_axis == 0 else right.T)

    def result(self, y: Array, role: str) -> Array:
        """What a product or a reduction gave, in the format of its role; y may be changed.

        Weight gradients take any format. Activations and errors in block and affine formats are quantized where the
        next product takes them, and are in the vector format until then.
        """
        by = self._by_role[role]
        if by is None:
            return self.vector(y)
        if role != "weight_gradient" and (by.by_product or by.largest() == float("inf")):
            return self.vector(y)
        return self._into(y, by, role)

    def vector(self, x: Array) -> Array:
        """A result of a vector operation (norms, softmax, residual additions); x may be changed."""
        by = self._by_role["vector"]
        return x if by is None else self._into(x, by, "vector")

    def function(self, x: Array) -> Array:
        """What goes into an activation function, and what comes out."""
        by = self._by_role["function"]
        return self.vector(x) if by is None else self._into(x, by, "function")

    def function_error(self, x: Array) -> Array:
        """The error behind an activation function: where functions have a format, in that of errors."""
        return self.vector(x) if self._by_role["function"] is None else self.result(x, "error")

    def _into(self, x: Array, by: Quantizer, role: str) -> Array:
        source = self._source(role) if self._draws(by) else None
        return by.values(x, source, training=self.run.training)

    def _draws(self, by: Quantizer) -> bool:
        return by.stochastic and self.run.training

    def _source(self, role: str) -> Philox:
        return self.run.source(f"{self.name}/{role}")

    def _source_by_axis(self, role: str) -> Any:
        return lambda axis: self.run.source(f"{self.name}/{role}/axis {axis}")
