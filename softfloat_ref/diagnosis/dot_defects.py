"""Defects of dot products: lanes, operands and scales, and each rounding of the accumulator's tree."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from softfloat_ref import exact
from softfloat_ref.accumulate.dots import Operand
from softfloat_ref.accumulate.evaluate import Rounding, Step
from softfloat_ref.accumulate.terms import Decode, Term, operand_decoder
from softfloat_ref.accumulate.trees import RESULT, Round, To, walk
from softfloat_ref.codec import decoder, encoder
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Model, Output
from softfloat_ref.diagnosis.remembered import Products, dot_model
from softfloat_ref.diagnosis.scalar import flushed, hidden_bit, low_exponent
from softfloat_ref.diagnosis.stages import Stage, StageDefect, stage_defects
from softfloat_ref.diagnosis.sum_defects import Dot, sum_defects, wrapped_products
from softfloat_ref.errors import Error
from softfloat_ref.exact import FINITE, Value
from softfloat_ref.formats import Format
from softfloat_ref.golden.dots import DotSet

_HELD: Final = ("fp16", "bf16", "tf32", "fp32", "fp64")
_LAST: Final = re.compile(r"-> (\w+):(\w+)")
_WHERE: Final = ("inner", "last", "every")


@dataclass
class WrongStep(Step):
    """A step some of whose roundings are a defect's: the last one of the tree, those before it, or all."""

    stage: Stage | None = None
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
        if not self._chosen() or self.stage is None:
            return made
        encode = self.stage(made.fmt, self.accumulator.policy(to.rounding))
        if encode is not None:
            made = made._replace(encode=lambda x: encode(x, 0))
            self.roundings[to] = made
        return made


def dot_defects(made: DotSet, kept: Products) -> Iterator[Hypothesis]:
    """Every listed defect that the dot product can have. kept: products of questions, as `dot_model` keeps them."""
    d = Dot(made)
    yield from _held_defects(made, kept)
    yield from _rounding_defects(d)
    yield from _lane_defects(d)
    yield from _operand_defects(d)
    yield from _scale_defects(d)
    yield from _zero_defects(d)
    yield from sum_defects(made)


def _policies() -> tuple[StageDefect, ...]:
    """Changes of the policy of a rounding, as defects of it."""

    def changed(**fields: Any) -> Stage:
        return lambda fmt, policy: encoder(fmt, policy.replace(**fields))

    return (
        StageDefect("tininess before rounding", "judges tininess before rounding", changed(tininess="before")),
        StageDefect("saturation", "saturates", changed(overflow="sat-finite")),
        StageDefect("FTZ", "flushes tiny results to zero", changed(flush_outputs=True)),
        *(StageDefect(f"{m}", f"rounds by {m}", changed(rounding=m)) for m in ("rtz", "rna", "rto", "rup", "rdn")),
    )


def _rounding_defects(d: Dot) -> Iterator[Hypothesis]:
    rounds = [x for x in walk(d.made.accumulator.root) if isinstance(x, Round)]
    wheres = _WHERE if len(rounds) > 1 else ("every",)
    shown = {
        "inner": "of inner sums",
        "last": "of the last sum",
        "every": "of its sums" if len(rounds) > 1 else "of the sum",
    }
    for row in (*stage_defects(), *_policies()):
        if row.name.startswith("output"):
            continue
        for where in wheres:
            make = partial(WrongStep, stage=row.stage, where=where)
            yield Hypothesis(
                f"{row.name} {shown[where]}", f"{row.says}, in the rounding {shown[where]}", d.model(make=make)
            )


def _held_defects(made: DotSet, kept: Products) -> Iterator[Hypothesis]:
    """The running result held in another format, from which it is put into its own."""
    tree = made.accumulator.tree
    last = list(_LAST.finditer(tree))[-1:]
    for name in _HELD:
        for match in (m for m in last if name != (made.out.name if m[1] == RESULT else m[1])):
            changed = f"{tree[: match.start()]}-> {name}:{match[2]} {tree[match.start() :]}"
            try:
                other = dataclasses.replace(made, accumulator=made.accumulator.replace(tree=changed))
            except Error:
                continue
            says = f"holds the running result in {name}"
            yield Hypothesis(f"running result in {name}", says, dot_model(other, kept))


# -- lanes, operands, scales -----------------------------------------------------------------------------------------


def _zero_lane(operand: Operand, lane: int) -> Operand:
    """Without that lane's finite value; a NaN or Inf stays."""
    code = operand.codes[lane]
    if decoder(operand.fmt)(code).kind != FINITE:
        return operand
    zero = code & operand.fmt.sign_bit if operand.fmt.negative_zero else 0
    return dataclasses.replace(operand, codes=(*operand.codes[:lane], zero, *operand.codes[lane + 1 :]))


