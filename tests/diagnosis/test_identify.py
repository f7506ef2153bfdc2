"""Identification: devices made of the library are recovered; equal keys mean equal devices; the command."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import shlex
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from command import refused, run

from softfloat_ref.app import identify as app
from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis import identified
from softfloat_ref.diagnosis.asking import ask_arrays, ask_command, ask_model
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.identify import Examiner, Identification
from softfloat_ref.diagnosis.kinds import confirming, examiner
from softfloat_ref.diagnosis.kinds.operation import OperationSpace
from softfloat_ref.diagnosis.policy_space import nan_rules
from softfloat_ref.diagnosis.selftest import selftest, subject
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.policies import NanRule
from softfloat_ref.rtl.tolerance import CompareNan
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.units import ApproximationUnit


@pytest.fixture(scope="module")
def fma() -> Examiner[Any]:
    return examiner(subject("fma", "fp16", None))


def asked(e: Examiner[Any], model: Any, count: int = 60, *, has_flags: bool = True) -> Identification[Any]:
    return e.identify(ask_model(e.vectors.unit, model, has_flags), confirming(e.vectors, count, 1))


def test_every_policy_and_single_change_is_recovered() -> None:
    summary = selftest("convert", "fp32", "fp8_e4m3")
    assert summary.recovered == len(summary.devices) >= 15
    assert summary.questions[2] <= 8
    assert any({"policy ieee", "policy ptx"} <= set(names) for names in summary.same)


def test_an_approximation_is_recognized() -> None:
    """By its definition; and one with another rounding, or a wrong entry of its table, by the defect."""
    path = Path(__file__).parents[2] / "docs" / "examples" / "tanh_bf16" / "tanh_bf16.toml"
    e = examiner(subject(str(path), None, None))
    own = e.vectors.unit.approximation
    part = own.positive
    rows = ((part.rows[0][0], part.rows[0][1] ^ 1 << 6, part.rows[0][2]), *part.rows[1:])
    for device, name in (
        (own, "unit tanh_bf16"),
        (dataclasses.replace(own, rounding="rtz"), "unit tanh_bf16; rounding = rtz"),
        (
            dataclasses.replace(own, positive=dataclasses.replace(part, rows=rows)),
            "unit tanh_bf16; c1 of segment 0: bit 6 inverted",
        ),
    ):
        result = asked(e, ApproximationUnit(device).answer, 400, has_flags=False)
        assert result.complete
        assert result.name == name


@pytest.mark.full
@pytest.mark.parametrize(("fmt", "least"), [("fp4_e2m1@e8m0/4", 20)])
def test_profiles_are_recovered(fmt: str, least: int) -> None:
    e = examiner(subject("quantize", fmt, None))
    assert len(e.candidates) >= least
    for c in list(e.candidates.values())[::19]:
        result = asked(e, c.model, 5)
        assert any(set(c.names) & set(x.names) for x in result.candidates), c.name
        assert result.questions <= 10


def test_named_accumulators_are_recovered() -> None:
    e = examiner(subject("dot", "bf16", None, k=8))
    e = dataclasses.replace(e, questions=e.questions[::14])
    confirm = confirming(e.vectors, 5, 1)
    named = [c for c in e.candidates.values() if any(n.count(",") == 0 for n in c.names)]
    assert len(named) >= 12
    for c in named[::9]:
        result = e.identify(ask_model(e.vectors.unit, c.model), confirm)
        assert any(set(c.names) & set(x.names) for x in result.candidates), c.name
        assert result.questions <= 12


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({"like": "x86-sse", "flush_inputs": True, "flush_outputs": True}, "flush_inputs = on, flush_outputs = on"),
        ({"like": "arm", "rounding": "rup", "overflow": "sat-finite"}, "rounding = rup"),
    ],
)
def test_several_changes_at_once(fma: Examiner[Any], fields: dict[str, object], change: str) -> None:
    other = VectorSet.make("fma", "fp16", 1, policy=fields)
    result = asked(fma, Faulty(other.unit), 150)
    assert result.complete
    if result.candidates:  # by whatever name, it is that device
        point = VectorSet.make("fma", "fp16", 1, policy=fields).unit.policy
        assert fma.space.key(result.candidates[0].point) == fma.space.key(point)
    else:
        assert change in result.name
    assert "questions chosen one by one" in identified.lines(result, fma.vectors.unit)[-1]


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(("policy", "named"), [("riscv", "ieee"), ("arm", "arm"), ("x86-sse", "x86-sse")])
def test_a_device_with_a_defect(fma: Examiner[Any], policy: str, named: str) -> None:
    """With the policy it stands on: riscv is the same device as ieee here."""
    space = OperationSpace(VectorSet.make("fma", "fp16", 1, policy=policy).unit)
    model = next(h.model for h in space.defects(space.base) if h.name == "sticky dropped, inexact kept")
    result = asked(fma, model, 150)
    assert result.complete
    assert result.name == f"policy {named}; sticky dropped, inexact kept"


@pytest.mark.full
def test_an_accumulator_with_a_defect() -> None:
    e = examiner(subject("dot", "bf16", None, k=4))
    e = dataclasses.replace(e, questions=e.questions[::30])
    for name, defect in (("fp32-sequential", "last lane left out"), ("fp32-pairwise", "zeros -0")):
        c = next(c for c in e.candidates.values() if c.name == f"accumulator {name}")
        model = next(h.model for h in e.space.at(c.point).defects(c.point) if h.name == defect)
        result = e.identify(ask_model(e.vectors.unit, model), confirming(e.vectors, 40, 1))
        assert result.complete
        assert f"accumulator {name}; {defect}" in [f.hypothesis.name for f in result.closest]


def test_an_unknown_device_departs_somewhere(fma: Examiner[Any]) -> None:
    right = Faulty(VectorSet.make("fma", "fp16", 1).unit)

    def model(inputs: Any) -> tuple[int, int] | None:
        output = right(inputs)
        return output and ((output[0] ^ (inputs[0] >> 3 & 1), output[1]))  # type: ignore[return-value]

    result = asked(fma, model, 120)
    assert not result.complete
    assert result.exception is not None
    text = identified.lines(result, fma.vectors.unit)
    assert text[0].endswith("no model explains every answer; the closest:")
    assert any("answers differ from the first model" in line for line in text)


def test_without_flags(fma: Examiner[Any]) -> None:
    result = asked(
        fma,
        Faulty(VectorSet.make("fma", "fp16", 1, policy={"rounding": "rtz"}).unit),
        has_flags=False,
    )
    assert result.candidates[0].name == "rounding = rtz"
    assert not result.has_flags
    assert "the device gives no flags" in identified.lines(result, fma.vectors.unit)[-1]


def test_numpy_casts_to_nearest_even() -> None:
    vectors = VectorSet.make("convert", "fp32", 1, out="fp16")
    e = examiner(vectors, CompareNan.ANY)

    def device(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with np.errstate(all="ignore"):
            return a.view(np.float32).astype(np.float16).view(np.uint16)

    result = e.identify(ask_arrays(vectors.unit, device), confirming(vectors, 500, 0))
    assert "policy ieee" in result.candidates[0].names


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(
    ("op", "fmt", "out"),
    [
        ("convert", "fp8_e5m2", "fp8_e4m3"),
        ("convert", "fp8_e4m3", "fp8_e5m2"),
        ("convert", "fp8_e5m2", "fp16"),
        ("convert", "bf16", "fp32"),
        ("convert", "fp8_e5m2", "i8"),
        ("convert", "fp8_e4m3", "ue4m3"),
        ("sqrt", "fp8_e5m2", None),
        ("round_to_integral", "fp8_e5m2", None),
        ("neg", "fp8_e5m2", None),
        ("next_up", "fp8_e5m2", None),
        ("add", "s1e3m2", None),
        ("div", "s1e3m2", None),
        ("minimum", "s1e3m2", None),
        ("lt", "s1e3m2", None),
        ("fma", "s1e2m2", None),
    ],
)
def test_equal_keys_are_one_device(op: str, fmt: str, out: str | None) -> None:
    """Policies of one key answer alike for every operand there is."""
    vectors = VectorSet.make(op, fmt, 1, out=out)
    space = OperationSpace(vectors.unit)
    groups: dict[Hashable, list[Any]] = {}
    for named in space.named():
        for point in (named, *space.changes(named)):
            groups.setdefault(space.key(point), []).append(point)
    assert len(groups) > 1
    inputs = list(itertools.product(*(range(1 << f.width) for f in space.unit.formats)))
    for points in groups.values():
        models = [space.model(p) for p in dict.fromkeys(points)]
        answers = {tuple(m(x) for x in inputs[:: max(len(inputs) // 400, 1)]) for m in models if m is not None}
        assert len(answers) <= 1, [space.text(p) for p in points]


def test_nan_rules_change_one_word() -> None:
    for text in ("canonical", "propagate", "propagate,negative,fma-quiet", "canonical,fp8_e5m2=7f"):
        rules = nan_rules(text)
        assert len(set(rules)) == len(rules) >= 5
        assert all(NanRule.parse(x) != NanRule.parse(text) for x in rules)


@pytest.mark.full
def test_the_command() -> None:
    device = f"{sys.executable} -m softfloat_ref eval convert --fmt fp16 --out fp8_e5m2 --policy riscv --round rtz -"
    common = ("identify", "convert", "--fmt", "fp16", "--out", "fp8_e5m2", "-n", "100")
    done = run(*common, "--dut", device, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["identified"]
    assert report["name"] in ("policy riscv, rounding = rtz", "rounding = rtz, nan = ones")
    assert report["questions"] <= 10
    done = run(*common, "--dut", "false")
    assert done.returncode == 1
    assert re.fullmatch(r"device failure: it gave no answer to '[0-9A-F ]+'; it ended with exit code 1\n", done.stdout)
    done = run(*common, "--dut", "sh -c 'echo header; cat'")
    assert done.returncode == 1
    # Which it is depends on when the header came.
    text = r"device failure: it answered ('header' before|2 lines to 1 question: 'header', '[0-9A-F ]+'; it ended)"
    assert re.match(text, done.stdout)


@pytest.mark.full
def test_a_function_of_vectors() -> None:
    device = f"{sys.executable} -m softfloat_ref eval softmax --fmt fp8_e4m3 --length 2 --round rup -"
    done = run("identify", "softmax", "--fmt", "fp8_e4m3", "--length", "2", "-n", "20", "--dut", device)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("softmax fp8_e4m3 to fp8_e4m3: rounding = rup\n")


DEVICE = """
import sys
from pathlib import Path
with Path(sys.argv[1]).open("a") as log:
    log.write("started\\n")
