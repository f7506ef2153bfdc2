"""Every command that takes an operation takes every unit, with the same options, or says in one line why not.

The units: every name that is requested, but of operations (also on blocks, of up to five operands) one for each shape
of operands and result, which their rows say; the formats of quantizers of every kind; an approximation, roundings as an
input, and recipes.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
import pytest
from command import TOP, here

import softfloat_ref as sf
from softfloat_ref.app.main import cli
from softfloat_ref.app.prove import second_unit
from softfloat_ref.app.requests import request_options
from softfloat_ref.app.serve import Server, _opened
from softfloat_ref.base.errors import Error
from softfloat_ref.export.languages import export_circuit
from softfloat_ref.golden.suites import read_suite
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.vector_functions import VECTOR_FUNCTIONS
from softfloat_ref.units import OPTIONS, REQUESTS, MixedUnit, Unit, VectorUnit, options_of

TANH: Final = str(TOP / "docs" / "examples" / "tanh_bf16" / "tanh_bf16.toml")
MIXED: Final = str(TOP / "docs" / "examples" / "mixed" / "recipe.toml")
MOST: Final = 5  # operands of an operation on blocks
BLOCK: Final = "binary8p4se@binary8p1uf/2"


@dataclass(frozen=True)
class Asked:
    """A unit as it is typed, and as Python has it."""

    line: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line)

    @property
    def unit(self) -> Unit:
        op, *rest = self.words
        formats = dict(zip(*[iter(rest[:4])] * 2, strict=False))
        return sf.unit(op, formats.get("--fmt"), formats.get("--out"), **self.options)

    def __str__(self) -> str:
        return re.sub(r"\S*/", "", self.line)


def shapes() -> Iterator[Asked]:
    """Operations, one of each shape."""
    rows = {(row.result, row.operands): name for name, row in reversed(OPERATIONS.items())}
    for (_, operands), name in rows.items():
        fmt = "i8" if set(operands) == {"integer"} else "fp8_e4m3"
        yield Asked(f"{name} --fmt {'u32' if name == 'urecpe' else fmt}")
    blocks = {
        (r.arity, r.scaled, r.to, r.takes_scale, r.finds_scale, r.single): n
        for n, r in reversed(BLOCK_OPERATIONS.items())
    }
    for name in blocks.values():
        row = BLOCK_OPERATIONS[name]
        if row.arity > MOST:
            continue
        fmt = BLOCK.replace("/2", "/1") if row.single else BLOCK if row.scaled else "binary8p4se"
        out = " --out " + (BLOCK if row.to == "block" else "binary8p4se")
        yield Asked(f"{name} --fmt {fmt}{out}")


REQUESTED: Final = [
    Asked("quantize --fmt fp4_e2m1@e8m0/2"),
    Asked("quantize --fmt nvfp4"),
    Asked("quantize --fmt qint8"),
    Asked("quantize --fmt quint4_sym --out bf16 --profile torch", {"profile": "torch"}),
    Asked("quantize --fmt fp4_e2m1@e8m0/2 --profile torchao-ceil", {"profile": "torchao-ceil"}),
    Asked("dequantize --fmt fp4_e2m1@e8m0/2"),
    Asked("dequantize --fmt qint8"),
    Asked("requantize --fmt i32 --rule tflite", {"rule": "tflite"}),
    Asked("requantize --fmt i16 --out u4 --rule onnx-reference --clamped", {"rule": "onnx-reference", "clamped": True}),
    Asked("requantize --fmt i20 --fixed zero_point=3", {"fixed": "zero_point=3"}),
    Asked("dot --fmt fp8_e4m3 --k 2", {"k": 2}),
    Asked("dot --fmt fp8_e4m3@e8m0/2 --steps", {"steps": True}),
    Asked("integer_dot --fmt i4 --out i9 --k 2", {"k": 2}),
    Asked("integer_dot --fmt a=u4,b=i4 --k 2 --clear", {"k": 2, "clear": True}),
    Asked("matmul --fmt fp8_e4m3 --k 2 --m 1 --n 1", {"k": 2, "m": 1, "n": 1}),
    *(Asked(f"{name} --fmt fp8_e4m3 --length 2", {"length": 2}) for name in VECTOR_FUNCTIONS),
    Asked("stepwise_softmax --fmt fp8_e4m3 --length 2", {"length": 2}),
    Asked("stepwise_softmax_reciprocal --fmt fp8_e4m3 --length 2", {"length": 2}),
    Asked("stepwise_layer_norm --fmt x=fp8_e4m3,steps=bf16 --length 2", {"length": 2}),
    Asked("stepwise_rms_norm --fmt x=fp8_e4m3,steps=bf16 --length 2 --steps", {"length": 2, "steps": True}),
    Asked("stepwise_attention --fmt fp8_e4m3 --out bf16 --length 2 --depth 1", {"length": 2, "depth": 1}),
    Asked("add --fmt fp8_e4m3 --rounding-input rne,rtz", {"roundings": "rne,rtz"}),
    Asked("mul --fmt fp8_e4m3 --policy arm --tininess after", {"policy": {"like": "arm", "tininess": "after"}}),
    Asked(shlex.quote(TANH)),
    Asked("fp16_fma_rne"),
    Asked(shlex.quote(MIXED)),
]
UNITS: Final = [*REQUESTED, *shapes()]
each_unit = pytest.mark.parametrize("asked", UNITS, ids=str)


def zeros(unit: Unit) -> list[str]:
    """A case: scales in FP32 of 1, zeros else."""
    codes = []
    for f in unit.inputs:
        one = f.name in ("scale", "tensor_scale") and f.width == 32
        codes += ["3f800000" if one else "0"] * f.lanes
    return codes


def answered(*words: str, cwd: Path | None = None, stdin: bytes = b"") -> str:
    """What a command that works prints: it ends with 0, or with 1 for a mismatch."""
    done = here(*words, cwd=cwd, stdin=stdin)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def refused(*words: str, cwd: Path | None = None) -> str:
    """The one line of a command that refuses its arguments."""
    done = here(*words, cwd=cwd)
    assert done.returncode == 2, (words, done.stdout)
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_there_is_a_unit_of_every_name() -> None:
    named = {asked.words[0] for asked in UNITS}
    assert named >= REQUESTS.keys() - BLOCK_OPERATIONS.keys()
    assert len(named & BLOCK_OPERATIONS.keys()) > 10
    assert len(named & OPERATIONS.keys()) > 8


# -- every command takes every unit ------------------------------------------------------------------------------------


@each_unit
def test_eval_and_explain(asked: Asked) -> None:
    unit, words, case = asked.unit, asked.words, zeros(asked.unit)
    wanted = " ".join(
        f"{code:0{width}x}"
        for code, width in zip(
            unit.answer([int(x, 16) for x in case]),
            (f.digits for f in unit.outputs for _ in range(f.lanes)),
            strict=True,
        )
    )
    assert answered("eval", *words, *case) == wanted + "\n"
    line = " ".join(case)
    assert answered("eval", *words, "-", stdin=f"{line}\n".encode()).lower().endswith(wanted + "\n")
    assert len(answered("explain", *words, *case).splitlines()) > 1
    assert json.loads(answered("explain", *words, "--json", *case))["steps"]
    assert str(sf.explain(unit, codes=[int(x, 16) for x in case])) + "\n" == answered("explain", *words, *case)


@each_unit
def test_serve(asked: Asked) -> None:
    server = Server()
    assert server.answer(f"open {asked.line}".encode()).startswith(b"context 0 ")
    assert b"error" not in server.answer(f"0 {' '.join(zeros(asked.unit))}".encode())


@pytest.mark.full(keep=5)
@each_unit
def test_vectors_and_their_verification(asked: Asked, tmp_path: Path) -> None:
    op, *rest = asked.words
    count = max(3, len(asked.unit.parts))
    size = ("-n", str(count))
    lines = answered("vectors", "generate", *asked.words, *size, "-o", "-")
    assert lines == answered("vectors", "generate", "--op", op, *rest, *size, "-o", "-")
    vectors = sf.vectors(asked.unit, count=count)
    if op not in (MIXED, "fp16_fma_rne"):  # recipes have a seed of their own
        texts = [line.lower().split() for line in lines.splitlines()]
        assert [[int(x, 16) for x in text] for text in texts] == [list(line) for line in vectors.lines()]
    answered("vectors", "generate", *asked.words, *size, "-o", "v", cwd=tmp_path)
    answered("vectors", "verify", "v", cwd=tmp_path)
    if len(asked.unit.result_formats) == 1:
        assert answered("vectors", "verify", "-", "--op", op, *rest, *size, stdin=lines.encode()) == ""


@pytest.mark.full(keep=12)
@each_unit
def test_check(asked: Asked) -> None:
    """`cat` gives the operands back: a check that runs ends with 1, or with 0 where that is right."""
    words = ["check", *asked.words, "--dut", "cat", "-n", str(max(2, len(asked.unit.parts))), "--no-diagnose"]
    if words[1] == "dot" and "--steps" in words:
        assert "leave the running results (steps) out" in refused(*words)
    else:
        answered(*words)


@each_unit
def test_prove_and_export(asked: Asked, tmp_path: Path) -> None:
    """A proof needs a module, too; a unit that cannot be one circuit is refused as such."""
    message = refused("prove", *asked.words)
    if asked.words[0] == "matmul":
        assert "a matrix product is too large for one circuit" in message
        assert message == refused("export", *asked.words, "--lang", "c")
        return
    assert "prove needs --ports FILE.toml and the module's SOURCEs" in message
    seen: list[Unit] = []

    def note(unit: Unit, name: str | None, language: str) -> Any:
        seen.append(unit)
        return export_circuit(sf.unit("neg", "fp8_e4m3"), name)

    with pytest.MonkeyPatch.context() as patched:  # making large circuits takes long
        patched.setattr("softfloat_ref.app.export.export_circuit", note)
        answered("export", *asked.words, "--lang", "c", "-o", "x.c", cwd=tmp_path)
    assert seen == [asked.unit]


@each_unit
def test_the_second_definition_of_a_comparison(asked: Asked) -> None:
    if asked.words[0] != "matmul":
        assert second_unit(asked.line) == asked.unit


@each_unit
def test_dpi(asked: Asked, tmp_path: Path) -> None:
    done = here("dpi", "-o", "d", "--uvm", *asked.words, cwd=tmp_path)
    if done.returncode == 0:
        assert list(tmp_path.glob("d/*_uvm_pkg.sv"))
    else:
        assert re.search("results of up to 128 bits|takes 4,000 characters", done.stderr), done.stderr


@each_unit
def test_identify(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it finds is refused, and the unit's own sizes are taken."""
    monkeypatch.setattr("softfloat_ref.app.identify.examiner", stopped)
    identified = [x for x in ("--profile", "--steps", "--rounding-input", "--policy") if x in asked.words]
    message = refused("identify", *asked.words, "--dut", "cat")
    if "--clear" in asked.words:
        assert "c is what a register of the device holds" in message
    elif identified:
        assert "identify finds the policy, the profile and the accumulator; leave --" in message
    else:
        assert "examined" in message


