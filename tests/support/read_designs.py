"""Designs that are right until a file that a proof has read changes; and the commands that prove them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from softfloat_ref.proof.yosys import FRONTENDS
from softfloat_ref.rtl.cycles import SIMULATORS

FORMAT = "fp8_e4m3"
PORTS = 'module = "dut"\nignore = ["flags"]\ninputs = { a = "a" }\noutputs = { result = "result" }\n'
DUT = "module dut#(parameter P = 0) (input [7:0] a, output [7:0] result); {} endmodule\n"
GOOD, BAD = DUT.format("assign result = a & 8'h7f;"), DUT.format("assign result = a;")
TABLE = DUT.format("reg [7:0] t [0:255]; {} assign result = t[a];")
MASKED = DUT.format('`include "mask.vh"\nassign result = a & `MASK;')
RIGHT, WRONG = "`define MASK 8'h7f\n", "`define MASK 8'hff\n"
USER = DUT.format("absolute m(a, result);")
LIBRARY = "module absolute(input [7:0] a, output [7:0] y); {} endmodule\n"
ABS, NOT_ABS = LIBRARY.format("assign y = a & 8'h7f;"), LIBRARY.format("assign y = a;")


def rom(wrong: bool = False, form: str = "{:02x}") -> str:
    """The table of abs; a wrong one has the sign in entry 92."""
    return "".join(form.format(a if wrong and a == 0x92 else a & 0x7F) + "\n" for a in range(256))


def reads_memory(name: str, task: str = "$readmemh") -> str:
    return TABLE.format(f"initial {task}({name}, t);")


@dataclass(frozen=True)
class ChangedDesign:
    """A design that is right, and a change after which it is wrong: of files, or of links. named: by --check, if it can
    know. simulators: those that show it, where no proof does."""

    files: dict[str, str]
    change: dict[str, str]
    named: str
    options: tuple[str, ...] = ("dut.sv",)
    links: dict[str, str] = field(default_factory=dict)
    frontends: tuple[str, ...] = FRONTENDS
    place: str = "."  # where the command is given
    code: int = 1  # of the proof after the change
    simulators: tuple[str, ...] = ()


def memory(name: str, **more: str) -> ChangedDesign:
    return ChangedDesign({"dut.sv": reads_memory(name, **more), "rom.hex": rom()}, {"rom.hex": rom(True)}, "rom.hex")


def library(named: str, code: int = 1) -> ChangedDesign:
    files = {"dut.sv": USER, "early/none.v": "", "late/none.v": "", "late/absolute.sv": ABS}
    options = ("dut.sv", "-y", "early", "-y", "late")
    return ChangedDesign(files, {named: NOT_ABS}, named, options, frontends=("slang",), code=code)


ELSE = '`ifdef SYNTHESIS\n`include "mask.vh"\n`else\n`include "other.vh"\n`endif\n'
OTHER = DUT.format(f"{ELSE}assign result = a & `MASK;")
ROM = ("dut.sv", "-D", 'ROM="rom.hex"')
LINE = "initial $readmemh(FILE, t);"
CASES = {
    "source": ChangedDesign({"dut.sv": GOOD}, {"dut.sv": BAD}, "dut.sv"),
    "include": ChangedDesign({"dut.sv": MASKED, "mask.vh": RIGHT}, {"mask.vh": WRONG}, "mask.vh"),
    "include by a macro": ChangedDesign(
        {"dut.sv": MASKED.replace('"mask.vh"', "`NAME"), "mask.vh": RIGHT},
        {"mask.vh": WRONG},
        "mask.vh",
        ("dut.sv", "-D", 'NAME="mask.vh"'),
    ),
    "include of an include": ChangedDesign(
        {"dut.sv": MASKED, "mask.vh": '`include "more.vh"\n', "more.vh": RIGHT}, {"more.vh": WRONG}, "more.vh"
    ),
    "include beside the folder": ChangedDesign(
        {"src/dut.sv": MASKED.replace("mask", "../inc/mask"), "inc/mask.vh": RIGHT},
        {"inc/mask.vh": WRONG},
        "src/../inc/mask.vh",
        ("src/dut.sv",),
    ),
    "include by an absolute path": ChangedDesign(
        {"dut.sv": MASKED.replace("mask.vh", "HERE/inc/mask.vh"), "inc/mask.vh": RIGHT},
        {"inc/mask.vh": WRONG},
        "inc/mask.vh",
    ),
    "include in a file list": ChangedDesign(
        {"dut.sv": MASKED, "inc/mask.vh": RIGHT, "all.f": "+incdir+inc dut.sv"},
        {"inc/mask.vh": WRONG},
        "inc/mask.vh",
        ("-f", "all.f"),
    ),
    "file list": ChangedDesign(
        {"a.sv": GOOD, "b.sv": BAD, "all.f": "a.sv"},
        {"all.f": "b.sv"},
        "all.f",
        ("-f", "all.f"),
    ),
    "memory": memory('"rom.hex"'),
    "memory in binary": ChangedDesign(
        {"dut.sv": reads_memory('"rom.bin"', "$readmemb"), "rom.bin": rom(form="{:08b}")},
        {"rom.bin": rom(True, "{:08b}")},
        "rom.bin",
    ),
    "memory by a macro": ChangedDesign(
        {"dut.sv": reads_memory("`ROM"), "rom.hex": rom()}, {"rom.hex": rom(True)}, "rom.hex", ROM
    ),
    "memory by a parameter of the port map": ChangedDesign(
        {
            "dut.sv": TABLE.replace("parameter P = 0", 'parameter FILE = "none.hex"').format(LINE),
            "ports.toml": PORTS + 'parameters = { FILE = "rom.hex" }\n',
            "rom.hex": rom(),
        },
        {"rom.hex": rom(True)},
        "rom.hex",
    ),
    "memory by a packed parameter": ChangedDesign(
        {"dut.sv": TABLE.format(f'localparam [8*7:1] FILE = "rom.hex"; {LINE}'), "rom.hex": rom()},
        {"rom.hex": rom(True)},
        "rom.hex",
        frontends=("verilog",),
    ),
    "memory by a concatenation": ChangedDesign(
        {"dut.sv": TABLE.format(f'localparam FILE = {{"dir/", "rom", ".hex"}}; {LINE}'), "dir/rom.hex": rom()},
        {"dir/rom.hex": rom(True)},
        "dir/rom.hex",
    ),
    "memory by a function": ChangedDesign(
        {
            "dut.sv": TABLE.format(
                'function automatic string name(int i); return $sformatf("rom%0d.hex", i); endfunction\n'
                "initial $readmemh(name(3), t);"
            ),
            "rom3.hex": rom(),
        },
        {"rom3.hex": rom(True)},
        "rom3.hex",
        frontends=("slang",),
    ),
    "memory in a condition": ChangedDesign(
        {"dut.sv": TABLE.format('initial if (P == 0) $readmemh("rom.hex", t); else $readmemh("no.hex", t);')}
        | {"rom.hex": rom()},
        {"rom.hex": rom(True)},
        "rom.hex",
    ),
    "memory in one of two blocks": ChangedDesign(
        {
            "dut.sv": DUT.format('if (P) no no(a, result); else m #("rom.hex") m(a, result);'),
            "m.sv": TABLE.replace("dut#(parameter P", "m#(parameter F").format("initial $readmemh(F, t);"),
            "rom.hex": rom(),
        },
        {"rom.hex": rom(True)},
        "rom.hex",
        ("dut.sv", "m.sv"),
    ),
    "memory of a library": ChangedDesign(
        {
            "dut.sv": USER,
            "lib/absolute.v": LIBRARY.format('reg [7:0] t [0:255]; initial $readmemh("rom.hex", t); assign y = t[a];'),
            "rom.hex": rom(),
        },
        {"rom.hex": rom(True)},
        "rom.hex",
        ("dut.sv", "-y", "lib"),
        frontends=("slang",),
    ),
    "memory by an absolute path": ChangedDesign(
        {"dut.sv": reads_memory('"HERE/dir/rom.hex"'), "dir/rom.hex": rom()}, {"dir/rom.hex": rom(True)}, "dir/rom.hex"
    ),
    "memory in another working folder": ChangedDesign(
        {"src/dut.sv": reads_memory('"rom.hex"'), "src/rom.hex": rom(True), "rom.hex": rom()},
        {"rom.hex": rom(True)},
        "rom.hex",
        ("src/dut.sv",),
    ),
    "memory above the working folder": ChangedDesign(
        {"dut.sv": reads_memory('"../rom.hex"'), "sub/none": "", "rom.hex": rom()},
        {"rom.hex": rom(True)},
        "rom.hex",
        ("../dut.sv",),
        place="sub",
    ),
    "library file": ChangedDesign(
        {"dut.sv": USER, "cells.v": ABS},
        {"cells.v": NOT_ABS},
        "cells.v",
        ("dut.sv", "-v", "cells.v"),
        frontends=("slang",),
    ),
    "library folder": library("late/absolute.sv"),
    "new module in an earlier folder": library("early/absolute.sv"),
    "new module of an earlier extension": library("late/absolute.v", 2),  # slang takes the other one
    "new module of both": library("early/absolute.v"),
    "new include in an earlier folder": ChangedDesign(
        {"dut.sv": MASKED, "early/none": "", "late/mask.vh": RIGHT},
        {"early/mask.vh": WRONG},
        "early/mask.vh",
        ("dut.sv", "-I", "early", "-I", "late"),
    ),
    "new include in a source's folder": ChangedDesign(
        {"one/dut.sv": MASKED, "two/more.sv": "module more; endmodule\n", "two/mask.vh": RIGHT},
        {"one/mask.vh": WRONG},
        "one/mask.vh",
        ("one/dut.sv", "two/more.sv"),
    ),
    "new include above an earlier folder": ChangedDesign(
        {"dut.sv": MASKED.replace("mask", "../mask"), "x/early/none": "", "late/none": "", "mask.vh": RIGHT},
        {"x/mask.vh": WRONG},
        "x/early/../mask.vh",
        ("dut.sv", "-I", "x/early", "-I", "late"),
    ),
    "link to a source": ChangedDesign(
        {"one.sv": GOOD, "two.sv": BAD},
        {"dut.sv": "-> two.sv"},
        "dut.sv",
        links={"dut.sv": "one.sv"},
    ),
    "link to a folder of includes": ChangedDesign(
        {"dut.sv": MASKED, "one/mask.vh": RIGHT, "two/mask.vh": WRONG},
        {"inc": "-> two"},
        "inc/mask.vh",
        ("dut.sv", "-I", "inc"),
        links={"inc": "one"},
    ),
    "link to a folder of modules": ChangedDesign(
        {"dut.sv": USER, "one/absolute.v": ABS, "two/absolute.v": NOT_ABS},
        {"lib": "-> two"},
        "lib/absolute.v",
        ("dut.sv", "-y", "lib"),
        links={"lib": "one"},
        frontends=("slang",),
    ),
    "link to a memory file": ChangedDesign(
        {"dut.sv": reads_memory('"rom.hex"'), "one.hex": rom(), "two.hex": rom(True)},
        {"rom.hex": "-> two.hex"},
        "rom.hex",
        links={"rom.hex": "one.hex"},
    ),
    "include for simulators": ChangedDesign(
        {"dut.sv": OTHER, "mask.vh": RIGHT, "other.vh": RIGHT},
        {"other.vh": WRONG},
        "other.vh",
        frontends=("slang",),
    ),
    "memory for simulators": ChangedDesign(
        {
            "dut.sv": TABLE.format(ELSE.replace("`include", "initial $readmemh(").replace('.vh"', '.hex", t);')),
            "mask.hex": rom(),
            "other.hex": rom(),
        },
        {"other.hex": rom(True)},
        "other.hex",
        frontends=("slang",),
    ),
    "new include for simulators": ChangedDesign(
        {"dut.sv": OTHER, "early/none": "", "mask.vh": RIGHT, "other.vh": RIGHT},
        {"early/other.vh": WRONG},
        "early/other.vh",
        ("dut.sv", "-I", "early"),
        frontends=("slang",),
        simulators=SIMULATORS,  # they look in other folders: their text is not read for a proof
    ),
    "macro": ChangedDesign(
        {"dut.sv": DUT.format("assign result = a & `MASK;"), "x.f": "+define+MASK=8'h7f"},
        {"x.f": "+define+MASK=8'hff"},
        "x.f",
        ("dut.sv", "-f", "x.f"),
    ),
    "parameter": ChangedDesign(
        {
            "dut.sv": DUT.format("assign result = a & (P ? 8'h7f : 8'hff);"),
            "ports.toml": PORTS + "parameters = { P = 1 }\n",
        },
        {"ports.toml": PORTS + "parameters = { P = 0 }\n"},
        "ports.toml",
    ),
}


def write(folder: Path, files: dict[str, str]) -> None:
    """Files, and links, whose text is an arrow to the other one."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.unlink(missing_ok=True)
            path.symlink_to(text[3:])
        else:
            path.write_text(text.replace("HERE", str(folder)))


def prove(folder: Path, *options: str) -> tuple[str, ...]:
    return ("prove", "abs", "--fmt", FORMAT, "--ports", str(folder / "ports.toml"), *options)


def design(folder: Path, case: ChangedDesign, frontend: str) -> tuple[tuple[str, ...], Path]:
    """The command that proves it, and where it is given."""
    write(folder, {"ports.toml": PORTS, **case.files, **{k: f"-> {v}" for k, v in case.links.items()}})
    return prove(folder, *case.options, "--frontend", frontend), folder / case.place
