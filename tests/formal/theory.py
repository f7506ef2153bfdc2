"""The oracle's results stated in SMT-LIB's theory of floating-point numbers, which has a rounding of its own.

Operands are numbers of a wide format, in which sums, products and fused multiply-adds of small formats are exact. The
exact result is rounded by the theory to the precision and the smallest exponent of the format of the result, without a
largest exponent. What is then larger than the format's largest number is what the overflow rule says. Codes are decoded
here, too: a subnormal is the difference of two normal numbers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from softfloat_ref.oracle.flags import INEXACT, INVALID, OVERFLOW, UNDERFLOW
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Overflow
from softfloat_ref.oracle.rounding import Rounding
from softfloat_ref.symbolic.smtlib import definitions, literal, sort
from softfloat_ref.symbolic.terms import subterms
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import OperationUnit

MODES: Final = {
    Rounding.RNE: "RNE",
    Rounding.RNA: "RNA",
    Rounding.RTZ: "RTZ",
    Rounding.RUP: "RTP",
    Rounding.RDN: "RTN",
}
# Of operands that are numbers of the wide format. div and sqrt are rounded twice, in one direction, the first time to
# more than twice the precision, which changes nothing (Figueroa, 1995).
FUNCTIONS: Final = {
    "convert": "v0",
    "add": "(fp.add {mode} v0 v1)",
    "sub": "(fp.sub {mode} v0 v1)",
    "mul": "(fp.mul {mode} v0 v1)",
    "fma": "(fp.fma {mode} v0 v1 v2)",
    "div": "(fp.div {mode} v0 v1)",
    "sqrt": "(fp.sqrt {mode} v0)",
    "rem": "(fp.rem v0 v1)",
    "round_to_integral": "(fp.roundToIntegral {mode} v0)",
    "round_to_integral_exact": "(fp.roundToIntegral {mode} v0)",
    "minimum": "(fp.min v0 v1)",
    "maximum": "(fp.max v0 v1)",
}
RELATIONS: Final = {"eq": "fp.eq", "lt": "fp.lt", "le": "fp.leq", "gt_quiet": "fp.gt", "ge_quiet": "fp.geq"}
_DEFINED: Final = {  # as a number; which of two zeros is the smaller one is left open
    **dict.fromkeys(("div", "rem"), "(not (fp.isZero v1))"),
    "sqrt": "(or (fp.isZero v0) (fp.isPositive v0))",
    **dict.fromkeys(("minimum", "maximum"), "(not (and (fp.isZero v0) (fp.isZero v1)))"),
}
_IS_EXACT: Final = {
    "div": "(fp.eq (fp.mul RNE rounded v1) v0)",
    "sqrt": "(fp.eq (fp.mul RNE rounded rounded) v0)",
    "round_to_integral_exact": "(= rounded v0)",
}


class Range(NamedTuple):
    """Exponents: of the largest number, of the last bit of the smallest; and the bits that are exact."""

    top: int
    low: int
    bits: int


def _range(op: str, fmt: Format) -> Range:
    """Of an operation's results, and of its operands."""
    top, low = fmt.emax + 1, fmt.emin - fmt.mantissa_bits
    if op == "div":
        return Range(top - low + 1, low - top - 1, 2 * fmt.precision + 4)
    if op in ("add", "sub"):
        return Range(top + 1, low, top - low + 3)
    if op in ("mul", "fma"):
        return Range(2 * top + 1, 2 * low, 2 * fmt.precision if op == "mul" else 2 * (top - low) + 4)
    return Range(top, low, 2 * fmt.precision + 4 if op == "sqrt" else fmt.precision)


class Sort(NamedTuple):
    """A format of the theory: the bits of the exponent, and of the significand with its leading one."""

    exponent: int
    precision: int

    @property
    def text(self) -> str:
        """As a sort."""
        return f"(_ FloatingPoint {self.exponent} {self.precision})"

    @property
    def bias(self) -> int:
        """Of the exponent's field."""
        return (1 << self.exponent - 1) - 1

    def of(self, mode: str, x: str) -> str:
        """A number of another format, rounded to this one."""
        return f"((_ to_fp {self.exponent} {self.precision}) {mode} {x})"

    def power(self, exponent: int) -> str:
        """2^exponent."""
        return f"(fp #b0 #b{exponent + self.bias:0{self.exponent}b} #b{'0' * (self.precision - 1)})"


