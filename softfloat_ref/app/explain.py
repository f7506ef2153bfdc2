"""`explain`: a conversion, or an operation, step by step."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import click

from softfloat_ref.app.options import (
    ANY,
    Choices,
    NumbersCommand,
    operand_formats,
    policy_options,
    profile_option,
    scalar_format,
    unmark,
)
from softfloat_ref.app.requests import (
    case_codes,
    case_options,
    random_codes,
    refuse_dots,
    request,
    vector_unit,
)
from softfloat_ref.base.errors import Error
from softfloat_ref.explain import approximation  # noqa: F401  (its steps enter the table)
from softfloat_ref.explain.block import BlockExplanation
from softfloat_ref.explain.scalar import (
    MAX_FLAGS,
    Explanation,
    Tried,
    describe,
    explain_conversion,
    explain_operation,
    flag_text,
)
from softfloat_ref.explain.steps import alternatives, has_alternatives, has_steps, steps
from softfloat_ref.explain.vector import explain_lane
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.blocks.quantize import VALUE_BITS, element_policy, resolve
from softfloat_ref.oracle.codec import check_code, check_random, encoder, needed_bits, to_value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import parse_code, parse_number
from softfloat_ref.oracle.operations import OPERATIONS, evaluator
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.vector_functions import VECTOR_FUNCTIONS
from softfloat_ref.testing import affine, block_operation  # noqa: F401  (their views and steps enter the tables)
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import REQUESTS, OperationUnit, Unit, is_definition
from softfloat_ref.units.unit import split

MORE_BITS: Final = 16  # extra bits of a number such as 1/3, for defects that depend on bits below the guard bit


class Asked(NamedTuple):
    """What is explained. run: the result under a policy; defects: the results of the listed defects, by name."""

    explanation: Explanation
    run: Callable[[Policy], tuple[int, int]]
    target: Format
    defects: Callable[[], Iterable[tuple[str, Sequence[int] | None]]]


@click.command("explain", cls=NumbersCommand)
@click.option("--fmt", type=ANY, help="Format, or one per operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32.")
@click.option("--out", metavar="FORMAT", help="Format of the result [that of the operands].")
@click.option("--got", metavar="BITS", help="What the device answered instead.")
@click.option("--got-flags", metavar="HEX", help="The flags it raised.")
@click.option("--json", "as_json", is_flag=True, help="Print the steps as JSON.")
@click.option("--lane", type=click.IntRange(min=0), help="softmax, norms, attention: the lane to explain [0].")
@click.argument("words", nargs=-1, required=True)
@profile_option
@case_options
@policy_options
def command(
    choices: Choices,
    dots: dict[str, Any],
    fmt: str | None,
    out: str | None,
    got: str | None,
    got_flags: str | None,
    as_json: bool,
    lane: int | None,
    words: tuple[str, ...],
    profile: str | None,
) -> None:
    """Explain WORDS: a number to convert (`--fmt fp8_e4m3 0.3`), an operation and its operands' codes
    (`fma --fmt fp16 3c00 0400 8001`), an approximation (`tanh.toml 3f80`), an affine integer
    (`quantize --fmt qint8 3fc00000 3c000000 05`), an operation on blocks (`BlockAdd ...`), a lane of a function of
    vectors (`softmax --fmt bf16 --lane 1 3f80 4000`), or a block of numbers (`--fmt mxfp8 1 2.5 449`). With --got (a
    block: SCALE:CODE,CODE,...), also list the policies, profiles or rules that give the device's answer."""
    choices.check_seed()
    texts = [unmark(w) for w in words]
    if is_definition(texts[0]):
        if lane is not None or got_flags is not None:
            raise Error("--lane and --got-flags are for other units: an approximation has one result, and no flags")
        unit = request(texts[0], fmt, out, choices, profile, dots, count=1).unit
        _explain_unit(unit, texts[1:], choices, got, as_json)
        return
    if fmt is None:
        raise Error("explain needs --fmt FORMAT")
    name = own_name(texts[0])
    refuse_dots(name, dots, name)
    if lane is not None and name not in VECTOR_FUNCTIONS:
        raise Error(f"--lane is for functions of vectors, such as softmax, not for {name}")
    if name in REQUESTS and name not in VECTOR_FUNCTIONS:
        if got_flags is not None:
            raise Error("--got-flags is for operations and conversions")
        unit = request(name, fmt, out, dataclasses.replace(choices, random_bits=None), profile, dots, count=1).unit
        _explain_unit(unit, texts[1:], choices, got, as_json)
        return
    block = None if name in VECTOR_FUNCTIONS else _block_format(fmt)
    if block is not None:
        if name in OPERATIONS:
            raise Error(
                f"{name}: operations take scalar formats, and {block.name} is a block format; give its element "
                f"{block.element.name}, or numbers alone, to see how they become a block"
            )
        _explain_block(_block(texts, block, out, choices, profile), got, got_flags, as_json)
        return
    if profile is not None:
        raise Error(f"--profile is for block formats, such as mxfp8; {fmt} is a scalar format")
    flags = _flags(got, got_flags)
    if name in VECTOR_FUNCTIONS:
        asked = _lane(name, texts[1:], fmt, out, choices, dots, lane or 0)
    elif name in OPERATIONS:
        asked = _operation(name, texts[1:], fmt, out, choices)
    elif len(texts) != 1:
        raise Error(f"explain takes one number, or an operation and its operands; {texts[0]!r} is not an operation")
    else:
        asked = _conversion(texts[0], fmt, out, choices)
    target, found, answer = asked.target, None, ""
    if got is not None:
        code = check_code(parse_code(got, "--got"), target)
        found = Tried(asked.run, choices.policy).matching(code, flags) or [
            {"defect": n} for n, x in asked.defects() if x is not None and x[0] == code and flags in (None, x[1])
        ]
        answer = describe(code, target) + ("" if flags is None else f", flags {flag_text(flags)}")
    shown = asked.explanation
    document = {"bits": target.hex(shown.bits), "flags": f"{shown.flags:02x}", "steps": dict(shown.rows)}
    _print(document, shown.rows, answer, found, "no change of one or two policy fields, and no listed defect,", as_json)


