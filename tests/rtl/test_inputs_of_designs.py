"""What is recorded of a design's files, against what slang does when another file appears; and private copies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.inputs import memory_files, read_inputs
from softfloat_ref.rtl.module_ports import Elaborated, elaborate
from softfloat_ref.rtl.reading import DesignReading, Macro, ReadFile, list_changes
from softfloat_ref.rtl.sources import Sources, read_sources

pytestmark = pytest.mark.extra("pyslang")
PRIMITIVE = "output y; input z; table 0:0; 1:1; endtable"
USES = {  # of a name that a library may define, and what the library has
    "module": ("x x();", "module x; endmodule"),
    "module with parameters": ("x #(.A(1)) x();", "module x; parameter A = 0; endmodule"),
    "array of modules": ("x x[3:0]();", "module x; endmodule"),
    "module in a block that is left out": ("if (0) begin x x(); end", "module x; endmodule"),
    "module in a loop": ("for (genvar i = 0; i < 2; i++) x x();", "module x; endmodule"),
    "interface": ("x x();", "interface x; endinterface"),
    "checker": ("x x(1);", "checker x(a); endchecker"),
    "import": ("import x::*;", "package x; endpackage"),
    "import of a name": ("import x::n;", "package x; localparam n = 1; endpackage"),
    "name of a package": ("localparam n = x::n;", "package x; localparam n = 1; endpackage"),
    "type of a package": ("x::t n;", "package x; typedef int t; endpackage"),
    "class of a package": ("x::c #(3)::t n;", "package x; class c #(int n); typedef int t; endclass endpackage"),
    "bind": ("other o(); bind other x x();", "module x; endmodule"),
    "primitive": ("wire y, z; x (y, z);", f"primitive x(y, z); {PRIMITIVE} endprimitive"),
    "port": ("", "interface x; endinterface"),
}


def design(sources: Sources) -> Elaborated:
    return elaborate(sources.files, "m", include_dirs=sources.searched, libraries=sources.libraries)


@pytest.mark.parametrize("use", USES)
def test_where_slang_looks_for_modules(use: str, tmp_path: Path) -> None:
    """Each file that slang would read, were it there, is recorded as absent; and no file of another name is read."""
    text, library = USES[use]
    ports = "(x.n p)" if use == "port" else "#(int P = 0)"
    (tmp_path / "m.sv").write_text(f"module other; endmodule\nmodule m {ports}; {text} endmodule\n")
    folders = [tmp_path / name for name in ("early", "late")]
    for folder in folders:
        folder.mkdir()
    sources = read_sources([tmp_path / "m.sv"], library_dirs=folders)
    names = {folder / f"x{suffix}" for folder in folders for suffix in (".v", ".sv")}
    assert names <= set(read_inputs(design(sources), sources, {}).absent)
    (folders[1] / "x.sv").write_text(f"{library}\n")
    reading = read_inputs(design(sources), sources, {})
    assert [(x.path.name, x.role) for x in reading.files] == [("m.sv", "source"), ("x.sv", "library")]
    assert names - {folders[1] / "x.sv"} <= set(reading.absent)
    assert not any(list_changes(reading.table()))
    (folders[0] / "x.v").write_text(f"{library}\n")
    assert folders[0] / "x.v" in design(sources).files
    assert list(list_changes(reading.table())) == [f"{folders[0] / 'x.v'}: a new file, which would be read now"]


def test_modules_of_sources_are_not_searched(tmp_path: Path) -> None:
    modules = "package p; endpackage\nmodule x; endmodule\nmodule m; import p::*; x x(); endmodule\n"
    (tmp_path / "m.sv").write_text(modules)
    sources = read_sources([tmp_path / "m.sv"], library_dirs=[tmp_path])
    assert read_inputs(design(sources), sources, {}).absent == ()


def test_simulators_search_their_own_folder(tmp_path: Path) -> None:
    """And include folders, for modules: all files there are recorded, or that they are absent."""
    for name in ("work", "inc"):
        (tmp_path / name).mkdir()
    (tmp_path / "m.sv").write_text('`include "m.vh"\nmodule m; x x(); endmodule\n')
    (tmp_path / "inc" / "m.vh").write_text("")
    (tmp_path / "inc" / "x.v").write_text("module x; endmodule\n")
    sources = read_sources([tmp_path / "m.sv"], include_dirs=[tmp_path / "inc"])
    reading = read_inputs(design(sources), sources, {}, first=tmp_path / "work")
    assert {x.path.relative_to(tmp_path).as_posix() for x in reading.files} == {"m.sv", "inc/m.vh", "inc/x.v"}
    names = {path.relative_to(tmp_path).as_posix() for path in reading.absent}
    assert {"work/m.vh", "work/x.v", "work/x.sv", "inc/x.sv", "x.v"} <= names
    (tmp_path / "work" / "m.vh").write_text("")
    again = read_inputs(design(sources), sources, {}, first=tmp_path / "work")
    assert tmp_path / "work" / "m.vh" in {x.path for x in again.files}


def test_memory_files_of_every_instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.sv").write_text("""
        module ram #(parameter F = "") (); reg [7:0] t [0:1]; initial if (F != "") $readmemh(F, t); endmodule
        module m; ram a(); ram #("a.hex") b(); ram #("../b.hex") c(); ram #("/c.hex") d();
          for (genvar i = 0; i < 2; i++) ram #($sformatf("d%0d.hex", i)) e();
          if (0) ram #("none.hex") f();
          reg [7:0] u [0:1];
          task read(string s); $readmemb("e.bin", u, 0, 1); endtask
          always @(u[0]) read("x");
          task never(string s); $readmemb(s, u); endtask
        endmodule
        """)
    sources = read_sources(["m.sv"])
    paths = {memory.name: memory.path for memory in memory_files(design(sources))}
    assert list(paths) == ["a.hex", "../b.hex", "/c.hex", "d0.hex", "d1.hex", "e.bin"]
    assert paths["a.hex"] == tmp_path / "a.hex"
    assert paths["../b.hex"] == tmp_path.parent / "b.hex"
    assert paths["/c.hex"] == Path("/c.hex")


def test_the_hash_is_of_everything(tmp_path: Path) -> None:
    """Of each part, and not of the folder in which all of it is."""
    first = DesignReading(tmp_path)
    (tmp_path / "x").write_text("x")
    others = [
        DesignReading(tmp_path, **{key: value})  # type: ignore[arg-type]
        for key, value in {
            "files": (ReadFile.of(tmp_path / "x", "source"),),
            "absent": (tmp_path / "x",),
            "frontend": "slang",
            "tools": {"a": "1"},
            "macros": {"A": Macro("1", "-D")},
            "predefined": ("A",),
            "include_dirs": (tmp_path,),
            "parameters": {"A": "1"},
            "top": "x",
        }.items()
    ]
    assert len({x.hash for x in (first, *others)}) == len(others) + 1
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "x").write_text("x")
    assert DesignReading(moved, (ReadFile.of(moved / "x", "source"),)).hash == others[0].hash
    assert json.loads(json.dumps(others[0].table())) == others[0].table()


def test_a_snapshot_has_what_was_recorded(tmp_path: Path) -> None:
    for name in ("a/x.vh", "a/y.vh", "inc/z"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "link.vh").symlink_to(tmp_path / "a" / "x.vh")
    files = (ReadFile.of(tmp_path / "a" / "x.vh", "source"), ReadFile.of(tmp_path / "link.vh", "include"))
    reading = DesignReading(tmp_path, files, include_dirs=(tmp_path / "inc",))
    with reading.snapshot() as copies:
        assert copies.folder == copies.path(tmp_path)
        assert sorted(p.relative_to(copies.folder).as_posix() for p in copies.folder.rglob("*")) == [
            "a",
            "a/x.vh",
            "inc",
            "link.vh",
        ]
        assert copies.path(tmp_path / "link.vh").read_text() == "a/x.vh"
        assert not copies.path(tmp_path / "link.vh").is_symlink()
        assert list(copies.scratch.iterdir()) == []
    assert not copies.root.exists()
    (tmp_path / "link.vh").unlink()
    (tmp_path / "link.vh").symlink_to(tmp_path / "a" / "y.vh")
    with pytest.raises(Error, match=r"link\.vh: changed while it was read"), reading.snapshot():
        pass


def test_a_folder_that_is_a_link_has_another_parent(tmp_path: Path) -> None:
    """a/../x is not x then: the two cannot be in one snapshot."""
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "a").symlink_to(tmp_path / "far" / "away")
    (tmp_path / "x").write_text("near")
    (tmp_path / "far" / "x").write_text("far")
    path = tmp_path / "a" / ".." / "x"
    far = ReadFile(path, "include", ReadFile.of(tmp_path / "far" / "x", "include").sha256)
    assert list(list_changes(DesignReading(tmp_path, (far,)).table(tmp_path), tmp_path)) == []
    with DesignReading(tmp_path, (far,)).snapshot() as copies:
        assert copies.path(path).read_text() == "far"
    both = DesignReading(tmp_path, (far, ReadFile.of(tmp_path / "x", "include")))
    with pytest.raises(Error, match="are two files; name one without"), both.snapshot():
        pass
