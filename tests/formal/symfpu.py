"""SymFPU's circuits (Brain, Schanda, Sun, ARITH 2019), which Yosys makes: IEEE 754's operations, with flags."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text
from softfloat_ref.base.systemverilog import run_yosys, yosys_path
from softfloat_ref.proof.btor2 import Machine, read_btor2
from softfloat_ref.proof.question import Counterexample, Obligation, Problem, check_reference, table_hash
from softfloat_ref.symbolic.build import and_, concat, eq, not_, or_, substitute
from softfloat_ref.symbolic.circuit import ProofCase
from softfloat_ref.symbolic.classes import is_nan
from softfloat_ref.symbolic.terms import Term, const, evaluator, var
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import OperationUnit, stored

from .theory import MODES

OPERATIONS: Final = {"add": "add", "mul": "mul", "div": "div", "sqrt": "sqrt", "fma": "muladd"}
_FLAGS: Final = ("NV", "DZ", "OF", "UF", "NX")


@dataclass(frozen=True)
class SymFpu(Problem):
    """Whether SymFPU's results and flags are the oracle's; any NaN is as good as another. Raises Error for operations
    of which there is no circuit."""

    unit: OperationUnit
    assumed: str = ""

    def posed(self, case: ProofCase) -> Obligation:
        """SymFPU's answers beside the oracle's."""
        reference = circuit(self.unit, case)
        check_reference(self, case, reference)
        wrong = self._differs(reference.terms["result"], reference.terms["flags"])
        assumed = [self.assumption, case.assumption]
        return Obligation(assumed, wrong, reference.roots, self.answers, False, self._tried, held=case.held)

    @cached_property
    def answers(self) -> tuple[Term, Term]:
        """Result and flags, as terms of the unit's inputs."""
        machine = _machine(self.unit)
        flags = machine.outputs[_FLAGS[0]]
        for name in _FLAGS[1:]:
            flags = concat(flags, machine.outputs[name])
        inputs = {v: var(name, v.width) for name, v in machine.inputs.items()}
        result, raised = substitute([machine.outputs["o"], flags], inputs)
        return result, raised

    def _differs(self, result: Term, flags: Term) -> Term:
        """Whether they are others than these."""
        (got, raised), fmt = self.answers, self.unit.out
        same = or_(eq(result, got), and_(is_nan(result, fmt), is_nan(got, fmt)))
        return not_(and_(same, eq(flags, raised)))

    def _tried(self, model: Mapping[str, int]) -> Counterexample | None:
        """A solver's model on SymFPU's terms and the oracle; None if they agree."""
        values = {f.name: model.get(f.name, 0) for f in self.unit.inputs}
        inputs = tuple(values.values())
        expected = tuple(int(x) for x in self.unit.answer(inputs))
        result, flags = (const(x, f.width) for x, f in zip(expected, self.unit.outputs, strict=True))
        wrong, *got = evaluator([self._differs(result, flags), *self.answers])(values)
        return Counterexample(inputs, expected, tuple(got)) if wrong else None

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the definition."""
        return table_hash(
            {"symfpu": stored(self.unit), "mode": MODES[self.unit.policy.rounding], "assumed": self.assumed}
        )


def _machine(unit: OperationUnit) -> Machine:
    fmt = unit.formats[0]
    size = f"-eb {fmt.exponent_bits} -sb {fmt.precision}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "symfpu.btor"
        command = f"symfpu {size} -op {OPERATIONS[unit.op]} -rm {MODES[unit.policy.rounding]}"
        run_yosys(f"{command}; prep; write_btor {yosys_path(path)}")
        if not path.exists():
            raise Error(f"Yosys makes no circuit of SymFPU's for {unit.label}")
        return read_btor2(read_text(path, limits.SOURCE))
