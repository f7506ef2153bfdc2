"""Operations: policies, which of them are one device, and the defects of their steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.diagnosis.answer_defects import answer_defects
from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.conditions import Feature, between, binade
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.exchanged_operations import exchanged
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Inputs, Model, Output
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, code_text, register
from softfloat_ref.diagnosis.operation_defects import operation_defects, operation_suggested_by
from softfloat_ref.diagnosis.operation_models import always_exact
from softfloat_ref.diagnosis.policy_space import PolicySpace, ends_of
from softfloat_ref.diagnosis.roundings import detected_apart, with_policy
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle import encodings, exact
from softfloat_ref.oracle.codec import decoder, encoder, target
from softfloat_ref.oracle.exact import FINITE, GENERATED, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import context, evaluator
from softfloat_ref.oracle.operations.table import LETTERS
from softfloat_ref.oracle.policies import Overflow, Policy, rounding_name
from softfloat_ref.oracle.rounding import goes_beyond
from softfloat_ref.units import OperationUnit, Unit

EXHAUSTIVE_BITS: Final = 16


@dataclass(frozen=True)
class OperationSpace(PolicySpace):
    """The policies of an operation. whole: the mixed unit of which it is a part."""

    whole: Unit | None = None

    @property
    def _has_specials(self) -> bool:
        return self.unit.signature.operation.p3109  # type: ignore[no-any-return]

    def unit_of(self, point: Policy) -> OperationUnit:
        return replace(self.unit, policy=point, intermediate=False)  # type: ignore[no-any-return]

    def model_of(self, unit: OperationUnit) -> Model:
        if unit.out.has_nan:
            unit.policy.nan_rule.code(unit.out)  # raises Error for a code that is none of a NaN
        return Faulty(unit)

    def key(self, point: Policy) -> Hashable:
        return behaviour(self.unit_of(point))

    def defects_of(self, unit: OperationUnit) -> Iterator[Hypothesis]:
        yield from operation_defects(unit, self.source)
        yield from exchanged(self.whole, unit)

    def suggested_of(self, unit: OperationUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        return operation_suggested_by(unit, cases)

    def tininess_apart(self, h: Hypothesis) -> Hypothesis | None:
        unit, own = self.unit_of(self.base), h.own
        if not isinstance(own, Faulty) or not isinstance(own.unit, OperationUnit) or h.also is not None:
            return None
        if unit.out.is_integer or unit.policy.random_count:
            return None
        mode, policy = rounding_name(unit.policy.rounding), own.unit.policy
        changes = (*own.changes, *detected_apart(mode))
        if own.unit != unit and not own.changes and policy.replace(rounding=mode) == unit.policy:
            # A step, which may be joined with others.
            own, changes = Faulty(unit), (*with_policy(rounding=rounding_name(policy.rounding)), *changes)
        text = f"{h.description}, but detects tininess as expected"
        model = replace(own, changes=changes)
        return h._replace(name=f"{h.name}, tininess apart", description=text, model=model, size=h.size + 1, unit=None)

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        return answer_defects(self.unit_of(self.base), under)


@register(OperationUnit)
class DiagnosedOperation(DiagnosedKind):
    """An operation."""

    tried: ClassVar[str] = "policy, profile, accumulator or listed defect"
    choices: ClassVar[type[Space[Any]]] = OperationSpace
    unit: OperationUnit

    def features(self) -> Iterator[Feature]:
        yield from super().features()
        yield from self._before_rounding()
        yield from self._signs()
        yield Feature(self._all_finite, lambda _: "no operand is infinity or NaN")
        yield Feature(self._all_nonzero, lambda _: "every operand is a number other than zero")
        formats = self.unit.formats
        if len(formats) > 1 and len(set(formats[:2])) == 1:
            mask = formats[0].magnitude_mask
            yield Feature(lambda i, e: (i[0] & mask) == (i[1] & mask) or None, lambda _: "a and b have one magnitude")

    def space(self, source: str = "", whole: Unit | None = None) -> OperationSpace:
        return OperationSpace(self.unit, source, whole=whole)

    @property
    def family(self) -> Hashable:
        unit = self.unit
        return unit if unit.policy.random_count or unit.intermediate else (unit.op, unit.formats, unit.out)

    def _signs(self) -> Iterator[Feature]:
        """Whether operands have different signs, and the terms of a sum, which is then a subtraction."""
        signed = [i for i, f in enumerate(self.unit.formats) if f.sign_bit]
        for i, j in itertools.combinations(signed, 2):
            name = f"operands {LETTERS[i]} and {LETTERS[j]}"
            yield Feature(partial(_odd_signs, self.unit.formats, (i, j)), partial(_of_signs, name))
        formula = self.unit.signature.operation.formula
        if formula is not None and formula.is_multiply_add and len(signed) == len(self.unit.formats):
            yield Feature(partial(_odd_signs, self.unit.formats, signed), partial(_of_signs, "product and addend"))

    def _all_finite(self, inputs: Inputs, _: Output) -> int | None:
        decoders = map(decoder, self.unit.formats)
        return all(d(x).kind == FINITE for d, x in zip(decoders, inputs, strict=False)) or None

    def _all_nonzero(self, inputs: Inputs, _: Output) -> int | None:
        values = (decoder(f)(x) for f, x in zip(self.unit.formats, inputs, strict=False))
        return all(x.kind == FINITE and x.significand for x in values) or None

    def _before_rounding(self) -> Iterator[Feature]:
        """The binade of the exact result, which rounding up may leave."""
        unit = self.unit
        if unit.signature.operation.result != "float" or unit.out.is_integer or unit.policy.random_count:
            return
        cut, decode = evaluator(unit.signature, unit.policy.replace(rounding="rtz")), decoder(unit.out)

        def exponent(inputs: Inputs, _: Output) -> int | None:
            try:
                return binade(decode(cut(tuple(inputs), 0)[0]))
            except Undefined:
                return None

        yield Feature(exponent, lambda v: between("the exact result", *v), ordered=True)

    @property
    def title(self) -> str:
        unit = self.unit
        formats = ", ".join(dict.fromkeys(f.name for f in unit.formats))
        return f"{unit.op} {formats}" + (f" to {unit.out.name}" if unit.out.name != formats else "")

    def inputs_text(self, inputs: Inputs) -> str:
        return " ".join(code_text(x, f) for x, f in zip(inputs, self.unit.input_formats, strict=True))

    def candidates(self, source: str) -> Space[Any]:
        return OperationSpace(self.unit, source, names_first=True)

    def every(self) -> Callable[[], Iterable[Question]] | None:
        widths = [f.width for f in self.unit.inputs]
        if sum(widths) > EXHAUSTIVE_BITS:
            return None
        return lambda: itertools.product(*(range(1 << w) for w in widths))

    def questions(self, vectors: VectorSet) -> list[Question]:
        return list(dict.fromkeys((*self._crossed(), *super().questions(vectors))))

    def _crossed(self) -> Iterator[Question]:
        """A few codes of each kind for each operand, in all combinations, including NaNs with a payload."""
        words = ((0,), (1,)) if self.unit.policy.random_count else ((),)
        for case in itertools.product(*map(kinds_of_codes, self.unit.formats)):
            yield from ((*case, *word) for word in words)


def _odd_signs(formats: Sequence[Format], some: Sequence[int], inputs: Inputs, _: Output) -> int:
    """Whether an odd number of some operands is negative."""
    return sum(inputs[i] & formats[i].sign_bit > 0 for i in some) % 2


def _of_signs(name: str, values: tuple[int, int]) -> str:
    return f"{name} have {'different signs' if values[0] else 'the same sign'}"


def kinds_of_codes(fmt: Format) -> list[int]:
    """A few codes of each kind."""
    if fmt.is_integer:
        return [0, 1, fmt.max_code]
    encode = encoder(fmt, Policy(overflow=Overflow.SAT_FINITE))
    codes = [0, fmt.sign_bit, encode(exact.finite(0, 1, 0), 0)[0], 1, fmt.max_code]
    codes += [fmt.inf_code, fmt.inf_code | fmt.sign_bit] if fmt.infinity else []
    if fmt.has_nan and fmt.nan == "ieee":
        quiet = fmt.canonical_nan
        codes += [quiet, quiet | 1, quiet | fmt.sign_bit | 2 % (fmt.quiet_bit or 1), fmt.inf_code | 1]
        codes += [x[0] for x in encodings.magnitudes(fmt).values()] if fmt.explicit_bit else []
    elif fmt.has_nan:
        codes.append(fmt.canonical_nan)
    return list(dict.fromkeys(codes))


# -- which policies are one device -----------------------------------------------------------------------------------

_NEVER_UP: Final = ("rtz", "rto")  # never round up to a power of two: tiny before rounding is tiny after
# The integers that matter only for results that are not exact.
_INEXACT_FIELDS: Final = (
    *("mode", "random_count", "beyond_positive", "beyond_negative"),
    *("largest_positive", "largest_negative", "odd_beyond", "overflow_flags"),
)


def behaviour(unit: OperationUnit) -> Hashable:
    """Everything that an operation's answers depend on: if equal, two policies answer alike for all operands.

    Fields that the operation, its formats or the policy make irrelevant are left out.
    """
    explicit = any(f.explicit_bit for f in unit.formats)
    return (_behaviour(unit), unit.policy.unnormals) if explicit else _behaviour(unit)


def _behaviour(unit: OperationUnit) -> Hashable:
    policy = unit.policy
    operation, formats, out = unit.signature
    floats = [f for f in formats if not f.is_integer]
    subnormals = any(f.subnormals == "gradual" and f.has_normals and f.min_normal_code > 1 for f in floats)
    flush = policy.flush_inputs and operation.flushes and subnormals
    if operation.modular:
        return operation.name, flush, policy.rounding, policy.random_count
    special = operation.p3109 and context(unit.signature, policy).p3109
    if operation.result in ("boolean", "class"):
        return operation.name, flush, special
    rules = _nan_key(unit, floats)
    if operation.result == "same":
        return operation.name, rules, ends_of(out, policy), special, () if out.signed else _target_key(unit)
    widening = operation.is_conversion and policy.widens_bare(formats[0]) and out.width >= formats[0].width
    own = policy.rounding if operation.integral else None
    return flush, special, rules, _target_key(unit), ends_of(out, policy), widening, own


def _target_key(unit: OperationUnit) -> tuple[Any, ...]:
    """The integers that rounding depends on; for a conversion that is always exact, only those of flushing."""
    operation = unit.signature.operation
    wide = {} if operation.is_arithmetic else {"rounding_precision": 80}
    t = target(unit.out, unit.policy.replace(**wide))
    if not t.flush:
        t = t._replace(flush=0)
    if operation.is_conversion and always_exact(unit.formats[0], unit.out):
        t = t._replace(**dict.fromkeys(_INEXACT_FIELDS, 0), tininess=t.tininess if t.flush else 0)
    if unit.out.is_integer:
        t = t._replace(tininess=0, flush=0)
    if rounding_name(unit.policy.rounding) in _NEVER_UP:
        t = t._replace(tininess=0)
    if not goes_beyond(t.mode, 0, t.odd_beyond):
        t = t._replace(beyond_positive=0)
    if not goes_beyond(t.mode, 1, t.odd_beyond):
        t = t._replace(beyond_negative=0)
    return tuple(t)


def _nan_key(unit: OperationUnit, floats: list[Format]) -> tuple[Any, ...]:
    """Everything that the NaN of a result depends on."""
    out, rule, operation = unit.out, unit.policy.nan_rule, unit.signature.operation
    encode = encoder(out, unit.policy)
    fused, several = operation.fused, len(unit.formats) > 1
    switches = (rule.fma_quiet, rule.fma_generated) if fused else ()
    with_nan = [f for f in floats if f.has_nan]
    codes = [] if operation.is_conversion else [encode(GENERATED, 0)[0]]  # a conversion generates no NaN
    for f in with_nan:
        codes += [encode(Value(NAN, sign, 0, max(f.mantissa_bits - 1, 0)), 0)[0] for sign in (0, 1)]
    carried = rule.propagate != "no" and out.has_nan and not rule.has_code(out) and out.nan != "negative-zero"
    if not carried:
        return tuple(codes), switches if out.is_integer else switches[:1], False, (False, False), False
    order = rule.propagate == "signaling" and several and any(f.signaling for f in with_nan)
    larger = rule.propagate == "larger" and several
    return (
        tuple(codes),
        switches,
        (order, larger),
        (rule.addend_first and fused, rule.first_last and several) if rule.propagate != "larger" else (False, False),
        not rule.no_payload,
    )
