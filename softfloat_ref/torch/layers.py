"""Layers of torch whose forward and backward are those of the numpy layers, with their formats and random bits.

A module keeps a numpy layer without parameters. A call gives a copy of it the module's parameters as arrays, and runs
it; so every operand, product and result has the bits that `softfloat_ref.nn` computes from the same tensors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch

from softfloat_ref.arrays.exponents import find_format
from softfloat_ref.base.errors import Error
from softfloat_ref.nn import layers
from softfloat_ref.nn.numerics import RunState
from softfloat_ref.nn.training_recipe import Override, Recipe, load_recipe, read_recipe, recipe_files
from softfloat_ref.torch import layer_operators, tensors
from softfloat_ref.torch.calls import WatchedLayer, is_recording, layer_forward, matrices
from softfloat_ref.torch.layer_operators import check_input, layer_text, with_parameters
from softfloat_ref.torch.passes import Clock, Through, record_forward
from softfloat_ref.torch.watch import watch

OPERAND_ROLES: Final = ("weight", "activation", "error")
_OPTIMIZER_ROLES: Final = ("master", "optimizer")  # roles of tensors that torch's optimizer holds
_REQUIRED_TABLES: Final = {"model": {"kind": "mlp"}, "data": {}}  # what a recipe must have, and no layer asks for
PRODUCT_ROLES: Final = ("weight", "activation", "error", "weight_gradient", "vector")
FUNCTION_ROLES: Final = ("function", "vector", "error")
STATE_PREFIX: Final = "numerics."  # of the keys in a state_dict that the plain module does not have
_STEP: Final = f"{STATE_PREFIX}step"


class QuantizedLayer(WatchedLayer):
    """What the layers here have in common: a numpy layer with formats, and the clock of the model."""

    training: bool
    _layer: layers.Layer
    _clock: Clock
    _transposed = False  # whether the module's weight is (inputs, outputs)

    @layer_forward
    def forward(self, x: Any) -> Any:
        """The layer's output, of x's type, from x and the parameters as they are, whatever autocast says."""
        weight, bias = (getattr(self, name, None) for name in ("weight", "bias"))
        weight = weight.t() if self._transposed and weight is not None else weight
        check_input(x, self._layer, weight)
        if is_recording():
            return self._recorded(x, weight, bias)
        tensors.check(x, self._layer.name, tensors.NARROW)
        if not x.numel():
            return self._of_nothing(x, weight)
        layer = with_parameters(self._layer, self._clock.run(self.training), weight, bias)
        if self._clock.recording is not None:
            return record_forward(layer, x, self._clock.recording)
        return Through.apply(layer, x, weight, bias)

    def _recorded(self, x: Any, weight: Any, bias: Any) -> Any:
        """The layer as a node of a graph."""
        if self.training:
            raise Error(
                f"{self._layer.name}: torch.export and the like record a layer in evaluation; call eval() first"
            )
        return layer_operators.operator(x, weight, bias, layer_text(self._layer, self._clock.run(training=False)))

    def _of_nothing(self, x: Any, weight: Any) -> Any:
        """torch's own result and gradients, in which there are no values to quantize, or zeros."""
        y = super().forward(x if weight is None else x.to(weight.dtype))  # type: ignore[misc]
        return y.to(x.dtype)

    def extra_repr(self) -> str:
        """The module's own, and the format of each role."""
        numerics = self._layer.numerics
        formats = [f"{role}={numerics.specs[role].format}" for role in _roles(self._layer) if role in numerics.specs]
        own = super().extra_repr()  # type: ignore[misc]
        return ", ".join(filter(None, [own, *formats, f"accumulator={numerics.accumulator}"]))

    # -- state: besides the plain module's, ranges that were seen, and the step where random bits depend on it --------

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]
        for name, values in self._layer.numerics.state().items():
            destination[f"{prefix}{STATE_PREFIX}{name}"] = torch.from_numpy(np.array(values))
        if any(by and by.stochastic for by in map(self._layer.numerics.quantizer, _roles(self._layer))):
            destination[f"{prefix}{_STEP}"] = torch.tensor(self._clock.step)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *rest)  # type: ignore[misc]
        start, numerics, unexpected = f"{prefix}{STATE_PREFIX}", self._layer.numerics, rest[3]
        own = [f"{role}/{end}" for role in numerics.specs for end in ("low", "high")]
        ranges = {k: state_dict[f"{start}{k}"] for k in own if f"{start}{k}" in state_dict}
        self._clock.step = int(state_dict.get(f"{prefix}{_STEP}", self._clock.step))
        numerics.restore({k: tensors.float32(v, f"{start}{k}").copy() for k, v in ranges.items()})
        known = {f"{prefix}{_STEP}", *(f"{start}{k}" for k in ranges)}
        unexpected[:] = [k for k in unexpected if k not in known]


def _roles(layer: layers.Layer) -> tuple[str, ...]:
    return PRODUCT_ROLES if layer.products else FUNCTION_ROLES


