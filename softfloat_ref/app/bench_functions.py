"""`bench functions`: functions of the scalar oracle, one at a time, and of arrays."""

from __future__ import annotations

from typing import Final

from softfloat_ref.app.rates import Row, median_rate, show

CASES: Final = 5_000
ELEMENTS: Final = 1 << 20
ONE_STEP: Final = (("exp", "fp16"), ("exp", "fp32"), ("tanh", "fp32"), ("sin", "fp64"), ("pow", "fp32"))
STEPS: Final = (("sigmoid", "fp32"), ("gelu", "fp32"), ("sinpi", "fp32"))


def run() -> None:
    """Measure and print, with one thread each."""
    show(*(_scalar(*x) for x in (*ONE_STEP, *STEPS)), *(_array(op, "bf16") for op in ("exp", "gelu")))


def _scalar(op: str, fmt: str) -> Row:
    from softfloat_ref.golden.cases import random_cases
    from softfloat_ref.oracle.operations import evaluator, signature
    from softfloat_ref.oracle.policies import get_policy

    sig = signature(op, fmt)
    run, cases = evaluator(sig, get_policy()), list(random_cases(sig.formats, 1, CASES))
    rate = median_rate(CASES, lambda: [run(x, 0) for x in cases])
    return Row(f"{fmt} {op} with flags, one at a time", rate, "results/s")


def _array(op: str, fmt: str) -> Row:
    """Results from a table, which the warm-up fills."""
    import numpy as np

    from softfloat_ref.arrays import operations

    operand = np.random.default_rng(1).integers(0, 1 << 16, ELEMENTS, np.uint16)
    rate = median_rate(ELEMENTS, lambda: operations.evaluate(op, [operand], fmt))
    return Row(f"{fmt} {op}, array, from its table", rate, "results/s")
