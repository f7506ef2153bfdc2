"""An accumulator's tree as a list of integer instructions for the compiled loop.

The terms of a step are in slots: its products, the running result, a zero, then the results of instructions. A tree
with anything that instructions cannot express, or that does not fit 64 bits, has no program and runs on the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.opcodes import PLAIN_TARGET
from softfloat_ref.oracle.accumulate.dots import Accumulation
from softfloat_ref.oracle.accumulate.evaluate import narrowed, unit_target
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
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.rounding import RDN, Target

FUSE: Final = 0
EXACT: Final = 1
ROUND: Final = 2
NONE: Final = -(1 << 40)  # no floor
NEVER: Final = 1 << 41  # binades below the largest at which a term is dropped
MAX_BITS: Final = 44  # bits of an alignment: with four integer bits of a product and a thousand terms, sums fit 63 bits
_INTEGER_BITS: Final = 4  # of a product of two numbers and two scales, over its exponent
_SUM_BITS: Final = 62
MAX_PRODUCT_BITS: Final = 60
_MAX_WIDTH: Final = 48  # bits of a rounded sum
MIN_COLUMNS: Final = 16  # columns for which computing many at once pays
_PRODUCT_LIMIT: Final = 1 << 31  # a product's significand is below, in kernels/fused.py
_EXPONENT_LIMIT: Final = 400  # exponents of operands, for which sums are normal numbers of float64
FP64: Final = CATALOGUE["fp64"]


class NoProgram(Exception):
    """Raised for a tree or formats that the compiled loop does not support."""


@dataclass
class Program:
    """Instructions. code: rows of (opcode, output slot, first input, number of inputs, ...); inputs: rows of (slot,
    bits, down, drop); targets: a Target per row; formats: rows of (mantissa bits, emin, first code that is not
    finite)."""

    step: int
    slots: int
    code: NDArray[np.int64]
    inputs: NDArray[np.int64]
    targets: NDArray[np.int64]
    formats: NDArray[np.int64]
    result: int  # slot of the last rounding
    widen: int  # bits by which its code is narrower than the result's

    @property
    def last_target(self) -> Target:
        """What the second instruction rounds to."""
        return Target(*self.targets[self.code[1, 4]].tolist())

    def is_fused(self, left: NDArray[Any], right: NDArray[Any]) -> bool:
        """Whether kernels/fused.py runs the program: one fused sum of the products and the running result with one
        rounding, of operands, as of `loops.dot_matrix`, that are finite and narrow. left: (5, rows, k), right: (5,
        columns, k)."""
        if self.code[:, 0].tolist() != [FUSE, ROUND] or right.shape[1] < MIN_COLUMNS:
            return False
        slots, terms = self.inputs[:, 0], self.inputs[:, 1:]
        whole = sorted(slots.tolist()) == list(range(self.step + 1))
        same = (terms == terms[0]).all() and terms[0, 2] == NEVER and self.code[0, 6] == 0
        target = self.last_target
        plain = target._replace(**{**PLAIN_TARGET, "mode": target.mode}) == target
        short = int(terms[0, 0]) + 3 + self.step.bit_length() <= FP64.precision  # a sum; a product has 2 integer bits
        return bool(whole and same and plain and short) and _narrow_operands(left, right)

    def nested(self, left: NDArray[Any], right: NDArray[Any]) -> Nested | None:
        """What kernels/nested.py needs to run the program, of operands as for `is_fused`; None if it does not."""
        code, last = self.code, len(self.code) - 3
        inner = self.inputs[: self.step]
        opcodes = code[:, 0].tolist()
        if opcodes not in ([FUSE] * 2 + [ROUND] * 2, [FUSE] * 4 + [ROUND] * 2) or right.shape[1] < MIN_COLUMNS:
            return None
        groups = self._groups(code[: 2 if last > 1 else 1])
        if groups is None or self.widen or not _narrow_operands(left, right):
            return None
        both = self.inputs[self.step : self.step + 2] if last > 1 else np.array([[0, 0, 1, NEVER]] * 2)
        (_, most, down, never), (_, own, floored, drop) = self.inputs[-2:].tolist()
        first, second = (Target(*self.targets[i].tolist()) for i in code[-2:, 4])
        plain = second._replace(**PLAIN_TARGET) == second
        down_first = first._replace(**PLAIN_TARGET | {"mode": int(RDN)}) == first
        fits = first.emin == second.emin and FP64.mantissa_bits > first.mantissa_bits > second.mantissa_bits + 1
        aligned = (inner[:, 1:] == (inner[0, 1], 0, NEVER)).all() and (both[:, 1:] == (both[0, 1], 1, NEVER)).all()
        taken = [*(code[:2, 1].tolist() if last > 1 else ()), int(code[last - 1, 1]), self.step]  # by all but the first
        whole = (
            self.inputs[self.step :, 0].tolist() == taken and code[-2:, 2].tolist() == code[last : last + 2, 1].tolist()
        )
        whole = whole and (down, floored, never) == (1, 1, NEVER) and own <= most
        bits, size = int(inner[0, 1]), int(np.bincount(groups).max())
        short = bits + 2 + size.bit_length() < 32 and most + 4 + self.step.bit_length() <= FP64.precision
        no_floors = (code[:last, 4] == NONE).all() and not code[: last + 1, 6].any()
        if not (plain and down_first and fits and aligned and whole and short and no_floors):
            return None
        floor, always = code[last, 4:6].tolist()
        return Nested(groups, (bits, int(both[0, 1]), most, own, drop, floor, always), first, second)

    def _groups(self, fuses: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Which of the first sums adds each product of a step; None if that is not one of them."""
        groups = np.full(self.step, -1, np.int64)
        for number, (_, _, first, count, *_) in enumerate(fuses.tolist()):
            slots = self.inputs[first : first + count, 0]
            if slots.max(initial=0) >= self.step:
                return None
            groups[slots] = number
        return groups if len(self.inputs) == self.step + 2 * len(fuses) and groups.min() >= 0 else None


