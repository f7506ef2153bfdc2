"""From names to units and sets of vectors: operations, files of approximations, and vector recipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.search import find_first
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.golden.vector_recipes import DEFAULT_COUNT, is_recipe, load_recipe, recipe_files
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units import (
    REQUESTS,
    ApproximationUnit,
    MatmulUnit,
    OperationUnit,
    PipelineUnit,
    Unit,
    VectorUnit,
    is_definition,
    make_unit,
)
from softfloat_ref.units.several import are_several

DEFAULT_CASES: Final = 100_000  # cases of a check,
DEFAULT_BLOCKS: Final = 10_000  # of blocks, dot products and affine integers,
DEFAULT_LANES: Final = 2_000  # lines or cases of functions of vectors,
DEFAULT_PRODUCTS: Final = 4  # of matrix products


def unit(
    op: str | Sequence[str] | Unit,
    fmt: Any = None,
    out: Any = None,
    *,
    policy: Policy | str | Mapping[str, Any] | None = None,
    roundings: Sequence[str] | str | None = None,
    spell: Callable[[str], str] = str,
    **options: Any,
) -> Unit:
    """The unit of an operation and its formats: named fields in and out, and `answer(codes)`.

    op: an operation, also by P3109's name, such as "fma" or "BlockAdd"; quantize, dequantize, requantize, dot, matmul,
    a function of vectors such as softmax, or a pipeline such as stepwise_softmax; FILE.toml[:NAME] of an approximation
    or a pipeline; a vector recipe; or several operations, as a list or "add,sub@bc,convert:fp16:i32". fmt: one format,
    or one for each operand, as a list or "a=fp8_e4m3,b=fp8_e5m2,c=fp32"; for quantize a block or affine format. out:
    the format of the result; for quantize, of the values. policy: a name, a Policy or a table of its fields. roundings:
    modes that an input selects, such as "rne,rtz".

    options: profile (quantize, dequantize: a block profile, or an affine rule); rule, fixed, clamped (requantize); acc,
    k, steps, extrapolate (dot, matmul); m, n, layout, word (matmul); length, depth, epsilon, plain, masked (functions
    of vectors); length, depth, epsilon, acc, steps (pipelines that have them); padding (several operations: box or
    zeros); scale_policy (convert_to_block_max_abs_finite). Raises Error, also for an option that the unit does not
    have.
    """
    settings = {"fmt": fmt, "out": out, "policy": policy, "roundings": roundings, **options}
    if isinstance(op, Unit):
        _refuse("a unit", settings, spell)
        return op
    op = joined(op)
    if is_name_of_recipe(op):
        _refuse("a vector recipe", settings, spell)
        return load_recipe(op).unit
    if not is_operation(op):
        raise unknown("operation", op, (*OPERATIONS, *REQUESTS, *recipe_files()))
    return make_unit(op, fmt, out, policy=policy, roundings=roundings, spell=spell, **options)


def vectors(
    op: str | Sequence[str] | Unit | VectorSet,
    fmt: Any = None,
    count: int | None = None,
    *,
    level: str | int | None = None,
    seed: int | None = None,
    source: str | None = None,
    where: str | None = None,
    tensors: Sequence[str] = (),
    default: Callable[[Unit], int] | None = None,
    spell: Callable[[str], str] = str,
    **options: Any,
) -> VectorSet:
    """A set of a unit's golden vectors, the same on every machine: `lines()` has the inputs and the exact answers.

    op, fmt, options: as for `unit`; op may be a set, too, or a vector recipe, which have their own number of cases and
    seed. count: the number of cases; level: 0, 1, 2 or exhaustive, instead of or with it. source: of the random words
    of a stochastic rounding, such as "philox:seed=3". where: the range of the operands, such as "a is normal and
    abs(b) < 2"; a set or recipe keeps its own unless one is given. tensors: of models, whose values are the operands of
    quantize, dot and matmul, such as "a=activations.npz::x" and "b=model.safetensors::layer.weight". Raises Error.
    """
    op = op if isinstance(op, VectorSet | Unit) else joined(op)
    if isinstance(op, VectorSet) or (isinstance(op, str) and is_name_of_recipe(op)):
        what = "a vector recipe" if isinstance(op, str) else "a set"
        if tensors:
            raise Error(f"{what} has its own cases; give the operation and its formats, to take tensors")
        _refuse(what, {"fmt": fmt, "random_source": source, **options}, spell)
        vector_set = load_recipe(op) if isinstance(op, str) else op
        vector_set = vector_set if seed is None else vector_set.of_seed(seed)
        vector_set = vector_set if where is None else vector_set.of_range(where)
        if level is not None:
            return vector_set.at_level(str(level), count)
        return vector_set if count is None else vector_set.of_count(count)
    subject = unit(op, fmt, spell=spell, **options)
    if tensors:
        return _of_tensors(subject, tensors, count, level, seed or 0, source, where)
    number = (default or default_count)(subject) if count is None and level is None else count
    return of_unit(subject, number, level, seed or 0, source, where or "")


def _of_tensors(
    subject: Unit, tensors: Sequence[str], count: int | None, level: Any, seed: int, source: str | None, where: Any
) -> VectorSet:
    """A set with operands of tensors. Raises Error."""
    from softfloat_ref.golden.from_model import operands_of_tensors

    if level is not None or where is not None:
        raise Error("operands of tensors have no level and no range: leave them out")
    operands = operands_of_tensors(subject, tensors, count, DEFAULT_COUNT)
    return replace(of_unit(subject, len(operands.lines), None, seed, source), operands=operands)


def joined(op: str | Sequence[str]) -> str:
    """Several operations as one text. Raises Error for what is not text."""
    words = [op] if isinstance(op, str) else list(op)
    if not words or not all(isinstance(word, str) for word in words):
        raise Error(f"an operation is a text, or a list of texts, not {op!r}")
    return ",".join(words)


def circuit_unit(unit: Unit) -> Unit:
    """The unit, as one circuit. Raises Error for one that is too large."""
    if isinstance(unit, MatmulUnit):
        raise Error("a matrix product is too large for one circuit; give dot, which each of its results is")
    return unit


def is_name_of_recipe(op: str) -> bool:
    """Whether a name is that of a vector recipe, not of an operation or an approximation. Raises Error for a file that
    cannot be read."""
    return not is_operation(op, files=False) and is_recipe(op)


def is_operation(op: str, files: bool = True) -> bool:
    """Whether a name is that of an operation, of several, or of another unit. files: or of an approximation's file."""
    name = own_name(op)
    return name in OPERATIONS or name in REQUESTS or are_several(op) or (files and is_definition(op))


