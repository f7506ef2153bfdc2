"""Results in a waveform: the values of named signals at the edges of a clock, from a VCD; from an FST by fst2vcd."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.files import open_file, stream_lines, text_lines
from softfloat_ref.golden.readers.lines import WordReader
from softfloat_ref.golden.readers.shapes import Row, Shape
from softfloat_ref.golden.readers.words import Code, Misread, binary

NOT_VALID: Final = "at an edge of the clock where valid is X or Z"
_SIGNAL: Final = re.compile(r"([^\[\]]+)(?:\[(\d{1,7})(?::(\d{1,7}))?\])?", re.ASCII)
_RANGE: Final = re.compile(r"(.*?)\s*(?:\[(\d{1,7})(?::(\d{1,7}))?\])?", re.ASCII)
_MAX_DEPTH: Final = 1000
_MAX_BITS: Final = 1 << 20
_FST_START: Final = bytes([0, 0, 0, 0, 0, 0, 0, 1, 73])  # the header block, of 329 bytes
_VALUES: Final = "01xzXZuUwW-"  # fst2vcd and simulators of VHDL print the last ones


@dataclass(frozen=True)
class WaveSignals:
    """Which signals hold the fields of a line. fields: a signal for each; clock: the signal at whose rising edges (with
    ! before it, falling ones) they are sampled, as they are just before it; valid: a signal that is 1 where there is a
    line. A signal is a name with as much of its scope as tells it apart, such as dut.q or dut.q[15:0]."""

    fields: Mapping[str, str]
    clock: str
    valid: str | None = None

    @staticmethod
    def of_options(signals: tuple[str, ...], clock: str | None, valid: str | None) -> WaveSignals | None:
        """From the options of a command; None without them. Raises Error."""
        if not signals:
            if clock or valid:
                raise Error("--clock and --valid need --signal FIELD=NAME, the signals in a waveform")
            return None
        if clock is None:
            raise Error("--signal needs --clock NAME, the clock at whose edges the signals are sampled")
        fields: dict[str, str] = {}
        for text in signals:
            name, equals, signal = text.partition("=")
            if not equals or not name or not signal or name in fields:
                raise Error(f"--signal {text[:80]!r}: write FIELD=NAME, once for each field")
            fields[name] = signal
        return WaveSignals(fields, clock, valid)

    def shape(self, reader: WordReader) -> Shape:
        """The fields of a line. Raises Error for fields that the unit lacks, and for missing ones."""
        known = [f.name for f in reader.fields(Shape(True, True, True))]
        for name in self.fields:
            if name not in known:
                raise Error(f"--signal {name[:80]}: the fields are {', '.join(known)}")
        inputs = any(f.name in self.fields for f in reader.inputs)
        shape = Shape(inputs, True, any(f.name in self.fields for f in reader.flag_fields))
        if missing := [f.name for f in reader.fields(shape) if f.name not in self.fields]:
            raise Error(f"--signal: no signal for {', '.join(missing)}")
        return shape


class _Variable:
    """A signal of the file, or some bits of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        match = _SIGNAL.fullmatch(name.removeprefix("!"))
        if match is None:
            raise Error(f"{name[:80]!r} is not the name of a signal, such as dut.q or dut.q[15:0]")
        self.path = match[1].strip().lower()
        self.bits = None if match[2] is None else (int(match[2]), int(match[3] or match[2]))
        self.code, self.size, self.low = "", 0, 0
        self.at = ""  # where it was found

    def is_at(self, path: str) -> bool:
        return path == self.path or path.endswith("." + self.path)

    def declare(self, path: str, code: str, size: int, low: int) -> None:
        """Raises Error if another signal has the name."""
        if self.code not in ("", code):
            raise Error(f"{self.name[:80]!r} may be {self.at[:200]} or {path[:200]}; write more of its scope")
        self.code, self.size, self.low, self.at = code, size, low, path

    def value(self, values: Mapping[str, str]) -> str:
        """Its digits, the highest first."""
        digits = values.get(self.code, "x")
        fill = digits[0] if digits[0] not in "01" else "0"
        digits = fill * (self.size - len(digits)) + digits
        if self.bits is None:
            return digits
        high, low = (b - self.low for b in self.bits)
        if not 0 <= low <= high < self.size:
            raise Error(f"{self.name[:80]!r}: the signal has {counted(self.size, 'bit')}")
        return digits[self.size - 1 - high : self.size - low]


