"""VHDL units as Verilog: the netlist that GHDL makes of an entity, and what GHDL itself says of it.

A simulator of SystemVerilog runs the netlist and writes each state of its ports to a trace. GHDL simulates the VHDL
with the same inputs; where an output differs, the netlist is not the source, and nothing is concluded from it.
An entity of which GHDL makes no netlist is simulated by GHDL alone, beside the bench (vhdl_live).
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from softfloat_ref.base import disk_cache, limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import make_folder, read_text, write_data
from softfloat_ref.base.systemverilog import KEYWORDS
from softfloat_ref.rtl.bench_runs import Build, EndedError, ToolError
from softfloat_ref.rtl.build_logs import GHDL
from softfloat_ref.rtl.ghdl import Ghdl, find_ghdl
from softfloat_ref.rtl.module_ports import Expression, Parameters, parameter_text, string_literal
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.rtl.reading import file_hash
from softfloat_ref.rtl.simulators import first_line
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.vhdl_live import MODULE as LIVE_MODULE
from softfloat_ref.rtl.vhdl_live import PIPES, evidence, failure_line
from softfloat_ref.rtl.vhdl_order import entities, vhdl_order, without_comments
from softfloat_ref.rtl.vhdl_ports import (
    DRIVER,
    REPLAY,
    RESPONSES,
    STIMULI,
    EntityBits,
    EntityText,
    Vector,
    entity_bits,
    read_entity,
)

EXTENSIONS: Final = (".vhd", ".vhdl")
_EMPTY: Final = "softfloat_ref_ports"  # an architecture without anything
TRACE: Final = "SOFTFLOAT_REF_TRACE"  # the macro with which the netlist writes its trace
PLUSARG: Final = "softfloat_ref_trace"
_OPTIONS: Final = ("--std=08", "-fsynopsys", "-frelaxed")
_SYNTHESIS_S: Final = 300
_OWN_BUG: Final = "GHDL Bug occurred"
_REPLAY_S: Final = 300
_CODE: Final = re.compile(r"[01]+")
_SIGNAL: Final = re.compile(
    r"^  always @\*\n    (\w+) = (\w+); // \(isignal\)\n(?:  initial\n    \1 <= [^;]*;\n)?", re.MULTILINE
)
_ABS: Final = re.compile(r"^  (\w+) <= std_logic_vector\(abs \$signed\((\w+)\)\);", re.MULTILINE)
_INITIAL: Final = re.compile(r"^(  initial\n    \w+) <= ", re.MULTILINE)
_OFF: Final = re.compile(r"--\s*\w+\s+(?:translate|synthesis)_off\b", re.IGNORECASE)
_MODULE: Final = """\
// SPDX-License-Identifier: 0BSD
// {name} of VHDL, as GHDL makes Verilog of it, with a trace of its ports for `{macro}.
module {name}{parameters} (
{ports}
);
  {name}__netlist {own}netlist ({connections});
