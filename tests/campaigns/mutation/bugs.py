"""The bugs of a circuit: its own, by number, and those of tables/CIRCUIT.toml, as other texts of its source."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from softfloat_ref.base.errors import Error

from .circuits import Circuit

TABLES = Path(__file__).parent / "tables"
CORRECT = "the correct circuit"  # that has number 0 in some headers
FIRST = 16  # below it are the numbers of the circuits' input `defect`
_KEYS = {"bug", "edits", "equivalent", "witness", "needs"}


@dataclass(frozen=True)
class Bug:
    """A bug. edits: texts of the source that stand there once, and what stands there instead; none where the circuit
    itself has it. equivalent: why it changes nothing, if so. witness: a setting and the operands that show it.
    needs: what operands must be like to show it, where few do."""

    number: int
    text: str
    edits: tuple[tuple[str, str], ...] = ()
    equivalent: str = ""
    witness: str = ""
    needs: str = ""


def bugs(circuit: Circuit) -> list[Bug]:
    """All the bugs of a circuit, in the order of their numbers."""
    return [*_own(circuit), *_listed(circuit)]


def _own(circuit: Circuit) -> Iterable[Bug]:
    return own_bugs(circuit.source) if circuit.selects_bugs else ()


def own_bugs(source: Path) -> Iterator[Bug]:
    """Those of a source's header, SystemVerilog or VHDL: a number and what it does, maybe on several lines."""
    header = re.split(r"\n(?:module|library)\b", source.read_text())[0]
    listed = re.split(r"plants? a bug|Planted bugs", header)[1]
    for number, text in re.findall(r"^(?://|--) +(\d+)  (.*(?:\n// {7}\S.*)*)", listed, re.M):
        if text != CORRECT:
            yield Bug(int(number), re.sub(r"\n//\s+", " ", text))


def _listed(circuit: Circuit) -> Iterable[Bug]:
    path = TABLES / f"{circuit.name}.toml"
    for number, table in tomllib.loads(path.read_text()).items():
        if not int(number) >= FIRST or not {"bug", "edits"} <= set(table) <= _KEYS:
            raise Error(f"{path.name}: [{number}]: numbers start at {FIRST}, keys are {sorted(_KEYS)}")
        edits = tuple((old, new) for old, new in table["edits"])
        reasons = [" ".join(table.get(key, "").split()) for key in ("equivalent", "witness", "needs")]
        yield Bug(int(number), table["bug"], edits, *reasons)


def module(circuit: Circuit, bug: Bug) -> str:
    """The circuit with the bug, as a module of another name. Raises Error where a text is not there just once."""
    source = circuit.source.read_text()
    for old, new in bug.edits:
        if source.count(old) != 1:
            raise Error(f"{circuit.name} {bug.number}: {old!r} stands {source.count(old)} times in the source")
        source = source.replace(old, new)
    return source.replace(f"\nmodule {circuit.name} ", f"\nmodule {module_name(circuit, bug)} ")


def module_name(circuit: Circuit, bug: Bug) -> str:
    return f"{circuit.name}_{bug.number}" if bug.edits else circuit.name
