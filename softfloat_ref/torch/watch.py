"""Models whose calls are watched: the classes of modules that contain quantized layers."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, Final

import torch

from softfloat_ref.base.errors import Error
from softfloat_ref.torch.calls import QUANTIZED_MARK, WatchedLayer, watching


class WatchedModel:
    """A module that contains quantized layers. Its class is derived from the plain one, and has its name."""

    _plain: type[Any]

    @torch.compiler.disable(reason="torch.export records a quantized model with strict=False")
    def __call__(self, *args: Any, **options: Any) -> Any:
        with watching(self):
            return super().__call__(*args, **options)  # type: ignore[misc]

    def __reduce_ex__(self, protocol: Any) -> Any:
        reduced: Any = super().__reduce_ex__(protocol)
        make, args, *state = reduced
        return _restored, (make, tuple(self._plain if a is type(self) else a for a in args)), *state


def _restored(make: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    module = make(*args)
    module.__class__ = _watched_class(type(module))
    return module


_CLASSES: Final[dict[type[Any], type[Any]]] = {}  # by the plain class


def _watched_class(plain: type[Any]) -> type[Any]:
    if plain not in _CLASSES:
        _CLASSES[plain] = _derived(plain)
    return _CLASSES[plain]


def _derived(plain: Any) -> type[Any]:
    @torch.compiler.disable
    @functools.wraps(plain.forward)
    def forward(self: Any, *args: Any, **options: Any) -> Any:
        with watching(self):
            return plain.forward(self, *args, **options)

    def fill(space: dict[str, Any]) -> None:
        space |= {"forward": forward, "_plain": plain, "__module__": plain.__module__, "__doc__": plain.__doc__}
        space["__qualname__"] = plain.__qualname__

    return types.new_class(plain.__name__, (WatchedModel, plain), {}, fill)


def watch(model: Any) -> None:
    """Watch a model and its parts from now on, wherever they contain quantized layers and have a forward.

    Raises Error for a parameter that a quantized layer shares with a layer that stays torch's, and for a GraphModule.
    """
    _refuse_shared(model)
    for module in model.modules():
        module.__dict__[QUANTIZED_MARK] = True
    for module in list(model.modules()):
        has_layers = any(isinstance(m, WatchedLayer) for m in module.modules())
        if has_layers and isinstance(module, torch.fx.GraphModule):
            raise Error("a GraphModule of torch.fx cannot be quantized; give the module that it was traced from")
        if has_layers and not isinstance(module, WatchedLayer) and type(module).forward is not torch.nn.Module.forward:
            module.__class__ = _watched_class(type(module))


def _refuse_shared(model: Any) -> None:
    plain: dict[int, str] = {}
    quantized: dict[int, str] = {}
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
