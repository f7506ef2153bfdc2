"""The words of one column of a text as codes: digits of a base, plain or with a prefix, and the numbers of TestFloat.

A plain word does not say its base. Its length usually does: `%h` prints four digits of 16 bits and `%b` prints 16. What
remains is read as the column's earlier words were, or refused; a column that turns out to have another base than was
taken for it is refused, too. So digits of one base are never read as another's.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.units import Field

BASES: Final = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
_NAMES: Final = {"hex": "hexadecimal", "bin": "binary", "oct": "octal", "dec": "decimal"}
_UNKNOWN: Final = "xXzZuUwW"  # digits without a value, of SystemVerilog and VHDL
_MAX_DIGITS: Final = 80  # or as many as the field has bits
_LITERAL: Final = re.compile(rf"(\d{{1,5}})?'[sS]?([hHbBoOdD])([0-9a-fA-F{_UNKNOWN}?]+)", re.ASCII)
_VHDL: Final = re.compile(rf'(\d{{1,5}})?[uUsS]?([xXbBoOdD])"([0-9a-fA-F{_UNKNOWN}-]+)"', re.ASCII)
_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_PARTLY_HEX: Final = re.compile(rf"[0-9a-fA-F{_UNKNOWN}]+")
_PARTLY_BINARY: Final = re.compile(rf"[01{_UNKNOWN}]+")
BINARY_WITH_PREFIX: Final = re.compile(r"0[bB]([01xXzZ]+)")
_FLOAT: Final = re.compile(r"([+-])([0-9a-fA-F]+)\.([0-9a-fA-F]+)")
FLAG_LETTERS: Final = re.compile(r"[v.][i.][o.][u.][x.]")
_GROUPED: Final = re.compile(r"[0-9a-zA-Z\"'?-]+(?:_[0-9a-zA-Z\"'?-]+)+")
_BASE_OF: Final = {"h": "hex", "x": "hex", "b": "bin", "o": "oct", "d": "dec"}


class Unknown(NamedTuple):
    """A code some of whose bits are X or Z: those of the mask."""

    value: int
    mask: int


Code = int | Unknown


class Misread(Error):
    """A word or a line that is not one of codes."""


class NotACode(Misread):
    """A word that is not a code in any spelling."""


class AmbiguousDigits(Error):
    """Digits that more than one base can have."""


class Column:
    """The words of one field, of all its lanes, in the order in which they come.

    base: of all its plain digits, if it is known; has_option: whether the user can say it, by --base. Each word is a
    code, some of whose bits may be unknown.
    """

    def __init__(self, field: Field, base: str | None = None, has_option: bool = True) -> None:
        self.field, self.name = field, field.name
        self.width, self.digits = field.width, field.digits
        self.fixed, self.has_option = base, has_option
        self.base = ""  # that its plain digits have had so far: hex, bin; 0x or 0b, if only prefixed ones came
        self.above_one = False  # whether plain words had digits above 1, which binary ones do not have
        self.letters = False  # and above 9, which only hexadecimal ones have
        self.first = ""  # the word that `base` was taken from

    def code(self, word: str, prefix: str = "") -> Code:
        """The code of a word. prefix: 0x or 0b, if all words of its line begin with it; `0b, certainly` if some
        cannot be hexadecimal. Raises Misread, AmbiguousDigits."""
        if not word.isalnum():
            if (number := self._marked(word)) is not None:
                return number
            if not _GROUPED.fullmatch(word):
                raise NotACode(f"{word[:80]!r} is not a hexadecimal code")
            word = word.replace("_", "")
            if (number := self._marked(word)) is not None:
                return number
        if len(word) > max(_MAX_DIGITS, self.width + 2):
            raise NotACode(f"{word[:80]!r} is not a hexadecimal code")
        start = word[:2].lower()
        if start == "0x":
            return self._hex_with_prefix(word, prefix)
        if start == "0b" and (match := BINARY_WITH_PREFIX.fullmatch(word)) and not self._is_plain_hex(word, prefix):
            self.take("0b", word)
            return _value(match[1], "bin")
        return self._plain(word)

    # -- words that say their base --------------------------------------------------------------------------------

    def _marked(self, word: str) -> Code | None:
        """The code of a literal of SystemVerilog or VHDL, or of a number as TestFloat prints it; None for others."""
        if match := _LITERAL.fullmatch(word) or _VHDL.fullmatch(word):
            base = _BASE_OF[match[2].lower()]
            code = _value(match[3].replace("?", "z").replace("-", "x"), base)
            if isinstance(code, int) and match[1] and code >> int(match[1]):
                raise Misread(f"{word[:80]!r} has more bits than it says")
            return code
        if self.field.role == "flags" and FLAG_LETTERS.fullmatch(word):
            return sum(16 >> i for i, letter in enumerate(word) if letter != ".")
        if match := _FLOAT.fullmatch(word):
            return self._float(word, match[1], match[2], match[3])
        return None

    def _float(self, word: str, sign: str, exponent: str, fraction: str) -> int:
        fmt = self.field.fmt
        if fmt is None or not fmt.exponent_bits or fmt.twos_complement:
            raise Misread(f"{word[:80]!r}: {self.name} is not a floating-point number")
        widths = fmt.exponent_bits, fmt.field_shift
        if [len(exponent), len(fraction)] != [-(-w // 4) for w in widths]:
            raise Misread(f"{word[:80]!r} does not have the digits of {fmt.name}")
        e, f = int(exponent, 16), int(fraction, 16)
        if e >> widths[0] or f >> widths[1] or (sign == "-" and not fmt.signed):
            raise Misread(f"{word[:80]!r} is not a number of {fmt.name}")
        return (fmt.sign_bit if sign == "-" else 0) | e << widths[1] | f

    def _hex_with_prefix(self, word: str, prefix: str) -> Code:
        """0x3c: a code, or, of 16 bits as %h prints them, four digits one of which is unknown."""
        digits = word[2:]
        if _HEX.fullmatch(digits):
            if len(word) != self.digits:
                self.take("0x", word)
                return int(digits, 16)
            has_prefix = self.base == "0x" or (not self.base and prefix == "0x")
            return int(digits, 16) if has_prefix else _value(word, "hex")
        digits = word if len(word) <= self.digits else digits
        if len(digits) <= self.digits and _PARTLY_HEX.fullmatch(digits):
            return _value(digits, "hex")
        raise NotACode(f"{word[:80]!r} is not a hexadecimal code")

    def _is_plain_hex(self, word: str, prefix: str) -> bool:
        """Whether 0b11 is hexadecimal, of four digits. Raises AmbiguousDigits."""
        if self.fixed:
            return self.fixed == "hex"
        if self.base == "0b" or prefix == "0b, certainly" or not self.may_be_hex(word):
            return False
        printed = not self.has_option and len(word) == self.digits  # codes of a command are printed so
        if self.base == "hex" or prefix != "0b" or printed:
            return True
        raise self._ambiguous(word, "bin", "hex")

    def may_be_hex(self, word: str) -> bool:
        """Whether a word that begins with 0b may be hexadecimal: with a 0 in front it has all digits, or more."""
        return len(word) >= self.digits and bool(_HEX.fullmatch(word)) and not int(word, 16) >> self.width

    # -- plain digits ---------------------------------------------------------------------------------------------

    def _plain(self, word: str) -> Code:
        if any(digit in _UNKNOWN for digit in word):
            return self._unknown(word)
        if self.fixed:
            return _value(word, self.fixed)
        if not _HEX.fullmatch(word):
            raise NotACode(f"{word[:80]!r} is not a hexadecimal code")
        code, binary = int(word, 16), set(word) <= {"0", "1"}
        self.above_one |= not binary
        self.letters |= not word.isdecimal()
        if binary and code > 1 and self._is_binary(word, code):
            self.take("bin", word)
            return int(word, 2)
        if code >> self.width and not self.letters and word[0] != "0" and not int(word) >> self.width:
            raise self._ambiguous(word, "dec", "hex")
        if code > 1 or len(word) == self.digits > 1:  # a 0 or 1 by itself is one in any base
            self.take("hex", word)
        return code

    def _is_binary(self, word: str, code: int) -> bool:
        """Whether ones and zeros are binary digits, by their number, or because others of the column are. Raises
        AmbiguousDigits."""
        if self.base == "bin":
            return True
        if len(word) <= self.digits or int(word, 2) >> self.width:
            return False
        if self.above_one:
            if len(word) == self.width and code >> self.width:
                raise self._ambiguous(word, "bin", "hex")
            return False
        if len(word) != self.width:
            raise self._ambiguous(word, "bin", "hex")
        return True

    def _unknown(self, word: str) -> Code:
        """A word with X or Z digits, as many as it should have."""
        if len(word) == self.width > self.digits and _PARTLY_BINARY.fullmatch(word):
            return _value(word, "bin")
        if len(word) <= self.digits and _PARTLY_HEX.fullmatch(word):
            return _value(word, "hex")
        raise NotACode(f"{word[:80]!r} is not a hexadecimal code")

    def take(self, base: str, word: str) -> None:
        """Note the base of a word. Raises AmbiguousDigits if words before it had another one."""
        if self.base in ("", base):
            self.base, self.first = base, self.first or word
        elif {self.base, base} == {"hex", "0x"}:  # %#x prints 0 without a prefix
            self.base = "0x"
        elif not self.fixed:
            raise AmbiguousDigits(
                f"{self.name}: {self.first[:70]!r} was read as {_name(self.base)}, but {word[:70]!r} is "
                f"{_name(base)}; say which digits they are with --base bin or --base hex"
            )

    def _ambiguous(self, word: str, *bases: str) -> AmbiguousDigits:
        names, options = (" or ".join(x) for x in ([_NAMES[b] for b in bases], [f"--base {b}" for b in bases]))
        literal = f"{self.width}'{bases[0][0]}{word.lower().removeprefix('0b')}"
        advice = f"give {options}" if self.has_option else f"write {literal} or 0x{word}"
        return AmbiguousDigits(f"{self.name}: {word[:70]!r} may be {names}, of {self.width} bits; {advice}")

    @property
    def form(self) -> str:
        """What its words were taken for."""
        return _NAMES[self.fixed] if self.fixed else _name(self.base) if self.base else ""


def _name(base: str) -> str:
    return {"0x": "hexadecimal (0x)", "0b": "binary (0b)"}.get(base) or _NAMES[base]


def _value(digits: str, base: str) -> Code:
    """The value of digits, some of which may be unknown. Raises Misread."""
    known = "".join("0" if digit in _UNKNOWN else digit for digit in digits)
    try:
        value = int(known, BASES[base])
    except ValueError:  # also for more decimal digits than Python converts
        raise Misread(f"{digits[:80]!r} is not {_NAMES[base]}") from None
    if known == digits:
        return value
    if base == "dec":
        return Unknown(0, (1 << 4 * len(digits)) - 1)
    top = f"{BASES[base] - 1:x}"
    return Unknown(value, int("".join(top if digit in _UNKNOWN else "0" for digit in digits), BASES[base]))


def binary(digits: str) -> Code:
    """The value of binary digits, some of which may be unknown. Raises Misread."""
    return _value(digits, "bin")
