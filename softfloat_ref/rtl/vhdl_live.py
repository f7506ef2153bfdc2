"""A VHDL entity that GHDL simulates beside a bench in SystemVerilog, of which no netlist is needed.

A module stands for the entity: it sends each state of its inputs to GHDL through a named pipe, and gets the outputs
through another one. GHDL's side is the bench that replays inputs (vhdl_ports).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import make_pipe, pipe_end, read_text
from softfloat_ref.rtl.bench_runs import Build
from softfloat_ref.rtl.vhdl_ports import REPLAY, RESPONSES, STIMULI

PIPES: Final = "softfloat_ref_pipes"  # the plusarg that names the folder of the pipes
MODULE: Final = """\
// SPDX-License-Identifier: 0BSD
// {name} of VHDL, as GHDL simulates it at the same time.
module {name}{parameters} (
{ports}
);
  integer {own}to = 0, {own}from, {own}length, {own}i;
  string {own}folder;
  reg [8*{chars}-1:0] {own}line;
  wire [{inputs_high}:0] {own}inputs = {{{inputs}}};  // Icarus writes no expressions
  reg [{outputs_high}:0] {own}outputs;
  assign {{{outputs}}} = {own}outputs;
  always @({own}inputs) if ({own}to != 0 || ^{own}inputs !== 1'bx) begin  // none is defined before the first operation
    if ({own}to == 0) begin
      if (!$value$plusargs("{pipes}=%s", {own}folder)) {own}folder = ".";
      {own}to = $fopen({{{own}folder, "/{stimuli}"}}, "w");
      {own}from = $fopen({{{own}folder, "/{responses}"}}, "r");
    end
    $fdisplay({own}to, "%b", {own}inputs);
    $fflush({own}to);
    {own}length = $fgets({own}line, {own}from);
    if ({own}length == 0) $finish;
    for ({own}i = 0; {own}i <= {outputs_high}; {own}i = {own}i + 1)
      case ({own}line[8*({own}i+1)+:8])  // after the end of the line
        "0": {own}outputs[{own}i] = 1'b0;
        "1": {own}outputs[{own}i] = 1'b1;
`ifdef VERILATOR
        default: {own}outputs[{own}i] = 1'($urandom);  // which has no X
`else
        default: {own}outputs[{own}i] = 1'bx;
`endif
      endcase
  end
{evidence}
endmodule
"""
_EDGE: Final = re.compile(r"\b(?:(rising|falling)_edge\s*\(\s*(\w+)\s*\)|(\w+)\s*'\s*event\b)", re.IGNORECASE)
_TEST: Final = re.compile(r"\bif\s*\(?\s*(\w+)\s*=\s*'([01])'", re.IGNORECASE)
_PATIENCE_S: Final = 2.0
_FAILURE: Final = re.compile(r"failure\)|:error: (?!simulation failed|assertion failed)", re.IGNORECASE)


def evidence(texts: Iterable[str], ports: Iterable[str]) -> str:
    """Statements that use ports as the VHDL does, for a draft of the port map: edges, and levels that are tested."""
    known = {name.lower(): name for name in ports}
    uses = dict[str, None]()
    for text in texts:
        for edge, name, event in _EDGE.findall(text):
            if port := known.get((name or event).lower()):
                uses[f"  always @({'neg' if edge.lower() == 'falling' else 'pos'}edge {port}) ;"] = None
        for name, level in _TEST.findall(text):
            if port := known.get(name.lower()):
                uses.setdefault(f"  always @({port}) if ({'' if level == '1' else '!'}{port}) ;")
    return "\n".join(uses)


def failure_line(output: str) -> str:
    """What ended a simulation, in what GHDL printed. Raises Error for inputs that the ports' types do not have."""
    lines = output.strip().splitlines()
    line = next((line for line in lines if _FAILURE.search(line)), lines[-1] if lines else "it printed nothing")
    if f"{REPLAY}.vhd" in line:
        raise Error(f"GHDL: a port does not take a value that it is given: {line}")
    return line


class Device(tuple[str, ...]):
    """The plusargs of a bench for what simulates beside it. line: why that ended, if it ended by itself."""

    line: str = ""


@contextmanager
def live_unit(build: Build) -> Iterator[Device]:
    """GHDL's side of a simulation: the bench that was built. It ends with the context, which then knows why. Raises
    Error."""
    folder = build.folder
    for name in (STIMULI, RESPONSES):
        make_pipe(folder / name)
    log, over = folder / f"{REPLAY}.run.log", threading.Event()
    with log.open("wb") as sink:
        process = _started(build, sink)
        device = Device([f"+{PIPES}={folder}"])
        waiter = threading.Thread(target=_release, args=(process, folder, over), daemon=True)
        waiter.start()
        try:
            yield device
            with suppress(subprocess.TimeoutExpired):  # it ends with its inputs
                process.wait(_PATIENCE_S)
        finally:
            over.set()
            code = process.poll()
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            waiter.join()
    if code not in (None, 0):
        device.line = failure_line(read_text(log, limits.SOURCE, errors="replace"))


def _started(build: Build, sink: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            build.command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            cwd=build.folder,
            start_new_session=True,
        )
    except OSError as failure:
        raise Error(f"cannot start {build.command[0]}: {failure.strerror}") from None


def _release(process: subprocess.Popen[bytes], folder: Path, over: threading.Event) -> None:
    """After GHDL has ended, let the other side open its pipes, and read their end."""
    while process.poll() is None:
        if over.wait(0.05):
            return
    with pipe_end(folder / STIMULI, os.O_RDONLY):
        while not over.wait(0.05):
            with suppress(OSError), pipe_end(folder / RESPONSES, os.O_WRONLY):  # if the other side waits
                pass
