"""Functions of vectors: exact sides by decimals and rationals, special cases, vectors, devices, the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from command import ok, refused, run

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.coverage.engine.measure import set_report
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.vector_functions import VECTOR_FUNCTIONS
from softfloat_ref.testing.check import check_command
from softfloat_ref.units import VectorUnit, make_unit, restored, stored

INF, NAN, SNAN, MINUS = 0x7F80, 0x7FC0, 0x7FA0, 0x8000  # bf16
DIGITS = 60


def codes(*numbers: str, fmt: str = "bf16") -> tuple[int, ...]:
    return tuple(encode(parse_number(x), fmt).bits for x in numbers)


def answer(op: str, inputs: Sequence[int], fmt: str = "bf16", **options: object) -> tuple[list[int], int]:
    unit = VectorUnit.make(op, fmt, **options)  # type: ignore[arg-type]
    *found, flags = unit.answer(inputs)
    return found, flags


# -- the exact values --------------------------------------------------------------------------------------------------


def holds(value: Value, low: Fraction, high: Fraction) -> bool:
    """Whether a result, exact or cut, is that of a number between two bounds."""
    if not value.sticky:
        return low <= value.as_fraction() <= high
    unit = Fraction(2) ** value.exponent
    least = value.significand * unit
    low, high = (-high, -low) if value.sign else (low, high)
    return least < low and high < least + unit


NUMBERS = [("0", "1", "-2.5"), ("3", "3", "2.984375"), ("-7", "0.125", "5.5", "5.5", "-60"), ("100", "99.5")]


@pytest.mark.parametrize("numbers", NUMBERS, ids=len)
def test_shares_and_their_logarithms_by_decimals(numbers: tuple[str, ...]) -> None:
    """Python's decimal exponential and logarithm, which share nothing with MPFR."""
    with localcontext() as context:
        context.prec = DIGITS
        x = [Decimal(v) for v in numbers]
        total = sum(v.exp() for v in x)
        wanted = {"softmax": [v.exp() / total for v in x], "log_softmax": [v - total.ln() for v in x]}
    error = Fraction(1, 10 ** (DIGITS - 6))
    for op, lanes in wanted.items():
        for out in ("fp8_e4m3", "bf16", "fp64"):
            unit = VectorUnit.make(op, "bf16", out, length=len(x))
            for (value, flags), lane in zip(unit.unrounded(codes(*numbers)), lanes, strict=True):
                near = Fraction(lane)
                assert holds(value, near * (1 - error), near * (1 + error)) or holds(
                    value, near * (1 + error), near * (1 - error)
                ), (op, lane, value)
                assert not flags


ROWS = [("1", "-2", "3", "0.5"), ("1", "1", "1", "1"), ("0", "-0", "4", "0"), ("1e-30", "2e30", "-3", "1")]


@pytest.mark.parametrize("row", ROWS, ids=str)
@pytest.mark.parametrize("epsilon", ["0", "1/100000", "0x1p-10"])
def test_normalizations_by_squares(row: tuple[str, ...], epsilon: str) -> None:
    """In rationals: the square of (y - bias) / gain lies between those of the ends."""
    x = [decode(c, "bf16").as_fraction() for c in codes(*row)]
    gain, bias = codes("2", "-3", "0.5", "1"), codes("0.25", "-1", "3", "-0.0078125")
    for op, centred in (("rms_norm", False), ("layer_norm", True)):
        unit = VectorUnit.make(op, "bf16", "fp32", length=4, epsilon=epsilon)
        mean = sum(x) / 4 * centred
        square = sum((v - mean) ** 2 for v in x) / 4 + unit.exact_epsilon
        outcomes = unit.unrounded((*codes(*row), *gain, *(bias if centred else ())))
        for i, (value, flags) in enumerate(outcomes):
            if not square:
                assert value.is_nan
                assert flags == 0x10
                continue
            g, b = decode(gain[i], "bf16").as_fraction(), decode(bias[i], "bf16").as_fraction() * centred
            top = (x[i] - mean) * g  # y - b = top / sqrt(square)
            step = Fraction(2) ** value.exponent if value.sticky else Fraction(0)
            size = value.significand * Fraction(2) ** value.exponent
            ends = sorted((-1 if value.sign else 1) * e - b for e in (size, size + step))
            assert below(ends[0], top, square), (op, i, value)
            assert not below(ends[1], top, square, strictly=True), (op, i, value)


