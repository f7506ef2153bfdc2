"""The changes between two folders of vectors: the definition, the cases, the expected values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import text_lines
from softfloat_ref.golden.manifest import MANIFEST, read_manifest
from softfloat_ref.golden.verify import check_hashes
from softfloat_ref.units.unit import INPUTS

SHOWN: Final = 10
Lines = dict[tuple[str, ...], tuple[str, ...]]  # inputs to expected values


@dataclass
class SetDifference:
    """The differences of two folders, in words; empty lists if there are none."""

    definition: list[str] = field(default_factory=list)
    only_first: list[str] = field(default_factory=list)
    only_second: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        return not (self.definition or self.only_first or self.only_second or self.changed)


def diff(first: str | Path, second: str | Path) -> SetDifference:
    """Compare two folders of vectors. Raises Error if one has no readable manifest, or its file is missing."""
    folders = Path(first), Path(second)
    manifests = [read_manifest(f) for f in folders]
    for folder, manifest in zip(folders, manifests, strict=True):
        check_hashes(folder, manifest)
    difference = SetDifference(definition=list(_changes(manifests[0]["set"], manifests[1]["set"], "")))
    shapes = [_shape(m) for m in manifests]
    if shapes[0] != shapes[1]:
        difference.definition.append(
            f"fields: {_names(shapes[0])} became {_names(shapes[1])}; the lines cannot be compared"
        )
        return difference
    before, after = (_lines(f, m) for f, m in zip(folders, manifests, strict=True))
    difference.only_first = [" ".join((*k, *v)) for k, v in before.items() if k not in after]
    difference.only_second = [" ".join((*k, *v)) for k, v in after.items() if k not in before]
    difference.changed = [
        f"{' '.join(k)}: {' '.join(v)} became {' '.join(after[k])}"
        for k, v in before.items()
        if k in after and after[k] != v
    ]
    hashes = [sorted((f["name"], f["sha256"]) for f in m["files"]) for m in manifests]
    if difference.same and hashes[0] != hashes[1]:
        difference.definition.append("the same cases and values, in a different order or notation")
    return difference


def _changes(a: Any, b: Any, where: str) -> Iterator[str]:
    """Each leaf of two JSON values that differs, with its path."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys((*a, *b)):
            yield from _changes(a.get(key), b.get(key), f"{where}.{key}" if where else str(key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _changes(x, y, f"{where}[{i}]")
    elif a != b:
        yield f"{where}: {a} became {b}"


def _shape(manifest: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(f.get("name"), f.get("role"), f.get("width"), f.get("lanes")) for f in manifest["fields"]]


def _names(shape: list[tuple[Any, ...]]) -> str:
    return " ".join(f"{name}:{width}" + (f"x{lanes}" if lanes != 1 else "") for name, _, width, lanes in shape)


def _lines(folder: Path, manifest: dict[str, Any]) -> Lines:
    """The lines of the text file, inputs apart from expected values."""
    names = [str(f.get("name")) for f in manifest["files"] if str(f.get("name")).endswith(".tv")]
    if len(names) != 1 or Path(names[0]).name != names[0]:
        raise Error(f"{folder / MANIFEST}: lists no text file of vectors; diff reads .tv files")
    inputs = sum(int(f["lanes"]) for f in manifest["fields"] if f["role"] in INPUTS)
    parts = [tuple(line.split()) for line in text_lines(folder / names[0])]
    return {p[:inputs]: p[inputs:] for p in parts}
