"""Every example circuit with planted bugs: its sources with one of them, and what is asked of it so that it shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.workflow.units import vectors

from .bugs import Bug, bugs, module, module_name, own_bugs
from .circuits import CIRCUITS, EXAMPLES, Circuit, Size
from .diagnosed import COUNTS, setting_of

COUNT = 4000  # vectors, where `diagnosed` has no other number
_ROOTS = (5, 6, 11)  # bugs of fp_div_sqrt that roots show
_ROUNDINGS = {  # that show a bug, where rne does not
    "fma_two_path": {7: "rdn", 11: "rtz", 12: "rup"},
    "fp_convert_injected": {2: "rdn", 3: "rdn", 7: "rtz"},
    "fp_div_sqrt": {12: "rtz", 13: "rdn"},
}
_KNOWN = {  # what a user has to say of a port map, as nothing in the sources does
    "fp16_mul_serial": (
        'outputs.exceptions={ invalid = "3", overflow = "2", underflow = "1", inexact = "0" }',
        'ignore=["divide_by_zero"]',
        'compare_nan="quiet"',
    ),
    "bf16_stochastic": ('ignore=["r"]',),
    "fp_convert": (
        'inputs.fmt={ of = "out", width = 2, codes = { fp8_e4m3 = 0, fp8_e5m2 = 1, fp16 = 2, bf16 = 3 } }',
        'outputs.result={ result = "15:0" }',
    ),
}
# An input that selects a bug, which is no port of a module that has the bug, and the statement that selects it.
_SELECTOR = re.compile(r"^ *input +logic *(\[ *\d+:0\]) *(?P<name>defect|faults_i),\n", re.M)


@dataclass(frozen=True)
class PlantedCircuit:
    """An example circuit. bugs: its own; asked: the vectors in a setting that shows a bug; parameters: the module's
    there; before: sources that stand before its own; bits: whether a bug is a bit of the input that selects it; known:
    lines of the port map."""

    name: str
    source: Path
    bugs: tuple[Bug, ...]
    asked: Callable[[Bug, int], VectorSet]
    count: int = COUNT
    parameters: Callable[[Bug], Mapping[str, str]] = lambda bug: {}
    before: tuple[Path, ...] = ()
    bits: bool = False
    known: tuple[str, ...] = ()

    def sources(self, bug: Bug, folder: Path) -> tuple[Path, ...]:
        """The sources with a bug that is no input's choice, as files in a folder."""
        if self.source.suffix == ".vhd":  # a generic selects it
            return (self.source,)
        path = folder / self.source.name
        path.write_text(self._text(bug))
        return (*self.before, path)

    def module(self, bug: Bug) -> str:
        """The name of the module that has a bug."""
        return module_name(CIRCUITS[self.name], bug) if bug.edits else self.source.stem

    def _text(self, bug: Bug) -> str:
        text = self.source.read_text() if not bug.edits else module(CIRCUITS[self.name], bug)
        text = re.sub(r'"(\w+\.svh)"', lambda m: f'"{self.source.parent / m[1]}"', text)
        selector = _SELECTOR.search(text)
        if selector is None:
            if not bug.edits:
                raise Error(f"{self.name}: no input selects bug {bug.number}")
            return text
        number = 0 if bug.edits else 1 << bug.number if self.bits else bug.number
        planted = f"  localparam logic {selector[1]} {selector['name']} = {number};\n"
        return text.replace(selector[0], "").replace("\n);\n", f"\n);\n{planted}", 1)


def _campaigned(circuit: Circuit, listed: bool) -> PlantedCircuit:
    """A circuit of the campaign. listed: with the bugs of its table, too, which is all that some have."""
    own = [b for b in bugs(circuit) if listed or not circuit.selects_bugs or not b.edits]
    count = COUNTS.get(circuit.name, COUNT)
    known = _KNOWN.get(circuit.name, ())

    def asked(bug: Bug, count: int) -> VectorSet:
        return setting_of(circuit, bug).cases(Size(count))

    return PlantedCircuit(circuit.name, circuit.source, tuple(own), asked, count, known=known)


def _other(name: str, asked: Callable[[Bug, int], VectorSet], **more: Any) -> PlantedCircuit:
    """One that only proofs and benches of its own had."""
    (source,) = (f for f in (EXAMPLES / name).glob("*.*v*") if f.stem == name.removesuffix("_vhdl"))
    return PlantedCircuit(name, source, tuple(own_bugs(source)), asked, known=_KNOWN.get(name, ()), **more)


def _arithmetic(circuit: str, op: str, fmt: str, out: str | None = None) -> Callable[[Bug, int], VectorSet]:
    """An operation in the rounding that shows a bug."""

    def asked(bug: Bug, count: int) -> VectorSet:
        rounding = _ROUNDINGS.get(circuit, {}).get(bug.number, "rne")
        return vectors(op, fmt, count, out=out, policy={"rounding": rounding})

    return asked


def _injected(bug: Bug, count: int) -> VectorSet:
    out = "bf16" if bug.number == 8 else "fp16"  # only bf16 has numbers as small as FP32's subnormals
    return _arithmetic("fp_convert_injected", "convert", "fp32", out)(bug, count)


def _division(bug: Bug, count: int) -> VectorSet:
    return _arithmetic("fp_div_sqrt", "sqrt" if bug.number in _ROOTS else "div", "fp16")(bug, count)


def circuits(listed: bool = False) -> dict[str, PlantedCircuit]:
    """All of them. listed: with the bugs of the tables, too, where a circuit has bugs of its own."""
    fpu, tanh = EXAMPLES / "small_fpu", EXAMPLES / "tanh_bf16" / "tanh_bf16.toml"
    others = (
        _other(
            "fp_convert_injected",
            _injected,
            parameters=lambda b: {"EXP": "8", "FRAC": "7"} if b.number == 8 else {},
        ),
        _other("fma_two_path", _arithmetic("fma_two_path", "fma", "fp16"), count=8000),
        _other("fp_div_sqrt", _division, parameters=lambda b: {"ROOT": "1"} if b.number in _ROOTS else {}),
        _other("fp16_mul_serial", _arithmetic("fp16_mul_serial", "mul", "fp16")),
        _other("tanh_bf16", lambda b, n: vectors(str(tanh), None, n)),
        _other("requantize", lambda b, n: vectors("requantize", "i32", n, out="i8", rule="tflite")),
        _other(
            "small_fpu",
            lambda b, n: vectors(str(fpu / "recipe.toml"), None, n),
            count=6000,
            parameters=lambda b: {"FORMATS": "fpu_pkg::HAS_FP32 | fpu_pkg::HAS_FP16 | fpu_pkg::HAS_BF16"},
            before=(fpu / "fpu_pkg.sv", EXAMPLES / "fp16_fma" / "fp16_fma.sv"),
            bits=True,
        ),
        _other(
            "fp32_to_fp8_e4m3_vhdl",
            _arithmetic("fp32_to_fp8_e4m3_vhdl", "convert", "fp32", "fp8_e4m3"),
            parameters=lambda b: {"defect": str(b.number)},
        ),
    )
    return {c.name: c for c in (*(_campaigned(c, listed) for c in CIRCUITS.values()), *others)}
