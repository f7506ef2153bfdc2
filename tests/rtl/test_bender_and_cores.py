"""Bender.yml and .core files as sources: each rule of the formats, read from small checkouts.

What a rule gives was compared with FuseSoC 2.4 for the cores below (the files of its EDAM), and with Bender's book and
sources for the manifests.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.base.yaml_text import read_yaml, truth
from softfloat_ref.rtl.sources import Sources, read_sources

needs_yaml = pytest.mark.extra("yaml")


def tree(root: Path, files: dict[str, str]) -> Path:
    """Write files; a source declares a module of its name."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or f"module {path.stem}; endmodule\n")
    return root


def names(sources: Sources, root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in sources.files]


def read(path: Path, *targets: str) -> Sources:
    return read_sources([path], targets=targets)


# -- Bender ------------------------------------------------------------------------------------------------------------

BENDER = """
package: {name: Unit, authors: [somebody]}
dependencies:
  cells: {path: ../cells, pass_targets: [fast, {target: fpga, pass: slow}]}
  uvm: {git: "https://example.com/uvm.git", version: 1.2, target: test}
export_include_dirs: [include, {target: fpga, dir: fpga}]
sources:
  - a.sv
  - target: all(rtl, not(fpga))
    include_dirs: [more, none]
    defines: {WIDTH: 8, FLAG: ~, ONLY: {target: fpga, value: 1}, MODE: {target: "*", value: x}}
    files:
      - b.sv
      - target: any(test, (simulation))
        files: [c.sv]
      - sv: d.enc
  - {target: fpga, files: [f.sv]}
  - external_flists: [lists/x.f]
    files: []
  - wild/*.sv
  - {override_files: true, files: [patches/cell.sv]}
"""
CELLS = """
package: {name: cells}
sources:
  files: [cell.sv, {target: fast, files: [fast.sv]}, {target: slow, files: [slow.sv]}]
"""


@pytest.fixture
def bender(tmp_path: Path) -> Path:
    sources = ("a", "b", "c", "f", "wild/y", "wild/x", "patches/cell", "lists/l")
    files = {f"unit/{name}.sv": "" for name in sources} | {"unit/d.enc": "", "unit/wild/z.txt": ""}
    files |= {f"cells/{name}.sv": "" for name in ("cell", "fast", "slow")}
    files |= {"unit/Bender.yml": BENDER, "cells/Bender.yml": CELLS, "unit/lists/x.f": "// two\n+define+LIST=1\nl.sv\n"}
    for folder in ("include", "more", "fpga"):
        (tmp_path / "unit" / folder).mkdir(parents=True)
    return tree(tmp_path, files)


@needs_yaml
@pytest.mark.parametrize("given", ["source", "-f", "-F", "in a list"])
def test_a_manifest(given: str, bender: Path) -> None:
    (bender / "all.f").write_text("unit/Bender.yml")
    manifest = str(bender / "unit" / "Bender.yml")
    kind = {"source": "files", "-f": "file_lists", "-F": "relative_lists", "in a list": "relative_lists"}[given]
    sources = read_sources(**{kind: [str(bender / "all.f") if given == "in a list" else manifest]})  # type: ignore[arg-type]
    assert names(sources, bender) == [
        *(
            "unit/patches/cell.sv",
            "cells/fast.sv",
            "unit/a.sv",
            "unit/b.sv",
            "unit/c.sv",
            "unit/d.enc",
            "unit/lists/l.sv",
        ),
        *("unit/wild/x.sv", "unit/wild/y.sv"),
    ]
    assert [str(path.relative_to(bender)) for path in sources.include_dirs] == ["unit/include", "unit/more"]
    assert sources.defines == {
        **dict.fromkeys(("TARGET_FAST", "TARGET_RTL", "TARGET_SIMULATION", "FLAG", "LIST"), "1"),
        "WIDTH": "8",
        "MODE": "x",
    }
    assert sources.defined_by["WIDTH"] == f"{manifest}:11"
    assert sources.skipped == (f"{manifest}:10: none, which is not a folder,",)
    assert {path.name for path in sources.lists} == {"Bender.yml", "x.f", *(["all.f"] if given == "in a list" else [])}


