"""`explain`: a conversion, or an operation, step by step."""

from __future__ import annotations

import json
from collections.abc import Callable
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
from softfloat_ref.block_formats import VALUE_BITS, BlockFormat, any_format, element_policy, resolve
from softfloat_ref.codec import check_code, check_random, encoder, needed_bits, to_value
from softfloat_ref.errors import Error
from softfloat_ref.explain import (
    MAX_FLAGS,
    Explanation,
    alternatives,
    describe,
    explain_conversion,
    explain_operation,
    flag_text,
)
from softfloat_ref.explain_block import BlockExplanation
from softfloat_ref.formats import Format
from softfloat_ref.literals import parse_code, parse_number
from softfloat_ref.ops import OPERATIONS, evaluator, signature
from softfloat_ref.policies import Policy

MORE_BITS: Final = 16  # of 1/3, say, for defects that look at bits below the guard bit
Run = Callable[[Policy], tuple[int, int]]


@click.command("explain", cls=NumbersCommand)
@click.option("--fmt", required=True, type=ANY, help="Format, or one an operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32.")
@click.option("--out", default=None, help="The result's format.")
@click.option("--got", default=None, metavar="BITS", help="What the device answered instead.")
@click.option("--got-flags", default=None, metavar="HEX", help="The flags it raised.")
@click.option("--json", "as_json", is_flag=True, help="The steps as JSON.")
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
    (`fma --fmt fp16 3c00 0400 8001`), or a block of numbers (`--fmt mxfp8 1 2.5 449`). With --got (of a block:
    SCALE:CODE,CODE,...): which policies or profiles would have given the device's answer."""
    texts = [unmark(w) for w in words]
    name = texts[0].lower().replace("-", "_")
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
        raise Error(f"--profile is for block formats, as mxfp8; {fmt} is a scalar one")
    flags = _flags(got, got_flags)
    if name in OPERATIONS:
        explanation, run, target = _operation(name, texts[1:], fmt, out, choices)
        defects = partial(_defects_of_operation, name, texts[1:], fmt, out, choices)
    else:
        if len(texts) != 1:
            raise Error(f"explain takes one number, or an operation and its operands; {texts[0]!r} is no operation")
        explanation, run, target = _conversion(texts[0], fmt, out, choices)
        defects = partial(_defects_of_conversion, texts[0], target, choices)
    found = None
    if got is not None:
        code = check_code(parse_code(got, "--got"), target)
        found = alternatives(run, choices.policy, code, flags)
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


def _flags(got: str | None, text: str | None) -> int | None:
    """The flags that the device raised. Raises Error."""
    if text is None:
        return None
    if got is None:
        raise Error("--got-flags goes with --got: give the bits that the device answered too")
    flags = parse_code(text, "--got-flags")
    if flags > MAX_FLAGS:
        raise Error(f"--got-flags {text.strip()[:40]}: flags are at most {MAX_FLAGS:x}")
    return flags


def _defects_of_operation(
    name: str, operands: list[str], fmt: str, out: str | None, choices: Choices, code: int, flags: int | None
) -> list[str]:
    """The listed defects that give the answer."""
    from softfloat_ref.diagnosis.operation_models import Scalar
    from softfloat_ref.diagnosis.scalar import scalar_defects

    sig = signature(OPERATIONS[name], operand_formats(fmt, OPERATIONS[name].arity, name), out)
    inputs = [*(parse_code(x) for x in operands), choices.one_word() or 0]
    answers = ((h.name, h.model(inputs)) for h in scalar_defects(Scalar(sig, choices.policy)))
    return [n for n, x in answers if x is not None and x[0] == code and flags in (None, x[1])]


def _defects_of_conversion(text: str, fmt: Format, choices: Choices, code: int, flags: int | None) -> list[str]:
    """The same, of a number's conversion."""
    from softfloat_ref.diagnosis.stages import stage_defects

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
            print(f"{'':10} {'as by ' + text if found else text}")


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
        text = ", ".join(f"{k} = {v}" for k, v in change.items() if v != "None")
        print(f"{'':10} {'as by ' + text if text else 'agrees'}")


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
