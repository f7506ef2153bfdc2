"""Exported C libraries: every function, compiled with warnings as errors, equal to the scalar oracle, with flags."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from libraries import MODES, CompiledLibrary, library_texts

from softfloat_ref.base.errors import Error
from softfloat_ref.export.library import library_policy
from softfloat_ref.export.library.constants import INTEGERS, LibraryFormat
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import POLICIES as NAMED

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")

SANITIZED = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-DCORE_PORTABLE")
OPERATIONS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "div",
    "rem": "rem",
    "mulAdd": "fma",
    "sqrt": "sqrt",
    "roundToInt": "round_to_integral_exact",
    **{name: name for name in ("eq", "le", "lt", "eq_signaling", "le_quiet", "lt_quiet")},
}
SETTINGS = list(itertools.product(MODES, ("after", "before")))
# What a policy may choose: each field is set by one of them at least.
POLICIES: dict[str, dict[str, Any]] = {
    "ieee": {},
    "x86": {"like": "x86-sse", "overflow": "sat-none", "flush_outputs": "on"},
    "arm": {"like": "arm", "flush_inputs": "on", "flush_outputs": "on"},
    "ptx": {"like": "ptx-fp64", "nan_missing": "zero"},
    "tpu": {"like": "tpu-bf16", "overflow": "sat-propagate"},
    "ml-dtypes": {"like": "ml-dtypes"},
    "codes": {"like": "riscv", "nan": "propagate-signaling,addend-first,fp16=7f00"},
}


def codes(fmt: Format, count: int, rng: random.Random) -> Iterator[int]:
    """Codes at the ends of classes, codes of few bits near one, subnormals, and any."""
    m, top = fmt.mantissa_bits, fmt.magnitude_mask
    ends = [0, 1, fmt.min_normal_code, fmt.max_code, fmt.bias << m, fmt.max_code + 1, fmt.max_code + 2, fmt.quiet_bit]
    for _ in range(count):
        near = (fmt.bias + rng.randint(-m - 3, m + 3) << m) + sum(rng.choice((1, -1)) << rng.randrange(m) for _ in "ab")
        kinds = (rng.choice(ends) + rng.randint(-1, 1), near, near, rng.getrandbits(m + 1), rng.getrandbits(fmt.width))
        yield max(0, min(rng.choice(kinds), top)) | rng.choice((0, fmt.sign_bit))


class Comparison:
    """A compiled library beside the oracle."""

    def __init__(
        self,
        formats: Sequence[str],
        policy: dict[str, Any],
        folder: Path,
        *options: str,
        texts: dict[str, str] | None = None,
    ) -> None:
        self.formats = [LibraryFormat(get_format(f)) for f in formats]
        self.compiled = CompiledLibrary(texts or library_texts(formats, **policy), folder, *options)
        self.policy = library_policy(policy).policy
        self.rng = random.Random(1)

    def check(
        self,
        name: str,
        op: str,
        fmt: Format,
        cases: Sequence[Sequence[int]],
        to: Format | None = None,
        settings: Sequence[tuple[str, str]] = SETTINGS,
    ) -> None:
        """A function under settings of the state; its form for arrays, too."""
        sig = signature(op, fmt, to)
        for mode, tininess in settings:
            answer = evaluator(sig, self.policy.replace(rounding=mode, tininess=tininess))
            results, flags = self.compiled(name, list(zip(*cases, strict=True)), mode, tininess)
            for case, result, flag in zip(cases, results.tolist(), flags.tolist(), strict=True):
                assert (result, flag) == answer(case, 0), (name, mode, tininess, [f"{x:x}" for x in case])
            if f"{name}_n" in self.compiled:
                of_arrays = self.compiled(f"{name}_n", list(zip(*cases, strict=True)), mode, tininess)
                assert [x.tolist() for x in of_arrays] == [results.tolist(), flags.tolist()], (name, mode, tininess)

    def check_operations(self, own: LibraryFormat, count: int, exhaustive: bool = False) -> None:
        for k, (function, op) in enumerate(OPERATIONS.items()):
            settings = SETTINGS
            arity = signature(op, own.fmt).operation.arity
            if exhaustive and arity < 3:
                cases = list(itertools.product(range(1 << own.fmt.width), repeat=arity))
                if len(cases) > 1 << 12:  # two of the twelve, others for each operation
                    settings = [SETTINGS[0], SETTINGS[1 + k % 11]]
            else:
                cases = [tuple(codes(own.fmt, arity, self.rng)) for _ in range(count)]
            self.check(f"{own.name}_{function}", op, own.fmt, cases, settings=settings)

    def check_conversions(self, own: LibraryFormat, count: int) -> None:
        cases = [(code,) for code in codes(own.fmt, count, self.rng)]
        if own.fmt.width <= 8:
            cases = [(code,) for code in range(1 << own.fmt.width)]
        for other in self.formats:
            if other != own:
                self.check(f"{own.name}_to_{other.name}", "convert", own.fmt, cases, other.fmt)
        for name, (width, signed) in INTEGERS.items():
            integer = get_format(f"{'i' if signed else 'u'}{width}")
            self.check(f"{own.name}_to_{name}", "convert", own.fmt, cases, integer)
            counts = [(self.rng.getrandbits(width) >> self.rng.randrange(width),) for _ in range(count)]
            self.check(f"{name}_to_{own.name}", "convert", integer, counts, own.fmt)


def test_all_pairs_of_4_bits_and_two_words(tmp_path: Path) -> None:
    formats = Comparison(["fp4_e2m1", "fp64"], {}, tmp_path, *SANITIZED)
    formats.check_operations(formats.formats[0], 100, exhaustive=True)
    formats.check_conversions(formats.formats[0], 20)
    formats.check_operations(formats.formats[1], 20)


@pytest.mark.full
@pytest.mark.parametrize("fmt", ["fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp6_e3m2"])
def test_all_pairs_of_8_bits(fmt: str, tmp_path: Path) -> None:
    formats = Comparison([fmt], {}, tmp_path, "-O2")
    formats.check_operations(formats.formats[0], 3000, exhaustive=True)


@pytest.mark.full
@pytest.mark.parametrize("policy", list(POLICIES))
def test_policies(policy: str, tmp_path: Path) -> None:
    """A format for each size of words, one without Inf, one without NaN; no -0 where flushed inputs could be that."""
    small = "fp8_e4m3" if POLICIES[policy].get("flush_inputs") or "tpu" in policy else "fp8_e4m3fnuz"
    full = policy != "ieee"
    names = ["fp16", "fp64", "fp32", small, "fp6_e3m2"] if full else ["fp32", small]
    formats = Comparison(names, POLICIES[policy], tmp_path, *(SANITIZED if full else ["-O0"]))
    for own in formats.formats:
        formats.check_operations(own, 120 if full else 30)
        formats.check_conversions(own, 60 if full else 20)


def test_every_named_policy_is_a_library_or_refused() -> None:
    refused = {}
    for name in NAMED:
        try:
            library_texts(["fp16", "fp8_e4m3"], like=name)
        except Error as e:
            refused[name] = str(e).partition(" library")[0].split()[-4:]
    assert refused == {
        "p3109": ["are", "not", "in", "the"],
        **{name: ["is", "not", "in", "the"] for name in ("x87", "softfloat-8086")},
    }


@pytest.mark.full
def test_every_format(tmp_path: Path) -> None:
    names = [
        "bf16",
        "tf32",
        "fp8_e5m2",
        "fp8_e3m4",
        "fp8_e5m2fnuz",
        "fp8_e4m3b11fnuz",
        "s1e8m15",
        "s1e11m25",
        "s1e6m9fn",
    ]
    formats = Comparison(names, {}, tmp_path, "-O2")
    for own in formats.formats:
        formats.check_operations(own, 150)
        formats.check_conversions(own, 100)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("core_round.h", "half - 1", "half"),
        ("core_round.h", "(normal ^ 1)", "normal"),
        ("core_arithmetic.h", "TOP - 1 - 2 * f.mantissa", "TOP - 2 - 2 * f.mantissa"),
        ("core_library.h", "UINT64_C(0x1f)", "UINT64_C(0x1e)"),
    ],
)
def test_a_wrong_constant_is_seen(file: str, right: str, wrong: str, tmp_path: Path) -> None:
    texts = library_texts(["fp6_e2m3"])
    assert right in texts[file]
    texts[file] = texts[file].replace(right, wrong, 1)
    formats = Comparison(["fp6_e2m3"], {}, tmp_path, texts=texts)
    with pytest.raises(AssertionError, match="f6_e2m3_"):
        formats.check_operations(formats.formats[0], 200, exhaustive=True)


@pytest.mark.parametrize(
    ("fmt", "policy", "message"),
    [
        ("extf80", {}, "the integer bit of its significand is stored"),
        ("fp32", {"like": "x87"}, "the NaN rule propagate-larger is not in the library"),
    ],
)
def test_what_is_of_the_extended_format_is_refused(fmt: str, policy: dict[str, str], message: str) -> None:
    with pytest.raises(Error, match=message):
        library_texts([fmt], **policy)
