"""Readers of definitions: TOML tables, and expressions on a command line. What is accepted is also used."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from fuzz import structures
from fuzz.reader import Reader, Run, in_file
from softfloat_ref.coverage.engine.measure import read_waivers
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.suites import find_suite
from softfloat_ref.golden.vector_recipes import load_recipe, recipe_files, suite_files
from softfloat_ref.golden.verify import stored_set
from softfloat_ref.oracle.accumulate import ACCUMULATORS, get_accumulator, parse_operand_formats
from softfloat_ref.oracle.accumulate.dots import operand, run, setting
from softfloat_ref.oracle.affine import RULES, get_affine_format, get_rule
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, BlockFormat, any_format
from softfloat_ref.oracle.blocks.profile import CHOICES
from softfloat_ref.oracle.blocks.profiles import PROFILES, get_profile
from softfloat_ref.oracle.blocks.quantize import quantize_block, resolve
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.formats import ALIASES, CATALOGUE, Format, get_format
from softfloat_ref.oracle.literals import parse_code, parse_number, shortest
from softfloat_ref.oracle.operations import evaluate
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS, get_policy
from softfloat_ref.oracle.sources import parse_source
from softfloat_ref.rtl.port_map import read_ports
from softfloat_ref.rtl.testbench import bench_text
from softfloat_ref.units import controls

TOP: Final = Path(__file__).parents[3]
FORMATS: Final = (*CATALOGUE, *ALIASES, "s1e4m3b7fn", "s0e8m0", "binary8p4se", "i12", "u1", "s1e20m256", "x.toml:a")
_ONE: Final = decode(0x3F800000, "fp32")


def use_format(fmt: Format) -> None:
    """Encode and decode with it."""
    for code in {0, 1, fmt.width, (1 << fmt.width) - 1}:
        if code >> fmt.width == 0:
            encode(decode(code, fmt), fmt, "ptx" if fmt.has_nan else None)
    fmt.hex(encode(-1.5, fmt).bits)


def use_any(definition: Format | BlockFormat) -> None:
    """Encode with a scalar format, or quantize a block."""
    if isinstance(definition, Format):
        use_format(definition)
    else:
        fmt, profile = resolve(definition, None)
        quantize_block([_ONE, _ONE], fmt, profile)


def use_policy(policy: Any) -> None:
    """Round with it."""
    words = {"random_bits": 0} if policy.random_count else {}
    encode(0.3, "fp8_e4m3", policy, **words)
    evaluate("add", (0x3C00, 0xFE01), "fp16", policy=policy, **words)


def use_accumulator(acc: Any) -> None:
    """A dot product of a few ones, where its formats are of use for it."""
    one = operand([0x3C00] * 4, "fp16", None, "a")
    run(setting(one, one, acc, get_format("fp32"), None, extrapolate=True), one, one, 0)


def inline(read: Callable[[str], object]) -> Run:
    """What a command line's argument is given to."""

    def run_text(data: bytes, _: Path) -> None:
        read(data.decode("utf-8", "surrogateescape"))

    return run_text


def _toml(tables: dict[str, str]) -> list[bytes]:
    return [text.encode() for text in tables.values()]


FORMAT_TOML: Final = {
    "like": '[formats.a]\nlike = "fp8_e4m3"\noverflow = "inf"\n\n[formats.b]\nlike = "x.toml:a"\nbias = 3\n',
    "whole": '[formats.a]\nexponent_bits = 5\nmantissa_bits = 2\nbias = 15\nsigned = true\nsource = "a manual"\n',
}
POLICY_TOML: Final = {
    "like": '[policies.a]\nlike = "riscv"\nrounding = "rtz"\nflush_inputs = true\nnan = "7fc1"\n',
    "whole": '[policies.a]\nrounding = "sr"\nsr_bits = 8\ntininess = "before"\noverflow = "sat-finite"\n',
}
PROFILE_TOML: Final = {
    "like": '[profiles.a]\nlike = "nvidia"\nscale_rule = "ceil"\nflush_below = -120\n',
    "whole": '[profiles.a]\nscale_rule = "floor"\ntail = "pad"\nrounding = "rne"\n',
}
RULE_TOML: Final = {
    "like": '[affine_rules.a]\nlike = "torch"\nnan = "zero"\n',
    "whole": '[affine_rules.a]\norder = "outside"\narithmetic = "fp32"\n',
}
BLOCK_TOML: Final = {
    "names": '[block_formats.a]\nelement = "fp4_e2m1"\nscale = "ue4m3"\nsize = 16\nprofile = "ocp"\n',
    "tables": '[block_formats.a]\nscale = "e8m0"\nsize = "axis"\nelement = { like = "int8", bias = 2 }\n',
}
ACCUMULATOR_TOML: Final = {
    "tree": '[accumulators.a]\ntree = "fuse(8+c,F=20,rd)->fp32:rne"\nnan = "ones"\n',
    "like": '[accumulators.a]\nlike = "nvidia-h100"\ntree = "fuse(16+c,F=25,rz)->fp32:rz"\n',
}
ACCUMULATOR_WORDS: Final = (
    *("fuse(", "chain(", "pairs(", "p[0:4]", "p", "c", "zero", "16", "F=25", "F=inf", "rz", "rd", "floor=-10"),
    *("floor_when=always", "exponent=scale", "->fp32:rz", "->out:rne", "@3:rz:1", "|fp16:rne", "+", ")", *ACCUMULATORS),
)
POLICY_WORDS: Final = (*POLICIES, *ROUNDINGS, "sat-none", "sat-finite", "canonical", "propagate", "7fc00000", "on")
PROFILE_WORDS: Final = (*PROFILES, *CHOICES, *(c for found in CHOICES.values() for c in map(str, found)))


