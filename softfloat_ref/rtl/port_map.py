"""Port maps: the fields that the ports of a user's module carry and its protocol, read from TOML and checked.

`docs/testbench.md` lists the keys. Checks that need no vectors are here; `binding` has the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.tables import Range, check, check_choices, choices, hints, read_toml
from softfloat_ref.oracle.literals import ulp_limit
from softfloat_ref.rtl.handshake import IDENTIFIER, Handshake, parse_handshake
from softfloat_ref.rtl.module_ports import Expression, Parameters

UNLIMITED: Final = (1 << 31) - 1  # a SystemVerilog int
DRAIN_TIMEOUT: Final = 1000  # cycles without progress after which a bench gives up
FILLS: Final = ("zeros", "ones", "any")
MAX_TAG_WIDTH: Final = 10
_BITS: Final = re.compile(r"\s*(\d{1,6})\s*(?::\s*(\d{1,6})\s*)?")
_PIECE: Final = re.compile(r"([a-z_]+)\s*(?:\[([^\]]*)\])?")
_TYPE: Final = re.compile(r"(?:[A-Za-z_]\w*::)?[A-Za-z_]\w*")
Bits = tuple[int, int]


@dataclass(frozen=True)
class PortPiece:
    """Part of a port: bits (high, low; None: the whole port) that carry a field, or [high:low] or a lane of it."""

    field: str
    index: Bits | None
    bits: Bits | None

    @property
    def text(self) -> str:
        """The text in the port map."""
        if self.index is None:
            return self.field
        high, low = self.index
        return f"{self.field}[{high}]" if high == low else f"{self.field}[{high}:{low}]"


@dataclass(frozen=True)
class DataPort:
    """A port that carries operands, random bits, results or flags."""

    name: str
    pieces: tuple[PortPiece, ...]
    width: Annotated[int | None, Range(1, 1 << 20)] = None
    fill: str = "zeros"
    stride: Annotated[int | None, Range(1, 1 << 20)] = None
    merge: bool = False


@dataclass(frozen=True)
class ControlPort:
    """A control input: `codes` encodes the values of the vectors' properties `of`. type: its enumeration, if any."""

    name: str
    width: int
    of: tuple[str, ...]
    codes: Mapping[str, int]
    type: str = ""


@dataclass(frozen=True)
class ConstantPort:
    """An input with a constant value. type: its enumeration, if any."""

    name: str
    width: int
    value: int
    type: str = ""


@dataclass(frozen=True)
class Reset:
    """The reset: its port, its active level, and for how many cycles it is held."""

    port: str
    active: str = "high"
    cycles: Annotated[int, Range(1, 1 << 16)] = 4


@dataclass(frozen=True)
class ClockEnable:
    """An input without which nothing in the module changes: its port, its active level, and in how many of a hundred
    cycles a bench takes it away."""

    port: str
    active: str = "high"
    pauses: Annotated[int, Range(1, 95)] = 30


@dataclass(frozen=True)
class Tag:
    """A number that accompanies each operation and returns with its result."""

    into: str
    out: str
    width: int


@dataclass(frozen=True)
class Sticky:
    """Flags that accumulate. clear: an input that clears them, used after `every` operations.

    delay: cycles from a result to the flags that include its own, 0 or 1.
    """

    clear: str | None = None
    every: Annotated[int, Range(1, 1 << 20)] = 1
    delay: Annotated[int, Range(0, 1)] = 0


@dataclass(frozen=True)
class PortMap:
    """The connections and the protocol of a module."""

    module: str
    inputs: tuple[DataPort | ControlPort | ConstantPort, ...]
    outputs: tuple[DataPort, ...]
    parameters: Parameters = field(default_factory=dict)
    clock: str | None = None
    reset: Reset | None = None
    enable: ClockEnable | None = None
    latency: Annotated[int | None, Range(0, 1 << 20)] = None
    handshake: Handshake = field(default_factory=Handshake)
    outstanding: Annotated[int | None, Range(1, 1 << 20)] = None
    lanes: Annotated[int, Range(1, 1024)] = 1
    tag: Tag | None = None
    sticky: Sticky | None = None
    drain_timeout: Annotated[int, Range(1, 1 << 30)] = DRAIN_TIMEOUT
    stable: bool = True
    ignore: tuple[str, ...] = ()
    compare_nan: Literal["exact", "quiet", "any"] = "exact"
    nan_scale_elements: Literal["exact", "any"] = "exact"
    ulp: str = ""
    kappa: Annotated[int | None, Range(0, 1 << 62)] = None

    @property
    def is_judged(self) -> bool:
        """Whether an error is allowed: then results are judged from their log, by the rule of `check`."""
        return bool(self.ulp) or self.kappa is not None

    @property
    def limit(self) -> int:
        """The largest number of operations in flight; each has a tag of its own."""
        return min(self.outstanding or UNLIMITED, 1 << self.tag.width if self.tag else UNLIMITED)

    @property
    def tolerances(self) -> dict[str, str]:
        """What is accepted besides the expected bits, by key."""
        return {"compare_nan": self.compare_nan, "nan_scale_elements": self.nan_scale_elements}

    def allowing(self, ulp: str | None = None, kappa: int | None = None) -> PortMap:
        """The port map with another error allowed. Raises Error."""
        changed = replace(self, ulp="" if ulp is None else ulp, kappa=kappa)
        _check_errors(changed, "ports")
        return changed


