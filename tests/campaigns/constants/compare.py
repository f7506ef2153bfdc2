"""What slang, both front ends of Yosys, and Icarus make of the same constants."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from constants.draw import HELPERS, Drawn
from softfloat_ref.base.errors import Error
from softfloat_ref.proof.btor2 import read_btor2
from softfloat_ref.proof.defined import check_defined
from softfloat_ref.proof.yosys import Frontend, netlist
from softfloat_ref.rtl.module_ports import elaborate
from softfloat_ref.rtl.reading import DesignReading

WIDTH = 64
BATCH = 40


@dataclass(frozen=True)
class Compared:
    """A constant, and its value: slang's, and as another reads it; None where that refuses the module."""

    text: str
    slang: str
    other: str | None

    @property
    def said(self) -> str:
        """Whether the other value is right, free (undefined there), or wrong; or the module is refused."""
        if self.other is None:
            return "refused"
        return "right" if self.other == self.slang else "free" if "x" in self.other else "wrong"

    @staticmethod
    def number(bits: str | None) -> int:
        """The number in two's complement."""
        value = int(bits or "0", 2)
        return value - (1 << WIDTH) if value >> WIDTH - 1 else value


def module(declarations: list[str], name: str = "t") -> str:
    """A module that puts constants out, 64 bits each."""
    outputs = ", ".join(f"output wire signed [{WIDTH - 1}:0] y{i}" for i in range(len(declarations)))
    assigns = "\n".join(f"  assign y{i} = K{i};" for i in range(len(declarations)))
    body = "\n".join(f"  {line}" for line in declarations)
    return f"module {name} ({outputs});{HELPERS}{body}\n{assigns}\nendmodule\n"


def declarations(draw: int, frontend: Frontend, reals: bool = False, count: int = BATCH) -> list[str]:
    """Constants that slang takes, and that the product does not refuse, each drawn by itself."""
    lines, drawn = list[str](), Drawn(draw, reals)
    with tempfile.TemporaryDirectory() as folder:
        while len(lines) < count:
            line = drawn.declaration("K0")
            if by_slang([line], Path(folder)) is not None and is_taken(line, frontend, Path(folder)):
                lines.append(renamed(line, len(lines)))
    return lines


def renamed(line: str, number: int) -> str:
    """A declaration with another number."""
    return re.sub(r"\bK\d+ =", f"K{number} =", line)


def is_taken(line: str, frontend: Frontend, folder: Path) -> bool:
    """Whether the product does not refuse a constant."""
    (folder / "t.sv").write_text(module([line]))
    try:
        check_defined(elaborate([folder / "t.sv"], "t"), frontend == "verilog")
    except Error:
        return False
    return True


def by_slang(lines: list[str], folder: Path) -> list[str] | None:
    """The outputs in binary, by slang's own evaluation; None for x, or for what is an error."""
    file = folder / "t.sv"
    file.write_text(module(lines))
    design = elaborate([file], "t")
    if any(d.isError() for d in design.body.compilation.getAllDiagnostics()):
        return None
    ast, texts = design.slang.ast, dict[str, str]()

    def visit(node: Any) -> None:
        if isinstance(node, ast.ContinuousAssignSymbol):
            value = node.assignment.right.eval(ast.EvalContext(design.body))
            texts[node.assignment.left.symbol.name] = "" if value.value is None else _binary(value.value)

    design.body.visit(visit)
    values = [texts[f"y{i}"] for i in range(len(lines))]
    return values if all(re.fullmatch(r"[01]+", v) for v in values) else None


def _binary(value: Any) -> str:
    return "".join(str(value[i]) for i in reversed(range(value.bitWidth)))


def by_yosys(lines: list[str], frontend: Frontend, folder: Path) -> list[str]:
    """The same by a front end of Yosys. Raises Error if it, or the product, refuses the module."""
    file = folder / "t.sv"
    file.write_text(module(lines))
    expected = check_defined(elaborate([file], "t"), frontend == "verilog")
    outputs = ", ".join(f"output wire signed [{WIDTH - 1}:0] y{i}" for i in range(len(lines)))
    text = f"{module(lines)}module top({outputs}); t dut(.*); endmodule\n"
    machine = read_btor2(netlist("top", DesignReading(Path(), top=text), frontend, expected).text)
    terms = (machine.outputs[f"y{i}"] for i in range(len(lines)))
    return [format(int(y.value), f"0{WIDTH}b") if y.is_const else "x" for y in terms]


def by_icarus(lines: list[str], folder: Path) -> list[str] | None:
    """The same by Icarus; None if it does not take the module, or is not installed."""
    if shutil.which("iverilog") is None:
        return None
    names = [f"y{i}" for i in range(len(lines))]
    wires = " ".join(f"wire [{WIDTH - 1}:0] {name};" for name in names)
    shows = " ".join(f'$display("%b", {name});' for name in names)
    (folder / "b.sv").write_text(f"{module(lines)}module b; {wires} t t(.*); initial begin #1 {shows} end endmodule\n")
    command = ["iverilog", "-g2012", "-o", "b", "-s", "b", "b.sv"]
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        return None
    shown = subprocess.run(["vvp", "-n", "b"], cwd=folder, capture_output=True, text=True, check=True).stdout
    return re.findall(rf"^[01xz]{{{WIDTH}}}$", shown, re.MULTILINE)


def compared(lines: list[str], reader: str) -> Iterator[Compared]:
    """What a reader makes of constants: slang, verilog, icarus. Of a module that it refuses, each half by itself."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        right = by_slang(lines, folder)
        assert right is not None
        try:
            outcome = (
                by_icarus(lines, folder)
                if reader == "icarus"
                else by_yosys(lines, "slang" if reader == "slang" else "verilog", folder)
            )
        except Error:
            outcome = None
        if outcome is not None:
            yield from map(Compared, lines, right, outcome)
        elif len(lines) == 1:
            yield Compared(lines[0], right[0], None)
    if outcome is None and len(lines) > 1:
        for part in (lines[: len(lines) // 2], lines[len(lines) // 2 :]):
            yield from compared([renamed(line, i) for i, line in enumerate(part)], reader)
