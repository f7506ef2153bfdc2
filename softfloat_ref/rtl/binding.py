"""A port map bound to vectors: which bits of a memory word go to which bits of the module's ports, and what is checked.

All inputs that carry data or control form one bundle, `stimulus`; all outputs form another, `got`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.patterns import matches
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.rtl.handshake import Signal
from softfloat_ref.rtl.port_map import ConstantPort, ControlPort, DataPort, Piece, PortMap

# The bits of the field `flags` by name.
FLAG_NAMES: Final = {name.lower(): flag.bit_length() - 1 for name, flag in Flags.__members__.items()}

ALL_FLAGS: Final = sum(1 << bit for bit in FLAG_NAMES.values())

Controls = Mapping[str, str]


@dataclass(frozen=True)
class LineField:
    """A field of a memory word, as the manifest describes it."""

    name: str
    role: str
    width: int
    lanes: int
    lsb: int
    stride: int
    codes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bits, lanes side by side."""
        return self.width * self.lanes


@dataclass(frozen=True)
class Wire:
    """A port and its position in its bundle. signals: its bits that are signals of the handshake."""

    port: str
    lsb: int
    width: int
    signals: Mapping[int, Signal] = field(default_factory=dict)

    @property
    def signal_bits(self) -> int:
        """The bits that are signals, as ones."""
        return sum(1 << bit for bit in self.signals)


@dataclass(frozen=True)
class Move:
    """Bits of a memory word that go to bits of a bundle; lane: the index of the vector in the operation."""

    to: int
    source: int
    width: int
    lane: int
    merge: bool


@dataclass(frozen=True)
class Part:
    """Vectors of one kind: its key in the control fields of a word, its control bits, and the result bits it has."""

    key: int
    label: str
    control: int
    care: tuple[int, ...]


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
    parts: tuple[Part, ...] = ()

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
    fields = tuple(_fields(manifest))
    if manifest["count"] < 1:
        raise Error("the manifest lists no vectors; a bench needs at least one")
    if ports.lanes > 1 and len(controls) > 1:
        raise Error(f"lanes = {ports.lanes}: the lanes of an operation share its controls; use a set of one operation")
    _check_ignored(ports, fields)
    _check_carried(ports, fields)
    shake = ports.handshake
    stimulus = Bundle(fields, ("operand", "random"), ports.lanes, ports.inputs, shake.bits(drives=True))
    got = Bundle(fields, ("result", "flags"), ports.lanes, ports.outputs, shake.bits(drives=False))
    _check_valids(ports, fields, stimulus)
    bound = Bound(_words_file(manifest), int(manifest["count"]), fields, stimulus, got)
    return replace(bound, parts=tuple(_parts(ports, bound, controls)))


def connections(bound: Bound, ports: PortMap) -> tuple[Connection, ...]:
    """The connections of the bench to the module."""
    tag, sticky = ports.tag, ports.sticky
    found = [Connection(w.port, _driver(w, ports), w.width, True) for w in bound.stimulus.wires]
    found += [Connection(w.port, f"got[{w.lsb + w.width - 1}:{w.lsb}]", w.width, False) for w in bound.got.wires]
    found += [
        Connection(signal.port, signal_name(signal, ports), 1, signal.drives)
        for signal in ports.handshake.signals
        if signal.bit is None
    ]
    found += [Connection(ports.clock, "clk", 1, True)] if ports.clock else []
    found += [Connection(ports.reset.port, "reset", 1, True)] if ports.reset else []
    if tag:
        found += [Connection(tag.into, "tag_in", tag.width, True), Connection(tag.out, "tag_out", tag.width, False)]
    found += [Connection(sticky.clear, "clear", 1, True)] if sticky and sticky.clear else []
    return tuple(found)


def flag_mask(ports: PortMap) -> int:
    """The flags that the module has, as a set of vectors has them: those that are not ignored."""
    ignored = FLAG_NAMES if "flags" in ports.ignore else ports.ignore
    return sum(1 << bit for name, bit in FLAG_NAMES.items() if name not in ignored)


def signal_name(signal: Signal, ports: PortMap) -> str:
    """The signal of the bench for a signal of the handshake."""
    if signal.key not in ("in_valid", "in_ready") or ports.handshake.channels == 1:
        return signal.key
    joint = signal.key == "in_ready" and ports.handshake.joint
    return "joint_ready" if joint else f"{signal.key}[{signal.number}]"


def _driver(wire: Wire, ports: PortMap) -> str:
    """What drives an input: bits of the stimulus, and between them signals of the handshake."""
    parts, high = [], wire.width - 1
    for bit in sorted(wire.signals, reverse=True):
        parts += [_stimulus(wire, high, bit + 1)] if high > bit else []
        parts += [signal_name(wire.signals[bit], ports)]
        high = bit - 1
    parts += [_stimulus(wire, high, 0)] if high >= 0 else []
    return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"


def _stimulus(wire: Wire, high: int, low: int) -> str:
    return f"stimulus[{wire.lsb + high}:{wire.lsb + low}]"


