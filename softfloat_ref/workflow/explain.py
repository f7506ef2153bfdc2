"""`explain`: a result step by step, and the choices that give a device's answer: numbers, blocks, cases of any unit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.explanation import approximation, pipeline, quantize, requantize  # noqa: F401  (their steps enter the table)
from softfloat_ref.explanation.block import BlockExplanation
from softfloat_ref.explanation.scalar import (
    MAX_FLAGS,
    PolicySearch,
    Rows,
    ScalarExplanation,
    describe,
    explain_conversion,
    explain_operation,
    flag_text,
)
from softfloat_ref.explanation.steps import alternatives, field_lines, has_alternatives, labelled_rows, steps
from softfloat_ref.explanation.vector import explain_lane
from softfloat_ref.oracle.affine import is_affine
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.blocks.quantize import element_policy, resolve
from softfloat_ref.oracle.blocks.tensor_scales import VALUE_BITS
from softfloat_ref.oracle.codec import check_code, check_random, encoder, needed_bits, to_value
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations import evaluator
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.testing import affine  # noqa: F401  (its view enters the table)
from softfloat_ref.testing import block as block_views  # noqa: F401  (their views and steps enter the tables)
from softfloat_ref.testing import requantize as requantize_views  # noqa: F401  (its view enters the table)
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import OperationUnit, PipelineUnit, SelectionUnit, Unit, VectorUnit
from softfloat_ref.units.operation import given_policy
from softfloat_ref.units.unit import split
from softfloat_ref.workflow.units import unit as unit_of

MORE_BITS: Final = 16  # extra bits of a number such as 1/3, for defects that depend on bits below the guard bit
_NO_POLICY: Final = "no change of one or two policy fields, and no listed defect,"
_NO_PROFILE: Final = "no named profile, and no change of one or two fields,"

Spell = Callable[[str], str]
Changes = Sequence[dict[str, str] | str]
Defects = Iterable[tuple[str, Sequence[int] | None]]


@dataclass(frozen=True)
class Explained:
    """An explanation: labelled rows, and the same as data. matching: the choices that give the device's answer `got`;
    None without one. nothing: what was tried, if none does."""

    rows: Rows
    data: dict[str, Any]
    matching: Changes | None = None
    got: str = ""
    nothing: str = ""
    width: int = 10

    def lines(self) -> Iterator[str]:
        """The rows as text, with the device's answer, if there is one."""
        rows = list(self.rows)
        if self.matching is not None:
            more = [_change_text(x) for x in self.matching] or [f"{self.nothing} gives this answer"]
            rows += [("got", self.got), *(("", x) for x in more)]
        return (f"{label:{self.width}} {text}".rstrip() for label, text in rows)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        return {**self.data, **({} if self.matching is None else {"got": self.matching})}


def explain(
    what: Any,
    fmt: Any = None,
    codes: Sequence[int] | None = None,
    *,
    random_bits: int | Sequence[int] | None = None,
    lane: int | None = None,
    got: Any = None,
    got_flags: int | None = None,
    **options: Any,
) -> Explained:
    """Every step from the operands to the result; print it to read it.

    what: a number that is converted to `fmt`, or a list of numbers that become a block of it (options: policy and
    profile); or an operation, a vector recipe or a unit, of which `codes` are the operands (options: as for `unit`).
    random_bits: of a stochastic rounding, one word or one for each element. lane: of a function of vectors. got,
    got_flags: a device's answer, of a block (scale, codes): then the policies, profiles, rules and defects that give it
    are listed. Raises Error.
    """
    words = [random_bits] if isinstance(random_bits, int) else list(random_bits or ())
    if isinstance(what, str | Unit):
        if codes is None:
            raise Error("give the codes of the operands; explain(0.3, FORMAT) explains a number")
        return explain_case(unit_of(what, fmt, **options), [*codes, *words], lane, got, got_flags)
    if codes is not None or lane is not None:
        raise Error("codes and lane are for operations; a number, or a list of numbers, is explained as it is")
    target = _format(fmt)
    if isinstance(target, BlockFormat):
        values = [to_value(x, VALUE_BITS) for x in (what if isinstance(what, Iterable) else [what])]
        return explain_block(block_of(values, target, words or None, **options), got, got_flags)
    policy = get_policy(options.pop("policy", None))
    if options:
        raise Error(f"{find_first(options)} has no effect on {target.name}, which is a scalar format; leave it out")
    word = words[0] if words else None
    return explain_number(what, target, policy, word, got, got_flags)


