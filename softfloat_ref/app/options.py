"""What commands share: parameter types, the policy options, and negative numbers as arguments."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from softfloat_ref.base.errors import Error, counted
from softfloat_ref.oracle.affine import get_rule
from softfloat_ref.oracle.blocks.formats import BLOCK_ALIASES, BLOCK_FORMATS, BlockFormat, any_format
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.oracle.blocks.quantize import is_for, resolve
from softfloat_ref.oracle.formats import CATALOGUE, Format, deprecated_spelling
from softfloat_ref.oracle.policies import (
    E8M0_WORDS,
    POLICIES,
    ROUNDINGS,
    Integers,
    NanMissing,
    Overflow,
    Policy,
    Specials,
    Tininess,
    Unnormals,
    default_rounding,
    get_policy,
    rounding_name,
)
from softfloat_ref.oracle.sources import RandomSource, parse_source

if TYPE_CHECKING:
    from softfloat_ref.arrays.exponents import AnyFormat

F = TypeVar("F", bound=Callable[..., Any])

_NEGATIVE: Final = re.compile(r"-(\d|\.\d|inf|nan|snan)", re.IGNORECASE)
_MAX_SENTENCE: Final = 1000  # characters of the first one of a help text, at most
_MARK: Final = "\0"  # stands before a negative number while click looks for options


base_option: Final = click.option(
    "--base",
    type=click.Choice(["hex", "bin", "oct", "dec"]),
    help="Digits of lines that do not say it themselves [told by their number].",
)


class Seconds(click.FloatRange):
    """A time, which is neither NaN nor infinite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Refuse NaN and infinity, which a comparison with the ends of the range lets through."""
        seconds: float = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


class NumbersCommand(click.Command):
    """A command whose arguments may be negative numbers."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Hide the minus of arguments from click: `-1.5` is not an option. The value of an option needs no hiding."""
        valued = {o for p in self.params if isinstance(p, click.Option) and not p.is_flag for o in p.opts}
        marked, previous = [], ""
        for arg in args:
            marked.append(_MARK + arg if _NEGATIVE.match(arg) and previous not in valued else arg)
            previous = arg
        return super().parse_args(ctx, marked)


class Commands(click.Group):
    """A group whose help has the first sentence of each command in full, where click cuts it."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, c.get_short_help_str(_MAX_SENTENCE)) for name, c in commands if c is not None])


def unmark(text: str) -> str:
    """The argument as the user typed it."""
    return text.removeprefix(_MARK)


class NameType(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A name from a list, for completion only: the library reports errors for other names."""

    def __init__(self, what: str, names: Iterable[str]) -> None:
        self.name = what
        self.names = tuple(str(n) for n in names)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(n) for n in self.names if n.startswith(incomplete)]


class ProfileType(NameType):
    """A block profile: completion has those for the format that was typed before it."""

    def __init__(self) -> None:
        super().__init__("PROFILE", PROFILES)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        typed = ctx.params.get("fmt") or ()
        try:
            formats = [any_format(name) for name in ([typed] if isinstance(typed, str) else typed)]
        except Error:
            formats = []
        blocks = [fmt for fmt in formats if isinstance(fmt, BlockFormat)]
        items = super().shell_complete(ctx, param, incomplete)
        return [x for x in items if all(is_for(PROFILES[x.value], fmt) for fmt in blocks)]


SCALAR: Final = NameType("FORMAT", CATALOGUE)
ANY: Final = NameType("FORMAT", [*CATALOGUE, *BLOCK_FORMATS, *BLOCK_ALIASES])
SCHEDULERS: Final = "tcp://...|FILE.json"

