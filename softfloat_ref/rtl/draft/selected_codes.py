"""The codes of operations that have no names, from what a module does for each: the names and comments there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from softfloat_ref.base.names import matches
from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.design import Signal
from softfloat_ref.rtl.draft.lines import Draft

_LONGEST: Final = 3  # words of a name that mean an operation together
_NAMES: Final = {meaning: name for name, meaning in reversed([*names.OPERATIONS.items()])}  # the first name of each


def selected_codes(draft: Draft, signal: Signal) -> tuple[dict[str, int], str]:
    """The codes of an input by the names of operations, and where they are from. Nothing if they are not clear: where
    one lacks that the vectors have, where two codes do the same, and where two places differ."""
    known: list[tuple[str, dict[str, int]]] = []
    for selection in draft.design.selections.get(signal.name, ()):
        codes = _codes(selection.by_code(signal.width))
        if len(codes) > (draft.target is None) and _covers(draft, codes):
            known.append((selection.place, codes))
    if not known or any(codes != known[0][1] for _, codes in known):
        return {}, ""
    place, codes = known[0]
    return codes, f"what {place} does for each code, by its names and comments"


def _codes(texts: Mapping[int, str]) -> dict[str, int]:
    """The codes that do one operation each, by its name."""
    codes: dict[str, list[int]] = {}
    for code, text in texts.items():
        done = set(_meanings(text))
        for meaning in done if len(done) == 1 else ():
            codes.setdefault(_NAMES[meaning], []).append(code)
    return {name: own[0] for name, own in codes.items() if len(own) == 1}


def _meanings(text: str) -> Iterator[str]:
    """The operations that a text names."""
    for identifier in re.findall(r"[A-Za-z_]\w*", text):
        words = names.words(identifier)
        for size in range(_LONGEST, 0, -1):
            joined = ("".join(words[i : i + size]) for i in range(len(words) - size + 1))
            if own := [names.OPERATIONS[x] for x in joined if x in names.OPERATIONS]:
                yield from own
                break


def _covers(draft: Draft, codes: Mapping[str, int]) -> bool:
    """Whether each operation of the vectors has a code."""
    patterns = [pattern for name in codes for pattern in names.OPERATIONS[name].split("|")]
    parts = [] if draft.target is None else draft.target.controls
    return all(any(_is_of(part, pattern) for pattern in patterns) for part in parts)


def _is_of(part: Mapping[str, str], pattern: str) -> bool:
    words = (part["op"], part.get("fmt", "-"), part.get("out", "-"))
    return all(matches(word, own) for word, own in zip(words, pattern.split(), strict=True))
