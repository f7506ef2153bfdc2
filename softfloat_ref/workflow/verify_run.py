"""What the stages of a verification share: what was asked, the stages so far, the port map, and the files."""

from __future__ import annotations

import dataclasses
import re
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from softfloat_ref.base.files import write_data
from softfloat_ref.base.search import find_first
from softfloat_ref.diagnosis.parts import ReportDiagnosis
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.draft.design import SourceModule
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.rtl.reading import DesignReading
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.units import Unit
from softfloat_ref.workflow.verification import PORTS, Stage, StageVerdict, VerifyRequest, note_file

WRAPPER: Final = "wrapper.sv"
_IN_LABELS: Final = re.compile("^(rounding = |rule )")  # changes of a unit that its label has


@dataclass
class VerifyRun:
    """A verification, stage by stage. note: called with each stage as it ends; begin: with what begins, in words.

    files: what was written into the folder. ports, ports_file: the port map, and as commands name it; draft_text,
    design, guesses, guesses_sums, enable, not_compared: of its draft; draft_settings: those that simulations
    showed; learned: the same in words. reading: what was read; diagnoses: of failures; differences: of the netlist from
    simulations; ended: how a simulation ended that a proof asks for; names: of other units, as a diagnosis has them.
    """

    request: VerifyRequest
    note: Callable[[Stage], None]
    begin: Callable[[str], None]
    stages: list[Stage] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    guesses: list[str] = field(default_factory=list)
    not_compared: str = ""
    differences: list[str] = field(default_factory=list)
    diagnoses: list[ReportDiagnosis] = field(default_factory=list)
    reading: DesignReading | None = None
    ports: PortMap | None = None
    ports_file: str = ""
    ended: str = ""
    draft_text: str = ""
    design: SourceModule | None = None
    guesses_sums: bool = False
    enable: str = ""
    draft_settings: list[str] = field(default_factory=list)
    learned: list[str] = field(default_factory=list)
    names: dict[Unit, str] = field(default_factory=dict)
    sources: Sources = field(init=False)

    def __post_init__(self) -> None:
        self.sources = self.request.sources

    # -- stages --------------------------------------------------------------------------------------------------------

    @contextmanager
    def stage(self, name: str, words: str) -> Iterator[OpenStage]:
        """A stage of this name. words: what begins."""
        self.begin(words)
        stage, start = OpenStage(), time.monotonic()
        yield stage
        ended = Stage(name, stage.verdict, tuple(stage.lines), stage.command, time.monotonic() - start)
        self.stages.append(ended)
        self.note(ended)

    def recommand(self, name: str, text: str) -> None:
        """Give a stage another command."""
        at = find_first(i for i, stage in enumerate(self.stages) if stage.name == name)
        self.stages[at] = dataclasses.replace(self.stages[at], command=text)

    # -- files and commands --------------------------------------------------------------------------------------------

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder."""
        write_data(self.request.folder / name, text)
        self.files += [name] if name not in self.files else []
        if name == PORTS:
            note_file(self.request.folder, name)

    def path(self, name: str) -> str:
        """A file of the folder, as commands name it."""
        return f"{self.request.shown}/{name}" if self.request.shown else name

    @property
    def ports_path(self) -> Path:
        """The file of the port map."""
        own = self.request.ports_file
        return self.request.folder / PORTS if own is None else Path(own)

    def command(self, name: str, *words: str) -> str:
        """A command that repeats something, if a command asked."""
        return f"softfloat-ref {name} {shlex.join(words)}" if self.request.has_commands else ""

    @property
    def source_words(self) -> tuple[str, ...]:
        """The words for the sources, and for the wrapper if there is one."""
        wrapped = self.sources is not self.request.sources
        return (*self.request.source_words, *((self.path(WRAPPER),) if wrapped else ()))

    # -- units in words ------------------------------------------------------------------------------------------------

    def words(self, unit: Unit) -> tuple[str, ...] | None:
        """The operation and options of a unit; None if options cannot say it."""
        words = self.request.words if unit == self.request.vectors.unit else self.request.options_of(unit)
        return None if words is None else (*words, *self.range_words)

    @property
    def range_words(self) -> tuple[str, ...]:
        """The words for the range of the operands."""
        where = self.request.vectors.where
        return ("--where", where) if where else ()

    @property
    def typed(self) -> tuple[str, ...]:
        """The command that asked, as manifests of vectors have it."""
        return ("softfloat-ref", "verify", *self.request.words, *self.range_words)

    def vectors_command(self, vectors: VectorSet, name: str) -> str:
        """The command that makes vectors; '' if options cannot say it."""
        if (words := self.words(vectors.unit)) is None:
            return ""
        size = ("-n", str(vectors.count)) if not vectors.level else ("--level", vectors.level)
        return self.command("vectors generate", *words, *size, "-o", self.path(name))

    def name(self, unit: Unit) -> str:
        """A unit in words, and the range of its operands."""
        where = self.request.vectors.where
        return f"{self.title(unit)} where {where}" if where else self.title(unit)

    def title(self, unit: Unit) -> str:
        """A unit in words, with what is different from the one that was asked for and is not in its label."""
        words = unit.label.split()
        changes = [x for x in self.names.get(unit, "").split(", ") if x and _IN_LABELS.sub("", x, 1) not in words]
        return f"{unit.label} with {', '.join(changes)}" if changes else unit.label

    def assumed(self) -> Iterator[str]:
        """What is only guessed of the module's ports, and which of its outputs are left out."""
        yield from (f"guessed: {guess}" for guess in self.guesses)
        if self.not_compared:
            yield f"not compared: {self.not_compared}"


@dataclass
class OpenStage:
    """A stage that has not ended."""

    verdict: StageVerdict = "done"
    lines: Sequence[str] = ()
    command: str = ""

    def end(self, verdict: StageVerdict, lines: Sequence[str]) -> None:
        """Give the stage its verdict, and what it found."""
        self.verdict, self.lines = verdict, lines
