"""Benches of drawn circuits, for both simulators: all inputs, or all of their pairs, against the oracle's answers."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Final

from readings.circuits import Circuit, answers

WIDE: Final = 10  # bits of inputs beyond which not all of their orders are tried
OPERATIONS: Final = 6000  # behind a handshake
PATIENCE: Final = 200  # cycles in which nothing comes
_HEAD: Final = """`resetall
module {name}_tb(output reg done);
  reg [{inputs}-1:0] walk [0:{steps}-1], stim;
  reg [{width}-1:0] want [0:(1<<{inputs})-1];
  wire [{width}-1:0] result;
  reg clk = 0, reset = {idle}, in_valid = 0, out_ready = 0, bad = 0;
  wire in_ready, out_valid;
  integer i, k, only;
  {name} dut({ports});
  task wrong(input [{inputs}-1:0] of); begin
    if (!bad) $display("{name} WRONG step %0d, inputs %h: %b, not %b", i, of, result, want[of]);
    bad = 1;
  end endtask
  task tick; begin #1 clk = 1; #5 clk = 0; #1; end endtask
"""
_RESET: Final = "    #1 reset = {active}; repeat (4) begin #3; tick; end reset = {idle};\n"
_TAIL: Final = """    if (!bad) $display("{name} RIGHT");
    end
    done = 1;
  end
endmodule
"""
_START: Final = """  initial begin
    done = 0; k = 0; $readmemh("{walk}", walk); $readmemh("{want}", want); stim = walk[7];
    only = {number};
    if ($value$plusargs("only=%d", only)) only = only;  // of circuits that were built together
    if (only == {number}) begin
{reset}"""
_STEPS: Final = """    for (i = 0; i < {steps} && !bad; i = i + 1) begin
      stim = walk[i];
      #4 if (result !== want[stim]) wrong(stim);
    end
"""
_CYCLES: Final = """    for (i = 0; i < {steps} && !bad; i = i + 1) begin
      stim = walk[i];
      #3 if (i >= {latency} && result !== want[walk[i - {latency}]]) wrong(walk[i - {latency}]);
      tick;
    end
"""
_OPERATIONS: Final = """    i = 0; quiet = 0; random = 32'h85ebca6b; held = 0; offered = 0;
    while (i < {steps} && quiet < {patience} && !bad) begin
      random = random ^ (random << 13); random = random ^ (random >> 17); random = random ^ (random << 5);
      if (!in_valid && k < {steps} && random[3:0] > 5) begin in_valid = 1; stim = walk[k]; end
      else if (!in_valid) stim = random >> 12;
      out_ready = random[7:4] > 5;
      #3 quiet = quiet + 1;
      offered = in_valid;
      if (offered && in_ready === 1) begin k = k + 1; quiet = 0; end
      else if (offered && in_ready !== 0) wrong(stim);
      if (held && (out_valid !== 1 || result !== was)) wrong(walk[i]);
      held = out_valid === 1 && !out_ready && ^result !== 1'bx;
      was = result;
      if (out_valid === 1 && out_ready) begin
        if (i >= k || result !== want[walk[i]]) wrong(walk[i]);
        i = i + 1; quiet = 0;
      end else if (out_valid !== 1 && out_valid !== 0) wrong(walk[i]);
      if (offered && in_ready === 1) taken = 1; else taken = 0;
      tick;
      if (taken) in_valid = 0;
    end
    if (i < {steps}) wrong(walk[i]);
"""
_STATE: Final = "  integer quiet; reg [31:0] random; reg held, taken, offered; reg [{width}-1:0] was;\n"


@cache
def walk(inputs: int, few: bool) -> tuple[int, ...]:
    """Inputs one after the other: in order, at random, and with a bit or an operand changed at a time."""
    words, count = random.Random(inputs), 1 << inputs
    half = inputs // 2
    turned = [v >> half | (v & (1 << half) - 1) << inputs - half for v in range(count)]
    steps = [*words.sample(range(1, count - 1), 8), *range(count), *reversed(range(count))]
    for _ in range(1 if inputs > WIDE else 6):
        steps += words.sample(range(count), min(count, 1 << WIDE))
    if inputs <= WIDE:
        steps += turned
        steps += [v ^ 1 << bit for v in words.sample(range(count), count // 4) for bit in range(inputs) for v in (v, 0)]
    return tuple(words.choices(steps, k=OPERATIONS)) if few else tuple(steps)


def bench(circuit: Circuit, folder: Path) -> str:
    """The module c5_tb of a circuit c5. folder: where the files that it reads are kept."""
    inputs = sum(circuit.widths.values())
    steps = walk(inputs, circuit.handshake)
    target = circuit.target
    want = _kept(folder / f"want_{target.op}_{target.fmt}.hex", answers(target))
    path = _kept(folder / f"walk_{inputs}_{int(circuit.handshake)}.hex", steps)
    active = int(circuit.active == "high")
    names = {"name": circuit.name, "inputs": inputs, "width": circuit.width, "steps": len(steps), "walk": path,
             "want": want, "ports": _ports(circuit), "latency": circuit.latency, "patience": PATIENCE,
             "active": active, "idle": int(not active) if circuit.active else 0, "number": circuit.number}  # fmt: skip
    names["reset"] = _RESET.format(**names) if circuit.active else "    #1;\n" if circuit.clocked else ""
    run = _OPERATIONS if circuit.handshake else _CYCLES if circuit.clocked else _STEPS
    return "".join(part.format(**names) for part in (_HEAD, _STATE, _START, run, _TAIL))


def _ports(circuit: Circuit) -> str:
    ports, low = [], 0
    for name, width in reversed(circuit.widths.items()):
        ports.append(f".{name}(stim[{low + width - 1}:{low}])")
        low += width
    ports += [".clk(clk)"] if circuit.clocked else []
    ports += [f".{circuit.reset}(reset)"] if circuit.active else []
    ports += [f".{n}({n})" for n in ("in_valid", "in_ready", "out_valid", "out_ready") if circuit.handshake]
    return ", ".join([*ports, ".result(result)"])


def _kept(path: Path, numbers: tuple[int, ...]) -> Path:
    if not path.exists():
        path.write_text("\n".join(f"{n:x}" for n in numbers) + "\n", encoding="utf-8")
    return path


def top(names: list[str]) -> str:
    """A module in which these benches run until all are done."""
    lines = ["`resetall", "module all_tb;", f"  wire [{len(names) - 1}:0] done;"]
    lines += [f"  {name}_tb bench_{name}(done[{i}]);" for i, name in enumerate(names)]
    return "\n".join([*lines, "  initial begin #1 wait (&done === 1'b1); $finish; end", "endmodule", ""])
