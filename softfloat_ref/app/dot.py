"""`dot`: dot products as matrix units compute them; traces, comparisons, probes, captures."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import click

from softfloat_ref.app.options import ANY, NameType, NumbersCommand, printed_option, scalar_format, unmark
from softfloat_ref.app.output import print_table
from softfloat_ref.arrays.captures import Capture, capture_of, code_rows, replay
from softfloat_ref.base.errors import Error, counted, one_line
from softfloat_ref.base.search import find_first
from softfloat_ref.oracle.accumulate import (
    ACCUMULATORS,
    Accumulator,
    default_accumulator,
    get_accumulator,
    parse_operand_formats,
)
from softfloat_ref.oracle.accumulate.dots import Operand, check_c, operand, run, setting
from softfloat_ref.oracle.accumulate.model import summary
from softfloat_ref.oracle.accumulate.probes import COLUMNS, PROBES, answer
from softfloat_ref.oracle.accumulate.trace import Trace, losses, number_text, trace, trace_dict, trace_text
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.blocks.tensor_scales import VALUE_BITS
from softfloat_ref.oracle.codec import check_code, decoder, encode, to_value
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.literals import parse_code, parse_number
from softfloat_ref.oracle.printed import read_number

_SHOWN_MISMATCHES: Final = 10
_ACC: Final = NameType("NAME", ACCUMULATORS)
_TENSOR_SCALES: Final = ("tensor_scale_a", "tensor_scale_b")
_PRODUCT_OPTIONS: Final = (
    "fmt",
    "acc",
    "out",
    "c",
    "scales_a",
    "scales_b",
    *_TENSOR_SCALES,
    "values",
    "printed_from",
    "extrapolate",
)
# The modes that do something other than one product, and the options allowed with each, besides --json.
_MODES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "traced": ("--trace", _PRODUCT_OPTIONS),
    "compare": ("--compare", _PRODUCT_OPTIONS),
    "listed": ("--list", ()),
    "show": ("--show", ()),
    "probes": ("--probes", ()),
    "replayed": ("--replay", ("acc", "fmt", "out", "c", "extrapolate")),
}
_JSON_MODES: Final = ("traced", "listed", "show")
_OPTION_NAMES: Final = {"source": "-i"}


@click.command("dot", cls=NumbersCommand)
@click.option("--fmt", type=ANY, metavar="FORMAT", help="Format of A and B, or a=..,b=..[,c=..]; block formats too.")
@click.option(
    "--acc",
    type=_ACC,
    metavar="NAME",
    help="Accumulator: a name, an expression or FILE.toml [blocks: mx-fp32; else fp32-sequential].",
)
@click.option("--out", metavar="FORMAT", help="Format of the result and of c [fp32].")
@click.option("--c", "c", metavar="CODE", help="The addend c, as a code [0].")
@click.option("--scales-a", metavar="CODES", help="With a block format: A's scales, one per block.")
@click.option("--scales-b", metavar="CODES", help="With a block format: B's scales, one per block.")
@click.option("--tensor-scale-a", metavar="NUMBER", help="With NVFP4: A's second-level scale, an FP32 number.")
@click.option("--tensor-scale-b", metavar="NUMBER", help="With NVFP4: B's second-level scale.")
@click.option("-i", "source", metavar="FILE.npz", help="Codes a, b [n, K]; c [n], scales_a, scales_b [n, blocks].")
@click.option("--values", is_flag=True, help="A, B and c are numbers, rounded to their formats (rne), not codes.")
@printed_option
@click.option("--extrapolate", is_flag=True, help="Apply a unit's model to formats that the unit does not support.")
@click.option("--trace", "traced", is_flag=True, help="Show each stage.")
@click.option(
    "--compare", is_flag=True, help="Run every accumulator that takes these formats; show which differ, and why."
)
@click.option("--json", "as_json", is_flag=True, help="With --trace, --list, --show: print JSON.")
@click.option("--list", "listed", is_flag=True, help="List the named accumulators.")
@click.option("--show", type=_ACC, metavar="NAME", help="Show an accumulator's definition.")
@click.option("--probes", is_flag=True, help="Print the probes that tell accumulators apart; NAME... selects columns.")
@click.option("--replay", "replayed", is_flag=True, help="Replay captures of hardware: FILE.npz...")
@click.argument("operands", nargs=-1, metavar="[A B]")
def command(operands: tuple[str, ...], **options: Any) -> int | None:
    """Compute the dot product of A and B: result and flags.

    A and B are lists of codes (--values: of numbers), with commas or spaces: 3c00,4000 3c00,3c00. With -i, print one
    result for each row of the file's arrays.
    """
    operands = tuple(map(unmark, operands))
    modes = [m for m in _MODES if options[m]]
    if len(modes) > 1:
        raise Error("give only one of --trace, --compare, --list, --show, --probes and --replay")
    mode = modes[0] if modes else ""
    if modes:
        _refuse_others(mode, operands, options)
    if options["as_json"] and mode not in _JSON_MODES:
        raise Error("--json goes with --trace, --list or --show")
    match mode:
        case "listed":
            _list(options["as_json"])
        case "show":
            _show(get_accumulator(options["show"]), options["as_json"])
        case "probes":
            _probes(operands or COLUMNS)
        case "replayed":
            return _replay(operands, options)
        case "compare":
            _compare(*_operands(operands, options), options)
        case "" if options["source"] is not None:
            _rows(operands, options)
        case _:
            _one(*_operands(operands, options), options)
    return None


def _refuse_others(mode: str, operands: tuple[str, ...], options: dict[str, Any]) -> None:
    """Raises Error for options that the mode does not use."""
    name, takes = _MODES[mode]
    if operands and mode in ("listed", "show"):
        raise Error(f"{name} takes no operands; leave {operands[0][:40]!r} out")
    for option, value in options.items():
        if option not in (mode, "as_json", *takes) and value not in (None, False):
            raise Error(f"{name} takes no {_OPTION_NAMES.get(option, '--' + option.replace('_', '-'))}; leave it out")


# -- operands ----------------------------------------------------------------------------------------------------------


def _operands(operands: tuple[str, ...], options: dict[str, Any]) -> tuple[Operand, Operand, Format, Format, int]:
    """A and B, the formats of c and the result, and c's code."""
    if len(operands) != 2 or options["fmt"] is None:
        raise Error("dot needs --fmt FORMAT and two lists of codes, for example: dot --fmt fp16 3c00,4000 3c00,3c00")
    fmts, c_format, out = _formats(options)
    if options["printed_from"] is not None and not options["values"]:
        raise Error("--printed-from goes with --values: A, B and c are codes without it")
    a, b = (
        operand(
            _codes(text, any_format(fmt), options, name),
            fmt,
            _scales(options[f"scales_{name}"], name),
            name,
            _tensor_scale(options, name),
        )
        for text, fmt, name in zip(operands, fmts, "ab", strict=True)
    )
    c = 0 if options["c"] is None else _code(options["c"], c_format, options, "c")
    return a, b, c_format, out, check_code(c, c_format)


