"""Conventions of names for handshakes, as a table; a user adds a row as a table in TOML or an object in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.names import imported, is_own
from softfloat_ref.base.tables import from_table, load_definition
from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.handshake import PARTNERS

SIDES: Final = {"in": ("in_valid", "in_ready"), "out": ("out_valid", "out_ready")}
KEYS: Final = tuple(key for side in SIDES.values() for key in side)
INPUTS: Final = ("in_valid", "out_ready")  # of the module


@dataclass(frozen=True)
class Protocol:
    """A convention of names for a handshake: for each signal the names that it may have, the likeliest first.

    A name is one word of a port's name, or several in a row: "ready_and" of `ready_and_o`. With ! before it, the signal
    is active low; with &, it may be raised only while its partner is: a valid while ready, a ready while valid.

    whole: the names mean this only where both valids have such names. one_at_a_time: the unit takes an operation after
    the result of the one before, unless it has a ready. source: where the convention is documented.
    """

    name: str
    in_valid: tuple[str, ...] = ()
    in_ready: tuple[str, ...] = ()
    out_valid: tuple[str, ...] = ()
    out_ready: tuple[str, ...] = ()
    whole: bool = False
    one_at_a_time: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        if not self.in_valid and not self.out_valid:
            raise Error(f"protocol {self.name}: give the names of in_valid or of out_valid")
        for key in KEYS:
            for text in getattr(self, key):
                _entry(text, key, self.name)

    def entries(self, key: str) -> Iterator[Entry]:
        """The names of a signal."""
        return (_entry(text, key, self.name) for text in getattr(self, key))


@dataclass(frozen=True)
class Entry:
    """A name in a protocol: its words, its active level, and whether the signal waits for its partner."""

    words: tuple[str, ...]
    active: str = "high"
    waits: bool = False

    def stem(self, port: str) -> list[str] | None:
        """The words of a port's name beside these; None if they are not in it."""
        own, size = names.core(port), len(self.words)
        at = next((i for i in range(len(own) - size + 1) if tuple(own[i : i + size]) == self.words), None)
        return None if at is None else own[:at] + own[at + size :]


def _entry(text: str, key: str, protocol: str) -> Entry:
    plain = text.lstrip("!&")
    marks = text[: len(text) - len(plain)]
    entry = Entry(tuple(names.words(plain)), "low" if "!" in marks else "high", "&" in marks)
    if not entry.words:
        raise Error(
            f"protocol {protocol}: {key} has the name {text!r}; write words of a port's name, such as 'ready_and'"
        )
    if entry.waits and key not in PARTNERS:
        raise Error(f"protocol {protocol}: {text!r} in {key}: & is for {' and '.join(PARTNERS)}, which a bench drives")
    return entry


# In the order of preference, where a module has as many names of one row as of another.
PROTOCOLS: Final = (
    Protocol(
        "valid-ready",
        names.VALID,
        names.READY,
        names.VALID,
        names.READY,
        source="AMBA AXI-Stream; Chisel, PULP, XLS, Amaranth",
    ),
    Protocol(
        "start-done",
        names.START,
        (*names.READY, "!busy", "idle"),
        (*names.DONE, *names.VALID),
        names.READY,
        one_at_a_time=True,
        source="SmartHLS, Bambu; sequential units",
    ),
    Protocol(
        "request-grant",
        ("req", "request"),
        ("gnt", "grant", "ack"),
        ("rvalid", *names.VALID),
        ("rready", *names.READY),
        source="OBI; PULP's APU interface",
    ),
    Protocol(
        "BaseJump",
        ("&v",),
        ("ready_then", "ready_param"),
        ("v",),
        ("&yumi", "ready_and", "ready_then", "ready"),
        source="BaseJump STL: ready-then-valid",
    ),
    Protocol(
        "BaseJump",
        ("v",),
        ("ready_and", "yumi", "ready"),
        ("v",),
        ("&yumi", "ready_and", "ready_then", "ready"),
        source="BaseJump STL: ready-valid-and, valid-then-yumi",
    ),
    Protocol(
        "Catapult",
        ("vz",),
        ("lz",),
        ("lz",),
        ("vz",),
        whole=True,
        source="Catapult, mgc_in_wire_wait, mgc_out_stdreg_wait",
    ),
    Protocol(
        "Vitis HLS",
        ("ap_start",),
        ("ap_ready",),
        ("ap_done",),
        ("ap_continue",),
        whole=True,
        source="UG1399, block-level control protocols",
    ),
    Protocol(
        "Intel HLS",
        ("start",),
        ("!busy",),
        ("done",),
        ("!stall",),
        whole=True,
        source="Intel HLS, component invocation",
    ),
    Protocol(
        "Bluespec",
        ("&en_put", "&en_start", "&en_request", "&en"),
        ("rdy_put", "rdy_start", "rdy_request", "rdy"),
        ("rdy_get", "rdy_result", "rdy_response", "rdy"),
        ("&en_get", "&en_result", "&en_response", "&en"),
        whole=True,
        source="BSC, EN_ and RDY_ of methods",
    ),
    Protocol(
        "FIFO",
        ("&push", "&wr_en", "&write", "&enq"),
        ("!full", "full_n", "notfull"),
        ("!empty", "empty_n", "notempty"),
        ("&pop", "&rd_en", "&read", "&deq"),
        whole=True,
        source="FIFOs of vendors; Vitis HLS ap_fifo",
    ),
    Protocol(
        "LogiCORE", ("nd",), ("rfd",), ("rdy",), whole=True, source="LogiCORE IP Floating-Point Operator, before AXI"
    ),
    Protocol("start-ready", names.START, (), names.READY, whole=True, one_at_a_time=True, source="sequential units"),
)


def protocol_of(value: Protocol | str) -> Protocol:
    """A protocol: itself, the table [protocol.NAME] of FILE.toml[:NAME], or the object package.module:Name. Raises
    Error."""
    if isinstance(value, Protocol):
        return value
    if ".toml" in value:
        return load_definition(value, "protocol", define_protocol)
    if is_own(value):
        own = imported("protocol", value)
        if isinstance(own, Protocol):
            return own
        raise Error(f"protocol {value!r} is not a {Protocol.__module__}.Protocol")
    raise Error(f"protocol {value!r}: write FILE.toml[:NAME], or package.module:Name")


def define_protocol(table: Mapping[str, Any], name: str) -> Protocol:
    """The protocol of a table in TOML. Raises Error."""
    return from_table(Protocol, {"name": name, **table}, f"protocol {name}")


def all_protocols(own: Iterable[Protocol | str]) -> tuple[Protocol, ...]:
    """The user's protocols, and those of the table after them."""
    return (*map(protocol_of, own), *PROTOCOLS)