def stopped(vectors: sf.VectorSet, *_: Any) -> Any:
    raise Error(f"examined {vectors.name}")


# -- the same options --------------------------------------------------------------------------------------------------

VALUES: Final = {
    "profile": "torchao-ceil",
    "acc": "exact",
    "k": "2",
    "m": "1",
    "n": "1",
    "layout": "dense",
    "word": "32",
    "length": "2",
    "depth": "2",
    "epsilon": "1/8",
    "rule": "tflite",
    "fixed": "zero_point=0",
    "scale_round": "rtz",
    "scale_overflow": "sat-finite",
    "round": "rtz",
    "rounding_input": "rne,rup",
    "nan": "ones",
}
COMMANDS: Final = (
    "eval",
    "explain",
    "check",
    "export",
    "prove",
    "identify",
    "dpi",
    "vectors generate",
    "vectors verify",
)


def command_of(name: str) -> click.Command:
    command: click.Command = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        inner = command.get_command(click.Context(command), word)
        assert inner is not None
        command = inner
    return command


@request_options
def _all(**_: Any) -> None:
    """The options of a unit alone."""


def described(command: Callable[..., Any] | click.Command) -> dict[str, tuple[Any, ...]]:
    """The options of a command by name: spelling, kind, help."""
    params = command.params if isinstance(command, click.Command) else command.__click_params__  # type: ignore[attr-defined]
    return {p.name: (p.opts, str(p.type), p.help) for p in params if isinstance(p, click.Option) and p.name}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_same_options(name: str) -> None:
    own, shared = described(command_of(name)), described(_all)
    assert shared.items() <= own.items()
    assert described(_opened) == shared


