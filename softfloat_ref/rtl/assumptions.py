"""What a port map assumes of a module, and no vector shows: its latency, the level of its reset, inputs that are held
constant, and the lines that a draft guessed. Where nearly everything mismatches, these are the first to suspect."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from softfloat_ref.rtl.port_map import ConstantPort, PortMap

_KEYS: Final = ("clock", "lanes", "latency", "reset", "held", "guess")
_NOTE: Final = re.compile(rf"//\s*port map: ({'|'.join(_KEYS)}): (.{{1,120}})")
_NO_CLOCK: Final = "none"
_PAUSES: Final = ", with pauses"
_MAX_SHOWN: Final = 100  # characters of a line of the port map
_MAX_LINES: Final = 64  # of a kind


@dataclass(frozen=True)
class PortAssumptions:
    """The assumptions of a port map, as texts. clock: its port, or "none"; '' if no port map is known. latency: if it
    is fixed; pauses: whether there are any between operations; lanes: vectors in an operation."""

    clock: str = ""
    lanes: int = 1
    latency: int | None = None
    pauses: bool = False
    reset: str = ""
    held: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()

    @staticmethod
    def of(ports: PortMap, guesses: Iterable[str] = ()) -> PortAssumptions:
        """Those of a port map. guesses: the lines of it that were guessed."""
        reset = f"{ports.reset.port}, active {ports.reset.active}" if ports.reset else ""
        held = tuple(f"{p.name} = {p.value}" for p in ports.inputs if isinstance(p, ConstantPort))
        clock, pauses = ports.clock or _NO_CLOCK, "in_valid" in ports.handshake
        return PortAssumptions(clock, ports.lanes, ports.latency, pauses, reset, held, tuple(guesses))

    def notes(self) -> list[str]:
        """The comments with which the log of a bench says so."""
        latency = [f"{'varies' if self.latency is None else self.latency}{_PAUSES}"] if self.pauses else []
        latency = latency or ([] if self.latency is None else [str(self.latency)])
        lanes, reset = [str(self.lanes)] * (self.lanes > 1), [self.reset] * bool(self.reset)
        rows = zip(_KEYS, ([self.clock], lanes, latency, reset, self.held, self.guesses), strict=True)
        return [f"port map: {key}: {text[:_MAX_SHOWN]}" for key, texts in rows for text in texts[:_MAX_LINES]]

    def noted(self, comment: str) -> PortAssumptions:
        """The same with what a comment of a log says."""
        match = _NOTE.fullmatch(comment.strip())
        if match is None:
            return self
        key, text = match[1], match[2]
        if key == "latency":
            number = text.removesuffix(_PAUSES)
            return replace(self, latency=int(number) if number.isdecimal() else None, pauses=text != number)
        if key == "lanes":
            return replace(self, lanes=int(text)) if text.isdecimal() and int(text) else self
        if key in ("clock", "reset"):
            return replace(self, clock=text) if key == "clock" else replace(self, reset=text)
        if key == "held":
            return replace(self, held=(*self.held, text)[:_MAX_LINES])
        return replace(self, guesses=(*self.guesses, text)[:_MAX_LINES])

    def of_shift(self, late: int) -> tuple[str, ...]:
        """What to change where answers come some lines late (early: less than 0)."""
        if self.latency is None:
            when = "before its result" if late > 0 else "after its result"
            return (f"out_valid comes {when}, or results need a [tag]",) if self.pauses else ()
        by = late // self.lanes
        if late % self.lanes or self.latency + by < 0:
            return ()
        cycles, way = f"{abs(by)} cycle{'s' * (abs(by) > 1)}", "later" if by > 0 else "earlier"
        return (
            f"results come {cycles} {way} than the port map says: latency = {self.latency + by}, not {self.latency}",
        )

    def of_sticky_flags(self) -> tuple[str, ...]:
        """What to change where flags are those of all operations so far."""
        if self.clock == _NO_CLOCK:
            return ("the module has no clock: a latch holds them",)
        return ("if they are meant to, say so in the port map: [sticky], with clear = PORT where they can be cleared",)

    @property
    def marked_held(self) -> tuple[str, ...]:
        """The inputs that are held constant; those that a draft guessed are marked."""
        return tuple(self._marked(text.split()[0], text) for text in self.held)

    def _marked(self, name: str, text: str) -> str:
        return f"{text} (a guess)" if name in map(_name, self.guesses) else text

    def lines(self) -> list[str]:
        """All of them in words, a line each; what a draft guessed is marked."""
        rows = [("reset", f"the reset is {self.reset}")] if self.reset else []
        rows += [("latency", f"latency = {self.latency}")] if self.latency is not None else []
        shown = [self._marked(name, text) for name, text in rows]
        shown += [f"held at a constant: {text}" for text in self.marked_held]
        known = {*(name for name, _ in rows), *(text.split()[0] for text in self.held)}
        return [*shown, *(f"guessed: {line}" for line in self.guesses if _name(line) not in known)]


def _name(line: str) -> str:
    """The key of a line of a port map."""
    return line.split("=")[0].strip()


def guessed_lines(text: str) -> Iterable[str]:
    """The lines of a port map that its draft marked as guesses; the mark of a long line stands in the line before."""
    before = ""
    for line in map(str.strip, text.splitlines()):
        marked = before if before.startswith("# guess:") else ""
        if line and not line.startswith("#") and (marked or re.search(r"#.*\bguess\b", line)):
            yield " ".join(f"{line} {marked}".split())
        before = line
