"""The vectors that a draft is for: their fields and what selects among their operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from softfloat_ref.golden.manifest import descriptions, read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.binding import Bound, Controls, bind, check_ignored_operands, connections, line_fields
from softfloat_ref.rtl.bundle import LineField
from softfloat_ref.rtl.constants import constant_operands
from softfloat_ref.rtl.fit import Misfit, port_misfits
from softfloat_ref.rtl.module_ports import ModulePort
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.units import Unit, controls

Vectors = VectorSet | Mapping[str, Any] | Path | str  # a set, a manifest, or the folder of one


@dataclass(frozen=True)
class Target:
    """The vectors that a draft is for. manifest: as a bench reads it."""

    manifest: Mapping[str, Any]
    vectors: VectorSet

    @property
    def unit(self) -> Unit:
        """The unit that they are of."""
        return self.vectors.unit

    @property
    def op(self) -> str:
        """Their operation; '' if they have several."""
        ops = {own["op"] for own in self.controls}
        return ops.pop() if len(ops) == 1 else ""

    @cached_property
    def constants(self) -> Mapping[str, tuple[int, ...]]:
        """The operands that are the same in all vectors, with their codes."""
        return constant_operands(self.vectors)

    @cached_property
    def fields(self) -> Mapping[str, LineField]:
        """The fields of a line, by name."""
        return {field.name: field for field in line_fields(self.manifest)}

    @cached_property
    def controls(self) -> Sequence[Controls]:
        """The properties of each kind of vector."""
        return controls(self.unit)

    def bind(self, ports: PortMap, module: Mapping[str, ModulePort]) -> Bound:
        """A port map bound to the vectors. Raises Error if they do not fit each other, or the ports of the module."""
        bound = bind(self.manifest, self.controls, ports)
        check_ignored_operands(self.manifest, ports)
        if lines := [*port_misfits(connections(bound, ports), module)]:
            raise Misfit(ports.module, lines)
        return bound


def target_of(vectors: Vectors) -> Target:
    """The target of a set, of a manifest, or of a folder with one. Raises Error."""
    if isinstance(vectors, VectorSet):
        files = [{"name": f"{vectors.name}.memh"}]
        return Target({**descriptions(vectors), "count": vectors.count, "files": files}, vectors)
    manifest = read_manifest(Path(vectors)) if isinstance(vectors, Path | str) else vectors
    return Target(manifest, VectorSet.from_dict(manifest["set"]))
