"""Approximations of functions as circuits compute them: segments, a table of coefficients, a polynomial in integers.

A code without its sign is a magnitude code. Below `first` and from `after` on, the result is the operand or a constant;
between, an address chooses a row of the table and a distance d along its segment. The polynomial of the row's
coefficients is computed in integers (`horner`), whose low bits are cut where the definition says; its value, a
multiple of a power of two, is rounded once (approximation_steps.py). Every step is defined by the table, so that a
manifest holds it all.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final, Literal, TypeVar

from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.base.tables import Range, check_choices, choices, from_table, load_definition, to_toml
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.formats import Format, define_format, get_format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.rounding_steps import Destination, destination

Symmetry = Literal["none", "odd", "even", "complement"]
Address = Literal["code", "value"]
Bits = Annotated[int, Range(0, 52)]
Integer = TypeVar("Integer", bound=Any)  # an int, or an array of them

OPERAND: Final = "operand"
SHARES: Final = {OPERAND: 0, "half": -1}  # words for the operand, multiplied by a power of two
MOST_ROWS: Final = 1 << 16
_WIDEST: Final = 32  # bits of operand and result
# So that float64 holds every operand, half of it, every sum and its multiple by a power of two:
_MOST_BITS: Final = 53
_FP64_LOWEST: Final = -1074
_FP64_LAST: Final = 1023


def horner(coefficients: Sequence[Integer], d: Integer, cuts: Sequence[int]) -> Integer:
    """The polynomial at d. cuts: the low bits dropped from the product that each coefficient is added to."""
    total = coefficients[-1]
    for c, cut in zip(coefficients[-2::-1], cuts[::-1], strict=True):
        total = (total * d >> cut) + c
    return total


def check_name(name: str) -> None:
    """Raise Error for a name that a file or a module cannot have."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", name):
        raise Error(f"approximation {name[:80]!r}: a name has 1 to 64 letters, digits and _, a letter first")


@dataclass(frozen=True)
class Part:
    """The operands of one sign, or of both where a symmetry gives the other.

    first, after: magnitude codes between which the table holds. small, large: the result below and above: "operand",
    "half" (of the operand), or a code in hexadecimal. exponents: of two, by which the polynomials are multiplied: one
    for each row, or one for all.
    rows: the coefficients of each segment, the constant first.
    """

    first: Annotated[int, Range(0)]
    after: Annotated[int, Range(0)]
    small: str
    large: str
    exponents: tuple[Annotated[int, Range(_FP64_LOWEST, _FP64_LAST + 1 - _MOST_BITS)], ...]
    rows: tuple[tuple[int, ...], ...]

    def exponent(self, row: int) -> int:
        """The exponent of a row."""
        return self.exponents[row if len(self.exponents) > 1 else 0]


