"""The port map of a verification: as it was given, or a draft, with what simulations find out of it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from softfloat_ref.rtl.draft import DraftedPortMap, draft
from softfloat_ref.rtl.draft.design import SourceModule, WrapperError, read_design
from softfloat_ref.rtl.draft.vhdl import with_vhdl_codes
from softfloat_ref.rtl.draft.wrapper import wrapper_module, wrapper_text
from softfloat_ref.rtl.module_ports import elaborate
from softfloat_ref.rtl.port_map import read_ports
from softfloat_ref.workflow.verification import PORTS, VerifyRequest
from softfloat_ref.workflow.verify_run import WRAPPER, VerifyRun


def find_ports(run: VerifyRun, vectors: Path) -> None:
    """The stage that gives a run its port map. Raises Error."""
    request = run.request
    with run.stage("port map", f"the ports of {request.module}") as stage:
        if request.ports_file is not None:
            run.ports_file, run.ports = request.ports_file, read_ports(request.ports_file)
            stage.end("done", [f"{request.ports_file}: as it was given"])
            return
        design = _design(request)
        needs_wrapper, run.design = False, design
        try:
            drafted = drafted_ports(run, vectors)
        except WrapperError:
            needs_wrapper, run.design = True, wrapper_module(design)
            drafted = drafted_ports(run, vectors)
        run.guesses_sums, run.enable = drafted.guesses_sums, drafted.enable
        if needs_wrapper:
            run.write(WRAPPER, wrapper_text(design))
            wrapper = Path(os.path.abspath(request.folder / WRAPPER))
            run.sources = dataclasses.replace(run.sources, files=(*run.sources.files, wrapper))
        take_draft(run, drafted)
        run.ports_file = run.path(PORTS)
        run.not_compared = ", ".join(drafted.not_compared)
        stage.end("done", [f"{len(drafted.design.signals)} ports", *run.assumed()])
        stage.command = _command(run)


def drafted_ports(run: VerifyRun, vectors: Path, sums: str = "", settings: Sequence[str] = ()) -> DraftedPortMap:
    """A draft for these vectors. sums: the operands of sums, if they are not a and b; settings: more than were given.
    Raises Error."""
    request = run.request
    assert run.design is not None
    known = (*request.settings, *settings)
    return draft(run.design, vectors, settings=known, protocols=request.protocols, sums=sums)


def take_draft(run: VerifyRun, drafted: DraftedPortMap) -> None:
    """Go on with a draft."""
    run.draft_text, run.ports = drafted.text, drafted.ports
    run.write(PORTS, drafted.text)
    run.guesses = [str(guess) for guess in drafted.guesses]


def settle(run: VerifyRun, *settings: str) -> None:
    """Give the command that drafts the port map what a simulation found out."""
    run.draft_settings += settings
    run.recommand("port map", _command(run, run.draft_settings))


def _command(run: VerifyRun, settings: Iterable[str] = ()) -> str:
    """The command that drafts the port map. settings: what simulations found out."""
    request = run.request
    wrapped = ("--wrapper", run.path(WRAPPER)) if run.sources is not request.sources else ()
    options = [word for line in settings for word in ("--set", line)]
    return run.command(
        "vectors ports", "--top", request.module, *request.source_words, "--vectors", run.path("vectors"),
        *request.draft_words, *options, *wrapped, "-o", run.ports_file,
    )  # fmt: skip


def _design(request: VerifyRequest) -> SourceModule:
    sources = request.sources
    elaborated = elaborate(
        sources.files,
        request.module,
        request.parameters,
        include_dirs=sources.searched,
        defines=sources.defines,
        libraries=sources.libraries,
    )
    return with_vhdl_codes(read_design(elaborated, request.module, request.parameters), sources)