def _print(
    document: dict[str, Any],
    rows: Sequence[tuple[str, str]],
    answer: str,
    found: Sequence[Any] | None,
    nothing: str,
    as_json: bool,
    width: int = 10,
) -> None:
    """Print the steps, and what gives the device's answer, if there is one. nothing: what does not give it."""
    if as_json:
        print(json.dumps({**document, **({} if found is None else {"got": found})}, indent=1))
        return
    if found is not None:
        more = [_change_text(x) for x in found] or [f"{nothing} gives this answer"]
        rows = [*rows, ("got", answer), *(("", x) for x in more)]
    for label, text in rows:
        print(f"{label:{width}} {text}".rstrip())


def _explain_unit(unit: Unit, texts: list[str], choices: Choices, got: str | None, as_json: bool) -> None:
    """The steps of a unit that has steps of its own."""
    if not has_steps(unit):
        raise Error(
            f"explain {unit.properties()['op']} has no steps; for blocks, give the numbers alone (--fmt mxfp8 1 2.5); "
            "for dot products, use softfloat-ref dot --trace"
        )
    inputs = [*case_codes(unit, texts), *random_codes(unit, choices)]
    rows, (answer, *more) = steps(unit, inputs), unit.answer(inputs)
    field, found, code = unit.results[0], None, 0
    if got is not None:
        if more:
            raise Error(f"--got is for a single result; {unit.properties()['op']} has {1 + len(more)} codes")
        code = parse_code(got, "--got")
        if code >> field.width:
            raise Error(f"--got {got}: {field.name} has {field.width} bits")
        found = alternatives(unit, inputs, (code,))
    codes = [f"{x:0{f.digits}x}" for f, own in split(unit.results, [answer, *more]) for x in own]
    document = {"bits": codes[0], **({"codes": codes} if more else {}), "steps": dict(rows)}
    said = "" if found is None else view_of(unit).answer_text(code, None)
    nothing = "no other rule, and no change of two," if has_alternatives(unit) else "another definition"
    _print(document, rows, said, found, nothing, as_json, 11)


def _flags(got: str | None, text: str | None) -> int | None:
    """The flags that the device raised. Raises Error."""
    if text is None:
        return None
    if got is None:
        raise Error("--got-flags needs --got: give the bits that the device answered too")
    flags = parse_code(text, "--got-flags")
    if flags > MAX_FLAGS:
        raise Error(f"--got-flags {text.strip()[:40]}: flags are at most {MAX_FLAGS:x}")
    return flags


def _block_format(fmt: str) -> BlockFormat | None:
    found = None if "=" in fmt else any_format(fmt)
    return found if isinstance(found, BlockFormat) else None