def _format(fmt: Any) -> Format | BlockFormat:
    """A scalar or block format. Raises Error."""
    if fmt is None:
        raise Error("explain needs a format")
    if isinstance(fmt, str):
        if is_affine(fmt):
            raise Error(f"{fmt} is an affine format: explain('quantize', '{fmt}', (value, scale, zero point))")
        return any_format(fmt)
    return fmt if isinstance(fmt, BlockFormat) else get_format(fmt)


# -- a number ----------------------------------------------------------------------------------------------------------


def explain_number(
    number: Any,
    fmt: Format,
    policy: Policy,
    word: int | None,
    got: int | None = None,
    got_flags: int | None = None,
    spell: Spell = str,
) -> Explained:
    """The rounding of a number to a format. spell: an argument as the user writes it, for messages."""
    _check_flags(got, got_flags, spell)

    def run(near: Policy) -> tuple[int, int]:
        value = to_value(number, needed_bits(fmt, near))
        return encoder(fmt, near)(value, (word or 0) if near.random_count else 0)

    def defects() -> Defects:
        from softfloat_ref.diagnosis.rounding_defects import ROUNDING_DEFECTS

        value = to_value(number, needed_bits(fmt, policy) + MORE_BITS)
        coded = ((row.name, row.encoder(fmt, policy)) for row in ROUNDING_DEFECTS)
        return ((name, encode(value, word or 0)) for name, encode in coded if encode is not None)

    exact = number if isinstance(number, Fraction | Value) else to_value(number, needed_bits(fmt, policy))
    return _rounded(explain_conversion(exact, fmt, policy, word), fmt, run, policy, defects, got, got_flags)


def _rounded(
    explanation: ScalarExplanation,
    fmt: Format,
    run: Callable[[Policy], tuple[int, int]],
    policy: Policy,
    defects: Callable[[], Defects],
    got: int | None,
    flags: int | None,
    operands: Sequence[Format] = (),
) -> Explained:
    """The explanation of a rounding, with the policies and listed defects that give a device's answer."""
    data = {"bits": fmt.hex(explanation.bits), "flags": f"{explanation.flags:02x}", "steps": dict(explanation.rows)}
    if got is None:
        return Explained(explanation.rows, data)
    code = check_code(got, fmt)
    matching: Changes = PolicySearch(run, policy, (fmt, *operands)).matching(code, flags) or [
        {"defect": n} for n, x in defects() if x is not None and x[0] == code and flags in (None, x[1])
    ]
    answer = describe(code, fmt) + ("" if flags is None else f", flags {flag_text(flags)}")
    return Explained(explanation.rows, data, matching, answer, _NO_POLICY)


def _check_flags(got: Any, flags: int | None, spell: Spell) -> None:
    """Raise Error for flags that no device raises."""
    if flags is not None and got is None:
        raise Error(f"{spell('got_flags')} needs {spell('got')}: give the bits that the device answered too")
    if flags is not None and not 0 <= flags <= MAX_FLAGS:
        raise Error(f"{spell('got_flags')} {flags:x}: flags are at most {MAX_FLAGS:x}")


# -- a block -----------------------------------------------------------------------------------------------------------


def block_of(
    values: Sequence[Value], fmt: BlockFormat, words: Sequence[int] | None, profile: Any = None, policy: Any = None
) -> BlockExplanation:
    """A block of numbers, as the profile and the policy quantize it. Raises Error."""
    fmt, rule = resolve(fmt, profile)
    rounding = element_policy(given_policy(policy, rule.rounding), rule)
    if 0 < fmt.size < len(values):
        raise Error(f"a block of {fmt.name} has at most {fmt.size} values, not {len(values)}")
    for word in [None] if words is None else words:
        check_random(rounding, word)
    return BlockExplanation(tuple(values), fmt, rule, rounding, None if words is None else tuple(words))


def explain_block(
    block: BlockExplanation,
    got: tuple[int, Sequence[int]] | None = None,
    got_flags: int | None = None,
    spell: Spell = str,
) -> Explained:
    """The quantization of a block. got: a scale and codes."""
    if got_flags is not None:
        raise Error(f"{spell('got_flags')} is for operations and conversions; a block has no flags")
    rows, data = list(block.rows()), block.to_dict()
    if got is None:
        return Explained(rows, data)
    scale, codes = got
    if len(codes) != len(block.values):
        raise Error(f"{spell('got')}: give a scale and {len(block.values)} codes")
    checked_codes = [check_code(x, block.fmt.element) for x in codes]
    matching = block.alternatives(check_code(scale, block.fmt.scale), checked_codes)
    answer = f"{block.fmt.scale.hex(scale)}: {' '.join(map(block.fmt.element.hex, checked_codes))}"
    return Explained(rows, data, matching, answer, _NO_PROFILE)


