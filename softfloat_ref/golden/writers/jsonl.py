"""JSON lines: a header object, then one object per case, with its tag. jsonl.schema.json describes both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.tags import groups
from softfloat_ref.golden.writers.batch import Batch, Data, Facts
from softfloat_ref.golden.writers.writer import LineWriter, Rows

JSONL_SCHEMA: Final = 1


class JsonLinesWriter(LineWriter):
    """NAME.jsonl: codes are lower-case hexadecimal strings, for lanes an array, lane 0 first."""

    key = "jsonl"
    suffix = ".jsonl"

    def head(self, vectors: VectorSet, facts: Facts) -> bytes:
        table = {
            "schema": JSONL_SCHEMA,
            "name": vectors.name,
            "description": vectors.description,
            "count": facts.count,
            "groups": groups(facts.runs()),
            "fields": [
                {"name": f.name, "role": f.role, "width": f.width, "lanes": f.lanes, "format": f.format or None}
                for f in vectors.fields
            ],
            "set": vectors.to_dict(),
        }
        return (json.dumps(table, separators=(",", ":")) + "\n").encode("ascii")

    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        digits = [f.digits for f in vectors.fields for _ in range(f.lanes)]
        return [Rows(digits, list(_between(vectors)), _end(vectors)).encode(batch)]


def _between(vectors: VectorSet) -> Iterator[str]:
    """The text before each code."""
    before = "{"
    for f in vectors.fields:
        if f.lanes == 1:
            yield f'{before}"{f.name}":"'
            before = '",'
        else:
            yield f'{before}"{f.name}":["'
            yield from ['","'] * (f.lanes - 1)
            before = '"],'


def _end(vectors: VectorSet) -> Callable[[str], str]:
    """The text after the last code, by tag."""
    close = '"' if vectors.fields[-1].lanes == 1 else '"]'
    return lambda tag: f'{close},"tag":{json.dumps(tag)}}}\n'
