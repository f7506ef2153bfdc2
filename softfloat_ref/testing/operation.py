"""Mismatches of scalar operations: which policies give a device's answer."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from softfloat_ref.explanation.scalar import PolicySearch
from softfloat_ref.oracle.operations import Signature, evaluator
from softfloat_ref.oracle.policies import RARE_FIELDS, Policy
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.ulp import UlpJudge
from softfloat_ref.testing.views import MismatchView, register
from softfloat_ref.units import OperationUnit
from softfloat_ref.units.unit import LETTERS


@register(OperationUnit)
class OperationView(MismatchView):
    """The mismatches of an operation."""

    unit: OperationUnit

    def changes(self, inputs: Sequence[int], answer: Answer, flags: bool) -> list[dict[str, str]]:
        tried = _tried(self.unit.signature, self.unit.policy, tuple(inputs))
        return tried.matching(answer.result, answer.flags if flags else None)

    def tolerance(self, limit: Fraction, worst_count: int) -> UlpJudge:
        return UlpJudge(self.unit, limit, worst_count)

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        unit = self.unit
        formats = ",".join(f"{letter}={f.name}" for letter, f in zip(LETTERS, unit.formats, strict=False))
        operands = " ".join(f.hex(x) for f, x in zip(unit.formats, inputs, strict=False))
        options = [f"--fmt {formats}", f"--out {unit.out.name}", *policy_options(unit.policy)]
        if unit.policy.random_count:
            options.append(f"--random-bits {inputs[-1]:x}")
        answer = f"{got.result:x}" + ("" if got.flags is None else f" --got-flags {got.flags:02x}")
        return f"softfloat-ref explain {unit.op} {' '.join(options)} {operands} --got {answer}"


@lru_cache(maxsize=64)  # a failing case is often queried again
def _tried(sig: Signature, policy: Policy, inputs: tuple[int, ...]) -> PolicySearch:
    """A case under the policies near the set's policy."""
    arity = len(sig.formats)
    word = inputs[arity] if len(inputs) > arity else 0
    return PolicySearch(
        lambda near: evaluator(sig, near)(inputs[:arity], word if near.random_count else 0),
        policy,
        (*sig.formats, sig.out),
    )


def policy_options(policy: Policy, rounding: str = "rne") -> list[str]:
    """The command-line options that change the default policy, with this rounding, to the given one."""
    fields, default = policy.to_dict(), {**RARE_FIELDS, **Policy().to_dict(), "rounding": rounding}
    names = {"rounding": "round"}
    shown = {True: "on", False: "off"}
    return [
        f"--{names.get(k, k).replace('_', '-')} {shown.get(v, v) if isinstance(v, bool) else v}"
        for k, v in fields.items()
        if v != default[k] and k != "bare_widening"
    ]
