"""Suites of operations on codes: the setup, the cases, and the trial that queries the model and reports its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final, Literal, NamedTuple, NoReturn

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.explain.scalar import MAX_FLAGS, describe, flag_text
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import hexadecimal
from softfloat_ref.oracle.operations import Signature, evaluator, signature
from softfloat_ref.oracle.policies import Policy, get_policy, parse_rounding, rounding_name
from softfloat_ref.testing import strategies
from softfloat_ref.testing.compare import Answer, Rule, agrees, compare_nan
from softfloat_ref.testing.conformance.suite import Property, Suite, fail, integer
from softfloat_ref.testing.operation import OperationView
from softfloat_ref.testing.ulp import Exact, exact_result
from softfloat_ref.units import OperationUnit

SHORT_BITS: Final = 64
NEAREST: Final = frozenset(("rne", "rna", "rnu", "rhz"))
STOCHASTIC: Final = frozenset(("sr", "sr-b", "sr-c"))
SYMMETRIC: Final = frozenset(("rne", "rna", "rhz", "rtz", "rto")) | STOCHASTIC
EVERY: Final = NEAREST | SYMMETRIC | {"rup", "rdn"}


class Case(NamedTuple):
    """One question to a model."""

    operands: tuple[int, ...]
    random_bits: int
    policy: Policy


@dataclass(frozen=True)
class Setup:
    """Operation, formats, policy. roundings: the names of the model's roundings, each with its policy."""

    sig: Signature
    policies: tuple[Policy, ...]
    named: bool  # whether the model gets the rounding as an argument
    rule: Rule

    @property
    def out(self) -> Format:
        return self.sig.out

    @property
    def policy(self) -> Policy:
        """The policy; its rounding may be another one of `policies`."""
        return self.policies[0]

    @property
    def operation(self) -> str:
        return self.sig.operation.name

    @property
    def roundings(self) -> frozenset[str]:
        return frozenset(rounding_name(p.rounding) for p in self.policies)

    def cases(self, among: frozenset[str] = EVERY) -> SearchStrategy[Case]:
        """Cases of the operation, in those of the model's roundings."""
        return _cases(self, among)

    def exact(self, case: Case) -> Exact:
        """The exact result."""
        return _exact(self.sig, case.policy)(case.operands, case.random_bits)


@lru_cache(maxsize=256)
def _exact(sig: Signature, policy: Policy) -> Callable[[Sequence[int], int], Exact]:
    return exact_result(sig, policy)


@lru_cache(maxsize=256)
def _cases(setup: Setup, among: frozenset[str]) -> SearchStrategy[Case]:
    chosen = [p for p in setup.policies if rounding_name(p.rounding) in among]
    return st.sampled_from(chosen).flatmap(
        lambda p: st.builds(
            lambda codes, r: Case(codes, r, p),
            strategies.operands(setup.sig),
            st.integers(0, (1 << p.random_count) - 1),
        )
    )


class Trial:
    """Queries the model, records the questions, and reports them if a property does not hold."""

    def __init__(self, suite: OperationSuite, item: Property[Setup], setup: Setup) -> None:
        self.suite, self.item, self.setup = suite, item, setup
        self.asked: list[tuple[Case, Answer]] = []

    def ask(self, *cases: Case) -> list[Answer]:
        """The model's answers. Raises NotConforming for answers that do not fit the result's format."""
        __tracebackhide__ = True
        found = self.suite.answers(cases)
        self.asked += zip(cases, found, strict=True)
        for case, answer in zip(cases, found, strict=True):
            if answer.result >> self.setup.out.width:
                self.asked = [(case, answer)]
                self.fail(f"a result of {self.setup.out.width} bits")
        return found

    def oracle(self, case: Case) -> tuple[int, int]:
        """The right answer. Raises Undefined if the policy has none."""
        run = evaluator(self.setup.sig, case.policy)
        return run(case.operands, case.random_bits if case.policy.random_count else 0)

    def value(self, answer: Answer) -> Value:
        """The value of an answer."""
        return decoder(self.setup.out)(answer.result)

    def operands(self, case: Case) -> list[Value]:
        """The values of the operands, as the policy reads them."""
        flush = case.policy.flush_inputs and self.setup.sig.operation.flushes
        return [decoder(f, flush)(x) for f, x in zip(self.setup.sig.formats, case.operands, strict=True)]

    def agrees(self, case: Case, answer: Answer) -> bool:
        """Whether an answer is the oracle's."""
        try:
            return agrees(self.oracle(case), answer, self.setup.rule)
        except Undefined:
            return True

    def require(self, holds: bool, expected: str) -> None:
        """Fail unless the condition holds."""
        __tracebackhide__ = True
        if not holds:
            self.fail(expected)

    def only(self, case: Case, answer: Answer) -> None:
        """Report only this case if the property fails."""
        self.asked = [(case, answer)]

    def fail(self, expected: str) -> NoReturn:
        """Report the questions and the answers. Raises NotConforming."""
        __tracebackhide__ = True
        lines = [line for case, answer in self.asked for line in self._shown(case, answer)]
        fail(self.item, [*lines, f"  expected by this property: {expected}"])

    def _shown(self, case: Case, answer: Answer) -> list[str]:
        setup, sig = self.setup, self.setup.sig
        rounding = rounding_name(case.policy.rounding)
        lines = [f"{setup.operation} {'_'.join(f.name for f in sig.formats)} to {sig.out.name}, {rounding}"]
        names = zip("abcdefghi", case.operands, sig.formats, strict=False)
        lines += [f"  {name:9}{describe(code, f)}" for name, code, f in names]
        n = case.policy.random_count
        lines += [f"  {'r':9}{case.random_bits:0{-(-n // 4)}x}"] if n else []
        lines.append(f"  got      {_answer(sig.out, answer.result, answer.flags)}")
        right = None
        try:
            right = self.oracle(case)
            lines.append(f"  oracle   {_answer(sig.out, *right)}")
        except Undefined as e:
            lines.append(f"  oracle   {e}")
        return [*lines, f"  {self._command(case, answer)}"]

    def _command(self, case: Case, answer: Answer) -> str:
        sig = self.setup.sig
        unit = OperationUnit(sig.operation.name, sig.formats, sig.out, case.policy)
        inputs = (*case.operands, case.random_bits) if case.policy.random_count else case.operands
        return OperationView(unit).command(inputs, answer)


