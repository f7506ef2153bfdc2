"""The manifest of a folder of vectors: everything that a reader needs to use the files, and to generate them again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from softfloat_ref import __version__
from softfloat_ref.base.errors import Error
from softfloat_ref.base.trees import read_json
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.tags import Run, groups
from softfloat_ref.golden.writers.batch import positions
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.sources import Lfsr, Philox, parse_source
from softfloat_ref.units import Field

MANIFEST: Final = "manifest.json"
SUITE: Final = "suite.json"  # of a folder of such folders
SCHEMA: Final = 3
WHY_LEFT_OUT: Final = "no defined result under this policy"
MAX_LISTED: Final = 4096  # cases without a defined result that a manifest lists; more have a file of their own
_LINE_WIDTH: Final = 110
LEFT_OUT: Final = "left_out.txt"
_dumps: Final = json.JSONEncoder().encode
_sorted: Final = json.JSONEncoder(sort_keys=True).encode
_quoted: Final = json.encoder.encode_basestring_ascii
_PHILOX: Final = (
    "Philox4x64-10 (Salmon et al., SC 2011) with key (seed, stream); position i is word i mod 4 of the block at "
    "counter i // 4 + 1; of n bits, r is the top n of the word"
)
_LFSR: Final = (
    "Fibonacci shift register: a step shifts left and puts the xor of the taps (tap t is bit t - 1) into bit 0; "
    "position i sees the state after i steps; of n bits, r is the top n of bits high..low"
)


def refuse_suite(folder: Path) -> None:
    """Raise Error for a folder that holds a suite: a set in it would not be verified with it."""
    if (folder / SUITE).exists():
        raise Error(f"{folder}: already holds a suite; choose another folder")


def manifest_head(schema: int, command: Sequence[str]) -> dict[str, Any]:
    """The entries that every manifest begins with."""
    return {"schema": schema, "tool": "softfloat-ref", "version": __version__, "command": list(command)}


def make_manifest(
    vectors: VectorSet,
    command: Sequence[str],
    count: int,
    left_out: dict[str, Any],
    files: list[dict[str, Any]],
    runs: Iterable[Run] = (),
) -> dict[str, Any]:
    """The manifest of a set of `count` lines. left_out: result of `left_out_entry`; runs: the tags of the lines."""
    from softfloat_ref.coverage.engine.measure import summary

    return {
        **manifest_head(SCHEMA, command),
        "name": vectors.name,
        "description": vectors.description,
        "count": count,
        "left_out": left_out,
        "groups": groups(runs),
        "coverage": summary(vectors),
        **descriptions(vectors),
        "files": files,
    }


def wrong_descriptions(manifest: dict[str, Any], vectors: VectorSet) -> Iterator[str]:
    """The entries of a manifest that do not match its own set."""
    wanted = {"name": vectors.name, **descriptions(vectors)}
    if _sorted({key: manifest.get(key) for key in wanted}) == _sorted(wanted):
        return
    for key, value in wanted.items():
        if _sorted(manifest.get(key)) != _sorted(value):  # as texts, for there 1 is not true
            yield f"{MANIFEST}: {key} does not match this set"


def descriptions(vectors: VectorSet) -> dict[str, Any]:
    """The set's definition, and its consequences, written out for readers that do not know the names."""
    lsbs = positions(vectors.fields)
    return {
        "set": vectors.to_dict(),
        "conventions": vectors.cases.conventions(),
        "generators": _generators(vectors),
        "flags": "10 invalid, 08 divide by zero, 04 overflow, 02 underflow, 01 inexact",
        "flag_bits": {flag.name.lower(): flag.value.bit_length() - 1 for flag in Flags if flag.name},
        "block_order": "lane 0 first in text, lowest in a word",
        "fields": [_field_entry(f, lsbs[f.name]) for f in vectors.fields],
    }


def left_out_entry(count: int, listed: Sequence[str]) -> dict[str, Any]:
    """The cases without a defined result: their numbers and inputs, or, if there are many, the file that lists them."""
    entry: dict[str, Any] = {"count": count, "why": WHY_LEFT_OUT}
    if count > MAX_LISTED:
        return {**entry, "file": LEFT_OUT}
    parts = [line.split(" ", 1) for line in listed]
    return {**entry, "cases": [int(number) for number, _ in parts], "inputs": [inputs for _, inputs in parts]}


def _generators(vectors: VectorSet) -> dict[str, Any]:
    """The full definition of the sources of cases and random bits."""
    words = {"kind": "philox", "seed": vectors.seed, "streams": vectors.cases.streams, "definition": _PHILOX}
    return {
        "cases": {"name": vectors.cases.generator, "random_words": words},
        "random_bits": [_source(x) for x in vectors.sources],
    }


