"""A bench that drives a circuit and many wrong copies of it side by side, and says at which case each copy first
differs from what is expected."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.writers import positions, word_width
from softfloat_ref.rtl.simulators import Simulator, find

from .bugs import Bug, module, module_name
from .circuits import Circuit, Setting

TOP = "campaign"
TIMEOUT_S = 3600

_BENCH = """\
// Every copy gets the same words in the same cycles. Copy 0 is the correct circuit: its handshake is the bench's, and
// another's that differs is a mismatch. Each copy's first mismatch is printed, with the number of the case.
module {top};
  localparam int COPIES = {copies};
  localparam int WORD   = {word};
  localparam int OUT    = {out};                        // the word's low bits: what must come out
  localparam int QUEUE  = 8;
  localparam int STALL  = 40;                           // cycles without a result, after which there comes none

  string           path;
  int              file, status, sent, done, quiet, cycle, standing;
  logic            clk, rst_n, in_valid, out_ready, more, taken, due;
  logic [WORD-1:0] word;
  logic [OUT-1:0]  expected, queue[0:QUEUE-1], got[0:COPIES-1];
  logic            fallen[0:COPIES-1], in_ready[0:COPIES-1], out_valid[0:COPIES-1];
{declarations}
{instances}

  task next_word;
    status = $fscanf(file, "%h", word);
    more   = status == 1;
  endtask

  task compare;
    for (int i = 0; i < COPIES; i = i + 1)
      if (!fallen[i] && (out_valid[i] !== out_valid[0] || in_ready[i] !== in_ready[0] || (due && got[i] !== expected)))
      begin
        fallen[i] = 1;
        standing  = standing - 1;
        $display("FALLEN %0d %0d", i, due || done == 0 ? done + 1 : done);
      end
  endtask

  task drive;
    standing = COPIES;
    sent     = 0;
    done     = 0;
    quiet    = 0;
    cycle    = 0;
    in_valid = 0;
    clk      = 0;
    rst_n    = 0;
    for (int i = 0; i < COPIES; i = i + 1) fallen[i] = 0;
    #1 clk = 1;
    #1 clk = 0;
    #1 rst_n = 1;
    next_word;
    while (quiet < STALL && standing > 1) begin
      in_valid  = more && (in_valid || cycle % 7 != 3);
      out_ready = {out_ready};
{inputs}
      #1;
      due      = {due};
      expected = {expected};
      taken    = in_valid && in_ready[0];
      quiet    = due || taken ? 0 : quiet + 1;
      compare;
      if (due && out_ready) done = done + 1;
      if (taken) begin
        queue[sent%QUEUE] = word[OUT-1:0];
        sent              = sent + 1;
      end
      #1 clk = 1;
      #1 clk = 0;
      if (taken) begin
        in_valid = 0;
        next_word;
      end
      cycle = cycle + 1;
    end
    if (standing > 1 && done != sent) $display("FALLEN 0 %0d", done);
  endtask

  initial begin
    if ($value$plusargs("cases=%s", path)) begin
{controls}
      file = $fopen(path, "r");
      drive;
      $display("DONE %0d", done);
    end
    $finish(0);
  end