class QuantLinear(QuantizedLayer, torch.nn.Linear):
    """torch.nn.Linear with its products quantized by a recipe; see `quantized` for recipe and seed.

    name: with the seed, keys the random bits; two layers need two names.
    """

    def __init__(self, *args: Any, recipe: Any, seed: int | None = None, name: str = "linear", **options: Any) -> None:
        super().__init__(*args, **options)
        attach({name: self}, recipe, seed, self)


class QuantConv2d(QuantizedLayer, torch.nn.Conv2d):
    """torch.nn.Conv2d with its products quantized by a recipe; see `quantized` for recipe and seed, QuantLinear for
    name. Kernel and stride are square, padding is zeros, the same on all sides; neither dilation nor groups."""

    def __init__(self, *args: Any, recipe: Any, seed: int | None = None, name: str = "conv", **options: Any) -> None:
        super().__init__(*args, **options)
        attach({name: self}, recipe, seed, self)


class QuantReLU(QuantizedLayer, torch.nn.ReLU):
    """torch.nn.ReLU in the format of functions; never in place."""


class QuantTanh(QuantizedLayer, torch.nn.Tanh):
    """torch.nn.Tanh in the format of functions."""


class QuantSigmoid(QuantizedLayer, torch.nn.Sigmoid):
    """torch.nn.Sigmoid in the format of functions."""


# Of torch's types: the layer here. The numpy layer's class has the plain type's name.
QUANTIZED: Final[dict[type[Any], type[Any]]] = {
    torch.nn.Linear: QuantLinear,
    torch.nn.Conv2d: QuantConv2d,
    torch.nn.ReLU: QuantReLU,
    torch.nn.Tanh: QuantTanh,
    torch.nn.Sigmoid: QuantSigmoid,
}


class RegisteredLinear(QuantizedLayer):
    """A linear layer of another library, quantized; its class is derived from the plain one."""

    _plain: type[Any]

    def __reduce_ex__(self, protocol: Any) -> Any:
        reduced: Any = super().__reduce_ex__(protocol)
        make, args, *state = reduced
        return _restored, (make, tuple(self._plain if a is type(self) else a for a in args)), *state


