"""Operands, results and flags of a draft: which port carries which field of the vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.search import find_first
from softfloat_ref.base.tables import toml_string
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.rtl.bundle import FLAG_NAMES
from softfloat_ref.rtl.draft import matching, names
from softfloat_ref.rtl.draft.design import Leaf, Signal, WrapperError
from softfloat_ref.rtl.draft.lines import Draft, toml_bits
from softfloat_ref.rtl.draft.slots import Bits, elements, lines, numbers, pieces_value, structured_number
from softfloat_ref.rtl.draft.unpacked import is_whole, unpacked_parts, without_whole

_NO_DATA: Final = {*names.INACTIVE, *names.MASK, *names.ENABLE, *names.VALID, *names.READY}
_WIDTHS: Final = (4, 6, 8, 16, 19, 32, 64, 128)  # of formats
_FLAGS_WIDTH: Final = 5
_FORMATS: Final = tuple(get_format(name) for name in dict.fromkeys(names.FORMATS.values()))
_RANDOM_WIDTH: Final = 4  # a `rnd` of more bits carries random bits, not a rounding mode


# -- flags ---------------------------------------------------------------------------------------------------------


def add_flags(draft: Draft) -> None:
    """Add the ports of the flags, by their names, and what the module does not have."""
    if not draft.has("flags") or "flags" in draft.carried:
        return
    ports: dict[str, str] = dict.fromkeys(draft.carried & FLAG_NAMES.keys(), "")
    op = draft.target.op if draft.target else ""
    outputs = draft.ports("output")
    flags = names.flags(_leaf_name(s, leaf) for s in outputs for leaf in s.leaves if leaf.width == 1)
    for signal in sorted(outputs, key=lambda s: not names.says_operation(s.name, op)):
        own = {}
        for leaf in signal.leaves:
            flag = flags.get(_leaf_name(signal, leaf)) if leaf.width == 1 else None
            if flag and flag not in ports and flag not in own:
                own[flag] = leaf
        if len(signal.leaves) > 1 and len(own) > 1:
            others = _others(draft, signal, own)
            pieces = {name: toml_bits(leaf.lsb, leaf.width) for name, leaf in (others | own).items()}
            draft.use("outputs", signal, pieces_value(pieces, signal.width), _members(signal, others | own))
            ports |= dict.fromkeys(own, signal.name)
        elif len(signal.leaves) == 1 and own:
            flag, why = find_first(own), "by its name"
            if flag == "overflow" and "invalid" not in ports and _is_invalid_out_of_range(draft):
                flag, why = "invalid", "a number out of the range of integers is invalid, and no overflow"
            draft.use("outputs", signal, toml_string(flag), why, True)
            ports[flag] = signal.name
    if not ports and (vector := _vector(draft)):
        why = "invalid, divide by zero, overflow, underflow, inexact from bit 4 on, as in RISC-V's fflags"
        draft.use("outputs", vector, toml_string("flags"), why, True)
    elif not ports and not _of_blocks(draft):
        draft.ignored.setdefault("flags", "no output has the name of a flag")
    elif missing := [name for name in FLAG_NAMES if ports and name not in ports]:
        draft.ignored |= dict.fromkeys(missing, "no output has the name of these flags")


def _is_invalid_out_of_range(draft: Draft) -> bool:
    """Whether the vectors are of conversions to integers, which never overflow, and no output is named invalid."""
    unit = draft.target.unit if draft.target else None
    to_integers = (
        unit is not None and unit.kind == "operation" and all(f.fmt and f.fmt.is_integer for f in unit.results)
    )
    outputs = (s.name for s in draft.design.signals if s.direction == "output")
    return to_integers and "invalid" not in names.flags(outputs).values()


def _of_blocks(draft: Draft) -> bool:
    """Whether the module converts blocks to or from values, which raises no flags: it has one scale."""
    scales = [s for s in draft.design.signals if names.is_scale(s.name) and s.plain and not s.array]
    return len(scales) == 1 and names.position(scales[0].name) is None


def _leaf_name(signal: Signal, leaf: Leaf) -> str:
    return leaf.path.rpartition(".")[2] or signal.name


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
    if draft.target is not None:
        result = draft.target.fields.get("result")
        named = [leaf for leaf in named if result is not None and leaf.width == result.size]
    draft.carried |= {"result"} if named else set()
    return {"result": named[0]} if named else {}


def _members(signal: Signal, members: Mapping[str, Leaf]) -> str:
    return f"members of {signal.type}: {', '.join(leaf.path.lstrip('.') for leaf in members.values())}"


# -- operands ------------------------------------------------------------------------------------------------------


def add_operands(draft: Draft) -> dict[str, str]:
    """Add the inputs that carry operands and random bits; the port of each field."""
    if draft.target is not None:
        return matching.add_inputs(draft, draft.target, _is_data)
    ports: dict[str, str] = _numbers(draft, "input", names.LETTERS)
    for signal in draft.ports("input", _is_random):
        ports["r"] = signal.name
        _whole(draft, signal, "r", "random bits, by its name", True)
        break
    scales = draft.ports("input", lambda s: s.width > 1 and s.plain and names.is_scale(s.name))
    data = [s for s in draft.ports("input", _is_data) if s not in scales]
    quantizer = any(names.is_scale(s.name) for s in draft.ports("output"))
    data = [s for s in data if not set(ports) & set(names.LETTERS)]
    structures = [s for s in data if not s.plain and not structured_number(s, _FORMATS)]
    for signal in structures:
        ports |= _members_of(draft, signal)
    data = [s for s in data if s not in structures] if not ports.keys() & set(names.LETTERS) else []
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


def _numbers(draft: Draft, direction: str, fields: str | Sequence[str]) -> dict[str, str]:
    """Add the numbers whose sign, exponent and mantissa have ports of their own; the first port of each."""
    parts = [Bits(s, 0, s.width, s.name) for s in draft.ports(direction) if s.plain and not s.array]
    split = numbers(parts, _FORMATS)[: len(fields)]
    letters = names.letters([slot.name for slot in split]) if direction == "input" else fields
    chosen = dict(sorted(zip(letters, split, strict=False), key=lambda x: x[0]))
    signals = {s.name: s for slot in split for s in slot.signals}
    for port, value in lines(chosen).items():
        draft.use(f"{direction}s", signals[port], value, "sign, exponent and mantissa, by name and width", True)
    return {field: slot.signals[0].name for field, slot in chosen.items()}


def _scales(draft: Draft, scales: list[Signal]) -> dict[str, str]:
    """The scales of one side, or of both, as two ports or as an array."""
    pair = elements(scales[0]) if scales and scales[0].array else []
    if len(scales) == 1 and len(pair) == 2:
        both = {"a_scale": pair[0], "b_scale": pair[1]}
        _pieces_of(draft, scales[0], both, f"elements of {scales[0].type}", True)
        return dict.fromkeys(both, scales[0].name)
    alone = len(scales) == 1 and names.position(scales[0].name) is None
    fields = ["scale"] if alone else [f"{letter}_scale" for letter in names.letters([s.name for s in scales[:2]])]
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
    return not known and (signal.width > 1 or (len(words) == 1 and words[0] in names.LETTERS))


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
        raise WrapperError(
            f"port {signal.name} is a structure of more than operands ({signal.type}), which a port map cannot take "
            "apart: give --wrapper FILE"
        )
    letters = names.letters([leaf.path.lstrip(".") for leaf in reversed(data)])
    members = dict(zip(letters, reversed(data), strict=False))
    _pieces_of(draft, signal, members, f"members of {signal.type}", False)
    return dict.fromkeys(members, signal.name)


def _pieces_of(draft: Draft, signal: Signal, leaves: Mapping[str, Leaf], why: str, guess: bool) -> None:
    pieces = {name: toml_bits(leaf.lsb, leaf.width) for name, leaf in leaves.items() if draft.has(name)}
    draft.use("inputs", signal, pieces_value(pieces, signal.width) if pieces else _held(signal, 0), why, guess)


def _lettered(draft: Draft, data: list[Signal]) -> dict[str, str]:
    """The operands a, b and c among the inputs of data."""
    packed = [s for s in data if s.array and 1 < len(elements(s)) <= len(names.LETTERS)]
    if packed and (len(data) == 1 or set(names.core(packed[0].name)) & names.OPERANDS):
        each = dict(zip(names.LETTERS, elements(packed[0]), strict=False))
        _pieces_of(draft, packed[0], each, f"elements of {packed[0].type}", False)
        return dict.fromkeys(each, packed[0].name)
    if len(data) == 1 and (parts := _equal_parts(draft, data[0])):
        _pieces_of(draft, data[0], parts, f"{len(parts)} times the width of the result", True)
        return dict.fromkeys(parts, data[0].name)
    known = [s for s in data if names.position(s.name) is not None]
    widths = {s.width for s in (*known, *draft.ports("output"))}
    chosen = [s for s in data if not known or s in known or s.width in widths]
    chosen = (chosen if len(chosen) <= len(names.LETTERS) else known or chosen)[: len(names.LETTERS)]
    letters = names.letters([s.name for s in chosen])
    for letter, signal in sorted(zip(letters, chosen, strict=True), key=lambda pair: pair[0]):
        same = names.core(signal.name) == [letter]
        _whole(draft, signal, letter, "" if same else "by its name" if signal in known else "by its place", not same)
    return {letter: signal.name for letter, signal in sorted(zip(letters, chosen, strict=True), key=lambda x: x[0])}


def _equal_parts(draft: Draft, signal: Signal) -> dict[str, Leaf]:
    """Two or three operands side by side in one port, each as wide as the widest output."""
    width = max((s.width for s in draft.ports("output")), default=0)
    count = signal.width // width if width > 1 and signal.width % width == 0 else 0
    if not 1 < count <= len(names.LETTERS) or not set(names.core(signal.name)) & names.OPERANDS:
        return {}
    return {names.LETTERS[i]: Leaf("", i * width, width) for i in range(count)}


# -- results -------------------------------------------------------------------------------------------------------


def add_results(draft: Draft, operands: Mapping[str, str]) -> None:
    """Add the outputs that carry results, and name those that are left out. Raises Error if there is none."""
    if draft.target is not None:
        matching.add_outputs(draft, draft.target)
    else:
        _results_by_name(draft, operands)
    for signal in draft.ports("output"):
        draft.not_compared.append(f"{signal.name} ({counted(signal.width, 'bit')})")
        draft.add("outputs", "", f"not compared: {draft.not_compared[-1]}")
        draft.take(signal)


def _results_by_name(draft: Draft, operands: Mapping[str, str]) -> None:
    scales = draft.ports("output", lambda s: names.is_scale(s.name))
    if scales:
        same = names.is_named(scales[0].name, "scale")
        draft.use("outputs", scales[0], toml_string("scale"), "" if same else "by its name", not same)
    whole = "elements" if scales else "values" if "elements" in operands else "result"
    outputs, parts = draft.ports("output"), unpacked_parts(draft.ports("output"))
    is_split = whole == "result" and not any(is_whole(s) and s.width in _WIDTHS for s in outputs)
    if "result" not in draft.carried and not (is_split and _numbers(draft, "output", ["result"])):
        outputs = sorted((s for s in outputs if s not in parts), key=_likely)
        if not outputs and parts:
            raise Error(without_whole(parts, whole, draft.design.name))
        if not outputs:
            raise Error(f"{draft.design.name} has no output that could carry a result")
        chosen = outputs[0]
        named = bool(set(names.words(chosen.name)) & set(names.RESULT))
        why = "by its name" if named else "the only output" if len(outputs) == 1 else "the widest output"
        exact = names.is_named(chosen.name, whole)
        draft.use("outputs", chosen, toml_string(whole), "" if exact else why, not exact)


def _likely(signal: Signal) -> tuple[bool, int, int]:
    """How likely an output is the result: by its width, which is a format's or an array's, then by its name."""
    odd = signal.width not in _WIDTHS and not signal.array
    ranks = [names.RESULT.index(w) for w in names.words(signal.name) if w in names.RESULT]
    return odd, min(ranks, default=len(names.RESULT)), -signal.width
