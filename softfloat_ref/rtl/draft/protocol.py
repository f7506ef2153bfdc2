"""Clock, reset, handshake and tag of a draft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from softfloat_ref.base.tables import toml_string
from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.design import Signal
from softfloat_ref.rtl.draft.lines import Draft, toml_table
from softfloat_ref.rtl.draft.protocols import INPUTS, KEYS, PROTOCOLS, SIDES, Entry, Protocol
from softfloat_ref.rtl.draft.uses import Evidence
from softfloat_ref.rtl.port_map import MAX_TAG_WIDTH

_NO_EVIDENCE: Final = Evidence(frozenset(), "", "")
_DIRECTIONS: Final = ("input", "output")
_OWN: Final = {"in": "input", "out": "output"}  # the direction of the data of each side
_OTHER: Final = {"in": "output", "out": "input"}
_SIDE_WORDS: Final = {"in": {"in", "input"}, "out": {"out", "output"}}
_ENABLED: Final = Protocol("enable-valid", in_valid=names.ENABLE)
_RESET_LEVELS: Final = {"PosEdge": "high", "NegEdge": "low"}


def add_clock_and_reset(draft: Draft) -> bool:
    """Add them; whether there is a clock."""
    waited = draft.ports("input", lambda s: s.width == 1 and bool(_use(draft, s).edges))
    waited.sort(key=lambda s: "PosEdge" not in _use(draft, s).edges)
    clocks = [s for s in waited if names.is_clock(s.name)]
    clocks += [s for s in waited if names.reset_level(s.name) is None and s not in clocks]
    named = draft.ports("input", lambda s: s.width == 1 and names.is_clock(s.name))
    if "clock" in draft.settings:
        pass
    elif clocks:
        draft.take(clocks[0])
        use = _use(draft, clocks[0])
        edge = "posedge" if "PosEdge" in use.edges else "negedge"
        draft.add("", f"clock = {toml_string(clocks[0].name)}", f"{edge} in {use.place}")
    elif named:
        draft.take(named[0])
        draft.add(
            "",
            f"clock = {toml_string(named[0].name)}",
            "by its name; the source waits for no edge of it",
            True,
            named[0].name,
        )
    else:
        draft.add("", "", "no clock: the source waits for no edge of an input, so the module is combinational")
        return False
    if "reset" not in draft.settings:
        _reset(draft)
    return True


def _reset(draft: Draft) -> None:
    resets = draft.ports("input", lambda s: s.width == 1 and names.reset_level(s.name) is not None)
    resets.sort(key=lambda s: (not _use(draft, s).edges, not _use(draft, s).tested, not _use(draft, s).clears))
    if not resets:
        return
    reset, use = resets[0], _use(draft, resets[0])
    levels = {_RESET_LEVELS[edge] for edge in use.edges if edge in _RESET_LEVELS}
    by_name = names.reset_level(reset.name) or "high"
    read = levels.pop() if len(levels) == 1 else use.tested or use.clears
    level = read or by_name
    draft.take(reset)
    why = f"active {level} in {use.place}" if read else "its level by its name"
    draft.add(
        "",
        f"reset = {toml_table(port=toml_string(reset.name), active=toml_string(level))}",
        why,
        not read,
        reset.name,
    )


def _use(draft: Draft, signal: Signal) -> Evidence:
    return draft.design.uses.get(signal.name, _NO_EVIDENCE)


# -- handshake -----------------------------------------------------------------------------------------------------


def add_valids(draft: Draft) -> dict[str, Protocol]:
    """Add the ports that say that there are operands, and a result; not those of single operands. The protocol of each
    side."""
    rows = {side: row for side in SIDES if (row := _protocol(draft, side))}
    starts = rows.get("in")
    for side, row in rows.items():
        _add(draft, SIDES[side][0], row)
    if starts and starts.one_at_a_time and not any(e.active == "high" for _, e in _ports(draft, "in_ready", starts)):
        draft.add("", "outstanding = 1", "a start without a ready: one operation at a time", True)
    return rows


def add_readys(draft: Draft, rows: Mapping[str, Protocol], operands: Mapping[str, str]) -> None:
    """Add the readys of operands and results, and the valids of single operands."""
    row = rows.get("in", PROTOCOLS[0])
    if "in_valid" not in _keys(draft):
        _of_operands(draft, "in_valid", row, operands)
    if "in_valid" not in _keys(draft) and "out_valid" in _keys(draft) and not _ports(draft, "in_valid", row):
        _add(draft, "in_valid", _ENABLED)
    if "in_valid" in _keys(draft) and not _add(draft, "in_ready", row):
        _of_operands(draft, "in_ready", row, operands)
    if {"in_valid", "out_valid"} <= _keys(draft):
        _add(draft, "out_ready", rows.get("out", PROTOCOLS[0]))


def _protocol(draft: Draft, side: str) -> Protocol | None:
    """The protocol of which a side of the module has most signals, then both; the user's before others."""
    ranked = []
    for number, row in enumerate(draft.protocols):
        keys = {key for key in KEYS if _ports(draft, key, row)}
        if SIDES[side][0] in keys and (not row.whole or {"in_valid", "out_valid"} <= keys):
            own = row not in PROTOCOLS
            ranked.append((own, len(keys & {*SIDES[side]}), len(keys), -number))
    return draft.protocols[-max(ranked)[-1]] if ranked else None