def test_every_option_of_units_is_an_option_of_commands() -> None:
    shared = {*described(_all)}
    assert "None" not in answered("eval", "--help")
    assert {name for name, row in OPTIONS.items() if row.kind is not None} <= shared
    assert {"scale_rounding", "scale_overflow", "roundings", "policy"} <= shared


def owner(option: str) -> str:
    return {"scale_round": "scale_policy", "scale_overflow": "scale_policy", "round": "policy", "nan": "policy",
            "rounding_input": "policy"}.get(option, option)  # fmt: skip


SIMPLE: Final = [
    a
    for a in UNITS
    if len(a.words) < 6
    and a.words[0] in (*REQUESTS, *OPERATIONS)
    and "roundings" not in a.options
    and "dot2" not in a.line
]


@pytest.mark.full(keep=5)
@pytest.mark.parametrize("asked", SIMPLE, ids=str)
def test_an_option_is_taken_or_refused_by_its_name(asked: Asked) -> None:
    """By `eval` and a line of vectors alike; what a unit has not is refused with the option's name."""
    op = asked.words[0]
    for option, value in {**VALUES, "steps": None, "plain": None, "masked": None}.items():
        typed = f"--{option.replace('_', '-')}"
        words = [*asked.words, typed, *([value] if value else [])]
        done = here("vectors", "generate", *words, "-n", "2", "-o", "-")
        own = owner(option) in options_of(op)
        if not own:
            assert done.returncode == 2, words
            assert typed in done.stderr, done.stderr
            assert done.stderr == refused("eval", *words, "0")
        elif done.returncode:  # of this kind, but not of this function, format or rounding
            assert re.search(r"has no|neither|is for|no rounding|elements are not|works on|affine|fp32", done.stderr), (
                done.stderr
            )


