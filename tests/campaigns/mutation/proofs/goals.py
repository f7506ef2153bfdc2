"""What is proved of the example circuits, and how long it may take."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.formats import CATALOGUE

from ..circuits import EXAMPLES, FORMATS, ROUNDINGS, SATURATIONS
from .tasks import Exported, Task, Wallace, ports_of, source_of

OPERATIONS = Path(__file__).parent / "operations.sv"  # add and mul by an fma
SIZES = {"fp8_e5m2": (5, 2), "fp16": (5, 10), "bf16": (8, 7), "fp32": (8, 23)}  # exponent and fraction
GOALS = {"fp8_e5m2": (60, 60, 60), "fp16": (60, 60, 120), "bf16": (60, 60, 120), "fp32": (60, 300, 1200)}
# formats of a kind, and the roundings that they are proved in
NARROW = {
    "FP8": ([name for name in CATALOGUE if name.startswith("fp8_")], ROUNDINGS),
    "FP6 and FP4": ([name for name in CATALOGUE if name.startswith(("fp6_", "fp4_"))], ROUNDINGS),
    "P3109 8-bit": ([f"binary8p{p}{sign}{domain}" for p in range(1, 8) for sign in "su" for domain in "ef"], ("rne",)),
}


class Row(NamedTuple):
    """Tasks of one kind. goal_s: for each of them; None: it has none."""

    name: str
    goal_s: float | None
    tasks: Sequence[Task]


def groups() -> dict[str, list[Row]]:
    """The rows of the table."""
    return {
        "convert": list(_conversions()),
        **{fmt: list(_arithmetic(fmt)) for fmt in SIZES},
        "blocks": list(_blocks()),
        "others": list(_others()),
        "styles": list(_styles()),
        "exports": list(_exports()),
    }


def _conversions() -> Iterator[Row]:
    small = "fp32_to_fp8_e4m3"
    task = Task("rne", "convert", "fp32", ports_of(small), [source_of(small)], {"out": "fp8_e4m3"})
    yield Row("fp32 to fp8_e4m3, the smallest circuit", 1, [task])
    for out in FORMATS:
        tasks = [_conversion(out, r, s) for r in ROUNDINGS for s in SATURATIONS]
        yield Row(f"fp32 to {out}, 5 roundings, 2 overflow rules", 1, tasks)


def _conversion(out: str, rounding: str, overflow: str) -> Task:
    options = {"out": out, "policy": {"rounding": rounding, "overflow": overflow}}
    sources = [source_of("fp_convert")]
    return Task(f"{rounding} {overflow}", "convert", "fp32", ports_of("fp_convert"), sources, options)


def _arithmetic(fmt: str) -> Iterator[Row]:
    for op, goal in zip(("mul", "add", "fma"), GOALS[fmt], strict=True):
        yield Row(f"{fmt} {op}, 5 roundings", goal, [_operation(op, fmt, r) for r in ROUNDINGS])


def _operation(op: str, fmt: str, rounding: str, kind: type[Task] = Task) -> Task:
    exponent, fraction = SIZES[fmt]
    ports = ports_of("fp16_fma", parameters={"EXP": exponent, "FRAC": fraction})
    if op != "fma":
        ports |= {"module": f"fma_{op}", "inputs": {"a": "a", "b": "b", "rm": ports["inputs"]["rm"]}}
    return kind(rounding, op, fmt, ports, [source_of("fp16_fma"), OPERATIONS], {"policy": {"rounding": rounding}})


def _blocks() -> Iterator[Row]:
    name = "mxfp8_quantize"
    yield Row(
        "mxfp8 quantizer, 32 lanes", 120, [Task("ocp", "quantize", "mxfp8_e4m3", ports_of(name), [source_of(name)])]
    )
    for lanes in (4, 32):
        block = dataclasses.replace(get_block_format("mxfp8_e4m3"), size=lanes, name=f"mxfp8_of_{lanes}")
        ports = ports_of("mxfp8_dot", parameters={"LANES": lanes})
        yield Row(f"mxfp8 dot, lanes: {lanes}", None, [Task("rne", "dot", block, ports, [source_of("mxfp8_dot")])])


def _others() -> Iterator[Row]:
    name = "bf16_stochastic"
    options = {"out": "bf16", "policy": {"rounding": "sr", "sr_bits": 16}}
    task = Task("sr", "convert", "fp32", ports_of(name), [source_of(name)], options, {"state": "r"})
    yield Row("fp32 to bf16, stochastic, random bits an input", 60, [task])
    name, definition = "tanh_bf16", str(EXAMPLES / "tanh_bf16" / "tanh_bf16.toml")
    yield Row("tanh_bf16, three segments", None, [Task("rne", definition, None, ports_of(name), [source_of(name)])])
    name = "fp16_mul_serial"
    yield Row("fp16 mul, bit by bit", None, [Task("rne", "mul", "fp16", ports_of(name), [source_of(name)])])


def _styles() -> Iterator[Row]:
    """Circuits of another style than those above, in sizes of their own."""
    for out in ("fp8_e5m2", "fp16", "bf16"):
        tasks = [_sized("fp_convert_injected", "convert", "fp32", out, r) for r in ROUNDINGS]
        yield Row(f"fp32 to {out} by injection, 5 roundings", 1, tasks)
    for op, fmt in itertools.product(("div", "sqrt"), SIZES):
        if (op, fmt) != ("sqrt", "fp32"):  # not decided
            goal = None if fmt == "fp32" else 60
            yield Row(f"{fmt} {op}, 5 roundings", goal, [_recurrence(op, fmt, r) for r in ROUNDINGS])
    for op, fmt in itertools.product(("mul", "fma"), SIZES):
        if (op, fmt) != ("fma", "fp32"):  # not run: 128 cases, each of seconds
            goal = GOALS[fmt][("mul", "add", "fma").index(op)]
            yield Row(f"{fmt} {op} by a tree of adders, rne", goal, [_operation(op, fmt, "rne", Wallace)])
    tasks = [_sized("fma_two_path", "fma", "fp8_e5m2", "fp8_e5m2", r) for r in ROUNDINGS]
    yield Row("fp8_e5m2 fma by two paths, 5 roundings", 60, tasks)
    yield Row("fp16 fma by two paths, rne", 120, [_sized("fma_two_path", "fma", "fp16", "fp16", "rne")])


def _sized(circuit: str, op: str, fmt: str, out: str, rounding: str) -> Task:
    """An operation by a circuit whose parameters are the sizes of the result's format."""
    exponent, fraction = SIZES[out]
    ports = ports_of(circuit, parameters={"EXP": exponent, "FRAC": fraction})
    return Task(rounding, op, fmt, ports, [source_of(circuit)], {"out": out, "policy": {"rounding": rounding}})


def _recurrence(op: str, fmt: str, rounding: str) -> Task:
    """A division or a root."""
    exponent, fraction = SIZES[fmt]
    ports = ports_of("fp_div_sqrt", parameters={"EXP": exponent, "FRAC": fraction, "ROOT": int(op == "sqrt")})
    if op == "sqrt":
        ports["inputs"] = {**ports["inputs"], "b": {"value": 0, "width": 1 + exponent + fraction}}
    return Task(rounding, op, fmt, ports, [source_of("fp_div_sqrt")], {"policy": {"rounding": rounding}})


def _exports() -> Iterator[Row]:
    """SystemVerilog that the package wrote, as Yosys reads it."""
    for kind, (formats, roundings) in NARROW.items():
        for op in ("add", "mul", "div", "sqrt", "fma"):
            settings = itertools.product(formats, roundings)
            tasks = [Exported(f"{fmt} {r}", op, fmt, {"policy": {"rounding": r}}) for fmt, r in settings]
            yield Row(f"{kind} {op} as exported, {len(tasks)} settings", 60, tasks)