def _words_file(manifest: Mapping[str, Any]) -> str:
    names = [str(f.get("name")) for f in manifest["files"] if isinstance(f, Mapping)]
    found = [n for n in names if n.endswith(".memh")]
    if not found:
        raise Error("manifest: it lists no .memh file")
    return found[0]


def _fields(manifest: Mapping[str, Any]) -> Iterator[LineField]:
    for f in manifest["fields"]:
        try:
            width, lanes, lsb, stride = (int(f[k]) for k in ("width", "lanes", "lsb", "stride"))
            yield LineField(str(f["name"]), str(f["role"]), width, lanes, lsb, stride, tuple(f.get("codes", ())))
        except (KeyError, TypeError, ValueError):
            raise Error(f"manifest: {f!r} does not describe a field") from None


class Bundle:
    """The ports of one direction side by side: their positions, and the bits of the words that they carry.

    constant: the bits that are always ones; flags: those that carry flags; care: those to compare, by lane; signals:
    those that are signals of the handshake.
    """

    def __init__(
        self,
        fields: Sequence[LineField],
        roles: tuple[str, ...],
        lanes: int,
        ports: Sequence[DataPort | ControlPort | ConstantPort],
        signals: Mapping[str, Mapping[int, Signal]],
    ) -> None:
        self.fields = {f.name: f for f in fields}
        self.roles = roles
        self.lanes = lanes
        self.wires: list[Wire] = []
        self.moves: list[Move] = []
        self.constant = self.flags = self.signals = self.width = 0
        self.care = [0] * lanes
        self.free: list[tuple[int, int, int]] = []  # lsb, width, lane of results whose upper bits may be anything
        for port in ports:
            self._add(port, signals.get(port.name, {}))

    def _add(self, port: DataPort | ControlPort | ConstantPort, signals: Mapping[int, Signal]) -> None:
        width = port.width
        if isinstance(port, ConstantPort):
            self.constant |= port.value << self.width
        elif isinstance(port, DataPort):
            width = self._add_data(port)
            width = width if port.width or not signals else max(width, max(signals) + 1)
        assert width is not None
        wire = Wire(port.name, self.width, width, signals)
        self._check_signals(port, wire)
        self.wires.append(wire)
        self.signals |= wire.signal_bits << wire.lsb
        self.width += width

    def _check_signals(self, port: DataPort | ControlPort | ConstantPort, wire: Wire) -> None:
        """The bits of a port that are signals must carry nothing else."""
        used = self.constant | self.carriers()
        for care in self.care:
            used |= care
        if isinstance(port, ControlPort):
            for code in port.codes.values():
                used |= code << wire.lsb
        for bit, signal in wire.signals.items():
            if bit >= wire.width:
                raise Error(
                    f"port {port.name}: {signal.key} is bit {bit}, but the port has {wire.width} bits; give width"
                )
            if used >> wire.lsb >> bit & 1:
                raise Error(f"port {port.name}: bit {bit} is {signal.key}, and carries something else too")

    def carriers(self, *names: str, lane: int | None = None) -> int:
        """The bits that carry these fields, or any, as ones; of one lane, or of all."""
        places = [(f.lsb, f.lsb + f.stride * f.lanes) for f in self.fields.values() if not names or f.name in names]
        moves = [
            m for m in self.moves if any(low <= m.source < high for low, high in places) and lane in (None, m.lane)
        ]
        return sum({1 << bit: 0 for m in moves for bit in range(m.to, m.to + m.width)})

    def _add_data(self, port: DataPort) -> int:
        """Add the pieces of a port; returns its width."""
        copies = 1 if port.merge else self.lanes
        extent = max((self._bits(piece)[0] for piece in port.pieces), default=-1) + 1
        stride = port.stride or ((port.width or extent * copies) // copies)
        width = port.width or (copies - 1) * stride + extent
        if stride < extent and copies > 1:
            raise Error(f"port {port.name}: lanes of {extent} bits, but stride {stride}")
        if (copies - 1) * stride + extent > width:
            raise Error(f"port {port.name}: {copies} lanes of {extent} bits do not fit into {width}")
        for lane in range(self.lanes):
            for piece in port.pieces:
                self._add_piece(port, piece, lane, self.width + (0 if port.merge else lane * stride))
        return width

    def _bits(self, piece: Piece) -> tuple[int, int]:
        return piece.bits or (piece_range(piece, self.fields)[2] - 1, 0)

    def _add_piece(self, port: DataPort, piece: Piece, lane: int, base: int) -> None:
        name, first, size = piece_range(piece, self.fields)
        if (role := self.fields[name].role) not in self.roles:
            raise Error(f"port {port.name}: {piece.text} has role {role}, not {' or '.join(self.roles)}")
        high, low = self._bits(piece)
        if high - low + 1 < size:
            raise Error(f"port {port.name}: {piece.text} has {size} bits, but [{high}:{low}] are {high - low + 1}")
        to = base + low
        self.moves += [
            Move(to + at, source, n, lane, port.merge and lane > 0)
            for at, source, n in _runs(self.fields[name], first, size)
        ]
        beyond = _ones(high - low + 1 - size) << (to + size)
        self.constant |= beyond if port.fill == "ones" else 0
        self.care[0 if port.merge else lane] |= _ones(size) << to | (0 if port.fill == "any" else beyond)
        if self.fields[name].role == "flags":
            self.flags |= _ones(size) << to
        elif port.fill == "any" and self.fields[name].role == "result" and first == 0:
            self.free.append((to, size, lane))


def piece_range(piece: Piece, fields: Mapping[str, LineField]) -> tuple[str, int, int]:
    """The field of a piece, its lowest bit there (lanes side by side), and its width. Raises Error."""
    if piece.field in FLAG_NAMES and "flags" in fields:
        return "flags", FLAG_NAMES[piece.field], 1
    if piece.field not in fields:
        raise unknown("field", piece.field, [*fields, *FLAG_NAMES])
    found = fields[piece.field]
    if piece.index is None:
        return found.name, 0, found.size
    high, low = piece.index
    unit = found.width if found.lanes > 1 else 1
    if (high + 1) * unit > found.size:
        raise Error(f"{piece.text}: {found.name} has {found.lanes} lanes of {found.width} bits")
    return found.name, low * unit, (high - low + 1) * unit


def _runs(field: LineField, first: int, size: int) -> Iterator[tuple[int, int, int]]:
    """(bit of the piece, bit of the word, width) of each lane or part of a lane."""
    at = 0
    while at < size:
        lane, bit = divmod(first + at, field.width)
        n = min(field.width - bit, size - at)
        yield at, field.lsb + lane * field.stride + bit, n
        at += n


def _ones(width: int) -> int:
    return (1 << width) - 1


def _check_ignored(ports: PortMap, fields: Sequence[LineField]) -> None:
    names = {f.name for f in fields} | set(FLAG_NAMES)
    for name in ports.ignore:
        if name not in names:
            raise unknown("field to ignore", name, names)


def _check_valids(ports: PortMap, fields: Sequence[LineField], stimulus: Bundle) -> None:
    """With valids for operands, each operand has one."""
    groups = ports.handshake.operands
    carried = [f.name for f in fields if f.role in ("operand", "random") and stimulus.carriers(f.name)]
    given = [name for group in groups for name in group]
    for name in given:
        if name not in carried:
            raise unknown("operand", name, carried, " (in_valid)")
    for name in carried if groups else ():
        if name not in given:
            raise Error(f"in_valid: no valid for operand {name}; one for two operands: {{ 'a b' = PORT }}")


def _check_carried(ports: PortMap, fields: Sequence[LineField]) -> None:
    """Check that a port carries every bit of every field, or that the user ignores it."""
    known = {f.name: f for f in fields}
    carried: dict[str, int] = {f.name: 0 for f in fields}
    for port in (*ports.inputs, *ports.outputs):
        for piece in port.pieces if isinstance(port, DataPort) else ():
            name, first, size = piece_range(piece, known)
            if carried[name] >> first & _ones(size) and known[name].role in ("result", "flags"):
                raise Error(f"port {port.name}: {piece.text} is already carried by another port")
            carried[name] |= _ones(size) << first
    for flag, bit in FLAG_NAMES.items():
        carried["flags"] = carried.get("flags", 0) | (flag in ports.ignore) << bit
    for f in fields:
        if f.role in ("control", "intermediate") or f.name in ports.ignore:
            continue
        if not carried[f.name]:
            raise Error(f"no port carries {f.name}; if the module does not have it, set ignore = [{f.name!r}]")
        if carried[f.name] != _ones(f.size):
            missing = [i for i in range(f.size) if not carried[f.name] >> i & 1]
            raise Error(f"no port carries bit {missing[0]} of {f.name}; ignore accepts fields and names of flags")
    if not any(carried[f.name] for f in fields if f.role in ("result", "flags")):
        raise Error("every result is ignored, so the bench would compare nothing")


# -- controls ------------------------------------------------------------------------------------------------------


def _parts(ports: PortMap, bound: Bound, controls: Sequence[Controls]) -> Iterator[Part]:
    seen: dict[int, str] = {}
    for properties in controls:
        shown = [v for k, v in properties.items() if k != "width" and v != "-"]
        label = " ".join(dict.fromkeys(shown))
        value = 0
        for port, wire in zip(ports.inputs, bound.stimulus.wires, strict=True):
            if isinstance(port, ControlPort):
                value |= _code(port, properties, label) << wire.lsb
        if value in seen and len(controls) > 1:
            raise Error(f"{seen[value]} and {label} drive the same codes; a control port must tell them apart")
        seen[value] = label
        yield Part(_key(bound, properties), label, value, _care(bound.got, int(properties["width"])))


def _code(port: ControlPort, properties: Controls, label: str) -> int:
    for name in port.of:
        if name not in properties:
            raise unknown("property", name, properties, f" (port {port.name})")
    words = [properties[name] for name in port.of]
    for pattern, code in port.codes.items():
        if all(matches(w, p) for w, p in zip(words, pattern.split(), strict=True)):
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
        care[lane] &= ~(_ones(max(size - width, 0)) << (lsb + width))
    return tuple(care)
