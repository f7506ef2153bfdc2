"""SystemVerilog modules as they are read: ports, parameters, and what is said of sources that cannot be read."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from benches import COMB, FIXED, HANDSHAKE, RTL, TAGGED

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.module_ports import ModulePort, elaborate
from softfloat_ref.rtl.port_map import parse_ports

MACROS = "`define WIDE 8\n"
UNIT = """
package p; typedef struct packed { logic [3:0] low; logic high; } pair; endpackage
module unit #(
    parameter int N, parameter type T = logic, parameter S = "", localparam M = N + 1
) (
    input [`WIDE-1:0] a,   // input b,
    input signed [N-1:0] c, input T d, input [S == "long":0] e, input p::pair f, /* input g, */ input real h,
    input q::gone i, input [7:0] j [0:3], bus.device k, inout l, output reg m
`ifdef VERILATOR
    , output n
`endif
);
  missing sub();
  assign nowhere = 1;
endmodule
module old(x, .y({u, v}), z); parameter K = 2; input [K:0] x; input u; input [2:0] v; output z; endmodule
"""


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "macros.sv", tmp_path / "unit.sv"]
    for path, text in zip(files, (MACROS, UNIT), strict=True):
        path.write_text(text)
    return files


def test_ports_and_parameters(sources: list[Path]) -> None:
    module = elaborate(sources, "unit", {"N": 12, "S": "long"}, defines={"VERILATOR": 1})
    assert (module.parameters, module.unset) == (("N", "T", "S"), ())
    assert {p.name: (p.direction, p.width) for p in module.ports.values()} == {
        "a": ("input", 8),
        "c": ("input", 12),
        "d": ("input", 1),
        "e": ("input", 2),
        "f": ("input", 5),
        "h": ("input", 0),
        "i": ("input", None),
        "j": ("input", 0),
        "k": ("interface", None),
        "l": ("inout", 1),
        "m": ("output", 1),
        "n": ("output", 1),
    }
    assert module.ports["h"].type == "real"


def test_a_parameter_without_a_value(sources: list[Path]) -> None:
    module = elaborate(sources, "unit")
    assert module.unset == ("N",)
    assert module.ports["c"].width is None
    assert module.ports["e"].width == 1
    assert "n" not in module.ports


def test_ports_declared_in_the_body(sources: list[Path]) -> None:
    module = elaborate(sources, "old", {"K": 5})
    assert module.parameters == ("K",)
    assert [(p.name, p.direction, p.width) for p in module.ports.values()] == [
        ("x", "input", 6),
        ("y", "input", 4),
        ("z", "output", 1),
    ]


def test_include_folders(sources: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "width.svh").write_text("`define W 7\n")
    sources[0].write_text('`include "width.svh"\nmodule m(input [`W-1:0] a); endmodule\n')
    assert elaborate(sources[:1], "m", include_dirs=[folder]).ports == {"a": ModulePort("a", "input", "logic[6:0]", 7)}
    with pytest.raises(Error, match=rf"^{sources[0]}:1: included file width\.svh not found in {tmp_path}$"):
        elaborate(sources[:1], "m", include_dirs=[tmp_path])


def test_modules_that_are_not_there(sources: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Error, match="no source defines a module unti; the modules are old, unit"):
        elaborate(sources, "unti")
    with pytest.raises(Error, match=r"no source defines a module unit; the modules are none"):
        elaborate(sources[:1], "unit")
    sources[1].write_text("module ;\n")
    with pytest.raises(Error, match=r"^\S+unit\.sv:1: expected identifier$"):
        elaborate(sources, "unit")
    with pytest.raises(Error, match="no such source file"):
        elaborate([tmp_path / "none.sv"], "unit")


def test_without_pyslang(sources: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyslang", None)
    with pytest.raises(Error, match="pip install pyslang"):
        elaborate(sources, "unit")


@pytest.mark.parametrize("text", [COMB, FIXED, HANDSHAKE, TAGGED])
def test_the_devices_have_what_their_port_maps_name(text: str) -> None:
    ports = parse_ports(tomllib.loads(text))
    module = elaborate([RTL], ports.module, ports.parameters)
    assert {p.name for p in (*ports.inputs, *ports.outputs)} <= set(module.ports)
    assert set(ports.parameters) <= set(module.parameters)
