"""Computations in steps: what operations and dot products give, and which steps they do where."""

from __future__ import annotations

import random

from core.samples import Sample, said, sample
from softfloat_ref.oracle.accumulate import default_accumulator
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import signature
from softfloat_ref.oracle.operations.steps import evaluated, setting
from softfloat_ref.oracle.policies import Policy, default_rounding, get_policy
from softfloat_ref.oracle.rounding_steps import answer
from softfloat_ref.oracle.steps import PLAIN, Plan, Traced
from softfloat_ref.units import DotUnit

RECORDED = Plan((), record_all=True)
OPERATIONS = (
    ("add", "fp8_e4m3", None, Policy()),
    ("fma", "fp8_e5m2", "fp16", Policy("sr", sr_bits=3)),
    ("div", "fp16", None, Policy("rup", flush_inputs=True)),
    ("sqrt", "s1e3m2", None, Policy()),
    ("exp", "fp8_e5m2", "fp16", Policy("sr", sr_bits=4)),
    ("neg", "fp8_e4m3", None, Policy(flush_inputs=True)),
    ("min", "fp8_e5m2", None, Policy(flush_inputs=True)),
    ("class", "fp8_e5m2", None, Policy()),
    ("convert", "bf16", "fp32", get_policy("tpu-bf16")),
    ("convert", "fp16", "fp8_e4m3", Policy()),
)


def recorded(run: Traced) -> list[tuple[object, ...]]:
    """Where which steps were done, and the formats of what was read."""
    return [(x.path, x.name, x.args[-1].name if x.name == "read" else "") for x in run.record]


@sample
def operations_in_steps() -> Sample:
    words = random.Random(40)
    for op, fmt, out, policy in OPERATIONS:
        sig = signature(op, fmt, out)
        s, finer = setting(sig, policy), setting(sig, policy, 5)
        yield op, s.codes, s.zeros, finer.ctx.bits - s.ctx.bits, setting(sig, policy).ctx.bits
        for i in range(60):
            inputs = [words.randrange(1 << f.width) for f in sig.formats]
            inputs += [words.randrange(1 << policy.random_count)] if policy.random_count and i % 3 else []
            yield said(evaluated, PLAIN, s, inputs), said(evaluated, PLAIN, finer, inputs)
        run = Traced(RECORDED)
        yield run(answer, evaluated(run, s, inputs)), recorded(run)


@sample
def dots_in_steps() -> Sample:
    words = random.Random(41)
    for acc, fmt in (
        ("fp32-sequential", ("fp8_e4m3", "fp8_e5m2")),
        ("mx-fp32", "mxfp8"),
        ("nvidia-h100", "fp16"),
        ("nvidia-v100", "fp16"),
    ):
        unit = said(DotUnit.make, fmt, acc=acc, k=4)
        if not isinstance(unit, DotUnit):
            yield acc, unit
            continue
        for _ in range(12):
            inputs = [words.randrange(1 << f.width) for f in unit.inputs for _ in range(f.lanes)]
            run = Traced(RECORDED)
            yield acc, said(unit.answered, run, inputs), recorded(run)


@sample
def defaults() -> Sample:
    for fmt in ("fp64", "fp8_e4m3", "bf16"):
        for acc in ("nvidia-h100-fp8-mma", "nvidia-v100", "nvidia-h100"):
            found = said(DotUnit.make, fmt, acc=acc)
            yield found.name if isinstance(found, DotUnit) else found
    fp16, mxfp8 = get_format("fp16"), get_block_format("mxfp8")
    yield [default_accumulator(*x) for x in ((fp16, fp16), (mxfp8, mxfp8), (fp16, mxfp8), (mxfp8, fp16))]
    for table in ({}, {"rounding": "rup"}, {"like": "tpu-bf16"}, {"flush_inputs": True}):
        yield default_rounding(table, "rtz")
