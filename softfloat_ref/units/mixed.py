"""Units that do several operations, in several formats and roundings, selected by control fields on every line.

Operands and results have the width of the widest; narrower ones are padded. Padding `box` is RISC-V's
NaN-boxing: ones above a float (an operand that has anything else there is the canonical NaN), the sign above a signed
integer, zeros above the rest; above integers in `sign_extend`, their top bit, as RV64 extends words. Padding `zeros` is
zeros above everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error, Undefined, unknown
from softfloat_ref.base.numbers import settle
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import NanRule
from softfloat_ref.oracle.steps import PLAIN, Do, step
from softfloat_ref.units.operation import OperationUnit
from softfloat_ref.units.selection import SelectionUnit, code_bits
from softfloat_ref.units.unit import FLAGS, LETTERS, Field, Line, Unit, random_words

PADDINGS: Final = ("box", "zeros")
MAX_WIDTH: Final = 1024


@step("unpad", "code")
def unpad(code: int, fmt: Format, unit: MixedUnit, part: OperationUnit, checked: bool) -> int | None:
    """The operand that a padded code stands for; None if the unit has no such code."""
    return unit.unpadded(code, fmt, part, checked)


@step("pad", "code")
def pad(code: int, own: Field, unit: MixedUnit) -> int:
    """A part's result as wide as the unit's."""
    return code if own.fmt is None else unit.padded(code, own.fmt, unit.results[0].width)


@dataclass(frozen=True)
class MixedUnit(SelectionUnit):
    """Several operations as one unit.

    width: of registers wider than any format. places: for each operation, the fields its operands go to where that is
    not a, b, c: "bc" for an adder of b and c. sign_extend: unsigned integers that are extended by their top bit.
    """

    kind: ClassVar[str] = "mixed"
    op: ClassVar[str] = "mixed"

    operations: tuple[OperationUnit, ...]
    padding: str = "box"
    width: int = 0
    places: tuple[str, ...] = ()
    sign_extend: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.operations) < 2:
            raise Error("a mixed set needs at least two parts")
        if self.padding not in PADDINGS:
            raise unknown("padding", self.padding, PADDINGS)
        self._check_sign_extend()
        settle(self, "width")
        if not 0 <= self.width <= MAX_WIDTH:
            raise Error(f"width = {self.width}: registers have up to {MAX_WIDTH} bits")
        if len(self.places) not in (0, len(self.operations)):
            raise Error(f"{len(self.places)} places for {len(self.operations)} parts")
        for part, place in zip(self.operations, self.places, strict=False):
            if place and (not len(place) == len(part.formats) == len(set(place)) or set(place) - set(LETTERS)):
                raise Error(
                    f"place = {place!r}: {part.op} has {len(part.formats)} operands, each named by a letter from a"
                )
        if len(self.by_codes) < len(self.operations):
            raise Error("two parts have the same op, formats, rounding and overflow; a line must tell them apart")

    def _check_sign_extend(self) -> None:
        integers = {f.name for p in self.operations for f in (*p.formats, p.out) if not f.exponent_bits}
        for name in self.sign_extend:
            if name not in integers:
                raise Error(f"sign_extend: {name!r} is not an integer of these parts ({', '.join(sorted(integers))})")
        if self.sign_extend and self.padding != "box":
            raise Error(f'sign_extend needs padding = "box", not {self.padding!r}')

    @property
    def parts(self) -> tuple[Unit, ...]:
        return self.operations

    @cached_property
    def part_names(self) -> dict[OperationUnit, str]:
        """A name for each part: its operation, formats and rounding, and its overflow rule where only that tells two
        parts apart."""
        names = [p.name for p in self.operations]
        return {
            p: p.name if names.count(p.name) == 1 else f"{p.name}_{p.properties()['overflow']}" for p in self.operations
        }

    @cached_property
    def name(self) -> str:
        ops = dict.fromkeys(p.op for p in self.operations)
        return f"mixed_{'_'.join(ops)}" if len(ops) <= 4 else f"mixed_{len(ops)}_operations"

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        arity = 1 + max(max(places) for places in self._places.values())
        out = max(self.width, *(p.out.width for p in self.operations))
        return (
            *(Field(k, "control", code_bits(names), codes=names) for k, names in self.controls.items()),
            *(Field(LETTERS[i], "operand", self.operand_bits, padding=self.padding) for i in range(arity)),
            *random_words(max(p.policy.random_count for p in self.operations)),
            Field("result", "result", out, padding=self.padding),
            FLAGS,
        )

    @cached_property
    def operand_bits(self) -> int:
        """The width of every operand."""
        return max(self.width, *(f.width for p in self.operations for f in p.formats))

    @cached_property
    def controls(self) -> dict[str, tuple[str, ...]]:
        """The control fields and the names that their codes stand for, in order of appearance."""
        table = [p.properties() for p in self.operations]
        other = [f"fmt_{x}" for x in LETTERS if any(t.get(f"fmt_{x}", t["fmt"]) != t["fmt"] for t in table)]
        names = ["op", "fmt", *other, "out", "rounding"]
        names += ["overflow"] if len({t["overflow"] for t in table}) > 1 else []
        return {k: tuple(dict.fromkeys(t.get(k, "-") for t in table)) for k in names}

    def used(self, part: Unit) -> frozenset[str]:
        assert isinstance(part, OperationUnit)
        random = {"r"} if part.policy.random_count else set()
        return frozenset({*self.place(part), *random})

    def place(self, part: OperationUnit) -> list[str]:
        """The fields of a part's operands, in order."""
        return [LETTERS[i] for i in self._places[self.codes(part)]]

    def codes(self, part: OperationUnit) -> Line:
        """The control fields of a part."""
        properties = part.properties()
        return tuple(names.index(properties.get(k, "-")) for k, names in self.controls.items())

    @cached_property
    def _places(self) -> dict[Line, Line]:
        """Where the operands of each part go."""
        places = self.places or ("",) * len(self.operations)
        return {
            self.codes(p): tuple(LETTERS.index(x) for x in place or LETTERS[: len(p.formats)])
            for p, place in zip(self.operations, places, strict=True)
        }

    @cached_property
    def _arity(self) -> int:
        return sum(f.role == "operand" for f in self.fields)

    def assembled(self, part: OperationUnit, own: Sequence[int]) -> Line:
        codes, arity = self.codes(part), len(part.formats)
        placed = [0] * self._arity
        for place, code in zip(self._places[codes], own, strict=False):
            placed[place] = code
        return (*codes, *placed, *(own[arity:] or (0,) * (self.random_field is not None)))

    def padded(self, code: int, fmt: Format, width: int) -> int:
        """A code padded to a field of that many bits."""
        above = (1 << width) - (1 << fmt.width)
        if self.padding == "zeros":
            return code
        if not fmt.exponent_bits and not (fmt.signed or fmt.name in self.sign_extend):
            return code
        return code | above if fmt.exponent_bits or code >> (fmt.width - 1) else code

    def given_out(self, do: Do, part: Unit, outputs: Sequence[int]) -> Sequence[int]:
        code, flags = outputs
        return do(pad, code, part.results[0], self), flags

    def selected(self, inputs: Sequence[int]) -> tuple[OperationUnit, Line]:
        return self.selected_by(PLAIN, inputs)

    def unchecked(self, inputs: Sequence[int]) -> Line:
        """The inputs of the selected part for a device that does not check whether its operands are boxed."""
        return self.selected_by(PLAIN, inputs, checked=False)[1]

    def selected_by(self, do: Do, inputs: Sequence[int], checked: bool = True) -> tuple[OperationUnit, Line]:
        """The part, and its operands and random word. checked: whether an operand that is not boxed is a NaN."""
        n, codes = len(self.controls), tuple(inputs[: len(self.controls)])
        part = self.by_codes.get(codes)
        if part is None:
            raise Undefined("control fields of no part")
        padded, random = inputs[n : n + self._arity], inputs[n + self._arity :]
        used = self._places[codes]
        operands = [
            do.at(LETTERS[i])(unpad, padded[i], f, self, part, checked) for i, f in zip(used, part.formats, strict=True)
        ]
        known = [x for x in operands if x is not None]
        bits = part.policy.random_count
        unused = [x for i, x in enumerate(padded) if i not in used]
        if len(known) < len(used) or any(unused) or any(r >> bits for r in random):
            raise Undefined("no inputs of this set")
        return part, (*known, *(random if bits else ()))

    def unpadded(self, code: int, fmt: Format, part: OperationUnit, checked: bool = True) -> int | None:
        """The operand that a padded code stands for; None if the set has no such code. checked: as of a device that
        checks boxes."""
        above, low = code >> fmt.width, code & ((1 << fmt.width) - 1)
        if self.padding == "zeros":
            return None if above else low
        if not checked or not fmt.exponent_bits or above == (1 << (self.operand_bits - fmt.width)) - 1:
            return low
        return NanRule.parse(part.policy.nan).code(fmt) if fmt.has_nan else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "padding": self.padding,
            "width": self.width,
            "places": list(self.places),
            **({"sign_extend": list(self.sign_extend)} if self.sign_extend else {}),
            "parts": [p.to_dict() for p in self.operations],
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> MixedUnit:
        try:
            return MixedUnit(
                tuple(OperationUnit.from_dict(p) for p in table["parts"]),
                str(table["padding"]),
                int(table["width"]),
                tuple(str(x) for x in table["places"]),
                tuple(str(x) for x in table.get("sign_extend", ())),
            )
        except (ValueError, OverflowError) as e:
            if isinstance(e, Error):
                raise
            raise Error(f"the set's definition is incomplete or wrong: {e}") from None
