"""Calls of a quantized model are watched: nothing but a layer's own quantized forward may use its parameters.

torch has ways past a layer: kernels that fuse several layers, functions that are given `layer.weight`. Within a call of
a model, or of a part of it, every operation on a parameter of a quantized layer is seen, by where its values lie in
memory; views are free, anything that takes the values elsewhere is an error. So is a call without a quantized layer.
"""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from softfloat_ref.base.errors import Error

# Methods by which values leave torch, which only a function mode sees.
_EXITS: Final = ("numpy", "__array__", "tolist", "__dlpack__", "data_ptr", "storage", "untyped_storage")
# Operations that ask for a tensor's shape, type or place only, or look rows up in a table that is tied to a layer.
_HARMLESS: Final = ("is_pinned", "is_same_size", "is_set_to", "result_type", "embedding")
_SEEN: Final = "_softfloat_ref_seen"  # of modules that were there when their model was quantized


class _Thread(threading.local):
    """calls: those that run, the outermost first. in_layer: a quantized layer runs, with its pre-hooks. forwards: the
    quantized forwards that have run."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.in_layer = False
        self.forwards = 0


_THREAD: Final = _Thread()


class WatchedLayer:
    """A layer whose quantized forward is that of its class, decorated by `layer_forward`."""

    _layer: Any  # has the layer's name
    _clock: Any  # counts the quantized forwards of all layers of a model, in any thread, in `forwards`

    @torch.compiler.disable
    def __call__(self, *args: Any, **options: Any) -> Any:
        """The layer, with its hooks."""
        before = _THREAD.forwards
        with _in_layer():
            y = super().__call__(*args, **options)  # type: ignore[misc]
        if _THREAD.forwards == before:
            raise Error(
                f"{self._layer.name}: a forward of its own replaces the quantized one; remove it, or exempt the layer"
            )
        return y


    def __prepare_scriptable__(self) -> Any:
        raise _scripted(self)


def _scripted(module: Any) -> Error:
    return Error(f"torch.jit.script cannot compile a quantized {type(module).__name__}; run the model itself")


@contextmanager
def _in_layer() -> Iterator[None]:
    _THREAD.in_layer = True
    try:
        yield
    finally:
        _THREAD.in_layer = False


def layer_forward(forward: Callable[..., Any]) -> Any:
    """The quantized forward of a layer. It ends the layer's right to its parameters: hooks on results have none."""

    @torch.compiler.disable
    @functools.wraps(forward)
    def run(self: WatchedLayer, *args: Any, **options: Any) -> Any:
        # Off, and not only silent: a mode costs 10 us per operation.
        with _in_layer(), torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
            y = forward(self, *args, **options)
        _THREAD.forwards += 1
        self._clock.forwards += 1
        return y

    return run


class _Extent(NamedTuple):
    """Bytes of a storage, and the parameter that they are."""

    start: int
    stop: int
    name: str


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
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


class _Call:
    """A call of a model that is watched. fault: what went past a layer first, or ''."""

    def __init__(self, model: Any) -> None:
        self.title, self.fault = type(model).__name__, ""
        self.members: set[int] = set()
        self._extents: dict[int, list[_Extent]] = {}
        self._before: dict[Any, int] = {}
        for name, module in model.named_modules():
            self.members.add(id(module))
            if isinstance(module, WatchedLayer):
                self._before[module._clock] = module._clock.forwards
                self._add(module)
            elif _SEEN not in module.__dict__ and matrices(module):
                raise Error(
                    f"{name}: a {type(module).__name__} that was added after quantized(), and is not quantized; add it "
                    "to the plain model, and exempt it there if it is to stay as it is"
                )

    def _add(self, layer: Any) -> None:
        own = dict(layer.named_parameters()) if layer._modules else layer._parameters  # parametrizations have some
        computed = {key: layer.__dict__[key] for key in ("weight", "bias") if key in layer.__dict__}  # by weight_norm
        for key, p in (*own.items(), *computed.items()):
            if p is not None:
                extent = _Extent(*_bytes(p), f"{layer._layer.name}.{key}")
                self._extents.setdefault(_storage(p), []).append(extent)

    def parameter(self, x: Any) -> str:
        """The parameter of a quantized layer that a tensor is, or is a view of; '' for another tensor."""
        extents = self._extents.get(_storage(x))
        if not extents:
            return ""
        start, stop = _bytes(x)
        return next((e.name for e in extents if start < e.stop and e.start < stop), "")

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
    if name in _HARMLESS or name.endswith("_like") or name.startswith("new_"):
        return ()
    return args[:1] if name.rstrip("_").endswith("_as") else args


