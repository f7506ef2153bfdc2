"""The language of operand ranges, read: `a is normal and exponent(b) in 119..134`. binding.py says what it means.

range:      all {"or" all}           all:  one {"and" one}        one:  "not" one | "(" range ")" | test
test:       ["every" | "any"] subject relation
subject:    operand | "abs" "(" operand ")" | "exponent" "(" operand ")" | "bits" "(" operand "," HIGH [".." LOW] ")"
operand:    NAME | NAME "[" LANE "]"
relation:   "is" ["not"] CLASS | "in" number ".." number | comparison (number | subject)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.code_sets import COMPARISONS

EXAMPLE: Final = "'a is normal and exponent(b) in 119..134'"
MAX_TEXT: Final = 2000  # characters
MAX_DEPTH: Final = 32  # of parentheses and nots
_EVERY, _ANY = "every", "any"
_BITS: Final = "bits"
_FUNCTIONS: Final = ("abs", "exponent", _BITS)
_WORDS: Final = frozenset({"and", "or", "not", "is", "in", _EVERY, _ANY, *_FUNCTIONS})
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+(?:\.(?!\.)[0-9a-fA-F]*)?(?:[pP][+-]?\d+)?"
    r"|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:/\d+)?(?![A-Za-z_0-9])|[+-](?:inf|nan)\b))"
    r"|(?P<word>[A-Za-z_][A-Za-z_0-9]*)|(?P<sign>\.\.|<=|>=|==|!=|[<>=()\[\],]))"
)


class Subject(NamedTuple):
    """What a test is about. function: abs, exponent, bits or ''; lane: of an operand of several, None for all of them.
    bits: the highest and the lowest one, of the function bits."""

    name: str
    function: str = ""
    lane: int | None = None
    bits: tuple[int, int] = (0, 0)

    def text(self, renamed: Callable[[str], str] = str) -> str:
        operand = renamed(self.name) + ("" if self.lane is None else f"[{self.lane}]")
        if self.function == _BITS:
            operand += ", " + "..".join(map(str, dict.fromkeys(self.bits)))
        return f"{self.function}({operand})" if self.function else operand


class RangeTest(NamedTuple):
    """A test of an operand. quantifier: every, any or '', over its lanes. relation: `is`, `is not`, `in` or a
    comparison; right: the class, the numbers, or another operand."""

    quantifier: str
    subject: Subject
    relation: str
    right: tuple[str, ...] | Subject

    def text(self, renamed: Callable[[str], str] = str) -> str:
        right = self.right.text(renamed) if isinstance(self.right, Subject) else "..".join(self.right)
        return " ".join(filter(None, (self.quantifier, self.subject.text(renamed), self.relation, right)))


class Joined(NamedTuple):
    """Several ranges: `and`, `or`, or `not` of one."""

    how: str
    parts: tuple[Range, ...]

    def text(self, renamed: Callable[[str], str] = str) -> str:
        texts = [f"({p.text(renamed)})" if self._encloses(p) else p.text(renamed) for p in self.parts]
        return f"not {texts[0]}" if self.how == "not" else f" {self.how} ".join(texts)

    def _encloses(self, part: Range) -> bool:
        """Whether a part has parentheses."""
        return isinstance(part, Joined) and part.how != "not" and (self.how, part.how) != ("or", "and")


Range = RangeTest | Joined


def parse_range(text: str) -> Range:
    """The range that a text is. Raises Error."""
    if len(text) > MAX_TEXT:
        raise Error(f"where: {len(text)} characters; a range has at most {MAX_TEXT}")
    reader = _Reader(text)
    tree = reader.range(0)
    if reader.at < len(reader.tokens):
        raise reader.error("'and', 'or' or the end")
    return tree


def _unread(text: str) -> str:
    """What is wrong where no token begins."""
    word = text.split()[0][:40]
    if all(x in "0123456789abcdefABCDEF" for x in word):
        return f"{word!r} is not a number; a code is written 0x{word}, and compared: a = 0x{word}"
    return f"{word!r} is not understood"


class _Reader:
    """A text, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        end = 0
        while text[end:].strip():
            match = _TOKEN.match(text, end)
            if match is None:
                raise Error(f"where: {_unread(text[end:])}; example: {EXAMPLE}")
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            end = match.end()

    def error(self, wanted: str) -> Error:
        near = f"before {self.tokens[self.at][1]!r}" if self.at < len(self.tokens) else "at its end"
        return Error(f"where: {self.text!r} needs {wanted} {near}; example: {EXAMPLE}")

    def take(self, *wanted: str) -> str:
        """The next token, if it is one of these; else ''."""
        if self.at < len(self.tokens) and self.tokens[self.at][1] in wanted:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return ""

    def need(self, kind: str, what: str) -> str:
        """The next token, of a kind. Raises Error."""
        if self.at < len(self.tokens) and self.tokens[self.at][0] == kind:
            self.at += 1
            return self.tokens[self.at - 1][1]
        raise self.error(what)

    def must(self, sign: str) -> None:
        if not self.take(sign):
            raise self.error(repr(sign))

    def range(self, depth: int) -> Range:
        return self._joined("or", lambda: self._joined("and", lambda: self._one(depth)))

    def _joined(self, how: str, read: Callable[[], Range]) -> Range:
        parts = [read()]
        while self.take(how):
            parts.append(read())
        return parts[0] if len(parts) == 1 else Joined(how, tuple(parts))

    def _one(self, depth: int) -> Range:
        if depth > MAX_DEPTH:
            raise Error(f"where: more than {MAX_DEPTH} parentheses and nots in one another")
        if self.take("not"):
            return Joined("not", (self._one(depth + 1),))
        if self.take("("):
            inner = self.range(depth + 1)
            self.must(")")
            return inner
        return self._test()

    def _test(self) -> RangeTest:
        quantifier, subject = self.take(_EVERY, _ANY), self._subject()
        if self.take("is"):
            relation = "is not" if self.take("not") else "is"
            return RangeTest(quantifier, subject, relation, (self.need("word", "a class"),))
        if self.take("in"):
            low = self._number()
            self.must("..")
            return RangeTest(quantifier, subject, "in", (low, self._number()))
        comparison = self.take(*COMPARISONS, "==").replace("==", "=")
        if not comparison:
            raise self.error("'is CLASS', 'in LOW..HIGH' or a comparison")
        kind, word = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind == "word" and word not in ("inf", "nan"):
            return RangeTest(quantifier, subject, comparison, self._subject())
        return RangeTest(quantifier, subject, comparison, (self._number(),))

    def _number(self) -> str:
        return self.take("inf", "nan") or self.need("number", "a number")

    def _subject(self) -> Subject:
        function = self.take(*_FUNCTIONS)
        if function:
            self.must("(")
        if self.at < len(self.tokens) and self.tokens[self.at][1] in _WORDS:
            raise self.error("an operand")
        name, lane = self.need("word", "an operand"), None
        if self.take("["):
            digits = self.need("number", "the number of a lane")
            if not digits.isdecimal() or len(digits) > 9:
                raise Error(f"where: {name}[{digits[:20]}]: a lane has a number from 0")
            lane = int(digits)
            self.must("]")
        bits = self._bits(name) if function == _BITS else (0, 0)
        if function:
            self.must(")")
        return Subject(name, function, lane, bits)

    def _bits(self, name: str) -> tuple[int, int]:
        """The numbers of the highest and the lowest bit."""
        self.must(",")
        ends = [self.need("number", "the number of a bit")]
        if self.take(".."):
            ends.append(self.need("number", "the number of a bit"))
        if not all(x.isdecimal() and len(x) < 10 for x in ends) or int(ends[0]) < int(ends[-1]):
            raise Error(f"where: bits({name}, {'..'.join(ends)[:40]}): bits are HIGH..LOW, such as 7..0, or one bit")
        return int(ends[0]), int(ends[-1])