@dataclass(frozen=True)
class Approximation:
    """An approximation from its format to another.

    function: the operation that it approximates, which measures it. symmetry: f(-x) is -f(x) (odd), f(x) (even), 1 -
    f(x) (complement), or has a table of its own. address: "code", the magnitude code, so that segments are equal parts
    of a binade; or "value", the magnitude in units of 2^-unit, cut to an integer, for segments of equal width. shift:
    the address's bits below the segment, which are d. widths: bits of each coefficient, in two's complement. cuts: bits
    dropped from each product before the coefficient of that place is added. nan: the result for NaN.
    """

    name: str
    function: str
    fmt: Format
    out: Format
    shift: Bits
    widths: tuple[Annotated[int, Range(1, 40)], ...]
    cuts: tuple[Bits, ...]
    positive: Part
    negative: Part | None = None
    symmetry: Symmetry = "none"
    address: Address = "code"
    unit: Bits = 0
    rounding: str = "rne"
    overflow: str = ""
    nan: str = ""

    def __post_init__(self) -> None:
        check_name(self.name)
        where = f"approximation {self.name}"
        check_choices(self, where, choices(Approximation))
        fmt, own = self.fmt, self.negative is not None
        refuse(
            where,
            ("fmt and out are floating-point formats of at most 32 bits", not all(map(_fits, (fmt, self.out)))),
            ("float64 does not hold every value of fmt and out", not all(map(_within_float64, (fmt, self.out)))),
            ("widths holds 1 to 4 numbers of bits, a constant first", not 1 <= len(self.widths) <= 4),
            ("cuts must have one number fewer than widths", len(self.cuts) != len(self.widths) - 1),
            ("symmetry = none needs a part `negative` if fmt has a sign", self._lacks_negative()),
            ("a symmetry, or an unsigned fmt, gives the part `negative`", own and not self._needs_negative),
            ("a symmetry needs a fmt with a sign", self.symmetry != "none" and not fmt.signed),
            ("symmetry = odd needs an out with a sign", self.symmetry == "odd" and not self.out.signed),
            (f"a sum or product has more than {_MOST_BITS} bits", self.most_bits > _MOST_BITS),
            ("unit is for address = value", self.address == "code" and self.unit != 0),
            ("stochastic rounding has no random bits here", self.policy.rounding.stochastic),
            ("a format without NaN needs nan = CODE", not self.out.has_nan and fmt.has_nan and not self.nan),
        )
        for sign, part in enumerate(self.parts):
            self._check_part(part, f"{where}, {'negative' if sign else 'positive'}")
        self._code(self.nan or "0", f"{where}: nan")

    def _bits(self) -> Iterator[int]:
        """An upper bound for the bits of each sum and product of the polynomial, signs included."""
        most = self.widths[-1]
        yield most
        for width, cut in zip(self.widths[-2::-1], self.cuts[::-1], strict=False):
            yield most + self.shift
            most = max(most + self.shift - cut, width) + 1
            yield most

    @property
    def _needs_negative(self) -> bool:
        return self.symmetry == "none" and self.fmt.signed

    def _lacks_negative(self) -> bool:
        return self._needs_negative and self.negative is None

    def _check_part(self, part: Part, where: str) -> None:
        last = self.fmt.max_code + 1
        refuse(where, (f"first <= after <= {last}, a magnitude code", not part.first <= part.after <= last))
        count = self.row(part.after - 1) - self.row(part.first) + 1 if part.first < part.after else 0
        wide = [w for row in part.rows for w, c in zip(self.widths, row, strict=False) if not -1 << w <= 2 * c < 1 << w]
        refuse(
            where,
            (f"{count} segments, of at most {MOST_ROWS}", count > MOST_ROWS),
            (f"large = {part.large} has no complement", self.symmetry == "complement" and part.large in SHARES),
            (f"{len(part.rows)} rows, but {count} segments", len(part.rows) != count),
            ("each row has a coefficient for each of widths", any(len(r) != len(self.widths) for r in part.rows)),
            (f"a coefficient does not fit {wide[0] if wide else 0} bits", bool(wide)),
            ("exponents: give one, or one for each row", len(part.exponents) not in (1, count)),
        )
        for text in (part.small, part.large):
            if text not in SHARES:
                beyond = decoder(self.out)(self._code(text, where)).kind != FINITE
                refuse(where, (f"{text} has no complement", self.symmetry == "complement" and beyond))

    def _code(self, text: str, where: str) -> int:
        if not re.fullmatch(r"(0[xX])?[0-9a-fA-F]{1,8}", text) or int(text, 16) >> self.out.width:
            raise Error(f"{where}: {text[:20]!r} is neither {' nor '.join(SHARES)} nor a code of {self.out.name}")
        return int(text, 16)

    # -- what follows from the fields ----------------------------------------------------------------------------------

    @cached_property
    def policy(self) -> Policy:
        """The rounding of the result."""
        return get_policy(rounding=self.rounding, overflow=self.overflow or None)

    @cached_property
    def destination(self) -> Destination:
        """Where its values are rounded to."""
        return destination(self.out, self.policy)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The tables: of positive operands, then of negative ones."""
        return (self.positive,) if self.negative is None else (self.positive, self.negative)

    @cached_property
    def nan_code(self) -> int:
        """The result for NaN."""
        return int(self.nan, 16) if self.nan else self.out.canonical_nan if self.out.has_nan else 0

    @cached_property
    def most_bits(self) -> int:
        """An upper bound for the bits of any sum or product, sign included."""
        return max(self._bits())

    @property
    def degree(self) -> int:
        """The degree of the polynomials."""
        return len(self.cuts)

    @cached_property
    def table_bits(self) -> int:
        """The bits of the tables: coefficients, and exponents where rows have their own."""
        spans = [max(p.exponents) - min(p.exponents) for p in self.parts]
        return sum(len(p.rows) * (sum(self.widths) + s.bit_length()) for p, s in zip(self.parts, spans, strict=True))

    def steps(self, magnitude: int) -> int:
        """The address of a magnitude code."""
        if self.address == "code":
            return magnitude
        significand, exponent = self.fmt.magnitude(magnitude)
        up = exponent + self.unit
        return significand << up if up >= 0 else significand >> -up

    def row(self, magnitude: int) -> int:
        """The number of a magnitude code's segment, before that of `first` is subtracted."""
        return self.steps(magnitude) >> self.shift

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as a manifest stores it."""
        return {f.name: _stored(getattr(self, f.name)) for f in dataclasses.fields(self)}


def _stored(value: Any) -> Any:
    """A field as plain data."""
    if isinstance(value, Format):
        return value.to_dict()
    return _plain(dataclasses.asdict(value) if isinstance(value, Part) else value)


def _plain(value: Any) -> Any:
    """Tuples as lists, at any depth."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(x) for x in value] if isinstance(value, tuple) else value


