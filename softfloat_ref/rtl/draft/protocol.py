"""Clock, reset, handshake and tag of a draft."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from softfloat_ref.base.search import find_first
from softfloat_ref.base.tables import toml_string
from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.design import Evidence, Signal
from softfloat_ref.rtl.draft.lines import Draft, toml_table
from softfloat_ref.rtl.port_map import MAX_TAG_WIDTH

_NO_EVIDENCE: Final = Evidence(frozenset(), "", "")
_DIRECTIONS: Final = ("input", "output")
_RESET_LEVELS: Final = {"PosEdge": "high", "NegEdge": "low"}


def add_clock_and_reset(draft: Draft) -> bool:
    """Add them; whether there is a clock."""
    waited = draft.ports("input", lambda s: s.width == 1 and "PosEdge" in _use(draft, s).edges)
    clocks = [s for s in waited if names.is_clock(s.name)]
    clocks += [s for s in waited if names.reset_level(s.name) is None and s not in clocks]
    named = draft.ports("input", lambda s: s.width == 1 and names.is_clock(s.name))
    if clocks:
        draft.take(clocks[0])
        draft.add("", f"clock = {toml_string(clocks[0].name)}", f"posedge in {_use(draft, clocks[0]).place}")
    elif named:
        draft.take(named[0])
        draft.add("", f"clock = {toml_string(named[0].name)}", "by its name; the source waits for no edge of it", True)
    else:
        draft.add("", "", "no clock: the source waits for no edge of an input, so the module is combinational")
        return False
    _reset(draft)
    return True


def _reset(draft: Draft) -> None:
    resets = draft.ports("input", lambda s: s.width == 1 and names.reset_level(s.name) is not None)
    resets.sort(key=lambda s: (not _use(draft, s).edges, not _use(draft, s).tested))
    if not resets:
        return
    reset, use = resets[0], _use(draft, resets[0])
    levels = {_RESET_LEVELS[edge] for edge in use.edges if edge in _RESET_LEVELS}
    by_name = names.reset_level(reset.name) or "high"
    level = levels.pop() if len(levels) == 1 else use.tested or by_name
    draft.take(reset)
    why = f"active {level} in {use.place}" if use.place else "its level by its name"
    draft.add("", f"reset = {toml_table(port=toml_string(reset.name), active=toml_string(level))}", why, not use.place)


def _use(draft: Draft, signal: Signal) -> Evidence:
    return draft.design.uses.get(signal.name, _NO_EVIDENCE)


# -- handshake -----------------------------------------------------------------------------------------------------


def add_valids(draft: Draft) -> None:
    """Add the ports that say that there are operands, and a result; not those of single operands."""
    weak = _likely(draft, "in_valid", "input", (names.VALID, names.START))
    several = "in_valid" not in _keys(draft) and draft.bits("input", names.VALID)
    _likely(draft, "out_valid", "output", (names.VALID, names.DONE))
    if "out_valid" not in _keys(draft) and weak:
        _likely(draft, "out_valid", "output", (names.READY,))
    if "out_valid" in _keys(draft) and "in_valid" not in _keys(draft) and not several:
        _likely(draft, "in_valid", "input", (names.ENABLE,))
    if weak and not draft.bits("output", names.READY):
        draft.add("", "outstanding = 1", "a start without a ready: one operation at a time", True)


def add_readys(draft: Draft, operands: Mapping[str, str]) -> None:
    """Add the readys of operands and results, and the valids of single operands."""
    if "in_valid" in _keys(draft):
        _likely(draft, "in_ready", "output", (names.READY,))
    else:
        for key, direction, words in (("in_valid", "input", names.VALID), ("in_ready", "output", names.READY)):
            _of_operands(draft, key, direction, words, operands)
    if {"in_valid", "out_valid"} <= _keys(draft):
        _likely(draft, "out_ready", "input", (names.READY,))


def _likely(draft: Draft, name: str, direction: str, vocabularies: tuple[Collection[str], ...]) -> bool:
    """Add the one port of these words, or the most likely of several; whether it is of the second vocabulary."""
    for i, words in enumerate(vocabularies):
        candidates = draft.bits(direction, words)
        plain = [s for s in candidates if len(names.core(s.name)) == 1]
        if len(candidates) == 1 or len(plain) == 1:
            chosen = (plain or candidates)[0]
            draft.take(chosen)
            word = find_first(w for w in names.core(chosen.name) if w in words)
            same = names.is_named(chosen.name, name)
            why = "" if same else f"{direction} with `{word}` in its name"
            draft.add("handshake", f"{name} = {toml_string(chosen.name)}", why, not same)
            return i > 0
        if candidates:
            return False
    return False


def _of_operands(draft: Draft, key: str, direction: str, words: Collection[str], operands: Mapping[str, str]) -> None:
    """Add a valid or ready of each operand: a port that shares a word with the operand's, or a bit of one port."""
    pairs = {}
    for signal in draft.bits(direction, words):
        stem = [w for w in names.core(signal.name) if w not in words]
        for operand, port in operands.items():
            if operand not in pairs and stem in (names.core(port), [operand]):
                pairs[operand] = signal
                break
    wide = [s for s in draft.ports(direction) if 1 < s.width == len(operands) and set(names.core(s.name)) & set(words)]
    if len(pairs) == len(operands) > 0:
        draft.take(*pairs.values())
        value = toml_table(**{operand: toml_string(signal.name) for operand, signal in pairs.items()})
        draft.add("handshake", f"{key} = {value}", f"one {key[3:]} for each operand, by name", True)
    elif wide:
        draft.take(wide[0])
        value = toml_table(**{operand: toml_string(f"{wide[0].name}[{i}]") for i, operand in enumerate(operands)})
        draft.add("handshake", f"{key} = {value}", "a bit for each operand, by its width", True)


def add_latency(draft: Draft) -> None:
    """Add what a clocked module without both valids needs."""
    missing = [x for x in ("in_valid", "out_valid") if x not in _keys(draft)]
    if missing:
        why = f"not known without {' and '.join(missing)}: rising edges from operands to result"
        draft.add("", "latency = 1", why, True)
    elif "tag" not in draft.tables:
        draft.add("", "", "no tag found: results come in order; whether their latency is fixed cannot be read")


def _keys(draft: Draft) -> set[str]:
    """The keys of the handshake so far."""
    return {line.text.partition(" ")[0] for line in draft.tables.get("handshake", [])}


# -- tag -----------------------------------------------------------------------------------------------------------


def add_tag(draft: Draft) -> None:
    """Add the ports of a number that comes back with its result."""
    into, out = (draft.ports(way, lambda s: s.width <= MAX_TAG_WIDTH and _tag_word(s) != "") for way in _DIRECTIONS)
    pairs = [(i, o) for i in into for o in out if i.width == o.width and _tag_word(i) == _tag_word(o)]
    pairs.sort(key=lambda pair: names.core(pair[0].name) != names.core(pair[1].name))
    if pairs:
        draft.take(*pairs[0])
        draft.add("tag", f"in = {toml_string(pairs[0][0].name)}", "an input and an output of this word and width", True)
        draft.add("tag", f"out = {toml_string(pairs[0][1].name)}")
        draft.add("tag", f"width = {pairs[0][0].width}", f"at most {1 << pairs[0][0].width} operations in flight")


def _tag_word(signal: Signal) -> str:
    return next((word for word in names.core(signal.name) if word in names.TAG | names.DESTINATION), "")
