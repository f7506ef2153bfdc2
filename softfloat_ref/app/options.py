"""What commands share: parameter types, the policy options, and negative numbers as arguments."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from softfloat_ref.base.errors import Error, counted
from softfloat_ref.oracle.affine import AffineFormat, get_rule
from softfloat_ref.oracle.blocks.formats import BLOCK_ALIASES, BLOCK_FORMATS, BlockFormat, any_format
from softfloat_ref.oracle.blocks.profiles import PROFILES, get_profile
from softfloat_ref.oracle.blocks.quantize import resolve
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.oracle.operations import parse_formats
from softfloat_ref.oracle.policies import (
    POLICIES,
    ROUNDINGS,
    Integers,
    NanMissing,
    Overflow,
    Policy,
    Specials,
    Tininess,
    get_policy,
    rounding_name,
)
from softfloat_ref.oracle.sources import RandomSource, parse_source

if TYPE_CHECKING:
    from softfloat_ref.arrays.exponents import AnyFormat

F = TypeVar("F", bound=Callable[..., Any])

_NEGATIVE: Final = re.compile(r"-(\d|\.\d|inf|nan|snan)", re.IGNORECASE)
_SENTENCE: Final = 1000  # characters of the first one of a help text, at most
_MARK: Final = "\0"  # stands before a negative number while click looks for options


class Seconds(click.FloatRange):
    """A time, which is neither NaN nor infinite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Refuse what a comparison with the ends of a range does not."""
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return found


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
        """The table of commands."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, c.get_short_help_str(_SENTENCE)) for name, c in found if c is not None])


def unmark(text: str) -> str:
    """The argument as the user typed it."""
    return text.removeprefix(_MARK)


