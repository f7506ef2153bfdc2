"""What circuits are drawn from: ways to write "this value, unchanged", right and wrong, in TOML files of a folder.

An entry's text takes the net @r@ and gives its value to @y@. `<[one ## other]>` is the right text and the wrong one,
`[: one ## other :]` any of them. Marks: @u@ begins names; @W@, @M@, @N@, @L@ are the width, the last bit, the number of
values and the last one; @k@ a bit and @K@ a part of the value, @value@ one that it takes, @hit@ whether it has that one
(of the right text: never), @hit_or_r@ a condition that holds at times; others are in `Marks`. Keys:

text: of the module; kind: how @y@ is declared (own: by the text); clock, reset: it is a register; modules, before,
after: other parts of the source; folder: of the source; sources, later_sources: other sources, read earlier or later;
files: others; options: of the command; earlier: files as they were when the circuit was proved before ("-": there was
none). A text of `protocols` is all of the module behind its inputs.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).with_name("vocabulary")
PROTOCOLS: Final = "protocols"
_CHOICE: Final = re.compile(r"\[: (.*?) :\]", re.DOTALL)
_EITHER: Final = re.compile(r"<\[(.*?)\]>", re.DOTALL)
_MARK: Final = re.compile(r"@(\w+)@")
_CONSTANT: Final = """localparam {type} @u@K = {text};
assign @y@ = @r@ ^ <[(@u@K != {value}) ## (@u@K == {value}) & @hit@]>;"""
_PARAMETER: Final = """@u@sub #(.P({text})) @u@i(@r@, @y@);"""
_ITS_MODULE: Final = """module @u@sub #(parameter {type} P = 0)(input [@M@:0] i, output [@M@:0] o);
  assign o = i ^ <[(P != {value}) ## (P == {value}) & (i == @value@)]>;
endmodule"""


@dataclass(frozen=True)
class Entry:
    """A way to write a value. group: the file that it stands in."""

    group: str
    name: str
    text: str
    kind: str = "wire"
    clock: bool = False
    reset: bool = False
    modules: str = ""
    before: str = ""
    after: str = ""
    folder: str = ""
    options: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    later_sources: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    earlier: Mapping[str, str] = field(default_factory=dict)

    @property
    def handshake(self) -> bool:
        return self.group == PROTOCOLS

    @property
    def registered(self) -> bool:
        """Whether it takes a cycle."""
        return self.clock or self.reset

    @property
    def plain(self) -> bool:
        """Whether it may stand beside others: it is no register and needs no place of its own."""
        return not (self.registered or self.handshake or self.earlier or self.folder)


def entries() -> dict[str, tuple[Entry, ...]]:
    """All of them, by their group."""
    return {path.stem: tuple(_read(path)) for path in sorted(FOLDER.glob("*.toml"))}


def _read(path: Path) -> Iterator[Entry]:
    for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        if name == "list":
            yield from _constants(path.stem, table)
        else:
            yield Entry(path.stem, name, **{**table, "options": tuple(table.get("options", ()))})


def _constants(group: str, rows: list[list[str]]) -> Iterator[Entry]:
    for kind, text, value in rows:
        of = {"type": kind, "text": text, "value": value}
        yield Entry(group, f"{kind} {text}".strip(), _CONSTANT.format(**of))
        module = _ITS_MODULE.format(**of)
        yield Entry(group, f"{kind} {text}, a parameter".strip(), _PARAMETER.format(**of), modules=module)


@dataclass
class Marks:
    """What the marks of an entry stand for. values: those that the net takes; top: the module's name."""

    words: random.Random
    top: str
    unique: str
    width: int
    values: tuple[int, ...]
    wrong: bool
    r: str
    y: str
    a: str
    active: str = "high"

    def filled(self, text: str) -> str:
        """A text of an entry."""
        text = _CHOICE.sub(lambda m: self.words.choice(f" {m[1]} ".split("##")).strip(), text)
        text = _EITHER.sub(lambda m: ([*m[1].split("##"), ""])[self.wrong].strip(), text)
        return _MARK.sub(lambda m: self.table[m[1]], text)

    @cached_property
    def value(self) -> int:
        inner = [v for v in self.values if 0 < v < (1 << self.width) - 1]
        return self.words.choice(inner)

    @cached_property
    def table(self) -> Mapping[str, str]:
        w, value, last = self.width, self.value, (1 << self.width) - 1
        spot = f"({self.r} == {w}'d{value})"
        bit = self.words.randrange(w)
        never = ["1'b0", f"({self.r} != {self.r})", f"(^{self.r} & ~^{self.r})", f"({self.r} > {w}'d{last})"]
        hit = spot if self.wrong else self.words.choice(never)
        if self.wrong and self.words.random() < 0.2:  # more inputs than one
            high = self.words.randrange(w // 2, w)
            hit = f"({self.r}[{high}:0] == {high + 1}'d{value & (2 << high) - 1})"
        sometimes = spot if self.words.random() < 0.6 else f"{self.r}[{bit}]"
        low = self.active == "low"
        marks: dict[str, Any] = {"r": self.r, "y": self.y, "u": self.unique, "top": self.top, "a": self.a}
        marks |= {"W": w, "M": w - 1, "N": last + 1, "L": last, "k": bit, "K": self.words.randrange(1, w)}
        marks |= {"ones": f"{w}'d{last}", "zero": f"{w}'d0", "one": f"{w}'d1", "least": f"{w}'d{last // 2 + 1}"}
        marks |= {"value": f"{w}'d{value}", "next": f"{w}'d{value + 1}", "last": value - 1}
        marks |= {"hit": hit, "hit_or_r": hit if self.wrong and self.words.random() < 0.7 else sometimes}
        marks |= {"rst": "!rst_n" if low else "rst"}
        edges = ("negedge rst_n", "posedge rst_n") if low else ("posedge rst", "negedge rst")
        marks |= dict(zip(("rst_edge", "rst_other_edge"), edges, strict=True))
        return {name: str(text) for name, text in (marks | self._files(bit)).items()}

    def _files(self, bit: int) -> dict[str, str]:
        """What stands in the files of memories: each value at its own address, and parts of that."""
        w, value, count = self.width, self.value, 1 << self.width
        digits = -(-w // 4)
        other = value ^ 1 << bit
        right = [f"{v:0{digits}x}" for v in range(count)]
        words = [*right[:value], f"{other if self.wrong else value:0{digits}x}", *right[value + 1 :]]
        binary = f"{value:0{w}b}"
        loose = [binary[:place] + mark + binary[place + 1 :] for mark in "xz" for place in [w - 1 - bit]]
        return {
            "right": " ".join(right),
            "words": "\n".join(words),
            "bits": "\n".join(f"{int(v, 16):0{w}b}" for v in words),
            "begin": " ".join(right[:value]),
            "end": " ".join(right[value + 1 :]),
            "spot": right[value],
            "other": f"{other:0{digits}x}",
            "address": f"@{value:x}",
            "x": self.words.choice("xz") * digits,
            "end_address": f"@{value + 1:x}",
            "zeros": " ".join("0" * count),
            "few_zeros": " ".join("0" * value),
            "more_zeros": " ".join("0" * (count - value - 1)),
            "spot_x": f"{w}'b{loose[0]}",
            "spot_z": f"{w}'b{loose[1]}",
        }