def below(bound: Fraction, top: Fraction, square: Fraction, strictly: bool = False) -> bool:
    """bound <= top / sqrt(square)."""
    mine, other = bound * abs(bound) * square, top * abs(top)
    return mine < other if strictly else mine <= other


def test_a_share_just_below_a_number_is_no_number() -> None:
    """1 / (1 + e^-d), for a d that no interval of thousands of bits reaches."""
    numbers = codes("0", "-1e38", "-2e38", "-3e38")
    assert answer("softmax", numbers, length=4)[0] == [*codes("1"), 0, 0, 0]
    assert answer("softmax", numbers, policy=Policy("rtz"), length=4) == ([0x3F7F, 0, 0, 0], 0x03)
    assert answer("softmax", numbers, policy=Policy("rup"), length=4)[0] == [0x3F80, 1, 1, 1]
    assert answer("log_softmax", numbers, policy=Policy("rdn"), length=4)[0] == [0x8001, *[x + 1 for x in numbers[1:]]]
    assert answer("log_softmax", numbers, length=4) == ([MINUS, *numbers[1:]], 0x03)
    both = codes("5", "5", "-1e38")
    assert answer("softmax", both, policy=Policy("rtz"), length=3)[0] == [0x3EFF, 0x3EFF, 0]


def test_a_share_beside_a_half_by_a_tiny_distance() -> None:
    """Lanes 2^-1074 apart: a thousand bits are needed."""
    for rounding, wanted in (("rtz", ("0x1.fffffep-2", "0.5")), ("rup", ("0.5", "0x1.000002p-1"))):
        found, flags = answer("softmax", (0, 1), "fp64", out="fp32", policy=Policy(rounding), length=2)
        assert tuple(found) == codes(*wanted, fmt="fp32")
        assert flags == 1


@pytest.mark.parametrize(("count", "flags"), [(1, 0), (2, 0), (3, 1), (8, 0), (4096, 0)])
def test_equal_lanes_have_equal_shares(count: int, flags: int) -> None:
    """1 / n, exact where n is a power of two; lanes of -Inf do not count."""
    wanted = encode(Fraction(1, count), "bf16").bits
    masked = 0 if count == 4096 else 2
    found = answer("softmax", (*codes("1.5") * count, *[INF | MINUS] * masked), length=count + masked)
    assert found == ([wanted] * count + [0] * masked, flags)


# -- special cases -----------------------------------------------------------------------------------------------------

EXTRA = (0x3F80,) * 2


@pytest.mark.parametrize(
    ("op", "inputs", "wanted", "flags"),
    [
        ("softmax", (INF | MINUS, 0x3F80), [0, 0x3F80], 0),
        ("softmax", (INF | MINUS, INF | MINUS), [NAN, NAN], 0x10),
        ("softmax", (INF, 0x3F80), [NAN, NAN], 0x10),
        ("softmax", (NAN, INF), [NAN, NAN], 0),
        ("softmax", (SNAN, 0), [NAN, NAN], 0x10),
        ("log_softmax", (INF | MINUS, 0x3F80), [INF | MINUS, 0], 0),
        ("log_softmax", (INF | MINUS, INF | MINUS), [NAN, NAN], 0x10),
        ("log_softmax", (INF, INF), [NAN, NAN], 0x10),
        ("rms_norm", (INF, 0x8001, *EXTRA), [NAN, MINUS], 0x10),
        ("rms_norm", (0, MINUS, *EXTRA), [0, MINUS], 0),
        ("rms_norm", (0x3F80, 0, INF, INF), [INF, NAN], 0x10),
        ("rms_norm", (0x3F80, 0x3F80, NAN, 0), [NAN, 0], 0),
        ("rms_norm", (NAN, 0x3F80, *EXTRA), [NAN, NAN], 0),
        ("layer_norm", (INF, 0, *EXTRA, 0, 0), [NAN, NAN], 0x10),
        ("layer_norm", (0x3F80, 0x3F80, *EXTRA, MINUS, 0x4000), [0, 0x4000], 0),
        ("layer_norm", (0x3F80, 0, *EXTRA, INF, INF | MINUS), [INF, INF | MINUS], 0),
        ("layer_norm", (0x3F80, 0, INF, INF, INF | MINUS, 0), [NAN, INF | MINUS], 0x10),
    ],
)
def test_special_cases(op: str, inputs: tuple[int, ...], wanted: list[int], flags: int) -> None:
    assert answer(op, inputs, length=2) == (wanted, flags)


