"""What `quantized` takes as a recipe, as a training recipe; only its formats, accumulator and overrides count."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

from softfloat_ref.arrays.exponents import find_format
from softfloat_ref.base.errors import Error
from softfloat_ref.nn.training_recipe import Override, Recipe, load_recipe, read_recipe, recipe_files

OPERAND_ROLES: Final = ("weight", "activation", "error")
_OPTIMIZER_ROLES: Final = ("master", "optimizer")  # roles of tensors that torch's optimizer holds
_REQUIRED_TABLES: Final = {"model": {"kind": "mlp"}, "data": {}}  # what a recipe must have, and no layer asks for


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
