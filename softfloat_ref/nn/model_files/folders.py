"""Models in several files: folders, and the index files that name the shards."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, NamedTuple

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, escaped
from softfloat_ref.base.files import read_text
from softfloat_ref.base.trees import parse_json

INDEX: Final = ".index.json"
_SHARDED: Final = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".onnx", ".npz")  # in the order of preference


class ModelFiles(NamedTuple):
    """The files of a model, and the tensors that its index says they have."""

    files: list[Path]
    index_file: str = ""
    names: Collection[str] = ()

    def check(self, names: Collection[str]) -> None:
        """Raise Error if a tensor of the index is in no file."""
        missing = [x for x in self.names if escaped(x) not in names]
        if missing:
            raise Error(f"{self.index_file}: the index has {escaped(missing[0][:80])}, which is in no file")


def files_of(path: str | Path, kinds: Collection[str]) -> ModelFiles:
    """The files of a model: of an index file or a folder, its shards; else the path itself. Raises Error."""
    path = Path(path)
    if path.name.endswith(INDEX):
        return _indexed(path, kinds)
    if not path.is_dir():
        return ModelFiles([path])
    members = sorted(path.iterdir())
    indexes = [x for x in members if x.name.endswith(INDEX)]
    if len(indexes) > 1:
        best = [x for x in indexes if ".safetensors" in x.name]
        indexes = best if len(best) == 1 else indexes
    if len(indexes) > 1:
        raise Error(f"{path}: has several index files; give one, such as {indexes[0]}")
    if indexes:
        return _indexed(indexes[0], kinds)
    for suffix in _SHARDED:
        files = [x for x in members if x.suffix == suffix and x.is_file()]
        if files:
            return ModelFiles(files)
    raise Error(f"{path}: a folder without a model's files ({', '.join(_SHARDED)}) or an index ({INDEX})")


def _indexed(path: Path, kinds: Collection[str]) -> ModelFiles:
    """The shards of an index, each in its folder. Raises Error."""
    index: Any = parse_json(read_text(path, limits.JSON), str(path))
    places = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(places, dict) or not places or not all(isinstance(x, str) for x in places.values()):
        raise Error(f"{path}: not an index: weight_map = {{tensor: file, ...}} is missing")
    files = []
    for name in dict.fromkeys(places.values()):
        file = path.parent / name
        if Path(name).name != name or file.suffix not in kinds:
            raise Error(f"{path}: {escaped(name[:80])!r} is not a model's file in this folder")
        files.append(file)
    return ModelFiles(files, str(path), places)
