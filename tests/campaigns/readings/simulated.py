"""What two simulators make of drawn circuits, which is the truth about them: Icarus, and Verilator, many at once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from readings.benches import bench, top
from readings.circuits import Circuit
from softfloat_ref.rtl.simulators import Icarus, Verilator, find

RUN_S: Final = 60
TOGETHER_S, ALONE_S = 30, 6  # for what takes seconds, and one
BUILT: Final = ("verilated", "verilated_threads", "verilated_timing", "verilated_random")  # of Verilator's own files
STOPPED: Final = "WRONG: it does not come to its end"
SEEDS: Final = (("2", "1"), ("2", "22"), ("1", "1"))  # registers at random, twice, and ones
_SAID: Final = re.compile(r"^(c\d+) (RIGHT|WRONG.*)$", re.MULTILINE)
_NAMED: Final = re.compile(r"\b(c\d+)(?:_\w+)?\b")
# Where Verilator is wrong and Icarus is not, it is asked again without its optimizations: with them, version 5.48 loses
# nonblocking assignments beside blocking ones, and what drives a wired net beside a constant.
PLAIN: Final = ("-O0",)
_WITH: Final = ("-std=c++20", "-fcoroutines", "-O0", "-w")

Folders = Mapping[str, Path]  # with the files of each circuit
Texts = Mapping[str, str | None]  # its sources, preprocessed


class Truth(NamedTuple):
    """What each simulator says of a circuit: RIGHT, WRONG and why, or "" if it cannot build it."""

    icarus: str
    verilator: str

    @property
    def kind(self) -> str:
        texts = [text for text in self if text]
        if not texts:
            return "unusable"
        return "right" if all(text == "RIGHT" for text in texts) else "wrong"


class Simulators:
    """Both simulators. folder: for what they build; circuits: the folder with a folder of each circuit's files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        icarus, verilator = find("icarus"), find("verilator")
        assert isinstance(icarus, Icarus)
        assert isinstance(verilator, Verilator)
        self.icarus, self.verilator = icarus, verilator
        self.builds = 0
        folder.mkdir(parents=True, exist_ok=True)

    def truths(self, circuits: Sequence[Circuit], folders: Folders) -> dict[str, Truth]:
        """What they say, by the circuit's name."""
        icarus = {c.name: self._icarus(c, folders[c.name]) for c in circuits}
        verilator = self._verilator(circuits, folders)
        for c in circuits:
            if icarus[c.name] == "RIGHT" and verilator.get(c.name, "RIGHT") not in ("", "RIGHT"):
                verilator |= self._verilator([c], folders, PLAIN)
        return {c.name: Truth(icarus[c.name], verilator.get(c.name, "")) for c in circuits}

    # -- Icarus ----------------------------------------------------------------------------------------------------

    def _icarus(self, circuit: Circuit, folder: Path) -> str:
        build = self.folder / circuit.name
        build.mkdir(exist_ok=True)
        file, run = build / "bench.v", build / "bench.vvp"
        file.write_text(bench(circuit, self.folder) + top([circuit.name]), encoding="utf-8")
        library = {"-v": "-l"}
        options = [library.get(w, w) for w in circuit.options]
        options += ["-Y", ".v", "-Y", ".sv"] if "-y" in options else []
        options = _joined(options)
        options += [f"-I{p}" for p in dict.fromkeys(str(Path(s).parent) for s in circuit.sources)]
        command = [str(self.icarus.executable), "-g2012", "-s", "all_tb", "-o", str(run), *options, *circuit.sources]
        if _run([*command, str(file)], folder) is None:
            return ""
        output = _said([str(self.icarus.runtime), "-N", str(run)], folder, TOGETHER_S)
        shutil.rmtree(build)
        return output.get(circuit.name, STOPPED)

    # -- Verilator -------------------------------------------------------------------------------------------------

    def _verilator(self, circuits: Sequence[Circuit], folders: Folders, options: Sequence[str] = ()) -> dict[str, str]:
        with ThreadPoolExecutor(2) as pool:
            texts = dict(zip((c.name for c in circuits), pool.map(lambda c: self._text(c, folders[c.name]), circuits),
                             strict=True))  # fmt: skip
        return self._batch([c for c in circuits if texts[c.name] is not None], folders, texts, options)

    def _text(self, circuit: Circuit, folder: Path) -> str | None:
        """The sources as Verilator's preprocessor gives them, so that circuits share no macros."""
        options = [w for k, w in zip(["", *circuit.options], circuit.options, strict=False)
                   if not {k, w} & {"-y", "-v"}]  # fmt: skip
        options = _joined(options) + [f"-I{p}" for p in dict.fromkeys(str(Path(s).parent) for s in circuit.sources)]
        return _run([*self._command(), "-E", "-P", "--pp-comments", *options, *circuit.sources], folder)

    def _command(self) -> list[str]:
        return [str(self.verilator.executable), "-Wno-fatal", "-Wno-lint", "-Wno-style"]

    def _batch(
        self, circuits: Sequence[Circuit], folders: Folders, texts: Texts, options: Sequence[str]
    ) -> dict[str, str]:
        """What it says of these, built together; those that do not build are left out, and what cannot be told apart
        is built in halves."""
        left = list(circuits)
        while left:
            work, log = self._made(left, folders, texts, options)
            if work is not None:
                by_circuit, log = self._told(work, left)
                shutil.rmtree(work)
                if by_circuit:
                    return by_circuit
            faulty = {n for line in log.splitlines() if line.startswith("%Error") for n in _NAMED.findall(line)}
            fewer = [c for c in left if c.name not in faulty]
            if len(fewer) == len(left):
                return self._halves(left, folders, texts, options)
            left = fewer
        return {}

    def _halves(
        self, circuits: list[Circuit], folders: Folders, texts: Texts, options: Sequence[str]
    ) -> dict[str, str]:
        if len(circuits) == 1:
            return {}  # it cannot be built
        middle = len(circuits) // 2
        parts = circuits[:middle], circuits[middle:]
        return {k: v for part in parts for k, v in self._batch(part, folders, texts, options).items()}

    def _made(
        self, circuits: Sequence[Circuit], folders: Folders, texts: Texts, flags: Sequence[str]
    ) -> tuple[Path | None, str]:
        """The folder in which they were built, or what was said of what was not."""
        self.builds += 1
        work = self.folder / f"build{self.builds}"
        work.mkdir()
        names, options = [], []
        for c in circuits:
            for path in folders[c.name].rglob("*"):  # memories are read from where it runs
                place = work / path.relative_to(folders[c.name])
                place.parent.mkdir(parents=True, exist_ok=True)
                if path.is_file() and path.suffix not in (".sv", ".toml", ".json"):
                    shutil.copy(path, place)
            file = work / f"{c.name}_all.sv"
            file.write_text(f"`resetall\n{texts[c.name]}\n{bench(c, self.folder)}", encoding="utf-8")
            names.append(file.name)
            for key, word in zip(c.options, c.options[1:], strict=False):
                if key in ("-y", "-v"):
                    options += [key, str(folders[c.name] / word)]
        options += ["+libext+.v+.sv"] if options else []
        (work / "all.sv").write_text(top([c.name for c in circuits]), encoding="utf-8")
        command = [*self._command(), "--cc", "--main", "--timing", "--no-assert"]
        command += ["--x-initial", "unique", "--x-assign", "unique"]
        command += ["--top-module", "all_tb", "--Mdir", "made", "--prefix", "V", *flags, *options, *names, "all.sv"]
        log = work / "log"
        if _run(command, work, log=log) is None:
            output = log.read_text(errors="replace")
            shutil.rmtree(work)
            return None, output
        files = "".join(f'#include "{path}"\n' for path in sorted((work / "made").glob("*.cpp")))
        (work / "all.cpp").write_text(files)
        compiled = ["g++", *_WITH, *self._includes(), "-I", "made", "-include", str(self._runtime / "pre.h"), "all.cpp"]
        compiled += [*(str(self._runtime / f"{n}.o") for n in BUILT), "-o", "bench", "-pthread", "-latomic"]
        if _run(compiled, work, log=log, limit=300) is None:
            output = log.read_text(errors="replace")
            shutil.rmtree(work)
            return None, output.replace("error:", "%Error")
        return work, ""

    def _told(self, work: Path, circuits: Sequence[Circuit]) -> tuple[dict[str, str], str]:
        """What the runs say; nothing, and the log, if none comes to its end or a circuit's file cannot be read."""
        by_circuit: dict[str, str] = {}
        for reset, seed in SEEDS:
            command = ["./bench", f"+verilator+rand+reset+{reset}", f"+verilator+seed+{seed}"]
            log = _run(command, work, any_code=True, limit=TOGETHER_S) or ""
            told = dict(_SAID.findall(log))
            for c in circuits if set(told) != {c.name for c in circuits} else ():  # one of them stopped all
                if "$readmem" in log:
                    return {}, log
                told |= {c.name: STOPPED, **_said([*command, f"+only={c.number}"], work)}
                if len(circuits) > 1 and set(told.values()) == {STOPPED} and len(told) > 2:
                    return {}, ""  # whichever is run
            for name, text in told.items():
                if by_circuit.get(name, "RIGHT") == "RIGHT":
                    by_circuit[name] = text
            if set(by_circuit.values()) == {STOPPED}:
                break
        return by_circuit, ""

    def _includes(self) -> list[str]:
        root = self.verilator.root
        if root is None:
            output = _run([str(self.verilator.executable), "--getenv", "VERILATOR_ROOT"], self.folder) or ""
            root = Path(output.strip())
        return [f"-I{root}/include", f"-I{root}/include/vltstd"]

    @property
    def _runtime(self) -> Path:
        """The folder of Verilator's own files, compiled once."""
        place = self.folder / "runtime"
        if not place.exists():
            place.mkdir()
            (place / "pre.h").write_text('#include "verilated.h"\n#include "verilated_timing.h"\n')
            source = self._includes()[0][2:]
            for name in BUILT:
                command = ["g++", *_WITH, *self._includes(), "-c", f"{source}/{name}.cpp", "-o", f"{name}.o"]
                assert _run(command, place, limit=300) is not None
            assert _run(["g++", *_WITH, *self._includes(), "-x", "c++-header", "pre.h"], place) is not None
        return place


def _joined(options: Sequence[str]) -> list[str]:
    """-D NAME as -DNAME, which both simulators take."""
    lines: list[str] = []
    for word in options:
        if lines and lines[-1] in ("-D", "-I"):
            lines[-1] += word
        else:
            lines.append(word)
    return lines


def _said(command: Sequence[str], folder: Path, limit: int = ALONE_S) -> dict[str, str]:
    """What a run says of each circuit."""
    return dict(_SAID.findall(_run(command, folder, any_code=True, limit=limit) or ""))


def _run(
    command: Sequence[str], folder: Path, any_code: bool = False, log: Path | None = None, limit: int = RUN_S
) -> str | None:
    """What a program printed; None if it failed or did not end in time. log: where that is written, with its errors."""
    environment = {**os.environ, **find("verilator").variables}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None
    output = done.stdout.decode(errors="replace")
    if log is not None:
        log.write_bytes(done.stdout + done.stderr)
    if any_code:
        return output + done.stderr.decode(errors="replace")
    return output if done.returncode == 0 else None