@needs_yaml
def test_targets_of_a_manifest(bender: Path) -> None:
    sources = read(bender / "unit" / "Bender.yml", "FPGA", "synthesis")
    assert {"cells/slow.sv", "unit/f.sv"} < set(names(sources, bender))
    assert "unit/b.sv" not in names(sources, bender)
    assert [path.name for path in sources.include_dirs] == ["include", "fpga"]
    assert sorted(sources.defines) == ["LIST", "TARGET_FAST", "TARGET_FPGA", "TARGET_SLOW", "TARGET_SYNTHESIS"]


@needs_yaml
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        *(("*", True), ("rtl", True), ("RTL", True), ("(rtl)", True), ("fpga", False), ("not(fpga)", True)),
        *(("all(rtl, simulation)", True), ("all(rtl, fpga)", False), ("any(fpga, not(rtl))", False)),
        *((" any ( fpga ,\n rtl ) ", True), ("not(all(rtl, any(fpga, simulation)))", False), ("a.b-c_1", False)),
    ],
)
def test_conditions_on_targets(condition: str, holds: bool, tmp_path: Path) -> None:
    text = f'package: {{name: x}}\nsources: [{{target: "{condition}", files: [a.sv]}}]\n'.replace("\n r", " r")
    tree(tmp_path, {"Bender.yml": text, "a.sv": ""})
    assert bool(read(tmp_path / "Bender.yml").files) is holds


CHECKOUT = "cells-" + hashlib.blake2b(b'https://example.com/cells.git"unit"').hexdigest()[:16]
GIT = """package: {name: unit}
dependencies: {cells: {git: 'https://example.com/cells.git', version: 1}}
sources: [a.sv]
"""
PLACES = {  # of a package from git, and what makes Bender look there
    "a checkout": (f".bender/git/checkouts/{CHECKOUT}", {}),
    "the checkout of another version of Bender": (".bender/git/checkouts/cells-0123456789abcdef", {}),
    "one of two, by its URL": (
        f".bender/git/checkouts/{CHECKOUT}",
        {".bender/git/checkouts/cells-0123456789abcdef/Bender.yml": "package: {name: other}"},
    ),
    "one of two, by the lock file": (
        ".bender/git/checkouts/cells-" + hashlib.blake2b(b'ssh://cells"unit"').hexdigest()[:16],
        {
            "Bender.lock": "packages: {cells: {revision: abc, source: {Git: 'ssh://cells'}, dependencies: []}}",
            f".bender/git/checkouts/{CHECKOUT}/Bender.yml": "package: {name: other}",
        },
    ),
    "a local override": ("mine", {"Bender.local": "overrides: {cells: {path: mine}}"}),
    "a path that is locked": ("mine", {"Bender.lock": "packages: {cells: {source: {Path: mine}}}"}),
    "the folder of checkouts": (
        "deps/cells",
        {"Bender.yml": GIT + "workspace: {checkout_dir: deps}\n"},
    ),
}


@needs_yaml
@pytest.mark.parametrize("name", PLACES)
def test_packages_from_git(name: str, tmp_path: Path) -> None:
    place, files = PLACES[name]
    text = "package: {name: cells}\nsources: [c.sv]\n"
    tree(tmp_path, {"Bender.yml": GIT, "a.sv": "", f"{place}/Bender.yml": text, f"{place}/c.sv": "", **files})
    assert names(read(tmp_path / "Bender.yml"), tmp_path) == [f"{place}/c.sv", "a.sv"]


