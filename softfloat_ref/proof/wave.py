"""Waveforms of counterexamples: the signals of the circuit, cycle by cycle, as its terms have them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error, missing
from softfloat_ref.base.files import write_file
from softfloat_ref.proof.btor2 import UNDEFINED, Machine
from softfloat_ref.proof.design import BoundDesign
from softfloat_ref.proof.question import Counterexample, input_names
from softfloat_ref.proof.unroll import Contents
from softfloat_ref.symbolic.build import substitute
from softfloat_ref.symbolic.terms import Term, evaluate
from softfloat_ref.units import Unit
from softfloat_ref.units.unit import lanes_of

CYCLE_NS: Final = 10
CLOCK: Final = "clk"  # the bench's: it rises where a cycle begins
_BENCH: Final = "bench"  # the scope of signals outside the module


def check_wave(path: str) -> None:
    """Raise Error if a waveform cannot be written to a file of this name."""
    if Path(path).suffix != ".vcd":
        raise Error(f"--wave {path}: the name must end in .vcd")
    _writer()


def _writer() -> Any:
    try:
        from vcd import VCDWriter
    except ImportError:
        raise missing("pyvcd", "prove") from None
    return VCDWriter


def write_wave(design: BoundDesign, counterexample: Counterexample, path: str, steps: Sequence[Contents] = ()) -> int:
    """Write a counterexample as VCD; the number of cycles. steps: those of other operations, too.

    It has the bench's signals under `bench`, those of the module under `dut`, and under `operation` its operands, what
    was expected and what came. Raises Error.
    """
    signals, rows, text = (
        _signals(design.machine),
        list(_rows(design, counterexample, steps or design.observed.steps)),
        io.StringIO(),
    )
    with _writer()(text, timescale="1 ns", date="", check_values=False) as writer:
        for name, width, value in _operation(design.unit, counterexample):
            writer.register_var("operation", name, "wire", size=width, init=value)
        lines = [writer.register_var(*_place(name), "wire", size=t.width) for name, t in signals.items()]
        clock = writer.register_var(_BENCH, CLOCK, "wire", size=1) if design.ports.clock else None
        for cycle, row in enumerate(rows):
            for line, value in zip(lines, row, strict=True):
                writer.change(line, cycle * CYCLE_NS, value)
            for half, level in enumerate((1, 0) if clock else ()):
                writer.change(clock, cycle * CYCLE_NS + half * CYCLE_NS // 2, level)
        writer.close(len(rows) * CYCLE_NS)
    write_file(path, lambda stream: stream.write(text.getvalue().encode()))
    return len(rows)


def _signals(machine: Machine) -> dict[str, Term]:
    """What has a name, by it."""
    every = {**machine.inputs, **machine.outputs, **machine.registers, **machine.signals}
    clock = machine.inputs.get(CLOCK)  # which terms do not have as a signal
    return {n: t for n, t in every.items() if t is not clock and not n.startswith(UNDEFINED) and " " not in n}


def _rows(design: BoundDesign, counterexample: Counterexample, steps: Sequence[Contents]) -> Iterator[list[int]]:
    """What the signals are in each cycle."""
    model = {**counterexample.others, **dict(zip(input_names(design.unit), counterexample.inputs, strict=True))}
    signals = list(_signals(design.machine).values())
    for step in steps:
        yield evaluate(substitute(signals, step), model)


def _place(name: str) -> tuple[str, str]:
    """The scope and the name in it."""
    scope, _, own = name.rpartition(".")
    return scope or _BENCH, own


def _operation(unit: Unit, counterexample: Counterexample) -> Iterator[tuple[str, int, int]]:
    """The fields of the operation: name, width, code; of results also what the circuit gave."""
    for fields, end, codes in (
        (unit.inputs, "", counterexample.inputs),
        (unit.outputs, "_expected", counterexample.expected),
        (unit.outputs, "_got", counterexample.got),
    ):
        lanes = [(name, f.width) for f in fields for name in lanes_of(f)]
        for (name, width), code in zip(lanes, codes, strict=True):
            yield f"{name}{end}", width, code
