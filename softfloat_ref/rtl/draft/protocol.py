"""Clock, reset, handshake and tag of a draft."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.design import Evidence, Signal
from softfloat_ref.rtl.draft.lines import Draft, quoted, table
from softfloat_ref.rtl.port_map import MAX_TAG_WIDTH

_UNUSED: Final = Evidence(frozenset(), "", "")
_WAYS: Final = ("input", "output")
_OTHERS: Final = {"PosEdge": "high", "NegEdge": "low"}


def clock_and_reset(draft: Draft) -> bool:
    """Add them; whether there is a clock."""
    waited = draft.ports("input", lambda s: s.width == 1 and "PosEdge" in _use(draft, s).edges)
    clocks = [s for s in waited if names.is_clock(s.name)]
    clocks += [s for s in waited if names.reset_level(s.name) is None and s not in clocks]
    named = draft.ports("input", lambda s: s.width == 1 and names.is_clock(s.name))
    if clocks:
        draft.take(clocks[0])
        draft.add("", f"clock = {quoted(clocks[0].name)}", f"posedge in {_use(draft, clocks[0]).place}")
    elif named:
        draft.take(named[0])
        draft.add("", f"clock = {quoted(named[0].name)}", "by its name; the source waits for no edge of it", True)
    else:
        draft.add("", "", "no clock: the source waits for no edge of an input, so the module is combinational")
        return False
    _reset(draft)
    return True


def _reset(draft: Draft) -> None:
    found = draft.ports("input", lambda s: s.width == 1 and names.reset_level(s.name) is not None)
    found.sort(key=lambda s: (not _use(draft, s).edges, not _use(draft, s).tested))
    if not found:
        return
    reset, use = found[0], _use(draft, found[0])
    levels = {_OTHERS[edge] for edge in use.edges if edge in _OTHERS}
    by_name = names.reset_level(reset.name) or "high"
    level = levels.pop() if len(levels) == 1 else use.tested or by_name
    draft.take(reset)
    why = f"active {level} in {use.place}" if use.place else "its level by its name"
    draft.add("", f"reset = {table(port=quoted(reset.name), active=quoted(level))}", why, not use.place)


def _use(draft: Draft, signal: Signal) -> Evidence:
    return draft.design.uses.get(signal.name, _UNUSED)


# -- handshake -----------------------------------------------------------------------------------------------------


def handshake(draft: Draft) -> list[Signal]:
    """Add the ports of the handshake, but for several valids of operands, which are returned with their readys."""
    weak = _valids(draft, "in_valid", "input", (names.VALID, names.START))
    per_operand = draft.bits("input", names.VALID) if "in_valid" not in _keys(draft) else []
    _valids(draft, "out_valid", "output", (names.VALID, names.DONE))
    if "out_valid" not in _keys(draft) and weak:
        _valids(draft, "out_valid", "output", (names.READY,))
    if "out_valid" in _keys(draft) and "in_valid" not in _keys(draft) and not per_operand:
        _valids(draft, "in_valid", "input", (names.ENABLE,))
    if per_operand:
        per_operand += draft.bits("output", names.READY)
    else:
        _valids(draft, "in_ready", "output", (names.READY,))
    if "out_valid" in _keys(draft):
        _valids(draft, "out_ready", "input", (names.READY,))
    if weak and not {"in_ready"} & _keys(draft):
        draft.add("", "outstanding = 1", "a start without a ready: one operation at a time", True)
    return per_operand


def _valids(draft: Draft, name: str, direction: str, vocabularies: tuple[Collection[str], ...]) -> bool:
    """Add the one port of these words, or the most likely of several; whether it is of the second vocabulary."""
    for i, words in enumerate(vocabularies):
        found = draft.bits(direction, words)
        plain = [s for s in found if len(names.core(s.name)) == 1]
        if len(found) == 1 or len(plain) == 1:
            chosen = (plain or found)[0]
            draft.take(chosen)
            word = next(w for w in names.core(chosen.name) if w in words)
            same = names.says(chosen.name, name)
            why = "" if same else f"{direction} with `{word}` in its name"
            draft.add("handshake", f"{name} = {quoted(chosen.name)}", why, not same)
            return i > 0
        if found:
            return False
    return False


def valids_of_operands(draft: Draft, found: list[Signal], operands: Mapping[str, str]) -> None:
    """Add a valid and a ready for each operand, of those that share a word with the port of the operand."""
    for name, direction, words in (
        ("in_valid", "input", names.VALID),
        ("in_ready", "output", names.READY),
    ):
        pairs = {}
        for signal in (s for s in found if s.direction == direction and s.name in draft.left):
            stem = [w for w in names.core(signal.name) if w not in words]
            for operand, port in operands.items():
                if stem == names.core(port) or stem == [operand]:
                    pairs[operand] = quoted(signal.name)
                    draft.take(signal)
                    break
        if pairs:
            draft.add("handshake", f"{name} = {table(**pairs)}", f"one {name[3:]} for each operand, by name", True)
    _bits_of_operands(draft, operands)


def _bits_of_operands(draft: Draft, operands: Mapping[str, str]) -> None:
    """Valids and readys of operands as bits of one port."""
    for name, direction, words in (("in_valid", "input", names.VALID), ("in_ready", "output", names.READY)):
        wide = [s for s in draft.ports(direction) if 1 < s.width == len(operands) and set(names.core(s.name)) & words]
        if wide and name not in _keys(draft):
            pairs = {o: quoted(f"{wide[0].name}[{i}]") for i, o in enumerate(operands)}
            draft.take(wide[0])
            draft.add("handshake", f"{name} = {table(**pairs)}", "a bit for each operand, by its width", True)


def latency(draft: Draft) -> None:
    """Add what a clocked module without both valids needs."""
    missing = [x for x in ("in_valid", "out_valid") if x not in _keys(draft)]
    if missing:
        why = f"not known without {' and '.join(missing)}: rising edges from operands to result"
        draft.add("", "latency = 1", why, True)
    elif not _keys(draft) & {"in_ready"} and not any("outstanding" in line.text for line in draft.tables[""]):
        draft.add(
            "", "", "no latency: results count when out_valid is set; a fixed one could be checked by latency = N"
        )


def _keys(draft: Draft) -> set[str]:
    """The keys of the handshake so far."""
    return {line.text.partition(" ")[0] for line in draft.tables.get("handshake", [])}


# -- tag -----------------------------------------------------------------------------------------------------------


def tag(draft: Draft) -> None:
    """Add the ports of a number that comes back with its result."""
    into, out = (draft.ports(way, lambda s: s.width <= MAX_TAG_WIDTH and _tag_word(s) != "") for way in _WAYS)
    pairs = [(i, o) for i in into for o in out if i.width == o.width and _tag_word(i) == _tag_word(o)]
    pairs.sort(key=lambda pair: names.core(pair[0].name) != names.core(pair[1].name))
    if pairs:
        draft.take(*pairs[0])
        draft.add("tag", f"in = {quoted(pairs[0][0].name)}", "an input and an output of this word and width", True)
        draft.add("tag", f"out = {quoted(pairs[0][1].name)}")
        draft.add("tag", f"width = {pairs[0][0].width}", f"at most {1 << pairs[0][0].width} operations in flight")


def _tag_word(signal: Signal) -> str:
    return next((word for word in names.core(signal.name) if word in names.TAG), "")
