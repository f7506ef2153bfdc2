"""Inputs of one bit of a draft whose names say what they do to an operation, such as signed_i, sub or ftz_en."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from softfloat_ref.base.tables import toml_string
from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.design import Signal
from softfloat_ref.rtl.draft.lines import Draft, toml_table

# Inputs of one bit, by words of their names: the properties of vectors that they encode, and their codes.
_BITS: Final[tuple[tuple[set[str], str, Mapping[str, int], str], ...]] = (
    (names.SATURATE, "overflow", {"sat-finite": 1, "*": 0}, "saturates"),
    (names.SIGNED, "op fmt out", {"convert i* *": 1, "convert * i*": 1, "* * *": 0}, "makes integers signed"),
    (names.UNSIGNED, "op fmt out", {"convert u* *": 1, "convert * u*": 1, "* * *": 0}, "makes integers unsigned"),
    (names.SUBTRACT, "op", {"sub": 1, "*": 0}, "makes a sum a difference"),
    (names.STOCHASTIC, "rounding", {"sr*": 1, "*": 0}, "rounds stochastically"),
)
_SUMS: Final = ("add", "sub")


def add_bit(draft: Draft, signal: Signal, words: set[str]) -> None:
    """Add an input of one bit whose name says what it does to an operation, if these vectors have such operations."""
    ops = {own["op"] for own in draft.target.controls} if draft.target else {*_SUMS}
    if ({"add", "sub"} <= words or words & names.ADD_OR_SUBTRACT) and ops.intersection(_SUMS):
        draft.ask(signal, "tells additions from subtractions, by its name; whether by 0 or by 1, is not known", "op")
        return
    if words & (names.SIGNED | names.UNSIGNED) and (signs := _signs(draft)):
        if len(signs) > 1:
            draft.ask(signal, "says whether integers are signed, by its name, and the vectors have both")
        value = int(signs == {bool(words & names.SIGNED)})
        draft.use("inputs", signal, f"{{ value = {value} }}", "the integers of the vectors, by its name", True)
        return
    for vocabulary, of, codes, why in _BITS:
        if words & vocabulary and (draft.target is None or {*of.split()} <= {*draft.target.controls[0]}):
            table = toml_table(**{words: str(code) for words, code in codes.items()})
            draft.use("inputs", signal, f"{{ of = {toml_string(of)}, codes = {table} }}", f"1 {why}, by its name", True)
            return
    policies = [] if draft.target is None else [getattr(part, "policy", None) for part in draft.target.unit.parts]
    for vocabulary, key in ((names.FLUSH_OUTPUTS, "flush_outputs"), (names.FLUSH_INPUTS, "flush_inputs")):
        flushes = {bool(getattr(policy, key, False)) for policy in policies}
        if words & vocabulary and len(flushes) == 1:
            value = int(flushes.pop())
            draft.use("inputs", signal, f"{{ value = {value} }}", f"{key} of the vectors, by its name", True)
            return


def _signs(draft: Draft) -> set[bool]:
    """Whether the integers of one operation are signed; nothing for vectors of several."""
    if draft.target is None or len(draft.target.unit.parts) > 1:
        return set()
    formats = [f.fmt for f in draft.target.unit.fields if f.fmt is not None and f.fmt.twos_complement]
    return {fmt.signed for fmt in formats if fmt.width > 1 and fmt.name != "u10"}
