"""Suites whose model is a command that speaks lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from softfloat_ref.golden.writers import text_line
from softfloat_ref.oracle.operations import get_operation, signature
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.testing.check import parse_answer
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.conformance.dots import DotCase, DotConformance
from softfloat_ref.testing.conformance.operation import Case, OperationSuite
from softfloat_ref.testing.conformance.suite import Suite
from softfloat_ref.testing.conformance.table import properties
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.testing.dialogue import Dialogue
from softfloat_ref.units import DotUnit, OperationUnit, Unit

DOT = "dot"


def operation_suite(op: str, fmt: str, device: Dialogue, **attributes: Any) -> Suite[Any, Any, Any]:
    """The suite of an operation, asking the device. attributes: as of OperationSuite. Raises Error."""
    sig = signature(op, fmt, attributes.get("out"))
    policy: Policy = attributes["policy"]
    ask = _asker(device, OperationUnit(sig.operation.name, sig.formats, sig.out, policy))

    def answers(self: Any, cases: Sequence[Case]) -> list[Answer]:
        return ask([c.inputs for c in cases])

    body = {
        **attributes,
        "op": op,
        "fmt": sig.formats,
        "out": sig.out,
        "answers": answers,
        "properties": properties(sig.operation.name),
    }
    made: Suite[Any, Any, Any] = type(f"{op}_device", (OperationSuite,), body)()
    return made


def dot_suite(fmt: str, device: Dialogue, **attributes: Any) -> Suite[Any, Any, Any]:
    """The suite of a dot product, asking the device. attributes: as of DotConformance. Raises Error."""
    ask = _asker(device, DotUnit.make(fmt, attributes["out"], attributes["acc"], attributes["k"]))

    def answers(self: Any, cases: Sequence[DotCase]) -> list[Answer]:
        return ask([c.inputs for c in cases])

    made: Suite[Any, Any, Any] = type("dot_device", (DotConformance,), {**attributes, "fmt": fmt, "answers": answers})()
    return made


def _asker(device: Dialogue, unit: Unit) -> Callable[[Sequence[tuple[int, ...]]], list[Answer]]:
    as_operands = text_line(unit.inputs)

    def ask(inputs: Sequence[tuple[int, ...]]) -> list[Answer]:
        found = []
        lines = [as_operands(x) for x in inputs]
        for line, text, x in zip(lines, device.ask(lines), inputs, strict=True):
            try:
                found.append(parse_answer(text, unit, x))
            except DeviceError as e:
                device.fail(str(e), [line])
        return found

    return ask


def known_operation(name: str) -> str:
    """The name of an operation, or dot. Raises Error, listing the closest ones."""
    return DOT if name.strip().lower() == DOT else get_operation(name).name
