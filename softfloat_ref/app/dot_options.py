"""The options of dot products and matrix products that `vectors generate` and `check` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from softfloat_ref.accumulate import ACCUMULATORS
from softfloat_ref.app.options import Choices, Name
from softfloat_ref.errors import Error
from softfloat_ref.golden.dots import DOT, DotSet
from softfloat_ref.golden.matmuls import MATMUL, MatmulSet

F = TypeVar("F", bound=Callable[..., Any])
DOT_OPERATIONS: Final = (DOT, MATMUL)
SIDE: Final = 16
ACC: Final = Name("ACCUMULATOR", ACCUMULATORS)
_DOT_OPTIONS: Final[dict[str, Any]] = {
    "acc": click.option("--acc", type=ACC, default=None, help="dot: accumulator: name, expression, FILE.toml[:NAME]."),
    "k": click.option("--k", "k", type=click.IntRange(min=1), default=None, help="dot: elements [one block, or 16]."),
    "steps": click.option("--steps", is_flag=True, help="dot: also the running result after each step."),
    "extrapolate": click.option("--extrapolate", is_flag=True, help="dot: formats that the unit does not have."),
}
_MATMUL_OPTIONS: Final[dict[str, Any]] = {
    "m": click.option("--m", "m", type=click.IntRange(min=1), default=None, help=f"matmul: rows of A [{SIDE}]."),
    "n": click.option("--n", "n", type=click.IntRange(min=1), default=None, help=f"matmul: columns of B [{SIDE}]."),
    "layout": click.option("--layout", default=None, metavar="LAYOUT", help="matmul: elements and scales in memory."),
    "word": click.option("--word", type=click.INT, default=None, help="matmul: bits of a memory word [64]."),
}


def dot_options(function: F) -> F:
    """Add the options of dot products; the command gets them as one `dots`."""
    return _with(function, _DOT_OPTIONS)


def product_options(function: F) -> F:
    """Add the options of dot products and matrix products; the command gets them as one `dots`."""
    return _with(function, {**_DOT_OPTIONS, **_MATMUL_OPTIONS})


def _with(function: F, options: dict[str, Any]) -> F:
    def with_dots(**given: Any) -> Any:
        return function(dots={n: given.pop(n) for n in options}, **given)

    wrapped: Any = with_dots
    wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
    wrapped.__click_params__ = getattr(function, "__click_params__", [])
    for option in reversed(options.values()):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def refuse_dots(op: str, dots: dict[str, Any]) -> None:
    """Raises Error where an option of dot products was given with another operation."""
    for name, value in dots.items():
        if value not in (None, False):
            raise Error(f"--{name} is for {MATMUL if name in _MATMUL_OPTIONS else DOT}, not for {op}")


def dot_set(
    fmt: str | None, out: str | None, count: int, seed: int | None, choices: Choices, dots: dict[str, Any]
) -> DotSet:
    """The set of dot products that the options ask for."""
    if fmt is None:
        raise Error("dot needs --fmt")
    if choices.given:
        raise Error(f"an accumulator has its own roundings; leave --{choices.given[0].replace('_', '-')} out")
    rest = {name: dots[name] for name in ("k", "steps", "extrapolate")}
    return DotSet.make(fmt, count, acc=dots["acc"] or "", out=out, seed=seed or 0, **rest)


def matmul_set(
    fmt: str | None, out: str | None, count: int, seed: int | None, choices: Choices, dots: dict[str, Any]
) -> MatmulSet:
    """The set of matrix products that the options ask for."""
    dot = dot_set(fmt, out, count, seed, choices, dots)
    return MatmulSet(dot, dots["m"] or SIDE, dots["n"] or SIDE, dots["layout"] or "dense", dots["word"] or 64)


def refuse_matmul(dots: dict[str, Any]) -> None:
    """Raises Error where an option of matrix products was given with dot."""
    for name in _MATMUL_OPTIONS:
        if dots[name] is not None:
            raise Error(f"--{name} is for matmul, not for dot")
