"""Units that compute one operation on codes under a policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, ClassVar

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format, define_format
from softfloat_ref.oracle.operations import Evaluator, Signature, evaluator, get_operation, signature
from softfloat_ref.oracle.operations.steps import OperationSetting, evaluated, exactly_evaluated, setting
from softfloat_ref.oracle.policies import POLICIES, Policy, default_rounding, get_policy, rounding_name
from softfloat_ref.oracle.rounding import Target
from softfloat_ref.oracle.rounding_steps import place_of
from softfloat_ref.oracle.steps import PLAIN, Do
from softfloat_ref.units.unit import FLAGS, LETTERS, Field, Line, SteppedUnit, file_name, operand, random_words, result


@dataclass(frozen=True)
class OperationUnit(SteppedUnit):
    """An operation: operands a, b, ... in, result and flags out; formats holds one format per operand.

    intermediate: four fields more, after the flags, of the unrounded result: exact_sign; exact_kept, its bits down to
    the target's last one (fewer for a subnormal); exact_guard, the next bit, or the next n + 1 under a stochastic
    rounding of n bits; exact_sticky, whether any bit below those is set. All from rounding.position, as the encoder has
    them. Zero for zero, Inf and NaN, except for the sign.
    """

    kind: ClassVar[str] = "operation"

    op: str
    formats: tuple[Format, ...]
    out: Format
    policy: Policy = POLICIES["ieee"]
    intermediate: bool = False

    def __post_init__(self) -> None:
        sig = signature(get_operation(self.op), self.formats, self.out)
        if self.intermediate and sig.operation.result != "float":
            raise Error(f"{self.op} has no unrounded intermediate: only operations that round have one")

    @staticmethod
    def make(
        op: str,
        fmt: str | Format | Sequence[str | Format],
        out: str | Format | None = None,
        policy: Policy | str | Mapping[str, Any] | None = None,
    ) -> OperationUnit:
        """An operation from names. Raises Error."""
        sig = signature(get_operation(op), fmt, out)
        return OperationUnit(sig.operation.name, sig.formats, sig.out, get_policy(policy))

    @cached_property
    def signature(self) -> Signature:
        """The operation with its formats."""
        return Signature(get_operation(self.op), self.formats, self.out)

    @cached_property
    def name(self) -> str:
        more = ["intermediate"] if self.intermediate else []
        formats = format_words(self.formats, self.out)
        return file_name(self.op, *formats, rounding_name(self.policy.rounding), *more)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        n = self.policy.random_count
        operands = [operand(letter, f) for letter, f in zip(LETTERS, self.formats, strict=False)]
        fields = (*operands, *random_words(n), result("result", self.out), FLAGS)
        if not self.intermediate:
            return fields
        widths = {"sign": 1, "kept": self.out.mantissa_bits + 1, "guard": n + 1, "sticky": 1}
        return (*fields, *(Field(f"exact_{name}", "intermediate", width) for name, width in widths.items()))

    def answer(self, inputs: Sequence[int]) -> Sequence[int]:
        if self.intermediate:
            return self.computed(PLAIN, inputs)
        arity = len(self.formats)
        operands, word = inputs[:arity], inputs[arity] if len(inputs) > arity else 0
        return self._run(operands, word)

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        s = self._settings(more_bits)
        if not self.intermediate:
            return evaluated(do, s, inputs)
        known = exactly_evaluated(do, s, inputs)
        return *evaluated(do, s, inputs, known), *intermediate_fields(known[0], s.to.target)

    def with_intermediate(self) -> OperationUnit:
        return dataclasses.replace(self, intermediate=True)

    def compared(self) -> OperationUnit:
        return dataclasses.replace(self, intermediate=False)

    @cached_property
    def _run(self) -> Evaluator:
        return evaluator(self.signature, self.policy)

    @cached_property
    def _settings(self) -> Callable[[int], OperationSetting]:
        return cache(partial(setting, self.signature, self.policy))

    def properties(self) -> dict[str, str]:
        first, *others = self.formats
        more = {f"fmt_{letter}": f.name for letter, f in zip(LETTERS[1:], others, strict=False)}
        return properties(self.op, first, self.out, self.policy, self.out.width, **more)

    def _operand_formats(self, own: Mapping[str, str]) -> str:
        floats = [f.name for f in self.formats if not f.is_integer]  # not the integer of scaleb
        return ", ".join(dict.fromkeys(floats)) or own["fmt"]

    def to_dict(self) -> dict[str, Any]:
        return {
            "op": self.op,
            "formats": [f.to_dict() for f in self.formats],
            "out": self.out.to_dict(),
            "policy": self.policy.to_dict(),
            **({"intermediate": True} if self.intermediate else {}),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> OperationUnit:
        return OperationUnit(
            str(table["op"]),
            tuple(define_format(f) for f in table["formats"]),
            define_format(table["out"]),
            Policy(**table["policy"]),
            table.get("intermediate", False) is True,
        )


def intermediate_fields(value: Value, t: Target) -> Line:
    """The sign, the kept bits, the bits below these and the sticky bit of a number before it is rounded."""
    if not value.is_finite or not value.significand:
        return value.sign, 0, 0, 0
    p = place_of(value, t.random_count, t)
    return value.sign, p.kept, p.below, p.rest


def format_words(formats: Sequence[Any], out: Any) -> list[str]:
    """The formats of operands, and that of the result where it is another one, in the name of a unit."""
    source = "_".join(dict.fromkeys(f.name for f in formats))
    return [source] if out.name in (source, "u1", "u10") else [source, "to", out.name]


def properties(op: str, fmt: Any, out: Any, policy: Policy, width: int, **more: str) -> dict[str, str]:
    """The properties of a unit that rounds. more: of the other operands."""
    overflow = "default" if policy.overflow is None else str(policy.overflow)
    rules = {"rounding": rounding_name(policy.rounding), "overflow": overflow}
    return {"op": op, "fmt": fmt.name, **more, "out": out.name, **rules, "width": str(width)}


def given_policy(policy: Policy | str | Mapping[str, Any] | None, rounding: str) -> Policy | None:
    """The policy that a user gives, or None; a table that does not say how to round has the given rounding."""
    if isinstance(policy, Mapping):
        return default_rounding(policy, rounding)
    return None if policy is None else get_policy(policy)
