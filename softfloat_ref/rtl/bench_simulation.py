"""A bench for vectors in a folder, and its simulation: what it is built from, its build, and its runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.files import make_folder, read_text, write_data
from softfloat_ref.base.search import find_first
from softfloat_ref.golden.manifest import read_manifest, require_file
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import check_hashes
from softfloat_ref.rtl.bench_runs import BenchRun, Build, EndedError, TimeLimitError
from softfloat_ref.rtl.fit import check_fit
from softfloat_ref.rtl.inputs import read_inputs
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.rtl.reading import DesignReading, Macro, ReadFile
from softfloat_ref.rtl.simulators import FIND, Simulator, dump, is_fst
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.testbench import bench_text, top_name, tops_text
from softfloat_ref.rtl.vhdl_live import Device, live_unit
from softfloat_ref.rtl.vhdl_units import PLUSARG, TRACE, NetlistError, simulated_by_ghdl
from softfloat_ref.units import controls

_VERDICTS: Final = ("PASS", "FAIL", "LOGGED")
_SHOWN_LANES: Final = 4  # of an input
_SHOWN_VECTORS: Final = 8  # in flight


@dataclass(frozen=True)
class VectorBench:
    """A bench, and what it is for. timed: whether the latency is known, if it is fixed."""

    folder: Path
    manifest: dict[str, Any]
    vectors: VectorSet
    ports: PortMap
    text: str
    timed: bool = True

    @staticmethod
    def of(folder: Path, ports: PortMap, ports_name: str, guesses: Iterable[str] = ()) -> VectorBench:
        """The bench of a folder of vectors and a port map. ports_name: of the port map, in the bench; guesses: the
        lines of it that its draft guessed. Raises Error."""
        guesses, manifest = tuple(guesses), read_manifest(folder)
        vectors = check_hashes(folder, manifest)
        require_file(folder, manifest, "memh")
        where = f"{folder} and {ports_name}"
        text = bench_text(manifest, controls(vectors.unit), ports, str(folder), where, guesses)
        timed = not any(line.startswith("latency") for line in guesses)
        return VectorBench(folder, manifest, vectors, ports, text, timed)

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

    def ended_lines(self, run: BenchRun) -> list[str]:
        """What is known of a simulation that ended before its verdict: where, and with which operands."""
        count = self.manifest["count"]
        if run.flying is None:
            return [f"FAIL: the simulation ended: {run.ended}"]
        done, flying = run.flying
        first, last = done * self.ports.lanes + 1, min((done + flying) * self.ports.lanes, count)
        if not flying:
            at = f"after vector {min(first - 1, count)}" if done else "before the first vector"
            return [f"FAIL: the simulation ended {at} of {count}: {run.ended}"]
        at = f"at vector {first}" if first == last else f"with vectors {first} to {last} in flight,"
        if not self.timed:
            first, at = max(1, last - _SHOWN_VECTORS + 1), f"at or before vector {last}"
        shown = range(first, min(last, first + _SHOWN_VECTORS - 1) + 1)
        operands = [f"vector {number}: {text}" for number, text in zip(shown, self._operands(shown), strict=True)]
        return [f"FAIL: the simulation ended {at} of {count}: {run.ended}", *operands]

    def _operands(self, numbers: Iterable[int]) -> Iterator[str]:
        """The inputs of some vectors, from their file."""
        name = find_first(f["name"] for f in self.manifest["files"] if f["name"].endswith(".memh"))
        lines = read_text(self.folder / name, limits.SOURCE).splitlines()
        words = [line for line in lines if line and not line.startswith("/")]
        for number in numbers:
            codes, shown = iter(words[number - 1].split("_")), list[str]()
            for f in self.manifest["fields"]:
                lanes = list(islice(codes, f["lanes"]))[::-1]
                if f["role"] not in ("result", "flags", "intermediate"):
                    more = f" and {len(lanes) - _SHOWN_LANES} more" if len(lanes) > _SHOWN_LANES else ""
                    shown.append(f"{f['name']} = {' '.join(lanes[:_SHOWN_LANES])}{more}")
            yield ", ".join(shown)

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

    def run(self, bench: VectorBench, build: Build, log: Path, reading: DesignReading | None = None) -> BenchRun:
        """The run of a bench, which is built unless `build` is current. log: for its results; reading: if it is known.
        If the simulation ends before its verdict, it is run again to see where. Raises Misfit for a bench that does not
        fit the module, ToolError, NetlistError for VHDL that is not its netlist, and Error."""
        if not build.is_current():
            build.make(reading or self.reading(bench, build), self.timeout_s)
        plusargs = [*self.runtime(bench), f"+results={log}", *([FIND] if self.wave else [])]
        try:
            run = self._run_once(bench, build, plusargs)
        except EndedError as e:  # the netlist goes on
            return self._by_ghdl(bench, build, log) or BenchRun(1, "", e.line)
        if not run.ended:
            return run
        if self._is_netlist:
            if (by_ghdl := self._by_ghdl(bench, build, log)) is None:
                raise NetlistError(f"the netlist of {bench.ports.module} ends ({run.ended}), and GHDL's simulation not")
            return by_ghdl
        progress = build.folder / f"{build.top}.progress.txt"
        progress.unlink(missing_ok=True)
        self._run_once(bench, build, [*plusargs, f"+progress={progress}"])
        return replace(run, flying=_flying(progress))

    @property
    def _is_netlist(self) -> bool:
        return self.sources.vhdl is not None and not self.sources.vhdl.live

    def _run_once(self, bench: VectorBench, build: Build, plusargs: Sequence[str]) -> BenchRun:
        trace = build.folder / f"{build.top}.trace.txt"
        traced = [f"+{PLUSARG}={trace}"] if self._is_netlist else []
        with self._device(bench, build) as device:
            run = _run(build, [*plusargs, *device, *traced], self.timeout_s)
        if self._is_netlist and not run.ended:
            self.sources.vhdl.with_ports(bench.ports).check(trace)
        return replace(run, ended=device.line or run.ended) if run.ended else run

    def _by_ghdl(self, bench: VectorBench, build: Build, log: Path) -> BenchRun | None:
        """The run of a bench beside GHDL's simulation, to see where that ends; None if it does not."""
        sources = simulated_by_ghdl(self.sources, bench.ports.module, bench.ports.parameters)
        beside, folder = replace(self, sources=sources, wave=None), make_folder(build.folder / "ghdl")
        run = beside.run(bench, beside.build(bench.write(folder), bench.top, folder), log)
        return run if run.ended else None

    @contextmanager
    def _device(self, bench: VectorBench, build: Build) -> Iterator[Device]:
        """What simulates the module beside a bench, if GHDL does. Raises Error."""
        vhdl = self.sources.vhdl
        if vhdl is None or not vhdl.live:
            yield Device()
            return
        replay = vhdl.with_ports(bench.ports).replay(make_folder(build.folder / f"{build.top}.vhdl"))
        replay.make(timeout_s=self.timeout_s)
        with live_unit(replay) as device:
            yield device

    def dump(self, bench: VectorBench, build: Build, first: BenchRun) -> str:
        """Dump the cycles around the first failure of a run; the result in words. Raises Error."""
        assert self.wave is not None
        if first.ended:
            return f"{self.wave}: not written, since the simulation ended"
        with self._device(bench, build) as device:
            plusargs = (*self.runtime(bench), *device)
            return dump(self.simulator, build, plusargs, self.wave, first, self.timeout_s)

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


def _run(build: Build, plusargs: Iterable[str], left_s: float) -> BenchRun:
    """A run of a bench; it ends by itself, or at the time limit."""
    try:
        run = build.run(plusargs, left_s)
    except TimeLimitError as e:
        return BenchRun(1, "\n".join(e.shown), e.reason)
    return run if run.has_verdict else replace(run, ended=run.last_words)


def _flying(progress: Path) -> tuple[int, int] | None:
    """The last line of a bench's progress: the first operation without a result, and how many are in flight."""
    if not progress.is_file():
        return None
    words = read_text(progress, limits.SOURCE).rpartition("\n")[0].rpartition("\n")[2].split()
    done, offered = map(int, words) if len(words) == 2 else (0, 0)
    return done, offered - done