def _formats(options: dict[str, Any]) -> tuple[tuple[str, str], Format, Format]:
    a, b, c = parse_operand_formats(options["fmt"])
    out = scalar_format(options["out"] or "fp32")
    return (str(a), str(b)), out if c is None else scalar_format(str(c)), out


def _codes(text: str, fmt: Format | BlockFormat, options: dict[str, Any], name: str) -> list[int]:
    if options["values"] and isinstance(fmt, BlockFormat):
        raise Error(f"{name}: --values takes scalar formats; quantize to {fmt.name} first, and give codes and scales")
    element = fmt.element if isinstance(fmt, BlockFormat) else fmt
    return [_code(word, element, options, f"{name}[{i}]") for i, word in enumerate(_words(text))]


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _code(text: str, fmt: Format, options: dict[str, Any], where: str) -> int:
    if not options["values"]:
        return parse_code(text, where)
    printed_from = options["printed_from"]
    number = read_number(text, where, None if printed_from is None else scalar_format(printed_from))
    return encode(number, fmt).bits


def _scales(text: str | None, name: str) -> list[int] | None:
    if text is None:
        return None
    return [parse_code(word, f"--scales-{name}") for word in _words(text)]


def _tensor_scale(options: dict[str, Any], name: str) -> Any:
    text = options[f"tensor_scale_{name}"]
    return None if text is None else to_value(parse_number(text, f"--tensor-scale-{name}"), VALUE_BITS)


# -- one accumulator ---------------------------------------------------------------------------------------------------


def _one(a: Operand, b: Operand, c_format: Format, out: Format, c: int, options: dict[str, Any]) -> None:
    acc = get_accumulator(options["acc"] or default_accumulator(a, b))
    s = setting(a, b, acc, out, c_format, extrapolate=options["extrapolate"])
    check_c(s, c)
    if not options["traced"]:
        bits, flags = run(s, a, b, c)
        print(f"{out.hex(bits)} {flags:02x}")
    elif options["as_json"]:
        print(json.dumps(trace_dict(trace(s, a, b, c)), indent=1))
    else:
        print("\n".join(trace_text(trace(s, a, b, c))))


def _rows(operands: tuple[str, ...], options: dict[str, Any]) -> None:
    """Print one line for each row of a file."""
    path = options["source"]
    clash = operands or options["values"] or any(options[x] is not None for x in ("c", "scales_a", "scales_b"))
    if clash or options["fmt"] is None:
        raise Error("-i FILE.npz needs --fmt; a, b, c and the scales come from the file, so leave them out")
    fmts, c_format, out = _formats(options)
    for row, arrays in enumerate(code_rows(path)):
        where = f"{path}: row {row}: "
        a, b = (
            operand(arrays[name], fmt, arrays.get(f"scales_{name}"), where + name, _tensor_scale(options, name))
            for name, fmt in zip("ab", fmts, strict=True)
        )
        _one(a, b, c_format, out, check_code(arrays["c"], c_format), options)


