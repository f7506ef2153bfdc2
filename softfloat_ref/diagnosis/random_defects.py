"""Defects of a stochastic rounding's random bits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, Final

from softfloat_ref.diagnosis.defects import Faulty, defective, flags_kept, replaced
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Output
from softfloat_ref.oracle.flags import OVERFLOW
from softfloat_ref.oracle.operations.steps import random_word
from softfloat_ref.oracle.sources import Lfsr, parse_source
from softfloat_ref.oracle.steps import Change

_TRIED_WORDS: Final = 16  # random words to try if the device may use any word
_REGISTER_STEPS: Final = 1 << 13  # steps of a shift register with possibly wrong taps
_LOOSE_SIZE: Final = 20  # the size of a hypothesis that allows several answers, so that every other one comes first
_CARRIES: Final = ("one ulp missed", "exact values move")  # adders that may have a wrong carry but right flags


def random_defects(unit: Any, source_text: str) -> Iterator[Hypothesis]:
    """Every listed defect of the random bits. source_text: the random source, if known."""
    n: int = unit.policy.random_count
    rows: list[tuple[str, str, Callable[[int], int]]] = [
        ("random bits reversed", "uses the random bits in reverse order", lambda r: int(f"{r:0{n}b}"[::-1], 2)),
        ("random bits inverted", "inverts the random bits", lambda r: r ^ (1 << n) - 1),
        ("random bits ignored", "uses no random bits", lambda r: 0),
        ("one ulp missed", "misses a carry of exactly one ulp (> instead of >=)", lambda r: r - 1),
        ("exact values move", "adds one to the random bits, so that exact values may move", lambda r: r + 1),
    ]
    for k in range(1, n):
        rows.append((f"top {k} random bits", f"uses only the top {k} random bits", lambda r, k=k: r >> n - k << n - k))  # type: ignore[misc]
        rows.append((f"low {k} random bits", f"uses only the low {k} random bits", lambda r, k=k: r & (1 << k) - 1))  # type: ignore[misc]
    source = parse_source(source_text) if source_text else None
    if isinstance(source, Lfsr) and source.width == n:
        rows.append(("next random word", "uses the register's next state", partial(_next_state, source)))
        rows += _wrong_taps(source)
    defects = [defective(unit, name, text, _drawing(change)) for name, text, change in rows]
    yield from defects
    if unit.has_flags:
        yield from (flags_kept(h, changed=OVERFLOW) for h in defects if h.name in _CARRIES)
    words = sorted({0, 1, (1 << n) - 1} | {(1 << n) * i // _TRIED_WORDS for i in range(_TRIED_WORDS)})
    devices = [Faulty(unit, (_drawing(lambda r, word=word: word),)) for word in words]  # type: ignore[misc]

    def answers(inputs: Inputs) -> Iterator[Output]:
        return (output for device in devices if (output := device(inputs)) is not None)

    text = "rounds stochastically with other random bits than those given"
    yield Hypothesis("other random bits", text, Faulty(unit), size=_LOOSE_SIZE, also=answers)


def _drawing(change: Callable[[int], int]) -> Change:
    """Another random word."""
    return replaced(random_word, lambda here, right, r: right(change(r)))


def _next_state(source: Lfsr, r: int) -> int:
    return dataclasses.replace(source, seed=r).bits(source.width, 1, 1)[0] if r else 0


def _wrong_taps(source: Lfsr) -> Iterator[tuple[str, str, Callable[[int], int]]]:
    """Registers with one tap off by one; words correspond by their position in the sequence."""
    for tap in source.taps:
        for wrong in (tap - 1, tap + 1):
            if wrong in source.taps or not 1 <= wrong <= source.width:
                continue
            other = dataclasses.replace(source, taps=tuple(wrong if t == tap else t for t in source.taps))
            name = f"tap {wrong} in place of {tap}"
            yield name, f"has {name}", lambda r, other=other: _words(source, other).get(r, r)  # type: ignore[misc]


@lru_cache(maxsize=64)
def _words(right: Lfsr, other: Lfsr) -> dict[int, int]:
    """A map from the right register's words to the other's, for the first steps."""
    pairs = zip(right.bits(right.width, 0, _REGISTER_STEPS), other.bits(right.width, 0, _REGISTER_STEPS), strict=True)
    words: dict[int, int] = {}
    for word, others in pairs:
        words.setdefault(word, others)
    return words
