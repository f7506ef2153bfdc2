"""A module that gives prepared answers in order, one a cycle, and the bench of a port map around it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from benches import CHEAP

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.bench_runs import BenchRun
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.simulators import find
from softfloat_ref.rtl.testbench import bench_text, top_name
from softfloat_ref.units import Line, controls

Bits = str  # of binary digits, x and z
Device = Callable[[Line], dict[str, Bits]]  # what its output ports are, from the right line


def played(vectors: VectorSet, device: Device, ports: str, work: Path) -> tuple[BenchRun, Path]:
    """The run of a bench whose module answers each case as the device does, and the log of its results.

    ports: the port map without the module, its clock and its outputs' names; they are those of the device.
    """
    generate(vectors, work / "vectors")
    manifest = read_manifest(work / "vectors")
    lines = [line for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None]
    table = tomllib.loads(f'module = "played"\nclock = "clk"\nreset = {{ port = "rst" }}\nlatency = 1\n{ports}')
    found = parse_ports(table)
    text = bench_text(manifest, controls(vectors.unit), found, str(work / "vectors"), "a test")
    declared = re.findall(r"\.(\w+)\((stimulus)\[(\d+):(\d+)\]\)", text)
    rows = list(map(device, lines))[found.lanes - 1 :: found.lanes]
    bench, source = work / f"{top_name(found)}.sv", work / "played.sv"
    bench.write_text(text)
    (work / "rows.mem").write_text("\n".join("_".join(row.values()) for row in rows) + "\n")
    source.write_text(
        _module(rows[0], [(name, int(high) - int(low) + 1) for name, _, high, low in declared], len(rows))
    )
    log = work / "log"
    run = find(CHEAP).run(
        [source, bench],
        top_name(found),
        work_dir=work / "w",
        plusargs=[f"+vectors={work / 'vectors'}", f"+rows={work / 'rows.mem'}", f"+results={log}"],
    )
    return run, log


def _module(outputs: dict[str, Bits], inputs: Sequence[tuple[str, int]], count: int) -> str:
    ports = [f"input [{width - 1}:0] {name}" for name, width in inputs]
    ports += [f"output reg [{len(bits) - 1}:0] {name}" for name, bits in outputs.items()]
    width = sum(map(len, outputs.values()))
    return f"""
module played(input clk, input rst, {", ".join(ports)});
  reg [{width - 1}:0] rows [0:{count - 1}];
  reg [8*256-1:0] path;
  integer n = 0;
  initial if ($value$plusargs("rows=%s", path)) $readmemb(path, rows);
  always @(posedge clk) begin
    n <= rst ? 0 : n + 1;
    if (!rst && n < {count}) {{{", ".join(outputs)}}} <= rows[n];
  end
endmodule
"""


def mismatches(run: BenchRun) -> int:
    """The number that a bench counted."""
    counted = re.search(r"^FAIL: (\d+) mismatches", run.output, re.M)
    assert counted or run.passed, run.output
    return int(counted[1]) if counted else 0
