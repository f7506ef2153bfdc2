"""What is proved of the oracle itself: statements, each with what it is proved by."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from softfloat_ref.base.search import find_first
from softfloat_ref.oracle import codec, exact
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import Overflow
from softfloat_ref.oracle.rounding import Rounding, rounds_up
from softfloat_ref.proof.engine import Tactics, Verdict
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import ALL, Problem
from softfloat_ref.proof.solver import Result, answer_text, solve
from softfloat_ref.symbolic.build import and_, eq, extract, make, not_, or_
from softfloat_ref.symbolic.cases import cases
from softfloat_ref.symbolic.circuit import Adder, ProofCase
from softfloat_ref.symbolic.classes import is_in
from softfloat_ref.symbolic.integers import bit, free
from softfloat_ref.symbolic.reader import call
from softfloat_ref.symbolic.reading import Collection, reading
from softfloat_ref.symbolic.terms import TRUE, Term, const, var
from softfloat_ref.symbolic.units import SUBSTITUTES, adders, circuit
from softfloat_ref.units import OperationUnit, make_unit
from softfloat_ref.units.quantize import QuantizeUnit

from . import symfpu, theory
from .kernels import KINDS, BlockKernel, Kernel, Kind, is_compiled

THEORY: Final = "SMT-LIB's numbers, by Z3"
SYMFPU: Final = "SymFPU, by Bitwuzla"
BITS: Final = "Bitwuzla"
_RANDOM: Final = (1, 4, 8)  # random bits


class Statement(NamedTuple):
    """Something to be proved. ask: the solver's answer within so many seconds a question; unsat: it holds for all
    inputs."""

    group: str
    name: str
    by: str
    ask: Callable[[float], Result]

    @property
    def title(self) -> str:
        """Its name among all."""
        return f"{self.group}: {self.name}"


GROUPS: Final = ("rounding", "codes", "shortcuts", "adders", "dots", "kernels", "conversions", "operations", "symfpu")


def all_statements() -> Iterator[Statement]:
    """All of them, group by group."""
    for part in (_rounding, _codes, _shortcuts, _adders, _dots, _kernels, _conversions, _operations, _symfpu):
        yield from part()


# -- rounding ----------------------------------------------------------------------------------------------------------


def _rounding() -> Iterator[Statement]:
    for mode in Rounding:
        for n in _RANDOM if mode.stochastic else (0,):
            name = f"{mode.name.lower().replace('_', '-')}{f', {n} random bits' if n else ''}"
            ask = partial(_solved, partial(_falls, mode, n))
            yield Statement("rounding", f"{name}: rounded up, it stays so where more is cut off", BITS, ask)


def _falls(mode: Rounding, n: int) -> list[Term]:
    """Whether what is cut off is rounded up, but something larger is not."""
    cut = [var(f"cut {i}", n + 2) for i in range(2)]  # the sticky bit lowest
    word, negative, odd = (free(var(name, width)) for name, width in (("r", max(n, 1)), ("negative", 1), ("odd", 1)))
    up = []
    for x in cut:
        with reading(Collection({})):
            discarded, sticky = free(extract(x, n + 1, 1)), free(extract(x, 0, 0))
            up.append(bit(call(rounds_up, int(mode), negative, odd, discarded, sticky, n, word if n else 0)))
    return [make("ult", 1, cut[0], cut[1]), up[0], not_(up[1])]


# -- codes -------------------------------------------------------------------------------------------------------------


def _codes() -> Iterator[Statement]:
    for fmt in CATALOGUE.values():
        if fmt.width <= 64:
            ask = partial(_solved, partial(_changes, fmt))
            yield Statement("codes", f"{fmt.name}: a code is that of its number", BITS, ask)


def _changes(fmt: Format) -> list[Term]:
    """Whether a code that is no NaN is another one after it was decoded and encoded, or a flag is raised."""
    read = circuit(OperationUnit.make("convert", fmt, fmt))
    same = and_(eq(read.terms["result"], var("a", fmt.width)), eq(read.terms["flags"], const(0, 5)))
    return [not_(is_in("nan", var("a", fmt.width), fmt)), not_(same)]


# -- IEEE 754's theory -------------------------------------------------------------------------------------------------

_SMALL: Final = (
    "fp8_e5m2", "fp8_e4m3", "fp8_e3m4", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "fp8_e4m3b11fnuz", "fp6_e3m2", "fp6_e2m3",
    "fp4_e2m1",
)  # fmt: skip
_P3109: Final = ("binary8p3se", "binary8p4se", "binary8p5se", "binary8p4sf")
_RULES: Final = (Overflow.SAT_NONE, Overflow.SAT_PROPAGATE, Overflow.SAT_FINITE)


def _conversions() -> Iterator[Statement]:
    pairs = [("fp32", out) for out in ("fp16", "bf16", "tf32", *_SMALL, *_P3109)]
    pairs += [("fp16", "fp32"), ("bf16", "fp32"), ("bf16", "fp8_e4m3"), ("fp16", "fp8_e5m2"), ("fp64", "fp32")]
    for source, out in pairs:
        for overflow in _RULES:
            policies = [{"rounding": r, "overflow": overflow} for r in theory.MODES]
            units = [make_unit("convert", source, out=out, policy=p) for p in policies]
            yield Statement("conversions", f"{source} to {out}, {overflow}, 5 roundings", THEORY, _by_theory(units))


def _operations() -> Iterator[Statement]:
    for op in (op for op in (*theory.FUNCTIONS, *theory.RELATIONS) if op != "convert"):
        for fmt in reversed(_SMALL):
            if op not in ("fma", "rem") or get_format(fmt).width <= 6:  # wider ones take minutes for each rounding
                units = [make_unit(op, fmt, policy={"rounding": r}) for r in theory.MODES]
                yield Statement("operations", f"{fmt} {op}, 5 roundings", THEORY, _by_theory(units))
    for op in ("fma", "rem"):
        yield Statement("operations", f"fp8_e4m3 {op}, rne", THEORY, _by_theory([make_unit(op, "fp8_e4m3")]))


def _by_theory(units: list[Any]) -> Callable[[float], Result]:
    return lambda limit_s: _all(answer_text(theory.statement(u), "z3", limit_s).result for u in units)


def _all(results: Iterator[Result]) -> Result:
    """unsat if all are; else the first that is not."""
    return next((r for r in results if r != "unsat"), "unsat")


# -- SymFPU ------------------------------------------------------------------------------------------------------------


_COMPARED: Final = {  # what is decided within minutes; SymFPU has no circuits for fp8_e5m2
    **dict.fromkeys(("fp8_e3m4", "s1e4m3", "s1e5m3"), tuple(symfpu.OPERATIONS)),
    "fp16": ("add", "mul", "sqrt"),
    "bf16": ("mul", "div", "sqrt"),
    "fp32": ("mul",),
}


def _symfpu() -> Iterator[Statement]:
    for fmt, ops in _COMPARED.items():
        for op in ops:
            units = [OperationUnit.make(op, fmt, policy={"rounding": r}) for r in theory.MODES]
            yield Statement("symfpu", f"{fmt} {op}, 5 roundings", SYMFPU, _proved([symfpu.SymFpu(u) for u in units]))


def _each(questions: list[Callable[[], list[Term]]], limit_s: float) -> Result:
    return _all(_solved(question, limit_s) for question in questions)


# -- functions that stand in place of the oracle's ---------------------------------------------------------------------


def _shortcuts() -> Iterator[Statement]:
    for name in ("fp16", "bf16", "fp32", "fp64"):
        ask = partial(_solved, partial(_misordered, get_format(name)))
        yield Statement("shortcuts", f"{name}: magnitudes are in the order of their codes", BITS, ask)
    for op, fmt in (("add", "fp8_e5m2"), ("add", "fp16"), ("fma", "fp8_e5m2")):
        unit = make_unit(op, fmt)
        ask = partial(_each, [partial(_far, unit, i) for i in (0, 1)])
        yield Statement("shortcuts", f"{fmt} {op}: where one term is far smaller, a sticky bit says enough", BITS, ask)


def _adders() -> Iterator[Statement]:
    for fmt in ("fp8_e4m3", "fp8_e5m2", "fp16"):
        unit = make_unit("add", fmt)
        for adder in adders(unit):
            ask = partial(_solved, partial(_adds_otherwise, unit, adder))
            yield Statement("adders", f"{fmt} add: the {adder} sum rounds to the same", BITS, ask)


def _misordered(fmt: Format) -> list[Term]:
    """Whether two finite numbers are in another order than their codes without sign."""
    codes = [var(name, fmt.width) for name in ("a", "b")]
    with reading(Collection(SUBSTITUTES)):
        a, b = (call(exact.magnitude, call(codec._decode, free(code), fmt, False)) for code in codes)
        larger = bit(call(exact.compare, a, b) > 0)
    finite = and_(*(is_in("finite", code, fmt) for code in codes))
    low, high = (extract(code, fmt.width - 2, 0) for code in codes[::-1])
    return [finite, not_(eq(larger, make("ult", 1, low, high)))]


def _far(unit: Any, which: int) -> list[Term]:
    """Whether a result is another one by the exact sum: of the first or the last case by distance."""
    by_distance = [case for case in cases(unit) if case.distance is not None]
    case = by_distance[-which]
    short, long = circuit(unit, case), circuit(unit, case._replace(distance=None))
    differ = [not_(eq(a, b)) for a, b in zip(short.roots, long.roots, strict=True)]
    return [case.assumption, or_(*differ)]


def _adds_otherwise(unit: Any, adder: Adder) -> list[Term]:
    """Whether a result is another one by the exact sum."""
    with_adder, exactly = circuit(unit, ProofCase(ALL, TRUE, adder=adder)), circuit(unit)
    return [or_(*(not_(eq(a, b)) for a, b in zip(with_adder.roots, exactly.roots, strict=True)))]


# -- dot products ------------------------------------------------------------------------------------------------------

_SUM_ROUNDED: Final = "fuse(c + fuse(p) -> fp8_e5m2:rne) -> fp8_e5m2:rne"


def _dots() -> Iterator[Statement]:
    for fmt, k, splits in (("fp4_e2m1", 2, (0, 1)), ("fp4_e2m1@e8m0/1", 1, (0, 1)), ("fp4_e2m1@e8m0/2", 2, (0,))):
        unit = make_unit("dot", fmt, out="fp8_e5m2", acc=_SUM_ROUNDED, k=k)
        for split in splits:
            title = f"{fmt}, k = {k}{', case by case' * split}: short sums say enough"
            yield Statement("dots", title, BITS, partial(_same_sums, unit, bool(split)))


def _same_sums(unit: Any, split: bool, limit_s: float) -> Result:
    """Whether a dot product's results are those by the oracle's functions alone."""
    long = circuit(unit, shortcuts=False)

    def otherwise(case: ProofCase | None) -> list[Term]:
        differ = [not_(eq(a, b)) for a, b in zip(circuit(unit, case).roots, long.roots, strict=True)]
        return [case.assumption if case else TRUE, or_(*differ)]

    return _each([partial(otherwise, case) for case in (cases(unit) if split else (None,))], limit_s)


# -- compiled loops ----------------------------------------------------------------------------------------------------

_POLICIES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"overflow": "sat-finite", "flush_inputs": True},
    {"overflow": "sat-propagate", "flush_outputs": True},
)
_RANDOM_BITS: Final = 8
_COMPUTED: Final = {
    "mul": ("fp32", "fp16", "bf16", *_SMALL),
    "add": ("fp32", "fp16", "bf16", *_SMALL),
    "sub": ("fp16", *_SMALL),
    "fma": _SMALL,
    "sqrt": ("fp16", "bf16", *_SMALL),
}


def _kernels() -> Iterator[Statement]:
    for source, kinds in (("fp32", KINDS[:3]), ("fp64", KINDS[:2])):
        for kind in kinds:
            for fmt in CATALOGUE.values():
                for name, modes in (("roundings", _DIRECTED), ("stochastic roundings", _STOCHASTIC)):
                    units = [u for u in _conversions_of(source, fmt, modes) if is_compiled(u, kind)]
                    if units:
                        count = len({u.policy.rounding for u in units})
                        title = f"{source} to {fmt.name}: {kind}, {count} {name}, {len(units)} policies"
                        yield Statement("kernels", title, BITS, _by_kernels(units, kind))
    for op, formats in _COMPUTED.items():
        for operands in formats:
            modes = tuple(theory.MODES) if operands in _SMALL else (Rounding.RNE,)
            units = [OperationUnit.make(op, operands, policy={"rounding": r}) for r in modes]
            title = f"{operands} {op}, {'rne' if len(modes) == 1 else f'{len(modes)} roundings'}"
            yield Statement("kernels", title, BITS, _by_kernels(units, "operation"))
    for block in _BLOCKS:
        blocks = [QuantizeUnit.make(get_block_format(block), policy={"rounding": r}) for r in _OF_BLOCKS]
        title = f"fp32 to {block}: a block of 32, {len(blocks)} roundings"
        yield Statement("kernels", title, BITS, _proved([BlockKernel(u) for u in blocks]))


_BLOCKS: Final = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "mxint8")
_OF_BLOCKS: Final = (Rounding.RNE, Rounding.RTZ, Rounding.RUP)
_DIRECTED: Final = tuple(r for r in Rounding if not r.stochastic)
_STOCHASTIC: Final = tuple(r for r in Rounding if r.stochastic)


def _conversions_of(source: str, fmt: Format, modes: Sequence[Rounding]) -> Iterator[OperationUnit]:
    for mode in modes:
        for others in _POLICIES:
            policy = {"rounding": mode, **others, **({"sr_bits": _RANDOM_BITS} if mode.stochastic else {})}
            yield OperationUnit.make("convert", source, fmt, policy)


def _by_kernels(units: Sequence[OperationUnit], kind: Kind) -> Callable[[float], Result]:
    """Whether what Numba made of the loops of units gives the oracle's answers."""
    return _proved([Kernel(u, kind) for u in units])


def _proved(problems: Sequence[Problem]) -> Callable[[float], Result]:
    return lambda limit_s: _all(_PROVED[prove(problem, "auto", Tactics(limit_s)).verdict] for problem in problems)


_PROVED: Final[dict[Verdict, Result]] = {"proved": "unsat", "undecided": "unknown", "counterexample": "sat"}


def _solved(question: Callable[[], list[Term]], limit_s: float) -> Result:
    return solve(question(), limit_s).result


def decide(task: tuple[str, float]) -> tuple[Result, float]:
    """The answer to a statement, given by its title and the limit of a question, and the seconds of the processor.
    Raises Error."""
    (title, limit_s), begin = task, time.process_time()
    answer = find_first(s for s in all_statements() if s.title == title).ask(limit_s)
    return answer, time.process_time() - begin
