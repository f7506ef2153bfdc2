"""One step of an accumulator: evaluates the tree on the step's products and the running result. Integers only."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate.model import Accumulator
from softfloat_ref.oracle.accumulate.terms import Decode, Term, number
from softfloat_ref.oracle.accumulate.trees import (
    RESULT,
    Addends,
    Chain,
    Fuse,
    Node,
    Pairs,
    Products,
    Round,
    Running,
    To,
    Zero,
)
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, GENERATED, INF, NAN, Value
from softfloat_ref.oracle.flags import INEXACT, INVALID
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations.table import nan_operand
from softfloat_ref.oracle.policies import NanRule, Policy
from softfloat_ref.oracle.rounding import Target, align
from softfloat_ref.oracle.rounding_steps import Destination, destination, rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step

PLUS_ZERO: Final = Term(exact.zero(0), 0, 0, True, (exact.zero(0),), False, "zero")


def unit_target(fmt: Format, policy: Policy, overflow: str) -> Target:
    """The Target that makes `round_pack` round like the unit."""
    return destination(fmt, policy, overflow).target


@lru_cache(maxsize=256)
def narrowed(fmt: Format, bits: int | None) -> Format:
    """The format reduced to `kept` mantissa bits."""
    return fmt if bits is None else dataclasses.replace(fmt, name=f"{fmt.name}_{bits}", mantissa_bits=bits)


class TreeRounding(NamedTuple):
    """A To with its format resolved. held: the result's format, in which the code is held if fewer bits are kept."""

    by: To
    to: Destination
    decode: Decode
    held: Destination | None


@step("stored sum", "code")
def stored(code: int, value: Value, rounding: TreeRounding, label: str) -> int:
    """The code in which a rounded sum is held. label: of what was rounded."""
    return code if rounding.held is None else rounding.held.encode(value, 0)[0]


@step("special sum", "value and flags")
def special(terms: list[Term], rule: NanRule) -> tuple[Value, int]:
    """The NaN or Inf that results from terms that are not all finite, and the flags raised."""
    invalid = any(x.invalid for x in terms)
    products = [v for x in terms if len(x.operands) != 1 for v in x.operands]
    others = [v for x in terms if len(x.operands) == 1 for v in x.operands]
    order = others + products if rule.addend_first else products + others
    if any(v.kind == NAN for v in order):
        value, flags = nan_operand(rule, order)
        if invalid and not flags:
            flags = 0 if rule.fma_quiet else INVALID
            value = GENERATED if rule.fma_generated else value
        return value, flags
    signs = {x.value.sign for x in terms if x.value.kind == INF}
    if invalid or len(signs) > 1:
        return GENERATED, INVALID
    return exact.inf(signs.pop()), 0


