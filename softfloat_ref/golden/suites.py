"""Suites: many sets in one TOML file, which are written side by side, a folder each, and verified together."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import Workers
from softfloat_ref.base.files import new_folder, write_file
from softfloat_ref.base.names import matches
from softfloat_ref.base.search import find_first
from softfloat_ref.base.tables import read_file
from softfloat_ref.base.trees import read_json
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE
from softfloat_ref.golden import vector_recipes, writers
from softfloat_ref.golden.generate import file_sha256, generate
from softfloat_ref.golden.manifest import MANIFEST, SUITE, manifest_head, repeated, to_json
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import VerifyReport, verify
from softfloat_ref.oracle.policies import Policy

SUITE_SCHEMA: Final = 1
_SUITE_KEYS: Final = {"description", "count", "level", "seed", "policy", "set", "pack"}
_PACK_KEYS: Final = {"count", "sets"}
_POLICY_KEYS: Final = tuple(f.name for f in dataclasses.fields(Policy))
_SET_KEYS: Final = {*vector_recipes.ALL_KEYS, *_POLICY_KEYS, "label", "part", "padding", "unboxed", "width"}
_KEYS_IN_NAMES: Final = ("op", "fmt", "out", "rounding", "acc")  # properties in a set's own name


@dataclass(frozen=True)
class Suite:
    """A suite: the folder of each set, and the set. pack: number of lines and sets of its small excerpt."""

    name: str
    description: str
    sets: dict[str, VectorSet]
    pack_count: int = 0
    pack_sets: tuple[str, ...] = ()

    def replaced(self, count: int | None, seed: int | None, level: str | None = None) -> Suite:
        """This suite with another number of lines, seed or level in every set; exhaustive sets ignore a level."""
        sets = {folder: _replaced(v, count, seed, level) for folder, v in self.sets.items()}
        return dataclasses.replace(self, sets=sets)

    def packed(self) -> Suite:
        """The small excerpt: some of the sets, with few lines."""
        sets = {k: v for k, v in self.sets.items() if any(matches(k, p) for p in self.pack_sets)}
        if not sets or self.pack_count < 1:
            raise Error(f"suite {self.name}: [pack] needs a count and sets that exist")
        return dataclasses.replace(self, sets=sets).replaced(self.pack_count, None)


def _replaced(vectors: VectorSet, count: int | None, seed: int | None, level: str | None) -> VectorSet:
    if seed is not None:
        vectors = dataclasses.replace(vectors, seed=seed)
    if level is not None and vectors.level != EXHAUSTIVE:
        return vectors.at_level(level, count)
    return vectors if count is None else vectors.of_count(count)


def find_suite(name: str) -> Suite | None:
    """The shipped suite of that name, or that of a TOML file; None if it is not a suite. Raises Error."""
    path = Path(name) if name.endswith(".toml") else vector_recipes.suite_files().get(name)
    if path is None:
        return None
    return read_file(path, lambda table: read_suite(path.stem, table) if "set" in table else None)


# -- from a table ------------------------------------------------------------------------------------------------------


def read_suite(name: str, table: Mapping[str, Any]) -> Suite:
    """The suite that a table defines: each key of a [[set]] may be a list; every combination is a set.

    Raises Error."""
    vector_recipes.only(table, _SUITE_KEYS, "")
    tables, pack = table["set"], table.get("pack", {})
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise Error("[[set]] must be an array of tables")
    count, patterns = _pack(pack)
    shared = {k: table[k] for k in ("description", "count", "level", "seed", "policy") if k in table}
    sets: dict[str, VectorSet] = {}
    for set_table in tables:
        for folder, vectors in _expanded(set_table, shared):
            if folder in sets:
                raise Error(f"two sets would both be {folder}; give one of them a label")
            sets[folder] = vectors
    for pattern in patterns:
        if not any(matches(folder, pattern) for folder in sets):
            raise Error(f"[pack]: no set matches {pattern[:60]!r}")
    return Suite(name, str(table.get("description", "")), sets, count, patterns)


def _pack(pack: object) -> tuple[int, tuple[str, ...]]:
    """Count and patterns of a [pack]. Raises Error."""
    if not isinstance(pack, dict) or not isinstance(pack.get("sets", []), list):
        raise Error("[pack] needs count, and sets, a list of patterns")
    vector_recipes.only(pack, _PACK_KEYS, " (in [pack])")
    count, patterns = pack.get("count", 0), tuple(pack.get("sets", []))
    if type(count) is not int:
        raise Error(f"[pack]: count = {str(count)[:60]!r} is not an integer")
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise Error(f"[pack]: {str(pattern)[:60]!r} is not a pattern; use a string such as 'add_fp16_*'")
    return count, patterns


def _expanded(set_table: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[tuple[str, VectorSet]]:
    """Folder and set of each combination."""
    vector_recipes.only(set_table, _SET_KEYS, " (in [[set]])")
    label = set_table.get("label", "")
    if not isinstance(label, str) or not re.fullmatch(r"\w*", label):
        raise Error(f"label = {label!r}: use only letters, digits and _")
    if "part" in set_table:
        vectors = vector_recipes.set_of({**shared, **{k: v for k, v in set_table.items() if k != "label"}})
        yield label or vectors.name, vectors
        return
    listed = [k for k, v in set_table.items() if isinstance(v, list)]
    for values in itertools.product(*(set_table[k] for k in listed)):
        combination = {**{k: v for k, v in set_table.items() if k != "label"}, **dict(zip(listed, values, strict=True))}
        vectors = vector_recipes.set_of(_recipe(dict(combination), shared))
        more = [str(combination[k]) for k in listed if k not in _KEYS_IN_NAMES]
        name = "_".join([vectors.name, *([label] if label else []), *more])
        yield re.sub(r"[^A-Za-z0-9_.]+", "_", name), vectors


def _recipe(combination: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe's table: with all fields of a policy moved into its policy."""
    fields = {k: combination.pop(k) for k in _POLICY_KEYS if k in combination}
    own = {"count", "level"} & combination.keys()  # a set with one of these keys ignores the suite's other one
    table = {**{k: v for k, v in shared.items() if not (own and k in ("count", "level"))}, **combination}
    if "policy" not in vector_recipes.keys_of(table.get("op")):
        if fields:
            raise Error(f"{find_first(fields)} does not apply to {table.get('op')}, which has its own rounding")
        table.pop("policy", None)
        return table
    policy = table.get("policy", {})
    if fields and isinstance(policy, (str, dict)):
        table["policy"] = {**({"like": policy} if isinstance(policy, str) else policy), **fields}
    return table


