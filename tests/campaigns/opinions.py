"""`python -m tests.campaigns.opinions`: the time to simulate the sources of each example circuit, and to prove it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.tables import read_toml
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.proof.cosimulation import Cosimulation
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.units import make_unit

EXAMPLES: Final = Path(__file__).parents[2] / "docs" / "examples"
LIMIT_S: Final = 60.0
SR: Final = {"out": "bf16", "policy": {"rounding": "sr", "sr_bits": 16}}
CIRCUITS: Final[dict[str, tuple[str, str | None, dict[str, Any]]]] = {
    "fp32_to_fp8_e4m3": ("convert", "fp32", {"out": "fp8_e4m3"}),
    "fp_convert": ("convert", "fp32", {"out": "bf16"}),
    "fp_convert_injected": ("convert", "fp32", {"out": "fp16"}),
    "bf16_stochastic": ("convert", "fp32", SR),
    "tanh_bf16": (str(EXAMPLES / "tanh_bf16" / "tanh_bf16.toml"), None, {}),
    "mxfp8_quantize": ("quantize", "mxfp8_e4m3", {}),
    "fp16_mul_serial": ("mul", "fp16", {}),
    "fp_div_sqrt": ("div", "fp16", {}),
    "fp16_fma": ("fma", "fp16", {}),
    "fma_two_path": ("fma", "fp16", {}),
    "mxfp8_dot": ("dot", "mxfp8_e4m3", {}),
    "small_fpu": ("recipe.toml", None, {}),
}
FILES: Final = {"small_fpu": ("small_fpu/fpu_pkg.sv", "small_fpu/small_fpu.sv", "fp16_fma/fp16_fma.sv")}


def question(name: str) -> tuple[Question, list[Path]]:
    """The question whether an example is its unit, and its sources."""
    op, fmt, options = CIRCUITS[name]
    recipe = EXAMPLES / name / op
    unit = load_recipe(str(recipe)).of_count(100).unit if op == "recipe.toml" else make_unit(op, fmt, **options)
    files = [EXAMPLES / file for file in FILES.get(name, (f"{name}/{name}.sv",))]
    ports = parse_ports(read_toml(str(EXAMPLES / name / "ports.toml")))
    return Question(unit, read_rtl(unit, ports, read_sources(files))), files


def main(names: list[str]) -> int:
    print(f"{'circuit':22}{'operations':>11}{'solved':>8}{'simulated':>11}{'proof':>10}   (seconds of the processor)")
    wrong = 0
    for name in names or CIRCUITS:
        asked, files = question(name)
        asked.design()
        begin = _seconds()
        with Cosimulation(asked, read_sources(files)) as both:
            opinion = both.look()
        looked = _seconds() - begin
        verdict = prove(asked, "auto", Tactics(LIMIT_S)).verdict if "--only" not in sys.argv else ""
        proof = _seconds() - begin - looked
        counts = f"{opinion.operations:11}{opinion.directed:8}"
        print(f"{name:22}{counts}{looked:11.1f}{proof:10.1f}   {verdict}", flush=True)
        wrong += opinion.difference is not None or not opinion.simulators
    return int(wrong > 0)


def _seconds() -> float:
    """Of the processor, in this process and in those that have ended."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    sys.exit(main([name for name in sys.argv[1:] if name != "--only"]))