def _lane_defects(d: Dot) -> Iterator[Hypothesis]:
    k = d.made.k
    ends = {0: "first lane", k - 1: "last lane"}
    for lane in (0, *range(k - 1, 0, -1)):
        name = ends.get(lane, f"lane {lane}")
        yield Hypothesis(
            f"{name} left out",
            f"leaves {'the ' if lane in ends else ''}{name} out of the sum",
            d.model(inputs=lambda a, b, c, i=lane: (_zero_lane(a, i), b, c)),  # type: ignore[misc]
        )
    for lane, name in ((0, "first"), (k - 1, "last")):
        for side in "ab":
            yield Hypothesis(
                f"NaN in the {name} lane of {side} a number",
                f"takes a NaN in the {name} lane of {side} for a number",
                _number_lane(d, side, lane),
            )
    yield Hypothesis("c left out", "leaves c out of the sum", d.model(inputs=lambda a, b, c: (a, b, 0)))
    yield Hypothesis(
        "order reversed",
        "takes the products in reverse order",
        d.model(inputs=lambda a, b, c: (_reversed(a), _reversed(b), c)),
    )


def _reversed(x: Operand) -> Operand:
    return dataclasses.replace(x, codes=x.codes[::-1], scales=x.scales[::-1])


def _number_lane(d: Dot, side: str, lane: int) -> Model:
    """One lane's NaN taken for the number that its code would be; a NaN elsewhere is one."""
    setting, i = d.made.setting, "ab".index(side)
    decoders = [operand_decoder(f, d.made.accumulator.flush_inputs) for f in setting.formats]
    decoders[i] = _as_number(decoders[i], setting.formats[i])
    right, wrong = d.model(), d.model(decoders=decoders)

    def model(codes: Inputs) -> Output | None:
        sides = d.made.sides(codes)
        x = sides[0] if side == "a" else sides[1]
        others = any(x.fmt.is_nan(code) for k, code in enumerate(x.codes) if k != lane)
        return right(codes) if others else wrong(codes)

    return model


def _as_number(decode: Decode, fmt: Format) -> Decode:
    """The decoder of a device that does not know NaN: its exponent and fraction mean what they would in a number."""

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
    ("subnormals flushed", "takes subnormal elements for zero", flushed),
    ("subnormals with exponent 0", "gives subnormal elements the exponent 0 in place of 1", low_exponent),
    ("subnormals as normal", "takes subnormal elements for normal ones", hidden_bit),
    (
        "normals x2",
        "takes the exponent field as it is, so that normal elements count twice beside subnormal ones",
        _doubled,
    ),
)


def _operand_defects(d: Dot) -> Iterator[Hypothesis]:
    formats, flush = d.made.setting.formats, d.made.accumulator.flush_inputs
    right = [operand_decoder(f, flush) for f in formats]
    for name, says, change in _CHANGES:
        for sides in ("ab", "a", "b"):
            decoders = [
                _changed(decode, fmt, change) if side in sides else decode
                for side, decode, fmt in zip("ab", right, formats, strict=True)
            ]
            of = "" if sides == "ab" else f" of {sides}"
            yield Hypothesis(f"{name}{of}", says + of, d.model(decoders=decoders))
            if name == "normals x2":
                held = wrapped_products(formats)
                wraps = "; products too large for their width wrap around"
                yield Hypothesis(
                    f"{name}{of}, products wrap", says + of + wraps, d.model(decoders=decoders, terms=held)
                )


def _changed(decode: Decode, fmt: Format, change: Callable[[int, Value, Format], Value]) -> Decode:
    def decoded(code: int) -> Value:
        x = decode(code)
        return change(code, x, fmt) if x.kind == FINITE else x

    return decoded


def _scale_defects(d: Dot) -> Iterator[Hypothesis]:
    for side in "ab":
        fmt = getattr(d.made, side)
        scale = getattr(fmt, "scale", None)
        if scale is None:
            continue

        def number(
            a: Operand, b: Operand, c: int, side: str = side, scale: Format = scale
        ) -> tuple[Operand, Operand, int]:
            x = a if side == "a" else b
            y = b if side == "a" else a
            if len(x.scales) == len(y.scales):  # the largest scale, and the next code: as much in the other one
                more = [t + (scale.is_nan(s) and t < scale.max_code) for s, t in zip(x.scales, y.scales, strict=True)]
                y = dataclasses.replace(y, scales=tuple(more))
            x = dataclasses.replace(x, scales=tuple(scale.max_code if scale.is_nan(s) else s for s in x.scales))
            return (x, y, c) if side == "a" else (y, x, c)

        def ignored(
            a: Operand, b: Operand, c: int, side: str = side, scale: Format = scale
        ) -> tuple[Operand, Operand, int]:
            x = a if side == "a" else b
            one = scale.bias << scale.mantissa_bits
            x = dataclasses.replace(x, scales=(one,) * len(x.scales))
            return (x, b, c) if side == "a" else (a, x, c)

        yield Hypothesis(
            f"NaN scale of {side} a number", f"takes the NaN scale of {side} for a number", d.model(inputs=number)
        )
        yield Hypothesis(f"scale of {side} ignored", f"ignores the scale of {side}", d.model(inputs=ignored))


def _zero_defects(d: Dot) -> Iterator[Hypothesis]:
    out = d.made.out

    def signed(sign: int, code: int, flags: int) -> tuple[int, int]:
        return (out.sign_bit * sign if not code & out.magnitude_mask else code), flags

    for sign, shown in ((0, "+0"), (1, "-0")):
        yield Hypothesis(f"zeros {shown}", f"gives {shown} for every zero", d.model(after=partial(signed, sign)))