def wave_rows(reader: WordReader, lines: Iterable[str], signals: WaveSignals) -> Iterator[Row]:
    """A row for each edge of the clock where valid is 1. Raises Error, Misread."""
    shape = signals.shape(reader)
    reader.kind = "signals of a waveform"
    fields = reader.fields(shape)
    variables = {f.name: _Variable(signals.fields[f.name]) for f in fields}
    clock, valid = _Variable(signals.clock), None if signals.valid is None else _Variable(signals.valid)
    words = (word for line in lines for word in line.split())
    _declarations(words, [*variables.values(), clock, *([valid] if valid else [])])
    edge = ("1", "0") if signals.clock.startswith("!") else ("0", "1")
    for before, after in _steps(words, {v.code for v in (*variables.values(), clock, *([valid] if valid else []))}):
        if (clock.value(before)[-1], clock.value(before | after)[-1]) != edge:
            continue
        if valid is not None and (is_valid := valid.value(before)) != "1" * len(is_valid):
            if not set(is_valid) <= {"0", "1"}:
                reader.left_out[NOT_VALID] += 1
            continue
        codes: list[Code] = []
        for f in fields:
            digits = variables[f.name].value(before)
            if len(digits) != f.width * f.lanes:
                raise Error(
                    f"{variables[f.name].name[:80]!r} has {counted(len(digits), 'bit')}, "
                    f"but {f.name} has {f.width * f.lanes}"
                )
            parts = [digits[len(digits) - (i + 1) * f.width : len(digits) - i * f.width] for i in range(f.lanes)]
            codes += [binary(part.replace("-", "x")) for part in parts]
        yield reader.row_of(shape, codes)


def _declarations(words: Iterator[str], wanted: list[_Variable]) -> None:
    """Read the header: which codes the signals have. Raises Error."""
    scopes: list[str] = []
    for word in words:
        if word == "$enddefinitions":
            break
        if word.startswith("$"):
            parts = _until_end(words)
            if word == "$scope":
                scopes.append(parts[-1] if parts else "")
            elif word == "$upscope" and scopes:
                scopes.pop()
            elif word == "$var":
                _variable(scopes, parts, wanted)
            if len(scopes) > _MAX_DEPTH:
                raise Error(f"scopes more than {_MAX_DEPTH} deep")
    for variable in wanted:
        if not variable.code:
            raise Error(f"the waveform has no signal {variable.name[:80]!r}")


def _until_end(words: Iterator[str]) -> list[str]:
    parts: list[str] = []
    for word in words:
        if word == "$end":
            return parts
        if len(parts) < _MAX_DEPTH:
            parts.append(word)
    raise Error("not a waveform (VCD): its header does not end")


def _variable(scopes: list[str], parts: list[str], wanted: list[_Variable]) -> None:
    """A declaration: type, size, code, name, and perhaps a range."""
    if len(parts) < 4 or not parts[1].isdecimal() or len(parts[1]) > 7 or not 0 < int(parts[1]) <= _MAX_BITS:
        return  # a real, a string or an event of size 0
    match = _RANGE.fullmatch(" ".join(parts[3:]))
    assert match is not None
    path = ".".join([*scopes, match[1]]).lower()
    for variable in wanted:
        if variable.is_at(path):
            low = 0 if match[2] is None else min(int(match[2]), int(match[3] or match[2]))
            variable.declare(path, parts[2], int(parts[1]), low)


def _steps(words: Iterator[str], wanted: set[str]) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """The values before each time at which wanted signals change, and those that change."""
    values: dict[str, str] = {}
    changed: dict[str, str] = {}
    for word in words:
        first = word[0]
        if first == "#":
            if changed:
                yield values, changed
                values |= changed
                changed = {}
        elif first in "bB":
            code = next(words, "")
            if code in wanted:
                changed[code] = _digits(word[1:])
        elif first in "rRsS":
            next(words, "")
        elif first in _VALUES:
            if word[1:] in wanted:
                changed[word[1:]] = first
        elif word == "$comment":
            _until_end(words)
        elif first != "$":  # $dumpvars, $end and others stand around changes
            raise Misread(f"{word[:80]!r} is not a change of a signal")
    if changed:
        yield values, changed


def _digits(text: str) -> str:
    if not 0 < len(text) <= _MAX_BITS or not set(text) <= set(_VALUES):
        raise Misread(f"{text[:80]!r} is not a value of a signal")
    return text


@contextmanager
def wave_lines(path: str | Path) -> Iterator[Iterator[str]]:
    """The lines of a VCD, or of what fst2vcd makes of an FST. Raises Error."""
    with open_file(path) as stream:
        is_fst = stream.read(len(_FST_START)) == _FST_START or str(path).endswith(".fst")
    if not is_fst:
        yield text_lines(path)
        return
    program = shutil.which("fst2vcd")
    if program is None:
        raise Error(
            f"{path}: an FST is read by fst2vcd, which is not on the PATH; it comes with GTKWave, or dump a .vcd"
        )
    command = [program, "-f", str(Path(path).resolve())]
    none = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=none, stdout=subprocess.PIPE, stderr=none) as process:
        try:
            yield _printed(process, path)
        finally:
            process.kill()


def _printed(process: subprocess.Popen[bytes], path: str | Path) -> Iterator[str]:
    """The lines that fst2vcd prints. Raises Error if it fails."""
    assert process.stdout is not None
    with io.TextIOWrapper(process.stdout, "ascii", "replace") as text:
        yield from stream_lines(text, path)
    if code := process.wait():
        raise Error(f"{path}: fst2vcd cannot read it: it ended with exit code {code}")
