"""Accumulator: a tree, how many products a step takes, and how the unit handles special values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, Literal

from softfloat_ref.base import assignments, tables
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.oracle.accumulate.grammar import LONG, parse_tree, tree_text
from softfloat_ref.oracle.accumulate.terms import Decode, operand_decoder
from softfloat_ref.oracle.accumulate.trees import RESULT, Fuse, Round, Running, step_of, walk
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import NanRule, Policy

STATUSES: Final = ("hardware-verified", "published model", "documented only", "definition", "user definition")
MAX_STEP: Final = 1 << 14
MAX_PRODUCT_EXPONENT: Final = 1 << 16
ALL: Final = "all"  # a step takes all products
BLOCK: Final = "block"  # a step takes a block of the operands, or 32 products


@dataclass(frozen=True)
class Accumulator:
    """How products are summed.

    tree: text of a tree (docs/accumulators.md has the grammar). step: how many products a step takes, `all` or `block`
    (the operands' block size, or 32); "" if the tree defines it. Missing products of the last step are +0. steps:
    operand or result formats with another step, as in "tf32=8".
    c: whether c is first rounded (rne) to the format of the running result (`result`) or enters the first step
    unchanged (`own`). converts: whether other output formats are reached by rounding the result once more (rne).
    formats: the operand formats the unit supports ("": any). scales: the scales it supports: `any`, those of blocks but
    no second-level ones (`block`), or `none`.
    widened: the format in which the unit holds its operands, which must all be in it: those that are subnormal in their
    own format may be normal there, so that less is cut below them ("": their own).
    nan: NaN rule, as in a policy. overflow: `ieee`, or `inf`: every rounding overflows to Inf. zero: sign of a zero
    result, `ieee` or `positive`. flush_inputs: `off`, `on` (DAZ), `positive` (subnormals and zeros become +0).
    flush_outputs: `off`, `after` rounding (x86) or `before` (Arm). product_limit: products of magnitude 2^limit or more
    become Inf ("": none). product_exponent: power of two that multiplies every product. flags: whether the unit raises
    any. status: how well the model is verified, one of STATUSES.
    """

    name: str
    tree: str
    step: int | str = ""
    steps: str = ""
    c: Literal["result", "own"] = "result"
    converts: bool = True
    formats: str = ""
    scales: Literal["any", "block", "none"] = "any"
    widened: str = ""
    nan: str = "canonical"
    overflow: Literal["ieee", "inf"] = "ieee"
    zero: Literal["ieee", "positive"] = "ieee"
    flush_inputs: Literal["off", "on", "positive"] = "off"
    flush_outputs: Literal["off", "after", "before"] = "off"
    product_limit: int | str = ""
    product_exponent: int = 0
    flags: bool = True
    status: str = dataclasses.field(default="user definition", compare=False)
    source: str = dataclasses.field(default="user definition", compare=False)

    def __post_init__(self) -> None:
        try:
            self._check()
        except Error as e:
            raise Error(f"accumulator {self.name[:60]!r}: {e}") from None
        object.__setattr__(self, "tree", tree_text(self.root))  # one spelling per tree

    def _check(self) -> None:
        tables.check({name: getattr(self, name) for name in _NAMES}, "", tables.hints(Accumulator))
        tables.check_choices(self, "", tables.choices(Accumulator) | {"status": STATUSES})
        if self.operand_format is not None:
            self.operand_format.needs_hidden("accumulators")
        (
            self.root,
            self.policy("rne"),
            self.operand_formats,
            self.operand_format,
        )  # parsed now, so that errors are raised here
        for size in (self.step, *self.steps_by_format.values(), step_of(self.root) or ""):
            if size not in ("", ALL, BLOCK) and not (type(size) is int and 1 <= size <= MAX_STEP):
                raise Error(f"step = {size!r}: a step has 1 to {MAX_STEP} products, or is {ALL} or {BLOCK}")
        for node in walk(self.root):
            if (
                isinstance(node, Round)
                and len(node.choices) > 1
                and not set(self.results) <= {x.fmt for x in node.choices}
            ):
                raise Error(f"a rounding in the tree lacks a choice for some of {', '.join(self.results)}")
        if self.product_limit != "" and type(self.product_limit) is not int:
            raise Error(f"product_limit = {self.product_limit!r} is not an exponent of two")
        if abs(self.product_exponent) > MAX_PRODUCT_EXPONENT:
            raise Error(f"product_exponent = {self.product_exponent} is out of range")

    @cached_property
    def root(self) -> Round:
        """The parsed tree."""
        return parse_tree(self.tree)

    @cached_property
    def operand_formats(self) -> frozenset[str]:
        """The names of the operand formats the unit supports; empty for any."""
        return frozenset(_format_name(name) for name in self.formats.split())

    @cached_property
    def operand_format(self) -> Format | None:
        """The format in which the unit holds its operands; None for their own."""
        return get_format(_format_name(self.widened)) if self.widened else None

    def decoder(self, fmt: Format) -> Decode:
        """The function that decodes codes of an operand as the unit does."""
        return operand_decoder(fmt, self.flush_inputs, self.operand_format)

    @cached_property
    def steps_by_format(self) -> dict[str, int]:
        """The formats with another step."""
        sizes = assignments.parse(self.steps, "steps", usage="write FORMAT=NUMBER, as tf32=8", separator=" ")
        for size in sizes.values():
            if not size.isascii() or not size.isdigit():
                raise Error(f"steps = {self.steps!r}: write FORMAT=NUMBER, as tf32=8")
        return {_format_name(name): int(size) for name, size in sizes.items()}

    @cached_property
    def adds_c(self) -> bool:
        """Whether the tree uses the running result; a unit with a single step need not."""
        return any(isinstance(x, Running) for x in walk(self.root))

    @cached_property
    def results(self) -> tuple[str, ...]:
        """The formats that the running result may have; `out` stands for any."""
        return tuple(to.fmt for to in self.root.choices)

    def result_format(self, out: Format) -> Format:
        """The format of the running result for that output format. Raises Error."""
        if RESULT in self.results or out.name in self.results:
            bits = self.root.choice(out.name).kept
            if bits is not None and bits > out.mantissa_bits:
                raise Error(
                    f"{self.name}: {out.name} cannot hold {bits} fraction bits; end the tree with ->{out.name}:rne"
                )
            return out
        if self.converts:
            return get_format(self.results[0])
        formats = " or ".join(self.results)
        raise Error(f"{self.name} gives {formats}, not {out.name}; convert its result in a separate step")

    def step_for(self, operands: tuple[Format, Format], result: Format, block: int, count: int) -> int:
        """The number of products per step, for `count` products of those formats."""
        for fmt in (*operands, result):
            if fmt.name in self.steps_by_format:
                return self.steps_by_format[fmt.name]
        step = self.step or step_of(self.root) or ALL
        if step == BLOCK:
            return block
        return count if step == ALL else int(step)

    @cached_property
    def nan_rule(self) -> NanRule:
        """The rule that selects NaN results."""
        return self.policy("rne").nan_rule

    def policy(self, rounding: str) -> Policy:
        """The policy of a Round of the tree."""
        return _policy(rounding, self.nan, self.flush_outputs)

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as manifests store it; `define_accumulator` reads it."""
        table = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {k: v for k, v in table.items() if k != "widened" or v}  # which older manifests do not have

    def replace(self, **fields: Any) -> Accumulator:
        """This accumulator with some fields replaced. Raises Error for a field that does not exist."""
        for name in fields:
            if name not in _NAMES:
                raise unknown("accumulator field", name, _NAMES)
        return dataclasses.replace(self, **fields)


@lru_cache(maxsize=256)
def _policy(rounding: str, nan: str, flush_outputs: str) -> Policy:
    return Policy(
        rounding=rounding,  # type: ignore[arg-type]
        nan=nan,
        flush_outputs=flush_outputs != "off",
        flush_rule="before" if flush_outputs == "before" else "after",  # type: ignore[arg-type]
    )


_NAMES: Final = tuple(f.name for f in dataclasses.fields(Accumulator))


def _format_name(name: str) -> str:
    """The name of a catalogue or grammar format; not a file, so definitions are self-contained. Raises Error."""
    if ".toml" in name:
        raise Error(f"{name}: an accumulator takes formats by name (for example s1e4m3b7), not from a file")
    return get_format(name).name


def from_table(table: Mapping[str, Any], name: str, like: Accumulator | None) -> Accumulator:
    """An accumulator from the fields of a table; other fields are those of `like` or the defaults. Raises Error."""
    where, word = f"accumulator {name!r}", "accumulator field"
    values = tables.check({**table, "name": name}, where, tables.hints(Accumulator), word=word, also=tables.LIKE)
    if like is not None:
        return like.replace(**{"status": "user definition", "source": "user definition"} | values)
    if "tree" not in values:
        raise Error(f"accumulator {name!r}: no tree; write tree = 'fuse(16+c,F=25,rz)->fp32:rz', or like = NAME")
    return Accumulator(**values)


def from_text(text: str, like: Mapping[str, Accumulator]) -> Accumulator:
    """An accumulator from one expression: a tree, then any number of `; field = value`. Raises Error."""
    tree, _, fields = text.partition(";")
    usage = "after a tree, write fields, for example step = 32 or nan = ones"
    assigned = assignments.parse(fields, "accumulator", usage=usage, separator=";")
    values: dict[str, Any] = {"tree": tree.strip(), **{key: _value(value) for key, value in assigned.items()}}
    base = None
    if "like" in values:
        name = str(values.pop("like"))
        if name not in like:
            raise unknown("accumulator", name, like)
        base = like[name].replace(step="", steps="")
    return from_table(values, "inline", base)


def _value(text: str) -> int | bool | str:
    if text.isascii() and text.removeprefix("-").isdigit() and len(text) < 10:
        return int(text)
    return {"true": True, "false": False}.get(text, text)


def summary(a: Accumulator) -> tuple[str, str, str]:
    """The row of an accumulator in a table: products per step, alignment bits, result formats."""
    step = str(a.step or step_of(a.root) or ALL)
    special = ", ".join(f"{name}: {size}" for name, size in a.steps_by_format.items())
    fuses = [x for x in walk(a.root) if isinstance(x, Fuse)]
    bits = [(p.bits or x.bits, p.align or x.align) for x in fuses for p in x.parts]
    bits += [(x.bits, x.align) for x in fuses if all(p.bits is None for p in x.parts)]
    words = dict.fromkeys(f"{b} {align}" for b, align in reversed(bits) if b is not None)
    results = ", ".join(f"{x.fmt} {LONG.get(x.rounding, x.rounding)}" + _kept(x.kept) for x in a.root.choices)
    return f"{step} ({special})" if special else step, ", ".join(words) or "exact", results


def _kept(bits: int | None) -> str:
    return "" if bits is None else f" ({bits} bits)"
