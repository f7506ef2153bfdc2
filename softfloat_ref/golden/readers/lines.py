"""Lines of words: operands, results and flags, or some of these, as digits with spaces or commas between them, or as a
word of a memory, with `_` between the fields or nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from softfloat_ref.base.errors import counted
from softfloat_ref.golden.readers.shapes import Row, Shape
from softfloat_ref.golden.readers.words import (
    BINARY_WITH_PREFIX,
    AmbiguousDigits,
    Code,
    Column,
    Misread,
    NotACode,
    Unknown,
    binary,
)
from softfloat_ref.golden.writers.batch import last_lane_first
from softfloat_ref.units import Field, Line, Unit

NO_RESULT: Final = "-"  # a result that the device does not have
_COMMENT: Final = re.compile(r"\s*(?://|#)")
_LETTERS_ROWS: Final = 256  # rows that are looked at for digits above 9
_WORD: Final = re.compile(r"[0-9a-zA-Z]+")
_DIGITS: Final = re.compile(r"[0-9a-fA-F]+")


class NotALine(Misread):
    """A line that does not have the words of any shape."""


class WordReader:
    """Reads lines of a unit, one after the other.

    shapes: what a line may be, the likeliest first where words could be two of them. base: of plain digits, if the user
    says it. given: the inputs that lines have, by default all. missing: whether `-` may stand for a result. selective:
    whether lines of other operations and roundings, in a file that has several, are left out. has_option: whether the
    user can say the base. note: called with each comment. left_out counts the lines that are not compared, by their
    reason.
    """

    def __init__(
        self,
        unit: Unit,
        shapes: Sequence[Shape],
        base: str | None = None,
        given: Sequence[Field] | None = None,
        missing: bool = False,
        selective: bool = False,
        has_option: bool = True,
        note: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.unit = unit
        self.inputs = tuple(unit.inputs if given is None else given)
        self.missing, self.selective, self.note = missing, selective, note
        self.flag_fields = tuple(f for f in unit.outputs if f.role == "flags")
        fields = (*self.inputs, *unit.results, *self.flag_fields)
        own = [(Column(f, base, has_option), f.lanes) for f in fields]  # lanes of a field are in one base
        self.columns = [column for column, lanes in own for _ in range(lanes)]
        self.width = sum(f.lanes for f in self.inputs)  # words of the operands
        self.results = sum(f.lanes for f in unit.results)
        self.shapes = [s for s in shapes if self.flag_fields or not s.flags]
        self.image = False  # whether lines are words of a memory
        self.kind = ""  # of file or line, if its words are not all
        self.any_nan = False  # whether lines say of a NaN only whether it is quiet, as IBM's do
        self.separators: set[str] = set()
        self.left_out: Counter[str] = Counter()
        self._plain = [(s, self._pattern(s).fullmatch) for s in self.shapes] if base in (None, "hex") else []
        self._rows = 0
        self._settled: set[Shape] = set()  # whose digits are hexadecimal

    def without_flags(self) -> None:
        """Lines have no flags, as the log of a bench may say."""
        self.shapes = [s for s in self.shapes if not s.flags]
        self._plain = [(s, matches) for s, matches in self._plain if not s.flags]

    # -- shapes ----------------------------------------------------------------------------------------------------

    def fields(self, shape: Shape) -> list[Field]:
        """The fields of a shape."""
        return [
            *(self.inputs if shape.inputs else ()),
            *(self.unit.results if shape.results else ()),
            *(self.flag_fields if shape.flags else ()),
        ]

    def columns_of(self, shape: Shape) -> list[Column]:
        """The columns of a shape."""
        begin = 0 if shape.inputs else self.width
        end = self.width + (self.results if shape.results else 0)
        return [*self.columns[begin:end], *(self.columns[self.width + self.results :] if shape.flags else ())]

    def names(self, shape: Shape) -> list[str]:
        """The name of each column of a shape, as in our .csv."""
        return [f.name if f.lanes == 1 else f"{f.name}[{i}]" for f in self.fields(shape) for i in range(f.lanes)]

    def _pattern(self, shape: Shape) -> re.Pattern[str]:
        """Lines of TestFloat: as many digits as each field has, single spaces."""
        words = [rf"(?:[0-9a-fA-F]{{{f.digits}}} ){{{f.lanes}}}" for f in self.fields(shape)]
        return re.compile("".join(words))

    def row_of(self, shape: Shape, codes: Sequence[Code | None]) -> Row:
        """The row of the codes of a shape. Raises Misread."""
        width = self.width if shape.inputs else 0
        inputs = tuple(x for x in codes[:width] if isinstance(x, int))
        if len(inputs) != width:
            raise Misread("an operand has X or Z digits, and is not a hexadecimal code")
        results = tuple(codes[width : width + self.results]) if shape.results else ()
        unknown = any(isinstance(x, Unknown) for x in codes)
        return Row(inputs if shape.inputs else None, results, codes[-1] if shape.flags else None, unknown)

    # -- a line ----------------------------------------------------------------------------------------------------

    def row(self, text: str) -> Row | None:
        """A line of text; None for a comment, a blank line, and one that is counted in left_out. Raises Misread,
        AmbiguousDigits."""
        text = text.strip()
        if (plain := self._testfloat(text)) is not None:
            return plain
        if not text:
            return None
        if _COMMENT.match(text):
            self.note(text)
            return None
        if "//" in text:
            text = text.partition("//")[0].rstrip()
        return self.of_text(text)

    def of_text(self, text: str) -> Row | None:
        """A line without comments."""
        return self.of_words(text)

    def _testfloat(self, text: str) -> Row | None:
        """A line of exactly the digits of its fields, the fast way; None for other lines."""
        line = text + " "
        for shape, matches in self._plain:
            if matches(line) and text[:2] not in ("0b", "0B"):
                return self._of_plain(shape, text.split())
        return None

    def _of_plain(self, shape: Shape, words: list[str]) -> Row:
        if shape in self._settled:
            return _plain_row(shape, [int(w, 16) for w in words], self.width, self.results)
        columns = self.columns_of(shape)
        self._rows += 1
        self.separators.add("spaces" if len(words) > 1 else "")
        if self._rows > _LETTERS_ROWS and {c.base for c in columns} <= {"hex", "0x"}:
            self._settled.add(shape)
        return self.row_of(shape, [c.code(w) for c, w in zip(columns, words, strict=True)])

    def is_plain(self, text: str) -> bool:
        """Whether a line, and lines like it, have exactly the digits of their fields, in hexadecimal."""
        return any(matches(text + " ") for _, matches in self._plain) and all(
            c.base in ("", "hex", "0x") for c in self.columns
        )

    def of_words(self, text: str) -> Row:
        """A line of words. Raises Misread, AmbiguousDigits."""
        separator = "commas" if "," in text else "spaces"
        words = text.replace(",", " ").split()
        if len(words) == 1 and (packed := self._memory_word(words[0])) is not None:
            return packed
        shape = next((s for s in self.shapes if len(self.columns_of(s)) == len(words)), None)
        if shape is None:
            raise self.misshapen(text, len(words))
        self.separators.add(separator if len(words) > 1 else "")
        columns = self.columns_of(shape)
        prefix = common_prefix(words, columns)
        try:
            return self.row_of(shape, [self._code(c, w, prefix) for c, w in zip(columns, words, strict=True)])
        except NotACode:
            if not shape.results:
                raise
            raise NotALine(f"{text[:80]!r} is not {self.expected}") from None

    def _code(self, column: Column, word: str, prefix: str) -> Code | None:
        if word == NO_RESULT and self.missing and column.field.role == "result":
            return None
        return column.code(word, prefix)

    def misshapen(self, text: str, count: int) -> Misread:
        """The error for a line of that many words."""
        if any(s.results for s in self.shapes):
            return NotALine(f"{text[:80]!r} is not {self.expected}")
        needed = f"{counted(self.width, 'operand')} {'is' if self.width == 1 else 'are'} needed"
        return Misread(f"{counted(count, 'field')}, but {needed}: {text[:60]!r}")

    @property
    def expected(self) -> str:
        """What a line should be."""
        what = "a result" if self.results == 1 else f"{self.results} codes"
        operands = f"{self.width} operands, " if all(s.inputs for s in self.shapes) else ""
        flags = " and flags" if any(s.flags for s in self.shapes) else ""
        return f"a line of {operands}{what}{flags} in hexadecimal"

    # -- memory words ----------------------------------------------------------------------------------------------

    def _memory_word(self, word: str) -> Row | None:
        """A word that holds several fields, the last one lowest, and of a field with lanes the first one; None for
        another word."""
        if "_" in word and "'" not in word:
            parts = word.split("_")
            for shape in self.shapes:
                columns = self._reversed(shape)
                if len(parts) == len(columns) > 1 and (base := _base_of(parts, columns)):
                    self.separators.add("underscores")
                    return self._in_order(shape, [_part(c, p, base) for c, p in zip(columns, parts, strict=True)])
        if not _WORD.fullmatch(word) or word[:2].lower() in ("0x", "0b"):
            return None
        alone = not self.image and any(not s.inputs for s in self.shapes)
        for shape in self.shapes:
            if len(self.columns_of(shape)) == 1 or (alone and shape.inputs):
                continue  # 0000000000003c00 is rather a result with many zeros
            aligned, tight = self._sizes(shape)
            if len(word) in (aligned // 4, -(-tight // 4)):
                self._check_not_binary(word)
                return self._sliced(word, shape, len(word) == aligned // 4)
        return None

    def _check_not_binary(self, word: str) -> None:
        fields = [self.columns_of(s) for s in self.shapes]
        if set(word) <= {"0", "1"} and any(len(own) == 1 and own[0].width == len(word) for own in fields):
            raise AmbiguousDigits(
                f"{word[:70]!r} may be the binary digits of one field, or hexadecimal ones of several; put spaces or _ "
                "between fields"
            )

    def _sizes(self, shape: Shape) -> tuple[int, int]:
        """Bits of a memory word, each field in whole digits, or side by side."""
        fields = self.fields(shape)
        return sum(f.stride * f.lanes for f in fields), sum(f.width * f.lanes for f in fields)

    def _reversed(self, shape: Shape) -> list[Column]:
        """The columns in the order of a memory word."""
        columns, order = self.columns_of(shape), last_lane_first(self.fields(shape))
        return columns if order is None else [columns[i] for i in order]

    def _in_order(self, shape: Shape, codes: Sequence[Code | None]) -> Row:
        order = last_lane_first(self.fields(shape))
        return self.row_of(shape, codes if order is None else [codes[i] for i in order])

    def _sliced(self, word: str, shape: Shape, aligned: bool) -> Row:
        """The row of a word of hexadecimal digits. aligned: whether each field lies in whole digits."""
        columns = self._reversed(shape)
        self.separators.add("nothing")
        codes: list[Code] = []
        if aligned:
            at = 0
            for column in columns:
                codes.append(_part(column, word[at : at + column.digits], 16))
                at += column.digits
            if any(isinstance(code, int) and code >> c.width for c, code in zip(columns, codes, strict=True)):
                raise AmbiguousDigits(
                    f"{word[:70]!r}: a field has more bits than it should; if fields do not begin at whole digits, "
                    "write _ or spaces between them"
                )
            return self._in_order(shape, codes)
        if not _DIGITS.fullmatch(word):
            raise Misread(f"{word[:80]!r} is not hexadecimal")
        number = int(word, 16)
        for column in reversed(columns):
            codes.append(number & ((1 << column.width) - 1))
            number >>= column.width
        if number:
            raise Misread(f"{word[:80]!r} has more bits than its fields")
        return self._in_order(shape, codes[::-1])

    def of_number(self, number: int, width: int) -> Row:
        """A word of a memory of that many bits, perhaps filled up to whole bytes. Raises Misread, AmbiguousDigits."""
        for bits in (1, 8):
            for shape in self.shapes:
                for size, aligned in zip(self._sizes(shape), (True, False), strict=True):
                    if width == -(-size // bits) * bits and not number >> size:
                        return self._sliced(f"{number:0{-(-size // 4)}x}", shape, aligned)
        raise Misread(f"a word of {width} bits is not {self.expected}")

    def same_operands(self, own: Line, others: Line) -> bool:
        """Whether the operands of a line are those of a case, as far as the line says."""
        if own == others or not self.any_nan:
            return own == others
        formats = [c.field.fmt for c in self.columns[: self.width]]
        return all(
            x == y or (f is not None and f.is_nan(x) and f.is_nan(y) and x & f.quiet_bit == y & f.quiet_bit)
            for x, y, f in zip(own, others, formats, strict=True)
        )

    # -- in words ----------------------------------------------------------------------------------------------------

    @property
    def form(self) -> str:
        """What the lines were taken for, in words; '' for plain hexadecimal digits with spaces."""
        forms = list(dict.fromkeys(c.form for c in dict.fromkeys(self.columns) if c.form))
        between = sorted(self.separators - {"", "spaces"})
        if not self.kind and not between and forms in ([], ["hexadecimal"]):
            return ""
        separated = f"{', '.join(between)} between fields" if between and not self.kind else ""
        digits = f"{' and '.join(forms)} digits" if forms else ""
        return ", ".join(filter(None, (self.kind, digits, separated)))


def _plain_row(shape: Shape, codes: list[int], width: int, results: int) -> Row:
    """The row of codes that are all known."""
    inputs, flags = tuple(codes[:width]) if shape.inputs else None, codes[-1] if shape.flags else None
    begin = width if shape.inputs else 0
    return Row(inputs, tuple(codes[begin : begin + results]) if shape.results else (), flags)


def _base_of(parts: Sequence[str], columns: Sequence[Column]) -> int:
    """16 or 2, if the parts of a memory word have exactly the digits of their fields; else 0."""
    sizes = [len(p) for p in parts]
    if sizes == [c.digits for c in columns]:
        return 16
    return 2 if sizes == [c.width for c in columns] and set("".join(parts)) <= set("01xzXZ") else 0


def _part(column: Column, digits: str, base: int) -> Code:
    """A part of a memory word."""
    if base == 16 and not _DIGITS.fullmatch(digits):
        return column.code(digits)
    column.take("hex" if base == 16 else "bin", digits)
    return int(digits, 16) if base == 16 else binary(digits)


def common_prefix(words: Sequence[str], columns: Sequence[Column]) -> str:
    """0x or 0b, if all words of a line begin with it, or are 0; the same of binary only if it must be."""
    starts = {w[:2].lower() for w in words if w != "0"}
    if starts == {"0x"}:
        return "0x"
    if starts != {"0b"} or not all(w == "0" or BINARY_WITH_PREFIX.fullmatch(w.replace("_", "")) for w in words):
        return ""
    rows = zip(columns, words, strict=True)
    certain = any(c.base == "0b" or (w != "0" and not c.may_be_hex(w)) for c, w in rows)
    return "0b, certainly" if certain else "0b"
