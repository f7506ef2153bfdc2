"""The ports of one direction side by side, and the bits of memory words that they carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.rtl.handshake import HandshakeSignal
from softfloat_ref.rtl.port_map import ConstantPort, ControlPort, DataPort, PortPiece

# The bits of the field `flags` by name.
FLAG_NAMES: Final = {name.lower(): flag.bit_length() - 1 for name, flag in Flags.__members__.items()}

ALL_FLAGS: Final = sum(1 << bit for bit in FLAG_NAMES.values())


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

    def lane(self, number: int) -> int:
        """The lowest bit of a lane in a memory word."""
        return self.lsb + number * self.stride


@dataclass(frozen=True)
class Wire:
    """A port and its position in its bundle. signals: its bits that are signals of the handshake; type: the enumeration
    that it is of."""

    port: str
    lsb: int
    width: int
    signals: Mapping[int, HandshakeSignal] = field(default_factory=dict)
    type: str = ""

    @property
    def signal_bits(self) -> int:
        """The bits that are signals, as ones."""
        return sum(1 << bit for bit in self.signals)


@dataclass(frozen=True)
class BitMove:
    """Bits of a memory word that go to bits of a bundle; lane: the index of the vector in the operation."""

    to: int
    source: int
    width: int
    lane: int
    merge: bool


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
        signals: Mapping[str, Mapping[int, HandshakeSignal]],
    ) -> None:
        self.fields = {f.name: f for f in fields}
        self.roles = roles
        self.lanes = lanes
        self.wires: list[Wire] = []
        self.moves: list[BitMove] = []
        self.constant = self.flags = self.signals = self.width = 0
        self.care = [0] * lanes
        self.free: list[tuple[int, int, int]] = []  # lsb, width, lane of results whose upper bits may be anything
        for port in ports:
            self._add(port, signals.get(port.name, {}))

    def _add(self, port: DataPort | ControlPort | ConstantPort, signals: Mapping[int, HandshakeSignal]) -> None:
        width = port.width
        if isinstance(port, ConstantPort):
            self.constant |= port.value << self.width
        elif isinstance(port, DataPort):
            width = self._add_data(port)
            width = width if port.width or not signals else max(width, max(signals) + 1)
        assert width is not None
        wire = Wire(port.name, self.width, width, signals, "" if isinstance(port, DataPort) else port.type)
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

    def _bits(self, piece: PortPiece) -> tuple[int, int]:
        return piece.bits or (piece_range(piece, self.fields)[2] - 1, 0)

    def _add_piece(self, port: DataPort, piece: PortPiece, lane: int, base: int) -> None:
        name, first, size = piece_range(piece, self.fields)
        if (role := self.fields[name].role) not in self.roles:
            raise Error(f"port {port.name}: {piece.text} has role {role}, not {' or '.join(self.roles)}")
        high, low = self._bits(piece)
        if high - low + 1 < size:
            raise Error(f"port {port.name}: {piece.text} has {size} bits, but [{high}:{low}] are {high - low + 1}")
        to = base + low
        self.moves += [
            BitMove(to + at, source, n, lane, port.merge and lane > 0)
            for at, source, n in _runs(self.fields[name], first, size)
        ]
        beyond = ones(high - low + 1 - size) << (to + size)
        self.constant |= beyond if port.fill == "ones" else 0
        self.care[0 if port.merge else lane] |= ones(size) << to | (0 if port.fill == "any" else beyond)
        if self.fields[name].role == "flags":
            self.flags |= ones(size) << to
        elif port.fill == "any" and self.fields[name].role == "result" and first == 0:
            self.free.append((to, size, lane))


def piece_range(piece: PortPiece, fields: Mapping[str, LineField]) -> tuple[str, int, int]:
    """The field of a piece, its lowest bit there (lanes side by side), and its width. Raises Error."""
    if piece.field in FLAG_NAMES and "flags" in fields:
        return "flags", FLAG_NAMES[piece.field], 1
    line_field = fields[piece.field]
    if piece.index is None:
        return line_field.name, 0, line_field.size
    high, low = piece.index
    unit = line_field.width if line_field.lanes > 1 else 1
    if (high + 1) * unit > line_field.size:
        raise Error(f"{piece.text}: {line_field.name} has {line_field.lanes} lanes of {line_field.width} bits")
    return line_field.name, low * unit, (high - low + 1) * unit


def _runs(field: LineField, first: int, size: int) -> Iterator[tuple[int, int, int]]:
    """(bit of the piece, bit of the word, width) of each lane or part of a lane."""
    at = 0
    while at < size:
        lane, bit = divmod(first + at, field.width)
        n = min(field.width - bit, size - at)
        yield at, field.lane(lane) + bit, n
        at += n


def ones(width: int) -> int:
    """A number of that many ones."""
    return (1 << width) - 1
