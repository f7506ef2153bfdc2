"""The functions of a library: for each its declaration, and its definition as one call of the core."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from softfloat_ref.export.library.constants import INTEGERS, LibraryFormat, integer_constants
from softfloat_ref.export.library.policies import LibraryPolicy
from softfloat_ref.export.plan import wrap_line
from softfloat_ref.oracle.operations import appended_zeros, signature

LONG: Final = 128  # bits of the words of core_values.h
_COMPARISONS: Final = {
    "eq": ("eq", 0),
    "le": ("le", 1),
    "lt": ("lt", 1),
    "eq_signaling": ("eq", 1),
    "le_quiet": ("le", 0),
    "lt_quiet": ("lt", 0),
}


@dataclass(frozen=True)
class Function:
    """result, arguments: in C, with the prefix. body: statements. rounded: instead, of a result in the rounding of
    the state, the words, the type of its code and the call of the core."""

    result: str
    name: str
    arguments: str
    body: Sequence[str]
    rounded: str = ""

    @property
    def signature(self) -> str:
        return f"{self.result} {self.name}({self.arguments})"

    @property
    def definition(self) -> str:
        if self.rounded:
            word, code, call = self.rounded.split(", ", 2)
            values = ", ".join(x.rpartition(" ")[2].lstrip("*") for x in self.arguments.split(", "))
            head = f"{word}, {self.result}, {code}, {self.name}, ({self.arguments}), ({values})"
            macro = "CORE_EXTENDED" if "CORE_SHORTER" in call else "CORE_FUNCTION"
            call = call.replace("CORE_SHORTER", "shorter")
            return f"{macro}({head},\n              {call})"
        return "\n".join([*wrap_line(self.signature, ""), "{", *(f"    {line}" for line in self.body), "}"])


class FunctionWriter:
    """The functions of one format among those of a library."""

    def __init__(
        self, own: LibraryFormat, formats: Sequence[LibraryFormat], policy: LibraryPolicy, prefix: str
    ) -> None:
        self.own, self.formats, self.policy, self.prefix = own, formats, policy, prefix

    def functions(self) -> Iterator[Function]:
        yield from self.arithmetic()
        yield from self.comparisons()
        yield from self.to_integers()
        yield from self.from_integers()
        yield from self.conversions()
        if self.policy.sr_bits:
            yield from self.stochastic()

    def stochastic(self) -> Iterator[Function]:
        """The rounded functions, with random bits as the last argument; in words of 128 bits, for their room."""
        long = [dataclasses.replace(x, long=True) for x in (self.own, *self.formats)]
        writer = FunctionWriter(long[0], long[1:], self.policy, self.prefix)
        for function in (*writer.arithmetic(), *writer.from_integers(), *writer.conversions()):
            if function.rounded and not function.name.endswith("_rem"):
                yield self._with_random_bits(function)

    def _with_random_bits(self, function: Function) -> Function:
        word, code, call = function.rounded.split(", ", 2)
        mask = f"UINT64_C({(1 << self.policy.sr_bits) - 1:#x})"
        mode = f"core_stochastic_mode(mode, {self.policy.sr_bits}, bits & {mask}"
        call = call.replace("core_long_mode(mode", mode)
        body = [f"CORE_RETURN({word}, {function.result}, {code}, {call}, CORE_{self.policy.stochastic.name});"]
        if mode not in call:
            body.insert(0, "(void)bits;")  # nothing is rounded
        return Function(function.result, f"{function.name}_sr", f"{function.arguments}, uint64_t bits", body)

    def arithmetic(self) -> Iterator[Function]:
        sums, products = self.own.sum_word, self.own.product_word
        a, b, c = (self._code(x) for x in "abc")
        f, mode, exactly = self._format(), self._mode(sums, self._shorter), self._mode(sums)
        yield self._rounded("add", "ab", f"core_add_{sums}({a}, {b}, 0, {f}, {mode})", sums)
        yield self._rounded("sub", "ab", f"core_add_{sums}({a}, {b}, 1, {f}, {mode})", sums)
        yield self._rounded("mul", "ab", f"core_mul_{sums}({a}, {b}, {f}, {mode})", sums)
        yield self._rounded("mulAdd", "abc", f"core_fma_{products}({a}, {b}, {c}, {f}, {mode})", products)
        yield self._rounded("div", "ab", f"core_div_{products}({a}, {b}, {f}, {mode})", products)
        yield self._rounded("rem", "ab", f"core_rem_{products}({a}, {b}, {f}, {exactly})", products)
        yield self._rounded("sqrt", "a", f"core_sqrt_{products}({a}, {f}, {mode})", products)
        integral = f"core_round_to_int_{sums}({a}, {f}, {exactly}, exact)"
        yield self._function(
            self._type(),
            "roundToInt",
            f"{self._type()} a, uint_fast8_t roundingMode, bool exact",
            f"CORE_RETURN({self._stored(sums)}, {self._type()}, {self._code_type()}, {integral}, roundingMode);",
        )

    def comparisons(self) -> Iterator[Function]:
        word, f, a, b = self.own.sum_word, self._format(), self._code("a"), self._code("b")
        for name, (core, signaling) in _COMPARISONS.items():
            call = f"core_{core}_{word}({a}, {b}, {f}, {signaling})"
            yield self._function("bool", name, self._operands("ab"), f"CORE_TRUTH({min(word, 64)}, {call});")
        call = f"return core_is_signaling_{word}({a}, {f}) != 0;"
        yield self._function("bool", "isSignalingNaN", self._operands("a"), call)

    def to_integers(self) -> Iterator[Function]:
        word = max(self.own.sum_word, 64)
        a, f = self._code("a", word), self._format(word=word)
        for integer, (width, signed) in INTEGERS.items():
            limits = integer_constants(self.own.fmt, integer, self.policy.for_format(self.own.fmt))
            kind = f"{'' if signed else 'u'}int_fast{width}_t"
            exact_type = f"{'' if signed else 'u'}int{width}_t"
            lines = [
                f"const core_integer to = {limits};",
                f"CORE_INTEGER({kind}, {exact_type}, core_to_integer_{word}({a}, {f}, to, MODE, exact));",
            ]
            any_mode, toward_zero = ([lines[0], lines[1].replace("MODE", m)] for m in ("roundingMode", "CORE_RTZ"))
            arguments = f"{self._type()} a, uint_fast8_t roundingMode, bool exact"
            yield self._function(kind, f"to_{integer}", arguments, *any_mode)
            yield self._function(kind, f"to_{integer}_r_minMag", f"{self._type()} a, bool exact", *toward_zero)

    def from_integers(self) -> Iterator[Function]:
        word = max(self.own.sum_word, 64)
        for integer, (width, signed) in INTEGERS.items():
            sign = "a < 0" if signed else "0"
            magnitude = "a < 0 ? 0 - (uint64_t)a : (uint64_t)a" if signed else "a"
            call = f"core_from_integer_{word}({sign}, {magnitude}, {self._format(word=word)}, {self._mode(word)})"
            kind = f"{'' if signed else 'u'}int{width}_t"
            name = f"{self.prefix}{integer}_to_{self.own.name}"
            rounded = f"{self._stored(word)}, {self._code_type()}, {call}"
            yield Function(self._type(), name, f"{kind} a", (), rounded)

    def conversions(self) -> Iterator[Function]:
        for to in self.formats:
            if to != self.own:
                yield self._conversion(to)

    def _conversion(self, to: LibraryFormat) -> Function:
        policy = self.policy.for_format(to.fmt)
        zeros = appended_zeros(signature("convert", self.own.fmt, to.fmt), policy)
        word = max(self.own.sum_word, to.sum_word)
        code = self._code("a", word)
        if zeros is not None:
            longer = f"core_wide_left({code}, {zeros})" if word == LONG else f"(uint{word}_t){code} << {zeros}"
            call = f"core_make_{word}({longer}, 0)"
        else:
            formats = f"{self._format(word=word)}, {self._format(to, word)}"
            call = f"core_convert_{word}({code}, {formats}, {self._mode(word)})"
        rounded = f"{self._stored(word, to)}, {self._code_type(to)}, {call}"
        return self._function(self._type(to), f"to_{to.name}", self._operands("a"), rounded=rounded)

    def _rounded(self, name: str, operands: str, call: str, word: int) -> Function:
        rounded = f"{self._stored(word)}, {self._code_type()}, {call}"
        return self._function(self._type(), name, self._operands(operands), rounded=rounded)

    def _function(self, result: str, name: str, arguments: str, *body: str, rounded: str = "") -> Function:
        return Function(result, f"{self.prefix}{self.own.name}_{name}", arguments, body, rounded)

    def _operands(self, names: str) -> str:
        return ", ".join(f"{self._type()} {name}" for name in names)

    def _code(self, name: str, word: int = 0) -> str:
        """Of a value, as a word of the own size, if no other is given; bits above the format's width are ignored."""
        own = self.own
        if own.in_struct:
            return f"CORE_CODE_{self._stored(LONG)}({name}, {own.fmt.width})"
        code = f"{name}.v" if own.fmt.width == own.storage else f"({name}.v & {(1 << own.fmt.width) - 1:#x})"
        return f"core_wide_of(0, {code})" if (word or own.sum_word) == LONG else code

    def _mode(self, word: int, shorter: str = "0") -> str:
        return f"core_long_mode(mode, {shorter})" if word == LONG else "mode"

    @property
    def _shorter(self) -> str:
        """How many bits arithmetic leaves 0."""
        return "CORE_SHORTER" if self.own.fmt.explicit_bit else "0"

    def _stored(self, word: int, fmt: LibraryFormat | None = None) -> str:
        """The size of the core's words, or how two of them are stored."""
        own = fmt or self.own
        if word < LONG or not own.in_struct:
            return f"{word}"
        return "x87" if own.fmt.explicit_bit else "two"

    def _type(self, fmt: LibraryFormat | None = None) -> str:
        return self.prefix + (fmt or self.own).type

    def _code_type(self, fmt: LibraryFormat | None = None) -> str:
        return f"uint{min((fmt or self.own).storage, 64)}_t"

    def _format(self, fmt: LibraryFormat | None = None, word: int = 0) -> str:
        own = fmt or self.own
        return f"{'long' if (word or own.sum_word) == LONG else 'format'}_{own.name}"
