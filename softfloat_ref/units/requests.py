"""What the name of an operation and its options mean: the one resolver of the command line, Python, recipes and DPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.search import find_first
from softfloat_ref.oracle.affine import get_affine_format, is_affine
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS
from softfloat_ref.oracle.operations import OPERATIONS, Operation
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.oracle.policies import Policy, get_policy, parse_rounding, rounding_name
from softfloat_ref.oracle.vector_functions import VECTOR_FUNCTIONS
from softfloat_ref.units.affine import AffineDequantizeUnit, AffineQuantizeUnit
from softfloat_ref.units.approximation import ApproximationUnit
from softfloat_ref.units.block_operation import BlockOperationUnit
from softfloat_ref.units.dequantize import DequantizeUnit
from softfloat_ref.units.dot import DEFAULT_K, DotUnit
from softfloat_ref.units.integer_dot import DEFAULT_K as INTEGER_K
from softfloat_ref.units.integer_dot import IntegerDotUnit
from softfloat_ref.units.matmul import MatmulUnit
from softfloat_ref.units.mixed import MixedUnit
from softfloat_ref.units.operation import OperationUnit
from softfloat_ref.units.pipeline import PipelineUnit
from softfloat_ref.units.pipelines import get_pipeline, is_pipeline_file, make_pipeline, named_pipelines
from softfloat_ref.units.quantize import QuantizeUnit
from softfloat_ref.units.requantize import DEFAULT_RULE, RequantizeUnit
from softfloat_ref.units.roundings import RoundingsUnit
from softfloat_ref.units.several import SEVERAL, are_several, make_several
from softfloat_ref.units.unit import Unit
from softfloat_ref.units.vector import DEFAULT_DEPTH, DEFAULT_LENGTH, EPSILON, VectorUnit

SIDE: Final = 16  # rows and columns of a matrix product, by default


# -- what is requested by names that are not operations ----------------------------------------------------------------


def _quantize(fmt: Any, out: Any = None, policy: Any = None, profile: Any = None) -> Unit:
    if is_affine(fmt):
        return AffineQuantizeUnit.make(fmt, out, policy, profile)
    return QuantizeUnit.make(_block("quantize", fmt), out, policy, profile)


def _dequantize(fmt: Any, out: Any = None, profile: Any = None) -> Unit:
    if is_affine(fmt):
        if profile is not None or out not in (None, "fp32"):
            raise Error("dequantize of affine integers always gives fp32, by one rule: leave out and profile out")
        return AffineDequantizeUnit(get_affine_format(fmt))
    return DequantizeUnit.make(_block("dequantize", fmt), out, profile)


def _block(op: str, fmt: Any) -> BlockFormat:
    block = any_format(fmt) if isinstance(fmt, str) else fmt
    if not isinstance(block, BlockFormat):
        raise Error(f"{op} works on blocks; give a block format, such as mxfp8 (scalar conversions are op convert)")
    return block


def _matmul(fmt: Any, m: int = SIDE, n: int = SIDE, layout: str = "dense", word: int = 64, **dot: Any) -> Unit:
    return MatmulUnit(DotUnit.make(fmt, **dot), m, n, layout, word)


# Each takes a format, and its own keywords.
REQUESTS: Final[dict[str, Callable[..., Unit]]] = {
    "quantize": _quantize,
    "dequantize": _dequantize,
    "dot": DotUnit.make,
    "matmul": _matmul,
    "requantize": RequantizeUnit.make,
    "integer_dot": IntegerDotUnit.make,
    **{name: partial(BlockOperationUnit.make, name) for name in BLOCK_OPERATIONS},
    **{name: partial(VectorUnit.make, name) for name in VECTOR_FUNCTIONS},
    **{name: partial(make_pipeline, name) for name in named_pipelines()},
}


# -- their options -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """An option of some units. kind: of its value, None for a table or a name; ops: the names that have it; owner: in
    words; help: of the command line."""

    kind: Any
    ops: tuple[str, ...]
    owner: str
    help: str
    least: int | None = None


_DOTS: Final = ("dot", "matmul")
_SUMS: Final = (*_DOTS, "integer_dot")
_VECTORS: Final = tuple(VECTOR_FUNCTIONS)
_PIPELINES: Final = named_pipelines()


def _and_pipelines(option: str, *ops: str) -> tuple[str, ...]:
    """Operations that have an option, and the pipelines that do."""
    return (*ops, *(name for name, x in _PIPELINES.items() if option in x.options))


_FINDING_SCALES: Final = tuple(name for name, row in BLOCK_OPERATIONS.items() if row.finds_scale)
_OWN_ROUNDING: Final = ("dequantize", "requantize", *_SUMS)  # units whose rounding no policy changes
_VECTOR: Final = "functions of vectors, such as softmax"

OPTIONS: Final[dict[str, Option]] = {
    "profile": Option(
        str,
        ("quantize", "dequantize"),
        "quantize and dequantize",
        "Block profile: a name, NAME,field=choice,... or FILE.toml[:NAME] [the format's own]; affine formats: a rule.",
    ),
    "acc": Option(
        str,
        _and_pipelines("acc", *_SUMS),
        "dot",
        "dot: accumulator: name, expression, FILE.toml[:NAME]; integers: wrap or saturate[/N].",
    ),
    "k": Option(int, _SUMS, "dot", f"dot: elements [one block, or {DEFAULT_K}; integers: {INTEGER_K}].", 1),
    "steps": Option(
        bool,
        _and_pipelines("steps", *_SUMS),
        "dot and pipelines",
        "dot, pipelines: add the (running) result after each step.",
    ),
    "clear": Option(
        bool, ("integer_dot",), "integer_dot", "integer_dot: the accumulator is a register, which an input clears."
    ),
    "extrapolate": Option(bool, _DOTS, "dot", "dot: allow formats that the unit does not support."),
    "m": Option(int, ("matmul",), "matmul", f"matmul: rows of A [{SIDE}].", 1),
    "n": Option(int, ("matmul",), "matmul", f"matmul: columns of B [{SIDE}].", 1),
    "layout": Option(str, ("matmul",), "matmul", "matmul: elements and scales in memory."),
    "word": Option(int, ("matmul",), "matmul", "matmul: bits of a memory word [64]."),
    "length": Option(
        int, _and_pipelines("length", *_VECTORS), _VECTOR, f"softmax, norms, attention: lanes [{DEFAULT_LENGTH}].", 1
    ),
    "depth": Option(
        int, _and_pipelines("depth", *_VECTORS), _VECTOR, f"attention: size of a key [{DEFAULT_DEPTH}].", 1
    ),
    "epsilon": Option(
        str, _and_pipelines("epsilon", *_VECTORS), _VECTOR, f"norms: a number, or FORMAT:NUMBER [{EPSILON}]."
    ),
    "plain": Option(bool, _VECTORS, _VECTOR, "norms: without gain and bias."),
    "masked": Option(bool, _VECTORS, _VECTOR, "attention: with the number of visible keys."),
    "rule": Option(
        str,
        ("requantize",),
        "requantize",
        f"requantize: a rule: name, NAME,field=choice,... or FILE.toml[:NAME] [{DEFAULT_RULE}].",
    ),
    "fixed": Option(str, ("requantize",), "requantize", "requantize: constants: multiplier=N,shift=N,..."),
    "clamped": Option(bool, ("requantize",), "requantize", "requantize: the range has inputs, min and max."),
    "padding": Option(
        str, (SEVERAL,), SEVERAL, "Several operations: above narrower operands and results: box or zeros [box]."
    ),
    "scale_policy": Option(
        None, _FINDING_SCALES, " and ".join(_FINDING_SCALES), "ConvertToBlockMaxAbsFinite: of the scale."
    ),
}


def find_operation(op: str) -> Operation:
    """The operation of that name, or of P3109's. Raises Error, listing the closest names of every kind of unit."""
    if (name := own_name(op)) not in OPERATIONS:
        raise unknown("operation", op, (*OPERATIONS, *REQUESTS))
    return OPERATIONS[name]


