"""The handshake of a port map: valids and readys, for all operands or for each, as ports or as bits of ports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.tables import Range, check

IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
ALL_OPERANDS: Final = ""  # the key of a valid for all operands
_PORT_BIT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_$]*)\s*(?:\[\s*(\d{1,5})\s*\])?")
_SIGNALS: Final = ("in_valid", "in_ready", "out_valid", "out_ready")
_DRIVEN: Final = ("in_valid", "out_ready")  # by a bench
_KEYS: Final = {
    "in_valid": str | Mapping,
    "in_ready": str | Mapping,
    "out_valid": str,
    "out_ready": str,
    "stalls": Annotated[int, Range(0, 95)],
    "seed": Annotated[int, Range(0, (1 << 31) - 1)],
}


@dataclass(frozen=True)
class HandshakeSignal:
    """A signal of the handshake: a port of one bit, or a bit of a wider port.

    key: its key in the port map; number: of the operands that it is for, in the order of the port map.
    """

    key: str
    port: str
    bit: int | None = None
    number: int = 0

    @property
    def drives(self) -> bool:
        """Whether the bench drives it."""
        return self.key in _DRIVEN


@dataclass(frozen=True)
class Handshake:
    """The signals of the handshake. stalls: in per cent of the cycles, chosen by a seed.

    operands: the fields of each group of operands with a valid of its own; () if one valid is for all.
    """

    signals: tuple[HandshakeSignal, ...] = ()
    operands: tuple[tuple[str, ...], ...] = ()
    stalls: int = 30
    seed: int = 1

    def __contains__(self, key: object) -> bool:
        return any(signal.key == key for signal in self.signals)

    @property
    def channels(self) -> int:
        """Number of valids for operands; 1 without any."""
        return len(self.operands) or 1

    @property
    def joint(self) -> bool:
        """Whether one ready answers several valids: it takes their operands together."""
        return self.channels > 1 and sum(signal.key == "in_ready" for signal in self.signals) == 1

    @property
    def ports(self) -> list[str]:
        """The ports of one bit that are signals."""
        return [signal.port for signal in self.signals if signal.bit is None]

    def bits(self, *, drives: bool) -> dict[str, dict[int, HandshakeSignal]]:
        """The bits of wider ports that are signals, by port, of those that the bench drives or reads."""
        ports: dict[str, dict[int, HandshakeSignal]] = {}
        for signal in self.signals:
            if signal.bit is not None and signal.drives == drives:
                ports.setdefault(signal.port, {})[signal.bit] = signal
        return ports


def parse_handshake(table: object, where: str) -> Handshake:
    """The handshake of a table. Raises Error."""
    values = check(table, where, _KEYS)
    groups = {key: dict(_groups(values[key], f"{where} {key}")) for key in _SIGNALS if key in values}
    valids, readys = groups.get("in_valid", {}), groups.get("in_ready", {})
    if set(readys) - {ALL_OPERANDS} and set(readys) != set(valids):
        raise Error(f"{where}: in_ready and in_valid need the same operands, or in_ready = PORT for all")
    order = {group: number for number, group in enumerate(valids)}
    signals = tuple(
        HandshakeSignal(key, port, bit, order.get(group, 0))
        for key, ports in groups.items()
        for group, (port, bit) in ports.items()
    )
    _check_bits(signals, where)
    operands = tuple(tuple(group.split()) for group in valids if group != ALL_OPERANDS)
    return Handshake(signals, operands, **{k: v for k, v in values.items() if k not in _SIGNALS})


def _groups(value: str | Mapping[str, Any], where: str) -> Iterator[tuple[str, tuple[str, int | None]]]:
    """Each group of operands (ALL_OPERANDS for one port) and its port and bit."""
    if isinstance(value, str):
        yield ALL_OPERANDS, _port_bit(value, where)
        return
    if not value:
        raise Error(f"{where}: the table is empty; name operands and their ports, such as {{ a = 'a_valid' }}")
    seen: set[str] = set()
    for group, text in value.items():
        fields = group.split()
        if not fields or seen & {*fields} or len({*fields}) < len(fields):
            raise Error(f"{where}: {group!r} names no operand, or one that was named before")
        seen |= {*fields}
        yield group, _port_bit(text, f"{where} {group}")


def _port_bit(text: object, where: str) -> tuple[str, int | None]:
    match = _PORT_BIT.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise Error(f"{where}: {text!r} is not the name of a port, or a bit of one; examples: 'valid_i', 'ctrl_i[3]'")
    return match[1], None if match[2] is None else int(match[2])


def _check_bits(signals: tuple[HandshakeSignal, ...], where: str) -> None:
    """Each bit has one use, and a port is not both a signal and wider."""
    seen: set[tuple[str, int | None]] = set()
    for signal in signals:
        place = (signal.port, signal.bit)
        if place in seen or (signal.port, None) in seen or (signal.bit is None and signal.port in {p for p, _ in seen}):
            bit = "" if signal.bit is None else f"[{signal.bit}]"
            raise Error(f"{where}: port {signal.port + bit!r} has two uses")
        seen.add(place)
