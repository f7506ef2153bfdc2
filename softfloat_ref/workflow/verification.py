"""What `verify` is asked, what it finds, stage by stage, and the record that a later run begins with."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import write_data
from softfloat_ref.base.trees import read_json
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.draft.protocols import Protocol
from softfloat_ref.rtl.module_ports import Parameters
from softfloat_ref.rtl.reading import DesignReading, file_hash, list_changes
from softfloat_ref.rtl.simulators import Simulator
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.units import Unit

LIMIT_S: Final = 60.0  # of a question to the solver
PORTS: Final = "ports.toml"
RECORD: Final = "verify.json"
StageVerdict = Literal["done", "passed", "failed", "undecided", "left out"]
_CODES: Final = {"passed": 0, "failed": 1, "undecided": 3}


@dataclass(frozen=True)
class VerifyRequest:
    """What is verified, and how.

    vectors: of the unit that is asked for; words: its operation and options, as a command takes them; source_words: the
    sources and their options, too. module, parameters: what is read of the sources; ports_file: its port map, drafted
    if None; folder: for all files; shown: that folder as commands name it, '' if it is not kept. limit_s: of each
    question to the solver; None: no proof, and no_proof says why; jobs: processes for its cases, None for all
    processors. settings, protocols: as of a draft; draft_words: the
    options that say so, and the parameters. has_commands: whether stages have commands that repeat them. options_of:
    the words for another unit, if options can say it.
    """

    vectors: VectorSet
    words: tuple[str, ...]
    sources: Sources
    source_words: tuple[str, ...]
    module: str
    parameters: Parameters
    ports_file: str | None
    folder: Path
    shown: str
    simulator: Simulator
    timeout_s: float
    limit_s: float | None
    no_proof: str = ""
    jobs: int | None = 1
    settings: tuple[str, ...] = ()
    protocols: tuple[Protocol | str, ...] = ()
    draft_words: tuple[str, ...] = ()
    has_commands: bool = True
    options_of: Callable[[Unit], tuple[str, ...] | None] = lambda unit: None


@dataclass(frozen=True)
class Stage:
    """A stage. lines: what it found; command: that repeats it, '' if none does; seconds: that it took."""

    name: str
    verdict: StageVerdict
    lines: tuple[str, ...]
    command: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Verification:
    """What a module is. title: the module and the unit that was asked for; verdict: passed (nothing differs; proved, if
    a proof was asked for), failed, or undecided (nothing differs, and the proof is open or cannot be had); lines: the
    verdict in words; files: what was written, by path in the folder; guesses: lines of the port map that the sources do
    not say; is_stored: whether this is the result of an earlier run."""

    title: str
    verdict: Literal["passed", "failed", "undecided"]
    lines: tuple[str, ...]
    stages: tuple[Stage, ...]
    files: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    is_stored: bool = False

    @property
    def exit_code(self) -> int:
        """As of commands: 0, 1 or 3."""
        return _CODES[self.verdict]

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that repeat the stages."""
        return tuple(stage.command for stage in self.stages if stage.command)


def save(folder: Path, key: Mapping[str, Any], reading: DesignReading, verification: Verification) -> None:
    """Write the record of a run into its folder. key: what the run depends on beside the files that were read."""
    hashes = {name: file_hash(folder / name) for name in verification.files}
    table = {"key": key, "reading": reading.table(), "files": hashes, "result": dataclasses.asdict(verification)}
    write_data(folder / RECORD, json.dumps(table, indent=1))


def note_file(folder: Path, name: str) -> None:
    """Note a file in the record of a run that has not ended, so that a later run knows who wrote it."""
    write_data(folder / RECORD, json.dumps({"files": {name: file_hash(folder / name)}}))


def load(folder: Path, key: Mapping[str, Any]) -> Verification | None:
    """The result of an earlier run into a folder; None without one, if it had another key, or if a file that it read
    or wrote has changed."""
    table = stored_record(folder)
    try:
        if table.get("key") != json.loads(json.dumps(key)) or any(list_changes(table["reading"])):
            return None
        if any(file_hash(folder / name) != sha256 for name, sha256 in table["files"].items()):
            return None
        result = table["result"]
        stages = tuple(Stage(**{**stage, "lines": tuple(stage["lines"])}) for stage in result["stages"])
        own = {name: tuple(result[name]) for name in ("lines", "guesses")}
        return Verification(**{**result, **own, "stages": stages, "files": tuple(table["files"]), "is_stored": True})
    except (Error, LookupError, TypeError, AttributeError):
        return None


def stored_record(folder: Path) -> dict[str, Any]:
    """The record in a folder; empty without one that can be read."""
    try:
        table = read_json(folder / RECORD, limits.JSON)
    except (Error, OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}