@dataclass
class TreeEvaluator:
    """The values on which a tree is evaluated, and the flags raised so far.

    All steps of a dot product share one: products and running are replaced for each step. count: of the sums and
    roundings so far, by which their results are labelled where they are recorded.
    """

    accumulator: Accumulator
    result: Format
    products: Sequence[Term] = ()
    running: Term = PLUS_ZERO
    flags: int = 0
    count: int = dataclasses.field(kw_only=True)
    code: int = dataclasses.field(init=False)  # the code of the last rounding
    roundings: dict[To, TreeRounding] = dataclasses.field(default_factory=dict)
    do: Do = PLAIN

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
        inner, last = node.node, node is self.accumulator.root
        if isinstance(inner, (Chain, Pairs)):
            terms = [x for part in inner.parts for x in self.terms(part)] or [PLUS_ZERO]
            if len(terms) == 1:
                return [self.to_format(terms[0], to, last)]
            return [self.chain(terms, to, last) if isinstance(inner, Chain) else self.pairs(terms, to, last)]
        return [self.to_format(x, to, last) for x in self.terms(inner)]

    def chain(self, terms: list[Term], to: To, last: bool) -> Term:
        total = terms[0]
        for term in terms[1:]:
            total = self.to_format(self.add([total, term]), to, last)
        return total

    def pairs(self, terms: list[Term], to: To, last: bool) -> Term:
        while len(terms) > 1:
            odd = terms[-1:] if len(terms) % 2 else []
            both = zip(terms[::2], terms[1::2], strict=False)
            terms = [self.to_format(self.add([a, b]), to, last) for a, b in both] + odd
        return terms[0]

    def add(self, terms: list[Term]) -> Term:
        """The exact sum of terms."""
        return self.fuse_terms(PLAIN_FUSE, [(x, PLAIN_PART) for x in terms])

    def label(self) -> str:
        """The label of the next sum or rounding in a trace."""
        if self.do is PLAIN:
            return ""
        self.count += 1
        return f"s{self.count - 1}"

    # -- Round -------------------------------------------------------------------------------------------------------

    def to_format(self, term: Term, to: To, last: bool) -> Term:
        """A term rounded to a format. last: by the root of the tree."""
        rounding = self.roundings.get(to) or self.make_rounding(to)
        value, raised = (term.value, 0) if term.value.kind == FINITE else special([term], self.accumulator.nan_rule)
        code, flags = self.do.at("sums", "last" if last else "inner")(rounded, value, 0, rounding.to)
        self.flags |= raised | flags
        result = number(rounding.decode(code), rounding.to.fmt, self.label())
        self.code = self.do(stored, code, result.value, rounding, term.label)
        return result

    def make_rounding(self, to: To) -> TreeRounding:
        """Resolve a To and cache the result."""
        rules = self.accumulator
        fmt = self.result if to.fmt == RESULT else get_format(to.fmt)
        narrow = narrowed(fmt, to.kept)
        policy = rules.policy(to.rounding)
        held = None
        if narrow.mantissa_bits < fmt.mantissa_bits:
            held = destination(fmt, policy, rules.overflow, rules.zero)
        rounding = TreeRounding(to, destination(narrow, policy, rules.overflow, rules.zero), decoder(narrow), held)
        self.roundings[to] = rounding
        return rounding

    # -- Fuse --------------------------------------------------------------------------------------------------------

    def fuse(self, node: Fuse) -> Term:
        """The aligned sum of the parts' terms. Without terms (p[8:] of eight products), the sum of one zero."""
        terms = [(x, part) for part in node.parts for x in self.terms(part.node)]
        return self.fuse_terms(node, terms or [(PLUS_ZERO, PLAIN_PART)])

    def fuse_terms(self, node: Fuse, terms: list[tuple[Term, Addends]]) -> Term:
        label = self.label()
        if any(x.value.kind != FINITE for x, _ in terms):
            value, flags = self.do(special, [x for x, _ in terms], self.accumulator.nan_rule)
            self.flags |= flags
            return Term(value, 0, 0, False, (value,), False, label)
        exponents = [x.exponent for x, _ in terms if not x.empty]
        empty = not exponents
        floor = node.floor_for(self.result.name)
        if floor is not None and (node.floor_when == "always" or len(exponents) < len(terms)):
            exponents.append(floor)
        largest = max(exponents, default=0)
        value, _ = self.sum(node, terms, largest)
        exponent = largest
        if node.exponent == "scale":
            exponent = max((x.scale for x, _ in terms if not x.empty), default=0)
        return Term(value, exponent, 0, empty, (value,), False, label)

    def sum(self, node: Fuse, terms: list[tuple[Term, Addends]], largest: int) -> tuple[Value, list[Aligned]]:
        """The sum, and each term after alignment."""
        aligned = self.do(align_terms, terms, node, largest)
        if self.do(cut_away, aligned):
            self.flags |= INEXACT
        return self.do(total, aligned, terms, node), aligned


class Aligned(NamedTuple):
    """A term as a signed multiple of 2^unit. lost: 1 if the alignment cut nonzero bits."""

    kept: int
    unit: int
    lost: int


def align_term(term: Term, part: Addends, node: Fuse, largest: int) -> Aligned:
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


@step("align", "aligned")
def align_terms(terms: list[tuple[Term, Addends]], node: Fuse, largest: int) -> list[Aligned]:
    """The terms of a sum, each cut where the node cuts it below the largest exponent."""
    return [align_term(x, part, node, largest) for x, part in terms]


@step("cut away", "decision")
def cut_away(aligned: list[Aligned]) -> bool:
    """Whether alignment has cut nonzero bits off."""
    return any(a.lost for a in aligned)


@step("sum", "value")
def total(aligned: list[Aligned], terms: list[tuple[Term, Addends]], node: Fuse) -> Value:
    """The exact sum of aligned terms; -0 only of terms that are all negative."""
    unit = min(a.unit for a in aligned)
    units = sum(a.kept << (a.unit - unit) for a in aligned)
    if units:
        return Value(FINITE, int(units < 0), abs(units), unit)
    return exact.zero(min(x.value.sign for x, _ in terms))


PLAIN_PART: Final = Addends(Products())
PLAIN_FUSE: Final = Fuse((PLAIN_PART,))
