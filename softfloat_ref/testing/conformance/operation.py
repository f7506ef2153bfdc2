"""Suites of operations on codes: the setup, the cases, and the trial that queries the model and reports its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final, Literal, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from softfloat_ref.base.errors import Undefined
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import hexadecimal
from softfloat_ref.oracle.operations import Signature, evaluator, signature
from softfloat_ref.oracle.policies import Policy, get_policy, parse_rounding, rounding_name
from softfloat_ref.rtl.tolerance import compare_nan
from softfloat_ref.testing import strategies
from softfloat_ref.testing.compare import Answer, ComparisonRule, agrees
from softfloat_ref.testing.conformance.suite import ConformanceSuite, Trial, answer_of, unit_lines
from softfloat_ref.testing.operation import OperationView
from softfloat_ref.testing.ulp import Exact, exact_result
from softfloat_ref.units import OperationUnit

SHORT_BITS: Final = 64
NEAREST: Final = frozenset(("rne", "rna", "rnu", "rhz"))
STOCHASTIC: Final = frozenset(("sr", "sr-b", "sr-c"))
SYMMETRIC: Final = frozenset(("rne", "rna", "rhz", "rtz", "rto")) | STOCHASTIC
EVERY: Final = NEAREST | SYMMETRIC | {"rup", "rdn"}


class OperationCase(NamedTuple):
    """One question to a model."""

    operands: tuple[int, ...]
    random_bits: int
    policy: Policy

    @property
    def rounding(self) -> str:
        return rounding_name(self.policy.rounding)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The operands, and the random bits if the policy takes some."""
        return (*self.operands, self.random_bits) if self.policy.random_count else self.operands


@dataclass(frozen=True)
class OperationSetup:
    """Operation, formats, policy. roundings: the names of the model's roundings, each with its policy."""

    sig: Signature
    policies: tuple[Policy, ...]
    rule: ComparisonRule

    @property
    def out(self) -> Format:
        return self.sig.out

    @property
    def policy(self) -> Policy:
        """The policy; its rounding may be another one of `policies`."""
        return self.policies[0]

    @property
    def roundings(self) -> frozenset[str]:
        return frozenset(rounding_name(p.rounding) for p in self.policies)

    def cases(self, among: frozenset[str] = EVERY) -> SearchStrategy[OperationCase]:
        """Cases of the operation, in those of the model's roundings."""
        return _cases(self, among)

    @property
    def rounded(self) -> Format:
        """The format whose values results are rounded to: that of the result, unless it stores its integer bit."""
        return self.sig.operation.rounded_as(self.policy).rounded_format(self.out)

    def rounded_as(self, case: OperationCase) -> str:
        """The rounding of the exact result."""
        return rounding_name(self.sig.operation.rounded_as(case.policy).rounding)

    def exact(self, case: OperationCase) -> Exact:
        return _exact(self.sig, case.policy)(case.operands, case.random_bits)


@lru_cache(maxsize=256)
def _exact(sig: Signature, policy: Policy) -> Callable[[Sequence[int], int], Exact]:
    return exact_result(sig, policy)


@lru_cache(maxsize=256)
def _cases(setup: OperationSetup, among: frozenset[str]) -> SearchStrategy[OperationCase]:
    chosen = [p for p in setup.policies if rounding_name(p.rounding) in among]
    return st.sampled_from(chosen).flatmap(
        lambda p: st.builds(
            lambda codes, r: OperationCase(codes, r, p),
            strategies.operands(setup.sig),
            st.integers(0, (1 << p.random_count) - 1),
        )
    )


class OperationTrial(Trial[OperationSetup, OperationCase, Answer]):
    """Queries the model of an operation."""

    def misfit(self, answer: Answer) -> str:
        width = self.setup.out.width
        return f"a result of {width} bits" if answer.result >> width else ""

    def oracle(self, case: OperationCase) -> tuple[int, int]:
        """The right answer. Raises Undefined if the policy has none."""
        run = evaluator(self.setup.sig, case.policy)
        return run(case.operands, case.random_bits if case.policy.random_count else 0)

    def value(self, answer: Answer) -> Value:
        return decoder(self.setup.out)(answer.result)

    def operands(self, case: OperationCase) -> list[Value]:
        """The values of the operands, as the policy reads them."""
        flush = case.policy.flush_inputs and self.setup.sig.operation.flushes
        rule = case.policy.unnormals
        return [decoder(f, flush, rule)(x) for f, x in zip(self.setup.sig.formats, case.operands, strict=True)]

    def agrees(self, case: OperationCase, answer: Answer) -> bool:
        """Whether an answer is the oracle's."""
        try:
            return agrees(self.oracle(case), answer, self.setup.rule)
        except Undefined:
            return True

    def case_lines(self, case: OperationCase, answer: Answer) -> list[str]:
        sig = self.setup.sig
        name = f"{sig.operation.name} {'_'.join(f.name for f in sig.formats)} to {sig.out.name}, {case.rounding}"
        unit = OperationUnit(sig.operation.name, sig.formats, sig.out, case.policy)
        return unit_lines(name, OperationView(unit), case.inputs, answer)


class OperationSuite(ConformanceSuite[OperationSetup, OperationCase, Answer]):
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
    trial = OperationTrial

    def setup(self) -> OperationSetup:
        self.required("op", "fmt")
        sig, base = signature(self.op, self.fmt, self.out), get_policy(self.policy)
        policies = tuple(base.replace(rounding=parse_rounding(name)) for name in self.roundings) or (base,)
        for p in policies:
            p.random_count  # noqa: B018  (refused now where it is stochastic and does not say how many bits)
        return OperationSetup(sig, policies, ComparisonRule(sig.out, compare_nan(self.compare_nan), self.flags))

    def answer(self, case: OperationCase) -> Answer:
        more = {"rounding": case.rounding} if self.roundings else {}
        try:
            answered = self.model(*case.inputs, **more)
        except Exception as e:
            e.add_note(f"the model was asked {self.op} {' '.join(f'{x:x}' for x in case.inputs)}")
            raise
        return answer_of(answered)


@lru_cache(maxsize=1 << 12)
def exact_code(x: Fraction, fmt: Format) -> int | None:
    """The code of a number, if the format has it."""
    encoded = encode(x, fmt)
    value = decoder(fmt)(encoded.bits)
    return encoded.bits if value.is_finite and value.as_fraction() == x else None


def fraction_text(x: Fraction) -> str:
    """A number as text: a fraction if that is short, otherwise hexadecimal."""
    short = max(abs(x.numerator), x.denominator).bit_length() <= SHORT_BITS
    return str(x) if short else hexadecimal(exact.from_fraction(x, SHORT_BITS))


class MagnitudeRange(NamedTuple):
    """Where a format's numbers lie."""

    least: Fraction  # the smallest normal one
    largest: Fraction
    gradual: bool


@lru_cache(maxsize=256)
def range_of(fmt: Format) -> MagnitudeRange:
    """The range of a format's magnitudes."""
    decode = decoder(fmt)
    least = Fraction(0) if fmt.twos_complement else decode(fmt.min_normal_code).as_fraction()
    return MagnitudeRange(least, decode(fmt.max_code).as_fraction(), fmt.subnormals == "gradual")