def statement(unit: OperationUnit) -> str:
    """A script that asks for operands to which the oracle's answer is another one than the theory's.

    A conversion is of all operands, from a format of IEEE 754's kind; an operation is of finite ones, and a divisor
    that is not zero.
    """
    source, op = unit.formats[0], unit.op
    out = source if op in RELATIONS else unit.out
    reach = _range(op, source)
    scaled, small = _scaling(reach, out)
    bits = _exponent_bits(reach, scaled, out)
    wide = Sort(bits, max(reach.bits, out.precision, bits) + 1)  # Z3 wants the exponent shorter than the significand
    read = circuit(unit)
    inputs = [p.name for p in read.inputs]
    lines = ["(set-logic QF_BVFP)"]
    lines += [f"(declare-const {name} {sort(source.width)})" for name in inputs]
    lines += definitions(subterms(read.roots))
    result, flags = (f"|#{t.number}|" if t.args else literal(t.value, t.width) for t in read.roots)
    lines += [_decoder(wide, source, "of_source"), _decoder(wide, out, "of_result")]
    lines += [f"(define-fun v{i} () {wide.text} (of_source {name}))" for i, name in enumerate(inputs)]
    lines += _numbers(source, wide)
    if op in RELATIONS:
        holds = f"(ite ({RELATIONS[op]} v0 v1) #b1 #b0)"
        right = f"(and (= {result} {holds}) (= {flags} {literal(0, 5)}))"
    else:
        lines += [*_rounded(unit, wide, scaled, small), *_facts(unit, wide)]
        right = f"(and (right {result}) (= {flags} expected_flags))"
    finite = " ".join(f"(is_number {name})" for name in inputs)
    operands = f"(and {finite} {_DEFINED.get(op, 'true')})"
    if op == "convert":
        others = _special(unit, result, flags)
        lines.append(f"(assert (not (ite {operands} {right} {others})))")
    else:
        lines.append(f"(assert (and {operands} (not {right})))")
    return "\n".join([*lines, "(check-sat)", ""])


def _rounded(unit: OperationUnit, wide: Sort, scaled: int, small: Sort) -> list[str]:
    """The exact result, and rounded: as the format has it, and without a smallest exponent."""
    mode = MODES[unit.policy.rounding]
    moved = f"(fp.mul RNE exact {wide.power(-scaled)})" if scaled else "exact"
    back = wide.of("RNE", small.of(mode, moved))
    free = Sort(wide.exponent, unit.out.precision)
    return [
        f"(define-fun exact () {wide.text} {FUNCTIONS[unit.op].format(mode=mode)})",
        f"(define-fun rounded () {wide.text} {f'(fp.mul RNE {back} {wide.power(scaled)})' if scaled else back})",
        f"(define-fun unbounded () {wide.text} {wide.of('RNE', free.of(mode, 'exact'))})",
    ]


def _scaling(source_range: Range, out: Format) -> tuple[int, Sort]:
    """A format of the theory with the result's precision that ends with its smallest exponent, if numbers are scaled by
    a power of two, and has no largest one that is reached; and the exponent of that power."""
    bits = 2
    while True:
        lowest = 2 - (1 << bits - 1)
        if lowest <= out.emin and 1 - lowest + out.emin - lowest > source_range.top + 1:
            return out.emin - lowest, Sort(bits, out.precision)
        bits += 1


def _exponent_bits(bits: Range, scaled: int, out: Format) -> int:
    """For numbers of that range, scaled or not, and of the result's format, as normal ones."""
    top, low = max(bits.top, out.emax), min(bits.low, out.emin - out.mantissa_bits)
    most = max(top, -low) + 2 * max(scaled, 0) + bits.bits + 4
    return most.bit_length() + 1


def _decoder(wide: Sort, fmt: Format, name: str) -> str:
    """A function from the codes of a float format to their numbers, where they have one."""
    m, e = fmt.mantissa_bits, fmt.exponent_bits
    sign = f"((_ extract {m + e} {m + e}) x)" if fmt.signed else "#b0"
    padding = wide.precision - 1 - m
    fraction = f"(concat ((_ extract {m - 1} 0) x) {literal(0, padding)})"
    exponent = f"((_ zero_extend {wide.exponent - e}) ((_ extract {m + e - 1} {m}) x))"
    lowest, none = literal(wide.bias + 1 - fmt.bias, wide.exponent), literal(0, wide.precision - 1)
    normal = f"(fp s (bvadd e {literal(wide.bias - fmt.bias, wide.exponent)}) f)"
    zero = f"(fp s {literal(0, wide.exponent)} {none})"
    below = f"(fp.sub RNE (fp s {lowest} f) (fp s {lowest} {none}))"
    if fmt.subnormals == "none":
        below = zero
    body = f"(ite (= e {literal(0, wide.exponent)}) (ite (= f {none}) {zero} {below}) {normal})"
    return (
        f"(define-fun {name} ((x {sort(fmt.width)})) {wide.text} "
        f"(let ((s {sign}) (e {exponent}) (f {fraction})) {body}))"
    )


