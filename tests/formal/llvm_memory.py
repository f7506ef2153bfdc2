"""Memory of compiled functions: places in arrays, and what stands there; vectors, element by element."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from softfloat_ref.symbolic.build import bare, eq, extract, make, not_, or_, selected, zext
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import FALSE, Term, const

from . import llvm_integers
from .llvm_integers import Bits
from .llvm_source import WORD, Pointer, width_of

_APART: Final = 40  # bits of an address within an array


def no_place() -> Any:
    """Raises Unsupported."""
    raise Unsupported("a store, or a single value, at a symbolic place")


def is_vector(x: Any) -> bool:
    """Whether a value has elements."""
    return isinstance(x, tuple) and not isinstance(x, (Bits, Pointer))


def each(of: Callable[..., Any], *operands: Any) -> Any:
    """Of vectors, element by element; what is none counts for each."""
    lengths = {len(x) for x in operands if is_vector(x)}
    if not lengths:
        return of(*operands)
    (count,) = lengths
    return tuple(of(*(x[k] if is_vector(x) else x for x in operands)) for k in range(count))


def size(kind: str) -> int:
    """The bytes of a type."""
    if kind in ("ptr", "double"):
        return WORD // 8
    return 4 if kind == "float" else (width_of(kind) + 7) // 8


def stepped_over(text: str) -> tuple[bool, str]:
    """Whether a getelementptr promises that it does not overflow, and the type that it steps over."""
    words = text.split(",")[0].split()
    promises = [w for w in words if w in ("inbounds", "nuw", "nusw")]
    return bool(promises), " ".join(words[len(promises) :])


def offset(kind: str, indices: Sequence[Term]) -> tuple[Term, Term]:
    """The bytes that an index steps over, and whether they overflow."""
    if all(x.is_const and x.value == 0 for x in indices):
        return const(0, WORD), FALSE
    if (array := re.fullmatch(r"\[\d+ x (i\d+)\]", kind)) and len(indices) > 1 and indices[0] is const(0, WORD):
        kind, indices = array[1], indices[1:]
    if len(indices) != 1:
        raise Unsupported("an address with several indices")
    index = indices[0]
    wide = index if index.width == WORD else make("sext", WORD, index)
    step = size(kind)
    product = llvm_integers.multiple(wide, step)
    by = const(step.bit_length() - 1, WORD)
    return product, FALSE if bare(product).width < WORD else not_(eq(make("ashr", WORD, product, by), wide))


def put(room: dict[int, Any], at: int, values: Sequence[Any]) -> None:
    """Store single values, or the elements of a vector. Raises Unsupported if they stand in a part of others."""
    for value in values:
        width = _bytes(value)
        for other in range(at - WORD // 8 + 1, at + width):
            if other != at and other in room and other + _bytes(room[other]) > at:
                raise Unsupported("a value in a part of another")
        room[at] = value
        at += width


def copied(room: Mapping[int, Any], to: int, values: Mapping[int, Any], start: int, size: int) -> dict[int, Any]:
    """A room with other values in so many bytes. Raises Unsupported for a part of a value, or bytes without one."""
    moved = {to + at - start: x for at, x in values.items() if start <= at < start + size}
    if sum(map(_bytes, moved.values())) != size:
        raise Unsupported("a copy of values in parts")
    new = dict(room)
    for at, x in moved.items():
        put(new, at, (x,))
    return new


def _bytes(value: Any) -> int:
    return (value.term.width + 7) // 8 if isinstance(value, Bits) else WORD // 8


def chosen(cells: Sequence[Term], index: Term) -> Term:
    """The cell at an index; of constants, with the bits that one of those in reach needs."""
    width = cells[0].width
    if not all(c.is_const for c in cells):
        return selected(cells, index)
    if index.op == "concat" and index.args[1].is_const:
        index, low = index.args
        cells = cells[low.value :: 1 << low.width]
    needed = max(max(c.value.bit_length() for c in cells), 1)
    return zext(selected([const(c.value, needed) for c in cells], index), width)


def index(at: Term, content: Sequence[Bits], width: int) -> tuple[Term, Term]:
    """The number of an element at an address, and whether there is none."""
    if not content or content[0].term.width != width:
        raise Unsupported("an element of another width")
    shift, count = (width // 8).bit_length() - 1, len(content)
    index = llvm_integers.lowered(at, shift)
    broken = not_(make("ult", 1, index, const(count, WORD)))
    if shift:
        broken = or_(broken, not_(eq(extract(at, shift - 1, 0), const(0, shift))))
    if index.is_const:
        return index, broken
    needed = max((count - 1).bit_length(), 1)
    short = bare(index)
    return short if short.width <= needed else extract(index, needed - 1, 0), broken


def address(place: Pointer) -> Bits:
    """The number of a place: arrays follow one another, far apart."""
    first = const(0 if place.array is None else (place.array + 1) << _APART, WORD)
    return Bits(make("add", WORD, first, place.at))
