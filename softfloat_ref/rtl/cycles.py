"""A module simulated cycle by cycle: inputs from a list, outputs bit by bit, as Icarus or Verilator has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.files import read_text
from softfloat_ref.rtl.bench_runs import Build, EndedError
from softfloat_ref.rtl.module_ports import string_literal
from softfloat_ref.rtl.quick_verilator import QuickVerilator
from softfloat_ref.rtl.simulators import Simulator, Verilator, find
from softfloat_ref.rtl.sources import Sources

SIMULATORS: Final = ("verilator", "icarus")
_TOP: Final = "softfloat_ref_cycles"
_INPUTS_FILE: Final = "cycles.txt"
_OUTPUTS_FILE: Final = "outputs.txt"
_RUN_S: Final = 60.0  # for a build, and for a run
# In each cycle: inputs change while clk is low, outputs are read, clk rises, clk falls.
_BENCH: Final = """
`ifdef VERILATOR
module {top} (input wire tick);
`else
module {top};
  reg tick = 0;
  always #1000000 tick = !tick;
`endif
  reg clk = 0;
  {declared}
  integer given, seen, phase = 0;
  {module} module_under_test (.*);
  initial begin
    given = $fopen({given}, "r");
    seen = $fopen({seen}, "w");
  end
  always @(tick) begin
    if (phase == 0) begin
      if ($fscanf(given, "{read}", {inputs}) != {count}) begin
        $fclose(seen);
        $finish;
      end
      phase <= 1;
    end else if (phase == 1) begin
      $fdisplay(seen, "{printed}", {outputs});
      clk = 1;
      phase <= 2;
    end else begin
      clk = 0;
      phase <= 0;
    end
  end
endmodule
"""


def short_simulator(name: str) -> Simulator:
    """The simulator of that name, for short simulations. Raises Error if it cannot be had."""
    simulator = find(name)
    return QuickVerilator(simulator.executable, root=simulator.root) if isinstance(simulator, Verilator) else simulator


@dataclass(frozen=True)
class CycleBench:
    """A module with an input `clk` that was built with a simulator. inputs, outputs: the other ports, in the order of
    the codes that a cycle has."""

    build: Build
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def run(self, cycles: Iterable[Sequence[int]], plusargs: Iterable[str] = ()) -> list[list[str]]:
        """The outputs of each cycle before clk rises, in binary digits, x and z. Raises Error if the simulation ends
        early, as EndedError."""
        lines = [" ".join(f"{code:x}" for code in codes) for codes in cycles]
        folder = self.build.folder
        (folder / _OUTPUTS_FILE).unlink(missing_ok=True)
        (folder / _INPUTS_FILE).write_text("\n".join([*lines, ""]), encoding="ascii")
        done = self.build.run(plusargs, _RUN_S)
        seen = (
            read_text(folder / _OUTPUTS_FILE, limits.SOURCE, "ascii").splitlines()
            if (folder / _OUTPUTS_FILE).exists()
            else []
        )
        if len(seen) != len(lines):
            name = self.build.tool.name
            after = f"{name}: the simulation ended after {len(seen)} of {len(lines)} cycles"
            raise EndedError(f"{after}: {done.last_words}", done.last_words)
        return [line.split() for line in seen]


def cycle_bench(
    simulator: Simulator,
    module: str,
    text: str,
    inputs: Mapping[str, int],
    outputs: Mapping[str, int],
    sources: Sources,
    defines: Mapping[str, str],
    folder: Path,
    run_in: Path,
) -> CycleBench:
    """Build the module of a text, which instantiates modules of the sources.

    inputs, outputs: the widths of its ports other than `clk`. defines: the macros. folder: of the build; run_in: the
    folder of relative paths in the design. Raises Error if it does not build.
    """
    declared = [f"reg [{width - 1}:0] {name};" for name, width in inputs.items()]
    declared += [f"wire [{width - 1}:0] {name};" for name, width in outputs.items()]
    bench = _BENCH.format(
        top=_TOP,
        module=module,
        declared="\n  ".join(declared),
        given=string_literal(str(folder / _INPUTS_FILE)),
        seen=string_literal(str(folder / _OUTPUTS_FILE)),
        read=" ".join(["%h"] * len(inputs)),
        count=len(inputs),
        inputs=", ".join(inputs),
        printed=" ".join(["%b"] * len(outputs)),
        outputs=", ".join(outputs),
    )
    path = folder / f"{_TOP}.sv"
    path.write_text(f"{text}\n{bench}", encoding="utf-8")
    build = simulator.build(
        [*sources.files, path],
        _TOP,
        work_dir=folder,
        include_dirs=sources.searched,
        defines=defines,
        libraries=sources.libraries,
        run_in=run_in,
    )
    build.make(timeout_s=_RUN_S)
    return CycleBench(build, tuple(inputs), tuple(outputs))
