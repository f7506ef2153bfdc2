"""Lines of IBM's floating-point test suite (.fptest), and the mismatches that TestFloat prints.

    b32* =0 i +1.000000P-126 +1.7FFFFFP-1 -> +1.000000P-126 xu
    +01.000000  +7E.7FFFFF  => +01.000000 ....x  expected +00.7FFFFF ...ux

The syntax of the first is IBM's syntax.txt (2005): format and operation, rounding, trapped exceptions, operands, `->`,
the result or #, and the exceptions that occurred. A significand's fraction has whole hexadecimal digits, its last bit
the lowest of them. Q and S are a quiet and a signaling NaN, whatever their bits.
"""

from __future__ import annotations

import re
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.fptest import EXCEPTIONS, FORMATS, OPERATIONS, ROUNDINGS, number_code
from softfloat_ref.golden.readers.lines import WordReader
from softfloat_ref.golden.readers.shapes import Row, Shape
from softfloat_ref.golden.readers.words import Misread
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy, Tininess, rounding_name
from softfloat_ref.units import OperationUnit, Unit

TRAPPED: Final = "of an exception that is trapped, which has another result"
_LINE: Final = re.compile(r"([bd]\d+)((?:[bdi]\d+)?)([^\s\d]\S*)\s+(=0|=\^|0|>|<)\s+(?:([xuozi]+)\s+)?(\S.*)")
_FLAGS: Final = re.compile("[xuvwozi]+")


class LineReader(WordReader):
    """Reads lines of words, of IBM and of TestFloat."""

    def of_text(self, text: str) -> Row | None:
        return row(self, text) if "->" in text or "=>" in text else self.of_words(text)


class Foreign(Misread):
    """A line in another program's form that cannot be read, with the reason."""


def row(reader: WordReader, text: str) -> Row | None:
    """The row of such a line; None if it is counted in left_out. Raises Misread."""
    if "=>" in text:
        return _mismatch(reader, text)
    head, _, tail = text.partition("->")
    match = _LINE.fullmatch(head.strip())
    if match is None:
        raise Foreign(f"{text[:80]!r} is not a line of an .fptest file")
    first, second, symbol, rounding, trapped, operands = match.groups()
    unit = reader.unit
    if (other := _other(unit, first, second or first, symbol, rounding, operands)) is not None:
        if not reader.selective:
            raise Foreign(f"{text[:60]!r} is {other}")
        reader.left_out[other] += 1
        return None
    assert isinstance(unit, OperationUnit)
    words, results = operands.split(), tail.split()
    if len(words) != len(unit.formats) or len(words) != reader.width or not 1 <= len(results) <= 2:
        raise Foreign(f"{text[:80]!r}: {len(words)} operands and {len(results)} words after ->")
    inputs = tuple(_code(w, fmt, unit.policy) for w, fmt in zip(words, unit.formats, strict=True))
    shape = reader.shapes[0]
    if not shape.results:
        return _row(reader, shape, inputs, (), None)
    raised = results[1] if len(results) == 2 else ""
    if raised and not _FLAGS.fullmatch(raised):
        raise Foreign(f"{text[:80]!r}: {raised[:20]!r} are not exceptions; expected letters of xuvwozi")
    if results[0] == "#" or set(trapped or "") & set(raised.translate({ord("v"): "u", ord("w"): "u"})) - {"x"}:
        reader.left_out[TRAPPED] += 1
        return None
    return _row(reader, shape, inputs, (_code(results[0], unit.out, unit.policy),), _flags(raised, unit.policy))


def _row(reader: WordReader, shape: Shape, inputs: tuple[int, ...], results: tuple[int, ...], flags: int | None) -> Row:
    reader.kind, reader.any_nan = "lines of an .fptest file", True
    return Row(inputs, results, flags)


def _code(word: str, fmt: Format, policy: Policy) -> int:
    try:
        return number_code(word, fmt, policy)
    except Error as e:
        raise Foreign(e) from None


def _other(unit: Unit, source: str, target: str, symbol: str, rounding: str, operands: str) -> str | None:
    """What a line is, if it is not of the unit."""
    if "d" in source + target:
        return "of decimal floating-point formats"
    name = OPERATIONS.get(symbol)
    if name is None:
        return "of operations that are not operations here"
    if not isinstance(unit, OperationUnit) or name != unit.op:
        return f"of the operation {name}"
    formats = source, target if symbol == "cff" else source
    if [{f.name for f in unit.formats}, unit.out.name] != [{FORMATS.get(formats[0])}, FORMATS.get(formats[1])]:
        known = all(name in FORMATS for name in formats)
        return f"of {' to '.join(dict.fromkeys(formats))}" if known else "of other formats"
    operation = unit.signature.operation
    if ROUNDINGS[rounding] != rounding_name(unit.policy.rounding) and (
        operation.rounds or operation.integral or operation.is_conversion
    ):
        return f"with rounding {ROUNDINGS[rounding]}"
    if symbol[0] in "<>" and "S" in operands.split():
        return "of minimum and maximum of a signaling NaN, which are other operations in IEEE 754-2008"
    return None


def _flags(letters: str, policy: Policy) -> int:
    """v and w are underflow with tininess after and before rounding; u is underflow, however it was found."""
    tiny = "v" if policy.tininess == Tininess.AFTER else "w"
    return sum(flag for letter, flag in EXCEPTIONS.items() if letter in letters or (letter == "u" and tiny in letters))


def _mismatch(reader: WordReader, text: str) -> Row | None:
    """The answer of a device that TestFloat found to differ; what TestFloat expects is not read."""
    head, _, tail = text.partition("=>")
    answer = tail.partition("expected")[0]
    shape = reader.shapes[0]
    if not shape.inputs and not any(s.inputs for s in reader.shapes):
        raise Foreign(f"{text[:80]!r}: a line of TestFloat has operands")
    reader.kind = "TestFloat's mismatches"
    return reader.of_words(f"{head} {answer}" if shape.results else head)