def _block(
    texts: list[str], fmt: BlockFormat, out: str | None, choices: Choices, profile: str | None
) -> BlockExplanation:
    if out is not None:
        raise Error("--out is for operations; a block is quantized to --fmt")
    fmt, rule = resolve(fmt, profile)
    policy = element_policy(choices.for_blocks(fmt, profile).policy, rule)
    if 0 < fmt.size < len(texts):
        raise Error(f"a block of {fmt.name} has at most {fmt.size} values, not {len(texts)}")
    words = choices.words(len(texts))
    if words is None:
        check_random(policy, None)
    for word in words or ():
        check_random(policy, word)
    values = tuple(to_value(parse_number(t), VALUE_BITS) for t in texts)
    return BlockExplanation(values, fmt, rule, policy, None if words is None else tuple(words))


def _explain_block(block: BlockExplanation, got: str | None, got_flags: str | None, as_json: bool) -> None:
    found = None
    if got_flags is not None:
        raise Error("--got-flags is for operations and conversions; a block has no flags")
    if got is not None:
        found = block.alternatives(*_got_block(got, block))
    nothing = "no named profile, and no change of one or two fields,"
    _print(block.to_dict(), list(block.rows()), got or "", found, nothing, as_json)


def _got_block(text: str, block: BlockExplanation) -> tuple[int, list[int]]:
    """`80: 7e 30` or `80:7e,30`, as `quantize --as hex` prints a block."""
    scale, separator, codes = text.partition(":")
    words = codes.replace(",", " ").split()
    if not separator or len(words) != len(block.values):
        raise Error(f"--got {text!r}: give SCALE:CODE,CODE,... with {len(block.values)} codes")
    element = block.fmt.element
    return (
        check_code(parse_code(scale, "--got"), block.fmt.scale),
        [check_code(parse_code(w, "--got"), element) for w in words],
    )


def _change_text(change: dict[str, str] | str) -> str:
    """What gives the answer: a block's, or changed fields."""
    text = change if isinstance(change, str) else ", ".join(f"{k} = {v}" for k, v in change.items() if v != "None")
    return f"matches {text}" if text else "agrees"


def _operation(name: str, operands: list[str], fmt: str, out: str | None, choices: Choices) -> Asked:
    unit = OperationUnit.make(name, operand_formats(fmt, OPERATIONS[name].arity, name), out, choices.policy)
    sig, codes, word = unit.signature, case_codes(unit, operands), choices.one_word()

    def run(policy: Policy) -> tuple[int, int]:
        return evaluator(sig, policy)(codes, (word or 0) if policy.random_count else 0)

    def defects() -> Iterable[tuple[str, Sequence[int] | None]]:
        from softfloat_ref.diagnosis.operation_defects import scalar_defects
        from softfloat_ref.diagnosis.operation_models import Scalar

        return ((h.name, h.model((*codes, word or 0))) for h in scalar_defects(Scalar(sig, choices.policy)))

    return Asked(explain_operation(sig, codes, choices.policy, word), run, sig.out, defects)


def _lane(
    name: str, texts: list[str], fmt: str, out: str | None, choices: Choices, dots: dict[str, Any], lane: int
) -> Asked:
    """A lane of a function of vectors; flags are the lane's own."""
    unit = vector_unit(name, fmt, out, choices, dots, len(texts))
    codes = [*case_codes(unit, texts), *random_codes(unit, choices)]
    word = codes[unit.operand_width + lane] if lane < unit.length < len(codes) - unit.operand_width + 1 else 0

    def run(policy: Policy) -> tuple[int, int]:
        near = dataclasses.replace(unit, policy=policy)
        bits, flags = near.rounded(near.unrounded(codes[: unit.operand_width])[lane : lane + 1], [word])
        return bits, flags

    return Asked(explain_lane(unit, codes, lane), run, unit.out, tuple)


def _conversion(text: str, fmt: str, out: str | None, choices: Choices) -> Asked:
    if out is not None:
        raise Error("--out is for operations; a number is converted to --fmt")
    target = scalar_format(fmt)
    number = parse_number(text)
    word = choices.one_word()

    def run(policy: Policy) -> tuple[int, int]:
        value = to_value(number, needed_bits(target, policy))
        return encoder(target, policy)(value, (word or 0) if policy.random_count else 0)

    def defects() -> Iterable[tuple[str, Sequence[int] | None]]:
        from softfloat_ref.diagnosis.rounding_defects import rounding_defects

        value = to_value(number, needed_bits(target, choices.policy) + MORE_BITS)
        coded = ((row.name, row.encoder(target, choices.policy)) for row in rounding_defects())
        return ((name, encode(value, word or 0)) for name, encode in coded if encode is not None)

    return Asked(explain_conversion(number, target, choices.policy, word), run, target, defects)
