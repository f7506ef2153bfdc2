"""The planted faults, what a diagnosis must say of each, and a bench that selects them by a plusarg."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from benches import TOP, Bench, build

from softfloat_ref.diagnosis.parts import PartDiagnosis, ReportDiagnosis, explanation
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.testing.check import check_results
from softfloat_ref.testing.compare import FLAGS_ONLY

EXAMPLES: Final = TOP / "docs" / "examples"
UNIT: Final = EXAMPLES / "small_fpu"
SELECTED: Final = """
  logic [9:0] faults_i;
  initial if (!$value$plusargs("faults=%d", faults_i)) faults_i = 0;
"""


class Planted(NamedTuple):
    """A fault. says: what a diagnosis must say, as a regular expression; kind: or the kind of its mismatches; stops:
    or the message with which the bench stops."""

    text: str
    says: str = ""
    kind: str = ""
    stops: str = ""


# By their numbers. ADD's operands 1 and 2 are its a and b; operand 0, which the vectors do not use, is 0.
FAULTS: Final = (
    Planted("boxes are not checked", kind="unboxed operand"),
    Planted("FP16 is always rounded to nearest even", "rounds to nearest, ties to even"),
    Planted("narrower results have zeros above them", kind="zeros above the result"),
    Planted("the result changes while it waits", stops="the result changed while stalled"),
    Planted("LE does not hold for equal operands", "computes lt(_quiet)?"),
    Planted("LT and LE of a quiet NaN are not invalid", "computes l[te]_quiet"),
    Planted(
        "FP32 loses what alignment shifts out of the addend",
        r"loses the bits that alignment shifts out of (the addend|operand b), .*",
    ),
    Planted(
        "FP16 gives a subnormal addend the exponent 0, not 1",
        "gives subnormals the exponent 0 in place of 1 in operand [bc]",
    ),
    Planted("BF16 overflows to infinity under RTZ", "lets every overflow go to infinity, .*"),
    Planted(
        "ADD of FP32 operands with different signs takes operand 0 for operand 1",
        "takes zero for operand a, but only where operands a and b have different signs",
    ),
)


class Verdict(NamedTuple):
    """What the diagnosis said of some faults. named: how well each is named, by its number; wrong: what it said of a
    part in which no fault does that; open: the number of mismatches left unexplained."""

    named: dict[int, str]
    wrong: list[str]
    open: int = 0


# How well a fault is named, the worst last: in each part that shows it, in some, with "perhaps" only, not.
LEVELS: Final = ("everywhere", "in some parts", "perhaps", "no")


class Campaign:
    """The bench of small_fpu, built once, and the faults it was run with."""

    def __init__(self, work: Path, count: int, seed: int, simulator: str) -> None:
        self.vectors = replace(load_recipe(str(UNIT / "recipe.toml")).of_count(count), seed=seed)
        generate(self.vectors, work / "vectors")
        self.work = work
        self.bench = planted_bench(work / "vectors", work / "bench", simulator)
        # Where a fault of the handshake stops the bench, the others are seen in a bench that takes each result at once.
        self.unstalled = planted_bench(work / "vectors", work / "unstalled", simulator, "stalls = 0\n")
        self._shows: dict[int, set[str]] = {}

    def stops(self, faults: Sequence[int]) -> set[int]:
        """The faults for which the bench stops with their message."""
        stopping = {n for n in faults if FAULTS[n].stops}
        printed = self.bench.run(select(faults)).output if stopping else ""
        return {n for n in stopping if FAULTS[n].stops in printed}

    def explained(self, faults: Sequence[int]) -> ReportDiagnosis | None:
        """The diagnosis of the results with some faults."""
        log = self.work / "results.txt"
        bench = self.unstalled if any(FAULTS[n].stops for n in faults) else self.bench
        bench.run(select(faults), f"+results={log}")
        return explanation(check_results(self.vectors, log))

    def shows(self, fault: int) -> set[str]:
        """The parts that a fault alone makes wrong."""
        if fault not in self._shows:
            explained = self.explained([fault])
            parts = explained.parts if explained else []
            self._shows[fault] = {p.unit.label for p in parts if p.report.mismatched}
        return self._shows[fault]

    def _may_show(self, fault: int, p: PartDiagnosis) -> bool:
        """Whether a fault alone makes a part wrong, or one with another rounding: several may show where one does
        not."""
        return any(_without_rounding(x) == _without_rounding(p.unit.label) for x in self.shows(fault))

    def verdict(self, faults: Sequence[int]) -> Verdict:
        """How well some faults together are named."""
        explained, stopping = self.explained(faults), self.stops(faults)
        levels: dict[int, list[str]] = {n: [LEVELS[0]] if n in stopping else [] for n in faults}
        wrong: list[str] = []
        left = 0
        for p in explained.parts if explained else []:
            here = [n for n in faults if p.unit.label in self.shows(n)]
            for n in here:
                levels[n].append(_level(FAULTS[n], p))
            wrong += [f"{p.unit.label}: {x}" for x in _wrong([FAULTS[n] for n in faults if self._may_show(n, p)], p)]
            left += 0 if p.diagnosis is None else p.diagnosis.examined - p.diagnosis.explained
        return Verdict({n: _together(some or [LEVELS[-1]]) for n, some in levels.items()}, wrong, left)


def _without_rounding(label: str) -> str:
    """The operation and formats in the name of a part."""
    return label.rpartition(" ")[0]


def select(faults: Sequence[int]) -> str:
    """The plusarg that selects some faults."""
    return f"+faults={sum(1 << n for n in faults)}"


def planted_bench(folder: Path, work: Path, simulator: str, handshake: str = "") -> Bench:
    """The bench of a copy of the circuit whose faults are no input, but a plusarg. handshake: more of its settings."""
    text = (UNIT / "small_fpu.sv").read_text()
    text = text.replace("    input  logic [9:0]       faults_i,\n", "")
    text = text.replace("  import fpu_pkg::*;\n", f"  import fpu_pkg::*;\n{SELECTED}", 1)
    work.mkdir()
    source = work / "small_fpu.sv"
    source.write_text(text.replace('"fpu_defs.svh"', f'"{UNIT / "fpu_defs.svh"}"'))
    ports = (UNIT / "ports.toml").read_text().replace("faults_i = { value = 0, width = 10 }\n", "")
    ports = ports.replace("[handshake]\n", f"[handshake]\n{handshake}")
    sources = UNIT / "fpu_pkg.sv", EXAMPLES / "fp16_fma" / "fp16_fma.sv", source
    return build(simulator, folder, work, ports, *sources)


def _statements(p: PartDiagnosis) -> dict[str, bool]:
    """What is said of a part, and whether without "perhaps"."""
    d = p.diagnosis
    if d is None:
        return {}
    if d.several is not None:
        return {f.hypothesis.description: d.explains_nearly_all for f in d.several.faults}
    return dict.fromkeys(d.findings[0].hypothesis.description.split(", and "), d.sure) if d.findings else {}


def _states(fault: Planted, statement: str) -> bool:
    """Whether a statement is that of a fault; it may be restricted to cases that show it."""
    whole = re.fullmatch(fault.says, statement) or re.fullmatch(fault.says, statement.partition(", but only")[0])
    return bool(fault.says and whole)


def _level(fault: Planted, p: PartDiagnosis) -> str:
    """How well a fault is named in a part."""
    sure = [x for statement, x in _statements(p).items() if _states(fault, statement)]
    if True in sure or (fault.kind and any(fault.kind in kind for kind in p.report.kinds)):
        return LEVELS[0]
    return LEVELS[2] if sure else LEVELS[3]


def _together(levels: Sequence[str]) -> str:
    """How well a fault is named, by the parts that show it."""
    best, worst = min(levels, key=LEVELS.index), max(levels, key=LEVELS.index)
    return LEVELS[1] if best == LEVELS[0] != worst else best


def _wrong(faults: Sequence[Planted], p: PartDiagnosis) -> list[str]:
    """What is said of a part, without "perhaps", that none of its faults does."""
    wrong = [x for x, sure in _statements(p).items() if sure and not any(_states(f, x) for f in faults)]
    absent = [f.kind for f in FAULTS if f.kind and f not in faults]
    # Flags alone do not tell a number from another fault of NaNs; their kind says so.
    kinds = [k for k in p.report.kinds if k.startswith(tuple(absent)) and not k.startswith(FLAGS_ONLY)]
    return wrong + kinds
