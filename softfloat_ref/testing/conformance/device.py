"""Suites whose model is a command that speaks lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softfloat_ref.golden.writers import text_line
from softfloat_ref.oracle.operations import get_operation
from softfloat_ref.testing.check import parse_answer
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.conformance.dots import DotCase, DotConformance
from softfloat_ref.testing.conformance.operation import OperationCase, OperationSuite
from softfloat_ref.testing.conformance.suite import ConformanceSuite
from softfloat_ref.testing.conformance.table import properties
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.testing.dialogue import Dialogue
from softfloat_ref.units import DotUnit, OperationUnit, Unit

DOT = "dot"


def operation_suite(op: str, fmt: str, device: Dialogue, **attributes: Any) -> ConformanceSuite[Any, Any, Any]:
    """The suite of an operation, asking the device. attributes: as of OperationSuite. Raises Error."""
    unit = OperationUnit.make(op, fmt, attributes.get("out"), attributes["policy"])
    of = {"op": unit.op, "fmt": unit.formats, "out": unit.out, "properties": properties(unit.op)}
    return _suite(OperationSuite, unit, device, attributes | of)


def dot_suite(fmt: str, device: Dialogue, **attributes: Any) -> ConformanceSuite[Any, Any, Any]:
    """The suite of a dot product, asking the device. attributes: as of DotConformance. Raises Error."""
    unit = DotUnit.make(fmt, attributes["out"], attributes["acc"], attributes["k"])
    return _suite(DotConformance, unit, device, attributes | {"fmt": fmt})


def _suite(base: type, unit: Unit, device: Dialogue, attributes: dict[str, Any]) -> ConformanceSuite[Any, Any, Any]:
    as_operands = text_line(unit.inputs)

    def answers(self: Any, cases: Sequence[OperationCase | DotCase]) -> list[Answer]:
        replies = []
        lines = [as_operands(case.inputs) for case in cases]
        for line, text, case in zip(lines, device.ask(lines), cases, strict=True):
            try:
                replies.append(parse_answer(text, unit, case.inputs))
            except DeviceError as e:
                device.fail(str(e), [line])
        return replies

    name = f"{unit.properties()['op']}_device"
    suite: ConformanceSuite[Any, Any, Any] = type(name, (base,), {**attributes, "answers": answers})()
    return suite


def known_operation(name: str) -> str:
    """The name of an operation, or dot. Raises Error, listing the closest ones."""
    return DOT if name.strip().lower() == DOT else get_operation(name).name
