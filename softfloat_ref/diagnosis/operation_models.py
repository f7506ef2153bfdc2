"""A scalar operation with one of its steps replaced, from which its defects are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from softfloat_ref.diagnosis.hypotheses import Model, changed, defined
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Signature, context, evaluator
from softfloat_ref.oracle.operations.table import nan_operand
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units import OperationUnit

Values = list[Value]
Run = Callable[[Sequence[int], int], tuple[int, int]]  # from codes and random bits to a code and flags


@dataclass(frozen=True)
class Scalar:
    """An operation with its formats, under a policy, from which defects are made.

    source: the random source. under: the model whose answer is changed by defects of the answer, if it is not the
    plain operation.
    """

    sig: Signature
    policy: Policy
    source: str = ""
    under: Model | None = None

    @staticmethod
    def of(unit: OperationUnit, policy: Policy | None = None, source: str = "") -> Scalar:
        """The operation of a unit, under its policy or another."""
        return Scalar(unit.signature, policy or unit.policy, source)

    @cached_property
    def arity(self) -> int:
        return self.sig.operation.arity

    def model(self, run: Run) -> Model:
        """A function of codes and random bits as a model."""
        arity, takes_random = self.arity, self.policy.random_count > 0
        return defined(lambda inputs: run(inputs[:arity], inputs[arity] if takes_random and len(inputs) > arity else 0))

    def plain(self) -> Model:
        """The plain operation."""
        return self.model(evaluator(self.sig, self.policy))

    def on_values(self, change: Callable[[Sequence[int], Values], Values | None]) -> Model:
        """The operation on operands that are changed after decoding; None leaves them unchanged."""
        operation, formats = self.sig.operation, self.sig.formats
        decoders = [decoder(f, operation.flushes and self.policy.flush_inputs) for f in formats]
        right, ctx = evaluator(self.sig, self.policy), context(self.sig, self.policy)
        encode = encoder(self.sig.out, self.policy)

        def run(codes: Sequence[int], random_bits: int) -> tuple[int, int]:
            values = [decode(code) for decode, code in zip(decoders, codes, strict=True)]
            changed = change(codes, values)
            if changed is None:
                return right(codes, random_bits)
            if any(x.kind == NAN for x in changed) and not operation.nans:
                value, flags = nan_operand(self.policy.nan_rule, changed)
            else:
                value, flags = operation.function(ctx._replace(random_bits=random_bits), *changed)
            code, more = encode(value, random_bits)
            return code, flags | more

        return self.model(run)

    def flags_kept(self, wrong: Model) -> Model:
        """The result of another model with the right flags."""
        right = self.plain()
        return changed(wrong, lambda inputs, found: (found[0], (right(inputs) or found)[1]))

    def after(self, change: Callable[[Sequence[int], int, int], tuple[int, int]]) -> Model:
        """The model with a changed answer: the change maps operands, code and flags to code and flags."""
        before, arity = self.under or self.plain(), self.arity
        return changed(before, lambda inputs, found: change(inputs[:arity], *found))


def always_exact(source: Format, out: Format) -> bool:
    """Whether every finite value of the source is a value of the output; False in unclear cases."""
    if source.twos_complement or out.twos_complement or source.p3109 != out.p3109 or out.gap or not out.zero:
        return False
    lowest = source.emin - source.mantissa_bits, out.emin - out.mantissa_bits
    largest = [exact.finite(0, *f.magnitude(f.max_code)) for f in (source, out)]
    signs = out.signed or not source.signed
    return signs and source.precision <= out.precision and lowest[1] <= lowest[0] and exact.compare(*largest) <= 0
