"""The compiled loops of the array layer: each is proved for one conversion or operation, and faults are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from formal import kernels, llvm_integers
from formal.kernels import BlockKernel, Kernel, Kind, is_compiled
from softfloat_ref.arrays.kernels import block_dispatch, dispatch, plans
from softfloat_ref.arrays.kernels.opcodes import ORACLE, UNKNOWN
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.rounding import RNA
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import FALSE
from softfloat_ref.units import OperationUnit
from softfloat_ref.units.quantize import QuantizeUnit

pytestmark = pytest.mark.extra("bitwuzla")
LIMIT_S = 60.0
# The loop, and a conversion that takes it.
CONVERSIONS: list[tuple[str, Kind, str, str, dict[str, Any]]] = [
    ("nearest_codes32", "codes", "fp32", "fp8_e4m3", {}),
    ("wide_codes32", "codes", "fp32", "fp16", {"rounding": "rtz"}),
    ("same_exponents_codes32", "codes", "fp32", "bf16", {}),
    ("near_codes32", "codes", "fp32", "bf16", {"rounding": "rup"}),
    ("plain_codes32", "codes", "fp32", "fp6_e3m2", {"rounding": "rdn"}),
    ("plain_codes64", "codes", "fp64", "fp16", {"rounding": "rto"}),
    ("widened_codes", "codes", "fp32", "fp64", {"flush_inputs": True}),
    ("table_codes", "codes", "fp32", "fp8_e5m2", {"flush_outputs": True}),
    ("table_values", "codes", "fp8_e5m2", "fp8_e4m3", {}),
    ("rounded_codes", "codes", "fp32", "fp32", {"flush_outputs": True}),
    ("rounded_codes", "codes and flags", "fp64", "fp8_e4m3", {"rounding": "sr", "sr_bits": 4}),
    ("stochastic_codes32", "codes", "fp32", "fp8_e4m3", {"rounding": "sr-c", "sr_bits": 8}),
    ("nearest_values32", "values", "fp32", "fp8_e4m3", {"overflow": "sat-finite"}),
    ("same_exponents_values32", "values", "fp32", "tf32", {}),
    ("near_values32", "values", "fp32", "bf16", {"rounding": "rdn"}),
    ("plain_values32", "values", "fp32", "fp4_e2m1", {"rounding": "rup"}),
]
OPERATIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("add", "fp8_e4m3", {"rounding": "rdn"}),
    ("sub", "fp8_e5m2", {}),
    ("mul", "fp32", {}),
    ("mul", "fp16", {"rounding": "rup", "nan": "propagate"}),
    ("mul", "fp8_e4m3", {"rounding": "sr", "sr_bits": 4}),
    ("fma", "fp6_e3m2", {}),
    ("sqrt", "fp8_e5m2", {}),
    ("minimum", "fp8_e4m3", {}),
]  # fmt: skip


def conversion(kind: Kind, source: str, fmt: str, policy: dict[str, Any]) -> Kernel:
    return Kernel(OperationUnit.make("convert", source, fmt, policy), kind)


def proof(kernel: Kernel) -> Proof:
    return prove(kernel, "auto", Tactics(LIMIT_S))


@pytest.mark.full(gate=4)
@pytest.mark.parametrize("case", CONVERSIONS, ids=lambda case: "-".join(map(str, case[:4])).replace(" ", "-"))
def test_conversions_are_proved(case: tuple[str, Kind, str, str, dict[str, Any]]) -> None:
    name, kind, source, fmt, policy = case
    kernel = conversion(kind, source, fmt, policy)
    assert is_compiled(kernel.unit, kind)
    assert kernel._call(lambda k, dtype, count: np.zeros(count, dtype)).kernel.__name__ == name
    assert proof(kernel).verdict == "proved"


def test_every_loop_of_a_conversion_is_among_them() -> None:
    from softfloat_ref.arrays.kernels import convert, nearest

    of_values = ("codes", "codes32", "codes64", "values", "values32")
    loops = {n for m in (convert, nearest) for n in vars(m) if n.endswith(of_values) and hasattr(vars(m)[n], "py_func")}
    assert loops == {case[0] for case in CONVERSIONS} | {"half_codes32"}


@pytest.mark.full(gate=3)
@pytest.mark.parametrize(("op", "fmt", "policy"), OPERATIONS)
def test_operations_are_proved(op: str, fmt: str, policy: dict[str, Any]) -> None:
    kernel = Kernel(OperationUnit.make(op, fmt, policy=policy), "operation")
    assert is_compiled(kernel.unit, "operation")
    assert proof(kernel).verdict == "proved"


def test_elements_of_vectors_and_the_rest_have_the_same_terms() -> None:
    outputs, _ = conversion("codes", "fp32", "fp8_e4m3", {}).made
    assert len(outputs) == 1
    assert len(conversion("codes", "fp32", "fp16", {"rounding": "rtz"}).made[0]) == 9  # which go together


def test_what_is_left_to_the_oracle_is_left_out() -> None:
    kernel = conversion("codes", "fp32", "fp16", {"nan": "propagate", "rounding": "rdn"})
    assert all(kernel._left(one) is not FALSE for one in kernel.made[0])
    assert proof(kernel).verdict == "proved"
    assert all(conversion("codes", "fp32", "fp16", {})._left(one) is FALSE for one in kernel.made[0])


def test_what_has_no_loop() -> None:
    unit = OperationUnit.make("convert", "fp32", "fp16", {"rounding": "rup", "flush_outputs": True})
    assert not is_compiled(unit, "values")
    with pytest.raises(Unsupported, match="values without a loop"):
        Kernel(unit, "values").made  # noqa: B018
    assert not is_compiled(OperationUnit.make("fma", "fp64"), "operation")
    with pytest.raises(Unsupported, match="without a loop"):
        Kernel(OperationUnit.make("fma", "fp64"), "operation").made  # noqa: B018


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ties_away(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The numbers of the loops as of another rounding."""
    right = plans.decisions
    for cached in (dispatch._plain, dispatch._nearest):
        cached.cache_clear()
    monkeypatch.setattr(plans, "decisions", lambda t: right(t._replace(mode=RNA)))
    yield
    for cached in (dispatch._plain, dispatch._nearest):
        cached.cache_clear()