# -- folders -----------------------------------------------------------------------------------------------------------


def generate_suite(
    suite: Suite,
    folder: str | Path,
    command: Sequence[str] = (),
    workers: Workers | None = None,
    *,
    formats: Sequence[str] = (),
    resume: bool = False,
) -> dict[str, Any]:
    """Write every set into a folder of its own, and the suite's manifest last; returns the manifest. Raises Error."""
    folder = Path(folder)
    entries = []
    for vectors in suite.sets.values():
        writers.choose_writers(formats, vectors, vectors.count)  # refuses a type of file before any set is written
    with new_folder(folder):
        _refuse_other(folder, suite)
        (folder / SUITE).unlink(missing_ok=True)
        for name, vectors in suite.sets.items():
            path = folder / name
            manifest = generate(vectors, path, command, workers, formats=formats, resume=resume)
            entries.append({"folder": name, "count": manifest["count"], "sha256": file_sha256(path / MANIFEST)})
        suite_manifest = {
            **manifest_head(SUITE_SCHEMA, command),
            "suite": suite.name,
            "description": suite.description,
            "count": sum(e["count"] for e in entries),
            "sets": entries,
        }
        data = to_json(suite_manifest).encode("ascii") + b"\n"
        write_file(folder / SUITE, lambda stream: stream.write(data))
    return suite_manifest


def _refuse_other(folder: Path, suite: Suite) -> None:
    if (folder / MANIFEST).exists():
        raise Error(f"{folder}: already holds a set; a suite needs a folder of its own")
    if (folder / SUITE).exists():
        stored = read_suite_manifest(folder)
        if stored["suite"] != suite.name:
            raise Error(f"{folder}: already holds the suite {stored['suite']}; choose another folder")


def read_suite_manifest(folder: Path) -> dict[str, Any]:
    """A suite's manifest. Raises Error for one that is missing, broken or of another schema."""
    path = folder / SUITE
    manifest = read_json(path)
    if (
        not isinstance(manifest, dict)
        or type(manifest.get("schema")) is not int
        or not isinstance(manifest.get("suite"), str)
    ):
        raise Error(f"{path}: not a manifest of a suite")
    if manifest["schema"] != SUITE_SCHEMA:
        raise Error(f"{path}: schema {manifest['schema']}; this version reads schema {SUITE_SCHEMA}")
    sets = manifest.get("sets")
    if not isinstance(sets, list) or not all(isinstance(s, dict) and _is_entry(s) for s in sets):
        raise Error(f"{path}: sets are not tables with folder, count and sha256")
    if name := repeated(s["folder"] for s in sets):
        raise Error(f"{path}: lists the set {name} twice")
    return manifest


def _is_entry(entry: dict[str, Any]) -> bool:
    name, complete = entry.get("folder"), {"count", "sha256"} <= entry.keys()
    return complete and isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.]{0,199}", name) is not None


def verify_suite(folder: Path, sample: int | None = None, every: bool = False) -> Iterator[tuple[str, VerifyReport]]:
    """A report for each set of a suite, and one for what the suite's manifest says. Raises Error."""
    stored = read_suite_manifest(folder)
    whole = VerifyReport(f"suite {stored['suite']}", checked=1)
    listed = [entry["folder"] for entry in stored["sets"]]
    if not listed:
        whole.add(f"{SUITE}: has no sets")
    for path in sorted(folder.glob(f"*/{MANIFEST}")):
        if path.parent.name not in listed:
            whole.add(f"{path.parent.name}: is in the folder, but not in {SUITE}")
    total = 0
    for entry in stored["sets"]:
        report = verify(folder / entry["folder"], sample, every)
        if file_sha256(folder / entry["folder"] / MANIFEST) != entry["sha256"] or report.count != entry["count"]:
            report.add(
                f"{SUITE}: {entry['folder']} differs from the set that was written: its {MANIFEST} has another hash"
            )
        total += report.count
        yield str(folder / entry["folder"]), report
    if total != stored.get("count"):
        whole.add(f"{SUITE}: counts {stored.get('count')} vectors, but its sets have {total}")
    if whole.problems:
        yield str(folder), whole