_POLICY_OPTIONS: Final = (
    ("--policy", NameType("NAME", POLICIES), f"Named policy ({', '.join(POLICIES)}) or FILE.toml[:NAME]."),
    ("--round", NameType("MODE", ROUNDINGS), f"Rounding: {' '.join(ROUNDINGS)}."),
    ("--overflow", NameType("RULE", Overflow), f"Overflow: {' '.join(Overflow)}."),
    ("--flush-inputs", NameType("on|off", ("on", "off")), "Treat subnormal operands as zero (DAZ)."),
    ("--flush-outputs", NameType("on|off", ("on", "off")), "Flush tiny results to zero (FTZ)."),
    ("--flush-rule", NameType("WHEN", Tininess), "Detect tininess for FTZ after rounding (x86) or before (Arm)."),
    ("--tininess", NameType("WHEN", Tininess), "Detect tininess before or after rounding."),
    ("--nan", NameType("RULE", ("canonical", "ones", "negative", "propagate")), "NaN result: a rule, or a code."),
    ("--nan-missing", NameType("RULE", NanMissing), f"NaN to a format without NaN: {' '.join(NanMissing)}."),
    ("--e8m0", NameType("RULE", E8M0_WORDS), f"Zero and negative values to E8M0: {' '.join(E8M0_WORDS)}."),
    ("--integers", NameType("RULE", Integers), f"Conversions to integers out of range: {' '.join(Integers)}."),
    ("--specials", NameType("FAMILY", Specials), f"Special cases of operations: {' '.join(Specials)}."),
    ("--unnormals", NameType("RULE", Unnormals), f"Unnormals and their like in extf80: {' '.join(Unnormals)}."),
    ("--rounding-precision", click.IntRange(32, 80), "Precision of arithmetic in extf80: that of 80, 64 or 32 bits."),
    ("--sr-bits", click.INT, "Number of random bits of a stochastic rounding."),
)
_POLICY_PARAMETERS: Final = [option.removeprefix("--").replace("-", "_") for option, *_ in _POLICY_OPTIONS]
_POLICY_FIELDS: Final = {"round": "rounding", "policy": "like"}  # of a policy's table, where an option has another name
_PARAMETERS: Final = {
    **{name: option for option, name in _POLICY_FIELDS.items()},
    **{f"scale_{name}": f"scale_{option}" for option, name in _POLICY_FIELDS.items()},
    "roundings": "rounding_input",
}


def parameter(name: str) -> str:
    """The parameter of a command for an option of units, or for a field of policies."""
    return _PARAMETERS.get(name, name)


def option_name(name: str) -> str:
    """The option of a command's parameter, of an option of units, or of a field of policies."""
    return f"--{parameter(name).replace('_', '-')}"


