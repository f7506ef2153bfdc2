"""A bench that offers operands and takes results at random, on a circuit's terms with numbers in place of variables."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from softfloat_ref.proof.question import Question, input_names
from softfloat_ref.symbolic.terms import evaluator, variables


@dataclass(frozen=True)
class Dut:
    """A circuit of one operation with one channel of operands, as it was read."""

    of: Question

    @cached_property
    def machine(self) -> Any:
        return self.of.design().machine

    @cached_property
    def nets(self) -> Any:
        """Outputs and next contents, by what all variables are."""
        return evaluator([*self.machine.outputs.values(), *self.machine.nexts.values()])

    @cached_property
    def widths(self) -> dict[str, int]:
        roots = variables([*self.machine.outputs.values(), *self.machine.nexts.values()])
        return {str(v.value): v.width for v in roots}

    @cached_property
    def answer(self) -> Any:
        return cache(self.of.unit.answer)

    @cached_property
    def stimulus(self) -> Any:
        return evaluator([self.of.design().driven.operands])


class Bench:
    """A run of a circuit. contents: of registers that no reset sets."""

    def __init__(self, dut: Dut, seed: int, contents: Mapping[str, int] | None = None) -> None:
        assert dut.of.rtl.ports.handshake.channels == 1
        self.dut, self.words = dut, random.Random(seed)
        registers = dut.machine.registers.items()
        self.state = {n: self.words.getrandbits(t.width) for n, t in registers} | dict(contents or {})

    def cycle(self, **signals: int) -> dict[str, int]:
        machine, widths = self.dut.machine, self.dut.widths
        values = {n: self.words.getrandbits(w) for n, w in widths.items()} | self.state | signals
        found = self.dut.nets(values)
        self.state = dict(zip(machine.nexts, found[len(machine.outputs) :], strict=True))
        return dict(zip(machine.outputs, found, strict=False))

    def wrong(self, cycles: int, often: float = 0.6, first: bool = False) -> str:
        """What goes wrong, if anything does. often: how often operands are offered and results taken; first: both at
        once, until the first result is taken."""
        unit = self.dut.of.unit
        for _ in range(4):
            self.cycle(reset=1, in_valid=0)
        names = input_names(unit)
        waiting, offer, waits, quiet = list[tuple[int, ...]](), None, False, 0
        for _ in range(cycles):
            busy, takes = (first or self.words.random() < often for _ in range(2))
            if offer is None and busy and len(waiting) < self.dut.of.rtl.ports.limit:
                offer = tuple(self.words.getrandbits(f.width) for f in unit.inputs)
            given = {} if offer is None else {"stimulus": self.dut.stimulus(dict(zip(names, offer, strict=True)))[0]}
            outputs = self.cycle(reset=0, in_valid=int(offer is not None), out_ready=int(takes), **given)
            quiet += 1
            if offer is not None and outputs["in_ready"]:
                waiting, offer, quiet = [*waiting, offer], None, 0
            if outputs["out_valid"]:
                if not waiting and (takes or offer is None):
                    return "extra"
                result, flags = self.dut.answer(waiting[0] if waiting else offer or ())
                if outputs["got"] != flags << unit.outputs[0].width | result:
                    return "wrong"
                if takes:
                    waiting, quiet = waiting[1:], 0
                    if first:
                        return ""
            elif waits:
                return "lost"
            waits = bool(outputs["out_valid"]) and not takes
            if quiet > 100:
                return "never"
        return ""


def fails(of: Question, seeds: int) -> list[str]:
    """What goes wrong in benches that stall at random."""
    dut = Dut(of)
    return [Bench(dut, seed).wrong(300) for seed in range(seeds)]
