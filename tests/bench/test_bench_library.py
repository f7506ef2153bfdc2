"""`bench library`: calls and arrays are measured without SoftFloat, too, and a line says what is missing."""

from __future__ import annotations

import shutil

import pytest

from bench import library


@pytest.mark.full(gate=0)
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_without_softfloat(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(library.PEER, raising=False)
    monkeypatch.setattr(library, "COUNT", 4000)
    library.run()
    first, *rows = capsys.readouterr().out.splitlines()
    assert first == "beside SoftFloat: not measured, SOFTFLOAT_3 is not set"
    assert [" ".join(row.split()[:2]) for row in rows[:5]] == [
        f"f32 {x}" for x in ("add", "mul", "mulAdd", "div", "sqrt")
    ]
    assert len(rows) == 42
    assert all(row.endswith(" results/s") for row in rows)
