"""Options and choices of commands that read models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.names import matches

if TYPE_CHECKING:
    from softfloat_ref.nn.model_files import ModelTensor


def model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that reads models: --layouts and --stored."""
    layouts = click.option(
        "--layouts", multiple=True, metavar="FILE", help="A TOML file of layouts of your own, tried first."
    )
    stored = click.option(
        "--stored",
        multiple=True,
        metavar="[PATTERN=]FORMAT",
        help="The format of arrays whose file does not say it (.npy of ml_dtypes, JAX).",
    )
    return layouts(stored(function))


def chosen(tensors: Sequence[ModelTensor], patterns: Sequence[str]) -> list[ModelTensor]:
    """The tensors that match any pattern, or all. Raises Error for a pattern that matches none."""
    for pattern in patterns:
        if not any(matches(t.name, pattern) for t in tensors):
            raise unknown("tensor", pattern, [t.name for t in tensors])
    return [t for t in tensors if not patterns or any(matches(t.name, p) for p in patterns)]


def one_tensor(
    model: str, name: str | None, purpose: str, layouts: Sequence[str] = (), stored: Sequence[str] = ()
) -> ModelTensor:
    """The tensor of that name. Raises Error if it is not there, not one of floats, or not the only one. purpose: what
    it is for, as a verb."""
    from softfloat_ref.nn.model_files import tensors

    all_tensors = tensors(model, layouts, stored)
    candidates = [t for t in all_tensors if t.name == name] if name else [t for t in all_tensors if not t.skipped]
    if name and not candidates:
        raise unknown(f"tensor in {model}:", name, [t.name for t in all_tensors])
    if candidates and candidates[0].skipped:
        raise Error(f"{model}: {name}: {candidates[0].skipped}")
    if len(candidates) != 1:
        raise Error(f"{model}: has {_listed([t.name for t in candidates])} to {purpose}; choose one with --tensor")
    return candidates[0]


def is_model(path: str) -> bool:
    """Whether a path is a model, by its name: not that of a .npy file, which is an array."""
    from pathlib import Path

    from softfloat_ref.nn.model_files import KINDS
    from softfloat_ref.nn.model_files.folders import INDEX

    place = Path(path)
    return place.suffix in KINDS.keys() - {".npy"} or place.name.endswith(INDEX) or place.is_dir()


def _listed(names: Sequence[str]) -> str:
    return f"{len(names)} tensors" + (f", such as {names[0]}," if names else "")
