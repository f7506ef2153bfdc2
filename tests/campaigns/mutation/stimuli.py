"""The cases of the campaign, as files of memory words: the project's own vectors, uniformly random operands, and
operands by TestFloat's method. What must come out is the scalar oracle's in all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.writers import word_line
from softfloat_ref.oracle.sources import Philox, parse_source
from softfloat_ref.units import Field, Line, OperationUnit

from . import testfloat
from .circuits import Cases, Circuit, Setting, Size

METHODS = ("vectors", "random", "testfloat")
_STREAM = 2
_CHUNK = 1024


def has(method: str, setting: Setting) -> bool:
    """Whether there are cases of that kind: TestFloat knows no blocks and no dot products."""
    return method != "testfloat" or setting.op not in ("quantize", "dot")


def write(circuit: Circuit, setting: Setting, method: str, size: Size, seed: int, path: Path) -> None:
    """Write cases of a kind, as many as the vectors have."""
    cases = setting.cases(size)
    if method == "vectors":
        _golden(circuit, cases, path)
    else:
        inputs = random_inputs(cases, seed) if method == "random" else testfloat_inputs(cases, seed)
        write_cases(circuit, cases, itertools.islice(inputs, cases.count), path)


def write_cases(circuit: Circuit, cases: Cases, inputs: Iterable[Line], path: Path) -> None:
    """Write cases with these operands; a stochastic rounding's random words are put in, by position."""
    as_word = word_line(circuit.fields)
    with path.open("w") as file:
        for line in map(cases.line, _with_random_words(cases, inputs)):
            if line is not None:
                file.write(as_word(line))


def _golden(circuit: Circuit, cases: Cases, path: Path) -> None:
    """The vectors as they are generated, without the comments, each field as wide as the circuit's."""
    folder = path.with_suffix("")
    generate(cases, folder)
    digits = [f.digits for f in circuit.fields for _ in range(f.lanes)]
    with path.open("w") as file:
        for line in (folder / f"{cases.name}.memh").read_text().splitlines():
            if not line.startswith("//"):
                file.write("_".join(x.zfill(n) for x, n in zip(line.split("_"), digits, strict=True)) + "\n")


def random_inputs(cases: Cases, seed: int) -> Iterator[Line]:
    """Uniformly random codes for every operand."""
    widths = [f.width for f in _operands(cases) for _ in range(f.lanes)]
    source = Philox(seed, _STREAM)
    for start in itertools.count(0, _CHUNK):
        words = iter(source.words(start * len(widths), _CHUNK * len(widths)))
        for _ in range(_CHUNK):
            yield tuple(next(words) >> 64 - n for n in widths)


def testfloat_inputs(cases: Cases, seed: int) -> Iterator[Line]:
    """TestFloat's for the operands' formats."""
    assert isinstance(cases.unit, OperationUnit)
    return testfloat.cases(cases.unit.formats, seed)


def _operands(cases: Cases) -> list[Field]:
    return [f for f in cases.fields if f.role == "operand"]


def _with_random_words(cases: Cases, inputs: Iterable[Line]) -> Iterator[Line]:
    field = cases.unit.random_field
    if field is None:
        yield from inputs
        return
    source, numbered = parse_source(cases.source), iter(inputs)
    for start in itertools.count(0, _CHUNK):
        chunk = list(itertools.islice(numbered, _CHUNK))
        if not chunk:
            return
        words = source.bits(field.width, start, len(chunk))
        yield from ((*line, word) for line, word in zip(chunk, words, strict=True))
