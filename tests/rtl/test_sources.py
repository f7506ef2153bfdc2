"""File lists as simulators read them, macros, include folders, and the order of packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.sources import Libraries, Sources, read_sources


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with an ip in a folder of its own, read from the top."""
    for name in ("top.sv", "ip/a.sv", "ip/with space.sv", "ip/cell.v", "env/e.sv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"module {Path(name).stem[0]}; endmodule\n")
    for name in ("include", "ip/include", "ip/more"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENV_DIR", str(tmp_path / "env"))
    return tmp_path


def names(sources: Sources, tree: Path) -> list[str]:
    return [str(file.relative_to(tree)) for file in sources.files]


def test_lists_in_lists(tree: Path) -> None:
    (tree / "all.f").write_text(
        """// everything
        # in one list
        +incdir+include +define+WIDTH=8+FAST
        -v ip/cell.v
        -sverilog -timescale 1ns/1ps   /* for one
        simulator */ -f \\
        env.f
        -F ip/ip.f
        -DDEPTH=4 -D LAST=x "" top.sv top.sv
        """
    )
    (tree / "env.f").write_text("$ENV_DIR/e.sv ${ENV_DIR}/e.sv\n$(ENV_DIR)/e.sv")
    (tree / "ip" / "ip.f").write_text('a.sv "with space.sv" +incdir+include+more\n-Iinclude')
    sources = read_sources(file_lists=["all.f"])
    assert names(sources, tree) == ["env/e.sv", "ip/a.sv", "ip/with space.sv", "top.sv"]
    assert sources.libraries == Libraries((tree / "ip" / "cell.v",))
    assert sources.include_dirs == (tree / "include", tree / "ip" / "include", tree / "ip" / "more")
    assert sources.defines == {"WIDTH": "8", "FAST": "1", "DEPTH": "4", "LAST": "x"}
    assert sources.skipped == ("all.f:5: -sverilog", "all.f:5: -timescale 1ns/1ps")


def test_arguments_and_lists(tree: Path) -> None:
    """Folders given come first, macros given count, and a list read by -F has its own folder."""
    (tree / "ip" / "ip.f").write_text("a.sv +incdir+include +define+W=1")
    sources = read_sources(["top.sv"], include_dirs=["include"], defines=["W=2", "X"], relative_lists=["ip/ip.f"])
    assert names(sources, tree) == ["ip/a.sv", "top.sv"]
    assert sources.include_dirs == (tree / "include", tree / "ip" / "include")
    assert sources.defines == {"W": "2", "X": "1"}


def test_libraries(tree: Path) -> None:
    (tree / "ip" / "ip.f").write_text("a.sv -v cell.v -y more +libext+.v+.svh -Y .sv")
    (tree / "x.f").write_text("top.sv +libext+.vh")
    sources = read_sources(
        ["+libext+.x", "+incdir+env", "+define+A=1"],
        relative_lists=["ip/ip.f"],
        file_lists=["x.f"],
        library_files=["env/e.sv"],
        library_dirs=["env"],
    )
    assert names(sources, tree) == ["top.sv", "ip/a.sv"]
    files, folders = (tree / "ip" / "cell.v", tree / "env" / "e.sv"), (tree / "ip" / "more", tree / "env")
    assert sources.libraries == Libraries(files, folders, (".vh", ".v", ".svh", ".sv", ".x"))
    assert (sources.defines, sources.include_dirs) == ({"A": "1"}, (tree / "env",))
    assert sources.searched == (tree / "env", tree, tree / "ip", tree / "ip" / "more")
    assert read_sources(file_lists=["x.f"]).skipped == ("x.f:1: +libext+.vh",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("top.sv\nnone.sv", "ip/x.f:2: none.sv: no such source file"),
        ("a.sv", "ip/x.f:1: a.sv: no such source file; it stands beside the list, so read the list with -F"),
        ("\n\n-f none.f", "ip/x.f:3: none.f: no such file list"),
        ("-f ip/x.f", "ip/x.f:1: ip/x.f includes itself"),
        ("+incdir+none", "ip/x.f:1: none: no such folder for included files"),
        ("+incdir+include\n+incdir+more", "ip/x.f:2: more: no such folder for included files; it stands beside"),
        ("$NO_SUCH_DIR/a.sv", "ip/x.f:1: the environment variable NO_SUCH_DIR is not set"),
        ("+define+8=1", "ip/x.f:1: '8' is not the name of a macro; use NAME or NAME=VALUE"),
        ("top.sv -f", "ip/x.f:1: -f needs an argument"),
        ("-y more", "ip/x.f:1: more: no such folder for library files; it stands beside the list"),
        ("-y ip +libext+sv", "ip/x.f:1: 'sv' is not an extension of library files; example: +libext+.sv"),
        ("-v none.v", "ip/x.f:1: none.v: no such source file"),
        ("top.sv /* never", "ip/x.f:1: /* without an end"),
    ],
)
def test_lists_that_are_wrong(tree: Path, text: str, message: str) -> None:
    (tree / "ip" / "x.f").write_text(text)
    with pytest.raises(Error) as caught:
        read_sources(file_lists=["ip/x.f"])
    assert str(caught.value).startswith(message)


def test_arguments_that_are_wrong(tree: Path) -> None:
    for arguments, message in (
        ({"files": ["none.sv"]}, r"^none\.sv: no such source file$"),
        ({"include_dirs": ["top.sv"]}, r"^top\.sv: no such folder for included files$"),
        ({"file_lists": ["none.f"]}, r"^none\.f: no such file list$"),
        ({"defines": ["=1"]}, r"^'' is not the name of a macro"),
        ({"files": ["+nospecify"]}, r"^\+nospecify: no such option; \+incdir, \+define, \+libext are known$"),
        ({"files": ["+libext+.sv"]}, r"^\+libext\+\.sv needs -y DIR, a folder of library files$"),
        ({"library_dirs": ["top.sv"]}, r"^top\.sv: no such folder for library files$"),
        ({"library_files": ["none.v"]}, r"^none\.v: no such source file$"),
    ):
        with pytest.raises(Error, match=message):
            read_sources(**arguments)


def test_packages_come_first(tree: Path) -> None:
    """A file moves only where another names its package; comments and strings name none."""
    for name, text in {
        "user.sv": 'module u import p::*; (input p::t x); // r::x\n initial $display("q::y"); endmodule',
        "free.sv": "module f; endmodule",
        "p.sv": "package automatic p; typedef s::t t; endpackage",
        "s.sv": "package s; endpackage",
        "q.sv": "package q; endpackage package r; endpackage",
        "one.sv": "package one; typedef two::t t; endpackage",
        "two.sv": "package two; typedef one::t t; endpackage",
    }.items():
        (tree / name).write_text(text)
    files = ["user.sv", "free.sv", "one.sv", "p.sv", "q.sv", "s.sv", "two.sv"]
    assert names(read_sources(files), tree) == files
    assert names(read_sources(files).in_order(), tree) == [
        *("s.sv", "p.sv", "user.sv", "free.sv"),
        *("two.sv", "one.sv", "q.sv"),
    ]


def test_lists_that_name_the_next_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty lists of two lines would be read a thousand million times."""
    monkeypatch.chdir(tmp_path)
    for i in range(30):
        (tmp_path / f"{i}.f").write_text(f"-f {i + 1}.f\n" * 2)
    (tmp_path / "30.f").write_text("")
    with pytest.raises(Error, match="more than 10000 file lists"):
        read_sources(file_lists=["0.f"])