def test_zeros_and_no_epsilon() -> None:
    for op in ("rms_norm", "layer_norm"):
        assert answer(op, (0, 0), length=2, plain=True, epsilon="0") == ([NAN, NAN], 0x10)
    assert answer("layer_norm", (0x3F80,) * 2, length=2, plain=True, policy=Policy("rdn")) == ([MINUS, MINUS], 0)


def test_a_bias_that_cancels() -> None:
    """Exactly, which needs the signs of an exact zero; and all but for a part in 2^40."""
    x = codes("1", "-1", fmt="fp32")
    one, minus = codes("1", "-1", fmt="fp32")
    common = {"length": 2, "epsilon": "0", "fmt": "fp32"}
    assert answer("layer_norm", (*x, one, one, minus, one), **common) == ([0, 0], 0)  # type: ignore[arg-type]
    near = {**common, "epsilon": "0x1p-40"}
    found, flags = answer("layer_norm", (*x, one, one, minus, one), **near)  # type: ignore[arg-type]
    assert [decode(c, "fp32").as_fraction() for c in found] == [Fraction(-1, 1 << 41), Fraction(1, 1 << 41)]
    assert flags == 1


def test_attention_is_softmax_of_scaled_products() -> None:
    unit = VectorUnit.make("attention_scores", "bf16", length=3, depth=2, masked=True)
    q, scale = codes("1", "2"), codes("0.5")
    k = codes("1", "1", "0", "-1", "4", "0.25")
    scores = codes("1.5", "-1", "2.25")
    assert unit.answer((*q, *k, *scale, 3)) == VectorUnit.make("softmax", "bf16", length=3).answer(scores)
    two = VectorUnit.make("softmax", "bf16", length=2).answer(scores[:2])
    masked = (*q, *k[:4], NAN, SNAN, *scale, 2)
    assert unit.answer(masked) == (*two[:2], 0, two[2])
    assert unit.answer((*q, *k, *scale, 0)) == (NAN, NAN, NAN, 0x10)
    assert unit.answer((*codes("0", "0"), INF, *k[1:], *scale, 3)) == (NAN, NAN, NAN, 0x10)
    assert unit.answer((*q, INF | MINUS, *k[1:], *scale, 3))[0] == 0
    assert unit.answer((*q, INF | MINUS, INF, *k[2:], *scale, 3)) == (NAN, NAN, NAN, 0x10)
    assert unit.answer((*q, INF, *k[1:], *scale, 2)) == (NAN, NAN, NAN, 0x10)  # a score of +Inf: in masked lanes too
    assert unit.answer((*q, INF | MINUS, *k[1:], *scale, 1)) == (NAN, NAN, NAN, 0x10)  # no score but -Inf
    with pytest.raises(Undefined):
        unit.answer((*q, *k, *scale, 4))


