"""Formats: the catalogue's figures, the grammar, definitions, and what is refused."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import BLOCK_ALIASES, BLOCK_FORMATS
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.formats import ALIASES, CATALOGUE, define_format, get_format, p3109

# name: largest, smallest normal, smallest subnormal, canonical NaN, Inf (None: the format has none)
FIGURES: dict[str, tuple[float, float | None, float | None, int | None, int | None]] = {
    "fp64": (1.7976931348623157e308, 2.0**-1022, 2.0**-1074, 0x7FF8 << 48, 0x7FF0 << 48),
    "fp32": (3.4028234663852886e38, 2.0**-126, 2.0**-149, 0x7FC00000, 0x7F800000),
    "tf32": (2.0**127 * (2 - 2**-10), 2.0**-126, 2.0**-136, 0x3FE00, 0x3FC00),
    "fp16": (65504.0, 2.0**-14, 2.0**-24, 0x7E00, 0x7C00),
    "bf16": (2.0**127 * (2 - 2**-7), 2.0**-126, 2.0**-133, 0x7FC0, 0x7F80),
    "dlfloat16": (8573157376.0, 2.0**-31 * (1 + 2**-9), None, 0x7FFF, None),
    "fp8_e5m2": (57344.0, 2.0**-14, 2.0**-16, 0x7E, 0x7C),
    "fp8_e4m3": (448.0, 2.0**-6, 2.0**-9, 0x7F, None),
    "fp8_e3m4": (15.5, 2.0**-2, 2.0**-6, 0x78, 0x70),
    "fp8_e4m3fnuz": (240.0, 2.0**-7, 2.0**-10, 0x80, None),
    "fp8_e5m2fnuz": (57344.0, 2.0**-15, 2.0**-17, 0x80, None),
    "fp8_e4m3b11fnuz": (30.0, 2.0**-10, 2.0**-13, 0x80, None),
    "fp6_e3m2": (28.0, 0.25, 0.0625, None, None),
    "fp6_e2m3": (7.5, 1.0, 0.125, None, None),
    "fp4_e2m1": (6.0, 1.0, 0.5, None, None),
    "e8m0": (2.0**127, 2.0**-127, None, 0xFF, None),
    "ue4m3": (448.0, 2.0**-6, 2.0**-9, 0x7F, None),
    "ue5m3": (114688.0, 2.0**-14, 2.0**-17, 0xFF, None),
    "int8": (127 / 64, None, 1 / 64, None, None),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str) -> None:
    f = get_format(name)
    largest, normal, subnormal, nan, inf = FIGURES[name]
    assert decode(f.max_code, f).as_fraction() == Fraction(largest)
    if normal is not None:
        assert decode(f.min_normal_code, f).as_fraction() == Fraction(normal)
    if subnormal is not None:
        assert decode(1, f).as_fraction() == Fraction(subnormal)
    assert f.canonical_nan == (-1 if nan is None else nan)
    assert f.inf_code == (-1 if inf is None else inf)


def test_fp128_largest() -> None:
    f = get_format("fp128")
    assert decode(f.max_code, f).as_fraction() == (2 - Fraction(1, 2**112)) * 2**16383


def test_every_catalogue_entry_has_figures_and_a_source() -> None:
    integers = {n for n in CATALOGUE if re.fullmatch(r"[iu]\d+", n)}
    assert set(CATALOGUE) == set(FIGURES) | integers | {"fp128", "extf80"}  # test_extended
    assert all(f.source for f in CATALOGUE.values())
    assert all(get_format(a) for a in ALIASES)


# FP8 training table: name, bias, largest, smallest normal, smallest subnormal, as printed (cut to three digits)
TABLE = [
    ("fp32", 127, "3.40e38", "1.17e-38", "1.40e-45"),
    ("fp16", 15, "6.55e4", "6.10e-5", "5.96e-8"),
    ("s1e6m1b46", 46, "9.83e4", "2.84e-14", "1.42e-14"),
    ("s1e5m2", 15, "5.73e4", "6.10e-5", "1.52e-5"),
    ("s1e4m3", 7, "2.40e2", "1.56e-2", "1.95e-3"),
]


@pytest.mark.parametrize(("name", "bias", "largest", "normal", "subnormal"), TABLE)
def test_table_of_training_formats(
    name: str, bias: int, largest: str, normal: str, subnormal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`formats show` prints every digit of the published table, which cuts instead of rounding."""
    from softfloat_ref.app.formats import command

    command.main(["show", name], standalone_mode=False)
    shown = dict(
        line.strip().split(None, 1)
        for line in capsys.readouterr()
        .out.replace("x n", "x_n")
        .replace("n n", "n_n")
        .replace("n s", "n_s")
        .splitlines()[1:]
    )
    assert shown["bias"] == str(bias)
    for key, published in (("max_normal", largest), ("min_normal", normal), ("min_subnormal", subnormal)):
        assert cut(shown[key].split()[0]) == published