def _fits(fmt: Format) -> bool:
    return fmt.exponent_bits > 0 and fmt.zero and fmt.width <= _WIDEST and fmt.subnormals == "gradual"


def _within_float64(fmt: Format) -> bool:
    return fmt.emin - fmt.mantissa_bits > _FP64_LOWEST and fmt.emax <= _FP64_LAST


def get_approximation(definition: str | Approximation | Mapping[str, Any]) -> Approximation:
    """An approximation from `FILE.toml[:NAME]` or a table of fields; one that is made is returned. Raises Error."""
    if isinstance(definition, Approximation):
        return definition
    if isinstance(definition, str):
        return load_definition(definition, "approximations", define_approximation)
    return define_approximation(definition)


def define_approximation(table: Mapping[str, Any], name: str = "") -> Approximation:
    """An approximation from a table of its fields; formats are names or tables."""
    values = {k: v for k, v in table.items() if v is not None}
    for key in ("fmt", "out"):
        if key in values:
            values[key] = define_format(values[key]) if isinstance(values[key], Mapping) else get_format(values[key])
    if isinstance(values.get("negative"), Mapping):
        values["negative"] = from_table(Part, values["negative"], f"approximation {name or '?'}: negative")
    return from_table(Approximation, {"name": name, **values} if name else values, f"approximation {name or '?'}")


def to_text(a: Approximation) -> str:
    """The definition as a TOML file: without defaults, formats of the catalogue by name, a row a line."""
    fields = [f.name for f in dataclasses.fields(a) if f.name != "name" and getattr(a, f.name) != f.default]
    table = {name: _stored(getattr(a, name)) for name in fields}
    table |= {k: getattr(a, k).name for k in ("fmt", "out") if _is_known(getattr(a, k))}
    parts = {k: table.pop(k) for k in ("positive", "negative") if k in table}
    table = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}  # an empty list would be left out
    lines = [f"[approximations.{a.name}]", *to_toml(table).splitlines()]
    for name, part in parts.items():
        rows, codes = part.pop("rows"), [f"{k} = 0x{part.pop(k):0{a.fmt.digits}x}" for k in ("first", "after")]
        lines += ["", f"[approximations.{a.name}.{name}]", *codes, *to_toml(part).splitlines(), "rows = ["]
        lines += [*(f"    {row}," for row in rows), "]"]
    return "\n".join(lines) + "\n"


def _is_known(fmt: Format) -> bool:
    try:
        return get_format(fmt.name) == fmt
    except Error:
        return False
