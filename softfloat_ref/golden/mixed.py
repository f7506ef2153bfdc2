"""Mixed sets: vectors of several operations, formats and roundings, interleaved, with control fields on every line.

As a unit with several formats sees them: operands and results have the width of the widest, and what is narrower is
padded. Padding `box` is RISC-V's NaN-boxing: ones above a float (an operand that has anything else there is the
canonical NaN), the sign above a signed integer, zeros above the rest; above integers in `sign_extend`, their top bit,
as RV64 extends words. Padding `zeros` is zeros above everything.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from softfloat_ref.errors import Error, unknown
from softfloat_ref.formats import Format
from softfloat_ref.golden.cases import GENERATOR
from softfloat_ref.golden.intermediate import plain
from softfloat_ref.golden.sets import FLAG_BITS, Field, Line, Vectors, VectorSet
from softfloat_ref.ops import get_operation
from softfloat_ref.policies import NanRule, get_policy, rounding_name
from softfloat_ref.sources import Philox

MIXED: Final = "mixed"
PADDINGS: Final = ("box", "zeros")
MAX_WIDTH: Final = 1024
_LETTERS: Final = "abcdefghi"
_ORDER_STREAM: Final = 2
_UNBOXED_STREAM: Final = 3
_CHUNK: Final = 1024


def controls(vectors: Vectors) -> list[dict[str, str]]:
    """What each part of a set is, by name: op, fmt (of operand a; fmt_b, fmt_c), out, rounding, overflow, width.

    A name that a part has nothing for, as fmt_c of an addition, is "-".
    """
    parts = vectors.parts if isinstance(vectors, MixedSet) else (plain(vectors),)
    table = [_properties(v) if isinstance(v, VectorSet) else _plain_properties(v) for v in parts]
    return [dict.fromkeys((k for t in table for k in t), "-") | t for t in table]


def _properties(part: VectorSet) -> dict[str, str]:
    formats, out = [f.name for f in part.formats], part.out.name
    if part.block:
        formats, out = ([part.block.name], out) if part.op == "dequantize" else (formats, part.block.name)
    overflow = "default" if part.policy.overflow is None else str(part.policy.overflow)
    return {
        "op": part.op,
        "fmt": formats[0],
        **{f"fmt_{_LETTERS[i]}": name for i, name in enumerate(formats) if i},
        "out": out,
        "rounding": rounding_name(part.policy.rounding),
        "overflow": overflow,
        "width": str(part.out.width),
    }


def _plain_properties(vectors: Vectors) -> dict[str, str]:
    """Of a set that is of one kind throughout, as dot products."""
    result = next(f for f in vectors.fields if f.name == "result")
    return {"op": str(vectors.to_dict()["op"]), "out": result.format, "width": str(result.width)}


@dataclass(frozen=True)
class MixedSet:
    """Several vector sets as one. Their counts and seeds are not used: the set's count is shared out evenly.

    unboxed: one line in so many has an operand that is not boxed (0: none). width: of registers wider than any format.
    places: for each part, the fields its operands go to where that is not a, b, c: "bc" for an adder of b and c.
    sign_extend: unsigned integers that are extended by their top bit.
    """

    parts: tuple[VectorSet, ...]
    count: int
    seed: int = 0
    padding: str = "box"
    unboxed: int = 0
    width: int = 0
    places: tuple[str, ...] = ()
    sign_extend: tuple[str, ...] = ()
    description: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise Error("a mixed set has at least two parts")
        if self.count < len(self.parts):
            raise Error(f"{self.count} vectors for {len(self.parts)} parts: each has at least one")
        if self.padding not in PADDINGS:
            raise unknown("padding", self.padding, PADDINGS)
        if self.unboxed < 0 or (self.unboxed and self.padding != "box"):
            raise Error(f'unboxed = {self.unboxed}: one line in so many, with padding = "box" only')
        self._check_sign_extend()
        if not 0 <= self.width <= MAX_WIDTH:
            raise Error(f"width = {self.width}: registers have up to {MAX_WIDTH} bits")
        for part in self.parts:
            if part.block is not None:
                raise Error(f"{part.op} of {part.block.name}: blocks cannot be mixed with other vectors")
        if len(self.places) not in (0, len(self.parts)):
            raise Error(f"{len(self.places)} places for {len(self.parts)} parts")
        for part, place in zip(self.parts, self.places, strict=False):
            if place and (not len(place) == len(part.formats) == len(set(place)) or set(place) - set(_LETTERS)):
                raise Error(
                    f"place = {place!r}: {part.op} has {len(part.formats)} operands, each with a letter from a on"
                )
        if len(self._by_codes) < len(self.parts):
            raise Error("two parts have the same op, formats, rounding and overflow; a line must tell them apart")

    def _check_sign_extend(self) -> None:
        integers = {f.name for p in self.parts for f in (*p.formats, p.out) if not f.exponent_bits}
        for name in self.sign_extend:
            if name not in integers:
                raise Error(f"sign_extend: {name!r} is no integer of these parts ({', '.join(sorted(integers))})")
        if self.sign_extend and self.padding != "box":
            raise Error(f'sign_extend goes with padding = "box", not {self.padding!r}')

    @cached_property
    def name(self) -> str:
        """A name for the files: the operations, or how many."""
        ops = dict.fromkeys(p.op for p in self.parts)
        return f"mixed_{'_'.join(ops)}" if len(ops) <= 4 else f"mixed_{len(ops)}_operations"

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields of a line: controls, operands, random bits, result, flags."""
        arity = 1 + max(max(self._places[self._codes(p)]) for p in self.parts)
        operand = max(self.width, *(f.width for p in self.parts for f in p.formats))
        n = max(p.policy.random_count for p in self.parts)
        return (
            *(Field(k, "control", _bits(names), codes=names) for k, names in self._controls.items()),
            *(Field(_LETTERS[i], "operand", operand, padding=self.padding) for i in range(arity)),
            *([Field("r", "random", n)] if n else []),
            Field("result", "result", max(self.width, *(p.out.width for p in self.parts)), padding=self.padding),
            Field("flags", "flags", FLAG_BITS),
        )

    @cached_property
    def _controls(self) -> dict[str, tuple[str, ...]]:
        """The control fields and the names that their codes stand for, in order of appearance."""
        table = [_properties(p) for p in self.parts]
        other = [f"fmt_{x}" for x in _LETTERS if any(t.get(f"fmt_{x}", t["fmt"]) != t["fmt"] for t in table)]
        names = ["op", "fmt", *other, "out", "rounding"]
        names += ["overflow"] if len({t["overflow"] for t in table}) > 1 else []
        return {k: tuple(dict.fromkeys(t.get(k, "-") for t in table)) for k in names}

    def _codes(self, part: VectorSet) -> Line:
        properties = _properties(part)
        return tuple(names.index(properties.get(k, "-")) for k, names in self._controls.items())

    @cached_property
    def _by_codes(self) -> dict[Line, VectorSet]:
        return {self._codes(p): p for p in self.parts}

    @cached_property
    def _places(self) -> dict[Line, Line]:
        """Where the operands of each part go."""
        given = self.places or ("",) * len(self.parts)
        return {
            self._codes(p): tuple(_LETTERS.index(x) for x in place or _LETTERS[: len(p.formats)])
            for p, place in zip(self.parts, given, strict=True)
        }

    # -- lines -----------------------------------------------------------------------------------------------------

    def inputs(self) -> Iterator[Line]:
        """Control fields, padded operands and random words of each line, the parts interleaved.

        Raises Error where a part has no case with a defined result: its lines would all be left out.
        """
        self._refuse_empty_parts()
        return self._inputs()

    def _refuse_empty_parts(self) -> None:
        n = len(self._controls)
        missing = dict(self._by_codes)
        for inputs in self._inputs():
            if inputs[:n] in missing and self.line(inputs) is not None:
                del missing[inputs[:n]]
                if not missing:
                    return
        part = _properties(next(iter(missing.values())))
        shown = " ".join(part[k] for k in self._controls if k in part)
        raise Error(f"the part {shown} has no case with a defined result; give a larger count, or another policy")

    def _inputs(self) -> Iterator[Line]:
        word_of = _words(Philox(self.seed, _UNBOXED_STREAM))
        for part, inputs in self._interleaved():
            arity, codes = len(part.formats), self._codes(part)
            padded = [self._padded(x, f, self._width) for x, f in zip(inputs, part.formats, strict=False)]
            self._unbox_one(padded, part, next(word_of) if self.unboxed else 1)
            operands = [0] * self._arity
            for place, code in zip(self._places[codes], padded, strict=True):
                operands[place] = code
            yield (*codes, *operands, *(inputs[arity:] or (0,) * self._random))

    def _interleaved(self) -> Iterator[tuple[VectorSet, Line]]:
        """One case of each part in turn, in another order each time; the order depends on the seed and the turn."""
        size, extra = divmod(self.count, len(self.parts))
        streams = [
            (p, dataclasses.replace(p, count=size + (i < extra), seed=self.seed + i).inputs())
            for i, p in enumerate(self.parts)
        ]
        word_of = _words(Philox(self.seed, _ORDER_STREAM))
        for _ in range(size + (extra > 0)):
            for _, i in sorted((next(word_of), i) for i in range(len(streams))):
                part, stream = streams[i]
                inputs = next(stream, None)
                if inputs is not None:
                    yield part, inputs

    @cached_property
    def _arity(self) -> int:
        return sum(f.role == "operand" for f in self.fields)

    @cached_property
    def _width(self) -> int:
        return next(f.width for f in self.fields if f.role == "operand")

    @cached_property
    def _random(self) -> int:
        return sum(f.role == "random" for f in self.fields)

    def _padded(self, code: int, fmt: Format, width: int) -> int:
        above = (1 << width) - (1 << fmt.width)
        if self.padding == "zeros":
            return code
        if not fmt.exponent_bits and not (fmt.signed or fmt.name in self.sign_extend):
            return code
        return code | above if fmt.exponent_bits or code >> (fmt.width - 1) else code

    def _unbox_one(self, operands: list[int], part: VectorSet, word: int) -> None:
        """On one line in so many, spoil the upper bits of one narrower float: all zeros, or one bit of them."""
        narrower = [i for i, f in enumerate(part.formats) if f.exponent_bits and f.has_nan and f.width < self._width]
        if not narrower or not self.unboxed or (word & 0xFFFF) % self.unboxed:
            return
        i = narrower[(word >> 16) % len(narrower)]
        low, width = part.formats[i].width, self._width
        spoiled = 1 << (low + (word >> 32) % (width - low)) if word >> 63 else (1 << width) - (1 << low)
        operands[i] &= ~spoiled

    def line(self, inputs: Sequence[int]) -> Line | None:
        """Inputs with what must come out; None where that is not defined, or where they are no inputs of this set."""
        n, codes = len(self._controls), tuple(inputs[: len(self._controls)])
        part = self._by_codes.get(codes)
        if part is None:
            return None
        padded, random = inputs[n : n + self._arity], inputs[n + self._arity :]
        used = self._places[codes]
        operands = [self._unpadded(padded[i], f, part) for i, f in zip(used, part.formats, strict=True)]
        known = [x for x in operands if x is not None]
        bits = part.policy.random_count
        unused = [x for i, x in enumerate(padded) if i not in used]
        if len(known) < len(used) or any(unused) or any(r >> bits for r in random):
            return None
        line = part.line((*known, *(random if bits else ())))
        if line is None:
            return None
        return (*inputs, self._padded(line[-2], part.out, self.fields[-2].width), line[-1])

    def _unpadded(self, code: int, fmt: Format, part: VectorSet) -> int | None:
        """The operand that a padded code stands for."""
        above, low = code >> fmt.width, code & ((1 << fmt.width) - 1)
        if self.padding == "zeros":
            return None if above else low
        if not fmt.exponent_bits or above == (1 << (self._width - fmt.width)) - 1:
            return low
        return NanRule.parse(part.policy.nan).code(fmt) if fmt.has_nan else None

    # -- as stored in a manifest -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The full definition."""
        return {
            "op": MIXED,
            "count": self.count,
            "seed": self.seed,
            "generator": GENERATOR,
            "padding": self.padding,
            "unboxed": self.unboxed,
            "width": self.width,
            "places": list(self.places),
            **({"sign_extend": list(self.sign_extend)} if self.sign_extend else {}),
            "parts": [p.to_dict() for p in self.parts],
        }

    @staticmethod
    def from_dict(table: Mapping[str, Any]) -> MixedSet:
        """The set a manifest stores. Raises Error for one that this version cannot make."""
        try:
            parts = tuple(VectorSet.from_dict(p) for p in table["parts"])
            count, seed, unboxed, width = (int(table[k]) for k in ("count", "seed", "unboxed", "width"))
            places = tuple(str(x) for x in table["places"])
            extended = tuple(str(x) for x in table.get("sign_extend", ()))
            return MixedSet(parts, count, seed, str(table["padding"]), unboxed, width, places, extended)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as e:
            if isinstance(e, Error):
                raise
            raise Error(f"manifest: the set's definition is incomplete or wrong: {e}") from None