def _refuse(what: str, settings: Mapping[str, Any], spell: Callable[[str], str]) -> None:
    """Raise Error for an option of what has its own formats and policy."""
    for name, value in settings.items():
        if value is None or value is False or value == {}:
            continue
        field = find_first(value) if isinstance(value, Mapping) else ""
        option = spell(field if field and name == "policy" else f"scale_{field}" if field else name)
        copy = ", or copy it" if "recipe" in what else ""
        raise Error(f"{what} has its own formats and policy; leave {option} out{copy}")


# -- how many cases ----------------------------------------------------------------------------------------------------


def default_count(unit: Unit) -> int:
    """The number of vectors of a set, by default."""
    return _few(unit) or DEFAULT_COUNT


def default_cases(unit: Unit) -> int:
    """The number of cases of a check, by default."""
    scalar = isinstance(unit.parts[0], OperationUnit | ApproximationUnit)
    return _few(unit) or (DEFAULT_CASES if scalar else DEFAULT_BLOCKS)


def fewest(unit: Unit) -> int:
    """The smallest number of cases: one of each part."""
    return len(unit.parts)


def _few(unit: Unit) -> int:
    """The number for units of which a case takes long; 0 for others."""
    return {VectorUnit: DEFAULT_LANES, PipelineUnit: DEFAULT_LANES, MatmulUnit: DEFAULT_PRODUCTS}.get(
        type(unit.parts[0]), 0
    )
