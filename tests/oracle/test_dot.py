"""dot: operands, scales, the command, its bad input."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from command import ok, refused, run
from hypothesis import given
from hypothesis import strategies as st

import softfloat_ref as sf
from softfloat_ref.oracle.accumulate import ACCUMULATORS, define_accumulator
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import CATALOGUE, get_format

ONE = 0x38  # of fp8_e4m3


# -- operands ----------------------------------------------------------------------------------------------------------


def test_block_array() -> None:
    """A BlockArray brings its format and scales."""
    rng = np.random.default_rng(0)
    x, y = (sf.blocks.encode(rng.normal(size=70).astype(np.float32), f) for f in ("mxfp8", "mxfp4"))
    for acc in ("mx-fp32", "exact", "fp32-sequential"):
        got = sf.dot(x, y, acc=acc)
        assert got == sf.dot(x.codes, y.codes, ("mxfp8", "mxfp4"), acc=acc, scales=(x.scales, y.scales))
    products = [Fraction(float(p)) * Fraction(float(q)) for p, q in zip(x.decode(), y.decode(), strict=True)]
    assert sf.dot(x, y, acc="exact") == sf.encode(sum(products, Fraction(0)), "fp32")


def test_scales_with_a_significand() -> None:
    """NVFP4's: E4M3 without a sign, for 16 elements; a second-level scale in FP32."""
    block = sf.accumulate.dots.BlockFormat("nv", get_format("fp4_e2m1"), get_format("ue4m3"), 16)
    a = [2, 3, 4] * 10 + [7, 0xF]
    scales = [0x3D, 0x01]  # 1.625 and the smallest subnormal
    value = [decoder(block.element)(x).as_fraction() for x in a]
    factor = [decoder(block.scale)(s).as_fraction() for s in scales]
    for tensor in (0x3F800000, 0x3EAAAAAB):
        t = decoder(get_format("fp32"))(tensor).as_fraction()
        exact = sum((v * v * factor[k // 16] * factor[k // 16] * t for k, v in enumerate(value)), Fraction(0))
        got = sf.dot(a, a, block, acc="exact", scales=(scales, scales), tensor_scales=(sf.decode(tensor, "fp32"), None))
        assert got == sf.encode(exact, "fp32")
    with pytest.raises(sf.Error, match="second-level"):
        sf.dot(a, a, block, acc="nvidia-b200-fp4", scales=(scales, scales), tensor_scales=(0.5, None))


def test_one_scale_for_all() -> None:
    """Block sizes that are not positive stand for the whole vector."""
    whole = SimpleNamespace(element=get_format("fp8_e4m3"), scale=get_format("e8m0"), size=0, name="whole")
    x = sf.accumulate.dots.Operand(whole.element, (ONE,) * 40, whole.scale, (0x80,), whole.size)
    y = sf.accumulate.dots.Operand(whole.element, (ONE,) * 40)
    s = sf.accumulate.dots.setting(x, y, sf.get_accumulator("mx-fp32"), get_format("fp32"))
    assert sf.accumulate.dots.run(s, x, y, 0) == sf.encode(80, "fp32")


def test_formats_of_their_own() -> None:
    assert sf.dot([0x3C], [ONE], "a=fp8_e5m2,b=fp8_e4m3,c=bf16", 0x3F80).bits == 0x40000000
    assert sf.dot([0x3C], [ONE], ("fp8_e5m2", "fp8_e4m3")).bits == 0x3F800000


def test_step_by_result() -> None:
    """FDOT to FP16 takes two products: the third meets a rounded sum."""
    a = [ONE, 0x01, 0x01, 0x01]  # 1 + 2^-18 three times, in FP16's units of 2^-10 at 1
    b = [ONE, 0x01, ONE, ONE]
    split = sf.dot(a[2:], b[2:], "fp8_e4m3", sf.dot(a[:2], b[:2], "fp8_e4m3", 0, "exact", "fp16").bits, "exact", "fp16")
    assert sf.dot(a, b, "fp8_e4m3", 0, "arm-fp8-fdot", "fp16").bits == split.bits
    tiny = [0x08, 0x08] * 2  # 2^-6; the units of FP16 at 32 are 2^-5, the tie of two products goes to even
    other = [0x30, 0x38] * 2  # 0.5 and 1: 3/128 twice
    together = sf.dot(tiny, other, "fp8_e4m3", 0x5001, "exact", "fp16").bits
    assert sf.dot(tiny, other, "fp8_e4m3", 0x5001, "arm-fp8-fdot", "fp16").bits != together


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1], [1, 2], "fp16"), "a has 1 elements, b has 2"),
        (([], [], "fp16"), "at least one element"),
        ((["1"], [1], "fp16"), "a code of fp16 must be an integer"),
        (([0x10000], [1], "fp16"), "does not fit fp16"),
        (([1], [1], "fp17"), "unknown format"),
        (([1], [1], None), "a: the codes have no format"),
        (([1], [1], "mxfp8"), "needs its scales"),
        ((5, [1], "fp16"), "a is a sequence of codes"),
        (([1], [1], ("fp16",)), "give one format"),
        (([1], [1], "a=fp16"), "no format for b"),
        (([1], [1], "fp16", 0x1FFFFFFFF), "does not fit fp32"),
        (([1], [1], "fp16", 0, "nope"), "unknown accumulator"),
        (([1], [1], "fp16", 0, 7), "an accumulator must be a name"),
        (([1], [1], "bf16", 0, "nvidia-v100"), "multiplies fp16, not bf16"),
        (([1], [1], "fp16", 0, "nvidia-v100", "bf16"), "gives fp32 or fp16, not bf16"),
        (([1], [1], "fp16", 0, "fuse(4+c)"), "must end in a rounding"),
        (([1], [1], "fp16", 0, "fuse(4+c->fp32:rne"), "expected '\\)'"),
        (([1], [1], "fp16", 0, "fuse(4+c,G=3)->fp32:rne"), "unknown option 'G'"),
        (([1], [1], "fp16", 0, "fuse(4+c,rz)->fp32:rne"), "give F=BITS too"),
        (([1], [1], "fp16", 0, "fuse(4+c,F=99999)->fp32:rne"), "0 to 4096 bits"),
        (([1], [1], "fp16", 0, "fuse(4+p)->fp32:rne"), "either counted"),
        (([1], [1], "fp16", 0, "fuse(c)->fp32:rne"), "adds no products"),
        (([1], [1], "fp16", 0, "fuse(chain(p)+c)->fp32:rne"), "need the rounding of their sums"),
        (([1], [1], "fp16", 0, "fuse(p+c)->fp32:sr"), "no random bits"),
        (([1], [1], "fp16", 0, "fuse(p+c)->fp99:rne"), "unknown format"),
        (([1], [1], "fp16", 0, "fuse(p[-1]+c)->fp32:rne"), "count from 0"),
        (([1], [1], "fp16", 0, "fuse(p[0:8:0]+c)->fp32:rne"), "strides from 1"),
        (([1], [1], "fp16", 0, "fuse(p+c)->fp32:rne|fp32:rz"), "a different format"),
        (([1], [1], "fp16", 0, "fuse(p->fp32:rz|fp16:rz+c)->bf16:rne"), "lacks a choice"),
        (([1], [1], "fp16", 0, "fuse(p+c)->fp32:rne; step=0"), "step = 0"),
        (([1], [1], "fp16", 0, "fuse(p+c)->fp32:rne; stride=3"), "unknown accumulator field"),
        (([1], [1], "fp16", 0, "fuse(p+c)->fp32:rne; nan=xyz"), "NaN rule"),
        (([1], [1], "fp16", 0, "fuse(p+c)->fp32:rne; zero=none"), "unknown zero"),
        (([1], [1], "fp16", 0, "fuse(" * 60 + "p" + ")" * 60 + "->fp32:rne"), "levels"),
        (([1], [1], "fp16", 1, "fuse(4)->fp32:rne"), "does not add c, so 00000001 would be lost; write c among its"),
        (([1] * 5, [1] * 5, "fp16", 0, "fuse(4)->fp32:rne"), "of 2 steps only the last would count; write c"),
        (([1], [1], "fp16", 0, {"step": 3}), "no tree"),
        (([1], [1], "fp16", 0, {"tree": "p->fp32->fp32"}), "must end in a rounding"),
        ((range(1 << 24 | 1), [1], "fp16"), "16777217 codes"),
        (([1], [1], "fp8_e4m3@e8m0/axis"), "each block of axis"),
        (([1], [1], "fp16", 0, "no.toml"), "No such file"),
    ],
)
def test_bad_arguments(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(sf.Error, match=message) as e:
        sf.dot(*arguments)  # type: ignore[arg-type]
    assert "\n" not in str(e.value)


def test_a_unit_of_one_step_needs_no_c() -> None:
    assert sf.dot([0x3C00] * 4, [0x3C00] * 4, "fp16", 0, "fuse(4)->fp32:rne").bits == 0x40800000
    assert sf.dot([0x8000] * 4, [0x3C00] * 4, "fp16", 0, "fuse(4)->fp32:rne").bits == 0x80000000  # c would make it +0


def test_second_level_scales_need_blocks() -> None:
    with pytest.raises(sf.Error, match="b: fp16 has no block scales"):
        sf.dot([1], [1], "fp16", tensor_scales=(None, 2.0))


SPOILERS = (
    "fuse ( ) chain pairs p c zero + , -> fp32 fp16 out : rz rne F = 25 inf -3 @ [ ] | floor scale 16 0 ; step like"
)
WORDS = st.sampled_from(SPOILERS.split())


@given(st.sampled_from(list(sf.ACCUMULATORS.values())), st.lists(st.tuples(st.integers(0, 300), WORDS), max_size=3))
def test_a_spoilt_expression_is_refused_or_means_something(acc: sf.Accumulator, edits: list[tuple[int, str]]) -> None:
    text = acc.tree
    for position, word in edits:
        text = text[: position % len(text)] + word + text[position % len(text) + 1 :]
    with suppress(sf.Error):
        found = sf.get_accumulator(text)
        assert define_accumulator(found.to_dict()) == found
        sf.dot([1, 2, 3], [4, 5, 6], "fp8_e5m2", 7, found, "fp16", extrapolate=True)


# -- the command -------------------------------------------------------------------------------------------------------


def test_command_is_the_function() -> None:
    assert (
        ok("dot", "--fmt", "fp16", "3c00 4000", "3c00,3c00", "--acc", "nvidia-h100", "--c", "bf800000")
        == "40000000 00\n"
    )
    expected = sf.dot([0x3C, 0x01], [0x38, 0x01], "a=fp8_e5m2,b=fp8_e4m3,c=bf16", 0x3F80, "fma-chain", "fp16")
    text = ok(
        "dot",
        "--fmt",
        "a=fp8_e5m2,b=fp8_e4m3,c=bf16",
        "3c,01",
        "38,01",
        "--c",
        "3f80",
        "--acc",
        "fma-chain",
        "--out",
        "fp16",
    )
    assert text == f"{expected.bits:04x} {expected.flags:02x}\n"
    assert ok("dot", "--fmt", "bf16", "--values", "-1.5,inf", "-2 1") == "7f800000 00\n"


@pytest.mark.parametrize("acc", sf.ACCUMULATORS)
def test_trace_adds_up(acc: str) -> None:
    """Every accumulator's trace: the stages' integers make its sums, and its last rounding is the result."""
    unit = sf.ACCUMULATORS[acc]
    fmt = unit.formats.split()[0] if unit.formats else "fp16"
    count, codes = 40, min(120, 1 << get_format(fmt).width)
    a = ",".join(f"{(i * 37 + 11) % codes:x}" for i in range(count))
    b = ",".join(f"{(i * 53 + 7) % codes:x}" for i in range(count))
    out = "fp64" if fmt == "fp64" else "fp32"
    data = json.loads(ok("dot", "--fmt", fmt, "--acc", acc, "--out", out, a, b, "--trace", "--json"))
    assert define_accumulator(data["accumulator"]) == unit
    vectors = [[int(x, 16) for x in text.split(",")] for text in (a, b)]
    assert data["result"] == get_format(out).hex(sf.dot(*vectors, fmt, 0, acc, out).bits)
    for stage in (s for s in data["stages"] if s["stage"] == "fuse"):
        total = sum((Fraction(t["kept"]) * Fraction(2) ** t["unit"] for t in stage["terms"]), Fraction(0))
        assert total == _exact(stage["sum"])
        for t in stage["terms"]:
            kept = Fraction(t["kept"]) * Fraction(2) ** t["unit"]
            assert kept + _exact(t["cut"]) == _exact(t["value"])
    last = data["stages"][-1]
    assert (last["format"], last["code"]) == (out, data["result"])


def _exact(text: str) -> Fraction:
    """A number as C's %a has it, which a double may not hold."""
    digits, _, exponent = text.removeprefix("-").removeprefix("0x").partition("p")
    whole, _, fraction = digits.partition(".")
    size = Fraction(int(whole + fraction, 16)) * Fraction(2) ** (int(exponent) - 4 * len(fraction))
    return -size if text.startswith("-") else size


def test_compare_with_ones_own() -> None:
    text = ok("dot", "--fmt", "fp16", "--compare", "--acc", "fuse(2+c,F=2,rz)->fp32:rz", "3c00,2c00", "3c00,3c00")
    first, *rest = text.splitlines()
    assert first.split()[:2] == ["inline", "3f800000"]
    assert "1 of 3 terms cut in alignment" in first
    assert [line.split()[0] for line in rest] == [a.name for a in sf.ACCUMULATORS.values() if a.name in text]


def test_replay(tmp_path: Path) -> None:
    """Captures of one's own: agreement, a mismatch, and files that are none."""
    a = np.array([[0x3F800000] * 4, [0x40000000] * 4], np.uint32)
    good = {"a": a, "b": a, "c": np.zeros(2, np.uint32), "d": np.array([0x40800000, 0x41800000], np.uint32)}
    np.savez(tmp_path / "mine.npz", **good)
    np.savez(tmp_path / "bad.npz", **{**good, "d": good["d"] + np.uint32(1)})
    np.savez(tmp_path / "inexact.npz", **{**good, "a": a + np.uint32(1)})
    np.savez(tmp_path / "few.npz", a=a, b=a)
    np.savez(tmp_path / "shape.npz", **{**good, "c": good["a"]})
    np.savez(tmp_path / "floats.npz", **{**good, "a": a.astype(np.float32)})
    (tmp_path / "noise.npz").write_bytes(b"PK\x03\x04 no archive")
    unit = ["--acc", "nvidia-v100", "--fmt", "fp16"]
    assert ok("dot", "--replay", "mine.npz", *unit, cwd=tmp_path) == "mine.npz: nvidia-v100: 2 of 2 agree\n"
    done = run("dot", "--replay", "mine.npz", "bad.npz", *unit, cwd=tmp_path)
    assert done.returncode == 1
    assert "row 0: model 40800000, hardware 40800001" in done.stdout
    assert "4 results, 2 mismatches" in done.stderr
    for name, message in (
        ("inexact", "row 0: 3f800001 is not a value of fp16"),
        ("few", "no array c"),
        ("shape", "shapes"),
        ("floats", "bit patterns"),
        ("noise", "not a readable"),
        ("missing", "No such file"),
    ):
        assert message in refused("dot", "--replay", f"{name}.npz", *unit, cwd=tmp_path)
    assert "give --acc" in refused("dot", "--replay", "mine.npz", cwd=tmp_path)


def test_rows_of_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 0x7C00, (3, 20), np.uint16) for _ in range(2))
    c = rng.integers(0, 1 << 31, 3, np.uint32)
    np.savez(tmp_path / "x.npz", a=a, b=b, c=c)
    np.savez(tmp_path / "one.npz", a=a[0], b=b[0])
    np.savez(tmp_path / "wrong.npz", a=a, b=b, c=c[:2])
    np.savez(tmp_path / "wide.npz", a=a.astype(np.uint32) + 0x10000, b=b)
    scales = np.array([[0x80]] * 3, np.uint8)
    np.savez(tmp_path / "mx.npz", a=a.astype(np.uint8), b=b.astype(np.uint8), scales_a=scales, scales_b=scales)
    acc = ["--acc", "nvidia-h100", "--fmt", "fp16"]
    rows = [sf.dot(x, y, "fp16", int(z), "nvidia-h100") for x, y, z in zip(a, b, c, strict=True)]
    assert ok("dot", "-i", "x.npz", *acc, cwd=tmp_path) == "".join(f"{x.bits:08x} {x.flags:02x}\n" for x in rows)
    first = sf.dot(a[0], b[0], "fp16", 0, "nvidia-h100").bits
    assert ok("dot", "-i", "one.npz", *acc, cwd=tmp_path) == f"{first:08x} 00\n"
    assert len(ok("dot", "-i", "mx.npz", "--fmt", "mxfp8", "--acc", "exact", cwd=tmp_path).splitlines()) == 3
    assert "wrong.npz: c is of shape (2,)" in refused("dot", "-i", "wrong.npz", *acc, cwd=tmp_path)
    assert "wide.npz: row 0: a: code" in refused("dot", "-i", "wide.npz", *acc, cwd=tmp_path)
    assert "leave them out" in refused("dot", "-i", "x.npz", *acc, "--c", "0", cwd=tmp_path)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("3c00 3c00", "needs --fmt"),
        ("--fmt fp16 3c00", "two lists of codes"),
        ("--fmt fp16 3c00 xyz", "b[0]: 'xyz' is not a hexadecimal code"),
        ("--fmt fp16 --values 1 1x", "b[0]: '1x' is not a number"),
        ("--fmt fp16 3c00 3c00 --json", "--json goes with"),
        ("--fmt fp16 3c00 3c00 --trace --compare", "give only one of"),
        ("--fmt mxfp8 38 38", "needs its scales"),
        ("--fmt mxfp8 38 38 --scales-a 7f,7f --scales-b 7f", "2 scales for 1 elements"),
        ("--fmt fp16 3c00 3c00 --scales-a 7f", "has no block scales"),
        ("--fmt mxfp8 --values 1 1 --scales-a 7f --scales-b 7f", "--values takes scalar formats"),
        ("--fmt fp16 3c00 3c00 --out mxfp8", "block format"),
        ("--fmt fp16 3c00 3c00 --acc fuse(16,F=25,rz)->fp32:rz --c 3f800000", "does not add c, so 3f800000 would"),
        ("--fmt fp16 3c00 3c00 --acc fuse(16)->fp32 --c 1 --trace", "does not add c"),
        ("--fmt fp16 3c00 3c00 --acc fuse(16)->fp32 --c 1 --compare", "does not add c"),
        ("--fmt fp16 3c00,0 3c00,0 --acc fuse(1)->fp32", "only the last would count"),
        ("--list --fmt fp16", "--list takes no --fmt; leave it out"),
        ("--list 3c00 3c00", "--list takes no operands"),
        ("--show exact --extrapolate", "--show takes no --extrapolate"),
        ("--probes --acc exact", "--probes takes no --acc"),
        ("--probes --json", "--json goes with"),
        ("--replay x.npz --values", "--replay takes no --values"),
        ("--fmt fp16 --trace -i x.npz", "--trace takes no -i; leave it out"),
        ("--fmt fp16 --compare 3c00 3c00 --scales-a 7f", "has no block scales"),
        ("--fmt fp16 -i x.npz --json", "--json goes with"),
        ("--show nope", "unknown accumulator"),
        ("--replay", "needs capture files"),
        ("--probes nope", "unknown accumulator"),
    ],
)
def test_bad_usage(args: str, message: str) -> None:
    assert message in refused("dot", *args.split())


