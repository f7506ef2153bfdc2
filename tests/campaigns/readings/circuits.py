"""A circuit that computes a small unit, by its number: ways of writing, one of which may be wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from readings.vocabulary import PROTOCOLS, Entry, Marks, entries
from softfloat_ref.units import Unit, make_unit

GROUPS: Final = entries()
_EACH: Final = tuple(e for group in GROUPS.values() for e in group)
_PLAIN: Final = tuple(e for e in _EACH if e.plain)
_NAMES: Final = {e.name: e for e in _EACH}
_WIDE: Final = 0.05  # of the units have 16 bits of inputs


class Target(NamedTuple):
    """A unit, and its result as an expression of a and b; without one, as a table."""

    op: str
    fmt: str
    out: str = ""
    text: str = ""

    @property
    def words(self) -> list[str]:
        """The arguments of the command."""
        return [self.op, "--fmt", self.fmt, *(["--out", self.out] if self.out else [])]


TARGETS: Final = (
    Target("abs", "fp8_e5m2", text="{1'b0, @a@[6:0]}"),
    Target("neg", "fp8_e5m2", text="{~@a@[7], @a@[6:0]}"),
    Target("neg", "fp6_e3m2", text="@a@ ^ 6'h20"),
    Target("copysign", "fp4_e2m1", text="{@b@[3], @a@[2:0]}"),
    Target("next_up", "fp6_e2m3"),
    Target("min", "fp4_e2m1"),
    Target("convert", "fp8_e4m3", "fp6_e3m2"),
)
WIDE: Final = Target("copysign", "fp8_e5m2", text="{@b@[7], @a@[6:0]}")


@cache
def unit(target: Target) -> Unit:
    return make_unit(target.op, target.fmt, **({"out": target.out} if target.out else {}))


@cache
def answers(target: Target) -> tuple[int, ...]:
    """The results, by the inputs side by side."""
    of = unit(target)
    widths = [f.width for f in of.inputs]
    results = []
    for word in range(1 << sum(widths)):
        codes, rest = [], word
        for width in reversed(widths):
            codes.append(rest & (1 << width) - 1)
            rest >>= width
        results.append(of.answer(tuple(reversed(codes)))[0])
    return tuple(results)


@dataclass
class Circuit:
    """number: it says what is drawn. subject: the way of writing that is right or meant to be wrong; others: beside it.
    files: by their paths; sources: the paths of those that are read; earlier: as of Entry. latency: of a clocked one
    without a handshake. active: the level of its reset, if it has one."""

    seed: int
    number: int
    target: Target
    subject: Entry
    wrong: bool
    frontend: str
    others: tuple[Entry, ...] = ()
    options: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    earlier: dict[str, str] = field(default_factory=dict)
    latency: int = 0
    handshake: bool = False
    active: str = ""

    @property
    def name(self) -> str:
        return f"c{self.number}"

    @property
    def clocked(self) -> bool:
        return self.handshake or self.latency > 0

    @property
    def reset(self) -> str:
        """The port of the reset."""
        return {"": "", "high": "rst", "low": "rst_n"}[self.active]

    @cached_property
    def widths(self) -> dict[str, int]:
        """Of the operands."""
        return {f.name: f.width for f in unit(self.target).inputs}

    @property
    def width(self) -> int:
        """Of the result."""
        return unit(self.target).outputs[0].width

    @property
    def ports(self) -> dict[str, Any]:
        """The port map."""
        table: dict[str, Any] = {"module": self.name, "ignore": ["flags"]}
        if self.clocked:
            table["clock"] = "clk"
        if self.latency:
            table["latency"] = self.latency
        table |= {"inputs": {name: name for name in self.widths}, "outputs": {"result": "result"}}
        if self.active:
            table["reset"] = {"port": self.reset, "active": self.active}
        if self.handshake:
            table["handshake"] = {n: n for n in ("in_valid", "in_ready", "out_valid", "out_ready")}
        return table

    def write(self, folder: Path, earlier: bool = False) -> None:
        """Its files, or those of the proof before."""
        files = self.files | {"ports.toml": toml(self.ports)} | (self.earlier if earlier else {})
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text == "-":
                path.unlink(missing_ok=True)
            else:
                path.write_text(text, encoding="utf-8")

    @property
    def command(self) -> list[str]:
        """The arguments of the command line that proves it in the folder of its files."""
        words = ["prove", *self.target.words, "--ports", "ports.toml", "--frontend", self.frontend]
        return [*words, *self.options, *self.sources]


def toml(table: Mapping[str, Any]) -> str:
    """A table of texts, numbers and tables, as TOML."""
    plain = [f"{k} = {json.dumps(v)}" for k, v in table.items() if not isinstance(v, dict)]
    tables = [f"[{k}]\n" + "\n".join(f"{n} = {json.dumps(x)}" for n, x in v.items()) for k, v in table.items()
              if isinstance(v, dict)]  # fmt: skip
    return "\n".join([*plain, *tables, ""])


def each(seed: int, number: int) -> Circuit:
    """The circuit of a number, if every entry is taken in turn, right and wrong, with nothing beside it."""
    return drawn(seed, number, _EACH[number // 2 % len(_EACH)], bool(number % 2), alone=True)


def drawn(
    seed: int, number: int, subject: Entry | None = None, wrong: bool | None = None, alone: bool = False
) -> Circuit:
    """The circuit of a number. subject, wrong: in place of those that are drawn; alone: with nothing beside it."""
    words = random.Random(f"{seed} {number}")
    chosen = words.choice(words.choice(list(GROUPS.values())))
    subject = subject or chosen
    bad = words.random() < 0.6
    return _Drawing(words, seed, number, subject, bad if wrong is None else wrong, alone).circuit()


class _Drawing:
    """A circuit as it is drawn."""

    def __init__(self, words: random.Random, seed: int, number: int, subject: Entry, wrong: bool, alone: bool) -> None:
        target = TARGETS[1] if alone else WIDE if words.random() < _WIDE else words.choice(TARGETS)
        library = {"-y", "-v"} & set(subject.options)
        frontend = "slang" if library or words.random() < 0.75 else "verilog"
        self.words, self.of = words, Circuit(seed, number, target, subject, wrong, frontend)
        self.alone = alone
        self.body: list[str] = []
        self.outside: dict[str, list[str]] = {"before": [], "modules": [], "after": []}
        self.more: tuple[dict[str, str], dict[str, str]] = {}, {}  # sources before, and after its own
        self.count = 0
        self.port = "wire"  # how the result is declared

    def circuit(self) -> Circuit:
        of, words = self.of, self.words
        steps = self._steps()
        of.others = tuple(e for e in steps if e is not of.subject)
        of.latency = sum(e.registered for e in steps)
        of.handshake = any(e.handshake for e in steps)
        if of.handshake or any(e.reset for e in steps):
            of.active = words.choice(("high", "high", "low"))
        self._write(steps)
        return of

    def _steps(self) -> list[Entry]:
        """The ways of writing, in the order of the data."""
        words, subject = self.words, self.of.subject
        steps = [subject]
        if self.alone:
            return steps
        while words.random() < 0.35 and len(steps) < 3:
            other = words.choice(_PLAIN)
            if not (set(other.options) & {"-y", "-v"} and self.of.frontend == "verilog"):
                steps.insert(words.randrange(len(steps) + 1), other)
        if subject.handshake:
            steps.remove(subject)
            return [*steps, subject]
        style = words.random()
        if subject.registered:
            return [*steps, *([_NAMES["a register"]] if style < 0.2 else [])]
        if style < 0.1:
            steps.insert(words.randrange(len(steps) + 1), _NAMES[words.choice(("a register", "a reset"))])
        elif style < 0.13:
            steps.append(next(iter(GROUPS[PROTOCOLS])))
        return steps

    def _write(self, steps: list[Entry]) -> None:
        of, names = self.of, list(self.of.widths)
        alone = len(names) == 1  # so that a register may stand before the operation
        ahead = [e for e in steps if (alone or not e.registered) and not e.handshake and self.words.random() < 0.4]
        nets = dict(zip(names, names, strict=True))
        for entry in ahead:
            name = self.words.choice(names)
            nets[name] = self._step(entry, nets[name], of.widths[name], tuple(range(1 << of.widths[name])))
        net, values = self._operation(nets), tuple(sorted(set(answers(of.target))))
        behind = [e for e in steps if e not in ahead]
        for entry in behind:
            net = self._step(entry, net, of.width, values, last=entry is behind[-1])
        if net and net != "result":
            self.body.append(f"assign result = {net};")
        self._files()

    def _operation(self, nets: Mapping[str, str]) -> str:
        target, width = self.of.target, self.of.width
        self.body.append(f"wire [{width - 1}:0] now;")
        if target.text:
            text = target.text.replace("@a@", nets["a"]).replace("@b@", nets.get("b", ""))
            self.body.append(f"assign now = {text};")
            return "now"
        inputs = sum(self.of.widths.values())
        rows = [f"    {inputs}'d{i}: table_of = {width}'d{v};" for i, v in enumerate(answers(target))]
        self.body += [f"function [{width - 1}:0] table_of(input [{inputs - 1}:0] i);", "  case (i)", *rows]
        self.body += [f"    default: table_of = {width}'d0;", "  endcase", "endfunction"]
        self.body.append(f"assign now = table_of({{{', '.join(nets.values())}}});")
        return "now"

    def _step(self, entry: Entry, net: str, width: int, values: tuple[int, ...], last: bool = False) -> str:
        """Write an entry; the net that it gives."""
        of, self.count = self.of, self.count + 1
        unique = f"{of.name}_{self.count}"
        to_port = last and entry.kind != "own" and self.words.random() < 0.5
        y = "result" if to_port or entry.handshake else f"{unique}y"
        wrong = of.wrong and entry is of.subject
        operand = self.words.choice(list(of.widths))
        marks = Marks(self.words, of.name, unique, width, values, wrong, net, y, operand, of.active or "high")
        if to_port:
            self.port = entry.kind
        elif entry.kind != "own" and not entry.handshake:
            self.body.append(f"{entry.kind} [{width - 1}:0] {y};")
        self.body.append(marks.filled(entry.text))
        for place, texts in self.outside.items():
            if text := marks.filled(getattr(entry, place)).strip("\n"):
                texts.append(text)
        of.options += map(marks.filled, entry.options)
        for files, into in ((entry.files, of.files), (entry.earlier, of.earlier),
                            (entry.sources, self.more[0]), (entry.later_sources, self.more[1])):  # fmt: skip
            into |= {marks.filled(name): marks.filled(text) for name, text in files.items()}
        for other in [w for k, w in zip(of.options, of.options[1:], strict=False) if k in ("-I", "-y")]:
            of.files.setdefault(f"{other}/none.txt", "")
        return y

    def _files(self) -> None:
        of, folder = self.of, self.of.subject.folder
        own = f"{folder}/{of.name}.sv" if folder else f"{of.name}.sv"
        middle = ("modules", "own") if self.words.random() < 0.5 else ("own", "modules")
        texts = {**self.outside, "own": ["\n".join(self._module())]}
        before, after = self.more
        text = "\n".join(text for place in ("before", *middle, "after") for text in texts[place])
        of.files |= before | after | {own: f"{text}\n"}
        of.sources = [*before, own, *after]

    def _module(self) -> Iterator[str]:
        of = self.of
        ports = [f"input [{w - 1}:0] {n}" for n, w in of.widths.items()]
        ports += ["input clk"] if of.clocked else []
        ports += [f"input {of.reset}"] if of.active else []
        ports += ["input in_valid", "output in_ready", "output out_valid", "input out_ready"] if of.handshake else []
        yield f"module {of.name}({', '.join(ports)}, output {self.port} [{of.width - 1}:0] result);"
        for text in self.body:
            yield from (f"  {line}" if not line.startswith("`") else line for line in text.strip("\n").splitlines())
        yield "endmodule"