@needs_yaml
def test_a_package_that_gets_a_target_later(tmp_path: Path) -> None:
    """d is read for b first; c passes it a target, which adds a file and a package."""
    of = "package: {name: %s}\ndependencies: {%s}\nsources: [%s]\n"
    files = {
        "a/Bender.yml": of % ("a", "b: {path: ../b}, c: {path: ../c}", "a.sv"),
        "b/Bender.yml": of % ("b", "d: {path: ../d}", "b.sv"),
        "c/Bender.yml": of % ("c", "d: {path: ../d, pass_targets: [deep]}", "c.sv"),
        "d/Bender.yml": of % ("d", "e: {path: ../e, target: deep}", "{target: deep, files: [d.sv]}"),
        "e/Bender.yml": of % ("e", "", "e.sv, {target: deep, files: [no.sv]}"),
    }
    tree(tmp_path, files | {f"{name}/{name}.sv": "" for name in "abcde"})
    sources = read(tmp_path / "a" / "Bender.yml")
    assert names(sources, tmp_path) == ["e/e.sv", "d/d.sv", "b/b.sv", "c/c.sv", "a/a.sv"]


WRONG_MANIFESTS = {
    "no package": ("sources: []", "Bender.yml: package has no name"),
    "an unknown dependency": (
        GIT,
        r"Bender.yml:2: dependency cells is in a git repository \(https://example.com/cells",
    ),
    "a missing path": (
        "package: {name: x}\ndependencies: {y: {path: y}}",
        "Bender.yml:2: dependency y: no such folder",
    ),
    "a missing file": ("package: {name: x}\nsources:\n  - none.sv", "Bender.yml:3: .*none.sv: no such source file"),
    "a condition": ("package: {name: x}\nsources: [{target: 'all(a', files: []}]", "Bender.yml:2: .*parenthesis"),
    "a character": ("package: {name: x}\nsources: [{target: 'a & b', files: []}]", "Bender.yml:2: .*unexpected '&'"),
    "two conditions": ("package: {name: x}\nsources: [{target: 'a b', files: []}]", "Bender.yml:2: .*unexpected 'b'"),
    "not of two": ("package: {name: x}\nsources: [{target: 'not(a, b)', files: []}]", "not takes one condition"),
    "itself": ("package: {name: x}\ndependencies: {x: {path: .}}", "the package depends on itself"),
    "no list": ("package: {name: x}\nsources: {files: {a: b}}", "Bender.yml:2: files is not a list"),
    "YAML": ("package: {name: x\n", "Bender.yml:2: "),
    "two macros": (
        "package: {name: x}\nsources: [{defines: {W: 1}, files: []}, {defines: {W: 2}, files: []}]",
        "Bender.yml:2: macro W has another value",
    ),
    "an alias that doubles": (
        "package: {name: x}\nx0: &a0 []\n"
        + "".join(f"x{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(30))
        + "sources: *a30\n",
        "more than 10000 groups",
    ),
}


@needs_yaml
@pytest.mark.parametrize("name", WRONG_MANIFESTS)
def test_manifests_that_are_wrong(name: str, tmp_path: Path) -> None:
    text, message = WRONG_MANIFESTS[name]
    tree(tmp_path, {"Bender.yml": text})
    with pytest.raises(Error, match=message):
        read(tmp_path / "Bender.yml")


# -- FuseSoC -----------------------------------------------------------------------------------------------------------

TOP_CORE = """CAPI=2:
name: acme:fpu:top:1.0
filesets:
  base: &base
    depend: [">=acme:lib:cells:1.0", "tool_icarus? (acme:lib:icarus)", "!tool_icarus? (acme:lib:generic)"]
    file_type: systemVerilogSource
  rtl:
    <<: *base
    files:
      - rtl/defs.svh: {is_include_file: true}
      - rtl/deep/x.svh: {is_include_file: true, include_path: rtl}
      - rtl/b.sv
      - rtl/old.v: {file_type: verilogSource-2005, define: {OLD: 1}}
      - "target_sim? (rtl/sim.sv) !target_sim? (rtl/synth.sv)"
      - rtl/u.vhd: {file_type: vhdlSource-2008}
      - "fancy? (rtl/fancy.sv)": {define: {FANCY: true}}
      - notes.txt: {file_type: user}
      - waive.vlt: {file_type: vlt}
  tb: {files: [tb.sv], file_type: systemVerilogSource}
  more: {files: [more.sv], file_type: systemVerilogSource, files_append: [last.sv]}
parameters:
  WIDTH: {datatype: int, default: 8, paramtype: vlogdefine}
  DEPTH: {datatype: int, paramtype: vlogparam}
  trace: {datatype: bool, default: true, paramtype: plusarg}
targets:
  default: &default
    filesets: [rtl]
    toplevel: top
  sim:
    <<: *default
    filesets_append: ["!tool_verilator? (tb)", more]
    default_tool: icarus
    flags: {fancy: true, sram: fast}
    parameters: [WIDTH=16, DEPTH=4, trace, cells_parameter, DEBUG=true, NAME=true, QUIET, "sram_fast? (FAST=1)"]
"""
MACROS = """parameters:
  FAST: {datatype: int, paramtype: vlogdefine}
  DEBUG: {datatype: bool, paramtype: vlogdefine}
  NAME: {datatype: str, paramtype: vlogdefine}
  QUIET: {datatype: bool, default: false, paramtype: vlogdefine}
"""
TOP_CORE = TOP_CORE.replace("parameters:\n  WIDTH", f"{MACROS}  WIDTH")
CELL_CORE = """CAPI=2:
name: acme:lib:cells:%s
filesets: {rtl: {files: [c%s.v, "is_toplevel? (top.v)"], file_type: verilogSource}}
parameters: {cells_parameter: {datatype: str, default: x, paramtype: vlogdefine}}
targets: {default: {filesets: [rtl], parameters: [cells_parameter]}, sim: {filesets: []}}
"""
SMALL_CORE = """CAPI=2:
name: "acme:lib:%s"
virtual: [%s]
filesets: {rtl: {files: [%s.sv], file_type: systemVerilogSource, depend: [%s]}}
targets: {default: {filesets: [rtl], toplevel: x}}
"""
CORES = {
    "top.core": TOP_CORE,
    "cores/cells/c1.core": CELL_CORE % ("1.9", "1"),
    "cores/cells/c2.core": CELL_CORE % ("1.10", "2"),
    "cores/cells/c3.core": CELL_CORE % ("0.9", "3"),
    "cores/ignored/c4.core": CELL_CORE % ("3.0", "4"),
    "cores/ignored/FUSESOC_IGNORE": "\n",
    "cores/icarus.core": SMALL_CORE % ("icarus", "", "i", '"acme:lib:memory"'),
    "cores/generic.core": SMALL_CORE % ("generic:2.0-r1", "", "g", ""),
    "cores/memory.core": SMALL_CORE % ("ram", "acme:lib:memory", "ram", ""),
    "cores/rom.core": SMALL_CORE % ("rom", "acme:lib:memory", "rom", ""),
    "cores/old.core": "CAPI=1\n[main]\nname = ::old:0\n",
}
RTL = ("defs.svh", "deep/x.svh", "b.sv", "old.v", "sim.sv", "synth.sv", "u.vhd", "fancy.sv")
CELLS_RTL = ("cells/c1.v", "cells/c2.v", "i.sv", "g.sv", "ram.sv")
FILES = [*(f"rtl/{x}" for x in RTL), *(f"cores/{x}" for x in CELLS_RTL), "tb.sv", "more.sv", "last.sv"]


@pytest.fixture
def cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tree(tmp_path, CORES | dict.fromkeys(FILES, ""))


@needs_yaml
def test_a_core(cores: Path) -> None:
    sources = read(cores / "top.core")
    assert names(sources, cores) == [
        *("cores/cells/c2.v", "cores/g.sv", "rtl/b.sv", "rtl/old.v", "rtl/synth.sv", "rtl/u.vhd"),
    ]
    assert sources.include_dirs == (cores / "rtl",)
    assert sources.defines == {"cells_parameter": "x", "OLD": "1"}
    assert [line.removeprefix(f"{cores}/") for line in sources.skipped] == [
        "top.core:8: 1 file of type user",
        "top.core:8: 1 file of type vlt",
    ]
    assert [path.name for path in sources.lists] == ["top.core", "c2.core", "generic.core"]


MORE = {"FAST": "1", "DEBUG": "1", "NAME": "true", "QUIET": "0"}


@needs_yaml
def test_a_target_of_a_core(cores: Path) -> None:
    sources = read(cores / "top.core", "sim")
    assert names(sources, cores) == [
        *("cores/cells/c2.v", "cores/ram.sv", "cores/i.sv", "rtl/b.sv", "rtl/old.v", "rtl/sim.sv", "rtl/u.vhd"),
        *("rtl/fancy.sv", "tb.sv", "more.sv", "last.sv"),
    ]
    assert sources.defines == {"cells_parameter": "x", "OLD": "1", "FANCY": "1", "WIDTH": "16", **MORE}
    assert [line.rpartition(": ")[2] for line in sources.skipped if "type" not in line] == [
        "acme:lib:rom, which also is acme:lib:memory,",
        "parameter DEPTH = 4, a vlogparam,",
        "parameter trace = true, a plusarg,",
    ]


@needs_yaml
def test_flags_of_the_command_line(cores: Path) -> None:
    sources = read(cores / "top.core", "tool_icarus", "fancy")
    assert "cores/i.sv" in names(sources, cores)
    assert "rtl/fancy.sv" in names(sources, cores)


@needs_yaml
def test_cores_in_a_library(cores: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Those of fusesoc.conf; the highest version of all that fit."""
    library = tree(tmp_path_factory.mktemp("library"), {"c.core": CELL_CORE % ("2.0", "9"), "c9.v": ""})
    (cores / "fusesoc.conf").write_text(f"[library.more]\nlocation = {library}\nsync-type = local\n")
    assert library / "c9.v" in read(cores / "top.core").files


@needs_yaml
@pytest.mark.parametrize(
    ("wanted", "version"),
    [
        *(
            ("acme:lib:cells", "2"),
            ("acme:lib:cells:1.9", "1"),
            ("=acme:lib:cells:0.9", "3"),
            ("<acme:lib:cells:1.10", "1"),
        ),
        *(("~acme:lib:cells:1.9", "1"), ("^acme:lib:cells:1.9", "2"), ("^acme:lib:cells:0.1", "3")),
        *(("<=acme:lib:cells:1.9.0", "1"), (">acme:lib:cells:1.9", "2"), ("!acme:lib:cells:1.9", "")),
    ],
)
def test_versions(wanted: str, version: str, cores: Path) -> None:
    (cores / "x.core").write_text(SMALL_CORE % ("x", "", "x", f'"{wanted}"'))
    tree(cores, {"x.sv": "", "cores/cells/c3.v": ""})
    assert names(read(cores / "x.core"), cores) == [*([f"cores/cells/c{version}.v"] if version else []), "x.sv"]


def core(rest: str) -> str:
    return f"CAPI=2:\nname: a:b:c\n{rest}"


WRONG_CORES = {
    "no target": (core("filesets: {}\n"), (), "the core has no target default; give --target NAME, of none"),
    "no fileset": (core("targets: {default: {filesets: [rtl]}}\n"), (), "x.core:3: the core has no fileset rtl"),
    "no core": (
        core("filesets: {r: {depend: ['d:e:f']}}\ntargets: {default: {filesets: [r]}}\n"),
        (),
        "x.core:3: depends on d:e:f: no such core in ",
    ),
    "no version": (
        core("filesets: {r: {depend: ['acme:lib:cells:7']}}\ntargets: {default: {filesets: [r]}}\n"),
        (),
        "only version 1.9, 1.10, 0.9 in ",
    ),
    "a condition": (core("targets: {default: {filesets: ['a? (b']}}\n"), (), "x.core:3: .* `flag\\? "),
    "another condition": (core("targets: {default: {filesets: ['a? b)']}}\n"), (), "x.core:3: .* `flag\\? "),
    "a parameter": (core("targets: {default: {parameters: [P=1]}}\n"), (), "the core has no parameter P"),
    "a missing file": (
        core("filesets: {r: {files: [none.v], file_type: verilogSource}}\ntargets: {default: {filesets: [r]}}\n"),
        (),
        "x.core:3: .*none.v: no such source file",
    ),
    "itself": (
        core("filesets: {r: {depend: ['a:b:c']}}\ntargets: {default: {filesets: [r]}}\n"),
        (),
        "the core depends on itself",
    ),
    "a list that is inherited": (core("x: &x {}\ntargets: {default: {<<: [*x]}}\n"), (), "inherits one table"),
    "a name": ("CAPI=2:\nname: a:b\ntargets: {default: {}}\n", (), "'a:b' is not the name of a core"),
}


@needs_yaml
@pytest.mark.parametrize("name", WRONG_CORES)
def test_cores_that_are_wrong(name: str, cores: Path) -> None:
    text, targets, message = WRONG_CORES[name]
    (cores / "x.core").write_text(text)
    with pytest.raises(Error, match=message):
        read(cores / "x.core", *targets)


# -- both --------------------------------------------------------------------------------------------------------------


def test_what_is_not_a_project_file_is_a_source(tmp_path: Path) -> None:
    tree(tmp_path, {"x.core": "module x; endmodule\n", "bender.yml": ""})
    assert names(read_sources([tmp_path / "x.core", tmp_path / "bender.yml"]), tmp_path) == ["x.core", "bender.yml"]


def test_a_target_without_a_project_file_is_refused(tmp_path: Path) -> None:
    tree(tmp_path, {"a.sv": ""})
    with pytest.raises(Error, match=r"--target sim is for Bender\.yml and \.core files, of which there is none"):
        read(tmp_path / "a.sv", "sim")


@pytest.mark.parametrize("name", ["Bender.yml", "x.core"])
def test_without_pyyaml(name: str, tmp_path: Path) -> None:
    tree(tmp_path, {"Bender.yml": GIT, "x.core": core("")})
    with patch.dict(sys.modules, {"yaml": None}), pytest.raises(Error, match=f"{name}: PyYAML, which reads .*, is not"):
        read(tmp_path / name)


# -- YAML --------------------------------------------------------------------------------------------------------------


@needs_yaml
def test_yaml_stays_as_it_was_typed(tmp_path: Path) -> None:
    path = (
        tree(tmp_path, {"x": "﻿a: 0x10\nb: 1.10\nc: [yes, ~, 'no', 1:30, 2026-01-01]\nd: &d {e: \"\"}\nf: *d\n"}) / "x"
    )
    value = read_yaml(path, "x")
    assert value == {
        "a": "0x10",
        "b": "1.10",
        "c": ["yes", None, "no", "1:30", "2026-01-01"],
        "d": {"e": ""},
        "f": {"e": ""},
    }
    assert isinstance(value, dict)
    assert [truth(item) for item in value["c"]] == [True, None, None, None, None]
    assert value["d"] is value["f"]
    assert next(key.line for key in value if key == "c") == 3
    assert read_yaml(tree(tmp_path, {"y": "# nothing\n"}) / "y", "y") is None


@needs_yaml
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "x:2: a is there twice"),
        ("a: *b\n", r"x:1: \*b has no anchor before it"),
        ("a: &b [*b]\n", r"x:1: \*b has no anchor before it, or stands within it"),
        ("[a, b]: c\n", "x:1: a key that is not a text"),
        ("a\n---\nb\n", "x:2: a second document"),
        ("[" * 70 + "]" * 70, "x:1: more than 64 tables and lists in each other"),
        ("[" * 200_000, "x:1: more than 64"),
        ("a: [\n", "x:2: "),
        ("a: !!python/object/apply:os.system [ls]\nb: '\n", "x:3: "),
        ("a" * (1 << 18) + "b", "the limit for such a file"),
        ("a: \x00", "x: unacceptable character #x0000"),
    ],
)
def test_yaml_that_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(Error, match=message):
        read_yaml(tree(tmp_path, {"x": text}) / "x", "x")