`ifdef {macro}
  integer {own}trace = 0;
  string {own}file;
  wire [{inputs_high}:0] {own}inputs = {{{inputs}}};  // Icarus writes no expressions
  wire [{outputs_high}:0] {own}outputs = {{{outputs}}};
  initial if ($value$plusargs("{plusarg}=%s", {own}file)) {own}trace = $fopen({own}file, "w");
  always @({own}inputs, {own}outputs)
    if ({own}trace != 0) $fstrobe({own}trace, "%b %b", {own}inputs, {own}outputs);
`endif
endmodule
"""


@dataclass(frozen=True)
class VhdlDifference:
    """An output in which the netlist is not its source. step: a line of the trace; inputs: its bits, by port."""

    output: str
    step: int
    netlist: str
    ghdl: str
    inputs: Mapping[str, str]


class NetlistError(Error):
    """A netlist that is not its VHDL."""


class NoNetlistError(Error):
    """VHDL that compiles, and of which GHDL makes no netlist: it is simulated, and not proved."""


class SynthesisError(Error):
    """An entity of which GHDL makes no netlist. line: what it says."""

    def __init__(self, top: str, line: str) -> None:
        super().__init__(f"ghdl cannot make a netlist of {top}: {line}")
        self.line = line


@dataclass(frozen=True)
class VhdlUnit:
    """An entity and its netlist. files: in the order of their use; generics: by their VHDL texts; problem: why GHDL
    makes no netlist; clock, reset, valid: ports of the port map, if it is known: reset with its active level, valid as
    port and bit; live: whether GHDL simulates it, in place of its netlist."""

    files: tuple[Path, ...]
    bits: EntityBits
    generics: Mapping[str, str]
    version: str
    clock: str | None = None
    reset: tuple[str, str] | None = None
    valid: tuple[str, int] | None = None
    problem: str = ""
    live: bool = False

    def with_ports(self, ports: PortMap) -> VhdlUnit:
        """The same, with what a port map says of clock, reset and out_valid."""
        shake = {signal.key: (signal.port, signal.bit or 0) for signal in ports.handshake.signals}
        reset = None if ports.reset is None else (ports.reset.port, ports.reset.active)
        return replace(self, clock=ports.clock, reset=reset, valid=shake.get("out_valid"))

    @property
    def name(self) -> str:
        """Of the entity."""
        return self.bits.entity.name

    def check(self, trace: Path) -> int:
        """Compare the states in a trace with GHDL's simulation; how many they are. Raises NetlistError where they
        differ, EndedError where GHDL's simulation ends, and Error."""
        difference, steps = self.compare(trace)
        if difference is not None:
            shown = ", ".join(f"{name} = {code}" for name, code in difference.inputs.items())
            raise NetlistError(
                f"{self.name} as GHDL simulates it is not the netlist that GHDL makes of it: output "
                f"{difference.output} is {difference.ghdl}, and {difference.netlist} in the netlist, with {shown}; "
                "nothing is concluded from it"
            )
        return steps

    def compare(self, trace: Path) -> tuple[VhdlDifference | None, int]:
        """The first difference in a trace, and the number of its states. Raises Error."""
        with tempfile.TemporaryDirectory(prefix="softfloat_ref_") as name:
            states = _defined(list(_states(trace)))
            if not states:
                raise Error(
                    f"{self.name}: the simulation of the netlist wrote no trace, so that GHDL cannot compare it"
                )
            responses = self._replayed([inputs for inputs, _ in states], Path(name))
        return self._difference(states, responses), len(states)

    def replay(self, folder: Path) -> Build:
        """The bench that gives GHDL's simulation the states of the inputs in a file, in this folder. Raises Error."""
        bench = folder / f"{REPLAY}.vhd"
        write_data(bench, self.bits.replay(self.generics, self.clock))
        return find_ghdl().build(
            [*self.files, bench], REPLAY, folder, self.generics, _OPTIONS[1:], ("--ieee-asserts=disable",)
        )

    def _replayed(self, stimuli: Sequence[str], folder: Path) -> list[str]:
        """The outputs for each state of the inputs, as GHDL has them."""
        write_data(folder / STIMULI, "\n".join([*stimuli, ""]))
        run = self.replay(folder).make_and_run(timeout_s=_REPLAY_S)
        path = folder / RESPONSES
        responses = read_text(path, limits.SOURCE, "ascii").splitlines() if path.is_file() else []
        if len(responses) != len(stimuli):
            line = failure_line(run.output)
            at = min(len(responses), len(stimuli) - 1)
            codes = ", ".join(f"{name} = {code}" for name, code in _parts(self.bits.inputs, stimuli[at]))
            raise EndedError(f"GHDL's simulation of {self.name} ended with {codes}: {line}", line)
        return responses

    def _difference(self, states: Sequence[tuple[str, str]], responses: Sequence[str]) -> VhdlDifference | None:
        """The first difference. A bit that GHDL has as U or X is one only if it was 0 or 1 before, or there is no
        clock, and while out_valid is set: a register may be undefined before its first value."""
        settled = set[int]() if self.clock is not None else set(range(sum(v.width for v in self.bits.outputs)))
        begun = self.reset is None
        for step, ((inputs, netlist), ghdl) in enumerate(zip(states, responses, strict=True)):
            if not begun:
                begun = self._is_reset(inputs) is False and any(self._is_reset(i) for i, _ in states[:step])
                if not begun:
                    continue
            valid = self._is_valid(ghdl)
            for place, (ours, theirs) in enumerate(zip(netlist, ghdl, strict=True)):
                is_defined = theirs in "01"
                if ours in "01" and ours != theirs and (is_defined or (valid and place in settled)):
                    return self._shown(step, inputs, netlist, ghdl, place)
                if is_defined:
                    settled.add(place)
        if not begun:
            raise Error(
                f"{self.name}: the simulation of the netlist never left the reset, so that GHDL compares nothing"
            )
        return None

    def _is_reset(self, inputs: str) -> bool | None:
        assert self.reset is not None
        port, active = self.reset
        bit = dict(_parts(self.bits.inputs, inputs))[port]
        return None if bit not in "01" else (bit == "1") == (active == "high")

    def _is_valid(self, outputs: str) -> bool:
        if self.valid is None:
            return True
        port, bit = self.valid
        return dict(_parts(self.bits.outputs, outputs))[port][::-1][bit] == "1"

    def _shown(self, step: int, inputs: str, netlist: str, ghdl: str, place: int) -> VhdlDifference:
        codes, end = dict(_parts(self.bits.inputs, inputs)), 0
        for name, code in _parts(self.bits.outputs, ghdl):
            begin, end = end, end + len(code)
            if place < end:
                return VhdlDifference(name, step, netlist[begin:end], code, codes)
        raise LookupError(place)