# The values of the keys; those of inputs, outputs and tag are tables that are read further down.
_KEYS: Final = hints(PortMap) | dict.fromkeys(("inputs", "outputs", "tag", "handshake"), Mapping)
_KEYS.update(reset=Reset, enable=ClockEnable, sticky=Sticky, ulp=int | float | str)
_DATA_KEYS: Final = {k: v for k, v in hints(DataPort).items() if k not in ("name", "pieces")}
_CONTROL_KEYS: Final = {"of": str, "codes": Mapping, "width": Annotated[int, Range(1, 64)], "type": str}
_CONSTANT_KEYS: Final = {
    "value": Annotated[int, Range(0, (1 << 64) - 1)],
    "width": Annotated[int, Range(1, 1 << 16)],
    "type": str,
}
_TAG_KEYS: Final = {"in": str, "out": str, "width": Annotated[int, Range(1, MAX_TAG_WIDTH)]}


def read_ports(path: str) -> PortMap:
    """The port map of a TOML file. Raises Error."""
    return parse_ports(read_toml(path), path)


def parse_ports(table: Mapping[str, Any], where: str = "ports") -> PortMap:
    """The port map of a table. Raises Error for unknown keys, wrong values, and keys that exclude each other."""
    values = check(table, where, _KEYS)
    _require(values, ("module", "inputs", "outputs"), where)
    values["inputs"] = tuple(_inputs(values["inputs"], f"{where}: [inputs]"))
    values["outputs"] = tuple(_data_port(k, v, f"{where}: [outputs] {k}") for k, v in values["outputs"].items())
    parameters = values.get("parameters", {})
    values["parameters"] = {k: _parameter(k, v, f"{where}: [parameters]") for k, v in parameters.items()}
    if "handshake" in values:
        values["handshake"] = parse_handshake(values["handshake"], f"{where}: [handshake]")
    if "tag" in values:
        values["tag"] = _tag(values["tag"], f"{where}: [tag]")
    if "every" in table.get("sticky", ()) and "clear" not in table["sticky"]:
        raise Error(f"{where}: [sticky] every needs clear = PORT")
    values |= {"ulp": str(values["ulp"])} if "ulp" in values else {}
    ports = PortMap(**values)
    _check_errors(ports, where)
    check_choices(ports, where, choices(PortMap))
    _check_style(ports, where)
    _check_names(ports, where)
    _check_code(ports, where)
    return _with_signals(ports, where)


def _with_signals(ports: PortMap, where: str) -> PortMap:
    """The port map with ports that carry nothing but bits of the handshake among its inputs and outputs."""
    inputs, outputs = ports.handshake.bits(drives=True), ports.handshake.bits(drives=False)
    for port in (*ports.inputs, *ports.outputs):
        if isinstance(port, DataPort) and not port.pieces and port.name not in {*inputs, *outputs}:
            raise Error(
                f"{where}: {port.name}: the port carries nothing; name a field and its bits, such as a = '31:0'"
            )
    sides = (inputs, {p.name for p in ports.inputs}), (outputs, {p.name for p in ports.outputs})
    more_inputs, more_outputs = ([DataPort(n, ()) for n in bits if n not in known] for bits, known in sides)
    return replace(ports, inputs=(*ports.inputs, *more_inputs), outputs=(*ports.outputs, *more_outputs))