kind, left = sys.argv[2], 12
lines = sys.stdin.readlines() if kind == "at the end" else iter(sys.stdin.readline, "")
for line in lines:
    a, b = (int(word, 16) for word in line.split())
    print(f"{a ^ b:02x} 00", flush=kind != "at the end")
    left -= 1
    if kind == "dies" and left == 0:
        sys.exit(3)
"""


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(("kind", "starts"), [("line by line", 2), ("at the end", 6), ("dies", 2)])
def test_a_command_is_kept_running_where_it_answers_line_by_line(tmp_path: Path, kind: str, starts: int) -> None:
    script, log = tmp_path / "device.py", tmp_path / "log"
    script.write_text(DEVICE)
    vectors = VectorSet.make("add", "fp8_e4m3", 1)
    command = shlex.join([sys.executable, str(script), str(log), kind])
    lists = [[(i, j) for j in range(1, 6)] for i in range(5)]
    with ask_command(vectors.unit, command) as ask:
        answers = []
        for number, questions in enumerate(lists):
            if kind == "dies" and number == 3:  # the second process was asked 1, to see, and 5 and 5
                text = "4 answers too early; it ended with exit code 3; it was asked '03 02' and 3 more lines"
                with pytest.raises(DeviceError, match=text):
                    ask(questions)
                break
            answers += ask(questions)
    assert [answer.result for answer in answers] == [a ^ b for part in lists[: len(answers) // 5] for a, b in part]
    assert log.read_text().count("started") == starts


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("read x", "it gave no answer to '00 01'; it ended with exit code 0"),
        ("exit 7", "it gave no answer to '00 01'; it ended with exit code 7"),
        ("read x; echo 01; exit 7", "it gave 1 answer, none to '00 02'; it ended with exit code 7"),
        ("cat; exit 7", "it answered everything, but failed; it ended with exit code 7"),
        ("read x; echo a; echo b; echo $x; cat; echo c", "6 lines to 3 questions: 'a', 'b', '00 01', ...; it ended"),
        ("read x; exec >&-; sleep 100", "it gave no answer to '00 01' but did not end within 1 s"),
    ],
)
def test_a_device_of_another_number_of_answers(script: str, message: str) -> None:
    vectors = VectorSet.make("add", "fp8_e4m3", 1)
    with ask_command(vectors.unit, f"sh -c {shlex.quote(script)}", 1.0) as ask, pytest.raises(DeviceError) as failure:
        ask([(0, j) for j in (1, 2, 3)])
    assert message in str(failure.value)


@pytest.mark.full
def test_bad_usage() -> None:
    assert "give one device" in refused("identify", "add", "--fmt", "fp16")
    assert "give the operation" in refused("identify", "--dut", "cat")
    assert "--k is for dot" in refused("identify", "add", "--fmt", "fp16", "--k", "4", "--dut", "cat")
    assert "--length is for functions of vectors" in refused("identify", "exp", "--length", "4", "--dut", "cat")
    assert "unknown format" in refused("identify", "add", "--fmt", "fp17", "--dut", "cat")
    assert "neither" in refused("identify", "--selftest", "--fmt", "fp16")


@pytest.mark.parametrize(
    ("device", "message"),
    [
        (("--dut", "no-such-program"), "no such program"),
        (("--dut", "cat > log"), "without a shell"),
        (("--dut-lib", "none.so:f"), "none.so"),
    ],
)
def test_a_device_is_looked_for_before_the_cases_are_made(
    device: tuple[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for maker in ("examiner", "confirming"):
        monkeypatch.setattr(app, maker, lambda *args: pytest.fail("the cases are made"))
    done = CliRunner().invoke(app.command, ["add", "--fmt", "fp16", *device], standalone_mode=False)
    assert isinstance(done.exception, Error)
    assert message in str(done.exception)
