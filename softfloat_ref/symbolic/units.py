"""Units as circuits of terms: the oracle's own functions, read for all inputs at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, Final, NamedTuple

from softfloat_ref.oracle import codec, exact, operations
from softfloat_ref.oracle.accumulate.evaluate import TreeEvaluator
from softfloat_ref.oracle.blocks.scales import largest_magnitude
from softfloat_ref.oracle.codec import _decode, _decode_explicit, encoder
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.formula import DIFFERENCE, QUOTIENT, SUM, Formula
from softfloat_ref.oracle.operations.table import Context, Operation
from softfloat_ref.oracle.policies import Unnormals
from softfloat_ref.symbolic.bounds import Fact, Infeasible
from softfloat_ref.symbolic.build import and_, eq, extract, ite, not_, or_, selected
from softfloat_ref.symbolic.circuit import Adder, Circuit, CircuitPort, ProofCase
from softfloat_ref.symbolic.dots import DotSums, Substitutes
from softfloat_ref.symbolic.integers import SymInt, bit, bits, free
from softfloat_ref.symbolic.paths import Path, Unsupported, at, here
from softfloat_ref.symbolic.reader import call, returns
from softfloat_ref.symbolic.reading import (
    Collection,
    Returned,
    current_reading,
    full_name,
    joined,
    reading,
    substituting,
)
from softfloat_ref.symbolic.shortcuts import (
    aligned_sum,
    far_sum,
    fixed_point_sum,
    largest_by_code,
    near_sum,
    sum_of_two,
)
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, const, var
from softfloat_ref.symbolic.values import symbolic
from softfloat_ref.units.dot import DotUnit
from softfloat_ref.units.mixed import MixedUnit
from softfloat_ref.units.operation import OperationUnit
from softfloat_ref.units.quantize import QuantizeUnit
from softfloat_ref.units.selection import SelectionUnit
from softfloat_ref.units.unit import Field, Unit, lanes_of


def _decode_known(outer: Mapping[str, Any], code: Any) -> list[Returned]:
    """A decoder that remembers values."""
    return [Returned(here(), call(_decode, code, outer["fmt"], outer["flush"]))]


_PARTLY_SUPPORTED: Final = {  # the kinds of units of which some are not read
    "block_operation": "operations on blocks",
    "vector": "functions of vectors",
}
_FIXED_POINT_BITS: Final = 64  # most exponents of a format that is added in fixed point
_SAVED_BITS: Final = 64  # bits that a sum with a sticky bit is shorter
MAX_TABLE: Final = 12  # bits of an operand whose results are tabulated
SUBSTITUTES: Final[dict[str, Callable[..., list[Returned]]]] = {
    f"{codec.__name__}.decoder.<locals>.decode_known": _decode_known,
    # from no symbol
    full_name(TreeEvaluator.make_rounding): lambda outer, step, to: [Returned(here(), step.make_rounding(to))],
    f"{codec.__name__}.check_code": lambda outer, code, fmt: [Returned(here(), code)],  # of as many bits, by its port
}


class Way(NamedTuple):
    """A value of one kind, and the inputs that give it."""

    path: Path
    value: Any


def ports(fields: Sequence[Field]) -> tuple[CircuitPort, ...]:
    """The ports of fields."""
    meanings = {f.name: ", ".join(f"{k} {name}" for k, name in enumerate(f.codes)) for f in fields}
    return tuple(CircuitPort(f.name, f.width, f.lanes, f.format or meanings[f.name]) for f in fields)


def lane_widths(fields: Iterable[Field]) -> dict[str, int]:
    """The widths of the lanes of fields, by name."""
    return {name: f.width for f in fields for name in lanes_of(f)}


def inputs_of(unit: Unit) -> list[Any]:
    """The codes of a unit's inputs, free."""
    return [free(var(name, width)) for name, width in lane_widths(unit.inputs).items()]


