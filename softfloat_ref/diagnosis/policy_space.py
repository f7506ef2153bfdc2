"""Policies as a space: the named ones and those with one changed field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from softfloat_ref.diagnosis.spaces import ChoiceSpace
from softfloat_ref.explanation.scalar import choice_text, has_explicit, single_changes
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import encoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import POLICIES, RARE_FIELDS, ROUNDINGS, NanRule, Policy, Specials, parse_rounding

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
    "e8m0": {
        "magnitude": "takes negative values by magnitude, and zero as the smallest code",
        "nan": "gives NaN for zero and negative values",
        "smallest": "gives the smallest code for zero and negative values",
    },
    "unnormals": {
        "invalid": "takes unnormals, pseudo-infinities and pseudo-NaNs for invalid operands (x87)",
        "value": "takes unnormals, pseudo-infinities and pseudo-NaNs for what they say (SoftFloat)",
    },
    "rounding_precision": {
        "80": "rounds to the whole precision of 80 bits",
        "64": "rounds to the precision of 64 bits (53 of the significand)",
        "32": "rounds to the precision of 32 bits (24 of the significand)",
    },
    "specials": {"ieee": "has IEEE 754's special cases", "p3109": "has P3109's special cases"},
    "bare_widening": {"on": "widens only by appending zeros"},
    "nan": {"": "gives NaNs by the rule {v}"},
    "sr_bits": {"": ""},
}
_PROPAGATE: Final[dict[Literal["no", "first", "signaling", "larger"], str]] = {
    "no": "",
    "first": "propagate",
    "signaling": "propagate-signaling",
    "larger": "propagate-larger",
}
_EXPLICIT: Final = ("x87", "softfloat-8086")  # policies of formats that store their integer bit
_SWITCHES: Final = ("addend_first", "first_last", "fma_generated", "fma_quiet", "no_payload", "overflow_signed")


@dataclass(frozen=True)
class PolicySpace(ChoiceSpace[Policy]):
    """The policies of a unit; by default, without defects."""

    kind: ClassVar[str] = "policy"
    catalogue: ClassVar[Mapping[str, Policy]] = POLICIES
    fields: ClassVar[Sequence[str]] = (*Policy().to_dict(), *RARE_FIELDS)
    words: ClassVar[Mapping[str, Mapping[str, str]]] = _WORDS
    names_first: bool = False

    @property
    def base(self) -> Policy:
        return self.unit.policy  # type: ignore[no-any-return]

    def named(self) -> Iterator[Policy]:
        """The policies of the catalogue, with the random bits of the expected rounding, if it has any; conventions of
        E8M0 only where a format has no zero, of x87 where one stores its integer bit."""
        for name, policy in POLICIES.items():
            if not self._reveals(policy) or (name in _EXPLICIT and not self._explicit):
                continue
            if policy.e8m0 != "auto" and policy.nan == "canonical" and self._has_zeros:
                continue
            if self.base.sr_bits:
                yield policy.replace(rounding=self.base.rounding, sr_bits=self.base.sr_bits)
            yield policy

    def changes(self, point: Policy) -> Iterator[Policy]:
        for fields in single_changes(point, self._explicit):
            if "nan" in fields or ("sr_bits" in fields and self.base.sr_bits) or ("e8m0" in fields and self._has_zeros):
                continue
            if self._reveals(changed := point.replace(**fields)):
                yield changed
        if self.base.sr_bits:
            for mode in ROUNDINGS:
                rounding = parse_rounding(mode)
                if rounding != point.rounding:
                    yield point.replace(rounding=rounding, sr_bits=self.base.sr_bits if rounding.stochastic else None)
        for text in nan_rules(point.nan):
            if self._explicit or "larger" not in text:
                yield point.replace(nan=text)
        if not point.bare_widening:
            yield point.replace(bare_widening=True)

    @property
    def _explicit(self) -> bool:
        """Whether a format stores its integer bit."""
        return has_explicit((*self.unit.input_formats, *self.unit.result_formats))

    @cached_property
    def _has_zeros(self) -> bool:
        """Whether every format has a zero: a convention of E8M0 changes nothing."""
        return all(f.zero for f in (*self.unit.input_formats, *self.unit.result_formats) if f)

    def _reveals(self, point: Policy) -> bool:
        """Whether P3109's special cases are more than its one zero, of which the defects say it better."""
        if point.specials != Specials.P3109 or self.base.specials == Specials.P3109:
            return True
        return any(f.p3109 for f in (*self.unit.input_formats, *self.unit.result_formats) if f) or self._has_specials

    @property
    def _has_specials(self) -> bool:
        """Whether what the unit does has P3109's special cases."""
        return False

    @property
    def out(self) -> Format:
        """The format that results are rounded to."""
        return self.unit.out  # type: ignore[no-any-return]

    def unit_of(self, point: Policy) -> Any:
        return replace(self.unit, policy=point)

    def texts(self, point: Policy) -> dict[str, str]:
        """Its fields in words, with the overflow rule that applies to this result."""
        known = {k: choice_text(getattr(point, k)) for k in self.fields}
        return known | {"overflow": str(point.overflow_for(self.out))}

    def differing(self, point: Policy, other: Policy) -> dict[str, str]:
        return {k: v for k, v in super().differing(point, other).items() if (k, v) != ("sr_bits", "None")}

    def description(self, point: Policy) -> str:
        own = self.differing(point, self.expected)
        return self.sentence(own) if 0 < len(own) <= 2 else super().description(point)


def ends_of(out: Format, policy: Policy) -> tuple[Any, ...]:
    """How zeros and infinities are encoded."""
    encode = encoder(out, policy)
    return tuple(encode(x, 0) for sign in (0, 1) for x in (exact.zero(sign), exact.inf(sign)))


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
