"""Outputs that are parts of a number which is not packed into a code, as the product of two significands is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.design import Signal
from softfloat_ref.rtl.draft.slots import GLUED, PARTS

_MOST_EXPONENT_BITS: Final = 17  # of a sum of exponents of the widest format
_FEWEST_LETTERS: Final = 3  # of a part's word in another one
_OPERATIONS: Final = {"prod", "product", "p", "sum", "diff", "quotient", "quot", "root"}
_WHOLE: Final = {"result", "results", "res", "answer"}


def unpacked_parts(outputs: Sequence[Signal]) -> list[Signal]:
    """The outputs that are no result by themselves, if there are some: a significand or magnitude beside an exponent or
    a sign, or what is named for an operation beside an exponent; with these exponents and signs."""
    exponents = [s for s in outputs if 1 < s.width <= _MOST_EXPONENT_BITS and "exponent" in _parts(s)]
    signs = [s for s in outputs if s.width == 1 and "sign" in _parts(s)]
    parts = [s for s in outputs if s not in exponents and _is_part(s, exponents, signs)]
    return [*parts, *exponents, *signs] if parts else []


def without_whole(parts: Sequence[Signal], field: str, module: str) -> str:
    """The message for a module that has nothing but these parts for a field."""
    *others, last = [s.name for s in parts]
    shown = f"{', '.join(others)} and {last} are parts of a number" if others else f"{last} is a part of a number"
    say = f"take a module that does, or say which output is the whole: --set outputs.PORT={field}"
    return f"{field}: {shown}, which {module} does not pack into a code; {say}"


def is_whole(signal: Signal) -> bool:
    """Whether an output is the whole number by its name, whatever stands beside it."""
    return bool(_WHOLE & {*names.core(signal.name)})


def _is_part(signal: Signal, exponents: Sequence[Signal], signs: Sequence[Signal]) -> bool:
    narrower, words = any(s.width < signal.width for s in exponents), {*names.core(signal.name)}
    if signal.width > 1 and _parts(signal) & {"mantissa", "magnitude"}:
        return narrower or (bool(signs) and max(map(len, words)) > 1)  # a letter says it only beside an exponent
    return narrower and bool(words & _OPERATIONS) and not is_whole(signal)


def _parts(signal: Signal) -> set[str]:
    """Which parts of a number an output may be: by its words, or the beginning or end of one; letters say it alone."""
    words = names.core(signal.name)
    own = {PARTS[word] for word in words if word in PARTS and (len(word) > 1 or len(words) == 1)}
    glued = [match["first"] or match["last"] for word in words if (match := GLUED.fullmatch(word))]
    return own | {PARTS[word] for word in glued if len(word) >= _FEWEST_LETTERS}
