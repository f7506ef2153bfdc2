"""The set of vectors that the options of `vectors generate`, `vectors verify -` and `check` describe."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

import click

from softfloat_ref.app.options import Choices, Name, bundled, operand_formats, option_name
from softfloat_ref.base.errors import Error, counted
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.golden.vector_recipes import is_recipe, load_recipe
from softfloat_ref.oracle.accumulate import ACCUMULATORS
from softfloat_ref.oracle.affine import get_affine_format, is_affine
from softfloat_ref.oracle.blocks.formats import any_format
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS
from softfloat_ref.oracle.codec import check_code, check_random
from softfloat_ref.oracle.literals import parse_code
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.oracle.policies import ROUNDINGS, Overflow, get_policy
from softfloat_ref.oracle.vector_functions import VECTOR_FUNCTIONS
from softfloat_ref.units import (
    REQUESTS,
    SIDE,
    Field,
    RoundingsUnit,
    Unit,
    VectorUnit,
    find_operation,
    is_definition,
)
from softfloat_ref.units.vector import DEFAULT_DEPTH, DEFAULT_LENGTH, EPSILON, MAX_LENGTH

DOT: Final = "dot"
MATMUL: Final = "matmul"
DEFAULT_VECTORS: Final = 2_000  # of functions of vectors, a check's or a set's cases
DOT_OPERATIONS: Final = (DOT, MATMUL)
_OTHERS: Final = (*DOT_OPERATIONS, *BLOCK_OPERATIONS, *VECTOR_FUNCTIONS)
QUANTIZATIONS: Final = tuple(name for name in REQUESTS if name not in _OTHERS)
_FINDING_SCALES: Final = tuple(name for name, row in BLOCK_OPERATIONS.items() if row.finds_scale)
ACC: Final = Name("ACCUMULATOR", ACCUMULATORS)
_DOT_OPTIONS: Final[dict[str, Any]] = {
    "acc": click.option("--acc", type=ACC, help="dot: accumulator: name, expression, FILE.toml[:NAME]."),
    "k": click.option("--k", "k", type=click.IntRange(min=1), help="dot: elements [one block, or 16]."),
    "steps": click.option("--steps", is_flag=True, help="dot: add the running result after each step."),
    "extrapolate": click.option(
        "--extrapolate", is_flag=True, help="dot: allow formats that the unit does not support."
    ),
}
_MATMUL_OPTIONS: Final[dict[str, Any]] = {
    "m": click.option("--m", "m", type=click.IntRange(min=1), help=f"matmul: rows of A [{SIDE}]."),
    "n": click.option("--n", "n", type=click.IntRange(min=1), help=f"matmul: columns of B [{SIDE}]."),
    "layout": click.option("--layout", metavar="LAYOUT", help="matmul: elements and scales in memory."),
    "word": click.option("--word", type=click.INT, help="matmul: bits of a memory word [64]."),
}
_SCALE_OPTIONS: Final[dict[str, Any]] = {
    "scale_round": click.option(
        "--scale-round",
        type=Name("MODE", ROUNDINGS),
        metavar="MODE",
        help="ConvertToBlockMaxAbsFinite: rounding of the scale.",
    ),
    "scale_overflow": click.option(
        "--scale-overflow",
        type=Name("RULE", Overflow),
        metavar="RULE",
        help="ConvertToBlockMaxAbsFinite: overflow of the scale.",
    ),
}
_DRAWN: Final = ("random_bits", "random_source")
_VECTOR_OPTIONS: Final[dict[str, Any]] = {
    "length": click.option(
        "--length", type=click.IntRange(min=1), help=f"softmax, norms, attention: lanes [{DEFAULT_LENGTH}]."
    ),
    "depth": click.option("--depth", type=click.IntRange(min=1), help=f"attention: size of a key [{DEFAULT_DEPTH}]."),
    "epsilon": click.option("--epsilon", metavar="NUMBER", help=f"norms: a number, or FORMAT:NUMBER [{EPSILON}]."),
    "plain": click.option("--plain", is_flag=True, help="norms: without gain and bias."),
    "masked": click.option("--masked", is_flag=True, help="attention: with the number of visible keys."),
}
_OWNERS: Final[dict[str, tuple[tuple[str, ...], str]]] = {  # the operations that an option is for, and their name
    **dict.fromkeys(_DOT_OPTIONS, (DOT_OPERATIONS, DOT)),
    **dict.fromkeys(_MATMUL_OPTIONS, ((MATMUL,), MATMUL)),
    **dict.fromkeys(_SCALE_OPTIONS, (_FINDING_SCALES, " or ".join(_FINDING_SCALES))),
    **dict.fromkeys(_VECTOR_OPTIONS, (tuple(VECTOR_FUNCTIONS), "functions of vectors, such as softmax")),
}


def _dots(given: dict[str, Any]) -> dict[str, Any]:
    """The options of dot and matrix products, and of functions of vectors, as one `dots`."""
    return {"dots": {n: given.pop(n) for n in _OWNERS if n in given}}


vector_options: Final = bundled(_dots, *_VECTOR_OPTIONS.values())
case_options: Final = bundled(_dots, *_SCALE_OPTIONS.values(), *_VECTOR_OPTIONS.values())
_OPTIONS: Final = (*_DOT_OPTIONS.values(), *_SCALE_OPTIONS.values(), *_VECTOR_OPTIONS.values())
rounding_input: Final = click.option(
    "--rounding-input",
    "roundings",
    metavar="MODE,MODE,...",
    help="The rounding is an input: these modes, coded 0, 1, ...",
)
dot_options: Final = bundled(_dots, *_OPTIONS)
product_options: Final = bundled(_dots, *_OPTIONS, *_MATMUL_OPTIONS.values())


def request(
    op: str | None,
    fmt: str | None,
    out: str | None,
    choices: Choices,
    profile: str | None,
    dots: dict[str, Any] | None = None,
    roundings: str | None = None,
    **cases: Any,
) -> VectorSet:
    """The set that the options describe. dots: from `product_options`; roundings: modes, separated by commas, that an
    input selects; cases: count, level and seed of the set.

    Raises Error for options that the operation does not have.
    """
    if roundings is not None:
        modes = _modes(roundings, choices)
        unit = request(op, fmt, out, _with_random_bits(choices, modes), profile, dots, count=1).unit
        try:
            selected = RoundingsUnit.of(unit, modes)
        except Error as e:
            raise Error(f"--rounding-input {roundings}: {e}") from None
        return of_unit(selected, **cases)
    if op is None:
        raise Error("give the operation and --fmt")
    if is_definition(op):
        return _of_definition(op, fmt, out, choices, profile, dots, cases)
    if fmt is None:
        raise Error(f"{op} needs --fmt")
    name = own_name(op)
    given = {k: v for k, v in (dots or {}).items() if v not in (None, False)}
    _refuse(name, given, profile)
    if choices.random_bits is not None:
        raise Error("vectors need a random source: give --random-source or --seed")
    if name in DOT_OPERATIONS:
        if choices.given:
            raise Error(f"an accumulator has its own roundings; leave {option_name(choices.given[0])} out")
        return VectorSet.make(name, fmt, out=out, **given, **cases)
    choices.check()
    cases |= {"out": out, "source": choices.source.spec() if choices.source else None}
    if name in QUANTIZATIONS:
        policy = choices.typed_policy(get_affine_format(fmt) if is_affine(fmt) else any_format(fmt), profile)
        return VectorSet.make(name, fmt, policy=policy, profile=profile, **cases)
    if name in BLOCK_OPERATIONS:
        return VectorSet.make(name, fmt, policy=choices.policy, **_scale(given, choices), **cases)
    if name in VECTOR_FUNCTIONS:
        return VectorSet.make(name, fmt, policy=choices.policy, **given, **cases)
    operation = find_operation(op)
    formats = operand_formats(fmt, operation.arity, operation.name)
    return VectorSet.make(op, formats, policy=choices.policy, **cases)


def input_unit(
    op: str | None,
    fmt: str | None,
    out: str | None,
    choices: Choices,
    profile: str | None,
    dots: dict[str, Any],
    roundings: str | None = None,
) -> Unit:
    """The unit that the options or a vector recipe describe, random bits of which are an input. Raises Error."""
    drawn = [*(n for n in choices.given if n in _DRAWN), *(["seed"] if choices.seed is not None else [])]
    if drawn:
        raise Error(f"random bits are an input here; leave {option_name(drawn[0])} out")
    if op is not None and is_recipe(op):
        given = {
            "fmt": fmt,
            "out": out,
            "profile": profile,
            "rounding_input": roundings,
            **dots,
            **dict.fromkeys(choices.given, True),
        }
        for name in (n for n, value in given.items() if value not in (None, False)):
            raise Error(f"a vector recipe has its own formats and policy; leave {option_name(name)} out, or copy it")
        return load_recipe(op).unit
    if op == MATMUL:
        raise Error("a matrix product is too large for one circuit; give dot, which each of its results is")
    return request(op, fmt, out, choices, profile, dots, roundings, count=len(ROUNDINGS)).unit  # a case of each


def _modes(roundings: str, choices: Choices) -> list[str]:
    """The roundings that an input selects."""
    if "round" in choices.given:
        raise Error("--rounding-input gives the roundings; leave --round out")
    modes = [mode.strip() for mode in roundings.split(",")]
    if len(modes) < 2:
        raise Error(f"--rounding-input {roundings}: give several modes, such as rne,rtz,rdn,rup,rna")
    return modes


def _with_random_bits(choices: Choices, modes: Sequence[str]) -> Choices:
    """The choices with a stochastic one of the roundings, if their random bits were given."""
    if "sr_bits" not in choices.given:
        return choices
    policies = [choices.policy.replace(rounding=mode) for mode in modes]
    policy = next((p for p in policies if p.rounding.stochastic), policies[0])
    return dataclasses.replace(choices, policy=policy, given=(*choices.given, "round"))


def _scale(given: dict[str, Any], choices: Choices) -> dict[str, Any]:
    """The policy of a scale that the unit finds, if an option of it was given."""
    fields = {name.removeprefix("scale_"): value for name, value in given.items()}
    if not fields:
        return {}
    rounding = {"rounding": fields.pop("round")} if "round" in fields else {}
    return {"scale_policy": get_policy(sr_bits=choices.policy.sr_bits, **rounding, **fields)}


def _of_definition(
    op: str,
    fmt: str | None,
    out: str | None,
    choices: Choices,
    profile: str | None,
    dots: dict[str, Any] | None,
    cases: dict[str, Any],
) -> VectorSet:
    """The set of an approximation, which has its own formats and rounding."""
    _refuse(op, {k: v for k, v in (dots or {}).items() if v not in (None, False)}, profile)
    if choices.given or choices.random_bits is not None:
        option = option_name(choices.given[0]) if choices.given else "--random-bits"
        raise Error(f"{op} has its own rounding; leave {option} out")
    return VectorSet.make(op, fmt, out=out, **cases)


def _refuse(op: str, dots: dict[str, Any], profile: str | None) -> None:
    """Raises Error for options that this operation does not have."""
    refuse_dots(op, dots, op)
    if profile is not None and op in DOT_OPERATIONS:
        raise Error("--profile is for quantize: a dot product takes codes and scales")
    if profile is not None and op not in QUANTIZATIONS:
        raise Error("--profile is for quantize and dequantize")


def refuse_dots(what: str, dots: dict[str, Any], op: str = "") -> None:
    """Raises Error for an option of dot or matrix products, or of functions of vectors, that was given for another
    operation."""
    for name, value in dots.items():
        own, called = _OWNERS[name]
        if value not in (None, False) and op not in own:
            raise Error(f"{option_name(name)} is for {called}, not for {what}")


def random_codes(unit: Unit, choices: Choices) -> list[int]:
    """The random bits of a single case."""
    field = unit.random_field
    if field is None or field.lanes == 1:
        word = check_random(choices.policy, choices.one_word())
        return [] if field is None else [word]
    words: Sequence[int | None] = choices.words(field.lanes) or [None] * field.lanes
    return [check_random(choices.policy, word) for word in words]


# -- a case on the command line ----------------------------------------------------------------------------------------


def case_codes(unit: Unit, texts: Sequence[str]) -> list[int]:
    """The codes of a case's operands, without random words. Raises Error."""
    operands = [f for f in unit.inputs if f.role == "operand"]
    fields = [f for f in operands for _ in range(f.lanes)]
    if len(texts) != len(fields):
        names = ", ".join(f.name if f.lanes == 1 else f"{f.name} ({f.lanes})" for f in operands)
        raise Error(f"{unit.properties()['op']} takes {counted(len(fields), 'code')}, {names}, not {len(texts)}")
    return [_code(parse_code(x), f) for x, f in zip(texts, fields, strict=True)]


def _code(code: int, field: Field) -> int:
    """A code that its field can hold. Raises Error."""
    if field.fmt is not None:
        return check_code(code, field.fmt)
    if code >> field.width:
        raise Error(f"{code:x} does not fit {field.name}, of {field.width} bits")
    return code


def vector_unit(
    name: str, fmt: str, out: str | None, choices: Choices, dots: dict[str, Any], count: int | None
) -> VectorUnit:
    """The unit for a number of codes (None: any): without --length, of as many lanes as they make. Raises Error."""
    given = {k: v for k, v in dots.items() if v not in (None, False)}
    unit = VectorUnit.make(name, fmt, out, choices.policy, **given)
    if "length" in given or count is None:
        return unit
    one, two = (dataclasses.replace(unit, length=n).operand_width for n in (1, 2))
    length = max(1, 1 + (count - one) // (two - one))
    return dataclasses.replace(unit, length=length) if length <= MAX_LENGTH else unit
