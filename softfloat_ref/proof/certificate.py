"""Certificates: what was proved, of what, with which tools; and a reader that checks one by itself.

The reader uses none of the terms that a proof is made of: files by their hashes, the split by a solver's own reading of
the certificate's text.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_bytes
from softfloat_ref.base.trees import parse_json
from softfloat_ref.proof.solver import answer_text
from softfloat_ref.rtl.reading import list_changes

SCHEMA: Final = 2
_LIMIT_S: Final = 300.0  # to check the split
_WIDTH_OF: Final = "(declare-const {name} (_ BitVec {width}))"
_NAME: Final = re.compile(r"[a-z_]+[a-z0-9_]*")
_PACKAGES: Final = {"z3": "z3-solver"}  # of tools with other names


def installed_version(tool: str) -> str | None:
    """The version of a tool from PyPI, or of softfloat-ref; None if it is not installed."""
    from softfloat_ref import __version__

    if tool == "softfloat-ref":
        return __version__
    try:
        return importlib.metadata.version(_PACKAGES.get(tool, tool))
    except importlib.metadata.PackageNotFoundError:
        return None


def versions(*tools: str) -> dict[str, str]:
    """The versions of tools that are installed; an empty name is none."""
    return {tool: version for tool in tools if tool and (version := installed_version(tool)) is not None}


def seal(table: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate with its own hash."""
    return {**table, "sha256": _hash(table)}


def _hash(table: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in table.items() if k != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def read_certificate(path: str) -> dict[str, Any]:
    """A certificate. Raises Error for anything else, and for one of another schema."""
    if not Path(path).exists():
        raise Error(f"{path}: no such file")
    text = read_bytes(path, limits.JSON)
    try:
        table = dict(parse_json(text, path))
        ours, schema, version = table["tool"] == "softfloat-ref", table["schema"], table["version"]
    except (ValueError, KeyError, TypeError):
        ours = False
    if not ours:
        raise Error(f"{path}: not a certificate; prove -o writes one")
    if schema != SCHEMA:
        raise Error(
            f"{path}: a certificate of schema {schema}, written by softfloat-ref {version}; this version checks schema"
            f" {SCHEMA}: prove again"
        )
    return table


def problems(table: Mapping[str, Any], folder: Path, solver: str = "bitwuzla") -> Iterator[str]:
    """What is wrong with a certificate; nothing, if it holds. folder: of relative paths. Raises Error for a text that
    is incomplete."""
    with _complete():
        if table["sha256"] != _hash(table):
            yield "its text was changed after it was written"
        if not any(file["role"] in ("source", "VHDL") for file in table["reading"]["files"]):
            yield "it names no sources"
        other = table["simulated_text"] or {}
        read = [table["reading"], *([other["reading"]] if "reading" in other else [])]
        yield from dict.fromkeys(line for reading in read for line in list_changes(reading, folder))
        yield from _open_cases(table["cases"])
        later = table.get("later") or {"verdict": "proved"}
        if later["verdict"] != "proved":
            yield f"operations after the first one: {later['verdict']}, {later['said']}"
        if table["second_opinion"]["difference"] is not None:
            yield f"{table['second_opinion']['difference']['simulator']} shows something else than the netlist"
        elif "unread" in other and not table["second_opinion"]["simulators"]:
            yield "the text that simulators compile: neither proved nor simulated"
        yield from _left_out(table, solver)
        if "cases" in other:
            lines = [*_open_cases(other["cases"]), *_left_out({**table, "cases": other["cases"]}, solver)]
            yield from (f"the text that simulators compile: {line}" for line in lines)


@contextmanager
def _complete() -> Iterator[None]:
    """Raise Error for a part of a certificate that is missing or of another type."""
    try:
        yield
    except Error:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, IndexError) as e:
        raise Error(f"the certificate is incomplete: {e}") from None


def other_versions(table: Mapping[str, Any]) -> Iterator[str]:
    """The tools that are not installed now in the version that was used. This is not a problem: a certificate says what
    was proved with which tools."""
    with _complete():
        for tool, used in {**table["reading"]["tools"], **table["solvers"]}.items():
            installed = installed_version(tool)
            if installed != used:
                yield f"proved with {tool} {used}; {installed or 'no version'} is installed"


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
    text = split_text(table)
    try:
        result = answer_text(text, solver, _LIMIT_S).result
    except Error:
        raise
    except Exception as e:  # each solver has its own, for a text that it cannot read
        raise Error(f"{solver} cannot read the cases of the certificate: {e}") from None
    if result != "unsat":
        yield "the cases leave out an input" if result == "sat" else "whether the cases are complete is undecided"


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
