"""The test program of a library: cases of every function, with the oracle's answers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_OF_LOOPS: Final = 0  # softfloat_roundingMode of the loops over arrays that have no branches
_START: Final = """\
/* SPDX-License-Identifier: 0BSD */
/* Cases with the results and flags of the scalar oracle. Prints what differs; ends with 1 if anything does. */
#include <stdio.h>
#include "{header}"

static int tested, wrong;

static void compare(const char *name, uint64_t high, uint64_t got, unsigned flags, uint64_t want_high, uint64_t want,
                    unsigned want_flags)
{{
    tested++;
    if (high == want_high && got == want && flags == want_flags) return;
    wrong++;
    printf("%s: %llx:%llx %02x, not %llx:%llx %02x\\n", name, (unsigned long long)high, (unsigned long long)got, flags,
           (unsigned long long)want_high, (unsigned long long)want, want_flags);
}}

static void set(uint_fast8_t mode, uint_fast8_t tininess)
{{
    {p}softfloat_roundingMode = mode;
    {p}softfloat_detectTininess = tininess;
    {p}softfloat_exceptionFlags = 0;
}}

/* The rounding, the tininess; the result's type and what has its code, in two words; the call; what is right. */
#define CASE(mode, tininess, T, high, code, name, call, want_high, want, want_flags) \\
    do {{                                                            \\
        T z;                                                        \\
        set(mode, tininess);                                        \\
        z = call;                                                   \\
        compare(name, high, code, {p}softfloat_exceptionFlags, want_high, want, want_flags); \\
    }} while (0)
/* The same of arrays of these operands, where a compiler may use vectors: the last of many results. */
enum {{ COUNT = 45 }};
#define LOOP(mode, tininess, T, high, code, name, call, want_high, want, want_flags) \\
    do {{                                                                             \\
        T z, zs[COUNT];                                                              \\
        uint8_t flags[COUNT];                                                        \\
        for (int i = 0; i < COUNT; i++) {{                                            \\
            as[i] = a;                                                               \\
            bs[i] = b;                                                               \\
            cs[i] = c;                                                               \\
        }}                                                                            \\
        set(mode, tininess);                                                         \\
        call;                                                                        \\
        z = zs[COUNT - 1];                                                           \\
        compare(name, high, code, flags[COUNT - 1], want_high, want, want_flags);    \\
    }} while (0)
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define HIGH 0
#else
#define HIGH 1
#endif

"""


class SelfTest:
    """The cases of a library's functions. arrays: those that have a form for arrays, without the prefix."""

    def __init__(
        self, formats: Sequence[LibraryFormat], policy: LibraryPolicy, prefix: str, header: str, arrays: Iterable[str]
    ) -> None:
        self.formats, self.policy, self.prefix, self.header = formats, policy, prefix, header
        self.arrays = set(arrays)
        self.rng = random.Random(1)

    def text(self, units: Mapping[str, Sequence[str]]) -> str:
        """The program. units: bodies of functions that test units, by their names."""
        lines = [_START.format(header=self.header, p=self.prefix)]
        for own in self.formats:
            lines += [f"static void test_{own.name}(void)", "{", *self._operands(own)]
            lines += [f"    {line}" for line in self._cases(own)] + ["}", ""]
        for name, body in units.items():
            lines += [f"static void {name}(void)", "{", *(f"    {line}" for line in body), "}", ""]
        names = [*(f"test_{own.name}" for own in self.formats), *units]
        lines += ["int main(void)", "{", *(f"    {name}();" for name in names)]
        return "\n".join(
            [*lines, '    printf("%d tested, %d wrong\\n", tested, wrong);', "    return wrong != 0;", "}", ""]
        )

    def _operands(self, own: LibraryFormat) -> Iterator[str]:
        kind = f"{self.prefix}{own.type}"
        yield f"    {kind} a = {{0}}, b = a, c = a, as[COUNT], bs[COUNT], cs[COUNT];"

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
            policy = self.policy.for_format(sig.out if out else sig.formats[0])
            bits, flags = evaluator(sig, policy.replace(rounding=mode, tininess=when))(codes, 0)
            call = f"{self.prefix}{name}({', '.join('abc'[: len(codes)])}"
            if own is None:
                call = f"{self.prefix}{name}(({self._integer(sig.formats[0])})UINT64_C({codes[0]:#x}))"
            elif out is None:
                call += f", {number}, true)"
            else:
                call += ")"
            kind, high, code = "bool", "0", "z"
            if out is None:
                kind, code = self._integer(sig.out).replace("int", "int_fast"), f"(uint{sig.out.width}_t)z"
            elif not is_test:
                kind = f"{self.prefix}{out.type}"
                high, code = _parts("z", out)
            if own is not None:
                for x, value in zip("abc", codes, strict=False):
                    yield _assigned(x, value, own)
            after = int(when == Tininess.AFTER)
            result, want = f"{kind}, {high}, {code}", f"{_hex(bits >> 64)}, {_hex(bits)}, {flags:#x}"
            yield f'CASE({number}, {after}, {result}, "{self.prefix}{name}", {call}, {want});'
            if number == _OF_LOOPS and name in self.arrays:
                arrays = ", ".join(f"{x}s" for x in "abc"[: len(codes)])
                loop = f"{self.prefix}{name}_n"
                yield f'LOOP({number}, {after}, {result}, "{loop}", {loop}(COUNT, {arrays}, zs, flags), {want});'

    def _integer(self, fmt: Format) -> str:
        return f"{'' if fmt.signed else 'u'}int{fmt.width}_t"

    def _code(self, fmt: Format) -> int:
        """A number: half of them with few bits, near one; else any."""
        rng = self.rng
        if fmt.is_integer:
            return rng.getrandbits(fmt.width) >> rng.randrange(fmt.width)
        m = fmt.mantissa_bits
        if rng.random() < 0.5 and m and fmt.bias > 2:
            few = (1 << rng.randrange(m)) | (1 << rng.randrange(m))
            near = (fmt.bias + rng.randint(-2, 2) << m) + few & fmt.hidden.magnitude_mask
            return fmt.stored(near) | rng.choice((0, fmt.sign_bit))
        code = rng.getrandbits(fmt.width)
        return code if not fmt.is_nan(code) else fmt.max_code


def _parts(name: str, own: LibraryFormat) -> tuple[str, str]:
    """The high and the low word of a variable's code."""
    if not own.in_struct:
        return "0", f"{name}.v"
    return (f"{name}.signExp", f"{name}.signif") if own.fmt.explicit_bit else (f"{name}.v[HIGH]", f"{name}.v[1 - HIGH]")


def _assigned(name: str, code: int, own: LibraryFormat) -> str:
    high, low = _parts(name, own)
    text = f"{low} = {_hex(code)};"
    if not own.in_struct:
        return text
    kind = "(uint16_t)" if own.fmt.explicit_bit else ""
    return f"{high} = {kind}{_hex(code >> 64)}; {text}"


def _hex(code: int) -> str:
    return f"UINT64_C({code & (1 << 64) - 1:#x})"