def is_definition(op: str) -> bool:
    """Whether an operation is given by a file, FILE.toml[:NAME], which defines an approximation or a pipeline."""
    return ".toml" in op


def options_of(op: str) -> frozenset[str]:
    """The options that an operation takes, besides its formats. Raises Error for an unknown one."""
    if is_definition(op):
        return get_pipeline(op).options if is_pipeline_file(op) else frozenset()
    name = SEVERAL if are_several(op) else own_name(op)
    if name not in (*REQUESTS, SEVERAL):
        find_operation(op)
    policy = () if name in _OWN_ROUNDING else ("policy",)
    return frozenset((*policy, *(option for option, row in OPTIONS.items() if name in row.ops)))


def _refuse(op: str, options: Mapping[str, Any], spell: Callable[[str], str]) -> None:
    """Raise Error for an option that the operation does not take."""
    name, taken = SEVERAL if are_several(op) else own_name(op), options_of(op)
    for option in options:
        if option in taken:
            continue
        if option in ("policy", "roundings"):
            table = options["policy"] if option == "policy" else {option: None}
            first = spell(next(iter(table), option) if isinstance(table, Mapping) else option)
            owner = "an accumulator has its own roundings" if name in _SUMS else f"{op} has its own rounding"
            raise Error(f"{owner}; leave {first} out")
        if option not in OPTIONS:
            raise unknown("option", option, ("out", "policy", "roundings", *OPTIONS))
        if is_definition(op):
            raise Error(f"{op} has its own rounding and formats; leave {spell(option)} out")
        table = options[option]
        first = spell(f"scale_{find_first(table)}" if isinstance(table, Mapping) and table else option)
        raise Error(f"{first} is for {OPTIONS[option].owner}, not for {name}")


