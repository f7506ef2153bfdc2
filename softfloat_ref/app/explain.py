"""`explain`: a conversion, or an operation, step by step."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

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
from softfloat_ref.app.requests import request
from softfloat_ref.base.errors import Error
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
from softfloat_ref.explain.steps import alternatives, steps
from softfloat_ref.oracle.blocks.formats import VALUE_BITS, BlockFormat, any_format, element_policy, resolve
from softfloat_ref.oracle.codec import check_code, check_random, encoder, needed_bits, to_value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import parse_code, parse_number
from softfloat_ref.oracle.operations import OPERATIONS, evaluator, signature
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.testing import affine  # noqa: F401  (its view and its steps enter the tables)
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import REQUESTS, Unit

MORE_BITS: Final = 16  # extra bits of a number such as 1/3, for defects that depend on bits below the guard bit
Run = Callable[[Policy], tuple[int, int]]


@click.command("explain", cls=NumbersCommand)
@click.option("--fmt", required=True, type=ANY, help="Format, or one per operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32.")
@click.option("--out", default=None, help="The format of the result.")
@click.option("--got", default=None, metavar="BITS", help="What the device answered instead.")
@click.option("--got-flags", default=None, metavar="HEX", help="The flags it raised.")
@click.option("--json", "as_json", is_flag=True, help="Print the steps as JSON.")
@click.argument("words", nargs=-1, required=True)
@profile_option
@policy_options
def command(
    choices: Choices,
    seed: int | None,
    fmt: str,
    out: str | None,
    got: str | None,
    got_flags: str | None,
    as_json: bool,
    words: tuple[str, ...],
    profile: str | None,
) -> None:
    """Explain WORDS: a number to convert (`--fmt fp8_e4m3 0.3`), an operation and its operands' codes
    (`fma --fmt fp16 3c00 0400 8001`), an affine integer (`quantize --fmt qint8 3fc00000 3c000000 05`), or a block of
    numbers (`--fmt mxfp8 1 2.5 449`). With --got (a block: SCALE:CODE,CODE,...), also list the policies, profiles or
    rules that give the device's answer."""
    texts = [unmark(w) for w in words]
    name = texts[0].lower().replace("-", "_")
    if name in REQUESTS:
        if got_flags is not None:
            raise Error("--got-flags is for operations and conversions")
        _explain_unit(name, texts[1:], fmt, out, choices, profile, got, as_json)
        return
    block = _block_format(fmt)
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
    if name in OPERATIONS:
        explanation, run, target = _operation(name, texts[1:], fmt, out, choices)
        defects = partial(_defects_of_operation, name, texts[1:], fmt, out, choices)
    else:
        if len(texts) != 1:
            raise Error(f"explain takes one number, or an operation and its operands; {texts[0]!r} is not an operation")
        explanation, run, target = _conversion(texts[0], fmt, out, choices)
        defects = partial(_defects_of_conversion, texts[0], target, choices)
    found = None
    if got is not None:
        code = check_code(parse_code(got, "--got"), target)
        found = Tried(run, choices.policy).matching(code, flags)
        found = found or [{"defect": x} for x in defects(code, flags)]
    if as_json:
        rows = dict(explanation.rows)
        print(
            json.dumps(
                {
                    "bits": target.hex(explanation.bits),
                    "flags": f"{explanation.flags:02x}",
                    "steps": rows,
                    **({} if found is None else {"got": found}),
                },
                indent=1,
            )
        )
        return
    print("\n".join(f"{label:10} {text}" for label, text in explanation.rows))
    if got is not None and found is not None:
        _print_got(describe(parse_code(got), target), flags, found)


def _explain_unit(
    name: str,
    texts: list[str],
    fmt: str,
    out: str | None,
    choices: Choices,
    profile: str | None,
    got: str | None,
    as_json: bool,
) -> None:
    """The steps of a unit whose fields have one code each."""
    unit = request(name, fmt, out, replace(choices, random_bits=None), profile, count=1).unit
    inputs = _inputs(unit, texts, choices)
    rows, (answer, *_) = steps(unit, inputs), unit.answer(inputs)
    field, found, code = unit.results[0], None, 0
    if got is not None:
        code = parse_code(got, "--got")
        if code >> field.width:
            raise Error(f"--got {got}: {field.name} has {field.width} bits")
        found = alternatives(unit, inputs, (code,))
    if as_json:
        bits = f"{answer:0{field.digits}x}"
        print(json.dumps({"bits": bits, "steps": dict(rows), **({} if found is None else {"got": found})}, indent=1))
        return
    print("\n".join(f"{label:11} {text}" for label, text in rows))
    if found is not None:
        print(f"{'got':11} {view_of(unit).answer_text(code, None)}")
        for text in [_change_text(c) for c in found] or ["no other rule, and no change of two, gives this answer"]:
            print(f"{'':11} {text}")


