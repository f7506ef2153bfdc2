"""The one interface that every number in a format passes through; one `Numerics` per layer.

It has the operations that layers are made of, and the conversions and products between them. A tensor is held in the
format of its role before a product; a product has FP32 results; a result goes into the format of its role; vector
operations have a format of their own. Quantization has the derivative of the identity (the straight-through
estimator), or none where a value was beyond the format, if the recipe says clip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.blocks import matmul
from softfloat_ref.arrays.functions import lstm_gate_errors
from softfloat_ref.base.errors import Error
from softfloat_ref.nn.checkpoint import under
from softfloat_ref.nn.operations import GATES, TensorOperations
from softfloat_ref.nn.quantizers import Quantizer, Seen, WatchedQuantizer, quantizer
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.oracle.sources import Philox, key

Array = NDArray[Any]  # float32; float64 where gradients are checked numerically
ROLES: Final = ("weight", "activation", "error", "weight_gradient", "function", "vector", "master", "optimizer")
BLAS: Final = "blas"


@dataclass
class RunState:
    """What all layers of a network share: the seed, the step, and whether it trains.

    A random word depends on the seed, the step and its turn, the tensor's name and the position in the tensor alone.
    """

    seed: int = 0
    step: int = 0
    training: bool = True
    turn: str = ""  # the part of the step that is being done, where it has parts
    phase: str = ""  # what is being done: forward, backward, ...; and the time step
    _seen: dict[str, int] = field(default_factory=dict)

    def begin(self, step: int, training: bool = True, turn: str = "") -> None:
        """Start a step, or a turn of it; its tensors are counted from 0 again."""
        self.step, self.training, self.turn = step, training, turn
        self._seen.clear()

    def signs(self) -> Philox:
        """The random signs of Hadamard transforms: the same in every step and layer."""
        return Philox(key(f"{self.seed}/hadamard"))

    def source(self, tensor: str) -> Philox:
        """The random bits of the next tensor of that name in this step."""
        count = self._seen.get(tensor, 0)
        self._seen[tensor] = count + 1
        return Philox(key(f"{self.seed}/{self.step}{self.turn}/{tensor}/{count}"))


class Softmax(NamedTuple):
    """The result of a softmax, the operand minus its largest, and the sums of the exponentials of that."""

    shares: Array
    shifted: Array
    sums: Array


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
        values = np.ascontiguousarray(self.values if axis == place else self.values.swapaxes(-1, -2))
        if self.quantizer is None:
            return values.astype(np.float32, copy=False).view(np.uint32), "fp32"
        source = None if self.source is None else self.source(axis)
        return self.quantizer.operand(values, source, place + values.ndim - 2)


class Numerics(TensorOperations):
    """The operations and formats of one layer. Without specs: FP32 throughout, no copies.

    hadamard: the size of the transform of weight gradients' operands, or 0. Raises Error if it is not 0 and the formats
    of these operands have no blocks: the transform comes before values are rounded.
    """

    records = False  # whether every operation is told one by one

    def __init__(
        self,
        name: str = "",
        specs: Mapping[str, TensorFormat] | None = None,
        accumulator: str = BLAS,
        run: RunState | None = None,
        hadamard: int = 0,
    ) -> None:
        self.name, self.accumulator, self.run, self.hadamard_size = name, accumulator, run or RunState(), hadamard
        self.specs = dict(specs or {})
        self._by_role: dict[str, Quantizer | None] = dict.fromkeys(ROLES)
        self._by_role |= {role: quantizer(spec) for role, spec in self.specs.items()}
        for role in ("activation", "error") if hadamard else ():
            if not self.block_size(role):
                raise Error(f"hadamard = {hadamard}: {name or 'a layer'}'s role {role} needs a block format; the "
                            "transform comes before quantization")  # fmt: skip

    @property
    def takes_values(self) -> bool:
        """Whether products take values, whatever their axis, rather than codes."""
        return self.accumulator == BLAS

    def at_once(self, x: Array) -> bool:
        """Whether several operations on x, which have no formats between them, may be one loop: in FP32, unrecorded."""
        return not self.records and x.dtype == np.float32

    def is_plain(self, x: Array) -> bool:
        """Whether that is so of all operations here, as nothing has a format."""
        return self.at_once(x) and not any(self._by_role.values())

    def steps(self, order: Iterable[int]) -> Iterator[int]:
        """Time steps in an order, each with a phase of its own."""
        phase = self.run.phase
        for t in order:
            self.run.phase = f"{phase}/t{t}"
            yield t
        self.run.phase = phase

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """A part of a phase, with a name of its own in a record."""
        phase = self.run.phase
        self.run.phase = f"{phase}/{name}"
        yield
        self.run.phase = phase

    # -- tensors ---------------------------------------------------------------------------------------------------

    def given(self, name: str, x: Array) -> Array:
        """A tensor that comes from before the step."""
        return x

    def number(self, name: str, value: float) -> Any:
        """A constant, rounded to FP32 unless it has a type of its own."""
        return value if isinstance(value, np.floating) else np.float32(value)

    def random(self, n: int, shape: tuple[int, ...], name: str) -> Array:
        """Random words of n bits, of this layer and step."""
        return self.words(self.run.source(f"{self.name}/{name}"), n, shape, name)

    def words(self, source: Philox, n: int, shape: tuple[int, ...], name: str) -> Array:
        """Random words of n bits of a source, from its beginning."""
        return source.array(n, 0, math.prod(shape)).reshape(shape)

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

    def silu_slope(self, x: Array, name: str = "slope") -> Array:
        """The derivative of silu at x: s (1 + x (1 - s)), s being the sigmoid of x."""
        s = self.sigmoid(x, f"{name}_sigmoid")
        rest = self.mul(x, self.sub(self.number("one", 1), s, f"{name}_complement"), f"{name}_rest")
        return self.mul(s, self.add(rest, self.number("one", 1), f"{name}_factor", out=rest), name, out=s)

    def gelu_slope(self, x: Array, name: str = "slope") -> Array:
        """The derivative of gelu at x: (1 + erf(x / sqrt 2)) / 2 + x (e^(-x x / 2) / sqrt(2 pi))."""
        number = x.dtype.type
        inner = self.mul(x, self.number("root_half", number(math.sqrt(0.5))), f"{name}_inner")
        share = self.add(self.erf(inner, f"{name}_erf"), self.number("one", 1), f"{name}_above")
        share = self.mul(share, self.number("half", 0.5), f"{name}_share", out=share)
        power = self.mul(self.mul(x, x, f"{name}_square"), self.number("minus_half", -0.5), f"{name}_power")
        density = self.exp(power, f"{name}_exp")
        scale = self.number("density_scale", number(1 / math.sqrt(2 * math.pi)))
        density = self.mul(density, scale, f"{name}_density", out=density)
        return self.add(share, self.mul(x, density, f"{name}_rest"), name, out=share)

    def gelu_tanh_slope(self, x: Array, name: str = "slope") -> Array:
        """The derivative of gelu_tanh at x: (1 + t) / 2 + (x (1 - t t) / 2) (c (1 + 3 a x x)), with c = sqrt(2/pi),
        a = 0.044715 and t = tanh(c (x + a (x x) x))."""
        number, one, half = x.dtype.type, self.number("one", 1), self.number("half", 0.5)
        scale = self.number("gelu_scale", number(math.sqrt(2 / math.pi)))
        square = self.mul(x, x, f"{name}_square")
        cubic = self.mul(
            self.mul(square, self.number("gelu_cubic", number(0.044715)), f"{name}_part"), x, f"{name}_cubic"
        )
        inner = self.mul(self.add(x, cubic, f"{name}_sum", out=cubic), scale, f"{name}_inner")
        t = self.tanh(inner, f"{name}_tanh")
        share = self.mul(self.add(t, one, f"{name}_above"), half, f"{name}_share")
        rest = self.mul(
            self.mul(x, self.tanh_slope(t, f"{name}_tanh_slope"), f"{name}_rest"), half, f"{name}_half_rest"
        )
        growth = self.mul(square, self.number("gelu_growth", number(3 * 0.044715)), f"{name}_growth", out=square)
        growth = self.mul(self.add(growth, one, f"{name}_growth_above", out=growth), scale, f"{name}_inner_slope")
        return self.add(share, self.mul(rest, growth, f"{name}_moved"), name, out=share)

    def softmax(self, x: Array) -> Softmax:
        """The shares of e^x over the last axis, and what they are computed from, all in FP32."""
        shifted = self.sub(x, self.last_max(x, "largest"), "shifted")
        exponentials = self.exp(shifted, "exponentials")
        sums = self.last_sum(exponentials, "sums")
        return Softmax(self.div(exponentials, sums, "shares"), shifted, sums)

    def gate_errors(
        self, gates: Array, parts: Sequence[Array], before: Array, bounded: Array, dc: Array, dh: Array
    ) -> Array:
        """The errors of the sums of an LSTM's gates, from those of the cell and of the state after a step. parts: the
        gates one by one. before: the cell before the step; bounded: tanh of that after it."""
        if self.at_once(gates):
            return lstm_gate_errors(gates, before, bounded, dc, dh)
        i, _, g, _ = parts
        factors = (dc, g), (dc, before), (dc, i), (dh, bounded)
        products = [self.mul(*both, f"{gate}_error") for gate, both in zip(GATES, factors, strict=True)]
        errors = self.concatenate(products, 1, "gate_errors")
        return self.mul(errors, self.gate_slopes(gates, parts), "gate_sum_errors", out=errors)

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
        ranges: dict[str, Array] = {}
        for role, by in self._by_role.items():
            ranges |= {f"{role}/{k}": v for k, v in (by.state() if by else {}).items()}
        return ranges

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a stored state."""
        for role, by in self._by_role.items():
            own = under(f"{role}/", state)
            if by is not None and own:
                by.restore(own)

    def quantizer(self, role: str) -> Quantizer | None:
        """How tensors of a role are quantized; None in FP32."""
        return self._by_role[role]

    def averages(self, role: str) -> bool:
        """Whether the role's range is an average over the tensors that were seen."""
        return role in self.specs and self.specs[role].observer != "minmax"

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
            by_axis = partial(self._source_along, role) if self._draws(by) else None
            return Held(x, role, by, by_axis)
        values, clip = self._into(x, by, role), role in self.specs and self.specs[role].clip
        limit = self.number(f"largest_{self.specs[role].format}", by.largest()) if clip else None
        return Held(values, role, by, None, self.inside(x, limit, f"{role}_inside") if clip else None)

    def through(self, gradient: Array, held: Held) -> Array:
        """The straight-through estimator: the gradient of what was held, as it is, or nothing where it was clipped."""
        return gradient if held.inside is None else self.mul(gradient, held.inside, f"{held.role}_clipped")

    def product(self, a: Held, b: Held, a_axis: int, b_axis: int) -> Array:
        """The matrix product that reduces an axis of a with one of b; float32, the other axis of a first. Of arrays of
        matrices, the product of each pair."""
        if self.accumulator != BLAS:
            (x, x_format), (y, y_format) = a.operand(a_axis, 1), b.operand(b_axis, 0)
            return matmul(x, y, self.accumulator, fmt=(x_format, y_format))
        left, right = (x.along(axis + x.values.ndim - 2) for x, axis in ((a, a_axis), (b, b_axis)))
        return (left if a_axis == 1 else left.swapaxes(-1, -2)) @ (right if b_axis == 0 else right.swapaxes(-1, -2))

    def weight_product(self, a: Held, b: Held) -> Array:
        """The product that is a weight's gradient: rows of a with rows of b, each transformed first where the recipe
        has a Hadamard transform."""
        if self.hadamard_size:
            signs = self.words(self.run.signs(), 1, (self.hadamard_size,), "hadamard_signs")
            a, b = (x.moved(self.hadamard(x.values, signs, f"{x.role}_transformed")) for x in (a, b))
        return self.product(a, b, 0, 0)

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
        source = self.run.source(f"{self.name}/{role}") if self._draws(by) else None
        return by.values(x, source, training=self.run.training)

    def _draws(self, by: Quantizer) -> bool:
        return by.stochastic and self.run.training

    def _source_along(self, role: str, axis: int) -> Philox:
        return self.run.source(f"{self.name}/{role}/axis {axis}")
