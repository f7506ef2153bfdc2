"""Waivers: bins that need not be hit, with the reason, from a TOML file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.names import matches
from softfloat_ref.base.tables import read_toml
from softfloat_ref.coverage.engine.framework import Coverage

_ENTRIES: Final = {"bin": "an id or a pattern with * and ?", "reason": "the reason why its bins need not be hit"}


def read_waivers(path: str | Path, coverage: Coverage) -> dict[str, str]:
    """The reason for each bin that a file waives. Raises Error for entries that match no bin of the set.

    The file has tables `[[waive]]` with `bin`, an id or a pattern with * and ?, and `reason`.
    """
    table = read_toml(str(path))
    entries = table.get("waive")
    if set(table) != {"waive"} or not isinstance(entries, list) or not entries:
        raise Error(f"{path}: waivers must be [[waive]] tables with bin and reason, and nothing else")
    known = [b.id for listed in coverage.bins().values() for b in listed]
    waived: dict[str, str] = {}
    for number, entry in enumerate(entries, 1):
        pattern, reason = _entry(path, number, entry)
        for name in _named(path, pattern, known):
            waived.setdefault(name, reason)
    return waived


def _entry(path: str | Path, number: int, entry: Any) -> tuple[str, str]:
    if not isinstance(entry, dict) or set(entry) != {"bin", "reason"}:
        raise Error(f"{path}: waiver {number} must have a bin and a reason, and nothing else")
    for name, value in entry.items():
        if not isinstance(value, str):
            raise Error(f"{path}: waiver {number}: its {name} is not a string")
        if not value.strip():
            raise Error(f"{path}: waiver {number}: its {name} is empty; give {_ENTRIES[name]}")
    return entry["bin"], " ".join(entry["reason"].split())


def _named(path: str | Path, pattern: str, known: Collection[str]) -> list[str]:
    """The bins of a pattern, in which only * and ? are special."""
    plain = pattern.replace("[", "[[]")
    names = [name for name in known if matches(name, plain)]
    if not names:
        raise Error(f"{path}: {unknown('bin', pattern, known)}")
    return names
