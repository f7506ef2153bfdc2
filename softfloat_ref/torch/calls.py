"""Calls of a quantized model are watched: nothing but a layer's own quantized forward may use its parameters.

torch has ways past a layer: kernels that fuse several layers, functions that are given `layer.weight`. Within a call of
a model, or of a part of it, every operation on a parameter of a quantized layer is seen, by where its values lie in
memory; views are free, anything that takes the values elsewhere is an error. So is a call without a quantized layer.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple

import torch
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from softfloat_ref.base.errors import Error

# Methods by which values leave torch, which only a function mode sees.
_EXITS: Final = ("numpy", "__array__", "tolist", "__dlpack__", "data_ptr", "storage", "untyped_storage")
# Operations that ask for a tensor's shape, type or place only, or look rows up in a table that is tied to a layer.
_METADATA_OPERATIONS: Final = ("is_pinned", "is_same_size", "is_set_to", "result_type", "embedding")
# Functions whose results, where they are no tensors, are a tensor's shape, type or place; __get__: of attributes.
_METADATA_FUNCTIONS: Final = (
    *("__get__", "__len__", "__hash__", "dim", "ndimension", "numel", "nelement", "size", "stride", "storage_offset"),
    *("element_size", "get_device", "is_contiguous", "is_floating_point", "is_complex", "is_tensor"),
)
QUANTIZED_MARK: Final = "_softfloat_ref_seen"  # of modules that were there when their model was quantized


class _Thread(threading.local):
    """calls: those that run, the outermost first. in_layer: a quantized layer runs, with its pre-hooks. forwards: the
    quantized forwards that have run."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.in_layer = False
        self.forwards = 0


_THREAD: Final = _Thread()


def is_recording() -> bool:
    """Whether torch records a graph of operations instead of computing values once."""
    modes = _get_current_dispatch_mode_stack()
    recorded = torch.jit.is_tracing() or any(isinstance(m, ProxyTorchDispatchMode) for m in modes)
    return recorded or torch.compiler.is_exporting()


class WatchedLayer:
    """A layer whose quantized forward is that of its class, decorated by `layer_forward`."""

    _layer: Any  # has the layer's name
    _clock: Any  # counts the quantized forwards of all layers of a model, in any thread, in `forwards`

    @torch.compiler.disable
    def __call__(self, *args: Any, **options: Any) -> Any:
        before = _THREAD.forwards
        _THREAD.in_layer = True
        try:
            y = super().__call__(*args, **options)  # type: ignore[misc]
        finally:
            _THREAD.in_layer = False
        if _THREAD.forwards == before:
            raise Error(
                f"{self._layer.name}: a forward of its own replaces the quantized one; remove it, or exempt the layer"
            )
        return y

    def __prepare_scriptable__(self) -> Any:
        raise Error(f"torch.jit.script cannot compile a {type(self).__name__}; run the model itself")


def layer_forward(forward: Callable[..., Any]) -> Any:
    """The quantized forward of a layer. It ends the layer's right to its parameters: hooks on results have none."""

    @torch.compiler.disable
    @functools.wraps(forward)
    def run(self: WatchedLayer, *args: Any, **options: Any) -> Any:
        _THREAD.in_layer = True
        try:
            with ExitStack() as stack:
                if not is_recording():  # then the modes, which take their time, have nothing to see
                    stack.enter_context(torch._C._DisableTorchDispatch())
                    stack.enter_context(torch._C.DisableTorchFunction())
                y = forward(self, *args, **options)
        finally:
            _THREAD.in_layer = False
        _THREAD.forwards += 1
        self._clock.forwards += 1
        for call in _THREAD.calls:
            call.add_computed(self)
        return y

    return run


def matrices(module: Any) -> list[str]:
    """The parameters of a module itself, not of its parts, that have two or more dimensions."""
    own = module.named_parameters(recurse=False)
    return [name for name, p in own if not isinstance(p, torch.nn.UninitializedParameter) and p.ndim > 1]


def _parts(layer: Any) -> list[Any]:
    return list(layer.modules()) if layer._modules else []


class _Extent(NamedTuple):
    """Bytes of a storage, and the parameter that they are; which is held, so that no other tensor gets its storage."""

    start: int
    stop: int
    name: str
    parameter: Any


def _storage(x: Any) -> int:
    """What a tensor and its views have in common; 0 for sparse tensors and wrappers, which have none of their own."""
    try:
        return int(x.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return 0


def _bytes(x: Any) -> tuple[int, int]:
    """Where in its storage the values of a tensor begin and end."""
    last = sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True))
    start = x.storage_offset() * x.itemsize
    return start, start + (last + 1) * x.itemsize if x.numel() else start


def _tensors(values: Iterable[Any]) -> list[Any]:
    """The tensors among arguments or results, and in lists of them."""
    tensors = []
    for value in values:
        if isinstance(value, torch.Tensor):
            tensors.append(value)
        elif isinstance(value, (list, tuple)):
            tensors += _tensors(value)
    return tensors