# -- the unit ----------------------------------------------------------------------------------------------------------


def make_unit(
    op: str,
    fmt: Any = None,
    out: Any = None,
    *,
    policy: Policy | str | Mapping[str, Any] | None = None,
    roundings: Sequence[str] | str | None = None,
    spell: Callable[[str], str] = str,
    **options: Any,
) -> Unit:
    """The unit for the name of an operation (or quantize, requantize, dot, matmul, block_add, softmax, ...) and a
    format or formats; for the names of several operations, as in "add,sub@bc,convert:fp16:i32"; or for the
    FILE.toml[:NAME] of an approximation, which has its own.

    policy: a name, a Policy, or a table of fields (with `like`), which has the profile's rounding unless it says how to
    round. roundings: modes that an input selects, in a list or separated by commas. options: those of `OPTIONS`;
    None and False are the same as none. spell: an option as the user writes it, for messages. Raises Error, also for an
    option that the unit does not have.
    """
    chosen = {k: v for k, v in options.items() if v is not None and v is not False}
    if policy is not None and policy != {}:
        chosen["policy"] = policy
    if isinstance(scale := chosen.get("scale_policy"), Mapping) and policy is not None:
        chosen["scale_policy"] = {**scale, "sr_bits": scale.get("sr_bits", get_policy(policy).sr_bits)}
    modes = [mode.strip() for mode in roundings.split(",")] if isinstance(roundings, str) else list(roundings or ())
    if are_several(op):
        _refuse(op, chosen, spell)
        return _checked(make_several(op, fmt, out, roundings=modes, **chosen), policy, spell)
    if roundings is not None:
        return _selected(op, fmt, out, chosen, modes, spell)
    _refuse(op, chosen, spell)
    if is_definition(op):
        if is_pipeline_file(op):
            return _checked(make_pipeline(op, fmt, out, **chosen), policy, spell)
        return ApproximationUnit.make(op, fmt, out)
    if fmt is None:
        raise Error(f"{own_name(op)} needs {spell('fmt')}")
    name = own_name(op)
    if out is not None:
        chosen["out"] = out
    unit = REQUESTS[name](fmt, **chosen) if name in REQUESTS else OperationUnit.make(name, fmt, **chosen)
    return _checked(unit, policy, spell)


def _selected(
    op: str, fmt: Any, out: Any, chosen: dict[str, Any], roundings: Sequence[str], spell: Callable[[str], str]
) -> Unit:
    """The unit in several roundings. Raises Error."""
    written, policy = f"{spell('roundings')} {','.join(roundings)}", chosen.get("policy")
    if isinstance(policy, Mapping) and "rounding" in policy:
        raise Error(f"{spell('roundings')} gives the roundings; leave {spell('rounding')} out")
    if len(roundings) < 2:
        raise Error(f"{written}: give several modes, such as rne,rtz,rdn,rup,rna")
    if isinstance(policy, Mapping) and "sr_bits" in policy:
        stochastic = (x for x in roundings if parse_rounding(x).stochastic)
        chosen["policy"] = {**policy, "rounding": next(stochastic, roundings[0])}
    unit = make_unit(op, fmt, out, spell=spell, **chosen)
    try:
        if isinstance(unit, PipelineUnit):
            base = get_policy(chosen.pop("policy", None))
            every = (base.replace(rounding=mode) for mode in roundings)
            return RoundingsUnit(tuple(make_unit(op, fmt, out, policy=p, **chosen) for p in every))
        return RoundingsUnit.of(unit, roundings)
    except Error as e:
        raise Error(f"{written}: {e}") from None


def _checked(unit: Unit, policy: Any, spell: Callable[[str], str]) -> Unit:
    """The unit, if its policy fits each of its operations. Raises Error."""
    for part in unit.parts if isinstance(unit, MixedUnit) else (unit,):
        _check_policy(part, policy, spell)
    return unit


def _check_policy(unit: Any, policy: Any, spell: Callable[[str], str]) -> None:
    """Raise Error for random bits that the rounding does not take, for a NaN rule that does not fit the result, and for
    a rounding that the operation does not have."""
    if isinstance(policy, Mapping) and "sr_bits" in policy and unit.random_field is None:
        mode = rounding_name(unit.policy.rounding)
        raise Error(f"{spell('sr_bits')} is for stochastic roundings; {mode} takes no bits")
    if isinstance(unit, OperationUnit):
        unit.signature.operation.rounded_as(unit.policy)
    if isinstance(unit, OperationUnit) and unit.signature.operation.result == "float" and unit.out.has_nan:
        unit.policy.nan_rule.code(unit.out)
