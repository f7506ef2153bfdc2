"""Defects of dot products: in lanes, operands and scales, and in each rounding of the accumulator's tree."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.diagnosis.block_defects import binades_off, usual
from softfloat_ref.diagnosis.block_defects import moved as moved_scale
from softfloat_ref.diagnosis.hypotheses import Case, Hypothesis, Inputs, Model, Output
from softfloat_ref.diagnosis.operand_defects import flushed, hidden_bit, low_exponent
from softfloat_ref.diagnosis.remembered import Products, dot_model
from softfloat_ref.diagnosis.rounding_defects import RoundingDefect, rounding_defects, with_policy
from softfloat_ref.diagnosis.sum_defects import WrongDot, sum_defects, wrapped_products
from softfloat_ref.diagnosis.twins import TWINS, twins
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate.dots import Operand
from softfloat_ref.oracle.accumulate.evaluate import Rounding, Step
from softfloat_ref.oracle.accumulate.terms import Decode, Term
from softfloat_ref.oracle.accumulate.trees import RESULT, Round, To, walk
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import DotUnit

_Inputs = tuple[Operand, Operand, int]
_FORMATS: Final = ("fp16", "bf16", "tf32", "fp32", "fp64")
_LAST: Final = re.compile(r"-> (\w+):(\w+)")
_WHERE: Final = ("inner", "last", "every")


@dataclass
class WrongStep(Step):
    """A step with some roundings replaced by a defect's: the last one of the tree, those before it, or all."""

    defect: RoundingDefect | None = None
    where: str = "every"
    node: Round | None = None
    wrong: dict[To, Rounding] = field(default_factory=dict)
    right: dict[To, Rounding] = field(default_factory=dict)

    def rounded(self, node: Round) -> list[Term]:
        outer, self.node = self.node, node
        try:
            return super().rounded(node)
        finally:
            self.node = outer

    def to_format(self, term: Term, to: To) -> Term:
        self.roundings = self.wrong if self._chosen() else self.right
        return super().to_format(term, to)

    def _chosen(self) -> bool:
        last = self.node is self.accumulator.root
        return self.where == "every" or last == (self.where == "last")

    def make_rounding(self, to: To) -> Rounding:
        made = super().make_rounding(to)
        if not self._chosen() or self.defect is None:
            return made
        encode = self.defect.encoder(made.fmt, self.accumulator.policy(to.rounding))
        if encode is not None:
            made = made._replace(encode=lambda x: encode(x, 0))
            self.roundings[to] = made
        return made


def dot_defects(unit: DotUnit, kept: Products) -> Iterator[Hypothesis]:
    """Every listed defect that the dot product can have. kept: cached products of questions, as for `dot_model`."""
    yield from _held_defects(unit, kept)
    yield from _rounding_defects(unit)
    yield from _lane_defects(unit)
    yield from _operand_defects(unit)
    yield from _twin_elements(unit)
    yield from _scale_defects(unit)
    yield from _zero_defects(unit)
    yield from sum_defects(unit)


_POLICIES: Final = (
    RoundingDefect("tininess before rounding", "detects tininess before rounding", with_policy(tininess="before")),
    RoundingDefect("saturation", "saturates", with_policy(overflow="sat-finite")),
    RoundingDefect("FTZ", "flushes tiny results to zero", with_policy(flush_outputs=True)),
    *(RoundingDefect(m, f"rounds by {m}", with_policy(rounding=m)) for m in ("rtz", "rna", "rto", "rup", "rdn")),
)


def _rounding_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    rounds = [x for x in walk(unit.accumulator.root) if isinstance(x, Round)]
    wheres = _WHERE if len(rounds) > 1 else ("every",)
    every = "of its sums" if len(rounds) > 1 else "of the sum"
    shown = {"inner": "of inner sums", "last": "of the last sum", "every": every}
    for row in (*rounding_defects(), *_POLICIES):
        if row.name.startswith("output"):
            continue
        for where in wheres:
            make = partial(WrongStep, defect=row, where=where)
            yield Hypothesis(
                f"{row.name} {shown[where]}", f"{row.says}, in the rounding {shown[where]}", WrongDot(unit, make=make)
            )


