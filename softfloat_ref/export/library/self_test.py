"""The test program of a library: cases of every function, with the oracle's answers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.export.library.constants import INTEGERS, LibraryFormat
from softfloat_ref.export.library.policies import ROUNDING_MODES, LibraryPolicy
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations import Signature, evaluator, signature
from softfloat_ref.oracle.policies import Tininess

OPERATIONS: Final = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "mulAdd": "fma",
    "div": "div",
    "rem": "rem",
    "sqrt": "sqrt",
    "eq": "eq",
    "le": "le",
    "lt": "lt",
    "eq_signaling": "eq_signaling",
    "le_quiet": "le_quiet",
    "lt_quiet": "lt_quiet",
}
_CASES: Final = 6  # of each function, one a rounding
_START: Final = """\
/* SPDX-License-Identifier: 0BSD */
/* Cases with the results and flags of the scalar oracle. Prints what differs; ends with 1 if anything does. */
#include <stdio.h>
#include "{header}"

static int tested, wrong;

static void compare(const char *name, uint64_t got, unsigned flags, uint64_t want, unsigned want_flags)
{{
    tested++;
    if (got == want && flags == want_flags) return;
    wrong++;
    printf("%s: %llx %02x, not %llx %02x\\n", name, (unsigned long long)got, flags, (unsigned long long)want,
           want_flags);
}}

static void set(uint_fast8_t mode, uint_fast8_t tininess)
{{
    {p}softfloat_roundingMode = mode;
    {p}softfloat_detectTininess = tininess;
    {p}softfloat_exceptionFlags = 0;
}}

/* The rounding and the tininess; the result's type and what has its code; the call; what is right. */
#define CASE(mode, tininess, T, code, name, call, want, want_flags) \\
    do {{                                                            \\
        T z;                                                        \\
        set(mode, tininess);                                        \\
        z = call;                                                   \\
        compare(name, code, {p}softfloat_exceptionFlags, want, want_flags); \\
    }} while (0)

"""


class SelfTest:
    """The cases of a library's functions."""

    def __init__(self, formats: Sequence[LibraryFormat], policy: LibraryPolicy, prefix: str, header: str) -> None:
        self.formats, self.policy, self.prefix, self.header = formats, policy, prefix, header
        self.rng = random.Random(1)

    def text(self) -> str:
        lines = [_START.format(header=self.header, p=self.prefix)]
        for own in self.formats:
            lines += [f"static void test_{own.name}(void)", "{", *self._operands(own)]
            lines += [f"    {line}" for line in self._cases(own)] + ["}", ""]
        lines += ["int main(void)", "{", *(f"    test_{own.name}();" for own in self.formats)]
        return "\n".join(
            [*lines, '    printf("%d tested, %d wrong\\n", tested, wrong);', "    return wrong != 0;", "}", ""]
        )

    def _operands(self, own: LibraryFormat) -> Iterator[str]:
        yield f"    {self.prefix}{own.type} a, b, c;"

    def _cases(self, own: LibraryFormat) -> Iterator[str]:
        for function, op in OPERATIONS.items():
            yield from self._of(f"{own.name}_{function}", signature(op, own.fmt), own, own)
        for other in self.formats:
            if other != own:
                yield from self._of(f"{own.name}_to_{other.name}", signature("convert", own.fmt, other.fmt), own, other)
        for name, (width, signed) in INTEGERS.items():
            integer = get_format(f"{'i' if signed else 'u'}{width}")
            yield from self._of(f"{own.name}_to_{name}", signature("convert", own.fmt, integer), own, None)
            yield from self._of(f"{name}_to_{own.name}", signature("convert", integer, own.fmt), None, own)

    def _of(self, name: str, sig: Signature, own: LibraryFormat | None, out: LibraryFormat | None) -> Iterator[str]:
        """own, out: the formats of the operands and of the result; None: integers."""
        is_test = sig.operation.result == "boolean"
        tininess = itertools.cycle((Tininess.AFTER, Tininess.BEFORE))
        for (mode, number), when in zip(itertools.islice(ROUNDING_MODES.items(), _CASES), tininess, strict=False):
            codes = [self._code(fmt) for fmt in sig.formats]
            policy = self.policy.policy.replace(rounding=mode, tininess=when)
            bits, flags = evaluator(sig, policy)(codes, 0)
            call = f"{self.prefix}{name}({', '.join('abc'[: len(codes)])}"
            if own is None:
                call = f"{self.prefix}{name}(({self._integer(sig.formats[0])})UINT64_C({codes[0]:#x}))"
            elif out is None:
                call += f", {number}, true)"
            else:
                call += ")"
            kind, code = "bool", "z"
            if out is None:
                kind, code = self._integer(sig.out).replace("int", "int_fast"), f"(uint{sig.out.width}_t)z"
            elif not is_test:
                kind, code = f"{self.prefix}{out.type}", "z.v"
            values = [] if own is None else [f"{x}.v = UINT64_C({v:#x});" for x, v in zip("abc", codes, strict=False)]
            yield from values
            yield (
                f'CASE({number}, {int(when == Tininess.AFTER)}, {kind}, {code}, "{self.prefix}{name}", {call}, '
                f"UINT64_C({bits:#x}), {flags:#x});"
            )

    def _integer(self, fmt: Format) -> str:
        return f"{'' if fmt.signed else 'u'}int{fmt.width}_t"

    def _code(self, fmt: Format) -> int:
        """A number: half of them with few bits, near one; else any."""
        rng = self.rng
        if fmt.is_integer:
            return rng.getrandbits(fmt.width) >> rng.randrange(fmt.width)
        if rng.random() < 0.5:
            few = (1 << rng.randrange(fmt.mantissa_bits)) | (1 << rng.randrange(fmt.mantissa_bits))
            return (fmt.bias + rng.randint(-2, 2) << fmt.mantissa_bits) + few & fmt.magnitude_mask | (
                rng.choice((0, fmt.sign_bit))
            )
        code = rng.getrandbits(fmt.width)
        return code if not fmt.is_nan(code) else fmt.max_code