def circuit(unit: Unit, case: ProofCase | None = None, short: bool = False, shortcuts: bool = True) -> Circuit:
    """What a unit computes, as terms; with a case, for its inputs only: elsewhere any value. short: in sums, a number
    far below the other one is a sticky bit, as in circuits. shortcuts: functions may stand in place of some of the
    oracle's (shortcuts.py). Raises Unsupported."""
    substitutes = {**SUBSTITUTES, **(_shortcuts(unit, case) if shortcuts else {})}
    with reading(Collection(substitutes, short=short)) as collected:
        try:
            answers = answer(unit, inputs_of(unit), case)
        except Unsupported as e:
            if unit.kind not in _PARTLY_SUPPORTED:
                raise
            raise Unsupported(f"{_PARTLY_SUPPORTED[unit.kind]} are read in part only ({e})") from None
    lanes = zip(lane_widths(unit.outputs).items(), answers, strict=True)
    terms = {name: bits(x, width) for (name, width), x in lanes}
    read = Circuit(unit.name, ports(unit.inputs), ports(unit.outputs), terms, collected.names)
    return replace(read, undefined=collected.undefined, rounded=collected.rounded, sums=collected.sums)


@singledispatch
def answer(unit: Unit, inputs: Sequence[Any], case: ProofCase | None) -> Sequence[Any]:
    """The outputs for symbolic inputs: by reading `answer` of the unit."""
    outputs: Sequence[Any] = call(unit.answer, inputs)
    return outputs


# -- operations ------------------------------------------------------------------------------------------------------


class Combination(NamedTuple):
    """Operands of certain kinds. guard: the inputs that have them."""

    guard: Term
    path: Path
    values: list[Any]

    @property
    def finite(self) -> bool:
        """Whether all are finite numbers."""
        return all(isinstance(x.kind, int) and x.kind == FINITE for x in self.values)


@answer.register
def _operation(unit: OperationUnit, inputs: Sequence[Any], case: ProofCase | None) -> Sequence[Any]:
    """Each combination of kinds of the operands by itself, so that decisions on these are taken before."""
    arity = len(unit.formats)
    word = inputs[arity] if len(inputs) > arity else 0
    operation, ctx = unit.signature.operation, operations.context(unit.signature, unit.policy)
    if operation.result in ("same", "class"):
        return tuple(call(operation.function, ctx, *inputs[:arity]))
    if (zeros := operations.appended_zeros(unit.signature, unit.policy)) is not None:
        return inputs[0] << zeros, 0
    if operation.curve is not None and operation.formula is None:
        return _tabulated(unit, inputs)
    with substituting(_short_sums(unit, inputs) if current_reading().short and case is None else {}):
        return _of_combinations(unit, inputs, operations.context(unit.signature, unit.policy), word, case)


def _of_combinations(
    unit: OperationUnit, inputs: Sequence[Any], ctx: Context, word: Any, case: ProofCase | None
) -> Sequence[Any]:
    operation = unit.signature.operation
    encode = encoder(unit.out, operation.rounded_as(unit.policy))
    ways: list[Returned] = []
    for combination in combinations(unit, inputs):
        if case is not None and case.finite not in (None, combination.finite):
            continue
        path = combination.path
        if case is not None and case.distance is not None:
            path = _at_distance(unit, combination, case.distance)
        for way in _outcomes(path, operation, ctx._replace(random_bits=word), combination.values):
            with at(way.path):
                try:
                    code, flags = call(encode, way.value[0], word)
                except Infeasible:  # nothing is returned: an error is raised
                    continue
                ways.append(Returned(here(), (code, way.value[1] | flags)))
    return tuple(joined(ways[::-1]))  # numbers first, as circuits and programs take them


@answer.register
def _selection(unit: SelectionUnit, inputs: Sequence[Any], case: ProofCase | None) -> Sequence[Any]:
    """Each part by itself; the control fields select one. With a case of a part, that part."""
    by_part: list[tuple[Term, list[Term]]] = []
    every_field: list[Term] = []
    widths = [f.width for f in unit.outputs for _ in range(f.lanes)]
    chosen = unit.parts if case is None or case.part is None else (unit.parts[case.part],)
    for part in chosen:
        before = len(current_reading().errors)
        own = own_inputs(unit, part, inputs)
        answers = _placed(unit, part, answer(part, own, None if case is None else case.of_part))
        where = selects(unit, part, inputs)
        current_reading().errors[before:] = [(and_(where, w), text) for w, text in current_reading().errors[before:]]
        every_field.append(where)
        codes = [bits(x, width) for x, width in zip(answers, widths, strict=True)]
        by_part.append((selects(unit, part, inputs, False), codes))
    current_reading().errors.append((not_(or_(*every_field)), "control fields of no part"))
    *others, (_, codes) = by_part
    for where, own_codes in reversed(others):
        codes = [ite(where, a, b) for a, b in zip(own_codes, codes, strict=True)]
    return [free(x) for x in codes]


