"""`bench functions`: functions of the scalar oracle, one at a time, and of arrays, beside numpy, torch and MPFR.

The peers compute in binary32: numpy and torch without flags and correct rounding, MPFR with both, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from .peers import torch_module
from .rates import Row, median_rate, median_seconds, show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CASES: Final = 5_000
ELEMENTS: Final = 1 << 20
ONE_STEP: Final = (("exp", "fp16"), ("exp", "fp32"), ("tanh", "fp32"), ("sin", "fp64"), ("pow", "fp32"))
STEPS: Final = (("sigmoid", "fp32"), ("gelu", "fp32"), ("sinpi", "fp32"))
WIDE: Final = ("exp", "tanh", "sigmoid", "rsqrt")
RESULTS: Final = ("fp32", "bf16", "fp8_e4m3")
VECTORS: Final[dict[str, int]] = {  # and the depth of attention
    "softmax": 0, "log_softmax": 0, "rms_norm": 0, "layer_norm": 0, "attention_scores": 16
}  # fmt: skip
LANES: Final = 64
MANY: Final = 4096  # vectors
FEW: Final = 40  # one at a time


def run() -> None:
    """Measure and print, with one thread each."""
    show(*(_scalar(*x) for x in (*ONE_STEP, *STEPS)), *(_array(op, "bf16") for op in ("exp", "gelu")))
    for op in WIDE:
        show(*_wide(op))
    for op, depth in VECTORS.items():
        show(_vectors(op, depth))


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


def _wide(op: str) -> list[Row]:
    """Results with flags from the compiled loop, of numbers of ordinary size."""
    import numpy as np

    from softfloat_ref.arrays import operations

    x = np.random.default_rng(1).standard_normal(ELEMENTS).astype(np.float32) * np.float32(3)
    x = np.abs(x) if op == "rsqrt" else x
    codes = x.view(np.uint32)
    peers = {name: ELEMENTS / median_seconds(work) for name, work in _peers(op, x).items()}
    peers["MPFR"] = CASES / median_seconds(_mpfr(op, x[:CASES].tolist()))
    return [
        Row(
            f"fp32 {op} to {out} with flags, array",
            ELEMENTS / median_seconds(lambda out=out: operations.evaluate(op, [codes], "fp32", out, flags="each")),  # type: ignore[misc]
            "results/s",
            others=peers,
        )
        for out in RESULTS
    ]


def _vectors(op: str, depth: int) -> Row:
    """BF16's results of a function of vectors, correctly rounded with flags, of many at once, and one at a time by the
    oracle; torch's of float32, which are not correctly rounded."""
    import numpy as np

    from softfloat_ref.arrays import convert
    from softfloat_ref.units import VectorUnit

    unit = VectorUnit.make(op, "bf16", length=LANES, depth=depth or None)
    rng = np.random.default_rng(1)
    rows = np.hstack([convert.encode(rng.standard_normal((MANY, f.lanes)), "bf16") for f in unit.inputs]).astype("u8")
    others = {"one at a time": FEW * LANES / median_seconds(lambda: [unit.answer(row) for row in rows[:FEW].tolist()])}
    torch = torch_module()
    if torch is not None and op in ("softmax", "log_softmax"):
        x = torch.from_numpy(rng.standard_normal((MANY, LANES)).astype(np.float32))
        others["torch, float32"] = MANY * LANES / median_seconds(lambda: getattr(torch, op)(x, -1))
    rate = MANY * LANES / median_seconds(lambda: unit.answers(rows))
    return Row(f"bf16 {op}, vectors of {LANES}", rate, "lanes/s", others=others)


def _peers(op: str, x: NDArray[np.float32]) -> dict[str, Callable[[], Any]]:
    import numpy as np

    peers: dict[str, Callable[[], Any]] = {
        "numpy": {
            "exp": lambda: np.exp(x),
            "tanh": lambda: np.tanh(x),
            "sigmoid": lambda: 1 / (1 + np.exp(-x)),
            "rsqrt": lambda: 1 / np.sqrt(x),
        }[op]
    }
    torch = torch_module()
    if torch is not None:
        t = torch.from_numpy(x)
        peers["torch"] = lambda: getattr(torch, op)(t)
    return peers


def _mpfr(op: str, numbers: list[float]) -> Callable[[], Any]:
    """MPFR at 24 bits, one number at a time; the sigmoid by two steps, which do not round correctly."""
    import gmpy2

    context = gmpy2.context(precision=24)
    if op == "sigmoid":
        return lambda: [context.div(1, context.add(1, context.exp(-x))) for x in numbers]
    function = getattr(context, {"rsqrt": "rec_sqrt"}.get(op, op))
    operands = [gmpy2.mpfr(x) for x in numbers]
    return lambda: [function(x) for x in operands]
