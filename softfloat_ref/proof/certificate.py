"""Certificates: what was proved, of what, with which tools; and a reader that checks one by itself.

The reader uses none of the terms that a proof is made of: files by their hashes, the split by a solver's own reading of
the certificate's text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_bytes, sha256
from softfloat_ref.base.trees import parse_json
from softfloat_ref.proof.solver import answer_text

SCHEMA: Final = 1
_LIMIT_S: Final = 300.0  # to check the split
_WIDTH_OF: Final = "(declare-const {name} (_ BitVec {width}))"
_NAME: Final = re.compile(r"[a-z_]+[a-z0-9_]*")


def sealed(table: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate with its own hash."""
    return {**table, "sha256": _seal(table)}


def _seal(table: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in table.items() if k != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file's contents. Raises Error if it cannot be read."""
    return sha256(path).hexdigest()


def read_certificate(path: str) -> dict[str, Any]:
    """A certificate. Raises Error for anything else."""
    data = read_bytes(path, limits.JSON)
    try:
        found = parse_json(data, path)
        if found["schema"] == SCHEMA and found["tool"] == "softfloat-ref":
            return dict(found)
    except (ValueError, KeyError, TypeError):
        pass
    raise Error(f"{path}: not a certificate; prove -o writes one")


def problems(table: Mapping[str, Any], folder: Path, solver: str = "bitwuzla") -> Iterator[str]:
    """What is wrong with a certificate; nothing, if it holds. folder: of relative paths. Raises Error for a text that
    is incomplete."""
    try:
        if table["sha256"] != _seal(table):
            yield "its text was changed after it was written"
        yield from _changed_files(table["files"], folder)
        yield from _open_cases(table["cases"])
        later = table.get("later") or {"verdict": "proved"}
        if later["verdict"] != "proved":
            yield f"operations after the first one: {later['verdict']}, {later['said']}"
        yield from _left_out(table, solver)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, IndexError) as e:
        raise e if isinstance(e, Error) else Error(f"the certificate is incomplete: {e}") from None


def _changed_files(files: Sequence[Mapping[str, str]], folder: Path) -> Iterator[str]:
    if not files:
        yield "it names no sources"
    for file in files:
        path = folder / file["path"]
        if not path.is_file():
            yield f"{file['path']}: no such file"
        elif file_hash(path) != file["sha256"]:
            yield f"{file['path']}: changed since the proof"


def _open_cases(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not cases:
        yield "it has no cases"
    for case in cases:
        last: Mapping[str, Any] = case["queries"][-1] if case["queries"] else {"result": "not asked"}
        if case["verdict"] != "proved" or last["result"] != "unsat":
            yield f"case {case['name']}: {case['verdict']}, the solver's last answer {last['result']}"
        yield from (f"case {case['name']}: {k} says {v}" for k, v in last.get("confirmed", {}).items() if v != "unsat")


def _left_out(table: Mapping[str, Any], solver: str) -> Iterator[str]:
    """Whether an input that is assumed is in no case."""
    found = answer_text(split_text(table), solver, _LIMIT_S).result
    if found != "unsat":
        yield "the cases leave out an input" if found == "sat" else "whether the cases are complete is undecided"


def split_text(table: Mapping[str, Any]) -> str:
    """The script in SMT-LIB that asks for an input in no case."""
    lines = ["(set-logic QF_BV)"]
    for name, width in table["inputs"].items():
        if not _NAME.fullmatch(name):
            raise Error(f"{name!r} is not the name of an input")
        lines.append(_WIDTH_OF.format(name=name, width=int(width)))
    lines.append(f"(assert (= {table['assumption']} #b1))")
    lines += [f"(assert (= {case['assumption']} #b0))" for case in table["cases"]]
    return "\n".join([*lines, "(check-sat)", ""])
