"""The options of dot products and matrix products that `vectors generate` and `check` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from softfloat_ref.accumulate import ACCUMULATORS
from softfloat_ref.app.options import Choices, Name
from softfloat_ref.errors import Error
from softfloat_ref.golden.dots import DOT, DotSet

F = TypeVar("F", bound=Callable[..., Any])
DOT_OPERATIONS: Final = (DOT,)
ACC: Final = Name("ACCUMULATOR", ACCUMULATORS)
_OPTIONS: Final = (
    click.option("--acc", type=ACC, default=None, help="dot: accumulator: a name, an expression, FILE.toml[:NAME]."),
    click.option("--k", "k", type=click.IntRange(min=1), default=None, help="dot: elements [one block, or 16]."),
    click.option("--steps", is_flag=True, help="dot: also the running result after each step."),
    click.option("--extrapolate", is_flag=True, help="dot: formats that the unit does not have."),
)


def dot_options(function: F) -> F:
    """Add the options of dot products; the command gets them as one `dots`."""

    def with_dots(**given: Any) -> Any:
        names = ("acc", "k", "steps", "extrapolate")
        return function(dots={n: given.pop(n) for n in names}, **given)

    wrapped: Any = with_dots
    wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
    wrapped.__click_params__ = getattr(function, "__click_params__", [])
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def refuse_dots(op: str, dots: dict[str, Any]) -> None:
    """Raises Error where an option of dot products was given with another operation."""
    for name, value in dots.items():
        if value not in (None, False):
            raise Error(f"--{name} is for dot, not for {op}")


def dot_set(
    fmt: str | None, out: str | None, count: int, seed: int | None, choices: Choices, dots: dict[str, Any]
) -> DotSet:
    """The set of dot products that the options ask for."""
    if fmt is None:
        raise Error("dot needs --fmt")
    if choices.given:
        raise Error(f"an accumulator has its own roundings; leave --{choices.given[0].replace('_', '-')} out")
    acc, rest = dots["acc"] or "", {k: v for k, v in dots.items() if k != "acc"}
    return DotSet.make(fmt, count, acc=acc, out=out, seed=seed or 0, **rest)