def selects(unit: SelectionUnit, part: Unit, inputs: Sequence[Any], all_fields: bool = True) -> Term:
    """Whether the control fields select a part; without all_fields, by those that have several codes, among parts."""
    fields = zip(unit.controls.values(), inputs, unit.codes(part), strict=False)
    return and_(*(eq(x.node, const(code, x.node.width)) for names, x, code in fields if all_fields or len(names) > 1))


@singledispatch
def own_inputs(unit: SelectionUnit, part: Any, inputs: Sequence[Any]) -> list[Any]:
    """The operands and the random words of a part, without what stands above them: the parts have the same operands."""
    own, more = list(inputs[1 : 1 + part.operand_width]), inputs[1 + part.operand_width :]
    random = part.random_field
    for k, word in enumerate(more):
        width = random.width if random and k < random.lanes else 0
        current_reading().errors.append((bit(word >> width != 0), "inputs of no case"))
        own += [free(extract(word.node, width - 1, 0))] if width else []
    return own


@own_inputs.register
def _padded_inputs(unit: MixedUnit, part: OperationUnit, inputs: Sequence[Any]) -> list[Any]:
    """They are padded."""
    used, undefined = unit.used(part), []
    named = {f.name: x for f, x in zip(unit.inputs, inputs, strict=True) if f.role != "control"}
    operands = [
        returns(unit.unpadded, named[n], fmt, part) for n, fmt in zip(unit.place(part), part.formats, strict=True)
    ]
    own = [joined([way for way in ways if way.value is not None]) for ways in operands]
    undefined += [way.path.whole for ways in operands for way in ways if way.value is None]
    undefined += [not_(eq(x.node, const(0, x.node.width))) for name, x in named.items() if name not in used]
    if random := part.random_field:
        word = named[random.name]
        undefined += [bit(word >> random.width != 0)]
        own.append(free(extract(word.node, random.width - 1, 0)))
    current_reading().errors.extend((term, "inputs of no case") for term in undefined)
    return own


@singledispatch
def _placed(unit: SelectionUnit, part: Any, answers: Sequence[Any]) -> Sequence[Any]:
    """The answers of a part as the unit's."""
    return answers


@_placed.register
def _padded(unit: MixedUnit, part: OperationUnit, answers: Sequence[Any]) -> Sequence[Any]:
    code, flags = answers
    return call(unit.padded, code, part.out, unit.results[0].width), flags


def _tabulated(unit: OperationUnit, inputs: Sequence[Any]) -> Sequence[Any]:
    """A function of real numbers, which no integer arithmetic of bounded size is: the oracle's answer to each code."""
    (field, *others) = unit.inputs
    if others or field.width > MAX_TABLE:
        raise Unsupported(
            f"{unit.op} of {unit.formats[0].name} is no arithmetic on integers; functions are read as tables, of one"
            f" operand of at most {MAX_TABLE} bits"
        )
    rows = [unit.answer((code,)) for code in range(1 << field.width)]
    index = inputs[0].node
    return [free(selected([const(row[k], f.width) for row in rows], index)) for k, f in enumerate(unit.outputs)]


def combinations(unit: OperationUnit, inputs: Sequence[Any]) -> list[Combination]:
    """The operands of an operation, by their kinds."""
    flush = unit.signature.operation.flushes and unit.policy.flush_inputs
    rule = unit.policy.unnormals
    operands = [decoded(x, f, flush, rule) for x, f in zip(inputs, unit.formats, strict=False)]
    combined = []
    for ways in itertools.product(*operands):
        guard = and_(*(w.path.guard for w in ways))
        facts = tuple(f for w in ways for f in w.path.facts)
        if guard is not FALSE:
            path = Path(TRUE, guard, facts, frozenset([guard]))
            combined.append(Combination(guard, path, [w.value for w in ways]))
    return combined


