"""A model's tensors by name: `softfloat_ref.read_model`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from softfloat_ref.base.errors import counted, unknown
from softfloat_ref.nn.model_files import model_tensors
from softfloat_ref.nn.model_files.tensors import ModelTensor


class Model(Mapping[str, ModelTensor]):
    """A model's tensors by name, in the order of its files. A tensor's values are read when they are asked for:
    `model["layer.weight"].values()`; of a quantized one, also `.parts()` and `.values(exactly=True)`."""

    def __init__(self, tensors: Sequence[ModelTensor]) -> None:
        self._tensors = {t.name: t for t in tensors}

    def __getitem__(self, name: str) -> ModelTensor:
        if name not in self._tensors:
            raise KeyError(str(unknown("tensor", str(name), self._tensors)))
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"<Model of {counted(len(self), 'tensor')}, {sum(t.nbytes for t in self._tensors.values())} bytes>"


def read_model(
    path: str | Path | Sequence[str | Path], *, layouts: Sequence[str | Path] = (), stored: Sequence[str] = ()
) -> Model:
    """A model's tensors: of a file, a folder, an index of shards, or several files. Quantized weights are joined with
    their scales; nothing is unpickled, and no values are read yet.

    layouts: TOML files with layouts of your own (docs/checkpoints.md). stored: FORMAT or PATTERN=FORMAT of arrays whose
    file does not say it. Raises Error.
    """
    paths = [path] if isinstance(path, (str, Path)) else path
    return Model(model_tensors(paths, layouts, stored))
