"""One step of an accumulator: evaluates the tree on the step's products and the running result. Integers only."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate.model import Accumulator
from softfloat_ref.oracle.accumulate.terms import Decode, Term, number
from softfloat_ref.oracle.accumulate.trees import (
    RESULT,
    Chain,
    Fuse,
    Node,
    Pairs,
    Part,
    Products,
    Round,
    Running,
    To,
    Zero,
)
from softfloat_ref.oracle.codec import decoder, encoder, target
from softfloat_ref.oracle.exact import FINITE, GENERATED, INF, NAN, Value
from softfloat_ref.oracle.flags import INEXACT, INVALID
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations.table import nan_operand
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import Target, align, round_pack

Stage = dict[str, Any]
Rounder = Callable[[Value], tuple[int, int]]
PLUS_ZERO: Final = Term(exact.zero(0), 0, 0, True, (exact.zero(0),), False, "zero")


def unit_target(fmt: Format, policy: Policy, overflow: str) -> Target:
    """The Target that makes `round_pack` round like the unit."""
    t = target(fmt, policy)
    if overflow == "inf" and fmt.infinity:  # every rounding overflows to Inf, also toward zero and to odd
        t = t._replace(largest_positive=fmt.inf_code, largest_negative=fmt.inf_code | fmt.sign_bit)
    return t


@lru_cache(maxsize=256)
def rounder(fmt: Format, policy: Policy, overflow: str, zero: str) -> Rounder:
    """The function that rounds exact values to a format like the unit; it returns a code and flags."""
    encode = encoder(fmt, policy)
    t = unit_target(fmt, policy, overflow)
    positive = zero == "positive"

    def run(x: Value) -> tuple[int, int]:
        if x.kind == FINITE and x.significand:
            code, flags = round_pack(x.sign, x.significand, x.exponent, x.significand.bit_length(), 0, 0, t)
        else:
            code, flags = encode(x, 0)
        return (0, flags) if positive and code == fmt.sign_bit else (code, flags)

    return run


@lru_cache(maxsize=256)
def narrowed(fmt: Format, kept: int | None) -> Format:
    """The format reduced to `kept` mantissa bits."""
    return fmt if kept is None else dataclasses.replace(fmt, name=f"{fmt.name}_{kept}", mantissa_bits=kept)


class Rounding(NamedTuple):
    """A To with its format resolved. held, hold: the result's format and its rounder, if fewer bits are kept."""

    fmt: Format
    encode: Rounder
    decode: Decode
    held: Format
    hold: Rounder | None