def is_sum_of_two(unit: OperationUnit) -> bool:
    """Whether an operation adds two terms."""
    formula = unit.signature.operation.formula
    return formula is not None and len(formula.terms) == 2


def is_product(unit: OperationUnit) -> bool:
    """Whether an operation multiplies two operands of formats with subnormal numbers, and does nothing else."""
    formula = unit.signature.operation.formula
    if formula is None or formula.is_sum or formula != Formula(formula.terms):
        return False
    return len(set(formula.terms[0].factors)) == 2 and all(f.mantissa_bits and f.exponent_bits for f in unit.formats)


def is_quotient(unit: OperationUnit) -> bool:
    """Whether an operation divides an operand by another, of formats with subnormal numbers."""
    divides = unit.signature.operation.formula == QUOTIENT
    return divides and all(f.mantissa_bits and f.exponent_bits for f in unit.formats)


def distance(unit: OperationUnit, finite: Combination) -> Any:
    """The exponent of the first term of a sum of two, less that of the second."""
    terms = unit.signature.operation.formula.terms  # type: ignore[union-attr]
    first, second = (sum(finite.values[i].exponent for i in term.factors) for term in terms)
    return first - second


def far(unit: OperationUnit) -> tuple[int, int, int]:
    """From which distance of the exponents on the second term of a sum is only a sticky bit, up to which one the first
    is, and how many bits below the other one that bit stands."""
    more = unit.out.precision + unit.policy.random_count + 3
    terms = unit.signature.operation.formula.terms  # type: ignore[union-attr]
    first, second = (sum(unit.formats[i].precision for i in term.factors) for term in terms)
    return second + more, -(first + more), more


def _short_sums(unit: OperationUnit, inputs: Sequence[Any]) -> dict[str, Callable[..., list[Returned]] | None]:
    """The sum of two terms of which one may be only a sticky bit, if that saves many bits."""
    finite = [c for c in combinations(unit, inputs) if c.finite]
    if len(finite) != 1 or not is_sum_of_two(unit):
        return {}
    from_here, to_here, more = far(unit)
    with at(finite[0].path):
        d = distance(unit, finite[0])
    if not isinstance(d, SymInt) or (d.hi - d.lo) - (from_here - to_here) < _SAVED_BITS:
        return {}

    def near(outer: Mapping[str, Any], a: Any, b: Any, sign: Any) -> list[Returned]:
        with substituting({full_name(exact.add): None}):
            return returns(exact.add, a, b, sign)

    return {
        full_name(exact.add): lambda outer, a, b, sign: returns(sum_of_two, a, b, sign, from_here, to_here, more),
        full_name(near_sum): near,
    }


@singledispatch
def _shortcuts(unit: Unit, case: ProofCase | None) -> Substitutes:
    """What stands in place of functions of the oracle for a unit, or for a case of it."""
    return {}


@_shortcuts.register
def _of_sums(unit: OperationUnit, case: ProofCase | None) -> Substitutes:
    """The exact sum where one term is only a sticky bit, or of an adder."""
    if case is not None and case.adder is not None:
        function, place = _adders(unit)[case.adder]
        return {full_name(exact.add): lambda outer, a, b, sign: returns(function, a, b, sign, place)}
    if case is None or case.distance is None:
        return {}
    from_here, to_here, more = far(unit)
    if not (case.distance[0] >= from_here or case.distance[1] <= to_here):
        return {}
    first = case.distance[0] >= from_here
    return {full_name(exact.add): lambda outer, a, b, sign: returns(far_sum, a, b, sign, first, more)}


def adders(unit: Unit) -> Sequence[Adder]:
    """The ways in which circuits may add the two numbers that a unit adds or subtracts."""
    return tuple(_adders(unit)) if isinstance(unit, OperationUnit) else ()