class Name(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A name from a list, for completion only: the library reports errors for other names."""

    def __init__(self, what: str, names: Iterable[str]) -> None:
        self.name = what
        self.names = tuple(str(n) for n in names)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin with the typed text."""
        return [CompletionItem(n) for n in self.names if n.startswith(incomplete)]


SCALAR: Final = Name("FORMAT", CATALOGUE)
ANY: Final = Name("FORMAT", [*CATALOGUE, *BLOCK_FORMATS, *BLOCK_ALIASES])
SCHEDULERS: Final = "tcp://...|FILE.json"

_POLICY_OPTIONS: Final = (
    ("--policy", Name("NAME", POLICIES), f"Named policy ({', '.join(POLICIES)}) or FILE.toml[:NAME]."),
    ("--round", Name("MODE", ROUNDINGS), f"Rounding: {' '.join(ROUNDINGS)}."),
    ("--overflow", Name("RULE", Overflow), f"Overflow: {' '.join(Overflow)}."),
    ("--flush-inputs", Name("on|off", ("on", "off")), "Treat subnormal operands as zero (DAZ)."),
    ("--flush-outputs", Name("on|off", ("on", "off")), "Flush tiny results to zero (FTZ)."),
    ("--flush-rule", Name("WHEN", Tininess), "Detect tininess for FTZ after rounding (x86) or before (Arm)."),
    ("--tininess", Name("WHEN", Tininess), "Detect tininess before or after rounding."),
    ("--nan", Name("RULE", ("canonical", "ones", "negative", "propagate")), "NaN result: a rule, or a code."),
    ("--nan-missing", Name("RULE", NanMissing), f"NaN to a format without NaN: {' '.join(NanMissing)}."),
    ("--integers", Name("RULE", Integers), f"Conversions to integers out of range: {' '.join(Integers)}."),
    ("--specials", Name("FAMILY", Specials), f"Special cases of operations: {' '.join(Specials)}."),
    ("--sr-bits", click.INT, "Number of random bits of a stochastic rounding."),
)
_NAMES: Final = [option.removeprefix("--").replace("-", "_") for option, *_ in _POLICY_OPTIONS]


def option_name(name: str) -> str:
    """The option of a command's parameter."""
    return f"--{name.replace('_', '-')}"


def ulp_limit(text: str) -> Fraction:
    """The value of --ulp, the largest error allowed. Raises Error."""
    try:
        limit = parse_number(text)
    except Error:
        limit = None
    if isinstance(limit, Fraction) and limit <= sys.float_info.max:
        return limit
    if limit is None or isinstance(limit, Fraction) or not limit.is_zero:
        raise Error(f"--ulp {text[:40]}: give a number of units in the last place, such as 1 or 0.75")
    return Fraction(0)


def with_options(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """A decorator that adds several options."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def bundled(bundle: Callable[[dict[str, Any]], dict[str, Any]], *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """A decorator that adds options. `bundle` takes their values out of those given, and returns what the command gets
    instead."""

    def decorate(function: F) -> F:
        @wraps(function)
        def command(**given: Any) -> Any:
            made = bundle(given)
            return function(**made, **given)

        return with_options(*options)(command)  # type: ignore[return-value]

    return decorate


@dataclass(frozen=True)
class Choices:
    """The policy options of a command line."""

    policy: Policy
    random_bits: str | None
    source: RandomSource | None
    given: tuple[str, ...] = ()  # the options that were typed, but for the seed
    seed: int | None = None

    @property
    def has_rounding(self) -> bool:
        """Whether an option gave the rounding."""
        return "round" in self.given or "policy" in self.given

    def for_blocks(self, fmt: BlockFormat, profile: str | None) -> Choices:
        """These choices with the rounding of the block profile, unless one was typed."""
        if self.has_rounding:
            return self
        return replace(self, policy=self.policy.replace(rounding=resolve(fmt, profile)[1].rounding))

    def typed_policy(self, fmt: AnyFormat, profile: str | None = None) -> Policy | None:
        """The policy, if an option of it was typed; its rounding is that of the profile or rule unless one was."""
        if not self.given:
            return None
        if isinstance(fmt, AffineFormat) and not self.has_rounding:
            return self.policy.replace(rounding=get_rule(profile or "exact").rounding)
        return self.for_blocks(fmt, profile).policy if isinstance(fmt, BlockFormat) else self.policy

    def check(self) -> None:
        """Raise Error for random bits given to a rounding that takes none."""
        if "sr_bits" in self.given and not self.policy.rounding.stochastic:
            raise Error(f"--sr-bits is for stochastic roundings; {rounding_name(self.policy.rounding)} takes no bits")

    def check_seed(self) -> None:
        """Raise Error for a seed that nothing draws from; where it also chooses cases, it is not called."""
        self.check()
        if self.seed is not None and self.source is None:
            reason = f"{rounding_name(self.policy.rounding)} takes no bits"
            if self.policy.rounding.stochastic:
                reason = "--random-bits gives the random bits; leave --seed out"
            raise Error(f"--seed is for stochastic roundings; {reason}")

    def one_word(self) -> int | None:
        """The random bits of a single result."""
        if self.random_bits is not None:
            return _hex_word(self.random_bits)
        return self.source.bits(self.policy.random_count, 0, 1)[0] if self.source else None

    def words(self, count: int) -> list[int] | None:
        """The random bits of `count` results."""
        if self.random_bits is not None:
            words = [_hex_word(w) for w in self.random_bits.split(",")]
            if len(words) != count:
                raise Error(f"--random-bits has {counted(len(words), 'word')} for {counted(count, 'value')}")
            return words
        return self.source.bits(self.policy.random_count, 0, count) if self.source else None


def _hex_word(text: str) -> int:
    if not re.fullmatch(r"(0[xX])?[0-9a-fA-F]{1,16}", text.strip()):
        raise Error(f"--random-bits: {text!r} is not a hexadecimal word")
    return int(text, 16)


def _with_profile(policy: Policy, profile: str) -> Policy:
    """The policy with a block profile's own rounding; unchanged if the name is not a block profile."""
    try:
        return get_policy(policy, rounding=get_profile(profile).rounding)
    except Error:  # reported where the profile is used; affine formats have their own profiles
        return policy


def _choices(given: dict[str, Any]) -> dict[str, Any]:
    """The policy options as one `choices`."""
    typed = [n for n in (*_NAMES, "random_source", "random_bits") if given[n] is not None]
    fields = {"rounding" if n == "round" else n: given.pop(n) for n in _NAMES}
    policy = get_policy(fields.pop("policy"), **{k: v for k, v in fields.items() if v is not None})
    if given.get("profile") is not None and not {"round", "policy"} & set(typed):
        policy = _with_profile(policy, given["profile"])
    spec, seed, bits = (given.pop(n) for n in ("random_source", "seed", "random_bits"))
    source = None
    if spec is not None and bits is not None:
        raise Error("--random-bits gives the random bits; leave --random-source out")
    if policy.rounding.stochastic and bits is None and (spec is not None or seed is not None):
        source = parse_source(spec or "philox", seed)
    if spec is not None and not policy.rounding.stochastic:
        raise Error(f"--random-source is for stochastic roundings; {rounding_name(policy.rounding)} takes no bits")
    return {"choices": Choices(policy, bits, source, tuple(typed), seed)}


policy_options: Final = bundled(
    _choices,
    *(
        click.option(option, type=kind, metavar="INTEGER" if kind is click.INT else kind.name, help=text)
        for option, kind, text in _POLICY_OPTIONS
    ),
    click.option("--random-bits", metavar="HEX[,HEX...]", help="The random bits."),
    click.option("--random-source", metavar="SPEC", help="philox:seed=S or lfsr:width=..,taps=.."),
    click.option("--seed", type=click.IntRange(min=0), help="Seed of the random source [philox]."),
)
profile_option: Final = click.option(
    "--profile",
    type=Name("PROFILE", PROFILES),
    metavar="PROFILE",
    help="Block profile: a name, NAME,field=choice,... or FILE.toml[:NAME] [the format's own].",
)
operands_option: Final = click.option(
    "--fmt", metavar="FORMAT", help="Format, or one per operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32."
)


def scalar_format(name: str) -> Format:
    """A scalar format. Raises Error for block formats too."""
    found = any_format(name)
    if isinstance(found, BlockFormat):
        raise Error(f"{found.name} is a block format; give a scalar format, such as its element {found.element.name}")
    return found


def operand_formats(text: str, arity: int, name: str) -> str | list[Format]:
    """`fp16`, or one format per operand: `a=fp8_e4m3,b=fp8_e5m2,c=fp32`. Raises Error for block formats."""
    if "=" not in text:
        scalar_format(text)
        return text
    return parse_formats(text, arity, name)
