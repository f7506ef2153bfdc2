"""Verification of a trace: its files, then every node from its inputs, in arrays, and a sample by the scalar oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sample import chosen_cases
from softfloat_ref.golden.trace.case import Codes, case_of
from softfloat_ref.golden.trace.check_files import Add, Advance, first_difference, read_files, wrong_element
from softfloat_ref.golden.trace.model import Node, TraceSet
from softfloat_ref.golden.trace.operations import operation_of
from softfloat_ref.oracle.formats import in_full

ORACLE_UNITS: Final = 64  # units of each node that the oracle recomputes


@dataclass
class TraceTally:
    """The numbers of codes recomputed in arrays, of units by the oracle, and of tensors that no node computes."""

    codes: int = 0
    by_oracle: int = 0
    nodes: int = 0
    inputs: int = 0

    def summary(self, name: str) -> str:
        return (
            f"{self.codes} codes of {name} recomputed from their inputs, {self.by_oracle} results, spread over its "
            f"{self.nodes} operations, by the scalar oracle; {self.inputs} given tensors checked by their "
            "hashes"
        )


@in_full()
def check_trace(
    folder: Path,
    manifest: dict[str, Any],
    trace: TraceSet,
    add: Add,
    sample: int | None = None,
    every: bool = False,
    advance: Advance = lambda label, codes: None,
) -> TraceTally:
    """Check the files of a trace. sample: results of each node for the oracle; every: all of them. advance: is told of
    the codes done, each once as it is read and once as it is recomputed or passed over. Raises Error."""
    tally = TraceTally()
    codes = read_files(folder, manifest, trace, add, advance)
    if codes is None:
        return tally
    computed = {name for node in trace.nodes for name in node.outputs}
    tally.inputs = len(trace.tensors) - len(computed)
    for node in trace.nodes:
        check_node(trace, node, codes, add, None if every else sample or ORACLE_UNITS, tally)
        advance(node.name, sum(trace.tensors[name].size for name in node.outputs))
    return tally


def check_node(
    trace: TraceSet, node: Node, codes: Mapping[str, Codes], add: Add, sample: int | None, tally: TraceTally
) -> None:
    """Recompute a node from the codes of its inputs. sample: units for the oracle; None: all."""
    try:
        _recompute(trace, node, codes, add, sample, tally)
    except (Error, ValueError, IndexError, TypeError, KeyError) as e:
        add(f"{node.name}: {node.op[:60]}: {str(e)[:120]}")


def _recompute(
    trace: TraceSet, node: Node, codes: Mapping[str, Codes], add: Add, sample: int | None, tally: TraceTally
) -> None:
    case, by = case_of(node, trace.tensors, codes), operation_of(node)
    for name, recomputed in zip(node.outputs, by.compute(case), strict=True):
        if (problem := first_difference(trace.tensors[name], node, codes[name], recomputed)) is not None:
            add(problem)
            return
        tally.codes += recomputed.size
    tally.nodes += 1
    units = by.units(case)
    chosen = range(units) if sample is None else chosen_cases(units, sample, trace.step)
    for unit in chosen:
        for part in by.one(case, unit):
            name = node.outputs[part.output]
            stored = codes[name].reshape(-1)[part.places]
            wrong = np.flatnonzero(stored != np.array(part.codes, stored.dtype))
            if wrong.size:
                place, code = part.places[wrong[0]], part.codes[wrong[0]]
                add(wrong_element(trace.tensors[name], node, place, int(stored[wrong[0]]), code))
                return
    tally.by_oracle += len(chosen)
