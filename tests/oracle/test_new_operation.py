"""An operation is one row of the table: |a - b|, registered here and nowhere else, is known everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run
from diagnosing import diagnosis, names

import softfloat_ref as sf
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import INF, Value
from softfloat_ref.oracle.operations import OPERATIONS, Evaluator, evaluator, signature
from softfloat_ref.oracle.operations.table import INVALID_OPERATION, Context, Outcome, operation
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.testing import NotConforming, OperationConformance
from softfloat_ref.testing.conformance.table import properties

NAME = "absdiff"


@pytest.fixture(autouse=True)
def absdiff() -> Iterator[None]:
    @operation(NAME, 2, "|a - b|, rounded once", rounds=True, commutes=True, family="sum")
    def function(ctx: Context, a: Value, b: Value) -> Outcome:
        if a.kind == INF or b.kind == INF:
            return INVALID_OPERATION if a.kind == b.kind and a.sign == b.sign else (exact.inf(0), 0)
        return exact.magnitude(exact.add(a, exact.negate(b))), 0

    yield
    del OPERATIONS[NAME]


def evaluated(name: str, fmt: str, policy: Policy | None = None) -> Evaluator:
    return evaluator(signature(name, fmt), policy or Policy())


def test_evaluation() -> None:
    assert sf.evaluate(NAME, (0x3C00, 0x4200), "fp16") == (0x4000, 0)
    operands = [np.array([0x3C00, 0x7C00]), np.array([0x4200, 0x7C00])]
    codes, flags = sf.array_ops.evaluate(NAME, operands, "fp16", flags="each")
    assert (codes.tolist(), flags.tolist()) == ([0x4000, 0x7E00], [0, 0x10])
    assert run("eval", NAME, "--fmt", "fp16", "3c00", "4200").stdout.split()[0] == "4000"
    assert "4000" in run("explain", NAME, "--fmt", "fp16", "3c00", "4200").stdout


def test_vectors_check_and_coverage(tmp_path: Path) -> None:
    golden = tmp_path / "golden"
    made = run(
        "vectors", "generate", "--op", NAME, "--fmt", "fp8_e4m3", "-o", str(golden), "-n", "500", "--format", "tv"
    )
    assert made.returncode == 0, made.stderr
    assert run("vectors", "verify", str(golden)).returncode == 0
    lines = [line.split() for line in next(golden.rglob("*.tv")).read_text().splitlines()]
    found = {}
    for device in (NAME, "sub"):
        answers = [evaluated(device, "fp8_e4m3")((int(a, 16), int(b, 16)), 0) for a, b, *_ in lines]
        (tmp_path / device).write_text("".join(f"{code:02x} {raised:02x}\n" for code, raised in answers))
        found[device] = run("check", "--golden", str(golden), "--results", str(tmp_path / device))
    assert found[NAME].returncode == 0, found[NAME].stderr
    assert found["sub"].returncode == 1
    assert "computes sub" in found["sub"].stdout
    report = run("coverage", "report", str(golden))
    assert report.returncode == 0, report.stderr
    assert {"B1", "B9"} <= set(report.stdout.split())


def test_diagnosis() -> None:
    vectors = VectorSet.make(NAME, "fp16", 2000)
    sub, truncating = evaluated("sub", "fp16"), evaluated(NAME, "fp16", Policy("rtz"))
    assert names(diagnosis(vectors, partial(sub, random_bits=0))) == ["operation sub"]
    assert "rounding = rtz" in names(diagnosis(vectors, partial(truncating, random_bits=0)))


def test_conformance() -> None:
    def suite(name: str) -> Any:
        run = evaluated(name, "fp16")
        body = {"op": NAME, "fmt": "fp16", "properties": properties(NAME), "model": lambda _, a, b: run((a, b), 0)}
        return type("AbsDiff", (OperationConformance,), {**body, "max_examples": 40})()

    assert {"oracle", "half_ulp", "commutative", "flags"} <= properties(NAME).keys()
    for item in ("oracle", "half_ulp", "commutative", "flags"):
        suite(NAME).check(item)
    with pytest.raises(NotConforming, match="absdiff"):
        suite("sub").check("commutative")