def _held_defects(unit: DotUnit, kept: Products) -> Iterator[Hypothesis]:
    """The running result rounded to another format first, and then to its own."""
    tree = unit.accumulator.tree
    last = list(_LAST.finditer(tree))[-1:]
    for name in _FORMATS:
        for match in (m for m in last if name != (unit.out.name if m[1] == RESULT else m[1])):
            changed = f"{tree[: match.start()]}-> {name}:{match[2]} {tree[match.start() :]}"
            try:
                other = dataclasses.replace(unit, accumulator=unit.accumulator.replace(tree=changed))
            except Error:
                continue
            says = f"keeps the running result in {name}"
            yield Hypothesis(f"running result in {name}", says, dot_model(other, kept))


# -- lanes, operands, scales -----------------------------------------------------------------------------------------


def _zero_lane(operand: Operand, lane: int) -> Operand:
    """The operand without the lane's finite value; a NaN or Inf stays."""
    code = operand.codes[lane]
    if decoder(operand.fmt)(code).kind != FINITE:
        return operand
    zero = code & operand.fmt.sign_bit if operand.fmt.negative_zero else 0
    return dataclasses.replace(operand, codes=(*operand.codes[:lane], zero, *operand.codes[lane + 1 :]))


def _lane_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    k = unit.k
    ends = {0: "first lane", k - 1: "last lane"}
    for lane in (0, *range(k - 1, 0, -1)):
        name = ends.get(lane, f"lane {lane}")
        yield Hypothesis(
            f"{name} left out",
            f"leaves {'the ' if lane in ends else ''}{name} out of the sum",
            WrongDot(unit, inputs=lambda a, b, c, i=lane: (_zero_lane(a, i), b, c)),  # type: ignore[misc]
        )
    for lane, name in ((0, "first"), (k - 1, "last")):
        for side in "ab":
            yield Hypothesis(
                f"NaN in the {name} lane of {side} a number",
                f"treats a NaN in the {name} lane of {side} as a number",
                _number_lane(unit, side, lane),
            )
    yield Hypothesis("c left out", "leaves c out of the sum", WrongDot(unit, inputs=lambda a, b, c: (a, b, 0)))
    yield Hypothesis(
        "order reversed",
        "adds the products in reverse order",
        WrongDot(unit, inputs=lambda a, b, c: (_reversed(a), _reversed(b), c)),
    )


def _reversed(x: Operand) -> Operand:
    return dataclasses.replace(x, codes=x.codes[::-1], scales=x.scales[::-1])


def _number_lane(unit: DotUnit, side: str, lane: int) -> Model:
    """A NaN in this lane read as the number that its code would be; a NaN in another lane stays a NaN."""
    setting, i = unit.setting, "ab".index(side)
    decoders = [unit.accumulator.decoder(f) for f in setting.formats]
    decoders[i] = _as_number(decoders[i], setting.formats[i])
    right, wrong = WrongDot(unit), WrongDot(unit, decoders=decoders)

    def model(codes: Inputs) -> Output | None:
        sides = unit.sides(codes)
        x = sides[0] if side == "a" else sides[1]
        others = any(x.fmt.is_nan(code) for k, code in enumerate(x.codes) if k != lane)
        return right(codes) if others else wrong(codes)

    return model


def _as_number(decode: Decode, fmt: Format) -> Decode:
    """The decoder of a device without NaN: exponent and fraction mean the same as in a number."""

    def decoded(code: int) -> Value:
        if not fmt.is_nan(code):
            return decode(code)
        field, fraction = divmod(code & fmt.magnitude_mask, 1 << fmt.mantissa_bits)
        return exact.finite(
            int(code & fmt.sign_bit > 0), fraction | 1 << fmt.mantissa_bits, field - fmt.bias - fmt.mantissa_bits
        )

    return decoded


def _doubled(code: int, x: Value, fmt: Format) -> Value:
    normal = x.significand and code & fmt.magnitude_mask >= fmt.min_normal_code
    return x._replace(exponent=x.exponent + 1) if normal else x


_CHANGES: Final[tuple[tuple[str, str, Callable[[int, Value, Format], Value]], ...]] = (
    ("subnormals flushed", "treats subnormal elements as zero", flushed),
    ("subnormals with exponent 0", "gives subnormal elements the exponent 0 in place of 1", low_exponent),
    ("subnormals as normal", "treats subnormal elements as normal ones", hidden_bit),
    (
        "normals x2",
        "uses the exponent field unadjusted, so that normal elements count twice relative to subnormal ones",
        _doubled,
    ),
)


