"""Simulators whose commands are printed, not run: VCS, Questa, Xcelium and Riviera-PRO.

The options are those of the vendors' manuals; the commands have not been run here:
- VCS: "VCS User Guide" (Synopsys), compile-time options -full64 -sverilog -timescale -top -Mdir -o, and C files among
  the sources for DPI;
- Questa: "Questa SIM Command Reference" (Siemens), vlib, vlog -sv -timescale -work, which also compiles C files for
  DPI, and vsim -c -lib -do;
- Xcelium: "Xcelium XRUN User Guide" (Cadence), -64bit -sv -timescale -top -xmlibdirpath -elaborate, C files among the
  sources, and -R, which simulates what was elaborated;
- Riviera-PRO: "Riviera-PRO Manual" (Aldec), vlib, vlog -timescale -work, vsim -c -lib -do -sv_lib, and ccomp -dpi -o,
  which compiles C for DPI.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.rtl.bench_runs import Build
from softfloat_ref.rtl.simulators import Simulator, find

_TIMESCALE: Final = "1ns/1ps"  # of modules without one, where others have one
_LIBRARY: Final = "dpi"


@dataclass(frozen=True)
class Vendor(Simulator):
    """A simulator whose commands are only printed."""

    executable: Path = Path()
    define: ClassVar[str] = "+define+"
    include: ClassVar[str] = "+incdir+"


class Vcs(Vendor):
    """Synopsys VCS: one step builds an executable."""

    name = "vcs"

    def _steps(self, top: str, output: Path, options: list[str], files: list[str]) -> tuple[list[str], ...]:
        command = ["vcs", "-full64", "-sverilog", f"-timescale={_TIMESCALE}", "-top", top]
        return ([*command, f"-Mdir={output / 'csrc'}", "-o", str(output / "simv"), *options, *files],)

    def command(self, top: str, work_dir: Path) -> list[str]:
        return [str(self._output(top, work_dir) / "simv")]


class Xcelium(Vendor):
    """Cadence Xcelium: one program builds and simulates."""

    name = "xcelium"

    def _steps(self, top: str, output: Path, options: list[str], files: list[str]) -> tuple[list[str], ...]:
        command = ["xrun", "-64bit", "-sv", "-timescale", _TIMESCALE, "-top", top, "-xmlibdirpath", str(output)]
        return ([*command, "-elaborate", *options, *files],)

    def command(self, top: str, work_dir: Path) -> list[str]:
        return ["xrun", "-64bit", "-R", "-xmlibdirpath", str(self._output(top, work_dir))]


class Questa(Vendor):
    """Siemens Questa: a library of what was compiled, which is then simulated."""

    name = "questa"

    def _steps(self, top: str, output: Path, options: list[str], files: list[str]) -> tuple[list[str], ...]:
        work = str(output / "work")
        return (["vlib", work], ["vlog", "-sv", "-timescale", _TIMESCALE, "-work", work, *options, *files])

    def command(self, top: str, work_dir: Path) -> list[str]:
        work = str(self._output(top, work_dir) / "work")
        return ["vsim", "-c", "-lib", work, "-do", "run -all; quit -f", top]


class Riviera(Vendor):
    """Aldec Riviera-PRO: as Questa, with a library of the C files, if there are any."""

    name = "riviera"

    def build(self, sources: Iterable[str | Path], top: str, **more: Any) -> Build:
        """As every simulator's; the library of the C files is loaded."""
        build = super().build(sources, top, **more)
        loaded = ["-sv_lib", str(build.output / _LIBRARY)] if build.steps[-1][0] == "ccomp" else []
        return replace(build, command=[*build.command, *loaded])

    def _steps(self, top: str, output: Path, options: list[str], files: list[str]) -> tuple[list[str], ...]:
        work, c_files = str(output / "work"), [file for file in files if file.endswith(".c")]
        others = [file for file in files if file not in c_files]
        steps = (["vlib", work], ["vlog", "-timescale", _TIMESCALE, "-work", work, *options, *others])
        return (*steps, ["ccomp", "-dpi", "-o", str(output / f"{_LIBRARY}.so"), *c_files]) if c_files else steps

    def command(self, top: str, work_dir: Path) -> list[str]:
        work = str(self._output(top, work_dir) / "work")
        return ["vsim", "-c", "-lib", work, "-do", "run -all; endsim; quit -force", top]


VENDORS: Final = {vendor.name: vendor() for vendor in (Vcs, Questa, Xcelium, Riviera)}
NAMES: Final = ("verilator", "icarus", *VENDORS)


def choose_simulator(name: str | None, printed: bool) -> Simulator:
    """The simulator of that name, or the first that is available; one of VENDORS only if its commands are printed.

    Raises Error."""
    if name is None or name in ("verilator", "icarus"):
        return find(name)
    if name not in VENDORS:
        raise unknown("simulator", name, NAMES)
    if not printed:
        raise Error(f"{name} is not started from here: give --print-command, and run the commands that it prints")
    return VENDORS[name]
