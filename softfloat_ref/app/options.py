"""What commands share: parameter types, the policy options, and negative numbers as arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import BLOCK_ALIASES, BLOCK_FORMATS, BlockFormat, any_format, resolve
from softfloat_ref.oracle.blocks.profiles import PROFILES, get_profile
from softfloat_ref.oracle.formats import CATALOGUE, Format
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

F = TypeVar("F", bound=Callable[..., Any])

_NEGATIVE: Final = re.compile(r"-(\d|\.\d|inf|nan|snan)", re.IGNORECASE)
_MARK: Final = "\0"  # stands before a negative number while click looks for options


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
_FIELDS: Final = {"round": "rounding"}


@dataclass(frozen=True)
class Choices:
    """The policy options of a command line."""

    policy: Policy
    random_bits: str | None
    source: RandomSource | None
    given: tuple[str, ...] = ()  # the options that were typed

    def for_blocks(self, fmt: BlockFormat, profile: str | None) -> Choices:
        """These choices with the rounding of the block profile, unless one was typed."""
        if "round" in self.given or "policy" in self.given:
            return self
        rounding = resolve(fmt, profile)[1].rounding
        return replace(self, policy=self.policy.replace(rounding=rounding))

    def check(self) -> None:
        """Raise Error for random bits given to a rounding that takes none."""
        if "sr_bits" in self.given and not self.policy.rounding.stochastic:
            raise Error(f"--sr-bits is for stochastic roundings; {rounding_name(self.policy.rounding)} takes no bits")

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
                raise Error(f"--random-bits has {len(words)} words for {count} values")
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


def policy_options(function: F) -> F:
    """Add the policy options; the command gets them as one `choices`."""

    def with_choices(**given: Any) -> Any:
        names = [option.removeprefix("--").replace("-", "_") for option, *_ in _POLICY_OPTIONS[1:]]
        typed = [n for n in ("policy", *names, "random_source", "random_bits") if given[n] is not None]
        fields = {_FIELDS.get(n, n): given.pop(n) for n in names}
        policy = get_policy(given.pop("policy"), **{k: v for k, v in fields.items() if v is not None})
        if given.get("profile") is not None and not {"round", "policy"} & set(typed):
            policy = _with_profile(policy, given["profile"])
        spec, seed, bits = given.pop("random_source"), given.pop("seed"), given.pop("random_bits")
        source = None
        if spec is not None and bits is not None:
            raise Error("--random-bits gives the random bits; leave --random-source out")
        if policy.rounding.stochastic and bits is None and (spec is not None or seed is not None):
            source = parse_source(spec or "philox", seed)
        if spec is not None and not policy.rounding.stochastic:
            raise Error(f"--random-source is for stochastic roundings; {rounding_name(policy.rounding)} takes no bits")
        return function(choices=Choices(policy, bits, source, tuple(typed)), seed=seed, **given)

    wrapped: Any = with_choices
    wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
    wrapped.__click_params__ = getattr(function, "__click_params__", [])
    options = [
        *(
            click.option(option, type=kind, metavar=kind.name.upper() if kind is click.INT else kind.name, help=text)
            for option, kind, text in _POLICY_OPTIONS
        ),
        click.option("--random-bits", metavar="HEX[,HEX...]", default=None, help="The random bits."),
        click.option("--random-source", metavar="SPEC", default=None, help="philox:seed=S or lfsr:width=..,taps=.."),
        click.option("--seed", type=click.IntRange(min=0), default=None, help="Seed of the random source [philox]."),
    ]
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def profile_option(function: F) -> F:
    """Add --profile; None if it is not given."""
    kind = Name("PROFILE", PROFILES)
    text = "Block profile: a name, NAME,field=choice,... or FILE.toml[:NAME] [the format's own]."
    return click.option("--profile", type=kind, metavar="PROFILE", default=None, help=text)(function)


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