def cut(decimal: str) -> str:
    """Three significant digits of a decimal, the rest cut off, as the table prints them."""
    mantissa, _, exponent = f"{float(decimal):.16e}".partition("e")
    return f"{mantissa[:4]}e{int(exponent)}"


def test_table_lstm_bias() -> None:
    assert decode(get_format("s1e4m3b11").max_code, "s1e4m3b11").as_fraction() == 15


def test_p3109_shapes() -> None:
    """All names for K up to 16, from the standard's formulas (3.1, 4.1): bias, one zero, one NaN, where Inf is."""
    count = 0
    for k in range(3, 17):
        for signed in (True, False):
            for p in range(1, k if signed else k + 1):
                for extended in (True, False):
                    f = p3109(k, p, signed=signed, extended=extended)
                    assert f is get_format(f.name) or f == get_format(f.name)
                    assert f.width == k
                    assert f.precision == p
                    assert f.bias == 2 ** (k - p - 1 if signed else k - p)
                    assert f.canonical_nan == (2 ** (k - 1) if signed else 2**k - 1)
                    assert f.inf_code == ((2 ** (k - 1) - 1 if signed else 2**k - 2) if extended else -1)
                    assert [c for c in range(2**k) if decode(c, f).is_nan] == [f.canonical_nan] if k < 9 else True
                    count += 1
    assert count == 2 * sum(2 * k - 1 for k in range(3, 17))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fp17", "did you mean fp16"),
        ("s1e0m3", "exponents have 1 to 20 bits"),
        ("s0e4m3fnuz", "must be signed"),
        ("s1e1m0", "no finite value except zero"),
        ("binary8p8se", "P3109 needs"),
        ("binary17p3se", "P3109 needs"),
        ("i0", "1 to 256 bits"),
        ("missing.toml", "No such file"),
        ("", "unknown format"),
    ],
)
def test_bad_names(name: str, message: str) -> None:
    with pytest.raises(Error, match=re.escape(message)):
        get_format(name)


@pytest.mark.parametrize("name", [*BLOCK_FORMATS, *BLOCK_ALIASES, "flexfp_e3m2", "fp4_e2m1@e8m0/axis", "MXFP8"])
def test_a_block_format_is_said_to_be_one(name: str) -> None:
    with pytest.raises(
        Error, match=r"is a block format; a scalar format is needed, for example its element \(formats show"
    ):
        get_format(name)


def test_grammar_is_the_catalogue() -> None:
    same = {
        "s1e4m3b7fn": "fp8_e4m3",
        "s1e5m2": "fp8_e5m2",
        "s1e4m3fnuz": "fp8_e4m3fnuz",
        "s1e2m1finite": "fp4_e2m1",
        "s0e4m3fn": "ue4m3",
        "s1e8m23b127": "fp32",
    }
    for name, known in same.items():
        a, b = get_format(name).to_dict(), get_format(known).to_dict()
        assert {k: v for k, v in a.items() if k not in ("name", "source")} == {
            k: v for k, v in b.items() if k not in ("name", "source")
        }


def test_definitions_in_toml(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[formats.small]\nlike = "fp8_e4m3"\nbias = 11\n\n'
        "[formats.vax]\nexponent_bits = 4\nmantissa_bits = 3\nbias = 7\nsubnormals = 'none'\n"
    )
    assert get_format(f"{path}:small").bias == 11
    assert decode(1, f"{path}:vax").is_zero
    with pytest.raises(Error, match="choose one"):
        get_format(str(path))
    path.write_text("[formats.bad]\nexponent_bits = 4\nmantissa_bits = 3\nbias = 7\ntypo = 1\n")
    with pytest.raises(Error, match="unknown field 'typo'"):
        get_format(str(path))
    path.write_text("[formats.bad]\nexponent_bits = '4'\n")
    with pytest.raises(Error, match="is not of type int"):
        get_format(str(path))
    path.write_text("not toml")
    with pytest.raises(Error, match="not valid TOML"):
        get_format(str(path))


def test_definition_round_trip() -> None:
    for f in CATALOGUE.values():
        assert define_format(f.to_dict()) == f


@pytest.mark.parametrize(
    "change",
    [
        {"exponent_bits": 0},
        {"exponent_bits": 21},
        {"mantissa_bits": -1},
        {"nan": "somewhere"},
        {"infinity": False},
        {"overflow": "nan", "nan": "none"},
        {"zero": False},
        {"twos_complement": True},
        {"symmetric": True},
        {"overflow": "integer"},
        {"signaling": True, "mantissa_bits": 1},
        {"nan": "negative-zero", "signed": False},
    ],
)
def test_contradictions_are_refused(change: dict[str, object]) -> None:
    table = {"name": "x", "exponent_bits": 4, "mantissa_bits": 3, "bias": 7} | change
    with pytest.raises(Error, match="format 'x'"):
        define_format(table)