def _source(spec: str) -> dict[str, Any] | None:
    if not spec:
        return None
    source = parse_source(spec)
    if isinstance(source, Philox):
        return {"kind": "philox", "seed": source.seed, "stream": source.stream, "definition": _PHILOX}
    if isinstance(source, Lfsr):
        numbers = {k: getattr(source, k) for k in ("width", "seed", "high", "low")}
        return {"kind": "lfsr", **numbers, "taps": list(source.taps), "definition": _LFSR}
    return {"kind": spec}


def _field_entry(f: Field, lsb: int) -> dict[str, Any]:
    """A field of a line; lsb: its lowest bit in a memory word."""
    entry = {
        "name": f.name,
        "role": f.role,
        "width": f.width,
        "lanes": f.lanes,
        "format": f.format or None,
        "lsb": lsb,
        "msb": lsb + f.stride * f.lanes - 1,
        "stride": f.stride,
    }
    if f.codes:
        entry["codes"] = list(f.codes)
    if f.padding:
        entry["padding"] = f.padding
    return entry


def to_json(value: Any, indent: str = "") -> str:
    """JSON text: each value that fits on a line is on one line."""
    if type(value) is str:
        return _quoted(value)
    if type(value) is int:
        return str(value)
    short = _dumps(value)
    if len(indent) + len(short) <= _LINE_WIDTH or not isinstance(value, (dict, list)) or not value:
        return short
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{_quoted(k)}: {to_json(v, inner)}" for k, v in value.items()]
    else:
        parts = [to_json(v, inner) for v in value]
    opening, close = "{}" if isinstance(value, dict) else "[]"
    flat = not any(isinstance(v, (dict, list)) for v in (value.values() if isinstance(value, dict) else value))
    text = _filled(parts, inner) if flat and indent else ",\n".join(inner + part for part in parts)
    return f"{opening}\n{text}\n{indent}{close}"


def _filled(parts: Sequence[str], indent: str) -> str:
    """Items filled into lines."""
    lines, line = [], indent + parts[0]
    for part in parts[1:]:
        if len(line) + len(part) > _LINE_WIDTH:
            lines.append(line)
            line = indent + part
        else:
            line += ", " + part
    return ",\n".join([*lines, line])


def repeated(names: Iterable[str]) -> str:
    """The first name that comes twice, in quotes; '' if none does."""
    seen = set[str]()
    return next((repr(x[:60]) for x in names if x in seen or seen.add(x)), "")  # type: ignore[func-returns-value]


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder. Raises Error for one that is missing, broken or of another schema."""
    path = folder / MANIFEST
    if (folder / SUITE).exists() and not path.exists():
        raise Error(f"{folder}: holds a suite; give the folder of one of its sets")
    manifest = read_json(path)
    if not isinstance(manifest, dict) or type(manifest.get("schema")) is not int:
        raise Error(f"{path}: not a manifest of vectors")
    if (schema := manifest["schema"]) != SCHEMA:
        remedy = "use a newer softfloat-ref" if schema > SCHEMA else "generate the vectors again"
        raise Error(f"{path}: schema {schema}; this version reads schema {SCHEMA}: {remedy}")
    for key, kind in (("set", dict), ("files", list), ("count", int), ("fields", list), ("left_out", dict)):
        if not isinstance(manifest.get(key), kind):
            raise Error(f"{path}: {key} is missing or not of type {kind.__name__}")
    _check_tables(path, manifest)
    return manifest


def require_file(folder: Path, manifest: dict[str, Any], *keys: str) -> None:
    """Raises Error if a folder has no file of any of those types."""
    if not any(f.get("format") in keys for f in manifest["files"]):
        raise Error(f"{folder}: has no file of type {' or '.join(keys)}; generate the vectors with --format {keys[0]}")


def _check_tables(path: Path, manifest: dict[str, Any]) -> None:
    if not all(
        isinstance(f, dict) and isinstance(f.get("lanes"), int) and isinstance(f.get("role"), str)
        for f in manifest["fields"]
    ):
        raise Error(f"{path}: fields are not tables with name, role, width and lanes")
    for f in manifest["files"]:
        if not isinstance(f, dict) or not {"name", "sha256", "lines"} <= f.keys() or not isinstance(f["name"], str):
            raise Error(f"{path}: files are not tables with name, sha256 and lines")
    if name := repeated(f["name"] for f in manifest["files"]):
        raise Error(f"{path}: lists the file {name} twice")
    if type(manifest["left_out"].get("count")) is not int:
        raise Error(f"{path}: left_out has no count")
