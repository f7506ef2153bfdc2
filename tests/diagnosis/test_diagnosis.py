"""Diagnosis: what devices with a known fault are said to do, and that nothing is said that a matching case refutes."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from command import run
from diagnosing import defect, diagnosis, names
from mutation.bugs import bugs
from mutation.circuits import CIRCUITS
from mutation.diagnosed import diagnosed

from softfloat_ref.diagnosis import report
from softfloat_ref.diagnosis.checked import space_of
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.shrink import code_cost, simpler_codes
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.rtl.simulators import find

FMA = VectorSet.make("fma", "fp16", 1200)
TO_E4M3 = VectorSet.make("convert", "fp32", 1200, out="fp8_e4m3")
DIV = VectorSet.make("div", "fp16", 1200)
SQRT = VectorSet.make("sqrt", "fp16", 1200)
SMALL_BLOCKS = VectorSet.make("quantize", "fp8_e4m3@e8m0/8", 120)
SMALL_DOTS = VectorSet.make("dot", "fp8_e4m3@e8m0/4", 120)


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("vectors", "name"),
    [
        (FMA, "sticky dropped"),
        (FMA, "guard one bit low"),
        (FMA, "carry lost"),
        (FMA, "x - x is -0"),
        (FMA, "not fused, product in fp16"),
        (FMA, "addend cut 2 places below the product"),
        (FMA, "double rounding via fp32"),
        (FMA, "subnormals flushed of b"),
        (FMA, "no underflow"),
        (TO_E4M3, "NaN code a number"),
        (TO_E4M3, "overflow to the next code"),
        (VectorSet.make("mul", "fp16", 1200), "subnormals normalised of b"),
        (TO_E4M3, "overflow of the top tie"),
        (VectorSet.make("add", "fp8_e4m3", 1200), "overflow of the top tie"),
        (TO_E4M3, "overflow for infinity"),
        (VectorSet.make("convert", "fp32", 1200, out="fp16"), "overflow and inexact for infinity"),
        (FMA, "subnormals normalised of c"),
        (FMA, "carry out of the sum lost"),
        (FMA, "Inf * 0 is Inf"),
        (VectorSet.make("mul", "fp16", 1200), "Inf * 0 is Inf"),
        (VectorSet.make("sub", "bf16", 1200), "carry out of the sum lost"),
        (TO_E4M3, "exponent +1"),
        (TO_E4M3, "FTZ, flags kept"),
        (TO_E4M3, "FTZ after rounding"),
        (TO_E4M3, "underflow when exact"),
        (VectorSet.make("convert", "fp32", 1200, out="i8"), "integer wraps"),
        (DIV, "a * (1 / b)"),
        (DIV, "quotient of p+2 bits"),
        (DIV, "quotient of p+1 bits, sticky kept"),
        (DIV, "quotient of p+2 bits, low if exact"),
        (DIV, "subnormal results cut 3 places below"),
        (VectorSet.make("convert", "fp32", 1200, out="fp16"), "subnormal results cut 2 places below"),
        (DIV, "quotient below one, exponent +1"),
        (VectorSet.make("div", "bf16", 1200, policy={"rounding": "rup"}), "quotient of p+1 bits"),
        (SQRT, "root of p+1 bits"),
        (SQRT, "odd exponent as even"),
        (SQRT, "odd exponent up"),
        (SQRT, "odd exponent towards zero"),
        (FMA, "b and c exchanged"),
        (FMA, "bytes reversed"),
        (FMA, "bits reversed"),
        (FMA, "bit 3 is 1"),
        (FMA, "bit 9 inverted"),
        (FMA, "flag bits reversed"),
        (TO_E4M3, "stored-normal underflow"),
        (TO_E4M3, "double rounding via fp16"),
        (TO_E4M3, "output as fp8_e5m2"),
        (SMALL_BLOCKS, "amax without the last lane"),
        (SMALL_BLOCKS, "lanes reversed"),
        (SMALL_BLOCKS, "lanes one up"),
        (SMALL_BLOCKS, "scale last"),
        (SMALL_BLOCKS, "flush_outputs = on"),
        (SMALL_BLOCKS, "FTZ after rounding, flags kept"),
        (SMALL_BLOCKS, "scale wraps"),
        (SMALL_BLOCKS, "scale -1"),
        (SMALL_DOTS, "last lane left out"),
        (SMALL_DOTS, "lane 2 left out"),
        (SMALL_DOTS, "sticky dropped of inner sums"),
        (SMALL_DOTS, "subnormals with exponent 0"),
        (SMALL_DOTS, "smaller addend cut 3 places below the larger"),
        (SMALL_DOTS, "x - x is -0"),
    ],
)
def test_a_listed_defect_is_named(vectors: VectorSet, name: str) -> None:
    d = diagnosis(vectors, defect(vectors, name))
    assert d.complete
    assert name in names(d)


@pytest.mark.parametrize("policy", ["tpu-bf16", "ptx"])
def test_a_conversion_that_only_appends_zeros(policy: str) -> None:
    """Its listed defects are of codes; each shows, and is named."""
    vectors = VectorSet.make("convert", "bf16", 300, out="fp32", policy=policy)
    for name in ("sign inverted", "exponent -1", "subnormals flushed"):
        d = diagnosis(vectors, defect(vectors, name))
        assert d.complete
        assert name in names(d)


ML_DTYPES = "overflow to the next code; NaN with the operand's sign"  # which has a name of its own


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("vectors", "first", "second"),
    [
        (FMA, "sticky dropped", "no underflow"),
        (FMA, "double rounding via fp32", "every NaN all ones"),
        (FMA, "flag bits reversed", "bit 3 is 1"),
        (TO_E4M3, "overflow to the next code", "NaN with the operand's sign"),
    ],
)
def test_two_defects_at_once(vectors: VectorSet, first: str, second: str) -> None:
    under = defect(vectors, first)
    space = space_of(vectors)
    d = diagnosis(vectors, next(h.model for h in space.answer_defects(under) if h.name == second))
    assert d.complete
    both = f"{first}; {second}"
    assert ("policy ml-dtypes" if both == ML_DTYPES else both) in names(d)


def test_no_double_rounding_through_a_format_that_holds_every_operand() -> None:
    defects = {
        h.name for h in space_of(TO_E4M3).defects(TO_E4M3.unit.policy) if h.name.startswith("double rounding via")
    }
    assert defects == {
        f"double rounding via {f}{more}" for f in ("fp16", "bf16") for more in ("", ", overflow to the next code")
    }
    bf16 = VectorSet.make("convert", "bf16", 1, out="fp8_e5m2")
    assert not any("via fp32" in h.name for h in space_of(bf16).defects(bf16.unit.policy))


def test_no_overflow_to_the_next_code_where_it_goes_there_anyway() -> None:
    defects = {
        str(mode): [h.name for h in space_of(FMA).defects(Policy(mode)) if "next code" in h.name]
        for mode in ("rne", "rtz")
    }
    assert defects["rne"] == []
    assert "overflow to the next code" in defects["rtz"]


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("vectors", "fields", "name"),
    [
        (FMA, {"rounding": "rtz"}, "rounding = rtz"),
        (FMA, {"flush_outputs": True}, "flush_outputs = on"),
        (FMA, {"tininess": "before"}, "tininess = before"),
        (FMA, {"rounding": "rtz", "flush_inputs": True}, "rounding = rtz, flush_inputs = on"),
        (FMA, {"like": "x86-sse", "rounding": "rup"}, "policy x86-sse, rounding = rup"),
        (TO_E4M3, {"overflow": "sat-none"}, "overflow = sat-none"),
        (TO_E4M3, {"rounding": "rna"}, "rounding = rna"),
    ],
)
def test_another_policy_is_named(vectors: VectorSet, fields: dict[str, object], name: str) -> None:
    other = vectors.with_unit(policy=get_policy(fields)).of_count(1)
    d = diagnosis(vectors, Faulty(other.unit))
    assert d.complete
    assert names(d)[0] == name


def test_another_profile_and_accumulator_are_named() -> None:
    blocks = space_of(SMALL_BLOCKS)
    model = blocks.model(next(p for p in blocks.named() if p.name == "torchao-ceil"))
    assert model is not None
    assert "profile torchao-ceil" in names(diagnosis(SMALL_BLOCKS, model))
    dots = space_of(SMALL_DOTS)
    model = dots.model(next(a for a in dots.named() if a.name == "fp32-sequential"))
    assert model is not None
    assert names(diagnosis(SMALL_DOTS, model))[0] == "accumulator fp32-sequential"


def test_cases_that_agree_count() -> None:
    """A device that truncates negative results only: truncation explains every mismatch, and is not said to be all."""
    rne, rtz = (Faulty(VectorSet.make("fma", "fp16", 1, policy={"rounding": m}).unit) for m in ("rne", "rtz"))

    def model(inputs: object) -> tuple[int, ...] | None:
        right = rne(inputs)  # type: ignore[arg-type]
        return rtz(inputs) if right and right[0] >> 15 else right  # type: ignore[arg-type]

    d = diagnosis(FMA, model)
    assert d.complete
    assert {f"rounding = {m}, where the result is negative" for m in ("rup", "rtz")} == set(names(d)[:2])


def test_the_runner_up_is_refuted_by_a_case() -> None:
    d = diagnosis(FMA, defect(FMA, "sticky dropped"))
    assert d.runner_up is not None
    assert d.refutation is not None
    best, second = d.findings[0].hypothesis, d.runner_up.hypothesis
    assert best.model(d.refutation.inputs) == d.refutation.got != second.model(d.refutation.inputs)


def test_mismatches_are_shrunk() -> None:
    plain, shrunk = (diagnosis(TO_E4M3, defect(TO_E4M3, "carry lost"), shrink=s) for s in (False, True))
    assert plain.simplest is not None
    assert shrunk.simplest is not None
    fp32 = get_format("fp32")
    assert code_cost(shrunk.simplest.inputs[0], fp32) <= code_cost(plain.simplest.inputs[0], fp32)
    assert shrunk.simplest.inputs == (0x3FF80000,)  # 1.9375, the tie below 2.0
    assert shrunk.simplest.got != shrunk.simplest.expected


@pytest.mark.parametrize("fmt", ["fp32", "fp16", "fp8_e4m3", "int8", "e8m0", "fp4_e2m1"])
def test_simpler_codes_cost_less(fmt: str) -> None:
    f = get_format(fmt)
    for code in range(0, 1 << f.width, max((1 << f.width) // 997, 1)):
        for simpler in simpler_codes(code, f):
            assert 0 <= simpler < 1 << f.width
            assert code_cost(simpler, f) < code_cost(code, f)


def test_nothing_explains_noise() -> None:
    def noise(inputs: tuple[int, ...]) -> tuple[int, ...]:
        return (hash(inputs) & 0x7F, 0)

    d = diagnosis(TO_E4M3, noise)  # type: ignore[arg-type]
    assert not d.complete
    assert "perhaps" in report.lines(d, TO_E4M3.unit)[0] or "no policy" in report.lines(d, TO_E4M3.unit)[0]


@pytest.mark.full
def test_random_bits() -> None:
    vectors = VectorSet.make("convert", "fp32", 3000, out="bf16", policy={"rounding": "sr", "sr_bits": 8})
    for name in ("random bits reversed", "top 5 random bits", "one ulp missed"):
        assert name in names(diagnosis(vectors, defect(vectors, name)))
    policy, source = {"rounding": "sr", "sr_bits": 16}, "lfsr:width=16,taps=16.14.13.11,seed=1,bits=15:0"
    drawn = VectorSet.make("convert", "fp32", 2000, out="bf16", policy=policy, source=source)
    assert names(diagnosis(drawn, defect(drawn, "tap 10 in place of 11")))[0] == "tap 10 in place of 11"
    other = vectors.with_unit(policy=vectors.unit.policy.replace(rounding="sr-c"))
    assert names(diagnosis(vectors, Faulty(other.unit)))[0] == "rounding = sr-c"


@pytest.mark.full
def test_check_says_it() -> None:
    device = f"{sys.executable} -m softfloat_ref eval fma --fmt fp16 --round rdn -"
    done = run("check", "fma", "--fmt", "fp16", "--dut", device, "-n", "300", "--show", "0")
    assert done.returncode == 1
    assert "diagnosis: the device rounds toward negative\n" in done.stdout
    assert "simplest mismatch: fma " in done.stdout
    done = run("check", "fma", "--fmt", "fp16", "--dut", device, "-n", "300", "--json", "-", "--no-diagnose")
    assert "diagnosis" not in json.loads(done.stdout)


def test_explain_names_defects() -> None:
    done = run("explain", "--fmt", "fp8_e4m3", "1.99", "--got", "38")
    assert "matches defect = carry lost" in done.stdout
    done = run("explain", "fma", "--fmt", "fp16", "3c01", "3c01", "0001", "--got", "3c01", "--json")
    assert {"defect": "last bit ignored of a"} in json.loads(done.stdout)["got"]


BLOCK_DEVICE = """
import sys
from softfloat_ref.golden.sets import VectorSet
vectors = VectorSet.make("quantize", "mxfp4", 1, profile=sys.argv[1])
for line in sys.stdin:
    codes = [int(x, 16) for x in line.split()]
    print(*(f"{x:x}" for x in vectors.line(codes)[len(codes):]))
