"""A port map bound to vectors: which bits of a memory word go to which bits of the module's ports, and what is checked.

All inputs that carry data or control form one bundle, `stimulus`; all outputs form another, `got`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.names import matches
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.sources import Lfsr, parse_source
from softfloat_ref.rtl.bundle import FLAG_NAMES, Bundle, LineField, Wire, ones, piece_range
from softfloat_ref.rtl.constants import constant_operands
from softfloat_ref.rtl.handshake import PARTNERS, HandshakeSignal
from softfloat_ref.rtl.port_map import ControlPort, DataPort, PortMap

Controls = Mapping[str, str]


@dataclass(frozen=True)
class BoundPart:
    """Vectors of one kind: its key in the control fields of a word, its control bits, the result bits it has, and the
    channels of the operands that it takes, as ones."""

    key: int
    label: str
    control: int
    care: tuple[int, ...]
    channels: int


@dataclass(frozen=True)
class Connection:
    """A port of the module, the signal of the bench that it is connected to, and whether the signal drives the port."""

    port: str
    signal: str
    width: int
    drives: bool


@dataclass(frozen=True)
class Bound:
    """The data from which the text of the bench is generated."""

    file: str
    count: int
    fields: tuple[LineField, ...]
    stimulus: Bundle
    got: Bundle
    parts: tuple[BoundPart, ...] = ()

    @property
    def word_width(self) -> int:
        """Bits of a memory word."""
        return sum(f.stride * f.lanes for f in self.fields)

    @property
    def key_lsb(self) -> int:
        """The lowest bit of the control fields."""
        return min((f.lsb for f in self.fields if f.role == "control"), default=0)


def bind(manifest: Mapping[str, Any], controls: Sequence[Controls], ports: PortMap) -> Bound:
    """Bind a port map to the vectors of a manifest, whose parts have these properties (op, fmt, out, rounding, ...).

    Raises Error if a port carries a field that the vectors do not have, if no port carries a field, and if the codes of
    a control port miss a mode of the vectors or are the same for two modes.
    """
    fields = tuple(line_fields(manifest))
    if manifest["count"] < 1:
        raise Error("the manifest lists no vectors; a bench needs at least one")
    if ports.lanes > 1 and len(controls) > 1:
        raise Error(f"lanes = {ports.lanes}: the lanes of an operation share its controls; use a set of one operation")
    _check_fields(ports, fields)
    _check_ignored(ports, fields)
    _check_carried(ports, fields)
    shake = ports.handshake
    stimulus = Bundle(fields, ("operand", "random"), ports.lanes, ports.inputs, shake.bits(drives=True))
    got = Bundle(fields, ("result", "flags"), ports.lanes, ports.outputs, shake.bits(drives=False))
    _check_valids(ports, fields, stimulus)
    bound = Bound(_words_file(manifest), int(manifest["count"]), fields, stimulus, got)
    return replace(bound, parts=tuple(_parts(ports, bound, controls, _channels(manifest, ports))))


def connections(bound: Bound, ports: PortMap) -> tuple[Connection, ...]:
    """The connections of the bench to the module."""
    tag, sticky = ports.tag, ports.sticky
    wires = [Connection(w.port, _driver(w, ports), w.width, True) for w in bound.stimulus.wires]
    wires += [Connection(w.port, f"got[{w.lsb + w.width - 1}:{w.lsb}]", w.width, False) for w in bound.got.wires]
    wires += [Connection(s.port, signal_text(s, ports), 1, s.drives) for s in ports.handshake.signals if s.whole]
    wires += [Connection(ports.clock, "clk", 1, True)] if ports.clock else []
    wires += [Connection(ports.reset.port, "reset", 1, True)] if ports.reset else []
    if ports.enable:
        wires += [Connection(ports.enable.port, "enable" if ports.enable.active == "high" else "~enable", 1, True)]
    if tag:
        wires += [Connection(tag.into, "tag_in", tag.width, True), Connection(tag.out, "tag_out", tag.width, False)]
    wires += [Connection(sticky.clear, "clear", 1, True)] if sticky and sticky.clear else []
    return tuple(wires)


def flag_mask(ports: PortMap) -> int:
    """The flags that the module has, as a set of vectors has them: those that are not ignored."""
    ignored = FLAG_NAMES if "flags" in ports.ignore else ports.ignore
    return sum(1 << bit for name, bit in FLAG_NAMES.items() if name not in ignored)


def signal_name(signal: HandshakeSignal, ports: PortMap) -> str:
    """The signal of the bench for a signal of the handshake."""
    if signal.key not in ("in_valid", "in_ready") or ports.handshake.channels == 1:
        return signal.key
    joint = signal.key == "in_ready" and ports.handshake.joint
    return "joint_ready" if joint else f"{signal.key}[{signal.number}]"


def signal_text(signal: HandshakeSignal, ports: PortMap) -> str:
    """What the port of a signal is connected to: an expression if the bench drives it, else a net."""
    name = signal_name(signal, ports)
    if not signal.drives:
        return name if signal.active == "high" else f"{signal.key}_{signal.number}_low"
    if signal.waits:
        partner = HandshakeSignal(PARTNERS[signal.key], "", number=signal.number)
        name += f" & {signal_name(partner, ports) if not ports.handshake.joint else 'joint_ready'}"
    return name if signal.active == "high" else f"~({name})"


def _driver(wire: Wire, ports: PortMap) -> str:
    """What drives an input: bits of the stimulus, and between them signals of the handshake, or without an operation
    the code that says so; in its enumeration."""
    parts, high = [], wire.width - 1
    for bit in sorted(wire.signals, reverse=True):
        parts += [_stimulus(wire, high, bit + 1)] if high > bit else []
        parts += [signal_text(wire.signals[bit], ports)]
        high = bit - 1
    parts += [_stimulus(wire, high, 0)] if high >= 0 else []
    whole = parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"
    coded = ports.handshake.coded
    if coded is not None and coded.port == wire.port:
        whole = f"({signal_text(coded, ports)}) != 0 ? {whole} : {wire.width}'h{coded.idle:x}"
    return f"`SFR_CAST({wire.type}, {whole})" if wire.type else whole


def _stimulus(wire: Wire, high: int, low: int) -> str:
    return f"stimulus[{wire.lsb + high}:{wire.lsb + low}]"


def _words_file(manifest: Mapping[str, Any]) -> str:
    names = [str(f.get("name")) for f in manifest["files"] if isinstance(f, Mapping)]
    memory_files = [n for n in names if n.endswith(".memh")]
    if not memory_files:
        raise Error("manifest: it lists no .memh file")
    return memory_files[0]


def line_fields(manifest: Mapping[str, Any]) -> Iterator[LineField]:
    """The fields of a memory word. Raises Error for a manifest that does not describe them."""
    for f in manifest["fields"]:
        try:
            width, lanes, lsb, stride = (int(f[k]) for k in ("width", "lanes", "lsb", "stride"))
            yield LineField(str(f["name"]), str(f["role"]), width, lanes, lsb, stride, tuple(f.get("codes", ())))
        except (KeyError, TypeError, ValueError):
            raise Error(f"manifest: {f!r} does not describe a field") from None


def _check_fields(ports: PortMap, fields: Sequence[LineField]) -> None:
    names = [f.name for f in fields]
    flags = list(FLAG_NAMES) if "flags" in names else []
    known = ", ".join(names) + (f" (single ones: {', '.join(flags)})" if flags else "")
    for port in (*ports.inputs, *ports.outputs):
        for piece in port.pieces if isinstance(port, DataPort) else ():
            if piece.field not in (*names, *flags):
                raise Error(
                    f"port {port.name}: these vectors have no field {piece.field!r}; they have {known}; "
                    "`vectors ports --vectors DIR` drafts a port map for the vectors in DIR"
                )


def _check_ignored(ports: PortMap, fields: Sequence[LineField]) -> None:
    names = {f.name for f in fields} | set(FLAG_NAMES)
    for name in ports.ignore:
        if name not in names:
            raise unknown("field to ignore", name, names)


def check_ignored_operands(manifest: Mapping[str, Any], ports: PortMap) -> None:
    """Raise Error for an operand that a port map ignores, though it differs among the vectors and the circuit does not
    hold it itself, or random words that it does not make itself."""
    roles = {f.name: f.role for f in line_fields(manifest) if f.role in ("operand", "random")}
    if ignored := roles.keys() & set(ports.ignore):
        vectors = VectorSet.from_dict(manifest["set"])
        for name in sorted(ignored - constant_operands(vectors).keys() - vectors.unit.held):
            if roles[name] == "operand" or not _has_register(vectors):
                raise Error(
                    f"ignore = [{name!r}]: these vectors have many values of {name}; {_without(name, roles[name])}"
                )


def _has_register(vectors: VectorSet) -> bool:
    """Whether the random words are those of shift registers, which a circuit can have."""
    return all(isinstance(parse_source(text), Lfsr) for text in vectors.sources if text) and any(vectors.sources)


def _without(name: str, role: str = "operand") -> str:
    """What to do for a module without an operand, or random words."""
    own = "for those of a register in the module, --random-source lfsr:...; " if role == "random" else ""
    return f"{own}if the module takes it as 0, generate vectors with --where '{name} = 0x0'"


def _check_valids(ports: PortMap, fields: Sequence[LineField], stimulus: Bundle) -> None:
    """With valids for operands, each operand has one."""
    groups = ports.handshake.operands
    carried = [f.name for f in fields if f.role in ("operand", "random") and stimulus.carriers(f.name)]
    grouped = [name for group in groups for name in group]
    for name in grouped:
        if name not in carried:
            raise unknown("operand", name, carried, " (in_valid)")
    for name in carried if groups else ():
        if name not in grouped:
            raise Error(f"in_valid: no valid for operand {name}; one for two operands: {{ 'a b' = PORT }}")


def _check_carried(ports: PortMap, fields: Sequence[LineField]) -> None:
    """Check that a port carries every bit of every field, or that the user ignores it."""
    known = {f.name: f for f in fields}
    carried: dict[str, int] = {f.name: 0 for f in fields}
    for port in (*ports.inputs, *ports.outputs):
        for piece in port.pieces if isinstance(port, DataPort) else ():
            name, first, size = piece_range(piece, known)
            if carried[name] >> first & ones(size) and known[name].role in ("result", "flags"):
                raise Error(f"port {port.name}: {piece.text} is already carried by another port")
            carried[name] |= ones(size) << first
    for flag, bit in FLAG_NAMES.items():
        carried["flags"] = carried.get("flags", 0) | (flag in ports.ignore) << bit
    for f in fields:
        if f.role in ("control", "intermediate") or f.name in ports.ignore:
            continue
        if not carried[f.name]:
            if f.role == "operand":
                raise Error(f"no port carries {f.name}; {_without(f.name)}, and set ignore = [{f.name!r}]")
            raise Error(f"no port carries {f.name}; if the module does not have it, set ignore = [{f.name!r}]")
        if carried[f.name] != ones(f.size):
            missing = [i for i in range(f.size) if not carried[f.name] >> i & 1]
            raise Error(f"no port carries bit {missing[0]} of {f.name}; ignore accepts fields and names of flags")
    if not any(carried[f.name] for f in fields if f.role in ("result", "flags")):
        raise Error("every result is ignored, so the bench would compare nothing")


# -- controls ----------------------------------------------------------------------------------------------------------


def _channels(manifest: Mapping[str, Any], ports: PortMap) -> Iterable[int]:
    """For each part, the channels with an operand that it takes; all of them where one ready takes them together."""
    shake = ports.handshake
    if shake.channels == 1 or shake.joint:
        return repeat(ones(shake.channels))
    unit = VectorSet.from_dict(manifest["set"]).unit
    used = [unit.used(part) for part in unit.parts]
    return [sum(1 << i for i, names in enumerate(shake.operands) if own.intersection(names)) for own in used]


def _parts(ports: PortMap, bound: Bound, controls: Sequence[Controls], channels: Iterable[int]) -> Iterator[BoundPart]:
    seen: dict[int, str] = {}
    coded = ports.handshake.coded
    for properties, taken in zip(controls, channels, strict=False):
        shown = [v for k, v in properties.items() if k != "width" and v != "-"]
        label = " ".join(dict.fromkeys(shown))
        value = 0
        for port, wire in zip(ports.inputs, bound.stimulus.wires, strict=True):
            if isinstance(port, ControlPort):
                idle = coded.idle if coded is not None and coded.port == port.name else None
                value |= _code(port, properties, label, idle) << wire.lsb
        if value in seen and len(controls) > 1:
            raise Error(f"{seen[value]} and {label} drive the same codes; a control port must tell them apart")
        seen[value] = label
        yield BoundPart(_key(bound, properties), label, value, _care(bound.got, int(properties["width"])), taken)


def _code(port: ControlPort, properties: Controls, label: str, idle: int | None) -> int:
    for name in port.of:
        if name not in properties:
            raise unknown("property", name, properties, f" (port {port.name})")
    words = [properties[name] for name in port.of]
    for pattern, code in port.codes.items():
        if all(matches(w, p) for w, p in zip(words, pattern.split(), strict=True)):
            if code == idle:
                raise Error(f"port {port.name}: {label} has the code {code}, which means no operation (in_valid)")
            return code
    raise Error(
        f"port {port.name}: no code for {' '.join(port.of)} = {' '.join(words)}, which the vectors use ({label})"
    )


def _key(bound: Bound, properties: Controls) -> int:
    """The control fields of a word, as one number."""
    key = 0
    for f in bound.fields:
        if f.role == "control":
            key |= f.codes.index(properties[f.name]) << (f.lsb - bound.key_lsb)
    return key


def _care(got: Bundle, width: int) -> tuple[int, ...]:
    """The bits of `got` to compare, by lane; for ports with fill = "any", without the bits above the result's own."""
    care = list(got.care)
    for lsb, size, lane in got.free:
        care[lane] &= ~(ones(max(size - width, 0)) << (lsb + width))
    return tuple(care)