def _tables(kind: str, keys: str) -> tuple[str, ...]:
    return (f"[{kind}.b]\n", 'like = "x.toml:a"\n', 'like = "x.toml"\n', *(f"{k} = " for k in keys.split()))


def _trees() -> list[bytes]:
    trees = [a.to_dict()["tree"] for a in ACCUMULATORS.values()]
    return [t.encode() for t in trees if len(t) < 300]


def _use_suite(path: str) -> None:
    suite = find_suite(path)
    if suite is not None:
        for vectors in list(suite.sets.values())[:3]:
            vectors.to_dict()
        suite.replaced(10, 1)


def _ports(path: str, folder: Path) -> None:
    manifest, vectors = _stored(folder / "scalar")
    bench_text(manifest, controls(vectors.unit), read_ports(path), str(folder), "a test")


def _waivers(path: str, _: Path) -> None:
    coverage = VectorSet.make("neg", "fp32", 1).coverage  # of few bins
    assert coverage is not None
    read_waivers(path, coverage)


@lru_cache
def _stored(folder: Path) -> tuple[dict[str, Any], Any]:
    """Manifest and set of a folder that no input changes."""
    manifest = read_manifest(folder)
    return manifest, stored_set(folder, manifest)


SUITE_TOML: Final = b"""description = "some of everything"
count = 5
policy = "riscv"
[[set]]
op = ["add", "sqrt"]
fmt = "fp16"
rounding = ["rne", "rup"]
overflow = "sat-finite"
[[set]]
op = ["abs", "neg"]
fmt = "binary8p4se"
level = "exhaustive"
[[set]]
op = "convert"
fmt = "fp32"
out = "binary8p4se"
rounding = ["sr", "sr-c"]
sr_bits = 8
[[set]]
label = "boxed"
padding = "box"
unboxed = 50
width = 64
part = [
  { op = ["add", "min"], fmt = "fp16", rounding = ["rne", "rtz"] },
  { op = "convert", fmt = "fp16", out = "i32" },
]
[pack]
count = 200
sets = ["add_fp16_rne*", "boxed"]
"""
PORTS_TOML: Final = (
    b"""module = "mul"
[inputs]
a = "a"
b = { b = "15:0", width = 16 }
[outputs]
result = "result"
flags = "flags"
""",
    b"""module = "unit"
clock = "clk"
latency = 2
ignore = ["flags"]
reset = { port = "rst", active = "low" }
[parameters]
N = 3
[handshake]
in_valid = "v"
stalls = 20
[inputs]
operands = { a = "31:16", b = "15:0" }
op = { of = "op", width = 2, codes = { mul = 1 } }
x = { value = 0 }
[outputs]
result = "result"
""",
    b"""module = "q"
clock = "clk"
lanes = 4
drain_timeout = 300
[handshake]
in_valid = "iv"
out_valid = "ov"
[tag]
in = "t"
out = "u"
width = 3
[sticky]
clear = "clear"
every = 4
[inputs]
a = "a"
b = "b"
[outputs]
result = { result = "15:0", stride = 16, fill = "any" }
nv = "invalid"
flags = { flags = "4:0", merge = true }
""",
)
PORT_WORDS: Final = (
    *("result", "flags", "a[7:0]", "operands", '"31:0"', "stride = ", "fill = ", "[tag]", "[sticky]", "[handshake]"),
    *("out_ready", "in_ready", "codes", "of = ", "merge = true", "lanes = ", "outstanding = ", "invalid", "random"),
)
WAIVERS_TOML: Final = (b'[[waive]]\nbin = "B1/*"\nreason = "none"\n\n[[waive]]\nbin = "*"\nreason = "all of them"\n',)
NUMBERS: Final = (b"1.25", b"-0x1.4p-3", b"1/3", b"inf", b"-nan", b"snan", b"1e-300", b"12345678901234567890.5e19")
OPERAND_FORMATS: Final = (b"fp16", b"a=fp8_e4m3,b=fp8_e5m2,c=fp32", b"a=mxfp8,b=mxfp4")