def _numbers(source: Format, wide: Sort) -> list[str]:
    """Whether a code of the source is a number."""
    return [
        _decoder_limit(wide, source, "largest_operand"),
        f"(define-fun is_number ((x {sort(source.width)})) Bool (and (fp.leq (fp.abs (of_source x)) largest_operand)"
        f" {_not_a_lost_zero(source)}))",
    ]


def _facts(unit: OperationUnit, wide: Sort) -> list[str]:
    """Whether a code of the result is right, and the flags."""
    out = unit.out
    code = sort(out.width)
    is_exact = _IS_EXACT.get(unit.op, "(= rounded exact)")
    zero = "(ite (fp.isNegative rounded) {} {})".format(*(literal(c, out.width) for c in _zeros(out)))
    none, inexact, both = (literal(x, 5) for x in (0, INEXACT, INEXACT | UNDERFLOW))
    flags = f"(ite exactly {none} (ite tiny {both} {inexact}))"
    beyond = [literal(_beyond(unit, negative), out.width) for negative in (True, False)]
    return [
        _decoder_limit(wide, out, "largest"),
        "(define-fun beyond () Bool (fp.gt (fp.abs rounded) largest))",
        f"(define-fun exactly () Bool {is_exact})",
        f"(define-fun tiny () Bool (and (not (fp.isZero exact)) (fp.lt (fp.abs unbounded) {wide.power(out.emin)})))",
        f"(define-fun right ((r {code})) Bool (ite beyond (= r (ite (fp.isNegative rounded) {' '.join(beyond)}))"
        f" (ite (fp.isZero rounded) (= r {zero}) (= (of_result r) rounded))))",
        f"(define-fun expected_flags () {sort(5)} (ite beyond {literal(OVERFLOW | INEXACT, 5)} {flags}))",
    ]


def _decoder_limit(wide: Sort, fmt: Format, name: str) -> str:
    of = "of_source" if name == "largest_operand" else "of_result"
    return f"(define-fun {name} () {wide.text} ({of} {literal(fmt.max_code, fmt.width)}))"


def _zeros(fmt: Format) -> tuple[int, int]:
    """The codes of -0 and +0."""
    return (fmt.sign_bit if fmt.nan != "negative-zero" else 0), 0


def _not_a_lost_zero(fmt: Format) -> str:
    return f"(distinct x {literal(fmt.sign_bit, fmt.width)})" if fmt.nan == "negative-zero" else "true"


def _beyond(unit: OperationUnit, negative: bool) -> int:
    """The code of a result beyond the largest number: that, or Inf, or NaN (IEEE 754 7.4, P3109 4.7.5)."""
    out, policy = unit.out, unit.policy
    sign = out.sign_bit if negative else 0
    away = Rounding.RDN if negative else Rounding.RUP
    if policy.overflow_for(out) != Overflow.SAT_NONE or policy.rounding not in (Rounding.RNE, Rounding.RNA, away):
        return out.max_code | sign
    return _unlimited(out, sign)


def _unlimited(out: Format, sign: int) -> int:
    if out.infinity:
        return out.inf_code | sign
    return out.canonical_nan if out.overflow == "nan" else out.max_code | sign


def _special(unit: OperationUnit, result: str, flags: str) -> str:
    """Of a conversion: what Inf and NaN become."""
    source, out = unit.formats[0], unit.out
    limited = unit.policy.overflow_for(out) == Overflow.SAT_FINITE
    inf = [out.max_code | sign if limited else _unlimited(out, sign) for sign in (out.sign_bit, 0)]
    sign = f"((_ extract {source.width - 1} {source.width - 1}) a)"
    nan = f"(= {result} {literal(out.canonical_nan, out.width)})" if out.has_nan else "true"
    quiet = f"((_ extract {source.mantissa_bits - 1} {source.mantissa_bits - 1}) a)"
    raised = literal(INVALID, 5)
    signals = f"(ite (= {quiet} #b1) {literal(0, 5)} {raised})" if out.has_nan else raised
    is_inf = f"(= ((_ extract {source.width - 2} 0) a) {literal(source.inf_code, source.width - 1)})"
    minus, plus = (literal(code, out.width) for code in inf)
    infinite = f"(and (= {result} (ite (= {sign} #b1) {minus} {plus})) (= {flags} {literal(0, 5)}))"
    return f"(ite {is_inf} {infinite} (and {nan} (= {flags} {signals})))"
