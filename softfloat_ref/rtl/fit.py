"""Whether a bench fits its module: what a simulator says, while it builds, of the bench's `dut` instance.

Simulators only warn of a port of another width, an input that nothing drives, or a parameter that does not exist, and
what they then simulate may well agree with the vectors. So each of these is a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from softfloat_ref.errors import Error

# Of Verilator: text after the place; of Icarus: the same. Groups: port, the module's width, the bench's width.
_WIDTHS: Final = (
    re.compile(r"port connection '(\S+)' expects (\d+) bits.* generates (\d+) bits"),
    re.compile(r"Port \d+ \((\S+)\) of \S+ expects (\d+) bits, got (\d+)"),
)
_NO_PARAMETER: Final = re.compile(r"parameter (?:not found: )?['`]*(\w+)['`]*(?: not found|$)", re.IGNORECASE)
_NO_PORT: Final = re.compile(r"Pin not found: '(\S+)'|port ['`]*(\w+)['`]* is not a port of")
_MISSING: Final = re.compile(r"has missing pin: '(\S+)'")
_DANGLING: Final = re.compile(r"with dangling input port \d+ \((\S+)\)")
_COMMENT: Final = re.compile(r"//.*?$|/\*.*?\*/", re.DOTALL | re.MULTILINE)


class Misfit(Error):
    """A bench that does not fit its module. lines: what does not, one port or parameter each."""

    def __init__(self, top: str, lines: Sequence[str]) -> None:
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        super().__init__(f"{top} does not fit its module: {lines[0]}{more}")
        self.lines = tuple(lines)


def misfits(log: str, bench: Path, sources: Iterable[Path]) -> list[str]:
    """What a simulator's build log says against the bench's instance: one line each, with what to do."""
    found = (_misfit(text, sources) for text in _said_of(log, bench))
    return list(dict.fromkeys(line for line in found if line))


def _said_of(log: str, bench: Path) -> Iterator[str]:
    """The messages of a log that are about one file, without their places."""
    for line in log.splitlines():
        _, place, text = line.partition(f"{bench}:")
        if place:
            yield re.sub(r"^[\d:]*\s*((warning|error|sorry):)?\s*", "", text)


def _misfit(text: str, sources: Iterable[Path]) -> str | None:
    for pattern in _WIDTHS:
        if found := pattern.search(text):
            port, has, given = found.groups()
            return f"port {port} has {_bits(has)} in the module and {given} in the port map; give its bits, or width"
    if found := _NO_PARAMETER.search(text):
        return f"the module has no parameter {found[1]}; correct its name under [parameters]"
    if found := _NO_PORT.search(text):
        return f"the module has no port {found[1] or found[2]}; correct its name in the port map"
    found = _DANGLING.search(text)
    if found is None:
        found = _MISSING.search(text)  # said of outputs too, which may be left open
        if found is None or _direction(found[1], sources) in ("output", "inout"):
            return None
    return f"input {found[1]} of the module is not in the port map; hold it: {found[1]} = {{ value = 0 }}"


def _bits(count: str) -> str:
    return f"{count} bit" if count == "1" else f"{count} bits"


def _direction(port: str, sources: Iterable[Path]) -> str | None:
    """The direction a port is declared with, as near as text shows it; None where no source declares it."""
    words = re.compile(rf"\b(?:(input|output|inout|endmodule)|({re.escape(port)}))(?![\w$])")
    for source in sources:
        direction = None
        for word in words.finditer(_COMMENT.sub(" ", source.read_text(encoding="utf-8", errors="replace"))):
            if word[2] and direction:
                return direction
            direction = (None if word[1] == "endmodule" else word[1]) if word[1] else None
    return None
