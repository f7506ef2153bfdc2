"""Operands, results and flags of a draft: which port carries which field of the vectors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.base.tables import toml_string
from softfloat_ref.rtl.bundle import FLAG_NAMES
from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.design import Leaf, Signal
from softfloat_ref.rtl.draft.lines import Draft, toml_bits

LETTERS: Final = "abc"
_NO_DATA: Final = names.INACTIVE | names.MASK | names.ENABLE | names.VALID | names.READY
_WIDTHS: Final = (4, 6, 8, 16, 19, 32, 64, 128)  # of formats
_FLAGS_WIDTH: Final = 5
_LETTER_OR_NUMBER: Final = re.compile(r"[a-z]*?([a-c]|[x-z])|\D*(\d+)")
_RANDOM_WIDTH: Final = 4  # a `rnd` of more bits carries random bits, not a rounding mode


# -- flags ---------------------------------------------------------------------------------------------------------


def add_flags(draft: Draft) -> None:
    """Add the ports of the flags, by their names, and what the module does not have."""
    if not draft.has("flags"):
        return
    ports: dict[str, str] = {}
    for signal in draft.ports("output"):
        own = {}
        for leaf in signal.leaves:
            flag = _flag(leaf.path.rpartition(".")[2] or signal.name) if leaf.width == 1 else None
            if flag and flag not in ports and flag not in own:
                own[flag] = leaf
        if len(signal.leaves) > 1 and len(own) > 1:
            others = _others(draft, signal, own)
            pieces = {name: toml_bits(leaf.lsb, leaf.width) for name, leaf in (others | own).items()}
            draft.use("outputs", signal, _pieces(pieces, signal.width), _members(signal, others | own))
            ports |= dict.fromkeys(own, signal.name)
        elif len(signal.leaves) == 1 and own:
            flag = find_first(own)
            draft.use("outputs", signal, toml_string(flag), "by its name", True)
            ports[flag] = signal.name
    if not ports and (vector := _vector(draft)):
        why = "invalid, divide by zero, overflow, underflow, inexact from bit 4 on, as in RISC-V's fflags"
        draft.use("outputs", vector, toml_string("flags"), why, True)
    elif not ports and not _of_blocks(draft):
        draft.add("", 'ignore = ["flags"]', "no output has the name of a flag", True)
    elif missing := [name for name in FLAG_NAMES if ports and name not in ports]:
        draft.add(
            "", f"ignore = [{', '.join(map(toml_string, missing))}]", "no output has the name of these flags", True
        )


def _of_blocks(draft: Draft) -> bool:
    """Whether the module converts blocks to or from values, which raises no flags: it has one scale."""
    scales = [s for s in draft.design.signals if names.is_scale(s.name) and s.plain and not s.array]
    return len(scales) == 1 and _position(scales[0].name) is None


def _flag(name: str) -> str | None:
    return next(iter(names.meanings(["_".join(names.core(name))], names.FLAGS).values()), None)


def _vector(draft: Draft) -> Signal | None:
    """An output with all flags."""
    vectors = draft.ports(
        "output", lambda s: s.width == _FLAGS_WIDTH and bool(set(names.core(s.name)) & names.FLAG_WORD)
    )
    return vectors[0] if vectors else None


def _others(draft: Draft, signal: Signal, own: Mapping[str, Leaf]) -> dict[str, Leaf]:
    """The result beside the flags of a structure."""
    data = [leaf for leaf in signal.leaves if leaf not in own.values() and leaf.width > 1]
    named = [leaf for leaf in data if set(names.core(leaf.path)) & set(names.RESULT)]
    return {"result": named[0]} if named else {}


def _members(signal: Signal, members: Mapping[str, Leaf]) -> str:
    return f"members of {signal.type}: {', '.join(leaf.path.lstrip('.') for leaf in members.values())}"


def _pieces(pieces: Mapping[str, str], width: int) -> str:
    """Fields and their bits as the value of a port."""
    top = max(int(text.strip('"').partition(":")[0]) for text in pieces.values()) if pieces else -1
    parts = [f"{name} = {text}" if name.isidentifier() else f'"{name}" = {text}' for name, text in pieces.items()]
    return "{ " + ", ".join([*parts, *([f"width = {width}"] if top + 1 < width else [])]) + " }"


# -- operands ------------------------------------------------------------------------------------------------------


def add_operands(draft: Draft) -> dict[str, str]:
    """Add the inputs that carry operands and random bits; the port of each field."""
    ports: dict[str, str] = {}
    for signal in draft.ports("input", _is_random):
        ports["r"] = signal.name
        _whole(draft, signal, "r", "random bits, by its name", True)
        break
    scales = draft.ports("input", lambda s: s.width > 1 and s.plain and names.is_scale(s.name))
    data = [s for s in draft.ports("input", _is_data) if s not in scales]
    quantizer = any(names.is_scale(s.name) for s in draft.ports("output"))
    structures = [s for s in data if not s.plain]
    for signal in structures:
        ports |= _members_of(draft, signal)
    data = [s for s in data if s not in structures] if not ports.keys() & set(LETTERS) else []
    single = "values" if quantizer else "elements" if _of_blocks(draft) else None
    if single and data:
        block = max(data, key=lambda s: s.width)
        same = names.is_named(block.name, single)
        why = "the widest input of a module with a scale"
        ports[single] = block.name
        _whole(draft, block, single, "" if same else why, not same)
    else:
        ports |= _lettered(draft, data)
    return ports | _scales(draft, scales)


def _scales(draft: Draft, scales: list[Signal]) -> dict[str, str]:
    """The scales of one side, or of both, as two ports or as an array."""
    elements = _elements(scales[0]) if scales and scales[0].array else []
    if len(scales) == 1 and len(elements) == 2:
        both = {"a_scale": elements[0], "b_scale": elements[1]}
        _pieces_of(draft, scales[0], both, f"elements of {scales[0].type}", True)
        return dict.fromkeys(both, scales[0].name)
    alone = len(scales) == 1 and _position(scales[0].name) is None
    fields = ["scale"] if alone else [f"{letter}_scale" for letter in _assigned([s.name for s in scales[:2]])]
    ports = dict(zip(fields, scales, strict=False))
    for name, signal in ports.items():
        same = names.is_named(signal.name, name)
        _whole(draft, signal, name, "" if same else "by its name", not same)
    return {name: signal.name for name, signal in ports.items()}


def _is_random(signal: Signal) -> bool:
    words = set(names.core(signal.name))
    return (signal.width > 1 and bool(words & names.RANDOM)) or ("rnd" in words and signal.width > _RANDOM_WIDTH)


def _is_data(signal: Signal) -> bool:
    words = names.core(signal.name)
    known = any(w in _NO_DATA for w in words)
    known = known or any(leaf.codes for leaf in signal.leaves if not leaf.path)
    return not known and (signal.width > 1 or (len(words) == 1 and words[0] in LETTERS))


def _whole(draft: Draft, signal: Signal, name: str, why: str, guess: bool) -> None:
    """A port that carries one field, or nothing where the vectors do not have it."""
    if draft.has(name):
        draft.use("inputs", signal, toml_string(name), why, guess)
    else:
        draft.use("inputs", signal, _held(signal, 0), f"the vectors have no {name}")


def _held(signal: Signal, value: int) -> str:
    return f"{{ value = {value}, width = {signal.width} }}" if signal.width > 1 else f"{{ value = {value} }}"


def _members_of(draft: Draft, signal: Signal) -> dict[str, str]:
    """The operands in a structure that carries nothing else."""
    data = [leaf for leaf in signal.leaves if leaf.width > 1 and not leaf.codes]
    if len(data) != len(signal.leaves):
        raise Error(
            f"port {signal.name} is a structure of more than operands ({signal.type}), which a port map cannot take "
            "apart: give --wrapper FILE"
        )
    letters = _assigned([leaf.path.lstrip(".") for leaf in reversed(data)])
    members = dict(zip(letters, reversed(data), strict=False))
    _pieces_of(draft, signal, members, f"members of {signal.type}", False)
    return dict.fromkeys(members, signal.name)


def _pieces_of(draft: Draft, signal: Signal, leaves: Mapping[str, Leaf], why: str, guess: bool) -> None:
    pieces = {name: toml_bits(leaf.lsb, leaf.width) for name, leaf in leaves.items() if draft.has(name)}
    draft.use("inputs", signal, _pieces(pieces, signal.width) if pieces else _held(signal, 0), why, guess)


def _lettered(draft: Draft, data: list[Signal]) -> dict[str, str]:
    """The operands a, b and c among the inputs of data."""
    packed = [s for s in data if s.array and 1 < len(_elements(s)) <= len(LETTERS)]
    if packed and (len(data) == 1 or set(names.core(packed[0].name)) & names.OPERANDS):
        elements = dict(zip(LETTERS, _elements(packed[0]), strict=False))
        _pieces_of(draft, packed[0], elements, f"elements of {packed[0].type}", False)
        return dict.fromkeys(elements, packed[0].name)
    if len(data) == 1 and (parts := _equal_parts(draft, data[0])):
        _pieces_of(draft, data[0], parts, f"{len(parts)} times the width of the result", True)
        return dict.fromkeys(parts, data[0].name)
    known = [s for s in data if _position(s.name) is not None]
    widths = {s.width for s in (*known, *draft.ports("output"))}
    chosen = [s for s in data if not known or s in known or s.width in widths]
    chosen = (chosen if len(chosen) <= len(LETTERS) else known or chosen)[: len(LETTERS)]
    letters = _assigned([s.name for s in chosen])
    for letter, signal in sorted(zip(letters, chosen, strict=True), key=lambda pair: pair[0]):
        same = names.core(signal.name) == [letter]
        _whole(draft, signal, letter, "" if same else "by its name" if signal in known else "by its place", not same)
    return {letter: signal.name for letter, signal in sorted(zip(letters, chosen, strict=True), key=lambda x: x[0])}


def _elements(signal: Signal) -> list[Leaf]:
    """The elements of an array, by index, each as one number."""
    parts: dict[str, list[Leaf]] = {}
    for leaf in signal.leaves:
        parts.setdefault(leaf.path.partition("]")[0], []).append(leaf)
    whole = [Leaf(path, min(x.lsb for x in part), sum(x.width for x in part)) for path, part in parts.items()]
    return sorted(whole, key=lambda leaf: int(leaf.path.strip("[.") or 0))


def _equal_parts(draft: Draft, signal: Signal) -> dict[str, Leaf]:
    """Two or three operands side by side in one port, each as wide as the widest output."""
    width = max((s.width for s in draft.ports("output")), default=0)
    count = signal.width // width if width > 1 and signal.width % width == 0 else 0
    if not 1 < count <= len(LETTERS) or not set(names.core(signal.name)) & names.OPERANDS:
        return {}
    return {LETTERS[i]: Leaf("", i * width, width) for i in range(count)}


def _position(name: str) -> tuple[bool, int] | None:
    """The place of an operand by its name, and whether it is exact (a, b, divisor), or only an order (x, y, 1, 2)."""
    for word in reversed(names.core(name)):
        if word in names.PLACES:
            return True, names.PLACES[word]
        if match := _LETTER_OR_NUMBER.fullmatch(word):
            base = re.sub(r"[a-cx-z]$|\d+$", "", word)
            if not base or base in names.OPERANDS | names.BEFORE_LETTER:
                return (match[1] in LETTERS, "abcxyz".index(match[1])) if match[1] else (False, int(match[2]))
    return None


def _assigned(port_names: list[str]) -> list[str]:
    """A letter for each name: the one that it says, or in the order of their places, or in their own order."""
    places = [_position(name) for name in port_names]
    known = [place for place in places if place is not None]
    if len(set(known)) == len(known) == len(port_names):
        if all(exact for exact, _ in known):
            return [LETTERS[place] for _, place in known]
        order = sorted(known, key=lambda place: place[1])
        return [LETTERS[order.index(place)] for place in known]
    return list(LETTERS[: len(port_names)])


# -- results -------------------------------------------------------------------------------------------------------


def add_results(draft: Draft, operands: Mapping[str, str]) -> None:
    """Add the outputs that carry results, and name those that are left out. Raises Error if there is none."""
    scales = draft.ports("output", lambda s: names.is_scale(s.name))
    if scales:
        same = names.is_named(scales[0].name, "scale")
        draft.use("outputs", scales[0], toml_string("scale"), "" if same else "by its name", not same)
    whole = "elements" if scales else "values" if "elements" in operands else "result"
    if not any("result" in line.text for line in draft.tables.get("outputs", [])):
        outputs = sorted(draft.ports("output"), key=_likely)
        if not outputs:
            raise Error(f"{draft.design.name} has no output that could carry a result")
        chosen = outputs[0]
        named = bool(set(names.words(chosen.name)) & set(names.RESULT))
        why = "by its name" if named else "the only output" if len(outputs) == 1 else "the widest output"
        exact = names.is_named(chosen.name, whole)
        draft.use("outputs", chosen, toml_string(whole), "" if exact else why, not exact)
    for signal in draft.ports("output"):
        draft.add("outputs", "", f"not compared: {signal.name}, {signal.width} bit{'s' if signal.width > 1 else ''}")
        draft.take(signal)


def _likely(signal: Signal) -> tuple[bool, int, int]:
    """How likely an output is the result: by its width, which is a format's or an array's, then by its name."""
    odd = signal.width not in _WIDTHS and not signal.array
    ranks = [names.RESULT.index(w) for w in names.words(signal.name) if w in names.RESULT]
    return odd, min(ranks, default=len(names.RESULT)), -signal.width
