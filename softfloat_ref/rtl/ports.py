"""Port maps: what the ports of a user's module carry and how it is spoken to, read from TOML and checked.

`docs/testbench.md` lists the keys. What can be checked without vectors is checked here; `binding` does the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from softfloat_ref.errors import Error, unknown
from softfloat_ref.formats import read_toml

FILLS: Final = ("zeros", "ones", "any")
HANDSHAKE: Final = ("in_valid", "in_ready", "out_valid", "out_ready")
MAX_TAG_WIDTH: Final = 10
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_BITS: Final = re.compile(r"\s*(\d{1,6})\s*(?::\s*(\d{1,6})\s*)?")
_PIECE: Final = re.compile(r"([a-z_]+)\s*(?:\[([^\]]*)\])?")
_OWN_KEYS: Final = {"width", "fill", "stride", "merge"}

T = TypeVar("T")
Bits = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """Part of a port: bits (high, low; None: the whole port) that carry a field, or [high:low] or a lane of it."""

    field: str
    index: Bits | None
    bits: Bits | None

    @property
    def text(self) -> str:
        """As in the port map."""
        if self.index is None:
            return self.field
        high, low = self.index
        return f"{self.field}[{high}]" if high == low else f"{self.field}[{high}:{low}]"


@dataclass(frozen=True)
class DataPort:
    """A port that carries operands, random bits, results or flags."""

    name: str
    pieces: tuple[Piece, ...]
    width: int | None = None
    fill: str = "zeros"
    stride: int | None = None
    merge: bool = False


@dataclass(frozen=True)
class ControlPort:
    """An input that says what to do: `codes` encodes what the vectors say of the properties `of`."""

    name: str
    width: int
    of: tuple[str, ...]
    codes: Mapping[str, int]


@dataclass(frozen=True)
class ConstantPort:
    """An input that is held at a value."""

    name: str
    width: int
    value: int


@dataclass(frozen=True)
class Reset:
    """The reset: its port, whether it is active high, and for how many cycles it is held."""

    port: str
    high: bool
    cycles: int


@dataclass(frozen=True)
class Tag:
    """A number that goes with each operation and comes back with its result."""

    into: str
    out: str
    width: int


@dataclass(frozen=True)
class Sticky:
    """Flags that accumulate. clear: an input that clears them, used after every so many operations.

    delay: cycles from a result to the flags that include its own, 0 or 1.
    """

    clear: str | None
    every: int
    delay: int


@dataclass(frozen=True)
class PortMap:
    """How to connect a module and how to talk to it."""

    module: str
    inputs: tuple[DataPort | ControlPort | ConstantPort, ...]
    outputs: tuple[DataPort, ...]
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    clock: str | None = None
    reset: Reset | None = None
    latency: int | None = None
    handshake: Mapping[str, str] = field(default_factory=dict)
    stalls: int = 0
    seed: int = 1
    outstanding: int | None = None
    lanes: int = 1
    tag: Tag | None = None
    sticky: Sticky | None = None
    drain_timeout: int = 1000
    stable: bool = True
    ignore: frozenset[str] = frozenset()


class _Table:
    """A table being read: every key is taken once, with its type; `done` objects to what is left."""

    def __init__(self, table: object, where: str) -> None:
        if not isinstance(table, dict):
            raise Error(f"{where}: a table is wanted, not {table!r}")
        self.rest: dict[str, Any] = dict(table)
        self.known: list[str] = []
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self.rest

    def take(self, key: str, kind: type[T], default: T | None = None) -> T:
        """The value of a key. Raises Error where it is missing without a default, or of another type."""
        self.known.append(key)
        if key not in self.rest:
            if default is None:
                raise Error(f"{self.where}: {key} is missing")
            return default
        value = self.rest.pop(key)
        if type(value) is not kind:
            raise Error(f"{self.where}: {key} = {value!r} is no {kind.__name__}")
        return value

    def number(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """An integer from low to high."""
        value = self.take(key, int, default)
        if not low <= value <= high:
            raise Error(f"{self.where}: {key} = {value}; it goes from {low} to {high}")
        return value

    def port(self, key: str) -> str:
        """The name of a port."""
        return _identifier(self.take(key, str), f"{self.where}: {key}")

    def maybe_port(self, key: str) -> str | None:
        """The name of a port, or None where the key is missing."""
        self.known.append(key)
        return self.port(key) if key in self.rest else None

    def done(self) -> None:
        """Raises Error where keys are left."""
        for key in self.rest:
            raise unknown("key", key, dict.fromkeys(self.known), f" (in {self.where})")


def read_ports(path: str) -> PortMap:
    """The port map of a TOML file. Raises Error."""
    return parse_ports(read_toml(path), path)


def parse_ports(table: Mapping[str, Any], where: str = "ports") -> PortMap:
    """The port map of a table. Raises Error for unknown keys, wrong values, and what does not go together."""
    top = _Table(dict(table), where)
    shake = _Table(top.take("handshake", dict, {}), f"{where}: [handshake]")
    found = PortMap(
        module=top.port("module"),
        inputs=tuple(_inputs(top.take("inputs", dict), f"{where}: [inputs]")),
        outputs=tuple(_outputs(top.take("outputs", dict), f"{where}: [outputs]")),
        parameters=_parameters(top.take("parameters", dict, {}), where),
        clock=top.maybe_port("clock"),
        reset=_reset(top.take("reset", dict), where) if "reset" in top else None,
        latency=top.number("latency", 0, 1 << 20) if "latency" in top else None,
        handshake={key: shake.port(key) for key in HANDSHAKE if key in shake},
        stalls=shake.number("stalls", 0, 95, 30),
        seed=shake.number("seed", 0, (1 << 31) - 1, 1),
        outstanding=top.number("outstanding", 1, 1 << 20) if "outstanding" in top else None,
        lanes=top.number("lanes", 1, 1024, 1),
        tag=_tag(top.take("tag", dict), where) if "tag" in top else None,
        sticky=_sticky(top.take("sticky", dict), where) if "sticky" in top else None,
        drain_timeout=top.number("drain_timeout", 1, 1 << 30, 1000),
        stable=top.take("stable", bool, True),
        ignore=_ignored(top.take("ignore", list, []), where),
    )
    shake.known += HANDSHAKE
    shake.done()
    top.known += ["reset", "latency", "outstanding", "tag", "sticky"]
    top.done()
    _check_style(found, where)
    _check_names(found, where)
    return found


def _check_style(ports: PortMap, where: str) -> None:
    """Whether clock, latency and handshake go together."""
    shake = ports.handshake
    for name, given in (("reset", ports.reset), ("latency", ports.latency), ("sticky", ports.sticky)):
        if given is not None and not ports.clock:
            raise Error(f"{where}: {name} needs clock = PORT")
    if shake and not ports.clock:
        raise Error(f"{where}: [handshake] needs clock = PORT")
    if not ports.clock:
        return
    if ports.latency is None and not {"in_valid", "out_valid"} <= shake.keys():
        raise Error(f"{where}: a clocked module has latency = N, or [handshake] with in_valid and out_valid")
    for key, needed in (("in_ready", "in_valid"), ("out_ready", "out_valid")):
        if key in shake and needed not in shake:
            raise Error(f"{where}: {key} needs {needed}")
    if ports.latency is not None and ports.tag:
        raise Error(f"{where}: results of a fixed latency come in order; leave [tag] or latency out")
    if ports.latency is not None and "out_ready" in shake:
        raise Error(f"{where}: out_ready makes the latency vary; leave one of them out")


def _check_names(ports: PortMap, where: str) -> None:
    names = [p.name for p in (*ports.inputs, *ports.outputs)]
    names += [n for n in (ports.clock, ports.reset and ports.reset.port, *ports.handshake.values()) if n]
    names += [ports.tag.into, ports.tag.out] if ports.tag else []
    names += [ports.sticky.clear] if ports.sticky and ports.sticky.clear else []
    for name in names:
        if names.count(name) > 1:
            raise Error(f"{where}: port {name!r} has two uses")
    if not ports.outputs:
        raise Error(f"{where}: [outputs] is empty: nothing to check")


# -- the tables of a port map --------------------------------------------------------------------------------------


def _inputs(table: Mapping[str, Any], where: str) -> Iterator[DataPort | ControlPort | ConstantPort]:
    for name, value in table.items():
        _identifier(name, where)
        if isinstance(value, dict) and ("of" in value or "codes" in value):
            yield _control(name, value, f"{where} {name}")
        elif isinstance(value, dict) and "value" in value:
            yield _constant(name, value, f"{where} {name}")
        else:
            port = _data_port(name, value, f"{where} {name}")
            if port.fill == "any" or port.merge:
                raise Error(f'{where} {name}: merge and fill = "any" are for outputs')
            yield port


def _outputs(table: Mapping[str, Any], where: str) -> Iterator[DataPort]:
    for name, value in table.items():
        yield _data_port(_identifier(name, where), value, f"{where} {name}")


def _control(name: str, value: Mapping[str, Any], where: str) -> ControlPort:
    table = _Table(value, where)
    of, codes = tuple(table.take("of", str).split()), _Table(table.take("codes", dict), f"{where} codes")
    largest = max((c for c in codes.rest.values() if type(c) is int), default=0)
    width = table.number("width", 1, 64, max(largest.bit_length(), 1))
    table.done()
    if not of or not codes.rest:
        raise Error(f"{where}: of and codes must not be empty")
    for key in codes.rest:
        if len(key.split()) != len(of):
            raise Error(f"{where}: code {key!r} is not one word each for {' '.join(of)}")
    return ControlPort(name, width, of, {k: codes.number(k, 0, (1 << width) - 1) for k in list(codes.rest)})


def _constant(name: str, value: Mapping[str, Any], where: str) -> ConstantPort:
    table = _Table(value, where)
    held = table.number("value", 0, (1 << 64) - 1)
    width = table.number("width", max(held.bit_length(), 1), 1 << 16, max(held.bit_length(), 1))
    table.done()
    return ConstantPort(name, width, held)


def _data_port(name: str, value: object, where: str) -> DataPort:
    if isinstance(value, str):
        return DataPort(name, (_piece(value, None, where),))
    table = _Table(value, where)
    own = _Table({k: v for k, v in table.rest.items() if k in _OWN_KEYS}, where)
    port = DataPort(
        name,
        tuple(_piece(k, v, where) for k, v in table.rest.items() if k not in _OWN_KEYS),
        own.number("width", 1, 1 << 20) if "width" in own else None,
        own.take("fill", str, "zeros"),
        own.number("stride", 1, 1 << 20) if "stride" in own else None,
        own.take("merge", bool, False),
    )
    if port.fill not in FILLS:
        raise unknown("fill", port.fill, FILLS, f" (in {where})")
    if not port.pieces:
        raise Error(f"{where}: carries nothing; name a field and its bits, as a = '31:0'")
    _no_overlaps(port, where)
    return port


def _piece(text: str, bits: object, where: str) -> Piece:
    found = _PIECE.fullmatch(text.strip())
    if found is None:
        raise Error(f"{where}: {text!r} is no field; as a, result, flags, a[7:0], elements[3]")
    return Piece(
        found[1],
        None if found[2] is None else _bits(found[2], f"{where} {text}"),
        None if bits is None else _bits(bits, f"{where} {text}"),
    )


def _bits(text: object, where: str) -> Bits:
    found = _BITS.fullmatch(str(text)) if type(text) in (str, int) else None
    if found is None or int(found[1]) < int(found[2] or found[1]):
        raise Error(f"{where}: {text!r} are no bits; as '31:0', or '4'")
    return int(found[1]), int(found[2] or found[1])


def _no_overlaps(port: DataPort, where: str) -> None:
    used: dict[int, Piece] = {}
    for piece in port.pieces:
        if piece.bits is None:
            continue
        high, low = piece.bits
        for bit in range(low, high + 1):
            if bit in used:
                raise Error(f"{where}: bit {bit} is in {used[bit].text} and in {piece.text}")
            used[bit] = piece
    if port.width is not None and used and max(used) >= port.width:
        raise Error(f"{where}: bit {max(used)} in a port of {port.width} bits")


def _parameters(table: Mapping[str, Any], where: str) -> dict[str, int | str]:
    for name, value in table.items():
        _identifier(name, f"{where}: [parameters]")
        if type(value) not in (int, str) or (isinstance(value, str) and not re.fullmatch(r"[\w.:$ ]*", value)):
            raise Error(f"{where}: [parameters] {name} = {value!r} is neither an integer nor a plain string")
    return dict(table)


def _reset(value: Mapping[str, Any], where: str) -> Reset:
    table = _Table(value, f"{where}: reset")
    active = table.take("active", str, "high")
    if active not in ("high", "low"):
        raise Error(f"{where}: reset: active = {active!r}; it is high or low")
    found = Reset(table.port("port"), active == "high", table.number("cycles", 1, 1 << 16, 4))
    table.done()
    return found


def _tag(value: Mapping[str, Any], where: str) -> Tag:
    table = _Table(value, f"{where}: [tag]")
    found = Tag(table.port("in"), table.port("out"), table.number("width", 1, MAX_TAG_WIDTH))
    table.done()
    return found


def _sticky(value: Mapping[str, Any], where: str) -> Sticky:
    table = _Table(value, f"{where}: [sticky]")
    clear = table.maybe_port("clear")
    if clear is None and "every" in table:
        raise Error(f"{where}: [sticky] every needs clear = PORT")
    found = Sticky(clear, table.number("every", 1, 1 << 20, 1), table.number("delay", 0, 1, 0))
    table.done()
    return found


def _ignored(names: list[Any], where: str) -> frozenset[str]:
    if not all(isinstance(n, str) for n in names):
        raise Error(f"{where}: ignore is a list of names, as ['flags']")
    return frozenset(names)


def _identifier(name: str, where: str) -> str:
    if not _IDENTIFIER.fullmatch(name):
        raise Error(f"{where}: {name!r} is not the name of a port or module")
    return name