class _Operations(TorchDispatchMode):
    """Sees every operation, also of scripts and fused kernels; torch.compile leaves its graphs where it is on."""

    def __init__(self, call: _Call) -> None:
        super().__init__()
        self.call = call

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The operation."""
        y = func(*args, **(kwargs or {}))
        if not _THREAD.in_layer:
            with torch._C.DisableTorchFunction():
                self.call.check(func._schema.name, (*args, *(kwargs or {}).values()), y)
        return y


class _Functions(TorchFunctionMode):
    """Sees what is no operation: the ways out of torch. Where it is on, torch's own modules leave their fused kernels
    alone."""

    def __init__(self, call: _Call) -> None:
        super().__init__()
        self.call = call

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The function."""
        name = getattr(func, "__name__", "")
        if name in _EXITS and not _THREAD.in_layer and args:
            used = self.call.parameter(args[0])
            if used:
                self.call.refuse(used, name)
        return func(*args, **(kwargs or {}))


@contextmanager
def _watching(model: Any) -> Iterator[None]:
    """Watch a call of a model, unless the call is part of one that is watched."""
    if any(id(model) in call.members for call in _THREAD.calls):
        yield
        return
    call = _Call(model)
    _THREAD.calls.append(call)
    try:
        with _Functions(call), _Operations(call):
            yield
    except Exception:
        if call.fault:  # torch wraps what an operation raises, in scripts
            raise Error(call.fault) from None
        raise
    finally:
        _THREAD.calls.pop()
    call.end()


# -- modules that are watched ------------------------------------------------------------------------------------------


class WatchedModel:
    """A module that contains quantized layers. Its class is derived from the plain one, and has its name."""

    _plain: type[Any]

    @torch.compiler.disable
    def __call__(self, *args: Any, **options: Any) -> Any:
        """The module, with its hooks."""
        with _watching(self):
            return super().__call__(*args, **options)  # type: ignore[misc]

    def __prepare_scriptable__(self) -> Any:
        raise _scripted(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """As the plain class, then watched."""
        reduced: Any = super().__reduce_ex__(protocol)
        make, args, *state = reduced
        return _restored, (make, tuple(self._plain if a is type(self) else a for a in args)), *state


def _restored(make: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    made = make(*args)
    made.__class__ = _watched_class(type(made))
    return made


_CLASSES: Final[dict[type[Any], type[Any]]] = {}  # by the plain class


def _watched_class(plain: type[Any]) -> type[Any]:
    if plain not in _CLASSES:
        _CLASSES[plain] = _derived(plain)
    return _CLASSES[plain]


def _derived(plain: Any) -> type[Any]:
    @torch.compiler.disable
    @functools.wraps(plain.forward)
    def forward(self: Any, *args: Any, **options: Any) -> Any:
        with _watching(self):
            return plain.forward(self, *args, **options)

    def fill(space: dict[str, Any]) -> None:
        space |= {"forward": forward, "_plain": plain, "__module__": plain.__module__, "__doc__": plain.__doc__}
        space["__qualname__"] = plain.__qualname__

    return types.new_class(plain.__name__, (WatchedModel, plain), {}, fill)


def watch(model: Any) -> None:
    """Watch a model and its parts from now on, wherever they contain quantized layers and have a forward.

    Raises Error for a parameter that a quantized layer shares with a layer that stays torch's.
    """
    _refuse_shared(model)
    for module in model.modules():
        module.__dict__[_SEEN] = True
    for module in list(model.modules()):
        has_layers = any(isinstance(m, WatchedLayer) for m in module.modules())
        if has_layers and not isinstance(module, WatchedLayer) and type(module).forward is not torch.nn.Module.forward:
            module.__class__ = _watched_class(type(module))


def matrices(module: Any) -> list[str]:
    """The parameters of a module itself, not of its parts, that have two or more dimensions."""
    own = module.named_parameters(recurse=False)
    return [name for name, p in own if not isinstance(p, torch.nn.UninitializedParameter) and p.ndim > 1]


def _refuse_shared(model: Any) -> None:
    plain, quantized = {}, {}
    for name, module in model.named_modules():
        own = {id(p): f"{name}.{key}".lstrip(".") for key, p in module.named_parameters(recurse=False)}
        if isinstance(module, WatchedLayer):
            quantized |= own
        elif not isinstance(module, torch.nn.Embedding):
            plain |= own
    for shared in quantized.keys() & plain:
        raise Error(
            f"{quantized[shared]} is also {plain[shared]}, of a layer that stays torch's; exempt both or neither"
        )