def test_stochastic_rounding_has_a_word_per_lane() -> None:
    unit = VectorUnit.make("softmax", "bf16", length=2, policy=Policy("sr", sr_bits=4))
    x = codes("0", "1")
    down = VectorUnit.make("softmax", "bf16", length=2, policy=Policy("rtz")).answer(x)
    assert unit.answer((*x, 0, 0)) == down
    assert unit.answer((*x, 15, 0)) == (down[0] + 1, *down[1:])
    assert unit.answer((*x, 0, 15)) == (down[0], down[1] + 1, down[2])


# -- units, sets, coverage ---------------------------------------------------------------------------------------------


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("op", VECTOR_FUNCTIONS)
def test_a_set_is_generated_verified_and_covered(op: str, tmp_path: Path) -> None:
    more = {"depth": 2, "masked": True} if VECTOR_FUNCTIONS[op].has_depth else {}
    unit = VectorUnit.make(op, "fp8_e5m2", "bf16", length=3, policy=Policy("sr", sr_bits=3), **more)  # type: ignore[arg-type]
    assert restored(json.loads(json.dumps(stored(unit)))) == unit
    vectors = of_unit(unit, 160, seed=2)
    names = {name.partition("/")[0] for name, _ in vectors.directed()}
    assert names == {"VO", "VR", "VN" if unit.epsilon else "VX"}
    found = set_report(vectors)
    assert found is not None
    assert found.totals["hit"] > 1.5 * found.totals["empty"]
    assert VectorSet.from_dict(vectors.to_dict()) == vectors


def test_files_are_verified_and_changes_found(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    ok("vectors", "generate", "--op", "rms_norm", "--fmt", "bf16", "--length", "4", "-n", "60", "-o", str(folder))
    assert verify(folder).passed
    path = next(folder.glob("*.tv"))
    text = path.read_text()
    path.write_text(text[:-4] + ("1" if text[-4] == "0" else "0") + text[-3:])
    assert not verify(folder).passed


def test_a_recipe(tmp_path: Path) -> None:
    text = 'op = "rms_norm"\nfmt = "bf16"\nlength = 3\nepsilon = "fp32:1e-6"\nplain = true\ncount = 20\n'
    (tmp_path / "r.toml").write_text(text)
    ok("vectors", "generate", "r.toml", "-o", "v", cwd=tmp_path)
    unit = json.loads((tmp_path / "v" / "manifest.json").read_text())["set"]["unit"]
    assert (unit["length"], unit["plain"], unit["epsilon"]) == (3, True, "8796093/8796093022208")
    (tmp_path / "r.toml").write_text(text + "k = 3\n")
    assert "unknown key 'k'" in refused("vectors", "generate", "r.toml", "-o", "w", cwd=tmp_path)


DEVICE = """
import sys
from softfloat_ref.units import make_unit
unit = make_unit("softmax", "bf16", length=4)
for line in sys.stdin:
    *codes, flags = unit.answer([int(word, 16) for word in line.split()])
    codes[2] = max(codes[2] - {off}, 0) if codes[2] < 0x7f80 else codes[2]
    print(*(f"{{x:04x}}" for x in codes), f"{{flags:02x}}", flush=True)
"""


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("off", "limit", "passes"), [(0, None, True), (1, None, False), (1, "1.6", True), (2, "1.4", False)]
)
def test_a_device_is_checked_lane_by_lane(off: int, limit: str | None, passes: bool, tmp_path: Path) -> None:
    (tmp_path / "device.py").write_text(DEVICE.format(off=off))
    vectors = of_unit(VectorUnit.make("softmax", "bf16", length=4), 80)
    report = check_command(
        vectors, f"{sys.executable} {tmp_path / 'device.py'}", limit=None if limit is None else Fraction(limit)
    )
    assert not report.failure
    assert (report.compared, report.passed) == (80, passes)
    if limit is not None:
        assert report.errors is not None
        assert any("softmax y[2]" in line for line in report.errors.text())


