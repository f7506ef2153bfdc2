"""A bench for vectors in a folder, and its simulation: what it is built from, its build, and its runs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.files import write_data
from softfloat_ref.golden.manifest import read_manifest, require_file
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import check_hashes
from softfloat_ref.rtl.bench_runs import BenchRun, Build
from softfloat_ref.rtl.fit import check_fit
from softfloat_ref.rtl.inputs import read_inputs
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.rtl.reading import DesignReading, Macro, ReadFile
from softfloat_ref.rtl.simulators import FIND, Simulator, is_fst
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.testbench import bench_text, top_name, tops_text
from softfloat_ref.rtl.vhdl_units import PLUSARG, TRACE
from softfloat_ref.units import controls

_VERDICTS: Final = ("PASS", "FAIL", "LOGGED")


@dataclass(frozen=True)
class VectorBench:
    """A bench, and what it is for."""

    folder: Path
    manifest: dict[str, Any]
    vectors: VectorSet
    ports: PortMap
    text: str

    @staticmethod
    def of(folder: Path, ports: PortMap, ports_name: str, guesses: Iterable[str] = ()) -> VectorBench:
        """The bench of a folder of vectors and a port map. ports_name: of the port map, in the bench; guesses: the
        lines of it that its draft guessed. Raises Error."""
        manifest = read_manifest(folder)
        vectors = check_hashes(folder, manifest)
        require_file(folder, manifest, "memh")
        where = f"{folder} and {ports_name}"
        text = bench_text(manifest, controls(vectors.unit), ports, str(folder), where, guesses)
        return VectorBench(folder, manifest, vectors, ports, text)

    @property
    def top(self) -> str:
        """The module of the bench."""
        return top_name(self.ports)

    @property
    def controls(self) -> Any:
        """The values of the control fields of each part of the unit."""
        return controls(self.vectors.unit)

    def write(self, folder: Path) -> Path:
        """Write its text into a folder; the file."""
        path = folder / f"{self.top}.sv"
        write_data(path, self.text)
        return path

    def lines(self, run: BenchRun) -> list[str]:
        """What the bench printed, without what the simulator prints after its verdict."""
        printed = run.output.splitlines()
        verdicts = [i for i, line in enumerate(printed, 1) if line.startswith(_VERDICTS)]
        return printed[: verdicts[-1]] if verdicts else printed

    def passed(self, run: BenchRun) -> bool:
        """Whether a run compared all vectors, and all agreed; where an error is allowed, whether it logged all."""
        count = self.manifest["count"]
        if self.ports.is_judged:
            return run.logged and f"LOGGED: {count} of {count} vectors" in run.output
        return run.passed and f"PASS: {count} of {count} vectors" in run.output


@dataclass(frozen=True)
class BenchSimulation:
    """How benches are built and run. tops: other top modules; arguments: of the build; plusargs: of the run; wave: a
    file, for whose kind it is built."""

    sources: Sources
    simulator: Simulator
    timeout_s: float
    tops: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    plusargs: tuple[str, ...] = ()
    wave: str | None = None

    def build(self, bench: Path, bench_top: str, work: Path) -> Build:
        """The build of a bench in a file, with the other top modules."""
        files, top = [*self.sources.files, bench], bench_top
        if self.tops:
            top = f"{bench_top}_and_tops"
            files.append(work / f"{top}.sv")
            files[-1].write_text(tops_text(top, [bench_top, *self.tops]), encoding="utf-8")
        sources = self.sources
        wave_arguments = [] if self.wave is None else self.simulator.wave_arguments(is_fst(self.wave))[0]
        build_arguments = [str(Path(text).resolve()) if Path(text).is_file() else text for text in self.arguments]
        return self.simulator.build(
            files,
            top,
            work_dir=work,
            include_dirs=sources.searched,
            defines={**sources.defines, **({} if sources.vhdl is None else {TRACE: "1"})},
            libraries=sources.libraries,
            arguments=[*wave_arguments, *build_arguments],
            run_in=Path.cwd(),
        )

    def run(
        self, bench: VectorBench, build: Build, log: Path, start: float, reading: DesignReading | None = None
    ) -> BenchRun:
        """The run of a bench, which is built unless `build` is current. log: for its results; start: of the time limit,
        on the monotonic clock; reading: if it is known. Raises Misfit for a bench that does not fit the module,
        ToolError, NetlistError for VHDL that is not its netlist, and Error."""
        if not build.is_current():
            build.make(reading or self.reading(bench, build), self.timeout_s)
        plusargs = [*self.runtime(bench), f"+results={log}", *([FIND] if self.wave else [])]
        trace = build.folder / f"{build.top}.trace.txt"
        plusargs += [f"+{PLUSARG}={trace}"] if self.sources.vhdl is not None else []
        run = build.run(plusargs, self.left(start))
        if self.sources.vhdl is not None:
            self.sources.vhdl.with_ports(bench.ports).check(trace)
        return run

    def runtime(self, bench: VectorBench) -> tuple[str, ...]:
        """The plusargs of a run of this bench."""
        return (f"+vectors={bench.folder.resolve()}", *self.plusargs)

    def reading(self, bench: VectorBench, build: Build) -> DesignReading:
        """What the build reads. Raises Misfit if the bench does not fit the module."""
        macro = {self.simulator.macro: Macro("1", self.simulator.name)}
        module = check_fit(
            bench.manifest,
            bench.controls,
            bench.ports,
            self.sources.files,
            include_dirs=self.sources.searched,
            defines={**{name: definition.value for name, definition in macro.items()}, **self.sources.defines},
            libraries=self.sources.libraries,
        )
        paths = (Path(argument) for step in build.steps for argument in step[1:])
        others = (path for path in paths if path.is_file() and build.output not in path.parents)
        reading = read_inputs(module, self.sources, macro, first=build.folder)
        return reading.adding(ReadFile.of(path, "build") for path in others)

    def left(self, start: float) -> float:
        """The seconds left of the time limit, for a start on the monotonic clock."""
        return self.timeout_s - (time.monotonic() - start)
