"""The compiled loops of the array layer against the oracle: what Numba made of them gives its answers to all operands.

A loop runs on an array that is long enough for the compiler's loops of vectors and for what is left after them.
Elements with the same terms are compared once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from softfloat_ref.arrays.convert import code_dtype
from softfloat_ref.arrays.kernels import block_dispatch, dispatch, op_plans, plans
from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.oracle.formats import CATALOGUE
from softfloat_ref.proof.question import Counterexample, Obligation, Problem, check_reference, parts, table_hash
from softfloat_ref.symbolic.build import and_, eq, extract, not_, or_, substitute, zext
from softfloat_ref.symbolic.circuit import ProofCase
from softfloat_ref.symbolic.classes import is_in
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import FALSE, Term, const, evaluator, var
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import OperationUnit, stored
from softfloat_ref.units.quantize import QuantizeUnit
from softfloat_ref.units.unit import lanes_of

from .llvm import Symbols, run

Kind = Literal["codes", "codes and flags", "values", "operation"]
KINDS: Final[tuple[Kind, ...]] = ("codes", "codes and flags", "values", "operation")
_LANES: Final = 67  # elements: four vectors of 16, and some more
_FEW: Final = 9  # where elements decide together how each is computed
_NOTHING: Final = np.empty(0, np.int64)
_FP32: Final = CATALOGUE["fp32"]
_Given = Callable[[int, Any, int], Any]  # an operand's elements, from its number, their type and how many there are


def is_compiled(unit: OperationUnit, kind: Kind) -> bool:
    """Whether the array layer has a loop for a unit."""
    source, fmt, policy = unit.formats[0], unit.out, unit.policy
    match kind:
        case "codes":
            return dispatch.can_encode(source, fmt, policy)
        case "codes and flags":
            return dispatch.can_flag(source, fmt, policy)
        case "values":
            return not policy.rounding.stochastic and dispatch.can_quantize(source, fmt, policy)
        case "operation":
            return op_plans.plan(unit.signature, policy) is not None


class Call(NamedTuple):
    """A loop and its arguments. results: the numbers of those that receive codes, and flags."""

    kernel: Any
    arguments: tuple[Any, ...]
    results: tuple[int, ...]


class Made(NamedTuple):
    """What a loop gives for an element: its code, or the bits of its value; and flags, if it gives any."""

    code: Term
    flags: Term | None = None

    @property
    def terms(self) -> list[Term]:
        """Both."""
        return [t for t in self if t is not None]


@dataclass(frozen=True)
class Kernel(Problem):
    """The loop that the array layer takes for a unit. kind: for the codes of a conversion, its codes and flags, its
    values in place of float32 values, or for an operation. Raises Unsupported for what cannot be read."""

    unit: OperationUnit
    kind: Kind
    assumed: str = ""

    def posed(self, case: ProofCase) -> Obligation:
        """The loop's answers beside the oracle's."""
        reference = circuit(self.unit, case)
        check_reference(self, case, reference)
        want, flags = self._wanted(reference.terms["result"]), reference.terms["flags"]
        outputs, broken = self.made
        wrong = [self._differs(one, want, flags) for one in outputs]
        theirs = [t for one in outputs for t in one.terms]
        assumed = [self.assumption, case.assumption]
        return Obligation(assumed, or_(broken, *wrong), reference.roots, theirs, False, self._tried, held=case.held)

    def _wanted(self, code: Term) -> Term:
        """What the loop should give for a code: for values, the bits of its float32 value."""
        if self.kind != "values":
            return code
        value = circuit(OperationUnit.make("convert", self.unit.out, _FP32, {"nan": "propagate"}))
        return substitute([value.terms["result"]], {var("a", self.unit.out.width): code})[0]

    def _differs(self, one: Made, want: Term, flags: Term) -> Term:
        differ = not_(eq(one.code, zext(want, one.code.width)))
        if one.flags is not None:
            differ = or_(differ, not_(eq(one.flags, zext(flags, one.flags.width))))
        return and_(differ, not_(self._left(one)))

    def _left(self, one: Made) -> Term:
        """Whether the array layer leaves an element to the oracle: NaNs that keep their payload."""
        unit, policy = self.unit, self.unit.policy
        operands = zip(unit.inputs, unit.formats, strict=False)
        nan = or_(*(is_in("nan", var(f.name, f.width), fmt) for f, fmt in operands))
        if self.kind == "operation" and policy.nan_rule.propagate != "no" and one.flags is not None:
            return and_(nan, eq(one.flags, const(UNKNOWN, one.flags.width)))
        return nan if self.kind == "codes" and not dispatch.has_single_nan(unit.out, policy) else FALSE

    @cached_property
    def made(self) -> tuple[Sequence[Made], Term]:
        """The answers, as terms of the unit's inputs, each once; and where the loop does what it must not."""
        names = [(f.name, f.width) for f in self.unit.inputs]

        def given(k: int, dtype: Any, count: int) -> Symbols:
            like, (name, width) = dispatch.read_only(np.zeros(count, dtype)), names[k]
            lanes = [var(_lane(name, i), width) for i in range(count)]
            return Symbols(like, [zext(x, like.itemsize * 8) for x in lanes])

        call = self._call(given)
        ran = run(call.kernel, *call.arguments)
        arrays = np.cumsum([isinstance(x, (np.ndarray, Symbols)) for x in call.arguments]) - 1
        results = [ran.arrays[arrays[k]] for k in call.results]
        rows = {tuple(_first(terms, names, i)): None for i, terms in enumerate(zip(*results, strict=True))}
        return [Made(*terms) for terms in rows], ran.broken

    def _call(self, symbols: _Given) -> Call:
        return _CALLS[self.kind](self.unit, symbols)

    def _tried(self, model: Mapping[str, int]) -> Counterexample | None:
        """A solver's model on the loop itself and the oracle; None if they agree."""
        inputs = tuple(model.get(f.name, 0) for f in self.unit.inputs)
        call = self._call(lambda k, dtype, count: dispatch.read_only(np.full(count, inputs[k], dtype)))
        call.kernel(*call.arguments)
        got = [call.arguments[k].tolist() for k in call.results]
        expected = tuple(int(x) for x in self.unit.answer(inputs))
        want, flags = (const(x, f.width) for x, f in zip(expected, self.unit.outputs, strict=True))
        names = dict(zip((f.name for f in self.unit.inputs), inputs, strict=True))
        for row in sorted(set(zip(*got, strict=True))):
            widths = (call.arguments[k].itemsize * 8 for k in call.results)
            one = Made(*(const(x, width) for x, width in zip(row, widths, strict=True)))
            if evaluator([self._differs(one, self._wanted(want), flags)])(names)[0]:
                return Counterexample(inputs, expected, (*row, *expected[len(row) :]))
        return None

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the definition, with the tables of the loop."""
        call = self._call(lambda k, dtype, count: np.zeros(count, dtype))
        tables = [x.tolist() if isinstance(x, np.ndarray) else repr(x) for x in call.arguments]
        own = {"kernel": self.kind, "loop": call.kernel.__name__, "tables": tables}
        return table_hash({**own, "unit": stored(self.unit), "assumed": self.assumed})


# -- blocks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockCodes:
    """What the loop gives for a block, by the names of the unit's outputs. broken: where it does what it must not;
    redone: where the array layer asks the oracle again."""

    codes: Mapping[str, Term]
    broken: Term
    redone: Term

    def code(self, name: str, expected: Term) -> Term:
        """An output."""
        return extract(self.codes[name], expected.width - 1, 0)

    def differs(self, name: str, expected: Mapping[str, Term]) -> Term:
        """Whether an output is another one."""
        return not_(eq(self.codes[name], zext(expected[name], self.codes[name].width)))


@dataclass(frozen=True)
class BlockKernel(Problem):
    """The loop that the array layer takes for a block quantizer, on one block. Raises Unsupported."""

    unit: QuantizeUnit
    assumed: str = ""

    def posed(self, case: ProofCase) -> Obligation:
        """The loop's answers beside the oracle's, one output after the other."""
        reference, outputs = circuit(self.unit, case), self.made
        check_reference(self, case, reference)
        wrong = or_(outputs.broken, *(outputs.differs(name, reference.terms) for name in reference.terms))
        assumed = [self.assumption, case.assumption, not_(outputs.redone)]
        apart = partial(parts, outputs, reference)
        theirs = list(outputs.codes.values())
        return Obligation(assumed, wrong, reference.roots, theirs, False, self._tried, apart=apart, held=case.held)

    @cached_property
    def made(self) -> BlockCodes:
        """The answers, as terms of the unit's inputs."""
        names = [n for f in self.unit.inputs for n in lanes_of(f)]
        kernel, arguments = self._call(np.zeros((1, len(names)), np.uint32))
        values = Symbols(arguments[0], [var(name, _FP32.width) for name in names])
        ran = run(kernel, values, *arguments[1:])
        codes, (scale,), (again,) = ran.arrays[-3:]
        outputs = [n for f in self.unit.outputs for n in lanes_of(f)]
        table = dict(zip(outputs, [scale, *codes], strict=True))
        return BlockCodes(table, ran.broken, not_(eq(again, const(0, again.width))))

    def _call(self, x: Any) -> tuple[Any, tuple[Any, ...]]:
        """The loop, and its arguments: the last three receive codes, scale, and whether the oracle is asked."""
        unit = self.unit
        plan = block_dispatch.plan(unit.block, unit.profile, unit.policy, unit.values)
        if plan is None:
            raise Unsupported("blocks without a loop")
        kernel, arguments = block_dispatch.row_loop(unit.block.size, plan)
        results = (np.zeros(x.shape, np.uint8), *(np.zeros((1, 1), np.uint8) for _ in range(2)))
        return kernel, (dispatch.read_only(x), *arguments, *results)

    def _tried(self, model: Mapping[str, int]) -> Counterexample | None:
        """A solver's model on the loop itself and the oracle; None if they agree."""
        inputs = tuple(model.get(n, 0) for f in self.unit.inputs for n in lanes_of(f))
        kernel, arguments = self._call(np.array([inputs], np.uint32))
        kernel(*arguments)
        codes, (scale,), (again,) = (x.reshape(-1).tolist() for x in arguments[-3:])
        expected = tuple(int(x) for x in self.unit.answer(inputs))
        got = (scale, *codes)
        return None if again or got == expected else Counterexample(inputs, expected, got)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the definition, with the tables of the loop."""
        kernel, arguments = self._call(np.zeros((1, self.unit.block.size), np.uint32))
        tables = [x.tolist() if isinstance(x, np.ndarray) else x for x in arguments]
        own = {"loop": kernel.__name__, "tables": tables}
        return table_hash({**own, "unit": stored(self.unit), "assumed": self.assumed})


def _lane(name: str, i: int) -> str:
    """The name of an input of element i."""
    return f"{name} {i}" if i else name


def _first(terms: Sequence[Term], names: Sequence[tuple[str, int]], i: int) -> list[Term]:
    """What element i gives, with the inputs of it and the first one exchanged."""
    pairs = [(var(_lane(name, i), width), var(name, width)) for name, width in names]
    return substitute(terms, dict(pairs) | {y: x for x, y in pairs}) if i else list(terms)


# -- loops -------------------------------------------------------------------------------------------------------------


def _codes(unit: OperationUnit, symbols: _Given) -> Call:
    """Of a conversion to codes."""
    from softfloat_ref.arrays.kernels import nearest

    source, fmt, policy = unit.formats[0], unit.out, unit.policy
    if policy.rounding.stochastic and not plans.is_stochastic(fmt, policy, source):
        return _codes_and_flags(unit, symbols)
    loop = (dispatch.words_loop if policy.rounding.stochastic else dispatch.conversion_loop)(source, fmt, policy)
    if loop.kernel is dispatch._codes_by_fp64:
        raise Unsupported("two loops, one after the other")
    if loop.kernel is nearest.half_codes32:  # the processor's own conversion, which takes the place of this loop
        loop = loop._replace(kernel=nearest.nearest_codes32)
    count = _COUNTS.get(loop.kernel.__name__, _LANES)
    x, out = symbols(0, code_dtype(source), count), np.zeros(count, code_dtype(fmt))
    if policy.rounding.stochastic:
        return Call(loop.kernel, (x, _words(unit, symbols, count), out, *loop.rest), (2,))
    return Call(loop.kernel, (x, out, *loop.rest), (1,))


_COUNTS: Final = {"wide_codes32": _FEW, "widened_codes": _FEW, "rounded_codes": 1, "table_codes": 1, "table_values": 1}


def _codes_and_flags(unit: OperationUnit, symbols: _Given) -> Call:
    """Of a conversion to codes and flags: an element at a time, since its ways are many."""
    source, fmt = unit.formats[0], unit.out
    loop = dispatch.generic_loop(source, fmt, unit.policy)
    words = _words(unit, symbols, 1) if unit.random_field else np.zeros(0, np.uint32)
    flags, out = np.zeros(1, np.uint8), np.zeros(1, code_dtype(fmt))
    return Call(loop.kernel, (symbols(0, code_dtype(source), 1), out, flags, words, *loop.rest), (1, 2))


def _values(unit: OperationUnit, symbols: _Given) -> Call:
    """Of float32 values that are rounded in place."""
    loop = dispatch.values_loop(unit.out, unit.policy)
    if loop is None:
        raise Unsupported("values without a loop of their own")
    return Call(loop.kernel, (symbols(0, np.uint32, _LANES), np.zeros(_LANES, np.uint32), *loop.rest), (1,))


def _operation(unit: OperationUnit, symbols: _Given) -> Call:
    """Of codes and flags of an operation, an element at a time."""
    from softfloat_ref.arrays.kernels.operations import operate

    known = op_plans.plan(unit.signature, unit.policy)
    if known is None:
        raise Unsupported("an operation without a loop")
    count = len(unit.formats)
    operands = [symbols(k, np.int64, 1) if k < count else _NOTHING for k in range(3)]
    words = symbols(count, np.int64, 1) if unit.random_field else _NOTHING
    out = (np.zeros(1, np.int64), np.zeros(1, np.uint8))
    return Call(operate, (*known, *operands, words, *out), (len(known) + 4, len(known) + 5))


_CALLS: Final[dict[str, Callable[[OperationUnit, _Given], Call]]] = {
    "codes": _codes,
    "codes and flags": _codes_and_flags,
    "values": _values,
    "operation": _operation,
}


def _words(unit: OperationUnit, symbols: _Given, count: int) -> Any:
    dtype = dispatch.as_word_type(np.zeros(0, np.uint64), unit.policy.random_count).dtype
    return symbols(1, dtype, count)
