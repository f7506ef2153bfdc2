"""Verification of a trace: hashes, then every node from its inputs, in arrays, and a sample by the scalar oracle."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_bytes
from softfloat_ref.golden.manifest import MANIFEST
from softfloat_ref.golden.sample import chosen_cases
from softfloat_ref.golden.trace.case import Case, Operation
from softfloat_ref.golden.trace.files import HEADER, header_text, make_manifest, read_tensor
from softfloat_ref.golden.trace.model import Node, Tensor, TraceSet
from softfloat_ref.golden.trace.numbers import Codes
from softfloat_ref.golden.trace.operations import OPERATIONS, RECORDED
from softfloat_ref.oracle.formats import in_full

SAMPLE: Final = 64  # units of each node that the oracle recomputes
MAX_SHOWN: Final = 3  # wrong codes of a node that are shown

Add = Callable[[str], None]


@dataclass
class Tally:
    """The numbers of codes recomputed in arrays, of units by the oracle, and of tensors recorded or given."""

    codes: int = 0
    by_oracle: int = 0
    nodes: int = 0
    recorded: int = 0
    given: int = 0

    def summary(self, name: str) -> str:
        """The summary in words."""
        return (
            f"{self.codes} codes of {name} recomputed from their inputs, {self.by_oracle} results, spread over its "
            f"{self.nodes} operations, by the scalar oracle; {self.recorded} recorded and {self.given} given tensors "
            "checked by their hashes"
        )


@in_full()
def check_trace(
    folder: Path, manifest: dict[str, Any], trace: TraceSet, add: Add, sample: int | None = None, every: bool = False
) -> Tally:
    """Check the files of a trace. sample: results of each node for the oracle; every: all of them. Raises Error."""
    tally = Tally()
    if not _files(folder, manifest, trace, add):
        return tally
    try:
        codes = {t.name: read_tensor(folder, t) for t in trace.tensors.values()}
    except Error as e:
        add(str(e))
        return tally
    made = {name for node in trace.nodes for name in node.outputs}
    tally.given = len(trace.tensors) - len(made)
    for node in trace.nodes:
        if node.op == RECORDED:
            tally.recorded += len(node.outputs)
            continue
        try:
            _node(trace, node, codes, add, None if every else sample or SAMPLE, tally)
        except (Error, ValueError, IndexError, TypeError, KeyError) as e:
            add(f"{node.name}: {node.op}: {str(e)[:120]}")
    return tally


def _files(folder: Path, manifest: dict[str, Any], trace: TraceSet, add: Add) -> bool:
    """Whether the files are those of the trace and have their hashes."""
    wanted = {t.file: t.size for t in trace.tensors.values()}
    entries = {str(f["name"]): f for f in manifest["files"]}
    if sorted(entries) != sorted([*wanted, HEADER]) or len(entries) != len(manifest["files"]):
        add(f"{MANIFEST}: the files listed do not match the tensors")
        return False
    problems = [*_wrong_descriptions(manifest, trace), *_wrong_files(folder, entries, wanted)]
    known = {*entries, MANIFEST}
    there = sorted([*folder.glob("*.memh"), *folder.glob("*.svh")])
    problems += [f"{p.name}: is in the folder, but not in the manifest" for p in there if p.name not in known]
    text = header_text(trace).encode("ascii")
    if not problems and read_bytes(folder / HEADER) != text:
        problems.append(f"{HEADER}: differs from this trace's header")
    for problem in problems:
        add(problem)
    return not problems


def _wrong_descriptions(manifest: dict[str, Any], trace: TraceSet) -> Iterator[str]:
    wanted = make_manifest(trace, manifest["files"], ())
    for key in (k for k in wanted if k not in ("version", "command", "set")):
        if manifest.get(key) != wanted[key]:
            yield f"{MANIFEST}: {key} does not match this trace"


def _wrong_files(folder: Path, entries: dict[str, dict[str, Any]], wanted: Mapping[str, int]) -> Iterator[str]:
    for name, entry in entries.items():
        if not os.path.isfile(folder / name):  # a name that is too long does not exist either
            yield f"{name}: missing"
        elif hashlib.sha256(read_bytes(folder / name)).hexdigest() != entry["sha256"]:
            yield f"{name}: SHA-256 differs from the manifest's: the file was changed or cut"
        elif entry["lines"] != wanted.get(name, entry["lines"]):
            yield f"{name}: {entry['lines']} lines in the manifest, but its tensor has {wanted[name]}"


def case_of(
    node: Node, tensors: Mapping[str, Tensor], codes: Mapping[str, Codes], outputs: Iterable[Tensor] | None = None
) -> Case:
    """A node with the codes of its inputs. outputs: those that are not yet among the tensors."""
    return Case(
        tuple(codes[v.tensor].reshape(v.shape) for v in node.inputs),
        tuple(tensors[v.tensor].fmt for v in node.inputs),
        tuple(outputs or (tensors[name] for name in node.outputs)),
        node.options,
    )


def operation(node: Node) -> Operation:
    """The operation of a node. Raises Error."""
    if node.op not in OPERATIONS:
        raise Error("this version does not have the operation")
    return OPERATIONS[node.op]


def _node(trace: TraceSet, node: Node, codes: Mapping[str, Codes], add: Add, sample: int | None, tally: Tally) -> None:
    case, by = case_of(node, trace.tensors, codes), operation(node)
    stored = [codes[name].reshape(-1) for name in node.outputs]
    for name, mine, made in zip(node.outputs, stored, by.compute(case), strict=True):
        flat = made.reshape(-1)
        if flat.size != mine.size:
            add(f"{name}: {mine.size} codes, but {node.op} makes {flat.size}")
            return
        wrong = np.flatnonzero(flat != mine)
        for place in wrong[:MAX_SHOWN].tolist():
            add(_difference(trace, name, node.op, place, int(mine[place]), int(flat[place])))
        tally.codes += flat.size
    tally.nodes += 1
    units = by.units(case)
    chosen = range(units) if sample is None else chosen_cases(units, sample, trace.step)
    for unit in chosen:
        for part in by.one(case, unit):
            name = node.outputs[part.output]
            for place, code in zip(part.places, part.codes, strict=True):
                if int(stored[part.output][place]) != code:
                    add(_difference(trace, name, node.op, place, int(stored[part.output][place]), code))
    tally.by_oracle += len(chosen)


def _difference(trace: TraceSet, name: str, op: str, place: int, got: int, right: int) -> str:
    tensor = trace.tensors[name]
    where = ", ".join(str(int(i)) for i in np.unravel_index(place, tensor.shape)) if tensor.shape else "0"
    shown, wanted = tensor.fmt.hex(got), tensor.fmt.hex(right)
    return f"{tensor.file}: [{where}] = {shown}, but {op} of its inputs gives {wanted}"