@pytest.mark.full
def test_a_device_that_truncates_is_named() -> None:
    device = f"{sys.executable} -m softfloat_ref eval rms_norm --fmt bf16 --length 3 --plain --round rtz -"
    args = ("check", "rms_norm", "--fmt", "bf16", "--length", "3", "--plain", "-n", "60", "--show", "1")
    done = run(*args, "--dut", device)
    assert done.returncode == 1
    assert "diagnosis: the device rounds toward zero" in done.stdout
    assert "softfloat-ref explain rms_norm --fmt x=bf16 --out bf16 --length 3 --epsilon 1/100000 --plain" in done.stdout
    none = run(*args, "--dut", device.replace("--round rtz", "--epsilon 0"))
    assert "diagnosis: the device adds no epsilon" in none.stdout


# -- the command line --------------------------------------------------------------------------------------------------


def test_eval_and_explain() -> None:
    assert ok("eval", "softmax", "--fmt", "bf16", "3f80", "4000", "ff80") == "3e8a 3f3b 0000 01\n"
    assert ok(
        "eval", "rms_norm", "--fmt", "x=bf16,gain=fp32", "--out", "fp16", "--epsilon", "0", "3f80", "40000000"
    ) == ("4000 00\n")
    args = ("softmax", "--fmt", "bf16", "--lane", "1", "3f80", "4000", "ff80", "--got", "3f3c")
    shown = ok("explain", *args)
    assert "lane       1 of 3" in shown
    assert "below      3f3b" in shown
    assert "matches rounding = rup" in shown
    stream = run("eval", "softmax", "--fmt", "bf16", "--length", "2", "-", stdin="3f80 3f80\n0000 ff80\n")
    assert stream.stdout == "3F80 3F80 3F00 3F00 00\n0000 FF80 3F80 0000 00\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("eval", "softmax", "--fmt", "mxfp8", "3f"), "block format"),
        (("eval", "softmax", "--fmt", "bf16", "--epsilon", "1", "3f80"), "softmax has no epsilon"),
        (("eval", "rms_norm", "--fmt", "bf16", "--epsilon", "-1", "3f80", "3f80"), "must not be negative"),
        (("eval", "rms_norm", "--fmt", "bf16", "3f80", "3f80", "3f80"), "takes 2 codes"),
        (("eval", "layer_norm", "--fmt", "x=bf16,gain=bf16", "3f80"), "no format for operand bias"),
        (("eval", "rms_norm", "--fmt", "x=bf16,gain=fp32", "3f80", "0"), "ambiguous"),
        (("eval", "add", "--fmt", "bf16", "--masked", "3f80", "0"), "--masked is for functions of vectors"),
        (("explain", "softmax", "--fmt", "bf16", "--lane", "2", "3f80", "0"), "lanes 0 to 1"),
        (("explain", "add", "--fmt", "bf16", "--lane", "2", "3f80", "0"), "--lane is for"),
        (("check", "softmax", "--fmt", "bf16", "--length", "5000", "--dut", "cat"), "from 1 to 4096"),
        (("check", "softmax", "--fmt", "bf16", "--k", "5", "--dut", "cat"), "--k is for dot"),
    ],
)
def test_bad_requests(args: tuple[str, ...], message: str) -> None:
    assert message in refused(*args)


def test_bad_definitions() -> None:
    table = stored(VectorUnit.make("rms_norm", "bf16", length=4))
    for change in ({"length": 0}, {"epsilon": "x"}, {"epsilon": ""}, {"depth": 3}, {"op": "nosuch"}, {"formats": []}):
        with pytest.raises((Error, ValueError)):
            restored({**table, **change})


def test_a_wrong_number_of_codes() -> None:
    for inputs in ((0x3F80, 0x3F80), (0x3F80,) * 4):
        with pytest.raises(Error, match="takes 3 codes"):
            make_unit("softmax", "bf16", length=3).answer(inputs)
    with pytest.raises(Error, match="takes 7 codes, not 2"):
        make_unit("BlockAdd", "binary8p4se@binary8p1uf/2").answer((0, 0))
    with pytest.raises(Error, match="did you mean softmax"):
        make_unit("softmx", "bf16")
