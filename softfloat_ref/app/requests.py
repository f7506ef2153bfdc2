"""The set of vectors that the options of `vectors generate`, `vectors verify -` and `check` describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from softfloat_ref.app.options import Choices, Name, operand_formats
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.accumulate import ACCUMULATORS
from softfloat_ref.oracle.affine import get_rule, is_affine
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.operations import get_operation
from softfloat_ref.units import REQUESTS, SIDE

F = TypeVar("F", bound=Callable[..., Any])
DOT: Final = "dot"
MATMUL: Final = "matmul"
DOT_OPERATIONS: Final = (DOT, MATMUL)
QUANTIZATIONS: Final = tuple(name for name in REQUESTS if name not in DOT_OPERATIONS)
ACC: Final = Name("ACCUMULATOR", ACCUMULATORS)
_DOT_OPTIONS: Final[dict[str, Any]] = {
    "acc": click.option("--acc", type=ACC, default=None, help="dot: accumulator: name, expression, FILE.toml[:NAME]."),
    "k": click.option("--k", "k", type=click.IntRange(min=1), default=None, help="dot: elements [one block, or 16]."),
    "steps": click.option("--steps", is_flag=True, help="dot: add the running result after each step."),
    "extrapolate": click.option(
        "--extrapolate", is_flag=True, help="dot: allow formats that the unit does not support."
    ),
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


def request(
    op: str | None,
    fmt: str | None,
    out: str | None,
    choices: Choices,
    profile: str | None,
    dots: dict[str, Any] | None = None,
    **cases: Any,
) -> VectorSet:
    """The set that the options describe. dots: from `product_options`; cases: count, level and seed of the set.

    Raises Error for options that the operation does not have.
    """
    if op is None:
        raise Error("give the operation and --fmt")
    if fmt is None:
        raise Error(f"{op} needs --fmt")
    name = op.strip().lower().replace("-", "_")
    given = {k: v for k, v in (dots or {}).items() if v not in (None, False)}
    _refuse(name, given, profile)
    if choices.random_bits is not None:
        raise Error("vectors need a random source: give --random-source or --seed")
    if name in DOT_OPERATIONS:
        if choices.given:
            raise Error(f"an accumulator has its own roundings; leave --{choices.given[0].replace('_', '-')} out")
        return VectorSet.make(name, fmt, out=out, **given, **cases)
    choices.check()
    more: dict[str, Any] = {"out": out, "policy": choices.policy, "source": _source(choices)}
    if name in QUANTIZATIONS:
        more |= {"policy": _element_policy(choices, fmt, profile), "profile": profile}
        return VectorSet.make(name, fmt, **more, **cases)
    operation = get_operation(op)
    return VectorSet.make(op, operand_formats(fmt, operation.arity, operation.name), **more, **cases)


def _refuse(op: str, dots: dict[str, Any], profile: str | None) -> None:
    """Raises Error for options that this operation does not have."""
    refuse_dots(f"--op {op}" if op not in DOT_OPERATIONS else op, dots, op)
    if profile is not None and op in DOT_OPERATIONS:
        raise Error("--profile is for quantize: a dot product takes codes and scales")
    if profile is not None and op not in QUANTIZATIONS:
        raise Error("--profile is for quantize and dequantize")


def refuse_dots(what: str, dots: dict[str, Any], op: str = "") -> None:
    """Raises Error if an option of dot or matrix products was given for another operation."""
    for name, value in dots.items():
        own = (MATMUL,) if name in _MATMUL_OPTIONS else DOT_OPERATIONS
        if value not in (None, False) and op not in own:
            raise Error(f"--{name} is for {own[0] if len(own) == 1 else DOT}, not for {what}")


def _source(choices: Choices) -> str | None:
    return choices.source.spec() if choices.source else None


def _element_policy(choices: Choices, fmt: str, profile: str | None) -> Any:
    """The policy that was typed, with the rounding of the profile or rule unless one was typed."""
    if not choices.given:
        return None
    if is_affine(fmt):
        if {"round", "policy"} & set(choices.given):
            return choices.policy
        return choices.policy.replace(rounding=get_rule(profile or "exact").rounding)
    block = any_format(fmt)
    return choices.for_blocks(block, profile).policy if isinstance(block, BlockFormat) else choices.policy