def _answer(fmt: Format, result: int, flags: int | None) -> str:
    text = f"{result:x}, which does not fit {fmt.width} bits" if result >> fmt.width else describe(result, fmt)
    return text if flags is None else f"{text}, flags {flag_text(flags)}"


class OperationSuite(Suite[Setup]):
    """A suite of one operation. op, fmt, out and policy are as for `evaluate`.

    model(self, a, b, ...) gets codes and returns the result's code, or (code, flags); with a stochastic policy its last
    argument is the random bits. roundings: their names, if the model has more than the policy's; the model then gets
    the keyword `rounding`. compare_nan: exact, quiet or any. flags: whether to compare flags, if the model gives any.
    """

    op: ClassVar[str] = ""
    fmt: ClassVar[str | Format | Sequence[str | Format]] = ""
    out: ClassVar[str | Format | None] = None
    policy: ClassVar[Policy | str | None] = None
    roundings: ClassVar[Sequence[str]] = ()
    compare_nan: ClassVar[Literal["exact", "quiet", "any"]] = "exact"
    flags: ClassVar[bool] = True

    def setup(self) -> Setup:
        if not self.op or not self.fmt:
            missing = "op" if not self.op else "fmt"
            raise Error(f"{type(self).__name__}: set the class attribute {missing} = ...")
        sig, base = signature(self.op, self.fmt, self.out), get_policy(self.policy)
        policies = tuple(base.replace(rounding=parse_rounding(name)) for name in self.roundings) or (base,)
        for p in policies:
            p.random_count  # noqa: B018  (refused now where it is stochastic and does not say how many bits)
        return Setup(sig, policies, bool(self.roundings), Rule(sig.out, compare_nan(self.compare_nan), self.flags))

    def trial(self, item: Property[Setup], setup: Setup) -> Trial:
        return Trial(self, item, setup)

    def answers(self, cases: Sequence[Case]) -> list[Answer]:
        """The model's answers to several cases; a subclass may compute them all at once."""
        return [self._answer(case) for case in cases]

    def _answer(self, case: Case) -> Answer:
        random = (case.random_bits,) if case.policy.random_count else ()
        more = {"rounding": rounding_name(case.policy.rounding)} if self.roundings else {}
        try:
            answered = self.model(*case.operands, *random, **more)
        except Exception as e:
            codes = " ".join(f"{x:x}" for x in (*case.operands, *random))
            e.add_note(f"the model was asked {self.op} {codes}")
            raise
        pair = answered if isinstance(answered, tuple) else (answered, None)
        if not 1 <= len(pair) <= 2:
            raise Error(f"the model returned {answered!r}; it returns a code, or a code and flags")
        flags = integer(pair[1], "flags") if len(pair) > 1 and pair[1] is not None else None
        if flags is not None and flags > MAX_FLAGS:
            raise Error(f"the model returned {flags:x} as flags; they are at most 1f")
        return Answer((integer(pair[0], "the result"),), flags)


@lru_cache(maxsize=1 << 12)
def code_of(x: Fraction, fmt: Format) -> int | None:
    """The code of a number, if the format has it."""
    found = encode(x, fmt)
    value = decoder(fmt)(found.bits)
    return found.bits if value.is_finite and value.as_fraction() == x else None


def fraction_text(x: Fraction) -> str:
    """A number as text: a fraction if that is short, otherwise hexadecimal."""
    short = max(abs(x.numerator), x.denominator).bit_length() <= SHORT_BITS
    return str(x) if short else hexadecimal(exact.from_fraction(x, SHORT_BITS))


class Range(NamedTuple):
    """Where a format's numbers lie."""

    least: Fraction  # the smallest normal one
    largest: Fraction
    gradual: bool


@lru_cache(maxsize=256)
def range_of(fmt: Format) -> Range:
    """The range of a format's magnitudes."""
    least = Fraction(0) if fmt.twos_complement else _magnitude(fmt, fmt.min_normal_code)
    return Range(least, _magnitude(fmt, fmt.max_code), fmt.subnormals == "gradual")


def _magnitude(fmt: Format, code: int) -> Fraction:
    significand, exponent = fmt.magnitude(code)
    return Fraction(significand) * Fraction(2) ** exponent