# -- a case of a unit --------------------------------------------------------------------------------------------------


def explain_case(
    unit: Unit,
    inputs: Sequence[int],
    lane: int | None = None,
    got: int | None = None,
    got_flags: int | None = None,
    spell: Spell = str,
) -> Explained:
    """The steps of a case of any unit; of the part that its control fields select, if it has any. inputs: with the
    random words."""
    if len(inputs) != unit.input_width:
        raise Error(f"{unit.name} takes {unit.input_width} codes, not {len(inputs)}")
    part, own = unit.selected(inputs)
    if lane is not None and not isinstance(part, VectorUnit):
        op = part.properties()["op"]
        raise Error(f"{spell('lane')} is for functions of vectors, such as softmax, not for {op}")
    if isinstance(part, OperationUnit | VectorUnit):
        _check_flags(got, got_flags, spell)
    if isinstance(part, OperationUnit):
        explained = _explain_operation(part, own, got, got_flags)
    elif isinstance(part, VectorUnit):
        explained = _explain_lane(part, own, lane or 0, got, got_flags)
    else:
        explained = _explain_steps(part, own, got, got_flags, spell)
    if not isinstance(unit, SelectionUnit):
        return explained
    controls = field_lines([f for f in unit.inputs if f.role == "control"], inputs)
    return dataclasses.replace(explained, rows=[*labelled_rows(controls), *explained.rows])


def _explain_operation(unit: OperationUnit, inputs: Sequence[int], got: int | None, flags: int | None) -> Explained:
    arity, sig = len(unit.formats), unit.signature
    codes, words = inputs[:arity], inputs[arity:]
    word = words[0] if words else None

    def run(policy: Policy) -> tuple[int, int]:
        return evaluator(sig, policy)(codes, (word or 0) if policy.random_count else 0)

    def defects() -> Defects:
        from softfloat_ref.diagnosis.operation_defects import operation_defects

        return ((h.name, h.model((*codes, word or 0))) for h in operation_defects(unit.compared()))

    explanation = explain_operation(sig, codes, unit.policy, word)
    return _rounded(explanation, sig.out, run, unit.policy, defects, got, flags, sig.formats)


def _explain_lane(unit: VectorUnit, inputs: Sequence[int], lane: int, got: int | None, flags: int | None) -> Explained:
    """A lane of a function of vectors; flags are the lane's own."""
    words = inputs[unit.operand_width :]

    def run(policy: Policy) -> tuple[int, int]:
        near = dataclasses.replace(unit, policy=policy)
        word = [words[lane] if words else 0]
        bits, raised = near.rounded(near.unrounded(inputs[: unit.operand_width])[lane : lane + 1], word)
        return bits, raised

    explanation = explain_lane(unit, inputs, lane)
    return _rounded(explanation, unit.out, run, unit.policy, tuple, got, flags)


def _explain_steps(unit: Unit, inputs: Sequence[int], got: int | None, flags: int | None, spell: Spell) -> Explained:
    """The steps of other units, or their fields."""
    if flags is not None:
        raise Error(f"{spell('got_flags')} is for operations and conversions; {unit.properties()['op']} has no flags")
    rows, (answer, *more) = steps(unit, inputs), unit.answer(inputs)
    codes = [f"{x:0{f.digits}x}" for f, own in split(unit.outputs, [answer, *more]) for x in own]
    data: dict[str, Any] = {"bits": codes[0], **({"codes": codes} if more else {}), "steps": dict(rows)}
    width = max(11, *(len(label) for label, _ in rows)) if isinstance(unit, PipelineUnit) else 11
    if got is None:
        return Explained(rows, data, width=width)
    if more:
        raise Error(f"{spell('got')} is for a single result; {unit.properties()['op']} has {1 + len(more)} codes")
    field = unit.results[0]
    if got >> field.width:
        raise Error(f"{spell('got')} {got:x}: {field.name} has {field.width} bits")
    nothing = "no other rule, and no change of two," if has_alternatives(unit) else "another definition"
    text = view_of(unit).answer_text(got, None)
    return Explained(rows, data, alternatives(unit, inputs, (got,)), text, nothing, 11)


def _change_text(change: dict[str, str] | str) -> str:
    """What gives the answer: a block's, or changed fields."""
    text = change if isinstance(change, str) else ", ".join(f"{k} = {v}" for k, v in change.items() if v != "None")
    return f"matches {text}" if text else "agrees"
