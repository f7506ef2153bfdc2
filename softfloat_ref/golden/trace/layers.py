"""Watching a network train: what layers do beside conversions and products, as operations that give the same bits.

What none gives, as exponentials and the statistics of norms, is recorded with what went into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Final

import numpy as np

from softfloat_ref.golden.trace import norms
from softfloat_ref.golden.trace.model import View
from softfloat_ref.golden.trace.numbers import FP32
from softfloat_ref.golden.trace.recorder import Array, Made, Recorder
from softfloat_ref.nn.layers import Layer

FORWARD: Final = "forward"
BACKWARD: Final = "backward"
LABELS: Final = "input/labels"
_NEAR: Final = 4  # tensors seen last that an unexplained one may come from


@dataclass
class Frame:
    """A layer at work. seen: tensors so far, the input first; products, errors: those of them that are."""

    layer: Layer
    name: str
    phase: str
    seen: list[str] = field(default_factory=list)
    products: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What its tensors are called, before the slash."""
        return f"{self.name}/{self.phase}"


class Watcher:
    """Knows which layer works, and explains the tensors that come out."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.gradients: dict[str, str] = {}  # of the scaled loss, by parameter
        self._roles: dict[str, str] = {}
        self._frames: list[Frame] = []
        self._idle = Frame(Layer(), "loss", "softmax_cross_entropy")

    @property
    def frame(self) -> Frame:
        """The layer at work."""
        return self._frames[-1] if self._frames else self._idle

    @contextmanager
    def at(self, name: str, phase: str) -> Iterator[None]:
        """Tensors are called after this place, in a `with` block."""
        self._frames.append(Frame(Layer(), name, phase))
        try:
            yield
        finally:
            self._frames.pop()

    def watch(self, name: str, layer: Layer) -> None:
        """See what a layer takes and gives from now on."""
        setattr(layer, FORWARD, self._around(name, layer, FORWARD, layer.forward))
        setattr(layer, BACKWARD, self._around(name, layer, BACKWARD, layer.backward))

    def _around(self, name: str, layer: Layer, phase: str, work: Callable[[Array], Array]) -> Callable[[Array], Array]:
        def watched(x: Array) -> Array:
            if phase == BACKWARD and not layer.needs_input_gradient and not layer.params:
                return work(x)  # before the first layer with weights, where nobody needs a gradient
            given = self.know(x)
            self._frames.append(Frame(layer, name, phase, [given]))
            y = work(x)
            made = None if phase == BACKWARD and not layer.needs_input_gradient else self.know(y)
            if phase == BACKWARD:
                for parameter, gradient in layer.grads.items():
                    found = self.know(gradient, f"{parameter}_gradient")
                    self.gradients[f"{name}/{parameter}"] = found
            self._frames.pop()
            if made is not None:
                self.frame.seen.append(made)
            return y

        return watched

    # -- what numerics tell ------------------------------------------------------------------------------------------

    def called(self, what: str) -> str:
        """The name of a tensor of the layer at work."""
        return f"{self.frame.label}/{what}"

    def product(self, name: str) -> None:
        """A product was made."""
        self.frame.products.append(name)
        self.frame.seen.append(name)

    def made(self, name: str) -> None:
        """A tensor was made."""
        self.frame.seen.append(name)

    def held(self, values: Array, role: str) -> None:
        """A tensor was brought into the format of its role."""
        found = self.recorder.find(values)
        if found is not None:
            self._roles[found] = role
            if role == "error":
                self.frame.errors.append(found)

    def role(self, values: Array) -> str:
        """The role that a tensor was held in last."""
        return self._roles.get(self.recorder.find(values) or "", "operand")

    def likewise(self, name: str | None, of: str) -> None:
        """A tensor is another one rearranged: it has its role."""
        if name is not None and of in self._roles:
            self._roles[name] = self._roles[of]

    def recorded(self, x: Array, what: str, inputs: list[View]) -> str:
        """A tensor that no operation gives."""
        name = self.recorder.record(x, self.called(what), what, inputs)
        self.frame.seen.append(name)
        return name

    def know(self, x: Array, what: str = "") -> str:
        """The tensor of these values: known, or what an operation of the layer at work gives, or recorded."""
        found = self.recorder.find(x)
        if found is None:
            found = next(filter(None, self._explained(x, what)), None)
        if found is None:
            return self.recorded(x, *self._from(what))
        self.frame.seen.append(found)
        return found

    def _from(self, what: str) -> tuple[str, list[View]]:
        """What an unexplained tensor is called, and what went into it: the layer's input, or logits and labels."""
        if self.frame is self._idle:
            return "gradient", [self.recorder.view(x) for x in (*self._idle.seen[-1:], LABELS)]
        return what or self.frame.layer.kind, [self.recorder.view(x) for x in self.frame.seen[:1]]

    # -- what layers do ----------------------------------------------------------------------------------------------

    def _explained(self, x: Array, what: str) -> Iterator[str | None]:
        frame = self.frame
        rules = _RULES.get((frame.layer.kind, frame.phase))
        if rules is not None:
            yield from rules(self, x, what)

    def try_one(self, x: Array, what: str, op: str, inputs: list[View], options: dict[str, Any] | None = None) -> Any:
        """The operation, if it gives x."""
        return self.recorder.explain(x, op, inputs, Made(self.called(what), FP32, x.shape), options)

    def near(self) -> list[str]:
        """The tensors seen last, the last one first, and the layer's input."""
        return list(dict.fromkeys([*self.frame.seen[: -_NEAR - 1 : -1], *self.frame.seen[:1]]))


