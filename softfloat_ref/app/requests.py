"""The options that describe a unit, the same for every command that takes one, and what they describe."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from softfloat_ref.app.options import (
    ANY,
    POLICY_OPTIONS,
    Choices,
    NameType,
    ProfileType,
    bundled,
    option_name,
    policy_values,
)
from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.search import find_first
from softfloat_ref.golden.readers import Code, Column, Unknown, common_prefix
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.vector_recipes import recipe_files
from softfloat_ref.oracle.accumulate import ACCUMULATORS
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.codec import check_code, check_random
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS, Overflow, Policy, rounding_name
from softfloat_ref.oracle.requantization import RULES as REQUANTIZE_RULES
from softfloat_ref.oracle.sources import RandomSource
from softfloat_ref.units import OPTIONS, REQUESTS, DotUnit, Field, PipelineUnit, Unit, VectorUnit, options_of
from softfloat_ref.units.dot import MAX_K
from softfloat_ref.units.vector import MAX_LENGTH
from softfloat_ref.workflow import units as workflow

OP: Final = NameType("OP", [*OPERATIONS, *REQUESTS, *recipe_files()])
_COMPLETIONS: Final[dict[str, tuple[str, Iterable[str]]]] = {
    "acc": ("ACCUMULATOR", ACCUMULATORS),
    "rule": ("RULE", REQUANTIZE_RULES),
}
_METAVARS: Final = {"layout": "LAYOUT", "epsilon": "NUMBER", "fixed": "NAME=N,..."}
IEEE: Final = POLICIES["ieee"]
# That the number of codes tells:
_SIZES: Final = {VectorUnit: ("length", MAX_LENGTH), PipelineUnit: ("length", MAX_LENGTH), DotUnit: ("k", MAX_K)}


def _option(name: str) -> Callable[[Any], Any]:
    """The option of a command for an option of units."""
    row = OPTIONS[name]
    if row.kind is bool:
        return click.option(option_name(name), name, is_flag=True, help=row.help)
    if row.kind is int:
        integer = click.INT if row.least is None else click.IntRange(min=row.least)
        return click.option(option_name(name), name, type=integer, help=row.help)
    kind = NameType(*_COMPLETIONS[name]) if name in _COMPLETIONS else click.STRING
    kind = ProfileType() if name == "profile" else kind
    metavar = _METAVARS.get(name, kind.name)
    return click.option(option_name(name), name, type=kind, metavar=metavar, help=row.help)


_SCALE_OPTIONS: Final[dict[str, tuple[str, Iterable[str]]]] = {
    "rounding": ("MODE", ROUNDINGS),
    "overflow": ("RULE", Overflow),
}
_UNIT_PARAMETERS: Final = tuple(name for name, row in OPTIONS.items() if row.kind is not None)
_OPTIONS: Final = (
    click.option("--fmt", type=ANY, metavar="FORMAT", help="Format, or one per operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32."),
    click.option(
        "--out", metavar="FORMAT", help="Format of the result [the operands']; quantize: of the values [fp32]."
    ),
    click.option(
        "--rounding-input",
        "roundings",
        metavar="MODE,MODE,...",
        help="The rounding is an input: these modes, coded 0, 1, ...",
    ),
    *map(_option, _UNIT_PARAMETERS),
    *(
        click.option(
            option_name(f"scale_{name}"),
            f"scale_{name}",
            type=NameType(*names),
            metavar=names[0],
            help=f"ConvertToBlockMaxAbsFinite: {name} of the scale.",
        )
        for name, names in _SCALE_OPTIONS.items()
    ),
    *POLICY_OPTIONS,
)


@dataclass(frozen=True)
class UnitRequest:
    """The options of a command that describe a unit. options: of `units.OPTIONS`, and roundings; those typed."""

    fmt: str | None
    out: str | None
    choices: Choices
    options: dict[str, Any]

    @property
    def typed_options(self) -> tuple[str, ...]:
        formats = {"fmt": self.fmt, "out": self.out, "seed": self.choices.seed}
        return (*(n for n, x in formats.items() if x is not None), *self.choices.typed_options, *self.options)

    def refuse(self, why: str, allowed: Sequence[str] = ()) -> None:
        """Raise Error for options that have no effect."""
        for name in self.typed_options:
            if name not in allowed:
                first = find_first(self.options[name]) if name == "scale_policy" else name
                raise Error(f"{why}; leave {option_name(f'scale_{first}' if first != name else name)} out")

    def unit(self, op: str | None) -> Unit:
        """The unit of an operation, with these options. Raises Error."""
        if op is None:
            raise Error("give the operation and --fmt")
        policy = self.choices.table or None
        return workflow.unit(op, self.fmt, self.out, policy=policy, spell=option_name, **self.options)

    def vectors(self, op: str | None, count: int | None, level: str | None = None, **more: Any) -> VectorSet:
        """A set of the unit's vectors. more: the default number of cases. Raises Error."""
        choices = self.choices
        if op is None:
            raise Error("give the operation and --fmt")
        if choices.random_bits is not None:
            raise Error("vectors need a random source: give --random-source or --seed")
        if not workflow.is_name_of_recipe(op):
            choices.check(_deterministic(self.unit(op)))
        return workflow.vectors(
            op,
            self.fmt,
            count,
            level=level,
            seed=choices.seed,
            source=choices.spec,
            out=self.out,
            policy=choices.table or None,
            spell=option_name,
            **self.options,
            **more,
        )

    def input_unit(self, op: str | None) -> Unit:
        """The unit, with its random bits as an input. Raises Error."""
        choices = self.choices
        sources = {"random_source": choices.spec, "random_bits": choices.random_bits, "seed": choices.seed}
        for name in (n for n, value in sources.items() if value is not None):
            raise Error(f"random bits are an input here; leave {option_name(name)} out")
        return self.unit(op)

    def circuit_unit(self, op: str | None) -> Unit:
        """The unit, as one circuit. Raises Error."""
        return workflow.circuit_unit(self.input_unit(op))

    def case(self, op: str | None, texts: Sequence[str]) -> tuple[Unit, list[int]]:
        """The unit, and the codes of a case: those of its operands, and random words. Raises Error."""
        unit = self._sized(op, self.unit(op), len(texts))
        codes = case_codes(unit, texts)
        return unit, [*codes, *self._random_codes(unit, codes)]

    def stream(self, op: str | None) -> tuple[Unit, RandomSource | None]:
        """The unit that answers operand lines, and the source of its random words; None if each line has its own.

        Raises Error."""
        unit, choices = self.unit(op), self.choices
        if choices.random_bits is not None:
            raise Error("--random-bits is for one result; in a stream, they are each line's last operand")
        choices.check_seed(_deterministic(unit))
        field = unit.random_field
        return unit, None if field is None else choices.source_of(field.width)

    def _sized(self, op: str | None, unit: Unit, count: int) -> Unit:
        """The unit with as many lanes or elements as there are codes for, unless an option gives the number."""
        name, most = _SIZES.get(type(unit), ("", 0))
        fixed = isinstance(unit, PipelineUnit) and (
            op is None or not workflow.is_operation(op) or name not in options_of(op)
        )
        if not name or name in self.options or fixed:
            return unit

        def of_size(n: int) -> Unit:
            if isinstance(unit, PipelineUnit):
                return dataclasses.replace(self, options=self.options | {name: n}).unit(op)
            return dataclasses.replace(unit, **{name: n})  # type: ignore[type-var]

        sides = (unit.a, unit.b) if isinstance(unit, DotUnit) else ()
        step = max((x.size for x in sides if isinstance(x, BlockFormat)), default=1)
        first, second = of_size(step).operand_width, of_size(2 * step).operand_width
        size = step * max(1, 1 + (count - first) // (second - first))
        return of_size(size) if size <= most else unit

    def _random_codes(self, unit: Unit, codes: Sequence[int]) -> list[int]:
        """The random words of a case; zeros if the rounding that its control fields select takes none."""
        choices, zeros = self.choices, [0] * (unit.input_width - len(codes))
        part, _ = unit.selected([*codes, *zeros])
        choices.check_seed(_deterministic(part))
        field = part.random_field
        if field is None:
            check_random(IEEE, None if choices.random_bits is None else 0)
            return zeros
        words: Sequence[int | None] = choices.words(field.lanes, field.width) or [None] * field.lanes
        return [check_random(_policy_of(part), word) for word in words]


def _policy_of(unit: Any) -> Policy:
    """The policy that takes the random words of a unit."""
    policy: Policy = unit.policy
    return policy if policy.random_count else unit.scale_policy


def _deterministic(unit: Any) -> str:
    """The name of the rounding of a unit that takes no random bits, or of a unit without one; "" for other units."""
    if unit.random_field is not None:
        return ""
    policy = getattr(unit.parts[0], "policy", None)
    return str(unit.properties()["op"]) if policy is None else rounding_name(policy.rounding)


def _request(params: dict[str, Any]) -> dict[str, Any]:
    """The options as one `request`."""
    choices = policy_values(params)["choices"]
    fmt, out = params.pop("fmt"), params.pop("out")
    options = {n: params.pop(n) for n in ("roundings", *_UNIT_PARAMETERS)}
    scale = {n: value for n in _SCALE_OPTIONS if (value := params.pop(f"scale_{n}")) is not None}
    options = {n: value for n, value in options.items() if value not in (None, False)}
    return {"request": UnitRequest(fmt, out, choices, options | ({"scale_policy": scale} if scale else {}))}


request_options: Final = bundled(_request, *_OPTIONS)
where_option: Final = click.option(
    "--where", metavar="RANGE", help="Only operands within: 'a is normal and exponent(b) in 119..134'."
)


# -- a case on the command line ----------------------------------------------------------------------------------------


def case_codes(unit: Unit, texts: Sequence[str]) -> list[int]:
    """The codes of a case's operands and controls, without random words. Raises Error."""
    operands = [f for f in unit.inputs if f.role != "random"]
    fields = [f for f in operands for _ in range(f.lanes)]
    if len(texts) != len(fields):
        names = ", ".join(f.name if f.lanes == 1 else f"{f.name} ({f.lanes})" for f in operands)
        raise Error(f"{unit.properties()['op']} takes {counted(len(fields), 'code')}, {names}, not {len(texts)}")
    columns, words = [Column(f, has_option=False) for f in fields], [text.strip() for text in texts]
    prefix = common_prefix(words, columns)
    return [_code(c.code(word, prefix), word, f) for word, c, f in zip(words, columns, fields, strict=True)]


def _code(code: Code, word: str, field: Field) -> int:
    """A code that its field can hold. Raises Error."""
    if isinstance(code, Unknown):
        raise Error(f"{word!r} is not a hexadecimal code; use 3c00 or 0x3c00")
    if field.fmt is not None:
        return check_code(code, field.fmt)
    if code >> field.width:
        raise Error(f"{code:x} does not fit {field.name}, of {field.width} bits")
    return code
