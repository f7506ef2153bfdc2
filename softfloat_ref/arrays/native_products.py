"""Matrix products on units whose every step is one operation of IEEE 754 in FP32 or FP64, rounded to nearest even: by
the processor's additions and multiplications, which are the same.

A product of two numbers that the format holds, rounded to it, is a multiplication; the exact sum of two, rounded, an
addition. Where the tree has anything else, the products are not native. NaNs are replaced afterwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.kernels.dispatch import read_only
from softfloat_ref.oracle.accumulate.dots import Accumulation
from softfloat_ref.oracle.accumulate.terms import holds
from softfloat_ref.oracle.accumulate.trees import Chain, Fuse, Node, Pairs, Products, Round, Running, walk
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format

Floats = NDArray[np.floating[Any]]
_NATIVE: Final[dict[Format, np.dtype[Any]]] = {
    CATALOGUE["fp32"]: np.dtype(np.float32),
    CATALOGUE["fp64"]: np.dtype(np.float64),
}


class NotNative(Exception):
    """Raised for a tree with another operation than a product or a sum of two."""


def native_type(s: Accumulation) -> np.dtype[Any] | None:
    """The type in which numpy computes like the unit, for operands without scales; None if it does not."""
    unit, dtype = s.accumulator, _NATIVE.get(s.result)
    plain = unit.flush_inputs == unit.flush_outputs == "off" and unit.zero == "ieee" and unit.product_limit == ""
    if dtype is None or not plain or unit.product_exponent or s.c != s.result or convert.flushes_subnormals():
        return None
    roundings = [x.choice(s.result.name) for x in walk(unit.root) if isinstance(x, Round)]
    same = all(to.rounding == "rne" and to.kept is None and _format(to.fmt, s) == s.result for to in roundings)
    return dtype if same and all(holds(s.result, x) for x in s.formats) else None


def _format(name: str, s: Accumulation) -> Format:
    return s.result if name == "out" else get_format(name)


def multiply(s: Accumulation, a: Floats, b: Floats, c: Floats) -> Floats:
    """c + the products of rows of a (rows, k) and columns of b (k, columns), in the type of all of them. Raises
    NotNative."""
    size = s.accumulator.step_for(s.formats, s.result, s.block, a.shape[1])
    code = program_of(s.accumulator.root, size)
    from softfloat_ref.arrays.kernels.native_loops import native_products

    out = c.copy()
    native_products(code, 1 + int(code[:, 0].max()), read_only(a), read_only(b), size, out)
    return out


class Instruction(NamedTuple):
    """A sum of two slots, or, the second being -1, the product at a place of the step; +0 at a place that it lacks."""

    out: int
    first: int
    second: int = -1


RUNNING: Final = 0  # the slot of the running results, which the last instruction replaces


# -- from a tree -------------------------------------------------------------------------------------------------------

Sum = tuple[Any, Any]  # of two of: a Sum, the place of a product, None for the running result


@lru_cache(maxsize=64)
def program_of(root: Round, size: int) -> NDArray[np.int64]:
    """The instructions of a step of that many products, a row each. Raises NotNative."""
    (total,) = _rounded(root, size)
    code: list[Instruction] = []
    _emit(total, [], itertools.count(1), code)
    return np.array([*code[:-1], code[-1]._replace(out=RUNNING)], np.int64)


def _emit(x: Any, free: list[int], fresh: Iterator[int], code: list[Instruction]) -> int:
    """The instructions that compute a value; returns its slot. A sum takes the place of one of its terms."""
    later = []
    while isinstance(x, tuple):  # not a call for each, since a chain may be long
        x, second = x
        later.append(second)
    slot = RUNNING
    if x is not None:
        slot = free.pop() if free else next(fresh)
        code.append(Instruction(slot, x))
    for second in reversed(later):
        other = _emit(second, free, fresh, code)
        out, *unused = [n for n in (slot, other) if n != RUNNING] or [free.pop() if free else next(fresh)]
        code.append(Instruction(out, slot, other))
        free += unused
        slot = out
    return slot


def _rounded(node: Round, size: int) -> list[Any]:
    """The values of a rounding."""
    inner = node.node
    match inner:
        case Products():
            return [*inner.positions(size)]
        case Chain() | Pairs():
            terms = _terms(inner.parts, size)
            return [reduce(_sum, terms) if isinstance(inner, Chain) else _pairs(terms)]
        case Fuse() if inner.bits is None and all(part.bits is None for part in inner.parts):
            terms = _terms([part.node for part in inner.parts], size)
            if len(terms) == 2:
                return [_sum(*terms)]
    raise NotNative


def _terms(nodes: Sequence[Node], size: int) -> list[Any]:
    """The values of nodes, which the format holds."""
    terms: list[Any] = []
    for node in nodes:
        match node:
            case Running():
                terms.append(None)
            case Round():
                terms += _rounded(node, size)
            case _:
                raise NotNative
    if not terms:
        raise NotNative
    return terms


def _sum(x: Any, y: Any) -> Sum:
    return x, y


def _pairs(terms: list[Any]) -> Any:
    while len(terms) > 1:
        odd = terms[-1:] if len(terms) % 2 else []
        terms = [_sum(x, y) for x, y in zip(terms[::2], terms[1::2], strict=False)] + odd
    return terms[0]