class _Call:
    """A call of a model that is watched. fault: what went past a layer first, or ''."""

    def __init__(self, model: Any) -> None:
        self.title, self.fault = type(model).__name__, ""
        self.members: set[int] = set()
        self._extents: dict[int, list[_Extent]] = {}
        self._before: dict[Any, int] = {}
        inside: set[int] = set()  # of quantized layers: parametrizations
        for name, module in model.named_modules():
            self.members.add(id(module))
            if isinstance(module, WatchedLayer):
                self._before[module._clock] = module._clock.forwards
                self._add_parameters(module)
                inside.update(map(id, _parts(module)))
            elif QUANTIZED_MARK not in module.__dict__ and id(module) not in inside and matrices(module):
                raise Error(
                    f"{name}: a {type(module).__name__} that was added after quantized(), and is not quantized; add it "
                    "to the plain model, and exempt it there if it is to stay as it is"
                )

    def _add_parameters(self, layer: Any) -> None:
        own = dict(layer.named_parameters()) if layer._modules else layer._parameters
        for key, p in own.items():
            self._add(layer, key, p)
        self.add_computed(layer)

    def add_computed(self, layer: Any) -> None:
        """Watch what torch's weight_norm or prune computed a layer's parameters to be."""
        for key in ("weight", "bias"):
            if key in layer.__dict__:
                self._add(layer, key, layer.__dict__[key])

    def _add(self, layer: Any, key: str, p: Any) -> None:
        if p is not None:
            extent = _Extent(*_bytes(p), f"{layer._layer.name}.{key}", p)
            self._extents.setdefault(_storage(p), []).append(extent)

    def parameter(self, x: Any) -> str:
        """The parameter of a quantized layer that a tensor is, or is a view of; '' for another tensor."""
        extents = self._extents.get(_storage(x))
        if not extents:
            return ""
        start, stop = _bytes(x)
        return next((e.name for e in extents if start < e.stop and e.start < stop), "")

    def stand_in(self, x: Any) -> str:
        """The parameter of a quantized layer that a tensor is, or ''."""
        return next((e.name for extents in self._extents.values() for e in extents if e.parameter is x), "")

    def check(self, op: str, args: tuple[Any, ...], y: Any) -> None:
        """Note a fault, and raise it, where an operation took a parameter's values elsewhere."""
        used = next(filter(None, map(self.parameter, _tensors(_values(op, args)))), "")
        if not used:
            return
        results = _tensors([y])
        if not results or not all(map(self.parameter, results)):
            self.refuse(used, op)

    def refuse(self, parameter: str, op: str) -> None:
        """Note a fault, and raise it."""
        self.fault = self.fault or (
            f"{parameter} is used by {op} in a call of {self.title}, not by the layer's quantized forward; call the "
            "layer instead, or exempt it"
        )
        raise Error(self.fault)

    def end(self) -> None:
        """Raise Error for a fault, which the model may have caught, and if no layer was quantized."""
        if self.fault:
            raise Error(self.fault)
        if all(clock.forwards == count for clock, count in self._before.items()):
            raise Error(f"a call of {self.title} used none of its quantized layers, so that nothing was quantized")


def _values(op: str, args: Any) -> Any:
    """The arguments of which an operation takes values."""
    name = op.removeprefix("aten::")
    if name in _METADATA_OPERATIONS or name.endswith("_like") or name.startswith("new_"):
        return ()
    return args[:1] if name.rstrip("_").endswith("_as") else args


class _Operations(TorchDispatchMode):
    """Sees every operation, also of scripts and fused kernels."""

    supports_higher_order_operators = True  # torch.cond, flex_attention

    def __init__(self, call: _Call) -> None:
        super().__init__()
        self.call = call

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        y = func(*args, **(kwargs or {}))
        if not _THREAD.in_layer:
            name = func._schema.name if isinstance(func, torch._ops.OpOverload) else str(func)
            with torch._C.DisableTorchFunction():
                self.call.check(name, (*args, *(kwargs or {}).values()), y)
        return y


class _Functions(TorchFunctionMode):
    """Sees what is no operation: the ways out of torch. Where it is on, torch's own modules leave their fused kernels
    alone."""

    def __init__(self, call: _Call) -> None:
        super().__init__()
        self.call = call

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _EXITS and not _THREAD.in_layer and args:
            used = self.call.parameter(args[0])
            if used:
                self.call.refuse(used, name)
        return func(*args, **(kwargs or {}))


class _RecordedFunctions(TorchFunctionMode):
    """Sees every function while torch records a graph, in which tensors have no values, and parameters have stand-ins:
    what takes one of a quantized layer, and is not the layer's own, is refused, be it a view; only shapes and types may
    be asked for."""

    def __init__(self, call: _Call) -> None:
        super().__init__()
        self.call = call

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        y, name = func(*args, **(kwargs or {})), getattr(func, "__name__", str(func))
        if not _THREAD.in_layer and (_tensors([y]) or name not in _METADATA_FUNCTIONS):
            for used in filter(None, map(self.call.stand_in, _tensors((*args, *(kwargs or {}).values())))):
                self.call.refuse(used, func.__self__.__name__ if name == "__get__" else name)
        return y


class _Eager:
    """What is compiled runs as it is written while a call in any thread is watched: torch.compile would see the modes,
    and never compile the function again."""

    def __init__(self) -> None:
        self._lock, self._calls, self._stance = threading.Lock(), 0, ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._calls:
                self._stance.enter_context(torch.compiler.set_stance("force_eager"))
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                if not self._calls:
                    self._stance.close()


_EAGER: Final = _Eager()


@contextmanager
def watching(model: Any) -> Iterator[None]:
    """Watch a call of a model, unless the call is part of one that is watched."""
    if any(id(model) in call.members for call in _THREAD.calls):
        yield
        return
    call = _Call(model)
    _THREAD.calls.append(call)
    try:
        with ExitStack() as stack:
            if is_recording():
                stack.enter_context(_RecordedFunctions(call))
            else:
                for mode in (_EAGER(), _Functions(call), _Operations(call)):
                    stack.enter_context(mode)
            yield
    except Exception:
        if call.fault:  # torch wraps what an operation raises, in scripts
            raise Error(call.fault) from None
        raise
    finally:
        _THREAD.calls.pop()
    call.end()