def readers() -> list[Reader]:
    """Those of definitions."""
    recipes = [p.read_bytes() for p in recipe_files().values()]
    recipes += [p.read_bytes() for p in sorted((TOP / "vectors").rglob("*.toml")) if b"[[part]]" in p.read_bytes()]
    suites = [p.read_bytes() for p in suite_files().values() if p.stat().st_size < 1000] + [SUITE_TOML]
    keys = ("op = ", "fmt = ", "count = ", "seed = ", "level = ", "policy = ", "[[part]]\n", "[[set]]\n", "source = ")
    return [
        Reader(
            "formats",
            _toml(FORMAT_TOML),
            in_file("x.toml", lambda p, _: use_format(get_format(p))),
            (*FORMATS, *_tables("formats", "exponent_bits mantissa_bits bias overflow nan")),
            others=True,
            structure=structures.toml,
        ),
        Reader(
            "policies",
            _toml(POLICY_TOML),
            in_file("x.toml", lambda p, _: use_policy(get_policy(p))),
            (*POLICY_WORDS, *_tables("policies", "rounding nan sr_bits tininess overflow")),
            others=True,
            structure=structures.toml,
        ),
        Reader(
            "profiles",
            _toml(PROFILE_TOML),
            in_file("x.toml", lambda p, _: get_profile(p)),
            (*PROFILE_WORDS, *_tables("profiles", " ".join(CHOICES))),
            others=True,
            structure=structures.toml,
        ),
        Reader(
            "affine_rules",
            _toml(RULE_TOML),
            in_file("x.toml", lambda p, _: get_rule(p)),
            (*RULES, *_tables("affine_rules", "order arithmetic parameters nan inf range rounding")),
            others=True,
            structure=structures.toml,
        ),
        Reader(
            "block_formats",
            _toml(BLOCK_TOML),
            in_file("x.toml", lambda p, _: use_any(any_format(p))),
            (*FORMATS, *PROFILES, *_tables("block_formats", "element scale size profile")),
            others=True,
            structure=structures.toml,
        ),
        Reader(
            "accumulators",
            _toml(ACCUMULATOR_TOML),
            in_file("x.toml", lambda p, _: use_accumulator(get_accumulator(p))),
            (*ACCUMULATOR_WORDS, *_tables("accumulators", "tree nan step formats")),
            others=True,
            structure=structures.toml,
        ),
        Reader(
            "recipes",
            recipes,
            in_file("x.toml", lambda p, _: load_recipe(p).to_dict()),
            (*keys, *FORMATS, *BLOCK_FORMATS, *POLICIES),
            others=True,
            structure=structures.toml,
        ),
        Reader(
            "suites",
            suites,
            in_file("x.toml", lambda p, _: _use_suite(p)),
            (*keys, *FORMATS, *BLOCK_FORMATS, *POLICIES, "[pack]\n"),
            others=True,
            structure=structures.toml,
        ),
        Reader(
            "ports",
            list(PORTS_TOML),
            in_file("x.toml", _ports),
            PORT_WORDS,
            others=True,
            structure=structures.toml,
        ),
        Reader(
            "waivers",
            list(WAIVERS_TOML),
            in_file("x.toml", _waivers),
            ("[[waive]]\n", "bin = ", "reason = "),
            structure=structures.toml,
        ),
        Reader(
            "format_names",
            [x.encode() for x in (*FORMATS[:-1], *BLOCK_FORMATS, "fp4_e2m1@ue5m3/16", "flexfp_e4m3")],
            inline(lambda t: use_any(any_format(t))),
            (*FORMATS, *BLOCK_FORMATS, "@", "/", "e8m0", "axis"),
            others=True,
        ),
        Reader(
            "affine_names",
            [b"qint8", b"quint4_sym_narrow", b"exact,order=outside"],
            inline(lambda t: (get_rule if "," in t else get_affine_format)(t)),
            ("qint", "_sym", "_narrow", *RULES),
            others=True,
        ),
        Reader(
            "accumulator_trees",
            _trees(),
            inline(lambda t: use_accumulator(get_accumulator(t))),
            ACCUMULATOR_WORDS,
            others=True,
        ),
        Reader(
            "random_sources",
            [b"philox:seed=3", b"lfsr:width=16,taps=16.14.13.11,seed=1,bits=15:0"],
            inline(lambda t: parse_source(t).bits(8, 0, 3)),
            ("philox:", "lfsr:", "seed=", "width=", "taps=", "bits="),
        ),
        Reader(
            "profile_names",
            [b"ocp,scale_rule=ceil,tail=pad", b"nvidia", b"mlx,flush-below=-100"],
            inline(get_profile),
            PROFILE_WORDS,
            others=True,
        ),
        Reader(
            "policy_names",
            [b"riscv", b"x86-sse", b"propagate"],
            inline(lambda t: use_policy(get_policy(t) if len(t) % 2 else get_policy(None, nan=t))),
            POLICY_WORDS,
            others=True,
        ),
        Reader("numbers", list(NUMBERS), inline(lambda t: _number(t)), ("0x", "p-", "e+", "inf", "/", ".", "_")),
        Reader("operand_formats", list(OPERAND_FORMATS), inline(parse_operand_formats), ("a=", "b=", "c=", *CATALOGUE)),
    ]


def _number(text: str) -> None:
    if len(text) % 3 == 0:
        parse_code(text)
    number = parse_number(text)
    encode(number, "fp16")
    if not hasattr(number, "numerator"):
        shortest(number)  # type: ignore[arg-type]
