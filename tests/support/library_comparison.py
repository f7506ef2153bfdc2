"""A compiled library beside the scalar oracle: every function, result and flags."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from libraries import MODES, CompiledLibrary, library_texts

from softfloat_ref.export.library import library_policy
from softfloat_ref.export.library.constants import INTEGERS, LibraryFormat
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations import evaluator, signature

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


def codes(fmt: Format, count: int, rng: random.Random) -> Iterator[int]:
    """Codes at the ends of classes, codes of few bits near one, subnormals, and any; where the integer bit is stored,
    some with another one."""
    if fmt.explicit_bit:
        stored = (fmt.stored(code) for code in codes(fmt.hidden, count, rng))
        yield from (code ^ (rng.randrange(8) == 0) << fmt.mantissa_bits for code in stored)
        return
    m, top = fmt.mantissa_bits, fmt.magnitude_mask
    ends = [
        0,
        1,
        fmt.min_normal_code,
        fmt.max_code,
        max(fmt.bias, 0) << m,
        fmt.max_code + 1,
        fmt.max_code + 2,
        fmt.quiet_bit,
    ]
    for _ in range(count):
        near = (max(fmt.bias + rng.randint(-m - 3, m + 3), 0) << m) + sum(
            rng.choice((1, -1)) << rng.randrange(m or 1) for _ in "ab"
        )
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
        self.library_policy = library_policy(policy)
        self.policy = self.library_policy.policy
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
            if f"{name}_r" in self.compiled:
                reentrant = self.compiled(f"{name}_r", list(zip(*cases, strict=True)), mode, tininess)
                assert [x.tolist() for x in reentrant] == [results.tolist(), flags.tolist()], (name, mode, tininess)
            if f"{name}_n" in self.compiled:
                of_arrays = self.compiled(f"{name}_n", list(zip(*cases, strict=True)), mode, tininess)
                assert [x.tolist() for x in of_arrays] == [results.tolist(), flags.tolist()], (name, mode, tininess)

    def check_operations(
        self, own: LibraryFormat, count: int, exhaustive: bool = False, pointers: bool = False
    ) -> None:
        """pointers: the functions that take and give pointers."""
        for k, (function, op) in enumerate(OPERATIONS.items()):
            settings = SETTINGS
            arity = signature(op, own.fmt).operation.arity
            if exhaustive and arity < 3:
                cases = list(itertools.product(range(1 << own.fmt.width), repeat=arity))
                if len(cases) > 1 << 12:  # two of the twelve, others for each operation
                    settings = [SETTINGS[0], SETTINGS[1 + k % 11]]
            else:
                cases = [tuple(codes(own.fmt, arity, self.rng)) for _ in range(count)]
            self.check(f"{own.name}{'M' * pointers}_{function}", op, own.fmt, cases, settings=settings)

    def check_stochastic(self, name: str, op: str, fmt: Format, to: Format | None, count: int) -> None:
        """A function with random bits, of values, of arrays and with a state of its own."""
        sig, own = signature(op, fmt, to), self.library_policy
        cases = [tuple(codes(fmt, len(sig.formats), self.rng)) for _ in range(count)]
        if fmt.is_integer:
            cases = [(self.rng.getrandbits(fmt.width) >> self.rng.randrange(fmt.width),) for _ in range(count)]
        random_bits = [self.rng.choice((0, -1, self.rng.getrandbits(64))) % (1 << own.sr_bits) for _ in cases]
        self.compiled.set_random(np.array(random_bits, np.uint64))
        for tininess in ("after", "before"):
            policy = self.policy.replace(rounding=own.stochastic, sr_bits=own.sr_bits, tininess=tininess)
            answers = [evaluator(sig, policy)(*x) for x in zip(cases, random_bits, strict=True)]
            for form in ("", "_n", "_r"):
                if form == "_n" and fmt.is_integer:
                    continue
                results, flags = self.compiled(f"{name}{form}", list(zip(*cases, strict=True)), "rtz", tininess)
                got = list(zip(results.tolist(), flags.tolist(), strict=True))
                wrong = [x for x in zip(cases, random_bits, got, answers, strict=True) if x[2] != x[3]]
                assert not wrong, (f"{name}{form}", tininess, wrong[0])

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