def test_show_is_complete() -> None:
    for acc in sf.ACCUMULATORS.values():
        assert json.loads(json.dumps(acc.to_dict()))["tree"] == acc.tree
    assert define_accumulator(json.loads(ok("dot", "--show", "amd-cdna3", "--json"))) == sf.ACCUMULATORS["amd-cdna3"]
    listed = ok("dot", "--list").splitlines()
    assert [line.split()[0] for line in listed[1:]] == list(sf.ACCUMULATORS)


def test_trace_says_what_was_flushed() -> None:
    shown = ok("dot", "--fmt", "bf16", "--acc", "x86-vdpbf16ps", "--trace", "0001,7fc0", "3f80,3f80").splitlines()
    assert shown[1] == "p0     0001 * 3f80 = 0x0p+0  (flushed)"
    assert shown[2] == "p1     7fc0 * 3f80 = nan"
    assert "1 operand flushed" in ok("dot", "--fmt", "bf16", "--compare", "0001,3f80", "3f80,3f80")


def test_second_level_scales_on_the_command_line() -> None:
    command = ("dot", "--fmt", "nvfp4", "--scales-a", "38", "--scales-b", "38", "2", "2")
    assert "a: nvfp4 has a scale for the tensor" in refused(*command)
    assert ok(*command, "--tensor-scale-a", "0.5", "--tensor-scale-b", "3") == "3fc00000 00\n"
    assert "must be an FP32 number" in refused(*command, "--tensor-scale-a", "0.1", "--tensor-scale-b", "1")