# -- all of them -------------------------------------------------------------------------------------------------------


def _compare(a: Operand, b: Operand, c_format: Format, out: Format, c: int, options: dict[str, Any]) -> None:
    """Print one line per accumulator; the others are measured against `exact`."""
    traces, left_out = [], []
    names = [get_accumulator(options["acc"])] if options["acc"] else []
    for acc in dict.fromkeys([*names, *ACCUMULATORS.values()]):
        try:
            s = setting(a, b, acc, out, c_format, extrapolate=options["extrapolate"])
            traces.append(trace(s, a, b, check_c(s, c)))
        except Error:
            if acc in names:
                raise
            left_out.append(acc.name)
    reference = find_first(t for t in traces if t.setting.accumulator.name == "exact")
    width = max(len(t.setting.accumulator.name) for t in traces)
    for t in traces:
        name, code = t.setting.accumulator.name, out.hex(t.bits)
        print(f"{name:{width}}  {code}  {_distance(t, reference):12}  {losses(t)}")
    differing = sum(t.bits != reference.bits for t in traces)
    results = len({t.bits for t in traces})
    print(f"{len(traces)} accumulators, {results} results, {differing} differ from exact", file=sys.stderr)
    if left_out:
        print(f"left out, since they take other formats: {' '.join(left_out)}", file=sys.stderr)


def _distance(t: Trace, reference: Trace) -> str:
    """How far a result is from the exact one, in codes."""
    if t.bits == reference.bits:
        return "exact"
    out = t.setting.out
    codes = (t.bits, reference.bits)
    values = [decoder(out)(code) for code in codes]
    if not all(v.is_finite for v in values) or out.twos_complement:
        return number_text(values[0])
    place, exact = ((-1 if v.sign else 1) * (code & out.magnitude_mask) for v, code in zip(values, codes, strict=True))
    return f"{place - exact:+d} ulp"


# -- tables ------------------------------------------------------------------------------------------------------------


def _list(as_json: bool) -> None:
    if as_json:
        print(json.dumps([a.to_dict() for a in ACCUMULATORS.values()], indent=1))
        return
    rows = [("accumulator", "products per step", "F", "result", "status", "source")]
    print_table(rows + [(a.name, *summary(a), a.status, a.source) for a in ACCUMULATORS.values()])


def _show(a: Accumulator, as_json: bool) -> None:
    if as_json:
        print(json.dumps(a.to_dict(), indent=1))
        return
    for field, value in a.to_dict().items():
        if value != "":
            print(f"{field:17} {str(value).lower() if isinstance(value, bool) else one_line(value)}")


def _probes(names: tuple[str, ...]) -> None:
    units = [get_accumulator(name) for name in names]
    rows = [["probe", "shows", *(u.name for u in units)]]
    print_table(rows + [[p.name, p.shows, *(answer(p, u) for u in units)] for p in PROBES])


# -- captures ----------------------------------------------------------------------------------------------------------


def _replay(files: tuple[str, ...], options: dict[str, Any]) -> int:
    """Print one line per file; the exit code is 1 if any row differs."""
    if not files:
        raise Error("--replay needs capture files, such as A100_bf16_fp32.npz")
    total = wrong = 0
    for path in files:
        capture = _capture(path, options)
        acc = get_accumulator(capture.accumulator)
        count, mismatches = replay(
            path, acc, capture.fmt, capture.out, use_c=capture.use_c, extrapolate=options["extrapolate"]
        )
        out = get_format(capture.out)
        print(f"{path}: {acc.name}: {count - len(mismatches)} of {count} agree")
        for m in mismatches[:_SHOWN_MISMATCHES]:
            print(f"  row {m.row}: model {out.hex(m.got)}, hardware {out.hex(m.hardware)}")
        total, wrong = total + count, wrong + len(mismatches)
    print(f"{counted(total, 'result')}, {wrong} mismatches", file=sys.stderr)
    return int(wrong > 0)


def _capture(path: str, options: dict[str, Any]) -> Capture:
    """The capture in a file, described by the options or else by its name."""
    from_name = capture_of(path)
    acc, fmt, out = options["acc"], options["fmt"], options["out"]
    if from_name is None and not (acc and fmt):
        raise Error(f"{path}: the name is not GPU_input_output.npz with a known GPU; give --acc, --fmt and --out")
    if options["c"] is not None and set(options["c"]) != {"0"}:
        raise Error("--replay: --c 0 ignores the file's c; other values are not supported")
    use_c = options["c"] is None and (from_name is None or from_name.use_c)
    if from_name is None:
        return Capture(acc, fmt, out or "fp32", use_c)
    return Capture(acc or from_name.accumulator, fmt or from_name.fmt, out or from_name.out, use_c)
