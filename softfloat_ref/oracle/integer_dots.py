"""Dot products of integers: exact products, added to an integer of any width in steps that wrap around or saturate.

A step adds its products and the running sum exactly, and fits the sum to the accumulator once, as x86's VPDPBUSD (wrap)
and VPDPBUSDS (saturate), Arm's SDOT, RISC-V's vqdot and NVIDIA's dp4a do with four products.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.flags import OVERFLOW
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.steps import PLAIN, Do, step


class Fit(StrEnum):
    """What a sum that does not fit the accumulator becomes."""

    WRAP = "wrap"
    SATURATE = "saturate"


class IntegerAccumulator(NamedTuple):
    """How sums are fitted, and how many products a step adds; 0: all."""

    fit: Fit = Fit.WRAP
    step: int = 0

    @property
    def text(self) -> str:
        return f"{self.fit}/{self.step}" if self.step else str(self.fit)


class IntegerSetting(NamedTuple):
    """A dot product of integers, except for the values."""

    a: Format
    b: Format
    c: Format
    accumulator: IntegerAccumulator


def parse_accumulator(text: str) -> IntegerAccumulator:
    """`wrap`, `saturate`, or one of them after every N products: `saturate/4`. Raises Error."""
    match = re.fullmatch(r"(wrap|saturate)(?:/([1-9][0-9]{0,3}))?", text.strip())
    if match is None:
        raise Error(
            f"accumulator {text[:60]!r} of integers: give wrap or saturate, or with the number of products that a step "
            "adds, such as saturate/4"
        )
    return IntegerAccumulator(Fit(match[1]), int(match[2] or 0))


def ends(fmt: Format) -> tuple[int, int]:
    """The smallest and the largest integer of a format."""
    return -fmt.sign_bit, (1 << fmt.width - 1 if fmt.signed else 1 << fmt.width) - 1


@step("integer operand", "integer")
def integer(code: int, fmt: Format) -> int:
    """The integer of a code."""
    return (code ^ fmt.sign_bit) - fmt.sign_bit


@step("start", "integer")
def started(clear: int, c: int) -> int:
    """The integer to which the first step adds: c, or 0 where the accumulator is cleared."""
    return c * (1 - clear)


@step("integer product", "integer")
def integer_product(x: int, y: int) -> int:
    """The exact product of two elements."""
    return x * y


@step("integer products", "integers")
def in_order(products: tuple[int, ...]) -> tuple[int, ...]:
    """The products in the order in which they are added."""
    return products


@step("step sum", "integer")
def step_sum(running: int, products: tuple[int, ...]) -> int:
    """The exact sum of a step."""
    total = running
    for x in products:
        total = total + x
    return total


@step("fitted sum", "integer")
def fitted(total: int, fmt: Format, fit: Fit) -> int:
    """The sum in the accumulator."""
    if fit == Fit.WRAP:
        return ((total & ((1 << fmt.width) - 1)) ^ fmt.sign_bit) - fmt.sign_bit
    low, high = ends(fmt)
    if total > high:
        return high
    return low if total < low else total


def products_of(s: IntegerSetting, a: Sequence[int], b: Sequence[int], do: Do = PLAIN) -> tuple[int, ...]:
    """The products of the elements, in order."""
    products = []
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        left, right = do.at("a", k)(integer, x, s.a), do.at("b", k)(integer, y, s.b)
        products.append(do.at("product", k)(integer_product, left, right))
    return do(in_order, tuple(products))


class Stage(NamedTuple):
    """A step: its exact sum, and that in the accumulator."""

    exact: int
    kept: int


def stages(s: IntegerSetting, products: tuple[int, ...], running: int, do: Do = PLAIN) -> list[Stage]:
    """The steps of a dot product. running: the integer to which the first one adds."""
    size, listed = s.accumulator.step or len(products), []
    for start in range(0, len(products), size):
        total = do(step_sum, running, products[start : start + size])
        running = do(fitted, total, s.c, s.accumulator.fit)
        listed.append(Stage(total, running))
    return listed


def accumulated(
    s: IntegerSetting, a: Sequence[int], b: Sequence[int], c: int, clear: int = 0, do: Do = PLAIN
) -> tuple[list[int], int]:
    """The code in the accumulator after each step, and the flags: overflow where a sum did not fit."""
    first = do(started, clear, do.at("c")(integer, c, s.c))
    listed, mask, flags = stages(s, products_of(s, a, b, do), first, do), (1 << s.c.width) - 1, 0
    for total, kept in listed:
        flags |= OVERFLOW if total != kept else 0
    return [kept & mask for _, kept in listed], flags
