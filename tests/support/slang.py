"""SystemVerilog as a strict IEEE 1800-2017 front end sees it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyslang


def problems(sources: Iterable[Path], top: str, *options: str) -> list[str]:
    """The errors, and the warnings of all that slang says is suspicious or beyond the standard, in the sources."""
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    words = ["slang", "--std", "1800-2017", "-Wextra", "-Wpedantic", "-Wno-useless-cast", *options, *map(str, sources)]
    words += ["--top", top]
    assert driver.parseCommandLine(" ".join(words))
    assert driver.processOptions()
    assert driver.parseAllSources()
    compilation, engine = driver.createCompilation(), driver.diagEngine
    found = [d for d in compilation.getAllDiagnostics() if engine.getSeverity(d.code, d.location) not in _NO_WARNINGS]
    return [f"{_file(driver.sourceManager, d.location)}: {engine.formatMessage(d)}" for d in found]


def _file(manager: Any, location: Any) -> str:
    return str(manager.getFullPath(manager.getFullyExpandedLoc(location).buffer))


_NO_WARNINGS = (pyslang.DiagnosticSeverity.Ignored, pyslang.DiagnosticSeverity.Note)