def _biased(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    """A product with the bias added to each row."""
    bias = w.frame.layer.params.get("bias")
    if bias is not None and w.frame.products:
        rows = (x.size // bias.size, bias.size)
        added = w.recorder.view(w.recorder.given(f"{w.frame.name}/bias", bias))
        for name in reversed(w.frame.products):
            if w.recorder.tensors[name].size == x.size:
                yield w.try_one(x.reshape(rows), what or "biased", "add", [w.recorder.view(name, rows), added])


def _conv_forward(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    yield from _patches(w, x)
    yield from _biased(w, x, what)


def _kernel(layer: Any) -> dict[str, int]:
    return {"kernel": layer.kernel, "stride": layer.stride, "padding": layer.padding}


def _patches(w: Watcher, x: Array) -> Iterator[str | None]:
    layer: Any = w.frame.layer
    of = w.recorder.find(layer._x.values) if x.ndim == 2 else None
    if of is not None:
        fmt, view = w.recorder.tensors[of].fmt, w.recorder.view(of, layer._shape)
        name = w.recorder.explain(x, "patches", [view], Made(w.called("patches"), fmt, x.shape), _kernel(layer))
        w.likewise(name, of)
        yield name


def _summed(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    """The gradient of a bias: the errors of all rows."""
    if x.ndim == 1:
        for name in reversed(w.frame.errors):
            rows = (w.recorder.tensors[name].size // x.size, x.size)
            yield w.try_one(x, what or "bias_gradient", "row_sum", [w.recorder.view(name, rows)])


def _conv_backward(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    yield from _patches(w, x)
    yield from _summed(w, x, what)
    if w.frame.products:
        view = w.recorder.view(w.frame.products[-1])
        yield w.try_one(x, what or "summed", "patch_sum", [view], {**_kernel(w.frame.layer), "image": list(x.shape)})


def _relu(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    for name in w.near():
        yield w.try_one(x, what or "relu", "relu", [w.recorder.view(name)])


def _relu_back(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    layer: Any = w.frame.layer
    y = w.recorder.find(layer._y)
    if y is not None:
        for name in w.near():
            views = [w.recorder.view(name, x.shape), w.recorder.view(y, x.shape)]
            yield w.try_one(x, what or "relu_gradient", "relu_gradient", views)


def _curve_back(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    """The derivative of sigmoid, y (1 - y), or tanh, 1 - y y, times the error."""
    layer: Any = w.frame.layer
    y = w.recorder.find(layer._y)
    if y is None:
        return

    def do(op: str, called: str, *of: str) -> str:
        views = [w.recorder.view(n, () if n.startswith("constants/") else x.shape) for n in of]
        return w.recorder.make(op, views, [Made(w.called(called), FP32, x.shape)])[0]

    one = w.recorder.constant("one", 1)
    if layer.kind == "sigmoid":
        slope = do("mul", "slope", y, do("sub", "one_less", one, y))
    else:
        slope = do("sub", "slope", one, do("mul", "square", y, y))
    views = [w.recorder.view(w.frame.seen[0], x.shape), w.recorder.view(slope)]
    yield w.try_one(x, what or f"{layer.kind}_gradient", "mul", views)


def _pool(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    layer: Any = w.frame.layer
    given = w.recorder.view(w.frame.seen[0])
    if hasattr(layer, "_x"):
        yield w.try_one(x, what or "largest", "max_pool", [View(given.tensor, layer._x.shape)], {"size": layer.size})
    elif not hasattr(layer, "size"):
        n, height, width, c = layer._shape
        made = Made(w.called("pixel_sum"), FP32, (n, c))
        total = w.recorder.make("pixel_sum", [View(given.tensor, layer._shape)], [made])[0]
        count = w.recorder.constant("pixels", np.float32(height * width))
        yield w.try_one(x, what or "mean", "div", [w.recorder.view(total), w.recorder.view(count)])


def _pool_back(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    layer: Any = w.frame.layer
    dy = w.frame.seen[0]
    if hasattr(layer, "_x"):
        of = w.recorder.find(layer._x)
        if of is not None:
            views = [w.recorder.view(dy), w.recorder.view(of, x.shape)]
            yield w.try_one(x, what or "largest_gradient", "max_pool_gradient", views, {"size": layer.size})
    elif not hasattr(layer, "size"):
        n, height, width, c = layer._shape
        part = w.recorder.constant("pixel_share", np.float32(1 / (height * width)))
        views = [w.recorder.view(dy, (n, 1, 1, c)), w.recorder.view(part)]
        yield w.try_one(x, what or "mean_gradient", "mul", views)


def _rows(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    """Rows of an embedding's table."""
    layer: Any = w.frame.layer
    table, rows = w.recorder.find(layer._w.along(1)), w.recorder.find(layer._indices)
    if table is not None and rows is not None:
        made = Made(w.called(what or "rows"), w.recorder.tensors[table].fmt, x.shape)
        shape = layer.params["weight"].shape
        yield w.recorder.explain(x, "gather", [w.recorder.view(table, shape), w.recorder.view(rows)], made)


def _residual(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    fit = [name for name in w.near() if w.recorder.tensors[name].size == x.size]
    for a, b in permutations(fit, 2):
        yield w.try_one(x, what or "sum", "add", [w.recorder.view(a, x.shape), w.recorder.view(b, x.shape)])


_RULES: Final[dict[tuple[str, str], Callable[[Watcher, Array, str], Iterator[str | None]]]] = {
    ("linear", FORWARD): _biased,
    ("linear", BACKWARD): _summed,
    ("lstm", BACKWARD): _summed,
    ("conv", FORWARD): _conv_forward,
    ("conv", BACKWARD): _conv_backward,
    ("relu", FORWARD): _relu,
    ("relu", BACKWARD): _relu_back,
    ("sigmoid", BACKWARD): _curve_back,
    ("tanh", BACKWARD): _curve_back,
    ("pool", FORWARD): _pool,
    ("pool", BACKWARD): _pool_back,
    ("embedding", FORWARD): _rows,
    ("norm", FORWARD): norms.forward,
    ("norm", BACKWARD): norms.backward,
    ("residual", FORWARD): _residual,
    ("residual", BACKWARD): _residual,
}
