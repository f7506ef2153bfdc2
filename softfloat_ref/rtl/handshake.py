"""The handshake of a port map: valids and readys, for all operands or for each, as ports, as bits of ports, or as the
code of an operation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.tables import Range, check

IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
ALL_OPERANDS: Final = ""  # the key of a valid for all operands
_PORT_BIT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_$]*)\s*(?:\[\s*(\d{1,5})\s*\])?")
_SIGNALS: Final = ("in_valid", "in_ready", "out_valid", "out_ready")
_DRIVEN: Final = ("in_valid", "out_ready")  # by a bench
PARTNERS: Final = {"in_valid": "in_ready", "out_ready": "out_valid"}  # of a signal that may wait for another
_KEYS: Final = {
    **dict.fromkeys(_SIGNALS, str | Mapping),
    "stalls": Annotated[int, Range(0, 95)],
    "seed": Annotated[int, Range(0, (1 << 31) - 1)],
}
_SIGNAL_KEYS: Final = {
    "port": str,
    "active": str,
    "waits": bool,
    "idle": Annotated[int, Range(0, (1 << 63) - 1)],
    "code": Annotated[int, Range(0, (1 << 63) - 1)],
    "width": Annotated[int, Range(1, 63)],
}


@dataclass(frozen=True)
class HandshakeSignal:
    """A signal of the handshake: a port of one bit, a bit of a wider port, or a code.

    key: its key in the port map; number: of the operands that it is for, in the order of the port map. active: its
    level, high or low. waits: it is raised only while its partner is, a valid while ready, or a ready while valid.
    idle: the code of the port, a control port, that means no operation; code, width: that of a valid of results, and
    its bits, the lowest of the port; None if the signal is a bit.
    """

    key: str
    port: str
    bit: int | None = None
    number: int = 0
    active: str = "high"
    waits: bool = False
    idle: int | None = None
    code: int | None = None
    width: int | None = None

    @property
    def whole(self) -> bool:
        """Whether it is a port of its own."""
        return self.bit is None and self.idle is None and self.code is None

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
        return [signal.port for signal in self.signals if signal.whole]

    @property
    def coded(self) -> HandshakeSignal | None:
        """The valid that is a code of a control port."""
        return next((signal for signal in self.signals if signal.idle is not None), None)

    def bits(self, *, drives: bool) -> dict[str, dict[int, HandshakeSignal]]:
        """The bits of wider ports that are signals, by port, of those that the bench drives or reads."""
        ports: dict[str, dict[int, HandshakeSignal]] = {}
        for signal in self.signals:
            if signal.drives == drives:
                own = range(signal.width or 0) if signal.bit is None else [signal.bit]
                ports.setdefault(signal.port, {}).update(dict.fromkeys(own, signal))
        return {port: bits for port, bits in ports.items() if bits}


def parse_handshake(table: object, where: str) -> Handshake:
    """The handshake of a table. Raises Error."""
    values = check(table, where, _KEYS)
    groups = {key: dict(_groups(key, values[key], f"{where} {key}")) for key in _SIGNALS if key in values}
    valids, readys = groups.get("in_valid", {}), groups.get("in_ready", {})
    if set(readys) - {ALL_OPERANDS} and set(readys) != set(valids):
        raise Error(f"{where}: in_ready and in_valid need the same operands, or in_ready = PORT for all")
    order = {group: number for number, group in enumerate(valids)}
    signals = tuple(
        replace(signal, number=order.get(group, 0)) for ports in groups.values() for group, signal in ports.items()
    )
    for signal in signals:
        if signal.waits and PARTNERS[signal.key] not in groups:
            raise Error(f"{where} {signal.key}: waits needs {PARTNERS[signal.key]}")
    _check_bits(signals, where)
    operands = tuple(tuple(group.split()) for group in valids if group != ALL_OPERANDS)
    return Handshake(signals, operands, **{k: v for k, v in values.items() if k not in _SIGNALS})


def _groups(key: str, value: str | Mapping[str, Any], where: str) -> Iterator[tuple[str, HandshakeSignal]]:
    """Each group of operands (ALL_OPERANDS for one signal) and its signal."""
    if isinstance(value, str) or "port" in value:
        yield ALL_OPERANDS, _signal(key, value, where)
        return
    if key.startswith("out_"):
        raise Error(f"{where}: there is one for all results: a port, or {{ port = 'done_n', active = 'low' }}")
    if not value:
        raise Error(f"{where}: the table is empty; name operands and their ports, such as {{ a = 'a_valid' }}")
    seen: set[str] = set()
    for group, text in value.items():
        fields = group.split()
        if not fields or seen & {*fields} or len({*fields}) < len(fields):
            raise Error(f"{where}: {group!r} names no operand, or one that was named before")
        seen |= {*fields}
        signal = _signal(key, text, f"{where} {group}")
        if signal.idle is not None:
            raise Error(f"{where} {group}: a code says that there is no operation, so it is for all operands")
        yield group, signal


def _signal(key: str, value: object, where: str) -> HandshakeSignal:
    """The signal that a text or a table gives. Raises Error."""
    if not isinstance(value, Mapping):
        port, bit = _port_bit(value, where)
        return HandshakeSignal(key, port, bit)
    values = check(value, where, _SIGNAL_KEYS, ["port"])
    port, bit = _port_bit(values.pop("port"), where)
    signal = HandshakeSignal(key, port, bit, **values)
    if signal.active not in ("high", "low"):
        raise Error(f"{where}: active = {signal.active!r}; it must be high or low")
    if signal.waits and key not in PARTNERS:
        raise Error(f"{where}: waits is for {' and '.join(PARTNERS)}, which a bench drives")
    if signal.idle is not None and (key != "in_valid" or bit is not None or signal.active != "high"):
        raise Error(f"{where}: idle is a code of a whole port, and for in_valid only")
    if (signal.code is None) != (signal.width is None):
        raise Error(f"{where}: code and width go together: the code of a port that means a result, and its bits")
    if signal.code is not None and (key != "out_valid" or bit is not None or signal.active != "high"):
        raise Error(f"{where}: code is one of a whole port, and for out_valid only")
    if signal.code is not None and signal.code >> (signal.width or 0):
        raise Error(f"{where}: code = {signal.code} does not fit {signal.width} bits")
    return signal


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
