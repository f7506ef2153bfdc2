"""The manifest of a folder of vectors: everything that a reader needs to use the files, and to make them again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from softfloat_ref.errors import Error
from softfloat_ref.files import read_bytes
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.intermediate import IntermediateSet, plain
from softfloat_ref.golden.matmuls import MatmulSet
from softfloat_ref.golden.mixed import MixedSet
from softfloat_ref.golden.sets import Field, Vectors, VectorSet
from softfloat_ref.golden.tags import Run, groups
from softfloat_ref.golden.writers.layout import positions
from softfloat_ref.rounding import Flags
from softfloat_ref.sources import Lfsr, Philox, parse_source

AnyVectors = Vectors | MatmulSet
MANIFEST: Final = "manifest.json"
SUITE: Final = "suite.json"  # of a folder of such folders
SCHEMA: Final = 2
WHY: Final = "no defined result under this policy"
MAX_LISTED: Final = 4096  # cases without a defined result that a manifest lists; more have a file of their own
_LINE: Final = 110
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


def make_manifest(
    vectors: AnyVectors,
    command: Sequence[str],
    count: int,
    left_out: dict[str, Any],
    files: list[dict[str, Any]],
    runs: Iterable[Run] = (),
) -> dict[str, Any]:
    """The manifest of a set of so many lines. left_out: what `left_out_entry` makes; runs: the tags of the lines."""
    from softfloat_ref import __version__

    return {
        "schema": SCHEMA,
        "tool": "softfloat-ref",
        "version": __version__,
        "command": list(command),
        "name": vectors.name,
        "description": vectors.description,
        "count": count,
        "left_out": left_out,
        "groups": groups(runs),
        "coverage": _coverage(vectors),
        **_described(vectors),
        "files": files,
    }


def wrong_descriptions(manifest: dict[str, Any], vectors: AnyVectors) -> Iterator[str]:
    """What a manifest says of its own set, and that is not so."""
    wanted = {"name": vectors.name, **_described(vectors)}
    if _sorted({key: manifest.get(key) for key in wanted}) == _sorted(wanted):
        return
    for key, value in wanted.items():
        if _sorted(manifest.get(key)) != _sorted(value):  # as texts, for there 1 is not true
            yield f"{MANIFEST}: {key} is not that of this set"


def _described(vectors: AnyVectors) -> dict[str, Any]:
    """The set's definition, and what follows from it, spelled out for readers that do not know our names."""
    return {
        "set": vectors.to_dict(),
        "conventions": _conventions(vectors),
        "generators": _generators(vectors),
        "flags": "10 invalid, 08 divide by zero, 04 overflow, 02 underflow, 01 inexact",
        "flag_bits": {flag.name.lower(): flag.value.bit_length() - 1 for flag in Flags if flag.name},
        "block_order": "lane 0 first in text, lowest in a word",
        "fields": [] if isinstance(vectors, MatmulSet) else _field_entries(vectors.fields),
    }


def left_out_entry(count: int, listed: Sequence[str]) -> dict[str, Any]:
    """The cases without a defined result: their numbers and inputs, or, where they are many, the file that has them."""
    entry: dict[str, Any] = {"count": count, "why": WHY}
    if count > MAX_LISTED:
        return {**entry, "file": LEFT_OUT}
    parts = [line.split(" ", 1) for line in listed]
    return {**entry, "cases": [int(number) for number, _ in parts], "inputs": [inputs for _, inputs in parts]}


def _coverage(vectors: AnyVectors) -> Any:
    """How many bins of each coverage model the directed cases hit."""
    from softfloat_ref.coverage import summary

    return summary(plain(vectors))


def _conventions(vectors: AnyVectors) -> list[dict[str, Any]]:
    """Rounding, overflow, NaN rule, tininess and flushes of each kind of line, as they are in effect."""
    if isinstance(vectors, IntermediateSet):
        return _conventions(vectors.vectors)
    if isinstance(vectors, MixedSet):
        return [_convention(part) for part in vectors.parts]
    if isinstance(vectors, VectorSet):
        return [_convention(vectors)]
    return [{"op": vectors.to_dict()["op"], "rule": "each Round node of the accumulator has its own rounding"}]


def _convention(part: VectorSet) -> dict[str, Any]:
    policy, out = part.policy, part.out
    table = policy.to_dict()
    code = policy.nan_rule.code(out) if out.has_nan else None
    found: dict[str, Any] = {
        "op": part.op,
        "operands": [f.name for f in part.formats],
        "result": out.name,
        "rounding": table["rounding"],
        "random_bits": policy.random_count,
        "overflow": str(policy.overflow_for(out)),
        "nan": {"rule": policy.nan, "code": None if code is None else f"{code:x}"},
        **{k: table[k] for k in ("tininess", "flush_inputs", "flush_outputs", "flush_rule")},
    }
    if part.block is not None:
        found["block"] = {
            "format": part.block.name,
            "size": part.block.size,
            "scale_rule": part.profile.to_dict()["scale_rule"],
            "element_order": "lane i is element i of the block",
        }
    return found


