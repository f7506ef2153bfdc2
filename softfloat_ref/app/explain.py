"""`explain`: a conversion, a block, or a case of any unit, step by step."""

from __future__ import annotations

import json
from fractions import Fraction

import click

from softfloat_ref.app.options import NumbersCommand, option_name, printed_option, scalar_format, unmark
from softfloat_ref.app.requests import UnitRequest, request_options
from softfloat_ref.base.errors import Error
from softfloat_ref.explanation.block import BlockExplanation
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.blocks.tensor_scales import VALUE_BITS
from softfloat_ref.oracle.codec import to_value
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import parse_code
from softfloat_ref.oracle.printed import read_number
from softfloat_ref.workflow.explain import Explained, block_of, explain_block, explain_case, explain_number
from softfloat_ref.workflow.units import is_name_of_recipe, is_operation


@click.command("explain", cls=NumbersCommand)
@click.option("--got", metavar="BITS", help="What the device answered instead.")
@click.option("--got-flags", metavar="HEX", help="The flags it raised.")
@click.option("--json", "as_json", is_flag=True, help="Print the steps as JSON.")
@click.option("--lane", type=click.IntRange(min=0), help="softmax, norms, attention: the lane to explain [0].")
@click.argument("words", nargs=-1, required=True)
@printed_option
@request_options
def command(
    request: UnitRequest,
    got: str | None,
    got_flags: str | None,
    as_json: bool,
    lane: int | None,
    words: tuple[str, ...],
    printed_from: str | None,
) -> None:
    """Explain WORDS: a number to convert (`--fmt fp8_e4m3 0.3`), a block of numbers (`--fmt mxfp8 1 2.5 449`), or an
    operation and the codes of its operands (`fma --fmt fp16 3c00 0400 8001`): of any unit that `eval` takes, such as an
    approximation (`tanh.toml 3f80`), an affine integer (`quantize --fmt qint8 3fc00000 3c000000 05`), a dot product, an
    operation on blocks (`BlockAdd ...`), or a lane of a function of vectors (`softmax --fmt bf16 --lane 1 3f80 4000`).
    With --got (a block: SCALE:CODE,CODE,...), also list the policies, profiles or rules that give the device's
    answer."""
    first, *rest = (unmark(w) for w in words)
    flags = None if got_flags is None else parse_code(got_flags, "--got-flags")
    printed = None if printed_from is None else scalar_format(printed_from)
    if is_operation(first) or is_name_of_recipe(first):
        if printed is not None:
            raise Error(f"--printed-from is for numbers; {first} takes codes")
        unit, inputs = request.case(first, rest)
        code = None if got is None else parse_code(got, "--got")
        explained = explain_case(unit, inputs, lane, code, flags, option_name)
    elif lane is not None:
        raise Error(f"--lane is for functions of vectors, such as softmax, not for {first}")
    else:
        explained = _of_numbers(request, [first, *rest], got, flags, printed)
    print(json.dumps(explained.to_dict(), indent=1) if as_json else "\n".join(explained.lines()))


def _of_numbers(
    request: UnitRequest, texts: list[str], got: str | None, flags: int | None, printed: Format | None
) -> Explained:
    """The explanation of a conversion or of a block. Raises Error."""
    if request.fmt is None:
        raise Error("explain needs --fmt FORMAT")
    profile = request.options.get("profile")
    for name in (x for x in request.options if x != "profile"):
        raise Error(f"{option_name(name)} is for operations, not for a number")
    if request.out is not None:
        raise Error("--out is for operations; a number is converted to --fmt")
    fmt = None if "=" in request.fmt else any_format(request.fmt)
    if isinstance(fmt, BlockFormat):
        block = _block(request, [read_number(t, "", printed) for t in texts], fmt, profile)
        return explain_block(block, None if got is None else _got_block(got, block), flags, option_name)
    if profile is not None:
        raise Error(f"--profile is for block formats, such as mxfp8; {request.fmt} is a scalar format")
    if len(texts) != 1:
        raise Error(f"explain takes one number, or an operation and its operands; {texts[0]!r} is not an operation")
    target, choices = scalar_format(request.fmt), request.choices
    choices.check_seed()
    code = None if got is None else parse_code(got, "--got")
    number = read_number(texts[0], "", printed)
    return explain_number(number, target, choices.policy, choices.one_word(), code, flags, option_name)


def _block(
    request: UnitRequest, numbers: list[Fraction | Value], fmt: BlockFormat, profile: str | None
) -> BlockExplanation:
    choices = request.choices.of(fmt, profile)
    choices.check_seed()
    values = [to_value(x, VALUE_BITS) for x in numbers]
    return block_of(values, fmt, choices.words(len(numbers)), profile, choices.typed_policy)


def _got_block(text: str, block: BlockExplanation) -> tuple[int, list[int]]:
    """`80: 7e 30` or `80:7e,30`, as `quantize --as hex` prints a block."""
    scale, separator, codes = text.partition(":")
    words = codes.replace(",", " ").split()
    if not separator or len(words) != len(block.values):
        raise Error(f"--got {text!r}: give SCALE:CODE,CODE,... with {len(block.values)} codes")
    return parse_code(scale, "--got"), [parse_code(w, "--got") for w in words]