def _parts(vectors: Sequence[Vector], bits: str) -> Iterator[tuple[str, str]]:
    """The bits of each number, by the name that it has as a port of the module."""
    begin = 0
    for name, width in (leaf for vector in vectors for leaf in vector.leaves):
        yield name, bits[begin : begin + width]
        begin += width


def _states(trace: Path) -> Iterator[tuple[str, str]]:
    """Inputs and outputs of each state in a trace, without repetitions."""
    before = ""
    for line in read_text(trace, limits.SOURCE, "ascii").splitlines() if trace.is_file() else ():
        inputs, _, outputs = line.lower().partition(" ")
        if line != before:
            yield inputs, outputs
        before = line


def _defined(states: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The states from the first one on whose inputs are all defined: none is before the first operation. All of them,
    if none is."""
    first = next((i for i, (inputs, _) in enumerate(states) if not inputs.strip("01")), 0)
    return states[first:]


# -- the netlist -------------------------------------------------------------------------------------------------------


def is_vhdl(path: Path) -> bool:
    """Whether a source is VHDL, by its name."""
    return path.suffix.lower() in EXTENSIONS


def generic_values(sources: Sources, parameters: Parameters) -> Parameters:
    """Values of parameters, which for VHDL are texts where they are not integers: it has other expressions."""
    if not any(map(is_vhdl, sources.files)):
        return parameters
    return {name: value.text if isinstance(value, Expression) else value for name, value in parameters.items()}


def with_netlist(sources: Sources, top: str, parameters: Parameters) -> Sources:
    """The sources with the netlist of an entity in place of VHDL files; as they are, without any. Raises Error."""
    files = [path for path in sources.files if is_vhdl(path)]
    if not files:
        return sources
    names = entities(files)
    if top.lower() not in map(str.lower, names):
        others = "; Verilog that instantiates VHDL is not supported" if len(files) < len(sources.files) else ""
        raise Error(f"no VHDL source has an entity {top}; the entities are {', '.join(names) or 'none'}{others}")
    try:
        ghdl = find_ghdl()
    except Error as e:
        raise Error(f"{files[0]}: GHDL, which reads VHDL, is not there: {e}") from None
    generics = {name: value if isinstance(value, str) else parameter_text(value) for name, value in parameters.items()}
    unit, netlist = _synthesized(ghdl, top, vhdl_order(files), generics)
    path = _stored(unit, top, netlist, parameters)
    rest = [file for file in sources.files if not is_vhdl(file)]
    return replace(sources, files=(path, *rest), vhdl=unit)


def simulated_by_ghdl(sources: Sources, top: str, parameters: Parameters) -> Sources:
    """The same, with GHDL's simulation of the entity in place of its netlist. Raises Error."""
    unit = replace(sources.vhdl, live=True)
    return replace(sources, files=(_stored(unit, top, "", parameters), *sources.files[1:]), vhdl=unit)


def check_one_text(sources: Sources) -> None:
    """Raise NoNetlistError for VHDL of which GHDL makes no netlist, Error if it has another text for simulators."""
    if sources.vhdl is not None and sources.vhdl.problem:
        raise NoNetlistError(f"GHDL makes no netlist of {sources.vhdl.name}: {sources.vhdl.problem}")
    for path in sources.vhdl.files if sources.vhdl is not None else ():
        text = read_text(path, limits.SOURCE, errors="replace")
        if match := _OFF.search(text):
            line = text.count("\n", 0, match.start()) + 1
            raise Error(f"{path}:{line}: {match[0]}: what only simulators read is not proved; remove it")


def _synthesized(ghdl: Ghdl, top: str, files: Sequence[Path], generics: Mapping[str, str]) -> tuple[VhdlUnit, str]:
    """An entity, and its netlist; none for an entity of which GHDL makes none. Raises Error."""
    try:
        entity, problem = read_entity(_synthesis(ghdl, top, files, generics, "vhdl"), top), None
    except SynthesisError as e:
        entity, problem = _entity_alone(ghdl, top, files, generics, e), e
    if unknown := [name for name in generics if name.lower() not in map(str.lower, entity.generic_names)]:
        raise Error(f"entity {top} has no generic {unknown[0]}; it has {', '.join(entity.generic_names) or 'none'}")
    with tempfile.TemporaryDirectory(prefix="softfloat_ref_") as folder:
        driver = Path(folder, f"{DRIVER}.vhd")
        write_data(driver, entity.driver())
        bits = entity_bits(entity, _synthesis(ghdl, DRIVER, [*files, driver], generics, "vhdl"))
    _check_names(top, bits)
    version = first_line([str(ghdl.executable), "--version"])
    unit = VhdlUnit(tuple(files), bits, generics, version)
    if problem is None:
        try:
            return unit, _plain(_synthesis(ghdl, top, files, generics, "verilog"))
        except SynthesisError as e:
            problem = e
    return replace(unit, problem=problem.line, live=True), ""


def _entity_alone(
    ghdl: Ghdl, top: str, files: Sequence[Path], generics: Mapping[str, str], problem: SynthesisError
) -> EntityText:
    """The entity, with nothing in it. Raises Error for sources that do not compile, and the problem if there are
    others."""
    with tempfile.TemporaryDirectory(prefix="softfloat_ref_") as folder:
        path = Path(folder, f"{_EMPTY}.vhd")
        write_data(path, f"architecture {_EMPTY} of {top} is begin end architecture;\n")
        try:
            ghdl.build(files, top, folder, generics, _OPTIONS[1:]).make()
            return read_entity(_synthesis(ghdl, top, [*files, path], generics, "vhdl", _EMPTY), top)
        except ToolError as e:
            raise Error(e.reason) from None
        except SynthesisError:
            raise problem from None


def _check_names(top: str, bits: EntityBits) -> None:
    """Raise Error for ports that have no name of their own in SystemVerilog."""
    names = [name for vectors in (bits.inputs, bits.outputs) for vector in vectors for name, _ in vector.leaves]
    for name in names:
        if name in KEYWORDS or names.count(name) > 1:
            why = "a keyword of SystemVerilog" if name in KEYWORDS else "the name of two members"
            raise Error(f"entity {top}: port {name} is {why}; write an entity around it with another name")


def _plain(netlist: str) -> str:
    """The netlist with an assignment for each signal with an initial value, which has that before all else, with
    initial values of registers as Yosys reads them, and with absolute values, which GHDL 2.0 writes as VHDL."""
    modules = []
    for module in netlist.split("endmodule"):
        for name, _ in _SIGNAL.findall(module):
            module = re.sub(rf"^  reg ((?:\[\d+:\d+\] )?{name};)$", r"  wire \1", module, flags=re.MULTILINE)
        module = _ABS.sub(r"  assign \1 = $signed(\2) < 0 ? -\2 : \2;", module)
        modules.append(_INITIAL.sub(r"\1 = ", _SIGNAL.sub(r"  assign \1 = \2;\n", module)))
    return "endmodule".join(modules)


def _synthesis(
    ghdl: Ghdl, top: str, files: Sequence[Path], generics: Mapping[str, str], language: str, architecture: str = ""
) -> str:
    """What `ghdl --synth` writes. Raises SynthesisError, and Error."""
    command = [str(ghdl.executable), "--synth", *_OPTIONS, f"--out={language}"]
    command += ["--no-formal"]  # assertions, which would be fatal of any severity; GHDL's simulation has them
    command += [f"-g{name}={value}" for name, value in generics.items()]
    with tempfile.TemporaryDirectory(prefix="softfloat_ref_") as folder:
        try:
            done = subprocess.run(
                [*command, *map(str, files), "-e", top, *([architecture] if architecture else [])],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SYNTHESIS_S,
                check=False,
            )
        except OSError as e:
            raise Error(f"ghdl --synth: {e}") from None
        except subprocess.TimeoutExpired:
            raise SynthesisError(top, f"ghdl --synth did not end within {_SYNTHESIS_S} s") from None
    if done.returncode or not done.stdout.strip():
        lines = [line for message in GHDL.messages(done.stderr) for line in message]
        why = lines[0] if lines else "it printed nothing"
        raise SynthesisError(top, f"ghdl --synth itself failed: {why}" if _OWN_BUG in done.stderr else why)
    return done.stdout


def _stored(unit: VhdlUnit, top: str, netlist: str, parameters: Parameters) -> Path:
    """The file of the netlist, or of the module that GHDL simulates, in a folder of its own: the same for the same
    sources."""
    if not unit.live:
        named = rf"^module {re.escape(unit.name)}$"
        netlist, count = re.subn(named, f"module {top}__netlist", netlist, flags=re.MULTILINE | re.IGNORECASE)
        if count != 1:
            raise Error(f"entity {top}: GHDL's netlist has {count} modules of that name")
    text = _module(unit, top, parameters) + netlist
    definition = [[file_hash(path) for path in unit.files], text]
    key = hashlib.sha256(json.dumps(definition).encode()).hexdigest()[:16]
    path = make_folder((disk_cache.folder() or Path(_of_process().name)) / f"vhdl-{key}") / f"{top}.sv"
    if not path.is_file() or read_text(path, limits.SOURCE) != text:
        write_data(path, text)
    return path


@cache
def _of_process() -> tempfile.TemporaryDirectory[str]:
    """A folder that is deleted when this process ends, for a process without a cache."""
    return tempfile.TemporaryDirectory(prefix="softfloat_ref_")


def _module(unit: VhdlUnit, top: str, parameters: Parameters) -> str:
    """The module around the netlist, whose parameters have these values already; or the one that GHDL simulates."""
    sides = {"input": unit.bits.inputs, "output": unit.bits.outputs}
    leaves = [(side, *leaf) for side, vectors in sides.items() for v in vectors for leaf in v.leaves]
    values = ", ".join(
        f"parameter {name} = {string_literal(value) if isinstance(value, str) else parameter_text(value)}"
        for name, value in parameters.items()
    )
    ranges = {name: f"[{width - 1}:0] " if width > 1 else "" for _, name, width in leaves}
    texts = [without_comments(read_text(file, limits.SOURCE, errors="replace")) for file in unit.files]
    return (LIVE_MODULE if unit.live else _MODULE).format(
        name=top,
        macro=TRACE,
        pipes=PIPES,
        stimuli=STIMULI,
        responses=RESPONSES,
        chars=sum(v.width for v in unit.bits.outputs) + 2,
        evidence=evidence(texts, (name for side, name, width in leaves if side == "input" and width == 1)),
        own="softfloat_ref_",
        plusarg=PLUSARG,
        parameters=f" #({values})" if values else "",
        ports=",\n".join(f"  {side:6} wire {ranges[name]}{name}" for side, name, _ in leaves),
        connections=", ".join(f".{v.name}({_joined(v)})" for vectors in sides.values() for v in vectors),
        inputs_high=sum(v.width for v in unit.bits.inputs) - 1,
        outputs_high=sum(v.width for v in unit.bits.outputs) - 1,
        inputs=", ".join(map(_joined, unit.bits.inputs)),
        outputs=", ".join(map(_joined, unit.bits.outputs)),
    )


def _joined(vector: Vector) -> str:
    """A vector of the netlist, of ports of the module."""
    names = [name for name, _ in vector.leaves]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
