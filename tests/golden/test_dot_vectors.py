"""Vector sets of dot products: their lines against rationals, their manifests, and units of the user's own."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from benches import CHEAP
from command import TOP, ok, refused, run

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.codec import decode, encode

UNIT = """
[accumulators.mine]
tree = "fuse(8+c,F=20,rd)->fp32:rne"
nan = "ones"
"""


def expected(codes: list[int], k: int, size: int) -> tuple[int, int] | None:
    """mx-fp32 by its definition, in rationals, of one line; None where a value is not finite."""
    blocks = k // size
    a_scales, rest = codes[:blocks], codes[blocks:]
    a, rest = rest[:k], rest[k:]
    b_scales, rest = rest[:blocks], rest[blocks:]
    b, c = rest[:k], rest[k]
    total, flags = decode(c, "fp32"), 0
    for j in range(blocks):
        scales = decode(a_scales[j], "e8m0"), decode(b_scales[j], "e8m0")
        pairs = [(decode(a[i], "fp8_e4m3"), decode(b[i], "fp8_e4m3")) for i in range(j * size, j * size + size)]
        if not all(x.is_finite for x in (*scales, *(y for p in pairs for y in p), total)):
            return None
        exact = sum((x.as_fraction() * y.as_fraction() for x, y in pairs), Fraction(0))
        block = encode(exact * scales[0].as_fraction() * scales[1].as_fraction(), "fp32")
        value = decode(block.bits, "fp32")
        if not value.is_finite or (exact == 0 and total.is_zero):
            return None
        added = encode(total.as_fraction() + value.as_fraction(), "fp32")
        flags |= block.flags | added.flags
        total = decode(added.bits, "fp32")
    return encode(total, "fp32").bits, flags


@pytest.mark.full
@pytest.mark.parametrize("k", [32, 96])
def test_lines_are_the_definition(k: int) -> None:
    vectors, compared = VectorSet.make("dot", "mxfp8", 48_000 // k, k=k), 0
    for inputs in vectors.inputs():
        line = vectors.line(inputs)
        assert line is not None
        if (wanted := expected(list(inputs), k, 32)) is not None:
            assert line[-2:] == wanted
            compared += 1
    assert compared > vectors.count * 2 // 3


def test_the_same_request_gives_the_same_bytes(tmp_path: Path) -> None:
    vectors = VectorSet.make("dot", "a=fp8_e4m3,b=fp8_e5m2,c=fp16", 400, acc="exact", out="fp32", k=5, seed=3)
    for folder in ("first", "second"):
        generate(vectors, tmp_path / folder)
        assert verify(tmp_path / folder).passed
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / f).iterdir()} for f in ("first", "second"))
    assert first == second
    manifest = json.loads((tmp_path / "first" / "manifest.json").read_text())
    assert VectorSet.from_dict(manifest["set"]) == vectors
    assert manifest["set"]["unit"]["accumulator"]["tree"]
    other = VectorSet.make("dot", "a=fp8_e4m3,b=fp8_e5m2,c=fp16", 400, acc="exact", out="fp32", k=5, seed=4)
    assert list(other.inputs()) != list(vectors.inputs())


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    "fmt", ["fp16", "bf16", "fp8_e5m2", "fp4_e2m1", "nvfp4", "mxint8", "mxfp4", "msfp12", "binary8p3se", "tf32", "int8"]
)
def test_every_kind_of_operand(fmt: str, tmp_path: Path) -> None:
    vectors = VectorSet.make("dot", fmt, 300, acc="exact")
    generate(vectors, tmp_path)
    assert verify(tmp_path).passed
    results = {line[-2] for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None}
    assert len(results) > 50


@pytest.mark.full
def test_running_results() -> None:
    """The field `steps` ends in the result, and each is the next step's c."""
    vectors = VectorSet.make("dot", "fp8_e4m3", 200, acc="nvidia-h100-fp8-mma", k=96, steps=True)
    plain = VectorSet.make("dot", "fp8_e4m3", 1, acc="nvidia-h100-fp8-mma", k=32)
    for inputs in vectors.inputs():
        line = vectors.line(inputs)
        assert line is not None
        a, b, running = inputs[:96], inputs[96:192], inputs[192]
        for j, code in enumerate(line[193:-2]):
            part = slice(32 * j, 32 * j + 32)
            step = plain.line((*a[part], *b[part], running))
            assert step is not None
            running = step[-2]
            assert code == running
        assert line[-2] == running


