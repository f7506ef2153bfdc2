"""Mixed-precision training: small networks in numpy, every tensor in the format under study.

The names here are those that users import: data, recipes, and the distance of distributions. `nn.extending`
has those of layers, models and optimizers of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from softfloat_ref.nn.data import batches, text_batches
    from softfloat_ref.nn.data import load as load_dataset
    from softfloat_ref.nn.features import Features, frechet
    from softfloat_ref.nn.training_recipe import load_recipe, read_recipe

__all__ = ["Features", "batches", "frechet", "load_dataset", "load_recipe", "read_recipe", "text_batches"]

_LAZY: Final = {
    **{name: ("features", name) for name in ("Features", "frechet")},
    **{name: ("data", name) for name in ("batches", "text_batches")},
    "load_dataset": ("data", "load"),
    **{name: ("training_recipe", name) for name in ("load_recipe", "read_recipe")},
}


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that importing a module of this package loads no other."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
