"""The reader of vectors and results, in the forms that people have."""

from softfloat_ref.golden.readers.files import rows
from softfloat_ref.golden.readers.foreign import LineReader
from softfloat_ref.golden.readers.lines import NotALine, common_prefix
from softfloat_ref.golden.readers.shapes import ANSWERS, OPERANDS, WHOLE, NumberedLines, Row, Shape
from softfloat_ref.golden.readers.waves import WaveSignals, wave_lines, wave_rows
from softfloat_ref.golden.readers.words import AmbiguousDigits, Code, Column, Misread, Unknown

__all__ = [
    "ANSWERS",
    "OPERANDS",
    "WHOLE",
    "AmbiguousDigits",
    "Code",
    "Column",
    "LineReader",
    "Misread",
    "NotALine",
    "NumberedLines",
    "Row",
    "Shape",
    "Unknown",
    "WaveSignals",
    "common_prefix",
    "rows",
    "wave_lines",
    "wave_rows",
]


def __dir__() -> list[str]:
    return sorted(__all__)