def _generators(vectors: AnyVectors) -> dict[str, Any]:
    """Where the cases and the random bits of stochastic roundings come from, in full."""
    table = vectors.to_dict()
    if isinstance(vectors, MixedSet):
        streams = {"operands, of part i with seed + i": 1, "order of the parts": 2, "operands that are not boxed": 3}
    elif isinstance(vectors, MatmulSet):
        streams = {"a and b": 0, "c": 1}
    else:
        streams = {"operands": 0 if isinstance(vectors, DotSet) else 1}
    return {
        "cases": {
            "name": table.get("generator"),
            "random_words": {"kind": "philox", "seed": table.get("seed"), "streams": streams, "definition": _PHILOX},
        },
        "random_bits": _source(table.get("random_source")),
    }


def _source(spec: object) -> dict[str, Any] | None:
    if not isinstance(spec, str) or not spec:
        return None
    source = parse_source(spec)
    if isinstance(source, Philox):
        return {"kind": "philox", "seed": source.seed, "stream": source.stream, "definition": _PHILOX}
    if isinstance(source, Lfsr):
        numbers = {k: getattr(source, k) for k in ("width", "seed", "high", "low")}
        return {"kind": "lfsr", **numbers, "taps": list(source.taps), "definition": _LFSR}
    return {"kind": spec}


def _field_entries(fields: Sequence[Field]) -> list[dict[str, Any]]:
    """The fields of a line as a manifest describes them."""
    lsb = positions(fields)
    return [_field_entry(f, lsb[f.name]) for f in fields]


def _field_entry(f: Field, lsb: int) -> dict[str, Any]:
    entry = {
        "name": f.name,
        "role": f.role,
        "width": f.width,
        "lanes": f.lanes,
        "format": f.format or None,
        "lsb": lsb,
        "msb": lsb + 4 * f.digits * f.lanes - 1,
        "stride": 4 * f.digits,
    }
    if f.codes:
        entry["codes"] = list(f.codes)
    if f.padding:
        entry["padding"] = f.padding
    return entry


def to_json(value: Any, indent: str = "") -> str:
    """JSON text: what fits on a line has one of its own."""
    if type(value) is str:
        return _quoted(value)
    if type(value) is int:
        return str(value)
    short = _dumps(value)
    if len(indent) + len(short) <= _LINE or not isinstance(value, (dict, list)) or not value:
        return short
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{_quoted(k)}: {to_json(v, inner)}" for k, v in value.items()]
    else:
        parts = [to_json(v, inner) for v in value]
    opening, close = "{}" if isinstance(value, dict) else "[]"
    flat = not any(isinstance(v, (dict, list)) for v in (value.values() if isinstance(value, dict) else value))
    return f"{opening}\n{_filled(parts, inner) if flat and indent else _listed(parts, inner)}\n{indent}{close}"


def _listed(parts: Sequence[str], indent: str) -> str:
    return ",\n".join(indent + part for part in parts)


def _filled(parts: Sequence[str], indent: str) -> str:
    """As many on a line as it takes."""
    lines, line = [], indent + parts[0]
    for part in parts[1:]:
        if len(line) + len(part) > _LINE:
            lines.append(line)
            line = indent + part
        else:
            line += ", " + part
    return ",\n".join([*lines, line])


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder. Raises Error for one that is missing, broken or of another schema."""
    path = folder / MANIFEST
    if (folder / SUITE).exists() and not path.exists():
        raise Error(f"{folder}: holds a suite; give the folder of one of its sets")
    data = read_bytes(path)
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise Error(f"{path}: not valid JSON: {str(e)[:80]}") from None
    if not isinstance(manifest, dict) or type(manifest.get("schema")) is not int:
        raise Error(f"{path}: no manifest of vectors")
    _check_schema(path, manifest["schema"])
    for key, kind in (("set", dict), ("files", list), ("count", int), ("fields", list), ("left_out", dict)):
        if not isinstance(manifest.get(key), kind):
            raise Error(f"{path}: {key} is missing or no {kind.__name__}")
    _check_tables(path, manifest)
    return manifest


def require_file(folder: Path, manifest: dict[str, Any], *keys: str) -> None:
    """Raises Error where a folder has no file of any of those types: nothing could read its vectors."""
    if not any(f.get("format") in keys for f in manifest["files"]):
        raise Error(f"{folder}: has no file of type {' or '.join(keys)}; generate the vectors with --format {keys[0]}")


def _check_schema(path: Path, schema: int) -> None:
    if schema > SCHEMA:
        raise Error(f"{path}: schema {schema}; this version reads schema {SCHEMA}: use a newer softfloat-ref")
    if schema != SCHEMA:
        raise Error(f"{path}: schema {schema}; this version reads schema {SCHEMA}: generate the vectors again")


def _check_tables(path: Path, manifest: dict[str, Any]) -> None:
    if not all(
        isinstance(f, dict) and isinstance(f.get("lanes"), int) and isinstance(f.get("role"), str)
        for f in manifest["fields"]
    ):
        raise Error(f"{path}: fields are no tables with name, role, width and lanes")
    for f in manifest["files"]:
        if not isinstance(f, dict) or not {"name", "sha256", "lines"} <= f.keys() or not isinstance(f["name"], str):
            raise Error(f"{path}: files are no tables with name, sha256 and lines")
    if type(manifest["left_out"].get("count")) is not int:
        raise Error(f"{path}: left_out has no count")
