"""Drafts of port maps from the sources of modules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from softfloat_ref.base.errors import Error
from softfloat_ref.base.tables import toml_string, with_settings
from softfloat_ref.base.trees import parse_toml
from softfloat_ref.rtl.draft import codes, fields, names, protocol
from softfloat_ref.rtl.draft.design import Signal, SourceModule, WrapperError
from softfloat_ref.rtl.draft.lines import Draft, Guess, draft_text
from softfloat_ref.rtl.draft.matching import OF_THREE
from softfloat_ref.rtl.draft.protocols import Protocol, all_protocols
from softfloat_ref.rtl.draft.target import Vectors, target_of
from softfloat_ref.rtl.module_ports import ModulePort
from softfloat_ref.rtl.port_map import PortMap, parse_ports


@dataclass(frozen=True)
class DraftedPortMap:
    """A draft of the port map of a module. text: as TOML, with what each line was read from; guesses: the lines that
    the source does not say; not_compared: the outputs that are left out."""

    design: SourceModule
    text: str
    ports: PortMap
    guesses: tuple[Guess, ...]
    not_compared: tuple[str, ...] = ()

    @property
    def held(self) -> tuple[Guess, ...]:
        """The guesses that hold an input of unknown meaning at a constant."""
        return tuple(guess for guess in self.guesses if guess.held)

    @property
    def enable(self) -> str:
        """The setting that makes a clock enable of the one input that may be one and is held on; '' without one."""
        settings = [guess.enable for guess in self.guesses if guess.enable]
        return settings[0] if len(settings) == 1 and self.ports.enable is None else ""

    @property
    def guesses_sums(self) -> bool:
        """Whether it is a guess which of three operands the module adds."""
        return any(OF_THREE in guess.why for guess in self.guesses)


def draft(
    design: SourceModule,
    vectors: Vectors | None = None,
    *,
    settings: Sequence[str] = (),
    protocols: Sequence[Protocol | str] = (),
    sums: str = "",
) -> DraftedPortMap:
    """The draft of the port map of a module.

    vectors: those that it is for: a set, a manifest or a folder; the draft is then one that a bench of them takes.
    settings: lines of the port map that are known, as "inputs.mode={ value = 1 }" or "latency=3". protocols: own
    conventions of names for handshakes, as objects, FILE.toml[:NAME] or package.module:Name. sums: which of three
    operands the module adds, such as "bc".

    Raises Error for a module without outputs, for structures that carry more than data, and for vectors that no such
    port map fits.
    """
    target = None if vectors is None else target_of(vectors)
    for signal in design.signals:
        _refuse(signal)
    port_map = _drafted(Draft(design, target, all_protocols(protocols), with_settings({}, settings), sums))
    text = draft_text(port_map)
    ports = parse_ports(parse_toml(text, "draft"), "draft")
    if target is not None:
        try:
            target.bind(ports, {s.name: ModulePort(s.name, s.direction, s.type, s.width) for s in design.signals})
        except Error as e:
            raise Error(f"{design.name}: {e}; --set KEY=VALUE gives a line of the port map") from None
    return DraftedPortMap(design, text, ports, port_map.guesses, tuple(port_map.not_compared))


def _drafted(port_map: Draft) -> Draft:
    port_map.add("", f"module = {toml_string(port_map.design.name)}")
    clocked = protocol.add_clock_and_reset(port_map)
    fields.add_flags(port_map)
    protocol.add_tag(port_map)
    rows = protocol.add_valids(port_map) if clocked else {}
    codes.add_controls(port_map, clocked)
    operands = fields.add_operands(port_map)
    if clocked:
        protocol.add_readys(port_map, rows, operands)
        protocol.add_latency(port_map)
    codes.add_constants(port_map, clocked)
    fields.add_results(port_map, operands)
    port_map.add_ignored()
    return port_map


def _refuse(signal: Signal) -> None:
    """Raise Error for a port that only a wrapper connects."""
    if not signal.packed:
        why = f"is unpacked ({signal.type}), which a port map cannot connect"
    elif signal.direction == "output" and any(names.PROTOCOL & set(names.core(x.path)) for x in signal.leaves):
        why = f"is a structure of more than results ({signal.type}), which a port map cannot take apart"
    else:
        return
    raise WrapperError(f"port {signal.name} {why}: give --wrapper FILE")