def test_a_unit_of_the_users_own(tmp_path: Path) -> None:
    """Defined in TOML, its whole definition stands in the manifest; the file is not needed again."""
    (tmp_path / "unit.toml").write_text(UNIT)
    spec, folder = str(tmp_path / "unit.toml"), str(tmp_path / "v")
    ok("vectors", "generate", "--op", "dot", "--fmt", "fp8_e4m3", "--acc", spec, "--k", "16", "-n", "200", "-o", folder)
    (tmp_path / "unit.toml").unlink()
    ok("vectors", "verify", folder)
    stored = json.loads((tmp_path / "v" / "manifest.json").read_text())["set"]["unit"]["accumulator"]
    assert (stored["name"], stored["nan"]) == ("mine", "ones")
    text = (tmp_path / "v" / "manifest.json").read_text().replace("F=20", "F=19")
    (tmp_path / "v" / "manifest.json").write_text(text)
    assert not verify(tmp_path / "v").passed


def test_bad_requests(tmp_path: Path) -> None:
    for arguments in (
        ["--fmt", "mxfp8", "--k", "33"],
        ["--fmt", "fp8_e4m3", "--acc", "nvidia-x"],
        ["--fmt", "fp8_e4m3", "--k", "0"],
        ["--fmt", "fp8_e4m3", "--k", "5000"],
        ["--fmt", "fp8_e4m3", "--round", "rtz"],
        ["--fmt", "fp8_e4m3", "--profile", "ocp"],
        ["--fmt", "a=fp8_e4m3"],
        ["--fmt", "a=fp8_e4m3,b=fp8_e4m3,c=i8"],
        ["--fmt", "flexfp_e4m3"],
        ["--fmt", "fp32", "--acc", "nvidia-h100"],
        [],
    ):
        refused("vectors", "generate", "--op", "dot", *arguments, "-o", str(tmp_path / "v"))
        assert not (tmp_path / "v").exists()
    refused("vectors", "generate", "--op", "add", "--fmt", "fp16", "--k", "3", "-o", str(tmp_path / "v"))
    with pytest.raises(Error):
        VectorSet.from_dict({**VectorSet.make("dot", "fp16", 5).to_dict(), "generator": "dot-0"})


def test_a_nan_visits_every_lane() -> None:
    """Also in a set of the recipe's size."""
    vectors = VectorSet.make("dot", "mxfp8", 2000)
    lone: list[set[int]] = [set(), set()]
    for inputs in vectors.inputs():
        for side, elements in ((0, inputs[1:33]), (1, inputs[34:66])):
            nans = [i for i, code in enumerate(elements) if code & 0x7F == 0x7F]
            if len(nans) == 1:
                lone[side].add(nans[0])
    assert lone == [set(range(32))] * 2


@pytest.mark.full
@pytest.mark.sim
def test_a_bench_for_a_dot_product(tmp_path: Path) -> None:
    """A generated bench drives the example circuit: it passes, and a planted bug is caught."""
    circuit = TOP / "docs" / "examples" / "mxfp8_dot"
    ok("vectors", "generate", "dot_mxfp8_e4m3", "-n", "800", "-o", str(tmp_path / "v"))
    source = str(circuit / "mxfp8_dot.sv")
    bench = ("vectors", "testbench", str(tmp_path / "v"), "--sim", CHEAP, "--run", source, "--ports")
    assert "PASS: 800 of 800 vectors" in ok(*bench, str(circuit / "ports.toml"))
    defect = (circuit / "ports.toml").read_text().replace("value = 0", "value = 14")
    (tmp_path / "defect.toml").write_text(defect)
    assert run(*bench, str(tmp_path / "defect.toml")).returncode == 1