def _adders(unit: OperationUnit) -> dict[Adder, tuple[Callable[..., Any], int]]:
    """The function of each adder, and where its last bit stands: below that of the larger number, or its exponent."""
    (fmt, *others), formula = unit.formats, unit.signature.operation.formula
    if formula not in (SUM, DIFFERENCE) or others != [fmt] or fmt.explicit_bit or not fmt.exponent_bits:
        return {}
    more = max(unit.out.precision - fmt.precision, 0) + unit.policy.random_count + 3
    ways: dict[Adder, tuple[Callable[..., Any], int]] = {"aligned": (aligned_sum, more)}
    if fmt.emax - fmt.emin <= _FIXED_POINT_BITS:
        ways["fixed-point"] = (fixed_point_sum, fmt.emin - fmt.mantissa_bits)
    return ways


@_shortcuts.register
def _of_dots(unit: DotUnit, case: ProofCase | None) -> Substitutes:
    """Sums in fixed point, and those of two with a sticky bit."""
    return DotSums(None if case is None else case.distance).substitutes


@_shortcuts.register
def _of_parts(unit: SelectionUnit, case: ProofCase | None) -> Substitutes:
    """Those of the part that control fields select; without a case, those that all parts have."""
    if case is None or case.part is None:
        return _shortcuts(unit.parts[0], None)
    return _shortcuts(unit.parts[case.part], case.of_part)


@_shortcuts.register
def _of_blocks(unit: QuantizeUnit, case: ProofCase | None) -> Substitutes:
    """The largest magnitude, if all values that it is taken of are of the unit's format."""
    if unit.profile.inf == "binade" or unit.values.subnormals == "normal":
        return {}
    return {full_name(largest_magnitude): lambda outer, values: returns(largest_by_code, values, unit.values)}


def _at_distance(unit: OperationUnit, finite: Combination, limits: tuple[int, int]) -> Path:
    """The path on which the exponents are so far apart."""
    with at(finite.path):
        d = distance(unit, finite)
    fact = Fact(d.sum, *limits) if isinstance(d, SymInt) else None
    return finite.path._replace(facts=(*finite.path.facts, fact)) if fact else finite.path


def _outcomes(path: Path, operation: Operation, ctx: Context, values: list[Any]) -> list[Way]:
    """The outcomes for operands, by their kind."""
    with at(path):
        try:
            outcomes = returns(operations.exactly, operation, ctx, values)
        except Infeasible:
            return []
    ways = []
    for way in by_kind(outcomes, _kind_of):
        inner = and_(path.whole, way.path.guard)
        ways.append(Way(Path(inner, inner, way.path.facts, way.path.known | {inner}), way.value))
    return ways


def decoded(code: Any, fmt: Format, flush: bool, unnormals: Unnormals = Unnormals.INVALID) -> list[Way]:
    """The values of a code, one of each kind."""
    if fmt.explicit_bit:
        ways = returns(_decode_explicit, code, fmt, flush, unnormals == Unnormals.VALUE)
    else:
        ways = returns(_decode, code, fmt, flush)
    return [Way(w.path, w.value) for w in by_kind(ways, lambda x: x.kind)]


def _kind_of(outcome: Any) -> Any:
    """The kind of an outcome; zeros that are always zero are a kind."""
    x = outcome[0]
    return x.kind, isinstance(x.significand, int) and x.significand == 0


def by_kind(outcomes: Sequence[Returned], kind: Callable[[Any], Any]) -> list[Way]:
    """Outcomes, those of one kind as one; a symbolic kind is one."""
    kinds: dict[Any, list[Returned]] = {}
    for outcome in outcomes:
        own_kind = kind(outcome.value)
        kinds.setdefault("any" if symbolic(own_kind) else own_kind, []).append(outcome)
    return [_one(group) for group in kinds.values()]


def _one(group: list[Returned]) -> Way:
    """Outcomes of one kind as one, chosen by their guards."""
    if len(group) == 1:
        return Way(*group[0])
    guard = or_(*(r.path.guard for r in group))
    return Way(Path(guard, guard, here().facts, frozenset([guard])), joined(group))
