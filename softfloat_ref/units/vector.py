"""Units of functions of vectors: softmax, normalizations, attention scores."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.base.numbers import settle
from softfloat_ref.oracle import codec
from softfloat_ref.oracle.blocks.quantize import lanes
from softfloat_ref.oracle.codec import decoder, needed_bits
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format, define_format, get_format
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.oracle.operations import format_names, zero_sign
from softfloat_ref.oracle.policies import POLICIES, Policy, get_policy, rounding_name
from softfloat_ref.oracle.rounding_steps import destination, read, rounded
from softfloat_ref.oracle.steps import PLAIN, Do
from softfloat_ref.oracle.vector_functions import (
    FunctionSetting,
    Lanes,
    Parameter,
    VectorFunction,
    exact_lanes,
    get_vector_function,
)
from softfloat_ref.units.operation import format_words, properties
from softfloat_ref.units.unit import FLAGS, Field, Line, SteppedUnit, file_name, operand, random_words, result, split

if TYPE_CHECKING:
    from softfloat_ref.units.unit import Rows

MAX_LENGTH: Final = 4096
MAX_DEPTH: Final = 1024
DEFAULT_LENGTH: Final = 16
DEFAULT_DEPTH: Final = 16
EPSILON: Final = "1/100000"
_VISIBLE: Final = get_format("u16")  # a count of lanes


@dataclass(frozen=True)
class VectorUnit(SteppedUnit):
    """A function of vectors of `length` lanes: its operands in, a result for each lane and the flags of all out.

    formats: one for each operand with a format of its own. depth: of the vectors that attention multiplies; 0 for other
    functions. epsilon: of normalizations, a ratio or an integer, exactly. plain: without gain and bias. masked: with
    the number of visible lanes as an operand. A stochastic rounding takes one word per lane.
    """

    kind: ClassVar[str] = "vector"

    op: str
    formats: tuple[Format, ...]
    out: Format
    length: int
    policy: Policy = POLICIES["ieee"]
    depth: int = 0
    epsilon: str = ""
    plain: bool = False
    masked: bool = False

    def __post_init__(self) -> None:
        row = self.function
        settle(self, "length", 1, MAX_LENGTH)
        if row.has_depth:
            settle(self, "depth", 1, MAX_DEPTH)
        elif self.depth:
            raise Error(f"{self.op} has no depth")
        if self.plain and not row.has("affine"):
            raise Error(f"plain: {self.op} has neither gain nor bias")
        if self.masked and not row.has("mask"):
            raise Error(f"masked: {self.op} has no mask; lanes of -Inf take no part in it")
        if row.epsilon != bool(self.epsilon):
            raise Error(f"{self.op} needs an epsilon" if row.epsilon else f"{self.op} has no epsilon")
        self.exact_epsilon  # noqa: B018  (refuses what is not a number)
        if len(self.formats) != len(self.own):
            raise Error(f"{self.op} takes {len(self.own)} formats, not {len(self.formats)}")
        for fmt in (*self.formats, self.out):
            fmt.needs_hidden("functions of vectors")

    @staticmethod
    def make(
        op: str,
        fmt: str | Format | Sequence[str | Format],
        out: str | Format | None = None,
        policy: Policy | str | Mapping[str, Any] | None = None,
        length: int | None = None,
        depth: int | None = None,
        epsilon: str | Fraction | None = None,
        plain: bool = False,
        masked: bool = False,
    ) -> VectorUnit:
        """A unit from names. fmt: of all operands, or `x=..,gain=..,bias=..`; epsilon: a number, or FORMAT:NUMBER, the
        number rounded to a format. Raises Error."""
        row = get_vector_function(op)
        formats = _formats(row, _own(row, plain), fmt)
        if out is None and len(set(formats)) > 1:
            raise Error(f"{row.name} on {', '.join(f.name for f in formats)}: the result format is ambiguous; give it")
        return VectorUnit(
            row.name,
            formats,
            get_format(formats[0] if out is None else out),
            DEFAULT_LENGTH if length is None else length,
            get_policy(policy),
            depth if depth is not None else DEFAULT_DEPTH * row.has_depth,
            parse_epsilon(epsilon, EPSILON if row.epsilon else ""),
            plain,
            masked,
        )

    @cached_property
    def function(self) -> VectorFunction:
        """The row of the table."""
        return get_vector_function(self.op)

    @cached_property
    def own(self) -> tuple[Parameter, ...]:
        """The operands that have a format of their own."""
        return _own(self.function, self.plain)

    @cached_property
    def exact_epsilon(self) -> Fraction:
        """What is added to a mean of squares."""
        return Fraction(self.epsilon or 0)

    def lanes(self, p: Parameter) -> int:
        """How many codes an operand has."""
        return {"one": 1, "depth": self.depth, "length": self.length, "length x depth": self.length * self.depth}[
            p.size
        ]

    @cached_property
    def name(self) -> str:
        more = [*(["plain"] if self.plain else []), *(["masked"] if self.masked else [])]
        size = f"{self.length}x{self.depth}" if self.depth else str(self.length)
        formats = format_words(self.formats, self.out)
        return file_name(self.op, size, *formats, rounding_name(self.policy.rounding), *more)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return (
            *(operand(p.name, f, self.lanes(p)) for p, f in zip(self.own, self.formats, strict=True)),
            *([operand("visible", _VISIBLE)] if self.masked else []),
            *random_words(self.policy.random_count, self.length),
            result("y", self.out, self.length),
            FLAGS,
        )

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        if len(inputs) != self.input_width:
            raise Error(f"{self.op} of length {self.length} takes {self.input_width} codes, not {len(inputs)}")
        return self.rounded(self.unrounded(inputs, more_bits, do), inputs[self.operand_width :], do)

    def rounded(self, outcomes: Lanes, words: Sequence[int] = (), do: Do = PLAIN) -> Line:
        """The codes of exact results, and the flags of all. words: the random bits of each lane."""
        to, flags, codes = destination(self.out, self.policy), 0, []
        last, code, more = None, 0, 0
        for k, (outcome, word) in enumerate(zip(outcomes, words or itertools.repeat(0), strict=False)):
            if outcome is not last or words or do is not PLAIN:  # the lanes of a NaN are one outcome
                code, more = do.at("y", k)(rounded, outcome[0], word, to)
                last = outcome
            codes.append(code)
            flags |= outcome[1] | more
        return (*do(lanes, tuple(codes)), flags)

    def unrounded(
        self, inputs: Sequence[int], more_bits: int = 0, do: Do = PLAIN, wanted: frozenset[int] | None = None
    ) -> Lanes:
        """The exact results, cut to the bits that rounding needs and some more, and the flags raised before rounding.
        wanted: the lanes whose results are used; None: all.

        Raises Undefined for more visible lanes than there are.
        """
        policy, operands = self.policy, {}
        for (f, codes), fmt in zip(split(self.inputs, inputs), self.formats, strict=False):
            decode = decoder(fmt, policy.flush_inputs)
            if do is PLAIN:
                operands[f.name] = list(map(decode, codes))
            else:
                operands[f.name] = [do.at(f.name, k)(read, code, decode, fmt) for k, code in enumerate(codes)]
        visible = inputs[self.operand_width - 1] if self.masked else self.length
        if visible > self.length:
            raise Undefined(f"the number of visible keys is {visible}, of {self.length}")
        setting = self._setting(visible, more_bits)._replace(wanted=wanted)
        return do(exact_lanes, self.function, setting, operands)

    def _setting(self, visible: int, more_bits: int = 0) -> FunctionSetting:
        policy = self.policy
        bits = needed_bits(self.out, policy) + more_bits
        return FunctionSetting(bits, zero_sign(policy), policy.nan_rule, self.exact_epsilon, visible)

    def answers(self, inputs: Rows) -> Rows | None:
        """By arrays, and what they leave open one by one."""
        from softfloat_ref.arrays import vector_functions as arrays

        if not arrays.is_fit(self.function, self.formats, self.out, self.policy):
            return None
        import numpy as np

        columns = dict(zip((f.name for f in self.inputs), self._columns(inputs), strict=True))
        visible = columns.pop("visible")[:, 0].astype(np.int64) if self.masked else np.full(len(inputs), self.length)
        words, formats = columns.pop("r", None), dict(zip(columns, self.formats, strict=True))
        if len(visible) and int(visible.max()) > self.length:
            return None
        setting = self._setting(self.length)
        codes, flags, left, apart = arrays.evaluate(
            self.function, columns, formats, self.out, self.policy, setting, visible, words
        )
        outputs = np.hstack([codes, flags[:, np.newaxis].astype(np.uint64)])
        try:
            for row in np.flatnonzero(left).tolist():
                outputs[row] = self.answer(inputs[row].tolist())
        except Undefined:
            return None
        for row in np.flatnonzero(apart.any(axis=1) & ~left).tolist():
            lanes = np.flatnonzero(apart[row]).tolist()
            own, raised = self._lanes_of(inputs[row].tolist(), lanes)
            outputs[row, lanes], outputs[row, -1] = own, outputs[row, -1] | np.uint64(raised)
        return outputs

    def _lanes_of(self, inputs: Sequence[int], wanted: Sequence[int]) -> tuple[list[int], int]:
        """The codes of some lanes, and the flags that they raise."""
        outcomes = self.unrounded(inputs, wanted=frozenset(wanted))
        words = inputs[self.operand_width :]
        *codes, flags = self.rounded([outcomes[k] for k in wanted], [words[k] for k in wanted] if words else ())
        return codes, flags

    def _columns(self, inputs: Rows) -> list[Rows]:
        """The codes of each input field, a row a case."""
        ends = [*itertools.accumulate((f.lanes for f in self.inputs), initial=0)]
        return [inputs[:, first:end] for first, end in itertools.pairwise(ends)]

    def properties(self) -> dict[str, str]:
        more = {f"fmt_{p.name}": f.name for p, f in zip(self.own[1:], self.formats[1:], strict=True)}
        return properties(self.op, self.formats[0], self.out, self.policy, self.out.width, **more)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "formats": [f.to_dict() for f in self.formats]}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> VectorUnit:
        formats = tuple(define_format(f) for f in table["formats"])
        return VectorUnit(
            str(table["op"]),
            formats,
            define_format(table["out"]),
            table["length"],
            Policy(**table["policy"]),
            table["depth"],
            str(table["epsilon"]),
            table["plain"] is True,
            table["masked"] is True,
        )


def _own(row: VectorFunction, plain: bool) -> tuple[Parameter, ...]:
    return tuple(p for p in row.parameters if p.group == "" or (p.group == "affine" and not plain))


def _formats(row: VectorFunction, own: Sequence[Parameter], fmt: Any) -> tuple[Format, ...]:
    """The format of each operand. Raises Error."""
    names = [p.name for p in own]
    if isinstance(fmt, str) and "=" in fmt:
        return tuple(map(get_format, format_names(fmt, names, row.name)))
    if isinstance(fmt, str | Format):
        return (get_format(fmt),) * len(names)
    if len(fmt) != len(names):
        raise Error(f"{row.name} takes {len(names)} operands ({', '.join(names)}), but {len(fmt)} formats were given")
    return tuple(get_format(f) for f in fmt)


def parse_epsilon(value: str | Fraction | None, default: str) -> str:
    """An epsilon as a ratio. Raises Error."""
    if value is None:
        return default
    format_name, colon, text = str(value).rpartition(":")
    number: Any = parse_number(text, "epsilon")
    if colon:
        fmt = get_format(format_name)
        number = codec.decode(codec.encode(number, fmt).bits, fmt)
    if isinstance(number, Value):
        if not number.is_finite:
            raise Error(f"epsilon = {value}: must be a number")
        number = number.as_fraction()
    if number < 0:
        raise Error(f"epsilon = {value}: must not be negative")
    return str(number)
