"""Golden traces in Python: the tensors of a trace's folder by name, phase, layer and time step, their codes and values,
the operation that made each, and its verification."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.names import matches
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.trace.check import ORACLE_UNITS, TraceTally, check_node
from softfloat_ref.golden.trace.check_files import read_unchanged
from softfloat_ref.golden.trace.model import CodeTensor, Node, TraceSet
from softfloat_ref.golden.verify import stored_set
from softfloat_ref.oracle.formats import Format, in_full

__all__ = ["LoadedTrace", "Node", "TraceTensor", "load_trace"]

PHASES: Final = ("forward", "softmax_cross_entropy", "backward")
_STEP: Final = re.compile(r"t(\d+)")


@dataclass(frozen=True)
class TraceTensor:
    """A tensor of a trace.

    name: its path, layer, phase, time step and role. format, shape: of its codes. operation: what made it (`op`,
    `inputs`, `outputs`, `options`); None for a tensor that is given. layer: with dots, as a training recipe has it; or
    input, constants, loss. phase: forward, softmax_cross_entropy, backward, update (of a parameter), or "" of what is
    given before the step. time_step: of a recurrent layer, or None. role: the rest of the name.
    """

    name: str
    format: Format
    shape: tuple[int, ...]
    operation: Node | None
    layer: str
    phase: str
    time_step: int | None
    role: str
    _trace: LoadedTrace = field(repr=False, compare=False)

    @property
    def codes(self) -> NDArray[Any]:
        """The codes, unsigned, read from the file. Raises Error for a file that was changed."""
        return self._trace.read(self.name)

    @property
    def values(self) -> NDArray[Any]:
        """The values of the codes, float32 (float64 where a format needs it); of blocks, without their scales."""
        return np.asarray(convert.decode(self.codes, self.format))

    def verify(self, every: bool = False) -> list[str]:
        """Recompute the tensor from the inputs of its operation: all codes by compiled code, and some, evenly spread,
        by the scalar oracle; every: all of them. Returns what is wrong, and nothing if the tensor is verified. Of a
        tensor that is given, only the file is checked. Raises Error for a file that was changed."""
        return self._trace.verify(self.name, every)


class LoadedTrace:
    """The tensors of a trace's folder. name, step, recipe: of the training step; recipe is TOML. set: the definition in
    the manifest, with the operations in order."""

    def __init__(self, folder: Path, manifest: dict[str, Any], of: TraceSet) -> None:
        self.folder, self.set = folder, of
        self.name, self.step, self.recipe = of.name, of.step, of.recipe
        self._entries = {str(entry["name"]): entry for entry in manifest["files"]}
        self._makers = {name: node for node in of.nodes for name in node.outputs}
        layers = {_parted(name)[0] for name in of.tensors} - {None}
        self._tensors = {t.name: self._placed(t, sorted(filter(None, layers), key=len)) for t in of.tensors.values()}

    def __len__(self) -> int:
        return len(self._tensors)

    def __getitem__(self, name: str) -> TraceTensor:
        """A tensor by its whole name. Raises Error."""
        if name not in self._tensors:
            raise unknown(f"tensor of {self.name}", str(name), self._tensors)
        return self._tensors[name]

    def __repr__(self) -> str:
        return f"<LoadedTrace {self.name}: {len(self)} tensors, {len(self.set.nodes)} operations>"

    def tensors(
        self,
        pattern: str = "*",
        *,
        layer: str | None = None,
        phase: str | None = None,
        time_step: int | None = None,
    ) -> list[TraceTensor]:
        """The tensors whose name matches a pattern (* stands for any characters), of a layer, a phase and a time step,
        those that are given first, then in the order in which they are made."""
        wanted = {"layer": layer, "phase": phase, "time_step": time_step}
        conditions = {key: value for key, value in wanted.items() if value is not None}
        order = [*(n for n in self._tensors if n not in self._makers), *self._makers]
        return [
            t for t in map(self._tensors.__getitem__, order)
            if matches(t.name, pattern) and all(getattr(t, key) == value for key, value in conditions.items())
        ]  # fmt: skip

    @property
    def layers(self) -> list[str]:
        """The names of the layers, in the order of their first tensors."""
        return list(dict.fromkeys(t.layer for t in self.tensors()))

    def read(self, name: str) -> NDArray[Any]:
        """The codes of a tensor. Raises Error for a file that was changed."""
        tensor = self.set.tensors[self[name].name]
        return read_unchanged(self.folder, self._entries, tensor)

    def verify(self, name: str, every: bool = False) -> list[str]:
        """Recompute one tensor, and what its operation makes beside it, as `TraceTensor.verify`."""
        node, problems = self[name].operation, list[str]()
        if node is None:
            self.read(name)
            return problems
        codes = {x: self.read(x) for x in {*node.outputs, *(v.tensor for v in node.inputs)}}
        with in_full():
            check_node(self.set, node, codes, problems.append, None if every else ORACLE_UNITS, TraceTally())
        return problems

    def _placed(self, tensor: CodeTensor, layers: list[str]) -> TraceTensor:
        name, maker = tensor.name, self._makers.get(tensor.name)
        layer, phase, step, role = _parted(name)
        if layer is None:
            known = [x for x in layers if name.startswith(f"{x}/")]
            layer = known[-1] if known else name.partition("/")[0]
            phase, role = "update" if maker else "", name[len(layer) + 1 :]
        return TraceTensor(name, tensor.fmt, tensor.shape, maker, layer.replace("/", "."), phase, step, role, self)


def _parted(name: str) -> tuple[str | None, str, int | None, str]:
    """Layer, phase, time step and role; no layer for a name without a phase."""
    parts = name.split("/")
    at = next((i for i, part in enumerate(parts) if i and part in PHASES), None)
    if at is None:
        return None, "", None, name
    rest = parts[at + 1 :]
    step = _STEP.fullmatch(rest[0]) if len(rest) > 1 else None
    return "/".join(parts[:at]), parts[at], int(step[1]) if step else None, "/".join(rest[1:] if step else rest)


def load_trace(folder: str | Path) -> LoadedTrace:
    """Open the folder of a trace, as `train --trace` writes it, or a PyTorch model. Its files are read
    when they are asked for. Raises Error for a folder without a trace."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    trace = stored_set(folder, manifest)
    if not isinstance(trace, TraceSet):
        raise Error(f"{folder}: holds vectors of {trace.name}, not a trace")
    return LoadedTrace(folder, manifest, trace)


def __dir__() -> list[str]:
    return sorted(__all__)