@pytest.mark.parametrize("line", [TANH, "fp16_fma_rne", MIXED])
@pytest.mark.parametrize("option", ["--round rtz", "--k 2", "--profile ocp", "--fmt fp16", "--rounding-input rne,rtz"])
def test_what_defines_itself_takes_no_options(line: str, option: str) -> None:
    if (line, option) == (TANH, "--fmt fp16"):
        assert "takes bf16, not fp16" in refused("eval", line, *option.split(), "0")
        return
    for command in (("eval",), ("explain",), ("check",), ("vectors", "generate", "-o", "-")):
        message = refused(*command, line, *option.split(), *(["0"] if command[0] in ("eval", "explain") else []))
        assert re.search(
            r"has its own (formats and policy|rounding and formats|rounding); leave --\S+ out|no rounding that an",
            message,
        )


# -- recipes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('op = "fma"\nfmt = "fp16"\nprofile = "ocp"', "unknown key 'profile'"),
        ('op = "dequantize"\nfmt = "mxfp8"\npolicy = "arm"', "unknown key 'policy'"),
        ('op = "dot"\nfmt = "fp16"\nsource = "philox"', "unknown key 'source'"),
        ('op = "softmax"\nfmt = "fp16"\nk = 3', "unknown key 'k'"),
        ('op = "block_add"\nfmt = "mxfp8"\nscale_policy = "arm"', "unknown key 'scale_policy'"),
    ],
)
def test_a_recipe_has_the_keys_of_its_unit(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(text)
    assert message in refused("vectors", "generate", "r.toml", "-o", "-", cwd=tmp_path)


def test_a_recipe_takes_what_a_command_takes(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text('op = "add"\nfmt = "fp16"\nroundings = "rne,rtz"\ncount = 4')
    answer = answered("vectors", "generate", "r.toml", "-o", "-", cwd=tmp_path)
    assert answer == answered(
        "vectors", "generate", "add", *["--fmt", "fp16", "--rounding-input", "rne,rtz", "-n", "4", "-o", "-"]
    )
    out = "binary8p4se@binary8p1uf/2"
    (tmp_path / "r.toml").write_text(
        f'op = "ConvertToBlockMaxAbsFinite"\nfmt = "binary8p4se"\nout = "{out}"\ncount = 4\n'
        'scale_policy = { rounding = "rup" }'
    )
    answer = answered("vectors", "generate", "r.toml", "-o", "-", cwd=tmp_path)
    words = ["ConvertToBlockMaxAbsFinite", "--fmt", "binary8p4se", "--out", out, "--scale-round", "rup"]
    assert answer == answered("vectors", "generate", *words, "-n", "4", "-o", "-")


# -- sizes and sources -------------------------------------------------------------------------------------------------


def test_the_number_of_codes_is_the_size() -> None:
    for line, codes in (("dot --fmt fp16", 7), ("dot --fmt fp8_e4m3@e8m0/2", 13), ("softmax --fmt bf16", 5)):
        assert answered("eval", *line.split(), *["0"] * codes)
    assert "dot takes 33 codes" in refused("eval", "dot", "--fmt", "fp16", "--k", "16", *["0"] * 7)


def test_random_bits_of_an_input_rounding() -> None:
    """Only the selected rounding takes them; a source is used by sets, too."""
    words = ["add", "--fmt", "fp16", "--rounding-input", "rne,sr", "--sr-bits", "4"]
    case = ["3c00", "0001"]
    assert answered("eval", *words, "0", *case) == "3c00 01\n"
    assert "none were given" in refused("eval", *words, "1", *case)
    assert answered("eval", *words, "1", *case, "--random-bits", "f") == "3c00 01\n"
    assert "takes no random bits" in refused("eval", *words, "0", *case, "--random-bits", "f")
    drawn = [
        answered("vectors", "generate", *words, "-n", "40", "-o", "-", "--random-source", source)
        for source in ("philox:seed=1", "philox:seed=2")
    ]
    assert drawn[0] != drawn[1]


def test_units_are_those_of_python() -> None:
    """Every pair of a list: two texts of different units are different units."""
    for one, two in itertools.combinations(UNITS, 2):
        if one.unit == two.unit:
            assert one.words[0] == two.words[0]
    assert isinstance(sf.unit(MIXED), MixedUnit)
    assert isinstance(sf.unit("softmax", "bf16", length=3), VectorUnit)


@pytest.mark.parametrize(
    "words",
    [
        "quantize --fmt fp4_e2m1@e8m0/4 1.1 2.2 4.5 -1.1",
        "quantize --fmt qint8 1.1 2.2 4.5 -1.1",
        "explain --fmt fp4_e2m1@e8m0/4 1.1 2.2 4.5 -1.1",
        "eval quantize --fmt fp4_e2m1@e8m0/4 3f8ccccd 400ccccd 40900000 bf8ccccd",
        "eval quantize --fmt qint8 3f8ccccd 3e800000 05",
        "vectors generate quantize --fmt fp4_e2m1@e8m0/4 -n 9 -o -",
    ],
)
def test_a_profile_gives_the_rounding_unless_an_option_does(words: str) -> None:
    """Also where another option of the policy is typed."""
    name = "exact" if "qint8" in words else "ocp"

    def given(*more: str) -> str:
        return re.sub(rf"{name}[^ \n]*|, r[a-z]+$", "", answered(*words.split(), *more), flags=re.M)

    by_profile = given("--profile", f"{name},rounding=rup", "--flush-inputs", "on")
    assert by_profile == given("--profile", name, "--round", "rup", "--flush-inputs", "on")
    assert by_profile == given("--profile", f"{name},rounding=rdn", "--round", "rup", "--flush-inputs", "on")
    assert by_profile != given("--profile", name, "--flush-inputs", "on")


def test_the_selected_part_is_explained() -> None:
    case = ["3c00", "0001"]
    alone = answered("explain", "add", "--fmt", "fp16", "--round", "rtz", *case)
    shown = answered("explain", "add", "--fmt", "fp16", "--rounding-input", "rne,rtz", "1", *case)
    assert shown == "rounding   1 = rtz\n" + alone


def test_a_suite_gives_its_policy_to_the_units_that_take_one() -> None:
    sets = [{"op": "add", "fmt": "fp16"}, {"op": "dequantize", "fmt": "mxfp8"}, {"op": "dot", "fmt": "fp16"}]
    suite = read_suite("s", {"policy": "arm", "count": 4, "set": sets})
    units = [sf.unit("add", "fp16", policy="arm"), sf.unit("dequantize", "mxfp8"), sf.unit("dot", "fp16")]
    assert [v.unit for v in suite.sets.values()] == units
    for one in sets[1:]:
        with pytest.raises(Error, match=f"rounding does not apply to {one['op']}"):
            read_suite("s", {"set": [{**one, "rounding": "rtz"}]})