@dataclass
class Step:
    """The values on which a tree is evaluated, and the flags raised so far. stages: filled if it is a list.

    All steps of a dot product share one Step: products and running are replaced for each step.
    """

    accumulator: Accumulator
    result: Format
    products: Sequence[Term] = ()
    running: Term = PLUS_ZERO
    flags: int = 0
    stages: list[Stage] | None = None
    code: int = dataclasses.field(init=False)  # the code of the last rounding
    roundings: dict[To, Rounding] = dataclasses.field(default_factory=dict)

    def terms(self, node: Node) -> list[Term]:
        """The terms of a node."""
        match node:
            case Products():
                return [self.products[k] for k in node.positions(len(self.products))]
            case Running():
                return [self.running]
            case Fuse():
                return [self.fuse(node)]
            case Round():
                return self.rounded(node)
            case Zero():
                return [PLUS_ZERO]
        raise AssertionError("a chain stands in a Round")

    def rounded(self, node: Round) -> list[Term]:
        """Each term rounded; for a Chain or Pairs, each sum."""
        to = node.choice(self.result.name)
        inner = node.node
        if isinstance(inner, (Chain, Pairs)):
            terms = [x for part in inner.parts for x in self.terms(part)] or [PLUS_ZERO]
            if len(terms) == 1:
                return [self.to_format(terms[0], to)]
            return [self.chain(terms, to) if isinstance(inner, Chain) else self.pairs(terms, to)]
        return [self.to_format(x, to) for x in self.terms(inner)]

    def chain(self, terms: list[Term], to: To) -> Term:
        total = terms[0]
        for term in terms[1:]:
            total = self.to_format(self.add([total, term]), to)
        return total

    def pairs(self, terms: list[Term], to: To) -> Term:
        while len(terms) > 1:
            odd = terms[-1:] if len(terms) % 2 else []
            both = zip(terms[::2], terms[1::2], strict=False)
            terms = [self.to_format(self.add([a, b]), to) for a, b in both] + odd
        return terms[0]

    def add(self, terms: list[Term]) -> Term:
        """The exact sum of terms."""
        return self.fuse_terms(PLAIN, [(x, PLAIN_PART) for x in terms])

    def label(self) -> str:
        """The label of the next stage in a trace."""
        return "" if self.stages is None else f"s{len(self.stages)}"

    # -- Round -------------------------------------------------------------------------------------------------------

    def to_format(self, term: Term, to: To) -> Term:
        """A term rounded to a format."""
        kept, encode, decode, held, hold = self.roundings.get(to) or self.make_rounding(to)
        value = term.value if term.value.kind == FINITE else self.special([term])
        code, flags = encode(value)
        self.flags |= flags
        result = number(decode(code), kept, self.label())
        self.code = code if hold is None else hold(result.value)[0]
        if self.stages is not None:
            self.stages.append(
                {
                    "stage": "round",
                    "input": value,
                    "label": term.label,
                    "format": held,
                    "rounding": to.rounding,
                    "kept": to.kept,
                    "code": self.code,
                    "flags": flags,
                }
            )
        return result

    def make_rounding(self, to: To) -> Rounding:
        """Resolve a To and cache the result."""
        rules = self.accumulator
        fmt = self.result if to.fmt == RESULT else get_format(to.fmt)
        kept = narrowed(fmt, to.kept)
        policy = rules.policy(to.rounding)
        encode = rounder(kept, policy, rules.overflow, rules.zero)
        hold = None
        if kept.mantissa_bits < fmt.mantissa_bits:
            hold = rounder(fmt, policy, rules.overflow, rules.zero)
        made = Rounding(kept, encode, decoder(kept), fmt if hold else kept, hold)
        self.roundings[to] = made
        return made

    # -- Fuse --------------------------------------------------------------------------------------------------------

    def fuse(self, node: Fuse) -> Term:
        """The aligned sum of the parts' terms. Without terms (p[8:] of eight products), the sum of one zero."""
        terms = [(x, part) for part in node.parts for x in self.terms(part.node)]
        return self.fuse_terms(node, terms or [(PLUS_ZERO, PLAIN_PART)])

    def fuse_terms(self, node: Fuse, terms: list[tuple[Term, Part]]) -> Term:
        label = self.label()
        if any(x.value.kind != FINITE for x, _ in terms):
            special = self.special([x for x, _ in terms])
            if self.stages is not None:
                self.stages.append(special_stage(special, terms))
            return Term(special, 0, 0, False, (special,), False, label)
        exponents = [x.exponent for x, _ in terms if not x.empty]
        empty = not exponents
        floor = node.floor_for(self.result.name)
        if floor is not None and (node.floor_when == "always" or len(exponents) < len(terms)):
            exponents.append(floor)
        largest = max(exponents, default=0)
        value, aligned = self.sum(node, terms, largest)
        exponent = largest
        if node.exponent == "scale":
            exponent = max((x.scale for x, _ in terms if not x.empty), default=0)
        if self.stages is not None:
            self.stages.append(fuse_stage(node, terms, largest if exponents else None, value, aligned))
        return Term(value, exponent, 0, empty, (value,), False, label)

    def sum(self, node: Fuse, terms: list[tuple[Term, Part]], largest: int) -> tuple[Value, list[Aligned]]:
        """The sum, and each term after alignment."""
        aligned = [align_term(x, part, node, largest) for x, part in terms]
        unit = min(a.unit for a in aligned)
        total = 0
        for a in aligned:
            total += a.kept << (a.unit - unit)
            if a.lost:
                self.flags |= INEXACT
        if total:
            return Value(FINITE, int(total < 0), abs(total), unit), aligned
        return exact.zero(min(x.value.sign for x, _ in terms)), aligned

    def special(self, terms: list[Term]) -> Value:
        """The NaN or Inf that results from terms that are not all finite."""
        invalid = any(x.invalid for x in terms)
        rule = self.accumulator.nan_rule
        products = [v for x in terms if len(x.operands) != 1 for v in x.operands]
        others = [v for x in terms if len(x.operands) == 1 for v in x.operands]
        order = others + products if rule.addend_first else products + others
        if any(v.kind == NAN for v in order):
            value, flags = nan_operand(rule, order)
            if invalid and not flags:
                flags = 0 if rule.fma_quiet else INVALID
                value = GENERATED if rule.fma_generated else value
            self.flags |= flags
            return value
        signs = {x.value.sign for x in terms if x.value.kind == INF}
        if invalid or len(signs) > 1:
            self.flags |= INVALID
            return GENERATED
        return exact.inf(signs.pop())


class Aligned(NamedTuple):
    """A term as a signed multiple of 2^unit. lost: 1 if the alignment cut nonzero bits."""

    kept: int
    unit: int
    lost: int


def align_term(term: Term, part: Part, node: Fuse, largest: int) -> Aligned:
    """A term aligned for a Fuse. largest: the largest exponent M."""
    value = term.value
    bits = node.bits if part.bits is None else part.bits
    if bits is None:
        return Aligned(-value.significand if value.sign else value.significand, value.exponent, 0)
    unit = largest - bits
    if part.drop is not None and term.exponent < largest - part.drop:
        return Aligned(0, unit, int(value.significand != 0))
    down = int((part.align or node.align) == "rd")
    kept, lost = align(value.sign, value.significand, value.exponent, value.significand.bit_length(), unit, down)
    return Aligned(kept, unit, lost)


PLAIN_PART: Final = Part(Products())
PLAIN: Final = Fuse((PLAIN_PART,))


def special_stage(value: Value, terms: list[tuple[Term, Part]]) -> Stage:
    """The trace entry of a sum that is NaN or Inf."""
    return {"stage": "special", "terms": [x for x, _ in terms], "sum": value}


def fuse_stage(
    node: Fuse, terms: list[tuple[Term, Part]], largest: int | None, value: Value, aligned: list[Aligned]
) -> Stage:
    """The trace entry of a sum."""
    return {
        "stage": "fuse",
        "bits": node.bits,
        "align": node.align,
        "largest": largest,
        "terms": [x for x, _ in terms],
        "aligned": aligned,
        "sum": value,
    }