def _operand_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    formats = unit.setting.formats
    right = [unit.accumulator.decoder(f) for f in formats]
    for name, says, change in _CHANGES:
        for sides in ("ab", "a", "b"):
            decoders = [
                _changed(decode, fmt, change) if side in sides else decode
                for side, decode, fmt in zip("ab", right, formats, strict=True)
            ]
            of = "" if sides == "ab" else f" of {sides}"
            yield Hypothesis(f"{name}{of}", says + of, WrongDot(unit, decoders=decoders))
            if name == "normals x2":
                held = wrapped_products(formats)
                wraps = "; products too large for their width wrap around"
                yield Hypothesis(
                    f"{name}{of}, products wrap", says + of + wraps, WrongDot(unit, decoders=decoders, terms=held)
                )


def _twin_elements(unit: DotUnit) -> Iterator[Hypothesis]:
    """Elements read as in their format's twin, on both sides or on one."""
    formats = unit.setting.formats
    right = [unit.accumulator.decoder(f) for f in formats]
    for sides in ("ab", "a", "b"):
        for name in TWINS:
            found = [{x.name: x for x in twins(f)}.get(name) for f in formats]
            if any(x is None for side, x in zip("ab", found, strict=True) if side in sides):
                continue
            decoders = [
                unit.accumulator.decoder(x.fmt) if x is not None and side in sides else decode
                for side, x, decode in zip("ab", found, right, strict=True)
            ]
            of = "" if sides == "ab" else f" of {sides}"
            says = find_first(x.says for x in found if x is not None)
            says = f"takes the format of the elements{of} for {says}"
            yield Hypothesis(f"elements{of} as {name}", says, WrongDot(unit, decoders=decoders))


def dot_suggested_by(unit: DotUnit, cases: Sequence[Case]) -> Iterator[Hypothesis]:
    """A scale off by the number of binades that most wrong results are off."""
    for by in usual(binades_off(c.got[0], c.expected[0], unit.out) for c in cases if not c.agrees):
        steps = f"{abs(by)} {'high' if by > 0 else 'low'}"
        for k, side in enumerate("ab"):
            scale = getattr(getattr(unit, side), "scale", None)
            if scale is None:
                continue

            def moved(a: Operand, b: Operand, c: int, k: int = k, scale: Format = scale, by: int = by) -> _Inputs:
                found = [a, b]
                scales = tuple(moved_scale(x, by, scale) for x in found[k].scales)
                found[k] = dataclasses.replace(found[k], scales=scales)
                return found[0], found[1], c

            yield Hypothesis(
                f"scale of {side} {steps}", f"reads the scale of {side} {steps}", WrongDot(unit, inputs=moved), size=3
            )


def _changed(decode: Decode, fmt: Format, change: Callable[[int, Value, Format], Value]) -> Decode:
    def decoded(code: int) -> Value:
        x = decode(code)
        return change(code, x, fmt) if x.kind == FINITE else x

    return decoded


def _scale_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    for k, side in enumerate("ab"):
        scale = getattr(getattr(unit, side), "scale", None)
        if scale is None:
            continue

        def number(a: Operand, b: Operand, c: int, k: int = k, scale: Format = scale) -> _Inputs:
            found = [a, b]
            x, y = found[k], found[1 - k]
            if len(x.scales) == len(y.scales):  # the largest scale, and the next code: compensate in the other scale
                more = [t + (scale.is_nan(s) and t < scale.max_code) for s, t in zip(x.scales, y.scales, strict=True)]
                found[1 - k] = dataclasses.replace(y, scales=tuple(more))
            largest = tuple(scale.max_code if scale.is_nan(s) else s for s in x.scales)
            found[k] = dataclasses.replace(x, scales=largest)
            return found[0], found[1], c

        def ignored(a: Operand, b: Operand, c: int, k: int = k, scale: Format = scale) -> _Inputs:
            found, one = [a, b], scale.bias << scale.mantissa_bits
            found[k] = dataclasses.replace(found[k], scales=(one,) * len(found[k].scales))
            return found[0], found[1], c

        yield Hypothesis(
            f"NaN scale of {side} a number",
            f"treats the NaN scale of {side} as a number",
            WrongDot(unit, inputs=number),
        )
        yield Hypothesis(f"scale of {side} ignored", f"ignores the scale of {side}", WrongDot(unit, inputs=ignored))


def _zero_defects(unit: DotUnit) -> Iterator[Hypothesis]:
    out = unit.out

    def signed(sign: int, code: int, flags: int) -> tuple[int, int]:
        return (out.sign_bit * sign if not code & out.magnitude_mask else code), flags

    for sign, shown in ((0, "+0"), (1, "-0")):
        yield Hypothesis(f"zeros {shown}", f"gives {shown} for every zero", WrongDot(unit, after=partial(signed, sign)))
