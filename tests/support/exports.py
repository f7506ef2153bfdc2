"""What the tests of exported circuits share: units, and their cases from the oracle."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from softfloat_ref.base.systemverilog import sv_name
from softfloat_ref.export.c import c_text, header_text
from softfloat_ref.export.words import count, words_of
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.golden.vector_recipes import set_of
from softfloat_ref.symbolic.circuit import Circuit, CircuitPort
from softfloat_ref.symbolic.terms import evaluator
from softfloat_ref.units import RoundingsUnit, make_unit

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wpedantic", "-Wshadow", "-Wmissing-prototypes"]

# Of every kind of unit that is exported, with level 1, every case, or that many.
SETS: dict[str, VectorSet] = {
    name: VectorSet.make(op, fmt, **more)
    for name, op, fmt, more in [
        ("convert", "convert", "fp32", {"out": "fp8_e4m3", "level": 1}),
        ("convert_up", "convert", "fp16", {"out": "fp6_e2m3", "policy": {"rounding": "rup"}, "level": "exhaustive"}),
        ("stochastic", "convert", "bf16", {"out": "fp8_e5m2", "policy": {"rounding": "sr", "sr_bits": 6}, "level": 1}),
        ("add", "add", "fp8_e5m2", {"policy": "riscv", "level": "exhaustive"}),
        ("mul", "mul", "bf16", {"policy": "arm", "level": 1}),
        ("div", "div", "fp6_e2m3", {"level": "exhaustive"}),
        ("sqrt", "sqrt", "fp16", {"level": 1}),
        ("fma", "fma", "fp16", {"level": 1}),
        ("wide_add", "add", "fp128", {"count": 600}),  # with a sticky bit for numbers far below
        ("extended_add", "add", "extf80", {"policy": "x87", "count": 400}),
        (
            "extended_mul",
            "mul",
            "extf80",
            {"policy": {"like": "softfloat-8086", "rounding_precision": 64}, "count": 99},
        ),
        ("extended_to_fp64", "convert", "extf80", {"out": "fp64", "policy": "x87", "count": 400}),
        ("wide_fma", "fma", "fp64", {"level": 1}),
        ("dequantize", "dequantize", "mxfp4", {"count": 60}),
        ("dot", "dot", "fp8_e4m3", {"k": 2, "count": 200}),
    ]
}
SEVERAL: dict[str, Any] = {  # selected by control fields, in registers of 16 bits
    "padding": "box",
    "unboxed": 10,
    "count": 1500,
    "part": [
        {"op": "mul", "fmt": "fp8_e5m2", "rounding": ["rne", "rtz", "rup"], "place": "cb"},
        {"op": "mul", "fmt": "fp16", "rounding": "rdn", "policy": "riscv"},
        {"op": "convert", "fmt": "fp16", "out": "i8", "rounding": "rtz"},
        {"op": "convert", "fmt": "bf16", "out": "fp8_e5m2", "policy": {"rounding": "sr", "sr_bits": 4}},
        {"op": "lt", "fmt": "fp8_e5m2"},
    ],
}
SETS["mixed"] = set_of(SEVERAL)
SETS["affine"] = VectorSet.make("quantize", "qint8", count=300)  # with a port `integer`
SETS["affine_back"] = VectorSet.make("dequantize", "qint8", count=300)
SETS["requantize"] = of_unit(make_unit("requantize", "i32", rule="tflite"), 300)
SETS["requantize_float"] = of_unit(make_unit("requantize", "i32", "u8", rule="onnxruntime", fixed="scale=0.01"), 200)
_SMALL = make_unit("quantize", "fp4_e2m1@e8m0/2", policy={"rounding": "sr", "sr_bits": 3})
SETS["roundings"] = of_unit(RoundingsUnit.of(_SMALL, ("rne", "sr", "rtz")), 600)
QUANTIZER = VectorSet.make("quantize", "mxfp4", count=100)  # 32 lanes take a while to read


def cases(vectors: VectorSet, most: int = 1 << 16) -> list[tuple[list[int], list[int]]]:
    """Inputs and expected outputs of cases that have a defined result."""
    found = []
    for inputs in vectors.inputs():
        line = vectors.line(inputs)
        if line is not None:
            found.append((list(inputs), list(line[len(inputs) :])))
        if len(found) == most:
            break
    return found


def packed(codes: Sequence[int], ports: Iterable[CircuitPort]) -> list[int]:
    """Codes as the ports of a module have them: lane 0 lowest."""
    given = iter(codes)
    return [sum(next(given) << p.width * k for k in range(p.lanes)) for p in ports]


def compiled(circuits: Sequence[Circuit], folder: Path, compiler: str, *options: str) -> ctypes.CDLL:
    """Their C functions, compiled with warnings as errors."""
    (folder / "exported.c").write_text(c_text(circuits, "exported.h"))
    (folder / "exported.h").write_text(header_text(circuits))
    library = folder / f"exported_{compiler}.so"
    command = [compiler, *STRICT, *options, "-shared", "-fPIC", str(folder / "exported.c"), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


class Called:
    """A C function, from codes to codes in words."""

    def __init__(self, library: ctypes.CDLL, circuit: Circuit) -> None:
        self.function, self.circuit = getattr(library, circuit.name), circuit
        self.outs = [(ctypes.c_uint64 * _words(p))() for p in circuit.outputs]

    def __call__(self, codes: Sequence[int]) -> list[int]:
        """The words of the outputs."""
        words, args, at = words_of(codes, self.circuit.inputs), [], 0
        for p in self.circuit.inputs:
            own = words[at : at + _words(p)]
            args.append(ctypes.c_uint64(own[0]) if len(own) == 1 else (ctypes.c_uint64 * len(own))(*own))
            at += len(own)
        self.function(*args, *self.outs)
        return [w for out in self.outs for w in out]


def _words(port: CircuitPort) -> int:
    return port.lanes * count(port.width)


def bench(name: str, circuits: Sequence[Circuit], given: Sequence[Sequence[list[int]]]) -> str:
    """A module that compares modules with their circuits, on the inputs given for each, and says how many differ."""
    lines, body = [f"module {name};", "  int wrong = 0;"], []
    for k, (circuit, inputs) in enumerate(zip(circuits, given, strict=True)):
        i, o = (sum(p.width * p.lanes for p in ports) for ports in (circuit.inputs, circuit.outputs))
        lines += [f"  logic [{i - 1}:0] i{k};", f"  wire [{o - 1}:0] o{k};"]
        wires = [*_slices(circuit.inputs, f"i{k}"), *_slices(circuit.outputs, f"o{k}")]
        lines += [f"  {circuit.name} u{k} ({', '.join(wires)});"]
        function = circuit.function()
        for codes in inputs:
            want = f"{o}'h{_side_by_side(function(codes), circuit.outputs):x}"
            body += [f"    i{k} = {i}'h{_side_by_side(codes, circuit.inputs):x};", f"    #1 if (o{k} !== {want}) begin"]
            body += ["      wrong++;", f'      $display("{circuit.name} %h: %h", i{k}, o{k});', "    end"]
    return "\n".join([*lines, "  initial begin", *body, '    $display("%0d wrong", wrong);', "  end", "endmodule", ""])


def _slices(ports: Iterable[CircuitPort], wire: str) -> list[str]:
    found, at = [], 0
    for p in ports:
        size = p.width * p.lanes
        found.append(f".{sv_name(p.name)}({wire}[{at + size - 1}:{at}])")
        at += size
    return found


def _side_by_side(codes: Sequence[int], ports: Sequence[CircuitPort]) -> int:
    total = at = 0
    for value, p in zip(packed(codes, ports), ports, strict=True):
        total, at = total | value << at, at + p.width * p.lanes
    return total


def values_of(terms: Sequence[Any], circuit: Circuit, codes: Sequence[int]) -> list[int]:
    """The values of terms over a circuit's inputs."""
    names = [n for p in circuit.inputs for n in p.names]
    return evaluator(terms)(dict(zip(names, codes, strict=True)))
