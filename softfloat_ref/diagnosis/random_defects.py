"""Defects of a stochastic rounding's random bits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final

from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model
from softfloat_ref.diagnosis.operation_models import Run
from softfloat_ref.oracle.flags import OVERFLOW
from softfloat_ref.oracle.sources import Lfsr, parse_source

_TRIED_WORDS: Final = 16  # random words to try if the device may use any word
_REGISTER_STEPS: Final = 1 << 13  # steps of a shift register with possibly wrong taps
_LOOSE_SIZE: Final = 20  # the size of a hypothesis that allows several answers, so that every other one comes first


def random_defects(
    model: Callable[[Run], Model], right: Run, n: int, arity: int, source_text: str
) -> Iterator[Hypothesis]:
    """Every listed defect of the random bits. right: the operation, from codes and n random bits; model: turns
    such a function into a model; source_text: the random source, if known."""
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
    for name, text, change in rows:
        yield Hypothesis(name, text, model(lambda codes, r, change=change: right(codes, change(r))))  # type: ignore[misc]
    for name, text, change in rows[3:5]:  # adders with a wrong carry but right flags
        yield Hypothesis(f"{name}, flags kept", text, model(partial(_other_code, right, change)))
    words = sorted({0, 1, (1 << n) - 1} | {(1 << n) * i // _TRIED_WORDS for i in range(_TRIED_WORDS)})
    yield Hypothesis(
        "other random bits",
        "rounds stochastically with other random bits than those given",
        model(right),
        size=_LOOSE_SIZE,
        also=lambda inputs: (right(inputs[:arity], r) for r in words),
    )


def _other_code(right: Run, change: Callable[[int], int], codes: Sequence[int], r: int) -> tuple[int, int]:
    """The result with other random bits; flags, except overflow, with the right bits."""
    code, flags = right(codes, change(r))
    return code, right(codes, r)[1] & ~OVERFLOW | flags & OVERFLOW


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