def _inputs(unit: Unit, texts: list[str], choices: Choices) -> list[int]:
    """The codes of a unit's fields, and its random word. Raises Error for wrong input."""
    if len(unit.result_formats) != 1 or any(f.lanes > 1 for f in unit.inputs):
        op = unit.properties()["op"]
        raise Error(
            f"explain {op} is for fields of one code each; for blocks, give the numbers alone (--fmt mxfp8 1 2.5); "
            "for dot products, use softfloat-ref dot --trace"
        )
    fields = [f for f in unit.inputs if f.role == "operand"]
    if len(texts) != len(fields):
        names = ", ".join(f.name for f in fields)
        raise Error(f"{unit.properties()['op']} takes {len(fields)} codes, {names}, not {len(texts)}")
    codes = [parse_code(x) for x in texts]
    for code, f in zip(codes, fields, strict=True):
        if code >> f.width:
            raise Error(f"{code:x} does not fit {f.name}, of {f.width} bits")
    if unit.random_field is None:
        return codes
    return [*codes, check_random(choices.policy, choices.one_word())]


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


def _defects_of_operation(
    name: str, operands: list[str], fmt: str, out: str | None, choices: Choices, code: int, flags: int | None
) -> list[str]:
    """The listed defects that give the answer."""
    from softfloat_ref.diagnosis.operation_defects import scalar_defects
    from softfloat_ref.diagnosis.operation_models import Scalar

    sig = signature(OPERATIONS[name], operand_formats(fmt, OPERATIONS[name].arity, name), out)
    inputs = [*(parse_code(x) for x in operands), choices.one_word() or 0]
    answers = ((h.name, h.model(inputs)) for h in scalar_defects(Scalar(sig, choices.policy)))
    return [n for n, x in answers if x is not None and x[0] == code and flags in (None, x[1])]


def _defects_of_conversion(text: str, fmt: Format, choices: Choices, code: int, flags: int | None) -> list[str]:
    """The listed defects of a conversion that give the answer."""
    from softfloat_ref.diagnosis.rounding_defects import stage_defects

    r = choices.one_word() or 0
    value = to_value(parse_number(text), needed_bits(fmt, choices.policy) + MORE_BITS)
    stages = ((row.name, row.stage(fmt, choices.policy)) for row in stage_defects())
    answers = ((n, encode(value, r)) for n, encode in stages if encode is not None)
    return [n for n, x in answers if x[0] == code and flags in (None, x[1])]


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
    if as_json:
        print(json.dumps({**block.to_dict(), **({} if found is None else {"got": found})}, indent=1))
        return
    print("\n".join(f"{label:10} {text}".rstrip() for label, text in block.rows()))
    if found is not None:
        print(f"{'got':10} {got}")
        for text in found or ["no named profile, and no change of one or two fields, gives this answer"]:
            print(f"{'':10} {'matches ' + text if found else text}")


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


def _print_got(answer: str, flags: int | None, found: list[dict[str, str]]) -> None:
    shown = answer if flags is None else f"{answer}, flags {flag_text(flags)}"
    print(f"{'got':10} {shown}")
    if not found:
        print(f"{'':10} no change of one or two policy fields, and no listed defect, gives this answer")
    for change in found:
        print(f"{'':10} {_change_text(change)}")


def _change_text(change: dict[str, str]) -> str:
    text = ", ".join(f"{k} = {v}" for k, v in change.items() if v != "None")
    return f"matches {text}" if text else "agrees"


def _operation(
    name: str, operands: list[str], fmt: str, out: str | None, choices: Choices
) -> tuple[Explanation, Run, Format]:
    operation = OPERATIONS[name]
    sig = signature(operation, operand_formats(fmt, operation.arity, name), out)
    if len(operands) != operation.arity:
        raise Error(f"{name} takes {operation.arity} operands, not {len(operands)}")
    codes = [check_code(parse_code(x), f) for x, f in zip(operands, sig.formats, strict=True)]
    word = choices.one_word()

    def run(policy: Policy) -> tuple[int, int]:
        return evaluator(sig, policy)(codes, (word or 0) if policy.random_count else 0)

    return explain_operation(sig, codes, choices.policy, word), run, sig.out


def _conversion(text: str, fmt: str, out: str | None, choices: Choices) -> tuple[Explanation, Run, Format]:
    if out is not None:
        raise Error("--out is for operations; a number is converted to --fmt")
    target = scalar_format(fmt)
    number = parse_number(text)
    word = choices.one_word()

    def run(policy: Policy) -> tuple[int, int]:
        value = to_value(number, needed_bits(target, policy))
        return encoder(target, policy)(value, (word or 0) if policy.random_count else 0)

    return explain_conversion(number, target, choices.policy, word), run, target