def _restored(make: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    module = make(*args)
    module.__class__ = quantized_type(type(module)) or type(module)
    return module


def register_linear(plain: type[Any], *, transposed: bool = False) -> None:
    """Say that modules of a type, of your own or of another library, are linear layers: their forward is x times
    `weight`, plus `bias` if they have one. `quantized` then quantizes them.

    transposed: the weight is (inputs, outputs), not (outputs, inputs). A subclass is a type of its own. Raises Error
    for what is no type of modules, and for one that is registered already.
    """
    if not (isinstance(plain, type) and issubclass(plain, torch.nn.Module)):
        raise Error(f"{plain!r} is not a type of torch modules")
    if plain in QUANTIZED or issubclass(plain, QuantizedLayer):
        raise Error(f"{plain.__name__} is quantized already")
    space = {"_plain": plain, "_transposed": transposed, "__module__": plain.__module__, "__doc__": plain.__doc__}
    QUANTIZED[plain] = type(f"Quant{plain.__name__}", (RegisteredLinear, plain), space)


# Types of other libraries, which are not imported, by their full names: whether their weight is (inputs, outputs).
_LINEAR_NAMES: Final = {"transformers.pytorch_utils.Conv1D": True}


def quantized_type(plain: type[Any]) -> type[Any] | None:
    """The type here of modules of a plain type; None if there is none."""
    name = f"{plain.__module__}.{plain.__qualname__}"
    if plain not in QUANTIZED and name in _LINEAR_NAMES:
        register_linear(plain, transposed=_LINEAR_NAMES[name])
    return QUANTIZED.get(plain)


# Torch's layers with products that are not quantized here; they must be exempt.
_UNSUPPORTED_TYPES: Final = (
    torch.nn.Linear,
    torch.nn.Bilinear,
    torch.nn.modules.conv._ConvNd,
    torch.nn.RNNBase,
    torch.nn.RNNCellBase,
    torch.nn.MultiheadAttention,
)


class _Unsupported(layers.Layer):
    """Stands for a layer of torch with products that has no counterpart; it must be exempt. why: what to say."""

    products = True

    def __init__(self, kind: str, why: str) -> None:
        super().__init__()
        self.kind, self.why = kind, why


class _Matrices(layers.Layer):
    """Stands for a module that stays torch's and has parameters of two or more dimensions."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.kind = type(module).__name__.lower()


def counterpart(module: Any) -> layers.Layer | None:
    """The numpy layer of a module, its parameters left out, or what stands for it; None for one without functions, and
    without parameters of two or more dimensions."""
    if isinstance(module, QuantizedLayer) and hasattr(module, "_layer"):
        raise Error(f"a {type(module).__name__} is quantized already; give the plain model")
    quantized_type(type(module))
    plain = next((t for t, ours in QUANTIZED.items() if type(module) in (t, ours)), None)
    if plain is torch.nn.Linear or (plain is not None and issubclass(QUANTIZED[plain], RegisteredLinear)):
        return layers.Linear(1, 1)
    if plain is torch.nn.Conv2d:
        why = _unsupported_conv(module)
        if why:
            return _Unsupported("conv", why)
        return layers.Conv2d(1, 1, module.kernel_size[0], module.stride[0], module.padding[0])
    if plain is not None:
        return getattr(layers, plain.__name__)()  # type: ignore[no-any-return]
    if isinstance(module, _UNSUPPORTED_TYPES):
        return _Unsupported("layer", f"{type(module).__name__} is not supported")
    return _Matrices(module) if matrices(module) else None


def _unsupported_conv(conv: Any) -> str:
    """What a convolution has that the numpy layer lacks; '' where it lacks nothing."""
    plain = {"dilation": (1, 1), "groups": 1, "padding_mode": "zeros"}
    wrong = [name for name, value in plain.items() if getattr(conv, name) != value]
    for name in ("kernel_size", "stride", "padding"):
        value = getattr(conv, name)
        wrong += [name] if isinstance(value, str) or value[0] != value[1] else []
    return ", ".join(f"{name} = {getattr(conv, name)!r}" for name in wrong) + " is not supported" if wrong else ""


def attach(modules: dict[str, Any], recipe: Any, seed: int | None, root: Any) -> list[str]:
    """Give modules of the types in QUANTIZED, and what stands for others, their numpy layers, by name.

    root: the module whose calls are steps. The modules that the recipe quantizes become those of this file. Returns the
    names of modules with parameters of two or more dimensions that it has no say in. Raises Error, also if it
    quantizes none.
    """
    numpy_layers = {name: layer for name, m in modules.items() if (layer := counterpart(m)) is not None}
    training_recipe = find_recipe(recipe)
    clock = Clock(training_recipe, seed)
    training_recipe.assign(layers.Sequential(numpy_layers), RunState(clock.seed))
    counted, unquantized = 0, []
    for name, layer in numpy_layers.items():
        if isinstance(layer, _Matrices) and _has_products(layer):
            unquantized.append(name)
        if isinstance(layer, _Matrices) or not _is_formatted(layer):
            continue
        if isinstance(layer, _Unsupported):
            raise Error(f"{name}: {layer.why}; leave the layer out by exempt = ({name!r},)")
        layer.params = {}
        module = modules[name]
        module.__class__ = QUANTIZED.get(type(module), type(module))
        module._layer, module._clock = layer, clock
        counted += 1
    if not counted:
        raise Error(f"recipe {training_recipe.name} gives no layer of this model a format")
    root.register_forward_pre_hook(clock.begin)
    watch(root)
    return unquantized


def _is_formatted(layer: layers.Layer) -> bool:
    """Whether a layer has a format to apply; where it has none, torch's own stays."""
    # Errors only where functions have a format.
    return _has_products(layer) if layer.products else any(map(layer.numerics.quantizer, ("function", "vector")))


def _has_products(layer: layers.Layer) -> bool:
    """Whether the recipe quantizes products of a layer, if it has some."""
    return any(map(layer.numerics.quantizer, PRODUCT_ROLES)) or not layer.numerics.takes_values


# -- recipes: only formats, accumulator and overrides of a training recipe count ---------------------------------------


def find_recipe(source: Any, exempt: Sequence[str] = ()) -> Recipe:
    """A training recipe from: a Recipe; the name of one, or FILE.toml; the name of a format, for the operands of all
    products; or tables as in TOML: formats by role, or those under the key formats besides policy and override.

    exempt: patterns of layers to leave out. Raises Error.
    """
    recipe = _found(source)
    if exempt:
        more = Override(tuple(exempt), exempt=True)
        recipe = dataclasses.replace(recipe, overrides=(*recipe.overrides, more))
    for table in (recipe.formats, *(o.formats for o in recipe.overrides)):
        for role in _OPTIMIZER_ROLES:
            if role in table:
                raise Error(f"recipe {recipe.name}: {role}: torch's optimizer has no formats; leave the role out")
    return recipe


def _found(source: Any) -> Recipe:
    if isinstance(source, Recipe):
        return source
    if isinstance(source, Mapping):
        return read_recipe(
            _REQUIRED_TABLES | dict(source) if "formats" in source else _REQUIRED_TABLES | {"formats": dict(source)}
        )
    if not isinstance(source, str):
        raise Error(f"a recipe is a name, formats by role, or a Recipe, not {source!r}")
    if source in recipe_files() or source.endswith(".toml"):
        return load_recipe(source)
    try:
        find_format(source)
    except Error as e:
        raise Error(f"{source!r} is neither a training recipe (softfloat-ref train --list) nor a format: {e}") from None
    return read_recipe(_REQUIRED_TABLES | {"formats": dict.fromkeys(OPERAND_ROLES, source)}, source)
