"""Scalar operations, as the defects of operations take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from softfloat_ref.diagnosis.defects import Faulty, defective, replaced, within
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model, as_model, with_change
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Context, Operation, Signature
from softfloat_ref.oracle.operations.steps import exact_result, on_codes
from softfloat_ref.oracle.operations.table import LETTERS, Outcome
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding_steps import answer, read
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import OperationUnit

Values = Sequence[Value]
Run = Callable[[Sequence[int], int], tuple[int, int]]  # from codes and random bits to a code and flags


@dataclass(frozen=True)
class ScalarOperation:
    """An operation with its formats, under a policy, of which defects are made.

    source: the random source. under: the model whose answer is changed by defects of the answer, if it is not the
    plain operation.
    """

    sig: Signature
    policy: Policy
    source: str = ""
    under: Model | None = None

    @staticmethod
    def of(unit: OperationUnit, policy: Policy | None = None, source: str = "") -> ScalarOperation:
        """The operation of a unit, under its policy or another."""
        return ScalarOperation(unit.signature, policy or unit.policy, source)

    @cached_property
    def unit(self) -> OperationUnit:
        """The operation as a unit."""
        return OperationUnit(self.sig.operation.name, self.sig.formats, self.sig.out, self.policy)

    @property
    def arity(self) -> int:
        return self.sig.operation.arity

    def model(self, run: Run) -> Model:
        """A function of codes and random bits as a model."""
        arity, takes_random = self.arity, self.policy.random_count > 0
        return as_model(
            lambda inputs: run(inputs[:arity], inputs[arity] if takes_random and len(inputs) > arity else 0)
        )

    def plain(self) -> Faulty:
        """The plain operation."""
        return Faulty(self.unit)

    def defect(self, name: str, description: str, *changes: Change, size: int = 2) -> Hypothesis:
        """The operation with replaced steps."""
        return defective(self.unit, name, description, *changes, size=size)

    def after(self, change: Callable[[Sequence[int], int, int], tuple[int, int]]) -> Model:
        """The model with a changed answer: the change maps operands, code and flags to code and flags."""
        arity = self.arity
        if self.under is not None:
            return with_change(self.under, lambda inputs, codes: change(inputs[:arity], *codes))

        def wrong(here: Traced, right: Function, codes: tuple[int, int]) -> tuple[int, ...]:
            return right(change(here.case.inputs[:arity], *codes))  # type: ignore[no-any-return]

        return Faulty(self.unit, (replaced(answer, wrong),))


def exactly_wrong(wrong: Callable[[Function, Operation, Context, Values], Outcome]) -> Change:
    """Another exact result: wrong(right, operation, ctx, values). What another defect computes in place of the unit's
    operation is left as it is."""

    def result(here: Traced, right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
        if op is not here.case.unit.signature.operation:
            return right(op, ctx, values)  # type: ignore[no-any-return]
        return wrong(right, op, ctx, values)

    return replaced(exact_result, result)


def of_values(change: Callable[[Values], Values | None]) -> Change:
    """The exact result of operands that are changed after they are read; None leaves them unchanged."""

    def wrong(right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
        other = change(values)
        return right(op, ctx, values if other is None else other)  # type: ignore[no-any-return]

    return exactly_wrong(wrong)


def with_right_flags(here: Traced, right: Function, codes: tuple[int, int]) -> tuple[int, ...]:
    """The answer with the flags that the right device raises."""
    return right((codes[0], here.case.unit.answer(here.case.inputs)[1]))  # type: ignore[no-any-return]


FLAGS_KEPT = replaced(answer, with_right_flags)


def taken(*sources: tuple[int, int | None]) -> tuple[Change, ...]:
    """Operands in place of others: pairs of an operand and the one that is taken for it; None: zero."""
    of = dict(sources)

    def code(inputs: Sequence[int], k: int) -> int:
        source = of.get(k, k)
        return 0 if source is None else inputs[source]

    def reads(k: int) -> Change:
        def wrong(here: Traced, right: Function, own: int, *args: object) -> Value:
            return right(code(here.case.inputs, k), *args)  # type: ignore[no-any-return]

        return replaced(read, wrong)

    def codes(here: Traced, right: Function, op: Operation, ctx: Context, own: Sequence[int]) -> tuple[int, int]:
        return right(op, ctx, [code(own, k) for k in range(len(own))])  # type: ignore[no-any-return]

    return *(c for k in of for c in within(LETTERS[k], [reads(k)])), replaced(on_codes, codes)


def always_exact(source: Format, out: Format) -> bool:
    """Whether every finite value of the source is a value of the output; False in unclear cases."""
    if source.twos_complement or out.twos_complement or source.p3109 != out.p3109 or out.gap or not out.zero:
        return False
    lowest = source.emin - source.mantissa_bits, out.emin - out.mantissa_bits
    largest = [exact.finite(0, *f.magnitude(f.max_code)) for f in (source, out)]
    signs = out.signed or not source.signed
    return signs and source.precision <= out.precision and lowest[1] <= lowest[0] and exact.compare(*largest) <= 0