"""


@pytest.mark.full
def test_check_of_blocks(tmp_path: Path) -> None:
    (tmp_path / "device.py").write_text(BLOCK_DEVICE)
    command = f"{sys.executable} {tmp_path / 'device.py'}"
    common = ("check", "quantize", "--fmt", "mxfp4", "-n", "12")
    done = run(*common, "--dut", f"{command} ocp")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "quantize_mxfp4_e2m1_from_fp32_rne: 12 compared, 0 mismatched\n"
    done = run(*common, "--dut", f"{command} torchao-ceil", "--show", "1")
    assert done.returncode == 1
    assert "quantizes with scale_rule = ceil" in done.stdout or "profile torchao-ceil" in done.stdout
    assert "softfloat-ref explain --fmt mxfp4_e2m1 --profile ocp" in done.stdout
    done = run(*common, "--dut", "cat")
    assert "which is not a line of 33 codes" in done.stdout


@pytest.mark.sim
def test_planted_bugs_of_a_circuit(tmp_path: Path) -> None:
    """A slice of `python -m tests.campaigns.mutation.diagnosed`, which has all of them."""
    wanted = {1: "rounding = rna", 10: "stored-normal underflow", 15: "NaN code a number"}
    circuit = CIRCUITS["fp_convert"]
    simulator = find("icarus" if shutil.which("iverilog") else None)  # starts sooner
    diagnosed_bugs = diagnosed(circuit, [b for b in bugs(circuit) if b.number in wanted], tmp_path, 600, simulator)
    hypotheses = {s.bug.number: names(s.diagnosis) for s in diagnosed_bugs if s.diagnosis is not None}
    assert {n: x[0] for n, x in hypotheses.items()} == wanted


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("op", ["dot2", "dot4"])
def test_operations_of_many_operands(op: str) -> None:
    """Every operand has a letter."""
    vectors = VectorSet.make(op, "fp8_e5m2", 300)
    last = "ei"[op == "dot4"]
    assert names(diagnosis(vectors, defect(vectors, f"sign inverted of {last}"))) == [f"sign inverted of {last}"]
