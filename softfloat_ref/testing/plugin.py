"""The implementation of the pytest plugin: a suite for a device command, without test files. The options are defined in
_softfloat_ref_pytest, the only module that pytest imports if they are not used."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.writers import text_line
from softfloat_ref.oracle.accumulate import default_accumulator
from softfloat_ref.oracle.operations import get_operation
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.rtl.tolerance import compare_nan
from softfloat_ref.testing.answers import AnswerReader
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.conformance.dots import DotCase, DotConformance
from softfloat_ref.testing.conformance.operation import OperationCase, OperationSuite
from softfloat_ref.testing.conformance.suite import ConformanceSuite, NotConforming
from softfloat_ref.testing.conformance.table import properties
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.testing.dialogue import Broken, Dialogue
from softfloat_ref.units import DotUnit, OperationUnit, Unit, options_of
from softfloat_ref.units.dot import DEFAULT_K

DOT: Final = "dot"
DEFAULT_ACC: Final = default_accumulator()
_OPTIONS: Final = {"policy": "policy", "round": "policy", "set": "policy", "acc": "acc", "k": "k"}  # of units
LEAST_TIMEOUT: Final = 0.01


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
    as_operands, reader = text_line(unit.inputs), AnswerReader(unit)

    def answers(self: Any, cases: Sequence[OperationCase | DotCase]) -> list[Answer]:
        replies = []
        lines = [as_operands(case.inputs) for case in cases]
        for line, text, case in zip(lines, device.ask(lines), cases, strict=True):
            try:
                replies.append(reader.answer(text, case.inputs))
            except DeviceError as e:
                device.fail(str(e), [line])
        return replies

    name = f"{unit.properties()['op']}_device"
    suite: ConformanceSuite[Any, Any, Any] = type(name, (base,), {**attributes, "answers": answers})()
    return suite


class PropertyItem(pytest.Item):
    """One property of the device's suite."""

    def __init__(self, *, suite: ConformanceSuite[Any, Any, Any], **more: Any) -> None:
        super().__init__(**more)
        self.suite = suite

    def runtest(self) -> None:
        self.suite.check(self.name)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, (NotConforming, Broken, Error)):
            kind = "" if isinstance(excinfo.value, NotConforming) else "the device: "
            return f"{kind}{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, f"{self.parent.name if self.parent else ''}: {self.name}"


class DeviceSuite(pytest.Collector):
    """The suite of the device, as pytest collects it."""

    def __init__(self, *, suite: ConformanceSuite[Any, Any, Any], **more: Any) -> None:
        super().__init__(**more)
        self.suite = suite

    def collect(self) -> Iterator[PropertyItem]:
        for name in self.suite.properties:
            yield PropertyItem.from_parent(self, name=name, suite=self.suite)


class DevicePlugin:
    """Registered if --softfloat-dut is given."""

    def __init__(self, config: pytest.Config) -> None:
        self.command = str(config.getoption("softfloat_dut"))
        self.device = Dialogue(self.command, _timeout(config))
        try:
            self.suite = self._suite(config)
            self.reasons = type(self.suite).applicable()
        except Error as e:
            self.device.close()
            raise pytest.UsageError(f"--softfloat: {e}") from None
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = []  # only the suite: no files were named

    def _suite(self, config: pytest.Config) -> ConformanceSuite[Any, Any, Any]:
        op, fmt = config.getoption("softfloat_op"), config.getoption("softfloat_fmt")
        if not op or not fmt:
            raise Error(f"give the operation and its format: --softfloat-{'op' if not op else 'fmt'}=...")
        self.op, self.fmt = DOT if op.strip().lower() == DOT else get_operation(op).name, str(fmt)
        _check_options(config, self.op)
        common = {
            "out": config.getoption("softfloat_out"),
            "compare_nan": compare_nan(config.getoption("softfloat_compare_nan")),
            "flags": not config.getoption("softfloat_no_flags"),
            "max_examples": config.getoption("softfloat_examples"),
        }
        if self.op == DOT:
            acc, k = config.getoption("softfloat_acc"), config.getoption("softfloat_k")
            common |= {"acc": acc or DEFAULT_ACC, "k": DEFAULT_K if k is None else k}
            return dot_suite(self.fmt, self.device, **{**common, "out": common["out"] or "fp32"})
        return operation_suite(self.op, self.fmt, self.device, policy=_policy(config), **common)

    def pytest_report_header(self) -> str:
        """The header line: what is tested."""
        silent = sum(1 for reason in self.reasons.values() if reason)
        return (
            f"softfloat-ref: {self.op} {self.fmt}, device {self.command!r}: "
            f"{len(self.reasons) - silent} properties, {silent} not applicable (-rs shows why)"
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Put the suite's tests after those of files, if any."""
        name = f"softfloat-dut {self.op} {self.fmt}"
        items += session.genitems(DeviceSuite.from_parent(session, name=name, nodeid="softfloat-dut", suite=self.suite))

    def pytest_unconfigure(self) -> None:
        """End the device with the session."""
        self.device.close()


def _timeout(config: pytest.Config) -> float:
    """Seconds per answer. Raises Error for a number out of range."""
    timeout: float = config.getoption("softfloat_timeout")
    if not LEAST_TIMEOUT <= timeout < math.inf:
        raise Error(
            f"--softfloat-timeout={timeout:g}: give the timeout per answer in seconds, {LEAST_TIMEOUT:g} or more"
        )
    return timeout


def _check_options(config: pytest.Config, op: str) -> None:
    """Raises Error for numbers out of range, and for options that do not apply to the operation."""
    for name, what in (("examples", "number of cases per property"), ("k", "number of products")):
        number = config.getoption(f"softfloat_{name}")
        if number is not None and number < 1:
            raise Error(f"--softfloat-{name}={number}: give the {what}, 1 or more")
    taken = options_of(op)
    for name, option in _OPTIONS.items():
        if option not in taken and config.getoption(f"softfloat_{name}") is not None:
            why = "an accumulator has its own roundings" if op == DOT else f"it is for dot, not for {op}"
            raise Error(f"leave --softfloat-{name} out: {why}")


def _policy(config: pytest.Config) -> Policy:
    """The policy of the options. Raises Error."""
    fields = {}
    if (rounding := config.getoption("softfloat_round")) is not None:
        fields["rounding"] = rounding
    for word in config.getoption("softfloat_set") or ():
        usage = "give FIELD=VALUE, such as tininess=before"
        for name, value in assignments.parse(word, f"--softfloat-set {word!r}", usage=usage, separator=None).items():
            fields[name.replace("-", "_")] = int(value) if value.isdigit() and "sr" in name else value
    return get_policy(config.getoption("softfloat_policy"), **fields)
