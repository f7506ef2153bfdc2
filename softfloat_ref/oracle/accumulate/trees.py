"""The nodes of an accumulator: a tree of two main node kinds, Fuse and Round, over the terms of one step.

Every node stands for a list of terms. The leaves are products of the step, the running result, and zero. Fuse adds
several terms to one, exactly except for its alignment; Round rounds each of its terms. Chain and Pairs are the two
usual ways to add a list two terms at a time; the Round around them rounds every one of those sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.oracle.policies import parse_rounding

Slice = tuple[int, int | None, int]  # start, stop (None: to the end), stride
Align = Literal["rz", "rd"]

MAX_BITS: Final = 4096
RESULT: Final = "out"  # the format of the running result


@dataclass(frozen=True)
class Products:
    """Products of the step by position: those of each slice, in order."""

    slices: tuple[Slice, ...] = ((0, None, 1),)

    def positions(self, count: int) -> list[int]:
        """The positions, in a step of `count` products."""
        return [k for start, stop, stride in self.slices for k in range(start, _end(stop, count), stride)]


def _end(stop: int | None, count: int) -> int:
    return count if stop is None else min(stop, count)


@dataclass(frozen=True)
class Running:
    """The running result: c in the first step, then the result of the previous step."""


@dataclass(frozen=True)
class Zero:
    """The constant +0."""


@dataclass(frozen=True)
class Addends:
    """Terms of a Fuse. bits, align: their alignment, if different from the Fuse's.

    drop: terms whose exponent is more than this below the largest are discarded before alignment.
    """

    node: Node
    bits: int | None = None
    align: Align | None = None
    drop: int | None = None


@dataclass(frozen=True)
class Fuse:
    """The exact, unnormalised sum of its terms, each first aligned to a multiple of 2^(M - bits).

    M is the largest encoded exponent of the nonzero terms. The exponent of a product is the sum of those of its factors
    (emin for a subnormal) and its scales. bits: None for an exact sum. align: bits below are dropped (rz) or floored
    (rd). floor: M is at least this if a term is zero (floor_when = zero) or in any case (always); one number, or one
    per format of the running result. exponent = scale: the encoded exponent of the sum is that of its products' scales.
    """

    parts: tuple[Addends, ...]
    bits: int | None = None
    align: Align = "rz"
    floor: tuple[tuple[str, int], ...] = ()
    floor_when: Literal["zero", "always"] = "zero"
    exponent: Literal["largest", "scale"] = "largest"

    def floor_for(self, fmt: str) -> int | None:
        """The floor of M if the running result has that format; None for no floor."""
        return next((value for name, value in self.floor if name in ("", fmt)), None)


@dataclass(frozen=True)
class To:
    """A rounding to a format (`out`: the running result's). kept: the number of fraction bits, if not the format's
    own."""

    fmt: str
    rounding: str
    kept: int | None = None


@dataclass(frozen=True)
class Round:
    """Each term rounded. If there are several choices, the one for the running result's format applies."""

    node: Node
    choices: tuple[To, ...]

    def choice(self, fmt: str) -> To:
        """The rounding to use if the running result has that format."""
        if len(self.choices) == 1:
            return self.choices[0]
        return find_first(to for to in self.choices if to.fmt == fmt)


@dataclass(frozen=True)
class Chain:
    """The terms added one by one, in order; the Round around it rounds each sum."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Pairs:
    """Neighbours added, level by level; a last odd term moves up a level. The Round around it rounds each sum."""

    parts: tuple[Node, ...]


Node = Products | Running | Zero | Fuse | Round | Chain | Pairs


def children(node: Node) -> tuple[Node, ...]:
    """The direct children of a node."""
    if isinstance(node, Fuse):
        return tuple(p.node for p in node.parts)
    if isinstance(node, Round):
        return (node.node,)
    return node.parts if isinstance(node, (Chain, Pairs)) else ()


def walk(node: Node) -> list[Node]:
    """The node and all its descendants."""
    return [node, *(x for child in children(node) for x in walk(child))]


def step_of(tree: Node) -> int | None:
    """The number of products per step, if the tree's positions determine it; else None."""
    stops = [stop for x in walk(tree) if isinstance(x, Products) for _, stop, _ in x.slices]
    return None if None in stops or not stops else max(s for s in stops if s is not None)


def check(tree: Node) -> Round:
    """The tree, if it is valid as an accumulator's. Raises Error otherwise."""
    if not isinstance(tree, Round) or not isinstance(_summed(tree), (Fuse, Chain, Pairs)):
        raise Error("the tree must end in a rounding of a sum, as in fuse(16+c,F=25,rz)->fp32:rz")
    if not any(isinstance(x, Products) for x in walk(tree)):
        raise Error("the tree adds no products; write p, or their number")
    _check_node(tree)
    return tree


def _summed(node: Node) -> Node:
    """A node without the roundings around it."""
    return _summed(node.node) if isinstance(node, Round) else node


def _check_node(node: Node) -> None:
    for child in children(node):
        if isinstance(child, (Chain, Pairs)) and not isinstance(node, Round):
            raise Error("chain(...) and pairs(...) need the rounding of their sums: add ->fp32:rne")
        _check_node(child)
    if isinstance(node, Fuse):
        for bits in (node.bits, *(p.bits for p in node.parts), *(p.drop for p in node.parts)):
            if bits is not None and not 0 <= bits <= MAX_BITS:
                raise Error(f"F = {bits}: a fuse aligns to 0 to {MAX_BITS} bits, or F=inf for an exact sum")
    if isinstance(node, Round):
        _check_choices(node)


def _check_choices(node: Round) -> None:
    names = [to.fmt for to in node.choices]
    if len(set(names)) < len(names) or (len(names) > 1 and RESULT in names):
        raise Error(f"->{'|'.join(names)}: each choice needs a different format")
    for to in node.choices:
        if parse_rounding(to.rounding).stochastic:
            raise Error(f"->{to.fmt}:{to.rounding}: an accumulator has no random bits; use another rounding")
