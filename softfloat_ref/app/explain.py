"""`explain`: a conversion, or an operation, step by step."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from softfloat_ref.app.options import (
    ANY,
    Choices,
    NumbersCommand,
    operand_formats,
    policy_options,
    scalar_format,
    unmark,
)
from softfloat_ref.codec import check_code, encoder, needed_bits, to_value
from softfloat_ref.errors import Error
from softfloat_ref.explain import Explanation, alternatives, describe, explain_conversion, explain_operation, flag_text
from softfloat_ref.formats import Format
from softfloat_ref.literals import parse_code, parse_number
from softfloat_ref.ops import OPERATIONS, evaluator, signature
from softfloat_ref.policies import Policy

Run = Callable[[Policy], tuple[int, int]]


@click.command("explain", cls=NumbersCommand)
@click.option("--fmt", required=True, type=ANY, help="Format, or one an operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32.")
@click.option("--out", default=None, help="The result's format.")
@click.option("--got", default=None, metavar="BITS", help="What the device answered instead.")
@click.option("--got-flags", default=None, metavar="HEX", help="The flags it raised.")
@click.option("--json", "as_json", is_flag=True, help="The steps as JSON.")
@click.argument("words", nargs=-1, required=True)
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
) -> None:
    """Explain WORDS: a number to convert (`--fmt fp8_e4m3 0.3`), or an operation and its operands' codes
    (`fma --fmt fp16 3c00 0400 8001`). With --got: which policies would have given the device's answer."""
    texts = [unmark(w) for w in words]
    name = texts[0].lower().replace("-", "_")
    if name in OPERATIONS:
        explanation, run, target = _operation(name, texts[1:], fmt, out, choices)
    else:
        if len(texts) != 1:
            raise Error(f"explain takes one number, or an operation and its operands; {texts[0]!r} is no operation")
        explanation, run, target = _conversion(texts[0], fmt, out, choices)
    found = None
    if got is not None:
        code = check_code(parse_code(got, "--got"), target)
        flags = None if got_flags is None else parse_code(got_flags, "--got-flags")
        found = alternatives(run, choices.policy, code, flags)
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
        _print_got(describe(parse_code(got), target), got_flags, found)


def _print_got(answer: str, flags: str | None, found: list[dict[str, str]]) -> None:
    shown = answer if flags is None else f"{answer}, flags {flag_text(int(flags, 16))}"
    print(f"{'got':10} {shown}")
    if not found:
        print(f"{'':10} no change of one or two policy fields gives this answer")
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
