"""The files of a trace against its manifest: names, headings, hashes; of a changed tensor, which element."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_bytes
from softfloat_ref.base.search import find_first
from softfloat_ref.golden.manifest import MANIFEST
from softfloat_ref.golden.trace.case import Codes, case_of
from softfloat_ref.golden.trace.files import (
    HEADER,
    file_entry,
    line_of,
    make_trace_manifest,
    parse_codes,
    tensor_bytes,
    trace_header,
)
from softfloat_ref.golden.trace.model import CodeTensor, Node, TraceSet
from softfloat_ref.golden.trace.operations import operation_of

Add = Callable[[str], None]
Advance = Callable[[str, int], None]
_HASH_DIFFERS: Final = "SHA-256 differs from the manifest's"
_MAX_SHOWN: Final = 60  # characters of a manifest's entry in a message


def read_files(
    folder: Path, manifest: dict[str, Any], trace: TraceSet, add: Add, advance: Advance
) -> dict[str, Codes] | None:
    """The codes of every tensor; None, with the problems added, if the files are not those of the manifest."""
    entries = {str(f["name"]): f for f in manifest["files"]}
    problems = [*_wrong_names(entries, trace)]
    if not problems:
        problems += _wrong_descriptions(manifest, trace)
        problems += _others(folder, entries)
        codes, changed = _read_tensors(folder, entries, trace, problems.append, advance)
        problems += (_changed(trace, trace.tensors[name], codes, changed) for name in changed if name in codes)
        problems += [] if problems else _wrong_header(folder, entries, trace)
    for problem in problems:
        add(problem)
    return None if problems else codes


def _wrong_names(entries: Mapping[str, Any], trace: TraceSet) -> Iterator[str]:
    wanted = {HEADER: "", **{t.file: f" of {t.name}" for t in trace.tensors.values()}}
    for name in sorted(wanted.keys() - entries.keys()):
        yield f"{MANIFEST}: {name}{wanted[name]} is not in its list of files"
    for name in sorted(entries.keys() - wanted.keys()):
        yield f"{MANIFEST}: lists the file {name[:_MAX_SHOWN]!r}, but has no tensor of this name"


def _wrong_descriptions(manifest: dict[str, Any], trace: TraceSet) -> Iterator[str]:
    wanted = make_trace_manifest(trace, manifest["files"], ())
    for key in (k for k in wanted if k not in ("version", "command", "set")):
        if manifest.get(key) != wanted[key]:
            entry, right = (str(x)[:_MAX_SHOWN] for x in (manifest.get(key), wanted[key]))
            yield f"{MANIFEST}: {key} is {entry!r}, but its set makes it {right!r}"


def _others(folder: Path, entries: Mapping[str, Any]) -> Iterator[str]:
    for path in sorted([*folder.glob("*.memh"), *folder.glob("*.svh")]):
        if path.name not in entries:
            yield f"{path.name}: is in the folder, but not in the manifest"


def _read_tensors(
    folder: Path, entries: Mapping[str, dict[str, Any]], trace: TraceSet, add: Add, advance: Advance
) -> tuple[dict[str, Codes], list[str]]:
    """The codes of tensors whose files can be read, and the names of those with another hash."""
    codes, changed = {}, []
    for tensor in trace.tensors.values():
        entry = entries[tensor.file]
        if not (folder / tensor.file).is_file():
            add(f"{tensor.file}: missing; it holds {tensor.name}")
            continue
        data = tensor_bytes(folder, tensor)
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            changed.append(tensor.name)
        try:
            codes[tensor.name] = parse_codes(tensor, data)
        except Error as e:
            add(str(e))
            continue
        if entry["lines"] != tensor.size:
            add(f"{MANIFEST}: {tensor.file} has {entry['lines']} lines, but its tensor {tensor.size} codes")
        advance(tensor.name, tensor.size)
    return codes, changed


def read_unchanged(folder: Path, entries: Mapping[str, dict[str, Any]], tensor: CodeTensor) -> Codes:
    """The codes of one tensor. Raises Error if its file is not the one that the manifest lists."""
    if tensor.file not in entries:
        raise Error(f"{MANIFEST}: {tensor.file} of {tensor.name} is not in its list of files")
    data = tensor_bytes(folder, tensor)
    codes = parse_codes(tensor, data)
    if hashlib.sha256(data).hexdigest() != entries[tensor.file]["sha256"]:
        raise Error(f"{tensor.file}: {_HASH_DIFFERS}; `softfloat-ref vectors verify {folder}` shows what was changed")
    return codes


def _wrong_header(folder: Path, entries: Mapping[str, dict[str, Any]], trace: TraceSet) -> Iterator[str]:
    text = trace_header(trace).encode("ascii")
    if not (folder / HEADER).is_file():
        yield f"{HEADER}: missing"
    elif (data := read_bytes(folder / HEADER, limits.JSON)) != text:
        lines = enumerate(zip_longest(data.split(b"\n"), text.split(b"\n"), fillvalue=b""), 1)
        at, (x, y) = find_first((i, pair) for i, pair in lines if pair[0] != pair[1])
        line, right = x.decode("ascii", "replace")[:_MAX_SHOWN], y.decode()
        yield f"{HEADER}:{at}: {line!r}, but the manifest makes it {right!r}"
    elif entries[HEADER] != file_entry(HEADER, text, text.count(b"\n")):
        yield f"{MANIFEST}: SHA-256 or lines of {HEADER} were changed: the file is the one that the manifest makes"


def _changed(trace: TraceSet, tensor: CodeTensor, codes: Mapping[str, Codes], changed: Iterable[str]) -> str:
    """What changed in a file with another hash: which element, if the operation that makes the tensor can tell."""
    head = f"{tensor.file}: {_HASH_DIFFERS}"
    node = next((n for n in trace.nodes if tensor.name in n.outputs), None)
    if node is None:
        return f"{head}; no operation makes {tensor.name}, so it is unknown which of its codes changed"
    if any(v.tensor not in codes or v.tensor in changed for v in node.inputs):
        return f"{head}; an input of {node.op}, which makes {tensor.name}, was changed too"
    try:
        recomputed = operation_of(node).compute(case_of(node, trace.tensors, codes))[node.outputs.index(tensor.name)]
    except (Error, ValueError, IndexError, TypeError, KeyError) as e:
        return f"{head}; {node.op[:_MAX_SHOWN]}, which makes {tensor.name}, cannot be recomputed: {str(e)[:120]}"
    problem = first_difference(tensor, node, codes[tensor.name], recomputed)
    if problem is None:
        return f"{head}; the file is right: {node.op} of its inputs gives all codes of {tensor.name}"
    return f"{problem} ({_HASH_DIFFERS})"


def first_difference(tensor: CodeTensor, node: Node, stored: Codes, recomputed: Codes) -> str | None:
    """The first difference between a tensor and what its node makes, in words, and how many more there are."""
    mine, right = stored.reshape(-1), recomputed.reshape(-1)
    if mine.size != right.size:
        return f"{tensor.file}: {mine.size} codes of {tensor.name}, but {node.op} makes {right.size}"
    wrong = np.flatnonzero(mine != right)
    if not wrong.size:
        return None
    more = f"; {wrong.size - 1} more differ" if wrong.size > 1 else ""
    return wrong_element(tensor, node, int(wrong[0]), int(mine[wrong[0]]), int(right[wrong[0]])) + more


def wrong_element(tensor: CodeTensor, node: Node, place: int, stored: int, right: int) -> str:
    """A wrong code in words."""
    index = [int(i) for i in np.unravel_index(place, tensor.shape)]
    shown, wanted = tensor.fmt.hex(stored), tensor.fmt.hex(right)
    return f"{line_of(tensor, place)}: {tensor.name}{index or ''} = {shown}, but {node.op} of its inputs gives {wanted}"