def _require(values: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
    for key in keys:
        if key not in values:
            raise Error(f"{where}: {key} is missing")


def _check_style(ports: PortMap, where: str) -> None:
    """Check that clock, latency and handshake are consistent."""
    shake = ports.handshake
    for name, port in (("reset", ports.reset), ("enable", ports.enable)):
        if port and port.active not in ("high", "low"):
            raise Error(f"{where}: {name}: active = {port.active!r}; it must be high or low")
    for name in ("reset", "enable", "latency", "sticky"):
        value = getattr(ports, name)
        if value is not None and not ports.clock:
            raise Error(f"{where}: {name} needs clock = PORT")
    if shake.signals and not ports.clock:
        raise Error(f"{where}: [handshake] needs clock = PORT")
    if not ports.clock:
        return
    if ports.latency is None and not ("in_valid" in shake and "out_valid" in shake):
        raise Error(f"{where}: a clocked module has latency = N, or [handshake] with in_valid and out_valid")
    for key, needed in (("in_ready", "in_valid"), ("out_ready", "out_valid")):
        if key in shake and needed not in shake:
            raise Error(f"{where}: {key} needs {needed}")
    if ports.latency is not None and ports.tag:
        raise Error(f"{where}: results of a fixed latency come in order; remove [tag] or latency")
    if ports.latency is not None and "out_ready" in shake:
        raise Error(f"{where}: with out_ready the latency varies; remove out_ready or latency")


def _check_errors(ports: PortMap, where: str) -> None:
    """Check the error that is allowed."""
    if ports.ulp:
        ulp_limit(ports.ulp, f"{where}: ulp =")
    if ports.ulp and ports.kappa is not None:
        raise Error(f"{where}: ulp and kappa are two measures of one error; give one of them")
    if ports.is_judged and ports.sticky is not None:
        raise Error(f"{where}: [sticky] flags are not in the log by which an error is judged; ignore them")


def _check_names(ports: PortMap, where: str) -> None:
    names = [p.name for p in (*ports.inputs, *ports.outputs)]
    names += [n for n in (ports.clock, ports.reset and ports.reset.port, *ports.handshake.ports) if n]
    names += [ports.enable.port] if ports.enable else []
    names += [ports.tag.into, ports.tag.out] if ports.tag else []
    names += [ports.sticky.clear] if ports.sticky and ports.sticky.clear else []
    signals = {drives: set(ports.handshake.bits(drives=drives)) for drives in (True, False)}
    sides = {True: {p.name for p in ports.inputs}, False: {p.name for p in ports.outputs}}
    names += [name for drives, bits in signals.items() for name in bits - sides[drives]]
    for name in (ports.module, *names):
        if not IDENTIFIER.fullmatch(name):
            raise Error(f"{where}: {name!r} is not the name of a port or module")
        if names.count(name) > 1:
            raise Error(f"{where}: port {name!r} has two uses")
    if not ports.outputs:
        raise Error(f"{where}: [outputs] is empty: there is nothing to check")


def _check_code(ports: PortMap, where: str) -> None:
    """Check that a valid that is a code belongs to a control port or a constant of that width."""
    if (signal := ports.handshake.coded) is None or signal.idle is None:
        return
    port = next((p for p in ports.inputs if p.name == signal.port), None)
    if not isinstance(port, ControlPort | ConstantPort):
        raise Error(f"{where}: [handshake] in_valid: {signal.port} must be under [inputs], with codes or a value")
    if signal.idle >> port.width:
        raise Error(f"{where}: [handshake] in_valid: idle = {signal.idle} does not fit {port.name}; give its width")
    if isinstance(port, ConstantPort) and port.value == signal.idle:
        raise Error(f"{where}: {port.name} is always {port.value}, which means no operation ([handshake] in_valid)")


# -- the tables of a port map --------------------------------------------------------------------------------------


def _inputs(table: Mapping[str, Any], where: str) -> Iterator[DataPort | ControlPort | ConstantPort]:
    for name, value in table.items():
        if isinstance(value, dict) and ("of" in value or "codes" in value):
            yield _control(name, value, f"{where} {name}")
        elif isinstance(value, dict) and "value" in value:
            yield _constant(name, value, f"{where} {name}")
        else:
            port = _data_port(name, value, f"{where} {name}")
            if port.fill == "any" or port.merge:
                raise Error(f'{where} {name}: merge and fill = "any" apply only to outputs')
            yield port


def _control(name: str, table: Mapping[str, Any], where: str) -> ControlPort:
    values = check(table, where, _CONTROL_KEYS)
    _require(values, ("of", "codes"), where)
    of, codes = tuple(values["of"].split()), values["codes"]
    if not of or not codes:
        raise Error(f"{where}: of and codes must not be empty")
    for key in codes:
        if len(key.split()) != len(of):
            raise Error(f"{where}: code {key!r} needs one word for each of {' '.join(of)}")
    largest = max((c for c in codes.values() if type(c) is int), default=0)
    width = values.get("width", max(largest.bit_length(), 1))
    code = Annotated[int, Range(0, (1 << width) - 1)]
    return ControlPort(
        name, width, of, check(codes, f"{where} codes", dict.fromkeys(codes, code)), _type(values, where)
    )


def _constant(name: str, table: Mapping[str, Any], where: str) -> ConstantPort:
    values = check(table, where, _CONSTANT_KEYS)
    needed = max(values["value"].bit_length(), 1)
    width = values.get("width", needed)
    if width < needed:
        raise Error(f"{where}: width = {width}, but the value has {needed} bits")
    return ConstantPort(name, width, values["value"], _type(values, where))


def _type(values: Mapping[str, Any], where: str) -> str:
    text = str(values.get("type", ""))
    if text and not _TYPE.fullmatch(text):
        raise Error(f"{where}: type = {text!r} is not the name of a type; example: 'fpu_pkg::op_e'")
    return text


def _data_port(name: str, value: object, where: str) -> DataPort:
    if isinstance(value, str):
        return DataPort(name, (_piece(value, None, where),))
    if not isinstance(value, Mapping):
        raise Error(f"{where}: expected a field or a table, not {value!r}")
    own = {k: v for k, v in value.items() if k in _DATA_KEYS}
    pieces = tuple(_piece(k, v, where) for k, v in value.items() if k not in own)
    port = DataPort(name, pieces, **check(own, where, _DATA_KEYS))
    if port.fill not in FILLS:
        raise unknown("fill", port.fill, FILLS, f" (in {where})")
    _no_overlaps(port, where)
    return port


def _piece(text: str, bits: object, where: str) -> PortPiece:
    match = _PIECE.fullmatch(text.strip())
    if match is None:
        raise Error(f"{where}: {text!r} is not a field; examples: a, result, flags, a[7:0], elements[3]")
    return PortPiece(
        match[1],
        None if match[2] is None else _bits(match[2], f"{where} {text}"),
        None if bits is None else _bits(bits, f"{where} {text}"),
    )


def _bits(text: object, where: str) -> Bits:
    match = _BITS.fullmatch(str(text)) if type(text) in (str, int) else None
    if match is None or int(match[1]) < int(match[2] or match[1]):
        raise Error(f"{where}: {text!r} is not a bit range; examples: '31:0', '4'")
    return int(match[1]), int(match[2] or match[1])


def _no_overlaps(port: DataPort, where: str) -> None:
    used: dict[int, PortPiece] = {}
    for piece in port.pieces:
        if piece.bits is None:
            continue
        high, low = piece.bits
        for bit in range(low, high + 1):
            if bit in used:
                raise Error(f"{where}: bit {bit} is in {used[bit].text} and in {piece.text}")
            used[bit] = piece
    if port.width is not None and used and max(used) >= port.width:
        raise Error(f"{where}: bit {max(used)} is outside the port, which has {port.width} bits")


def _parameter(name: str, value: object, where: str) -> int | str | Expression:
    if not IDENTIFIER.fullmatch(name):
        raise Error(f"{where}: {name!r} is not the name of a parameter")
    if isinstance(value, Mapping):
        text = check(value, f"{where} {name}", {"expr": str}, ["expr"])["expr"].strip()
        if not _is_expression(text):
            raise Error(f"{where} {name}: expr = {text!r} is not one expression; example: 'fpnew_pkg::FP16'")
        return Expression(text)
    if type(value) is int or (isinstance(value, str) and re.fullmatch(r"[\w.:$ ]*", value)):
        return value
    raise Error(f"{where} {name} = {value!r} is neither an integer, a plain string nor {{ expr = TEXT }}")


def _is_expression(text: str) -> bool:
    """Whether a text stays within the parentheses of a parameter: one line without comments, its brackets closed."""
    if not re.fullmatch(r"[ -~]+", text) or re.search(r";|//|/\*|`", text):
        return False
    opened = []
    for char in re.sub(r'"[^"\\]*"', "", text):
        if char in "([{":
            opened.append(")]}"["([{".index(char)])
        elif char in ')]}"' and (not opened or opened.pop() != char):
            return False
    return not opened


def _tag(table: Mapping[str, Any], where: str) -> Tag:
    values = check(table, where, _TAG_KEYS)
    _require(values, _TAG_KEYS, where)
    return Tag(values["in"], values["out"], values["width"])