@pytest.mark.parametrize(
    ("acc", "fmt", "units"),
    [
        ("nvidia-h100", "fp8_e4m3", "nvidia-h100 that do: nvidia-h100-fp8-wgmma, nvidia-h100-fp8-mma;"),
        ("nvidia-h100-fp8-mma", "bf16", "nvidia-h100 that do: nvidia-h100;"),
        ("nvidia-b200", "fp4_e2m1", "nvidia-b200 that do: nvidia-b200-fp8, nvidia-b200-fp4;"),
        ("nvidia-ada-fp8", "tf32", "nvidia that do: nvidia-a100, nvidia-h100, nvidia-b200;"),
        ("amd-cdna3", "fp8_e4m3fnuz", "amd-cdna3 that do: amd-cdna3-fp8;"),
        ("arm-bfdot", "fp8_e5m2", "arm that do: arm-fp8-fdot;"),
        ("amd-cdna3", "fp8_e4m3", ""),
        ("x86-amx-bf16", "fp16", ""),
    ],
)
def test_units_that_multiply_the_format(acc: str, fmt: str, units: str) -> None:
    """What the hardware has for a format stands before an extrapolation, which it does not do."""
    wanted = f"not {fmt}; {f'units of {units} ' if units else ''}--extrapolate (extrapolate=True) applies the model"
    with pytest.raises(sf.Error, match=re.escape(wanted)):
        sf.dot([1], [1], fmt, acc=acc)


@pytest.mark.parametrize("acc", ACCUMULATORS)
def test_units_that_are_named_take_the_operands(acc: str) -> None:
    """Every accumulator with every format and with block scales: the units that a refusal names do not refuse."""
    for fmt, scales in [(x, None) for x in CATALOGUE] + [(x, ([0x7F], [0x7F])) for x in ("mxfp8", "mxfp4", "mxint8")]:
        try:
            sf.dot([1], [1], fmt, acc=acc, scales=scales)
        except sf.Error as e:
            for other in ", ".join(re.findall(r"units of \S+ that do: ([^;]+);", str(e))).split(", "):
                if other:
                    assert sf.dot([1], [1], fmt, acc=other, scales=scales, to=ACCUMULATORS[other].results[0])
