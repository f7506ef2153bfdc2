"""The model of a trace: tensors of codes, and nodes, each an operation from some tensors to others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import Format, define_format
from softfloat_ref.units.dot import restored_format

TRACE: Final = "trace"
GENERATOR: Final = "trace-1"
DEFINITION_KEY: Final = "definition"  # in an option: the name of its table
MAX_SIZE: Final = 1 << 31


@dataclass(frozen=True)
class CodeTensor:
    """Codes of a format, row by row. name: its path in the step, such as conv1/forward/activation."""

    name: str
    fmt: Format
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def file(self) -> str:
        return f"{self.name.replace('/', '.')}.memh"


class TensorView(NamedTuple):
    """A tensor as an input of a node: in a shape of the same number of codes, in the same order."""

    tensor: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """An operation. op: a name of `operations`; options: parameters besides its inputs, as JSON values."""

    op: str
    inputs: tuple[TensorView, ...]
    outputs: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in messages: its first output."""
        return self.outputs[0]


@dataclass(frozen=True)
class TraceSet:
    """A training step, or, as step 0, a forward pass. recipe: as TOML; tensors by name; nodes in an order in which
    inputs precede their uses."""

    recipe_name: str
    recipe: str
    step: int
    tensors: Mapping[str, CodeTensor]
    nodes: tuple[Node, ...]

    @property
    def name(self) -> str:
        """A name for messages and files, valid for any name of the recipe's file."""
        part = f"step_{self.step}" if self.step else "forward"
        return f"trace_{re.sub(r'[^A-Za-z0-9_.+-]', '_', self.recipe_name)}_{part}"

    @property
    def count(self) -> int:
        """The number of codes of its tensors."""
        return sum(t.size for t in self.tensors.values())

    @property
    def description(self) -> str:
        part = f"step {self.step} of" if self.step else "a forward pass by"
        return f"Every tensor of {part} the training recipe {self.recipe_name}"

    def to_dict(self) -> dict[str, Any]:
        """The full definition. Each table among the nodes' options is stored once, by name, in `definitions`."""
        definitions = _Definitions()
        nodes = [_node_table(n, definitions) for n in self.nodes]
        return {
            "op": TRACE,
            "generator": GENERATOR,
            "recipe_name": self.recipe_name,
            "step": self.step,
            "recipe": self.recipe,
            "formats": {f.name: f.to_dict() for f in {t.fmt.name: t.fmt for t in self.tensors.values()}.values()},
            "tensors": [{"name": t.name, "format": t.fmt.name, "shape": list(t.shape)} for t in self.tensors.values()],
            "definitions": definitions.tables,
            "nodes": nodes,
        }

    @staticmethod
    def from_dict(table: Mapping[str, Any]) -> TraceSet:
        """The trace that a manifest stores. Raises Error for one that this version cannot read."""
        if table["generator"] != GENERATOR:
            raise Error(f"a trace of kind {table['generator']!r}; this version reads {GENERATOR!r}")
        formats = {name: define_format(fmt) for name, fmt in table["formats"].items()}
        tensors = [_tensor(t, formats) for t in table["tensors"]]
        nodes = tuple(
            Node(
                str(n["op"]),
                tuple(TensorView(str(v["tensor"]), _shape(v["shape"])) for v in n["inputs"]),
                tuple(map(str, n["outputs"])),
                _restored_options(n["options"], table["definitions"]),
            )
            for n in table["nodes"]
        )
        trace = TraceSet(str(table["recipe_name"]), str(table["recipe"]), int(table["step"]), _named(tensors), nodes)
        _check(trace)
        return trace


class _Definitions:
    """Tables by name: their own if they have one, numbered if another table has it already."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Any]] = {}

    def name(self, kind: str, table: dict[str, Any]) -> str:
        """The name of a table, under which it is stored."""
        base, count = str(table.get("name", kind)), 1
        name = base
        while self.tables.setdefault(name, table) != table:
            count += 1
            name = f"{base}.{count}"
        return name


def _node_table(node: Node, definitions: _Definitions) -> dict[str, Any]:
    def named(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {DEFINITION_KEY: definitions.name(key, value)}
        return [named(key, x) for x in value] if isinstance(value, list) else value

    return {
        "op": node.op,
        "inputs": [{"tensor": v.tensor, "shape": list(v.shape)} for v in node.inputs],
        "outputs": list(node.outputs),
        "options": {key: named(key, value) for key, value in node.options.items()},
    }


def _restored_options(options: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    def restored_one(value: Any) -> Any:
        if isinstance(value, dict):
            return dict(definitions[value[DEFINITION_KEY]])
        return [restored_one(x) for x in value] if isinstance(value, list) else value

    return {str(key): restored_one(value) for key, value in options.items()}


def _tensor(table: Mapping[str, Any], formats: Mapping[str, Format]) -> CodeTensor:
    name, fmt = str(table["name"]), table["format"]
    if fmt not in formats:
        raise Error(f"tensor {name[:60]!r}: its format {str(fmt)[:60]!r} is not among the formats of the trace")
    return CodeTensor(name, formats[fmt], _shape(table["shape"]))


def _shape(values: Sequence[Any]) -> tuple[int, ...]:
    if not all(type(x) is int and x >= 0 for x in values) or prod(values) > MAX_SIZE:
        raise Error(f"{list(values)!r} is not a shape")
    return tuple(values)


def _named(tensors: Sequence[CodeTensor]) -> dict[str, CodeTensor]:
    by_name = {t.name: t for t in tensors}
    if len(by_name) < len(tensors) or len({t.file for t in tensors}) < len(tensors):
        raise Error("two tensors have the same name")
    for t in tensors:
        plain = t.name.isascii() and all(c.isalnum() or c in "_-./" for c in t.name)
        if not plain or t.name.startswith((".", "/")) or ".." in t.name:
            raise Error(f"{t.name[:60]!r} is not the name of a tensor")
    return by_name


def _check(trace: TraceSet) -> None:
    """Raise Error if there is no node, if an input of a node is unknown or comes after it, or if two nodes compute the
    same tensor."""
    if not trace.nodes:
        raise Error("a trace without operations, in which there is nothing to verify")
    computed = {name for node in trace.nodes for name in node.outputs}
    known = set(trace.tensors) - computed
    for node in trace.nodes:
        if not node.outputs:
            raise Error(f"a node {node.op!r} has no output")
        for view in node.inputs:
            if view.tensor not in known:
                raise Error(f"{node.name}: its input {view.tensor[:60]!r} is not the output of an earlier node")
            if prod(view.shape) != trace.tensors[view.tensor].size:
                tensor = trace.tensors[view.tensor]
                raise Error(
                    f"{node.name}: {node.op} takes {view.tensor} in shape {list(view.shape)}, but it has {tensor.size} "
                    f"codes, in shape {list(tensor.shape)}"
                )
        for name in node.outputs:
            if name not in trace.tensors:
                raise Error(f"{name[:60]!r}, which {node.op[:60]!r} makes, is not in the list of tensors")
            if name in known:
                raise Error(f"{name[:60]!r} is made by two operations")
            known.add(name)


def block_format(table: Mapping[str, Any]) -> BlockFormat:
    """A block format as options store it. Raises Error."""
    fmt = restored_format(table)
    if not isinstance(fmt, BlockFormat):
        raise Error(f"{fmt.name} is not a block format")
    return fmt