def _bits(names: Sequence[str]) -> int:
    return max(1, (len(names) - 1).bit_length())


def _words(source: Philox) -> Iterator[int]:
    position = 0
    while True:
        yield from source.words(position, _CHUNK)
        position += _CHUNK


# -- recipes ---------------------------------------------------------------------------------------------------------

_PART_KEYS: Final = {"op", "fmt", "out", "rounding", "place", "policy", "source"}
_SET_KEYS: Final = {"description", "count", "seed", "padding", "unboxed", "width", "sign_extend", "policy", "part"}


def from_recipe(table: Mapping[str, Any]) -> MixedSet:
    """The set of a recipe with [[part]] tables. A part's op and rounding may be lists: every one with every one."""
    for key in table:
        if key not in _SET_KEYS:
            raise unknown("key", key, _SET_KEYS)
    parts = table["part"]
    if not isinstance(parts, list) or not all(isinstance(p, dict) for p in parts):
        raise Error("[[part]] are tables, one for each operation and format")
    for name in ("count", "seed", "unboxed", "width"):
        if type(table.get(name, 0)) is not int:
            raise Error(f"{name} is an integer")
    seed = int(table.get("seed", 0))
    expanded = [list(_expanded(p, table.get("policy", {}), seed)) for p in parts]
    places = [str(p.get("place", "")) for p, found in zip(parts, expanded, strict=True) for _ in found]
    return MixedSet(
        tuple(v for found in expanded for v in found),
        int(table.get("count", 10_000)),
        seed,
        str(table.get("padding", "box")),
        int(table.get("unboxed", 0)),
        int(table.get("width", 0)),
        tuple(places) if any(places) else (),
        tuple(_several(table["sign_extend"], "sign_extend")) if "sign_extend" in table else (),
        str(table.get("description", "")),
    )


def _expanded(part: Mapping[str, Any], policy: object, seed: int) -> Iterator[VectorSet]:
    for key in part:
        if key not in _PART_KEYS:
            raise unknown("key", key, _PART_KEYS, " (in [[part]])")
    for key in ("op", "fmt"):
        if key not in part:
            raise Error(f"[[part]]: {key} missing")
    rules = part.get("policy", policy)
    for op in _several(part["op"]):
        get_operation(op)
        for mode in _several(part.get("rounding", "")):
            chosen = get_policy(rules, **({"rounding": mode} if mode else {}))
            out, source = part.get("out"), part.get("source")
            yield VectorSet.make(op, part["fmt"], 1, out=out, seed=seed, policy=chosen, source=source)


def _several(value: Any, where: str = "[[part]]") -> list[str]:
    found: list[str] = value if isinstance(value, list) else [value]
    if not found or not all(isinstance(v, str) for v in found):
        raise Error(f"{where}: {value!r} is neither a name nor a list of names")
    return found