def with_options(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """A decorator that adds several options."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def bundled(bundle: Callable[[dict[str, Any]], dict[str, Any]], *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """A decorator that adds options. `bundle` takes their values out of the parameters, and returns what the command
    gets instead."""

    def decorate(function: F) -> F:
        @wraps(function)
        def command(**params: Any) -> Any:
            instead = bundle(params)  # first: it takes parameters out
            return function(**instead, **params)

        return with_options(*options)(command)  # type: ignore[return-value]

    return decorate


@dataclass(frozen=True)
class Choices:
    """The policy options of a command line. table: the fields that were typed, with `like` for a named policy; spec,
    random_bits, seed: where random bits come from; rounding: that of a profile or rule, unless one was typed."""

    table: Mapping[str, Any] = field(default_factory=dict)
    spec: str | None = None
    random_bits: str | None = None
    seed: int | None = None
    rounding: str = ""

    def of(self, fmt: AnyFormat, profile: str | None = None) -> Choices:
        """These choices for a format: with the rounding of its profile or rule, unless one was typed."""
        if isinstance(fmt, Format):
            return self
        rule = resolve(fmt, profile)[1] if isinstance(fmt, BlockFormat) else get_rule(profile or "exact")
        return replace(self, rounding=rule.rounding)

    @property
    def policy(self) -> Policy:
        return default_rounding(self.table, self.rounding) if self.rounding else get_policy(self.table)

    @property
    def typed_policy(self) -> Policy | None:
        """The policy, if an option of it was typed."""
        return self.policy if self.typed_options else None

    @property
    def source(self) -> RandomSource | None:
        """The source of random bits, if the policy takes any and one was typed."""
        return self.source_of(self.policy.random_count)

    def source_of(self, bits: int) -> RandomSource | None:
        """The source of words of that number of bits, if one was typed."""
        if not bits or self.random_bits is not None or (self.spec is None and self.seed is None):
            return None
        return parse_source(self.spec or "philox", self.seed)

    @property
    def typed_options(self) -> tuple[str, ...]:
        """The options that were typed, but for the seed."""
        sources = {"random_source": self.spec, "random_bits": self.random_bits}
        return (*map(parameter, self.table), *(name for name, value in sources.items() if value is not None))

    def check(self, rounding: str | None = None) -> None:
        """Raise Error for what has no effect on a rounding without random bits. rounding: of a unit, which has checked
        its own number of bits: its name, "" for one that takes them; by default, the policy's."""
        mode = self._deterministic if rounding is None else rounding
        typed = {"sr_bits": None if rounding is not None else self.table.get("sr_bits"), "random_source": self.spec}
        for option in (n for n, value in typed.items() if mode and value is not None):
            raise Error(f"{option_name(option)} is for stochastic roundings; {mode} takes no bits")

    def check_seed(self, rounding: str | None = None) -> None:
        """Also raise Error for a seed that nothing draws from; where it also chooses cases, `check` is called."""
        self.check(rounding)
        mode = self._deterministic if rounding is None else rounding
        if self.seed is not None and (mode or self.random_bits is not None):
            reason = f"{mode} takes no bits" if mode else "--random-bits gives the random bits; leave --seed out"
            raise Error(f"--seed is for stochastic roundings; {reason}")

    @property
    def _deterministic(self) -> str:
        """The name of the policy's rounding if it takes no random bits, or ""."""
        return "" if self.policy.rounding.stochastic else rounding_name(self.policy.rounding)

    def words(self, count: int, bits: int | None = None) -> list[int] | None:
        """The random bits of `count` results; None if none were typed. bits: of a word, if not the policy's."""
        if self.random_bits is not None:
            words = [_hex_word(w) for w in self.random_bits.split(",")]
            if len(words) != count:
                raise Error(f"--random-bits has {counted(len(words), 'word')} for {counted(count, 'value')}")
            return words
        number = self.policy.random_count if bits is None else bits
        source = self.source_of(number)
        return source.bits(number, 0, count) if source else None

    def one_word(self) -> int | None:
        return None if (words := self.words(1)) is None else words[0]


def _hex_word(text: str) -> int:
    if not re.fullmatch(r"(0[xX])?[0-9a-fA-F]{1,16}", text.strip()):
        raise Error(f"--random-bits: {text!r} is not a hexadecimal word")
    return int(text, 16)


def policy_values(params: dict[str, Any]) -> dict[str, Any]:
    """The policy options as one `choices`. Raises Error."""
    typed = {n: params.pop(n) for n in _POLICY_PARAMETERS}
    table = {_POLICY_FIELDS.get(n, n): value for n, value in typed.items() if value is not None}
    spec, seed, bits = (params.pop(n) for n in ("random_source", "seed", "random_bits"))
    if spec is not None and bits is not None:
        raise Error("--random-bits gives the random bits; leave --random-source out")
    get_policy(table)  # refuses what is wrong by itself
    if spec is not None:
        parse_source(spec, seed)
    return {"choices": Choices(table, spec, bits, seed)}


POLICY_OPTIONS: Final = (
    *(
        click.option(option, type=kind, metavar="INTEGER" if kind is click.INT else kind.name, help=text)
        for option, kind, text in _POLICY_OPTIONS
    ),
    click.option("--random-bits", metavar="HEX[,HEX...]", help="The random bits."),
    click.option("--random-source", metavar="SPEC", help="philox:seed=S or lfsr:width=..,taps=.."),
    click.option("--seed", type=click.IntRange(min=0), help="Seed of random cases, and of random bits [philox]."),
)
policy_options: Final = bundled(policy_values, *POLICY_OPTIONS)


def show_spelling(fmt: str) -> None:
    """Say on stderr that the name of a format will mean another one."""
    if note := deprecated_spelling(fmt):
        print(f"softfloat-ref: {note}", file=sys.stderr)


printed_option: Final = click.option(
    "--printed-from",
    type=SCALAR,
    metavar="FORMAT",
    help="The numbers are printed values of this format: the nearest one is meant [exactly what is written].",
)
profile_option: Final = click.option(
    "--profile",
    type=ProfileType(),
    metavar="PROFILE",
    help="Block profile: a name, NAME,field=choice,... or FILE.toml[:NAME] [the format's own].",
)


def scalar_format(name: str) -> Format:
    """A scalar format. Raises Error for block formats too."""
    fmt = any_format(name)
    if isinstance(fmt, BlockFormat):
        raise Error(f"{fmt.name} is a block format; give a scalar format, such as its element {fmt.element.name}")
    return fmt
