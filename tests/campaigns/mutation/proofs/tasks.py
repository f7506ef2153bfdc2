"""Units and circuits that compute them, as questions."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softfloat_ref.base.tables import read_toml
from softfloat_ref.export.languages import export_circuit, source_text
from softfloat_ref.oracle.sources import Lfsr, parse_source
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import Rtl, read_rtl
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.units import Unit, make_unit

from ..circuits import EXAMPLES

TREE = Path(__file__).parent / "wallace.sv"


@dataclass(frozen=True)
class Task:
    """An operation, and a circuit for it. options: of make_unit; ports: the table of a port map; registers: what they
    hold at first; lfsr: of which they are the state."""

    name: str
    op: str
    fmt: Any
    ports: Mapping[str, Any]
    sources: Sequence[Path]
    options: Mapping[str, Any] = field(default_factory=dict)
    registers: Mapping[str, str] = field(default_factory=dict)
    lfsr: str = ""

    def question(self) -> Question:
        """Whether the circuit computes the operation."""
        unit = make_unit(self.op, self.fmt, **self.options)
        source = parse_source(self.lfsr) if self.lfsr else None
        assert source is None or isinstance(source, Lfsr)
        return Question(unit, self._rtl(unit), dict(self.registers), source=source)

    def _rtl(self, unit: Unit) -> Rtl:
        return read_rtl(unit, parse_ports(dict(self.ports)), read_sources(self.sources))


class Wallace(Task):
    """An operation by docs/examples/fp16_fma, with a tree of adders in place of its multiplication."""

    def question(self) -> Question:
        with tempfile.TemporaryDirectory() as folder:
            fma, *others = self.sources
            source = Path(folder) / fma.name
            source.write_text(_with_tree(fma.read_text()))
            changed = dataclasses.replace(self, sources=[source, TREE, *others])
            return super(Wallace, changed).question()


def _with_tree(text: str) -> str:
    product = "{{P{1'b0}}, significand_a} * {{P{1'b0}}, significand_b};"
    tree = "wallace #(.P(P)) tree(.a(significand_a), .b(significand_b), .product(full_product));"
    if product not in text:
        raise ValueError(f"no product: {product}")
    return text.replace(f" = {product}", f";\n  {tree}")


class Exported(Task):
    """An operation, and the SystemVerilog that is exported of it. Ports and sources are not given."""

    def __init__(self, name: str, op: str, fmt: str, options: Mapping[str, Any]) -> None:
        super().__init__(name, op, fmt, {}, [], options)

    def question(self) -> Question:
        unit = make_unit(self.op, self.fmt, **self.options)
        inputs, outputs = ({f.name: f.name for f in fields} for fields in (unit.inputs, unit.outputs))
        ports = parse_ports({"module": "exported", "inputs": inputs, "outputs": outputs})
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "exported.sv"
            source.write_text(source_text([export_circuit(unit, "exported")], "sv"))
            return Question(unit, read_rtl(unit, ports, read_sources([source])))


def source_of(circuit: str) -> Path:
    """The source of an example circuit."""
    return EXAMPLES / circuit / f"{circuit}.sv"


def ports_of(circuit: str, **changes: Any) -> dict[str, Any]:
    """The table of an example circuit's port map, with other keys."""
    return {**read_toml(str(EXAMPLES / circuit / "ports.toml")), **changes}