class Nested(NamedTuple):
    """A program of sums of products, and of their sum and the running result, which is rounded twice. group: the sum
    that each product is in; numbers: the first of those of kernels/nested.py; first, second: the roundings."""

    group: NDArray[np.int64]
    numbers: tuple[int, ...]
    first: Target
    second: Target


def _narrow_operands(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Whether operands, as of `loops.dot_matrix`, are finite, and their products short and in float64's range."""
    if left[4].any() or right[4].any():
        return False
    near = all(np.abs(x[2]).max(initial=0) < _EXPONENT_LIMIT for x in (left, right))
    return bool(near and int(left[0].max(initial=0)) * int(right[0].max(initial=0)) < _PRODUCT_LIMIT)


@dataclass
class _Builder:
    setting: Accumulation
    step: int
    extra: int  # bits that scales add to a product's significand
    code: list[list[int]] = field(default_factory=list)
    inputs: list[list[int]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    formats: list[tuple[int, int, int]] = field(default_factory=list)
    known: dict[To, int] = field(default_factory=dict)
    cut: set[int] = field(default_factory=set)  # slots that may hold a sticky bit
    above: dict[int, int] = field(default_factory=dict)  # integer bits of slots, over the exponent of their scales
    slots: int = 0

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def terms(self, node: Node) -> list[int]:
        """The slots that hold a node's terms."""
        match node:
            case Products():
                return node.positions(self.step)
            case Running():
                return [self.step]
            case Zero():
                return [self.step + 1]
            case Fuse():
                return [self.fuse(node)]
            case Round():
                return self.rounded(node)
        raise NoProgram("a chain without a rounding")

    def fuse(self, node: Fuse) -> int:
        terms = [(x, part) for part in node.parts for x in self.terms(part.node)]
        return self.emit_fuse(terms or [(self.step + 1, Addends(Zero()))], node)

    def emit_fuse(self, terms: list[tuple[int, Addends]], node: Fuse) -> int:
        if any(x in self.cut for x, _ in terms):
            raise NoProgram("an exact sum inside a sum")
        bits = [node.bits if part.bits is None else part.bits for _, part in terms]
        floor = node.floor_for(self.setting.result.name)
        exact = all(b is None for b in bits)
        if not exact and any(b is None or b > MAX_BITS for b in bits):
            raise NoProgram("an alignment too wide")
        tops = [self.above.get(x, _INTEGER_BITS) + (b or 0) for (x, _), b in zip(terms, bits, strict=True)]
        if not exact and max(tops) + (len(terms) - 1).bit_length() > _SUM_BITS:
            raise NoProgram("a sum too wide")
        out, first = self.slot(), len(self.inputs)
        for (x, part), b in zip(terms, bits, strict=True):
            drop = NEVER if part.drop is None else part.drop
            self.inputs.append([x, -1 if b is None else b, int((part.align or node.align) == "rd"), drop])
        if node.exponent == "scale":
            largest = sum(f.emax for f in self.setting.formats)
            self.above[out] = largest + _INTEGER_BITS + (len(terms) - 1).bit_length()
        always, scale = int(node.floor_when == "always"), int(node.exponent == "scale")
        self.code.append(
            [
                EXACT if exact else FUSE,
                out,
                first,
                len(terms),
                NONE if floor is None else floor,
                always,
                scale,
                max((b for b in bits if b is not None), default=0),
            ]
        )
        if exact and not self._narrow(terms):
            self.cut.add(out)
        return out

    def _narrow(self, terms: list[tuple[int, Addends]]) -> bool:
        """Whether an exact sum of products is expected to fit 62 bits, disregarding the exponents of scales."""
        a, b = self.setting.formats
        low = a.emin - a.mantissa_bits + b.emin - b.mantissa_bits
        bits = a.emax + b.emax + 2 - low + len(terms).bit_length() + self.extra
        return all(x < self.step for x, _ in terms) and bits <= 62

    def rounded(self, node: Round) -> list[int]:
        to, inner = node.choice(self.setting.result.name), node.node
        if not isinstance(inner, (Chain, Pairs)):
            return [self.emit_round(x, to) for x in self.terms(inner)]
        terms = [x for part in inner.parts for x in self.terms(part)] or self.terms(Zero())
        if len(terms) == 1:
            return [self.emit_round(terms[0], to)]
        if isinstance(inner, Chain):
            total = terms[0]
            for x in terms[1:]:
                total = self.emit_round(self.add(total, x), to)
            return [total]
        while len(terms) > 1:
            odd = terms[-1:] if len(terms) % 2 else []
            terms = [self.emit_round(self.add(x, y), to) for x, y in zip(terms[::2], terms[1::2], strict=False)] + odd
        return terms

    def add(self, x: int, y: int) -> int:
        plain = Addends(Zero())
        return self.emit_fuse([(x, plain), (y, plain)], Fuse((plain,)))

    def emit_round(self, x: int, to: To) -> int:
        if to not in self.known:
            self.known[to] = len(self.targets)
            fmt, rules = self._format(to), self.setting.accumulator
            usual = fmt.signed and fmt.has_nan and fmt.nan == "ieee"
            if fmt.subnormals != "gradual" or not usual or fmt.width > _MAX_WIDTH:
                raise NoProgram(f"results of {fmt.name}")
            self.targets.append(unit_target(fmt, rules.policy(to.rounding), rules.overflow))
            self.formats.append((fmt.mantissa_bits, fmt.emin, fmt.inf_code))
        out, index = self.slot(), self.known[to]
        self.code.append([ROUND, out, x, 0, index, 0, 0, 0])
        return out

    def _format(self, to: To) -> Format:
        return narrowed(self.setting.result if to.fmt == RESULT else get_format(to.fmt), to.kept)


def compile_tree(setting: Accumulation, count: int, product_bits: int) -> Program:
    """The program of a setting for `count` products, each of at most `product_bits` significand bits. Raises
    NoProgram."""
    unit, result = setting.accumulator, setting.result
    if product_bits > MAX_PRODUCT_BITS:
        raise NoProgram("products too wide")
    if unit.c == "own" and setting.c != result:
        raise NoProgram("a rule of the unit's own")
    step = unit.step_for(setting.formats, result, setting.block, count)
    builder = _Builder(setting, step, product_bits - sum(f.precision for f in setting.formats))
    builder.slots = step + 2
    last = builder.terms(unit.root)[0]
    mantissa_bits = unit.root.choice(result.name).kept
    widen = 0 if mantissa_bits is None else result.mantissa_bits - mantissa_bits
    if widen < 0 or get_format(_name(unit.root, setting)).exponent_bits != result.exponent_bits:
        raise NoProgram("a result that is not the last rounding's")
    return Program(
        step,
        builder.slots,
        np.array(builder.code, np.int64).reshape(-1, 8),
        np.array(builder.inputs, np.int64).reshape(-1, 4),
        np.array([[int(x) for x in t] for t in builder.targets], np.int64),
        np.array(builder.formats, np.int64),
        last,
        widen,
    )


def _name(root: Round, setting: Accumulation) -> str:
    to = root.choice(setting.result.name)
    return setting.result.name if to.fmt == RESULT else to.fmt