@pytest.mark.usefixtures("ties_away")
@pytest.mark.parametrize("source", ["fp32", "fp64"])
def test_another_rounding_is_found(source: str) -> None:
    kernel = conversion("codes", source, "fp8_e4m3", {})
    counterexample = proof(kernel).counterexample
    assert counterexample is not None
    assert kernel.unit.answer(counterexample.inputs)[0] == counterexample.expected[0] == counterexample.got[0] - 1


def test_one_wrong_entry_of_a_table_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = dispatch._upper_table
    policy = {"flush_outputs": True}

    def wrong(*args: Any) -> Any:
        table = right(*args).copy()
        table[0x4049] ^= 1
        return table

    monkeypatch.setattr(dispatch, "_upper_table", wrong)
    counterexample = proof(conversion("codes", "fp32", "fp8_e5m2", policy)).counterexample
    assert counterexample is not None
    assert counterexample.inputs[0] >> 16 in (0x4048, 0x4049)


def test_wrong_flags_of_an_operation_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = kernels._operation

    def wrong(*args: Any) -> kernels.Call:
        call = right(*args)
        table = call.arguments[3].copy()
        table[:, 2] |= 16  # a flag more for special operands, and computed ones
        return call._replace(arguments=(*call.arguments[:3], table, *call.arguments[4:]))

    monkeypatch.setitem(kernels._CALLS, "operation", wrong)
    counterexample = proof(Kernel(OperationUnit.make("mul", "fp8_e4m3"), "operation")).counterexample
    assert counterexample is not None
    assert counterexample.got[1] == counterexample.expected[1] | 16


def test_what_is_left_to_the_oracle_without_need_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, where only NaNs may be."""
    right = kernels._operation

    def wrong(*args: Any) -> kernels.Call:
        call = right(*args)
        table = call.arguments[3].copy()
        table[2 * 8 + 2] = ORACLE  # two positive numbers
        return call._replace(arguments=(*call.arguments[:3], table, *call.arguments[4:]))

    monkeypatch.setitem(kernels._CALLS, "operation", wrong)
    proved = proof(Kernel(OperationUnit.make("mul", "fp8_e4m3", policy={"nan": "propagate"}), "operation"))
    assert proved.counterexample is not None
    assert proved.counterexample.got[1] == UNKNOWN


def test_a_loop_that_is_read_wrongly_has_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(llvm_integers.INTRINSICS, "umin", llvm_integers.INTRINSICS["umax"])  # shifts have no limit
    proved = proof(conversion("codes", "fp64", "fp8_e4m3", {}))
    assert proved.verdict == "undecided"
    assert proved.cases[0].note == "the solver's counterexample is none of the oracle"


def test_a_shift_too_far_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What LLVM does not define may give the right result on one processor only."""
    right = kernels._codes

    def wrong(*args: Any) -> kernels.Call:
        call = right(*args)
        x, out, p = call.arguments
        return call._replace(arguments=(x, out, p._replace(mantissa_bits=np.uint64(70))))

    monkeypatch.setitem(kernels._CALLS, "codes", wrong)
    kernel = conversion("codes", "fp64", get_format("fp8_e4m3").name, {})
    assert kernel.made[1] is not FALSE
    assert proof(kernel).verdict != "proved"


# -- blocks ------------------------------------------------------------------------------------------------------------


@pytest.mark.full(gate=0)
def test_a_block_is_proved() -> None:
    assert (
        prove(BlockKernel(QuantizeUnit.make(get_block_format("mxint8"))), "auto", Tactics(LIMIT_S)).verdict == "proved"
    )


def test_a_wrong_threshold_of_a_scale_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scale would be one higher from another mantissa on, in one binade."""
    right = block_dispatch.plan

    def wrong(*args: Any) -> Any:
        codes = right(*args)
        table = codes.table.copy()
        table[130] -= 3
        return codes._replace(table=table)

    monkeypatch.setattr(block_dispatch, "plan", wrong)
    kernel = BlockKernel(QuantizeUnit.make(get_block_format("mxfp4")))
    counterexample = prove(kernel, "auto", Tactics(LIMIT_S)).counterexample
    assert counterexample is not None
    assert counterexample.got[0] != counterexample.expected[0]


def test_blocks_that_have_no_loop() -> None:
    kernel = BlockKernel(QuantizeUnit.make(get_block_format("nvfp4")))
    with pytest.raises(Unsupported, match="blocks without a loop"):
        kernel.made  # noqa: B018
