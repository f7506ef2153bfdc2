"""`p3109`, and operations on blocks on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ok, refused, run

from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS
from softfloat_ref.oracle.formats.meta import META
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.testing import mandatory

BLOCK = "binary8p4se@binary8p1uf/2"


def test_the_list_names_what_there_is() -> None:
    rows = [line.split() for line in ok("p3109", "list").splitlines()]
    assert len(rows) == len({row[0] for row in rows}) == 139
    assert {row[-1] for row in rows} <= {*OPERATIONS, *BLOCK_OPERATIONS, *META}
    assert [x.split()[0] for x in ok("p3109", "list", "--group", "KB").splitlines()][:2] == ["BlockDivide", "BlockSqrt"]
    assert len(ok("p3109", "list", "--group", "scaled").splitlines()) == 52


@pytest.mark.parametrize(
    ("fmt", "operation", "shown"),
    [
        ("binary8p3se", "MaxFiniteOf", "7e = 49152.0 (0x1.8p+15)"),
        ("binary8p3ue", "MinFiniteOf", "00 = 0.0"),
        ("binary8p3sf", "DomainOf", "Finite"),
        ("binary4p1se", "MaxSubnormalOf", "8 = nan"),
        ("fp64", "ExponentBiasOf", "1023"),
        ("bf16", "precisionof", "8"),
        ("fp4_e2m1", "MaxSubnormalOf", "1 = 0.5 (0x1p-1)"),
        ("e8m0", "MinFiniteOf", "00 = 5.877471754111438e-39 (0x1p-127)"),
    ],
)
def test_of_a_format(fmt: str, operation: str, shown: str) -> None:
    assert ok("p3109", "format", fmt, operation).strip() == shown


def test_a_declaration_is_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "by.toml").write_text('provider = "ACME"\nversion = "2"\ntimestamp = "2026-07-01"\n')
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        out = ok("p3109", "declare", "--cases", "2", "-o", str(folder), "--provider", str(tmp_path / "by.toml"))
        assert out.splitlines()[-1] == f"549 specializations declared in {folder}"
    names = sorted(p.name for p in one.iterdir())
    assert names == ["Configurations.yaml", "Constraints.yaml", "Kappas.yaml", "Profiles.yaml", "Specializations.yaml"]
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in names)
    text = (one / "Specializations.yaml").read_text()
    assert 'provider: "ACME"' in text
    assert 'timestamp: "2026-07-01"' in text
    assert text.count("- { specialization: ") == 549
    assert '"MaxFiniteOf<BFloat16>"' in text


def test_a_wrong_result_is_not_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mandatory, "is_right", lambda one, case: one.unit.op != "recip")
    done = run("p3109", "declare", "--cases", "1", "-o", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "wrong: Recip<Binary4p2sf, Binary4p2sf, (NearestTiesToEven, SatNone)>" in done.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("p3109", "format", "i8"), "has no exponent"),
        (("p3109", "format", "fp16", "Add"), "Add"),
        (("p3109", "declare", "--provider", "x.toml"), "give -o DIR"),
        (("eval", "BlockAdd", "--fmt", BLOCK, "00"), "takes 7 codes, a_scale, a (2), b_scale, b (2), scale, not 1"),
        (("eval", "BlockAdd", "--fmt", "fp16", "00"), "takes a block format"),
        (("eval", "ScaledAdd", "--fmt", BLOCK, "00"), "works on single elements"),
        (("eval", "BlockAdd", "--fmt", f"a={BLOCK},b=mxfp8", "--out", BLOCK, "00"), "all have one size"),
        (
            ("eval", "BlockAdd", "--fmt", "mxfp8", "--scale-round", "rup", "00"),
            "--scale-round is for convert_to_block_max",
        ),
        (
            ("eval", "add", "--fmt", "fp16", "--scale-round", "rup", "0", "0"),
            "--scale-round is for convert_to_block_max",
        ),
        (
            ("eval", "BlockReduceAdd", "--fmt", BLOCK, "--out", BLOCK, "0", "0", "0"),
            "takes a scalar format for its result",
        ),
        (("eval", "ConvertToBlock", "--fmt", "fp16", "00"), "the result's format is missing"),
        (("explain", "BlockAdd", "--fmt", BLOCK, "00"), "takes 7 codes"),
        (("vectors", "generate", "--op", "BlockAdd", "--fmt", BLOCK, "--k", "3", "-o", "-"), "--k is for dot"),
        (("check", "tanh", "--fmt", "bf16", "--kappa", "x"), "--kappa x"),
        (("check", "tanh", "--fmt", "bf16", "--kappa-intervals", "[0,1]"), "needs --kappa"),
        (("check", "tanh", "--fmt", "bf16", "--kappa", "--name", "x"), "go together"),
        (("check", "tanh", "--fmt", "bf16", "--kappa", "1", "--ulp", "1"), "give one of them"),
        (("check", "tanh", "--fmt", "bf16", "--exhaustive", "-n", "5"), "leave -n out"),
        (("check", "lt", "--fmt", "bf16", "--kappa", "--dut", "true"), "floating-point values"),
    ],
)
def test_bad_input(args: tuple[str, ...], message: str) -> None:
    assert message in refused(*args)


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (("BlockNegate", "--fmt", BLOCK, "80", "40", "c0", "80"), "80 c0 40"),
        (("BlockConvert", "--fmt", "mxfp4", "--out", "fp8_e4m3@e8m0/32", "7f", *["2"] * 32, "7f"), f"7f{' 38' * 32}"),
        (("scaled_fma", "--fmt", "fp16@e8m0/1", "80", "3c00", "7f", "3c00", "7e", "3c00"), "4100"),
        (
            (
                "BlockAdd",
                "--fmt",
                BLOCK,
                "--round",
                "sr",
                "--sr-bits",
                "4",
                "--random-bits",
                "f,0",
                *["80", "40", "40", "7c", "40", "40", "80"],
            ),
            "80 41 40",
        ),
    ],
)
def test_operations_on_blocks(args: tuple[str, ...], shown: str) -> None:
    assert ok("eval", *args).strip() == shown


def test_a_line_of_operands() -> None:
    assert (
        ok("eval", "ScaledAdd", "--fmt", "binary8p4se@binary8p1uf/1", "-", stdin="80 40 80 40\n") == "80 40 80 40 48\n"
    )
    opened = ok("eval", "--serve", stdin=f"open BlockAdd --fmt {BLOCK}\n0 80 40 40 80 40 40 80\n")
    assert opened.splitlines()[1] == "80 48 48"


def test_vectors_of_blocks(tmp_path: Path) -> None:
    folder = str(tmp_path / "set")
    ok("vectors", "generate", "--op", "BlockExp", "--fmt", BLOCK, "-n", "200", "-o", folder)
    assert read_manifest(tmp_path / "set")["set"]["unit"]["kind"] == "block_operation"
    ok("vectors", "verify", folder)
    exhaustive = ("--op", "ScaledAbs", "--fmt", "binary4p2sf@binary3p1uf/1", "--level", "exhaustive")
    ok("vectors", "generate", *exhaustive, "-o", str(tmp_path / "all"))
    assert read_manifest(tmp_path / "all")["set"]["count"] == 128
