"""SymFPU's circuits (Brain, Schanda, Sun, ARITH 2019), which Yosys makes: IEEE 754's operations, with flags."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.yosys import executed, quoted
from softfloat_ref.proof.btor2 import Machine, read_btor2
from softfloat_ref.proof.theory import MODES
from softfloat_ref.symbolic.classes import is_nan
from softfloat_ref.symbolic.terms import Term, and_, concat, eq, not_, or_, replaced, var
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import OperationUnit

OPERATIONS: Final = {"add": "add", "mul": "mul", "div": "div", "sqrt": "sqrt", "fma": "muladd"}
_FLAGS: Final = ("NV", "DZ", "OF", "UF", "NX")


def differs(unit: OperationUnit) -> Term:
    """Whether SymFPU's result or flags are other ones than the oracle's; any NaN is as good as another."""
    machine, read = _machine(unit), circuit(unit)
    flags = machine.outputs[_FLAGS[0]]
    for name in _FLAGS[1:]:
        flags = concat(flags, machine.outputs[name])
    inputs = {v: var(name, v.width) for name, v in machine.inputs.items()}
    got, raised = replaced([machine.outputs["o"], flags], inputs)
    result, fmt = read.terms["result"], unit.out
    same = or_(eq(result, got), and_(is_nan(result, fmt), is_nan(got, fmt)))
    return not_(and_(same, eq(read.terms["flags"], raised)))


def _machine(unit: OperationUnit) -> Machine:
    fmt = unit.formats[0]
    size = f"-eb {fmt.exponent_bits} -sb {fmt.precision}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "symfpu.btor"
        made = f"symfpu {size} -op {OPERATIONS[unit.op]} -rm {MODES[unit.policy.rounding]}"
        executed(f"{made}; prep; write_btor {quoted(path)}")
        if not path.exists():
            raise Error(f"Yosys makes no circuit of SymFPU's for {unit.label}")
        return read_btor2(path.read_text())