def _ports(draft: Draft, key: str, protocol: Protocol) -> list[tuple[Signal, Entry]]:
    """The ports left that may be a signal of a protocol, by their names: not those of data of the other side."""
    direction, side = "input" if key in INPUTS else "output", key.partition("_")[0]
    stems = {
        way: {names.stem(s.name) for s in draft.design.signals if s.direction == way and s.width > 1}
        for way in _DIRECTIONS
    }
    others = stems[_OTHER[side]] - stems[_OWN[side]]
    ports: dict[str, tuple[Signal, Entry]] = {}
    for entry in protocol.entries(key):
        for signal in draft.ports(direction, lambda s: s.width == 1 and "triosy" not in names.core(s.name)):
            stem = entry.stem(signal.name)
            if stem is not None and (not stem or tuple(stem) not in others):
                ports.setdefault(signal.name, (signal, entry))
    return list(ports.values())


def _add(draft: Draft, key: str, protocol: Protocol) -> bool:
    """Add the one port of a signal, or the most likely of several; whether there is one."""
    candidates, side = _ports(draft, key, protocol), key.partition("_")[0]
    for likely in (
        [x for x in candidates if _SIDE_WORDS[side] & {*names.words(x[0].name)}],
        [x for x in candidates if len(names.core(x[0].name)) == len(x[1].words)],
    ):
        candidates = [x for x in candidates if x in likely] or candidates
    first = [x for x in candidates if x[1] == candidates[0][1]]  # the ports of the likeliest name
    if len(first) != 1:
        return False
    signal, entry = first[0]
    draft.take(signal)
    same = names.is_named(signal.name, key)
    why = "" if same else f"{signal.direction} with `{'_'.join(entry.words)}` in its name, as in {protocol.name}"
    draft.add("handshake", f"{key} = {_value(signal.name, entry)}", why, not same, signal.name)
    return True


def _value(port: str, entry: Entry) -> str:
    """A signal of the handshake in TOML."""
    more = {"active": toml_string("low")} if entry.active == "low" else {}
    more |= {"waits": "true"} if entry.waits else {}
    return toml_table(port=toml_string(port), **more) if more else toml_string(port)


def _of_operands(draft: Draft, key: str, protocol: Protocol, operands: Mapping[str, str]) -> None:
    """Add a valid or ready of each operand: a port that shares a word with the operand's, or a bit of one port."""
    direction, words = "input" if key in INPUTS else "output", {w for e in protocol.entries(key) for w in e.words}
    pairs: dict[str, tuple[Signal, Entry]] = {}
    for signal, entry in _ports(draft, key, protocol):
        stem = entry.stem(signal.name)
        for operand, port in operands.items():
            if operand not in pairs and stem in (names.core(port), [*names.stem(port)], [operand]):
                pairs[operand] = signal, entry
                break
    wide = [s for s in draft.ports(direction) if 1 < s.width == len(operands) and set(names.core(s.name)) & words]
    if len(pairs) == len(operands) > 0:
        draft.take(*(signal for signal, _ in pairs.values()))
        value = toml_table(**{operand: _value(signal.name, entry) for operand, (signal, entry) in pairs.items()})
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
