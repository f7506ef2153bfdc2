"""A range that was read, for the operands of a unit: tests of the codes of a case."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.oracle import code_sets
from softfloat_ref.oracle.code_sets import CLASSES, CodeRange, CodeSet, common
from softfloat_ref.oracle.exact import FINITE, NAN
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.units.ranges.grammar import Joined, Range, RangeTest, Subject
from softfloat_ref.units.ranges.nodes import Among, Node, Ordered, Tree
from softfloat_ref.units.unit import Field

Places = Mapping[str, tuple[Field, int]]  # fields by name, with the place of the first code


def bind(tree: Range, fields: Places) -> Node:
    """The tests of a range. Raises Error for those that do not fit the fields."""
    if isinstance(tree, Joined):
        return Tree(tree.how, tuple(bind(p, fields) for p in tree.parts))
    field, first = fields[tree.subject.name]
    places = _lanes(tree.subject, tree.quantifier, field, first)
    every = tree.quantifier != "any"
    if isinstance(tree.right, Subject):
        return _ordered(tree, places, every, field, fields)
    codes = _codes_of(tree, field)
    if tree.relation != "is not" and (tree.subject.function, tree.relation) != ("bits", "!="):
        return Among(places, every, codes)
    return Tree("not", (Among(places, not every, codes),))


def _lanes(subject: Subject, quantifier: str, field: Field, first: int) -> tuple[int, ...]:
    """The places of the codes that a test is about. Raises Error."""
    name = subject.name
    if subject.lane is not None:
        if subject.lane >= field.lanes:
            raise Error(f"where: {name} has {field.lanes} lanes, the first one is {name}[0]")
        if quantifier:
            raise Error(f"where: {name}[{subject.lane}] is one lane; leave {quantifier!r} out")
        return (first + subject.lane,)
    if field.lanes > 1 and not quantifier:
        raise Error(f"where: {name} has {field.lanes} lanes: say 'every {name}', 'any {name}' or '{name}[0]'")
    if field.lanes == 1 and quantifier:
        raise Error(f"where: {name} has one lane; leave {quantifier!r} out")
    return tuple(range(first, first + field.lanes))


def _format(field: Field) -> Format:
    return field.fmt or get_format(f"u{field.width}")


def _codes_of(test: RangeTest, field: Field) -> CodeSet:
    """The codes of which a test holds, but for `is not` and bits that differ. Raises Error."""
    assert not isinstance(test.right, Subject)
    fmt, function, right = _format(field), test.subject.function, test.right
    if test.relation in ("is", "is not"):
        if function:
            raise Error(f"where: {test.text()}: classes are of operands, not of {function}")
        return _of_class(right[0], field, fmt)
    if function == "bits":
        return _with_bits(test, right, fmt)
    if test.relation == "in":
        return common(*(_bounded(test, how, x, fmt) for how, x in zip((">=", "<="), right, strict=True)))
    return _bounded(test, test.relation, right[0], fmt)


def _of_class(name: str, field: Field, fmt: Format) -> CodeSet:
    if name not in CLASSES:
        example = f"{field.name} = 0x{name}"
        code = all(x in "0123456789abcdefABCDEF" for x in name)
        raise unknown("class", name, CLASSES, f"; a code is compared: {example} (where)" if code else " (where)")
    if field.fmt is None:
        raise Error(f"where: {field.name} has no format, so no classes; compare its code: {field.name} = 0x0")
    return code_sets.of_class(fmt, name)


def _with_bits(test: RangeTest, right: tuple[str, ...], fmt: Format) -> CodeSet:
    """The codes with those bits. Raises Error."""
    (high, low), (word, *_) = test.subject.bits, right
    if test.relation not in ("=", "!="):
        raise Error(f"where: {test.text()}: bits are compared with = and !=")
    if high >= fmt.width:
        raise Error(f"where: {test.text()}: {test.subject.name} has bits {fmt.width - 1}..0")
    try:
        number = int(word, 0)
    except ValueError:
        number = -1
    if number < 0 or number >> high - low + 1:
        raise Error(f"where: {test.text()}: not a number of {high - low + 1} bits, such as 0x0")
    return (CodeRange(0, (1 << fmt.width) - 1, (1 << high + 1) - (1 << low), number << low),)


def _bounded(test: RangeTest, comparison: str, bound: str, fmt: Format) -> CodeSet:
    """The codes that compare so with a number, or, if that is written 0x3c00, with a code. Raises Error."""
    function, name = test.subject.function, test.subject.name
    is_code = "x" in bound.lower() and not set(bound.lower()) & {".", "p"}
    if is_code and bound[0] in "+-":
        raise Error(f"where: a code has no sign; write {bound}p0 for the number, or {bound[1:]} for the code")
    code = int(bound, 16) if is_code else None
    if function == "exponent":
        _check_exponents(fmt, name)
        if code is None and not bound.isdecimal():
            raise Error(f"where: exponent({name}) is a stored field, a number from 0; {bound} is not")
        return code_sets.compared_exponents(fmt, comparison, int(bound) if code is None else code)
    if code is not None:
        if code >> fmt.width:
            raise Error(f"where: {bound} does not fit {name}, which has {fmt.width} bits")
        if function and fmt.twos_complement:
            raise Error(f"where: {test.text()}: in two's complement, abs({name}) is compared with a number, not a code")
        return code_sets.compared_codes(fmt, comparison, code, bool(function))
    number = parse_number(bound, "where")
    if isinstance(number, Fraction):
        return code_sets.compared_values(fmt, comparison, number, bool(function))
    if number.kind == NAN:
        raise Error(f"where: nothing compares with nan; say {name} is nan")
    value = number.as_fraction() if number.kind == FINITE else -math.inf if number.sign else math.inf
    return code_sets.compared_values(fmt, comparison, value, bool(function))


def _check_exponents(fmt: Format, name: str) -> None:
    if not fmt.exponent_bits:
        raise Error(f"where: {name}, of {fmt.name}, has no exponent")


def _ordered(test: RangeTest, places: tuple[int, ...], every: bool, field: Field, fields: Places) -> Ordered:
    """A comparison of two operands. Raises Error."""
    right = test.right
    assert isinstance(right, Subject)
    other, first = fields[right.name]
    (place, *_) = _lanes(right, "", other, first)
    fmt, by = _format(field), test.subject.function
    if _format(other) != fmt or right.function != by or by == "bits":
        raise Error(f"where: {test.text()}: two operands of one format are compared, by value, abs or exponent")
    if by == "exponent":
        _check_exponents(fmt, right.name)
    if by == "abs" and fmt.twos_complement:
        raise Error(f"where: {test.text()}: in two's complement, abs is compared with numbers only")
    return Ordered(places, every, test.relation, place, {"abs": "magnitude", "": "value"}.get(by, by), fmt)