endmodule
"""


@dataclass(frozen=True)
class Falls:
    """What a run said: how many cases there were, and for each bug that showed, by number, the case it showed at."""

    cases: int
    at: dict[int, int]


class Bench:
    """A circuit's bench, built in a folder when it is made. Raises Error where it does not build."""

    def __init__(self, circuit: Circuit, bugs: Sequence[Bug], work: Path, simulator: Simulator | None = None) -> None:
        self.circuit, self.bugs, self.work = circuit, tuple(bugs), work
        self._simulator = simulator or find()
        work.mkdir(parents=True, exist_ok=True)
        bench, copies = work / f"{TOP}.sv", work / f"{circuit.name}_copies.sv"
        bench.write_text(bench_text(circuit, bugs))
        copies.write_text("\n".join(module(circuit, b) for b in bugs if b.edits))
        sources = [bench, circuit.source, copies]
        run = self._simulator.run(sources, TOP, work_dir=work, timeout_s=TIMEOUT_S)
        if run.returncode:
            raise Error(f"{circuit.name}: the bench does not start: {run.output}")

    def run(self, cases: Path, setting: Setting) -> Falls:
        """Run a file of words, one case a line. Raises Error where the correct circuit differs from it."""
        controls = [f"+{name}={value}" for name, value in setting.controls.items()]
        command = [*self._simulator.command(TOP, self.work), f"+cases={cases}", *controls]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=self.work, check=False)
        count = re.search(r"^DONE (\d+)$", done.stdout, re.M)
        fallen = {int(i): int(at) for i, at in re.findall(r"^FALLEN (\d+) (\d+)$", done.stdout, re.M)}
        if done.returncode or count is None or 0 in fallen or int(count[1]) == 0:
            raise Error(f"{self.circuit.name} {setting.name}: the correct circuit fails on {cases}: {done.stdout}")
        return Falls(int(count[1]), {self.bugs[i - 1].number: at for i, at in fallen.items()})


def bench_text(circuit: Circuit, bugs: Sequence[Bug]) -> str:
    """The bench for copies of the circuit with these bugs; copy 0 has none."""
    lsb = positions(circuit.fields)
    operands = [f for f in circuit.fields if f.role == "operand"]
    results = [f for f in circuit.fields if f.role in ("result", "flags")]
    wide = {f.name: f.width * f.lanes for f in operands}
    declared = [f"  logic [{n - 1}:0] {name};" for name, n in [*wide.items(), *circuit.controls.items()]]
    read = [f'      if (!$value$plusargs("{name}=%d", {name})) {name} = 0;' for name in circuit.controls]
    copies = (Bug(0, ""), *bugs)
    return _BENCH.format(
        top=TOP,
        copies=len(copies),
        word=word_width(circuit.fields),
        out=sum(4 * f.digits * f.lanes for f in results),
        declarations="\n".join(declared),
        instances="\n".join(line for i, b in enumerate(copies) for line in _instance(circuit, i, b)),
        inputs="\n".join(f"      {name} = word[{lsb[name]}+:{n}];" for name, n in wide.items()),
        out_ready="cycle % 7 != 3 && cycle % 11 < 9" if circuit.handshake else "1",
        due="out_valid[0]" if circuit.latency else "in_valid",
        expected="queue[done%QUEUE]" if circuit.latency else "word[OUT-1:0]",
        controls="\n".join(read),
    )


def _instance(circuit: Circuit, i: int, bug: Bug) -> Iterator[str]:
    """Copy number i: the module with the bug, its outputs as the memory words have them."""
    ports = [f.name for f in circuit.fields if f.role == "operand"] + list(circuit.controls)
    wires = []
    for f in (f for f in circuit.fields if f.role in ("result", "flags")):
        port, width, padding = f"{f.name}_{i}", f.width * f.lanes, (4 * f.digits - f.width) * f.lanes
        yield f"  wire [{width - 1}:0] {port};"
        wires += [f"{padding}'d0", port] if padding else [port]
        ports.append(f"{f.name}({port})")
    if circuit.latency:
        ports += ["clk", "rst_n", "in_valid", f"out_valid(out_valid[{i}])"]
    else:
        yield f"  assign out_valid[{i}] = 1'b1;"
    if circuit.handshake:
        ports += ["out_ready", f"in_ready(in_ready[{i}])"]
    else:
        yield f"  assign in_ready[{i}] = 1'b1;"
    if circuit.selects_bugs:
        ports.append(f"defect({0 if bug.edits else bug.number})")
    connected = ", ".join(f".{p}" if "(" in p else f".{p}({p})" for p in ports)
    yield f"  {module_name(circuit, bug)} copy_{i} ({connected});"
    yield f"  assign got[{i}] = {{{', '.join(wires)}}};"
