"""Policies as a space: the named ones and those with one changed field; and which of them are the same device."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.answer_defects import answer_defects
from softfloat_ref.diagnosis.function_defects import function_suggested_by
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Model
from softfloat_ref.diagnosis.operation_defects import scalar_defects
from softfloat_ref.diagnosis.operation_models import ScalarOperation, always_exact
from softfloat_ref.diagnosis.spaces import ChoiceSpace
from softfloat_ref.explanation.scalar import choice_text, single_changes
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import encoder, target
from softfloat_ref.oracle.exact import GENERATED, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import context
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS, NanRule, Policy, Specials, parse_rounding, rounding_name
from softfloat_ref.oracle.rounding import Target, goes_beyond
from softfloat_ref.units import OperationUnit

ROUNDS: Final = {
    "rne": "rounds to nearest, ties to even",
    "rna": "rounds to nearest, ties away from zero (half up)",
    "rtz": "rounds toward zero (truncates)",
    "rup": "rounds toward positive",
    "rdn": "rounds toward negative",
    "rto": "rounds to odd",
    "rnu": "rounds to nearest, ties up",
    "rhz": "rounds to nearest, ties toward zero (half down)",
    "sr": "rounds stochastically, by P3109's A",
    "sr-b": "rounds stochastically, by P3109's B",
    "sr-c": "rounds stochastically, by P3109's C",
}
_WORDS: Final[dict[str, dict[str, str]]] = {
    "rounding": ROUNDS,
    "overflow": {
        "sat-none": "does not saturate",
        "sat-propagate": "saturates overflows, but not infinities",
        "sat-finite": "saturates, infinities too",
        "sat-narrow": "saturates formats of at most 8 bits",
    },
    "flush_inputs": {"on": "treats subnormal operands as zero (DAZ)", "off": "does not flush subnormal operands"},
    "flush_outputs": {"on": "flushes tiny results to zero (FTZ)", "off": "gives subnormal results"},
    "flush_rule": {
        "after": "flushes results that are tiny after rounding, raising inexact (x86)",
        "before": "flushes results that are tiny before rounding, raising only underflow (Arm)",
    },
    "tininess": {"before": "detects tininess before rounding", "after": "detects tininess after rounding"},
    "nan_missing": {"max": "gives the largest value for a NaN", "zero": "gives zero for a NaN"},
    "integers": {
        "riscv": "converts to integers like RISC-V",
        "x86": "converts to integers like x86 (integer indefinite)",
        "arm": "converts to integers like Arm",
        "ptx": "converts to integers like PTX",
    },
    "specials": {"ieee": "has IEEE 754's special cases", "p3109": "has P3109's special cases"},
    "bare_widening": {"on": "widens only by appending zeros"},
    "nan": {"": "gives NaNs by the rule {v}"},
    "sr_bits": {"": ""},
}
_PROPAGATE: Final[dict[Literal["no", "first", "signaling"], str]] = {
    "no": "",
    "first": "propagate",
    "signaling": "propagate-signaling",
}
_SWITCHES: Final = ("addend_first", "first_last", "fma_generated", "fma_quiet")


@dataclass(frozen=True)
class PolicySpace(ChoiceSpace[Policy]):
    """The policies of a scalar operation."""

    kind: ClassVar[str] = "policy"
    catalogue: ClassVar[Mapping[str, Policy]] = POLICIES
    fields: ClassVar[Sequence[str]] = tuple(Policy().to_dict())
    words: ClassVar[Mapping[str, Mapping[str, str]]] = _WORDS
    names_first: bool = False

    @property
    def base(self) -> Policy:
        return self.unit.policy  # type: ignore[no-any-return]

    def named(self) -> Iterator[Policy]:
        """The policies of the catalogue, with the random bits of the expected rounding, if it has any."""
        for policy in filter(self._reveals, POLICIES.values()):
            if self.base.sr_bits:
                yield policy.replace(rounding=self.base.rounding, sr_bits=self.base.sr_bits)
            yield policy

    def changes(self, point: Policy) -> Iterator[Policy]:
        for fields in single_changes(point):
            if "nan" in fields or ("sr_bits" in fields and self.base.sr_bits):
                continue
            if self._reveals(changed := point.replace(**fields)):
                yield changed
        if self.base.sr_bits:
            for mode in ROUNDINGS:
                rounding = parse_rounding(mode)
                if rounding != point.rounding:
                    yield point.replace(rounding=rounding, sr_bits=self.base.sr_bits if rounding.stochastic else None)
        for text in nan_rules(point.nan):
            yield point.replace(nan=text)
        if not point.bare_widening:
            yield point.replace(bare_widening=True)

    def _reveals(self, point: Policy) -> bool:
        """Whether P3109's special cases are more than its one zero, of which the defects say it better."""
        if point.specials != Specials.P3109 or self.base.specials == Specials.P3109:
            return True
        return any(f.p3109 for f in (*self.unit.input_formats, *self.unit.result_formats) if f) or self._has_specials

    @property
    def _has_specials(self) -> bool:
        return self.unit.signature.operation.p3109  # type: ignore[no-any-return]

    def unit_of(self, point: Policy) -> OperationUnit:
        return replace(self.unit, policy=point)  # type: ignore[no-any-return]

    def model(self, point: Policy) -> Model | None:
        scalar = self._scalar(point)
        try:
            for fmt in (scalar.sig.out,) if scalar.sig.out.has_nan else ():
                point.nan_rule.code(fmt)
            return scalar.plain()
        except Error:
            return None

    def _scalar(self, point: Policy) -> ScalarOperation:
        return ScalarOperation.of(self.unit, point, self.source)

    def key(self, point: Policy) -> Hashable:
        return behaviour(self._scalar(point))

    def texts(self, point: Policy) -> dict[str, str]:
        """Its fields in words, with the overflow rule that applies to this result."""
        known = {k: choice_text(getattr(point, k)) for k in self.fields}
        return known | {"overflow": str(point.overflow_for(self.unit.out))}

    def differing(self, point: Policy, other: Policy) -> dict[str, str]:
        return {k: v for k, v in super().differing(point, other).items() if (k, v) != ("sr_bits", "None")}

    def description(self, point: Policy) -> str:
        own = self.differing(point, self.expected)
        return self.sentence(own) if 0 < len(own) <= 2 else super().description(point)

    def defects(self, point: Policy) -> Iterator[Hypothesis]:
        return scalar_defects(self._scalar(point))

    def suggested(self, point: Policy, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        return function_suggested_by(self._scalar(point), cases)

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        return answer_defects(replace(self._scalar(self.base), under=under))


def nan_rules(text: str) -> list[str]:
    """The NaN rules that differ from this one in one word."""
    rule = NanRule.parse(text)
    rules: list[NanRule] = []
    for propagate in _PROPAGATE:
        if propagate != rule.propagate:
            rules.append(replace(rule, propagate=propagate))
            continue
        for generated in dict.fromkeys(("canonical", "ones", "negative", rule.generated)):
            if generated != rule.generated:
                rules.append(replace(rule, generated=generated))
            else:
                rules += [replace(rule, **{name: not getattr(rule, name)}) for name in _SWITCHES]  # type: ignore[arg-type]
    if rule.codes:
        rules.append(replace(rule, codes=()))
    return list(map(_rule_text, rules))


def _rule_text(rule: NanRule) -> str:
    generated = f"{rule.generated:x}" if isinstance(rule.generated, int) else rule.generated
    chosen = [name.replace("_", "-") for name in _SWITCHES if getattr(rule, name)]
    codes = [f"{name}={code:x}" for name, code in rule.codes]
    words = (_PROPAGATE[rule.propagate], "" if generated == "canonical" else generated, *chosen, *codes)
    return ",".join(filter(None, words)) or "canonical"


# -- which policies are one device -----------------------------------------------------------------------------------

_NEVER_UP: Final = ("rtz", "rto")  # never round up to a power of two: tiny before rounding is tiny after


# The integers that matter only for results that are not exact.
_INEXACT_FIELDS: Final = (
    *("mode", "random_count", "beyond_positive", "beyond_negative"),
    *("largest_positive", "largest_negative", "odd_beyond", "overflow_flags"),
)


def behaviour(s: ScalarOperation) -> Hashable:
    """Everything that an operation's answers depend on: if equal, two policies answer alike for all operands.

    Fields that the operation, its formats or the policy make irrelevant are left out.
    """
    sig, policy = s.sig, s.policy
    operation, formats, out = sig
    floats = [f for f in formats if not f.is_integer]
    subnormals = any(f.subnormals == "gradual" and f.has_normals and f.min_normal_code > 1 for f in floats)
    flush = policy.flush_inputs and operation.flushes and subnormals
    special = operation.p3109 and context(sig, policy).p3109
    if operation.result in ("boolean", "class"):
        return operation.name, flush, special
    rules = _nan_key(s, floats)
    if operation.result == "same":
        return operation.name, rules, ends_of(out, policy), special, () if out.signed else _target_key(s)
    widening = operation.is_conversion and policy.widens_bare(formats[0]) and out.width >= formats[0].width
    own = policy.rounding if operation.integral else None
    return flush, special, rules, _target_key(s), ends_of(out, policy), widening, own


def _target_key(s: ScalarOperation) -> tuple[Any, ...]:
    """The integers that rounding depends on; for a conversion that is always exact, only those of flushing."""
    t: Target = target(s.sig.out, s.policy)
    if not t.flush:
        t = t._replace(flush=0)
    if s.sig.operation.is_conversion and always_exact(s.sig.formats[0], s.sig.out):
        t = t._replace(**dict.fromkeys(_INEXACT_FIELDS, 0), tininess=t.tininess if t.flush else 0)
    if s.sig.out.is_integer:
        t = t._replace(tininess=0, flush=0)
    if rounding_name(s.policy.rounding) in _NEVER_UP:
        t = t._replace(tininess=0)
    if not goes_beyond(t.mode, 0, t.odd_beyond):
        t = t._replace(beyond_positive=0)
    if not goes_beyond(t.mode, 1, t.odd_beyond):
        t = t._replace(beyond_negative=0)
    return tuple(t)


def ends_of(out: Format, policy: Policy) -> tuple[Any, ...]:
    """How zeros and infinities are encoded."""
    encode = encoder(out, policy)
    return tuple(encode(x, 0) for sign in (0, 1) for x in (exact.zero(sign), exact.inf(sign)))


def _nan_key(s: ScalarOperation, floats: list[Format]) -> tuple[Any, ...]:
    """Everything that the NaN of a result depends on."""
    out, rule = s.sig.out, s.policy.nan_rule
    encode = encoder(out, s.policy)
    fused = s.sig.operation.fused
    switches = (rule.fma_quiet, rule.fma_generated) if fused else ()
    with_nan = [f for f in floats if f.has_nan]
    codes = [] if s.sig.operation.is_conversion else [encode(GENERATED, 0)[0]]  # a conversion generates no NaN
    for f in with_nan:
        codes += [encode(Value(NAN, sign, 0, max(f.mantissa_bits - 1, 0)), 0)[0] for sign in (0, 1)]
    carried = rule.propagate != "no" and out.has_nan and not rule.has_code(out) and out.nan != "negative-zero"
    if not carried:
        return tuple(codes), switches if out.is_integer else switches[:1], False, (False, False), False
    order = rule.propagate == "signaling" and s.arity > 1 and any(f.signaling for f in with_nan)
    return tuple(codes), switches, order, (rule.addend_first and fused, rule.first_last and s.arity > 1), True
