"""A conversation with a command: some operand lines, their answers, then the next lines, which depend on them.

A device that answers each line as it arrives keeps running. A device that answers only at the end of its input (many
programs fill a buffer first) is restarted for each question, which takes longer.
"""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
import unittest
from collections.abc import Sequence
from typing import Final, NoReturn

from softfloat_ref.base.numbers import seconds
from softfloat_ref.oracle.literals import MAX_LINE
from softfloat_ref.testing.devices import DeviceError, close_all, command_words, end_group, how_ended

_CHUNK: Final = 1 << 15  # bytes written before their answers are read: a pipe holds more
_PATIENCE_S: Final = 2.0  # for the first answer, before assuming that the device answers only at the end


class Broken(BaseException):
    """The device died, hung or printed other text. Not an Exception, so that no search for a simpler case starts."""


class Dialogue:
    """A command that is queried repeatedly. Use as a context manager, or call `close`."""

    def __init__(self, command: str, timeout_s: float = 10.0, *, patience_s: float = _PATIENCE_S) -> None:
        """Starts nothing yet. Raises Error for an invalid command.

        patience_s: how long the first answer may take before the device is assumed to answer only at the end.
        """
        self._words = command_words(command, "the device")
        self.command, self.timeout_s = command, seconds(timeout_s, "timeout_s")
        self.patience_s = seconds(patience_s, "patience_s")
        self.answers_at_once = True
        self._asked = False
        self._broken = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (its stderr; closed in `close`)
        self._rest = b""
        self._got = 0  # number of answers to the last lines written

    def __enter__(self) -> Dialogue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._end()
        self._said.close()

    def ask(self, lines: Sequence[str]) -> list[str]:
        """The answers to these lines, one each. Raises Broken; after that, SkipTest for every call."""
        if self._broken:
            raise unittest.SkipTest("skipped: the device failed before")
        self._got, answers = 0, list[str]()
        try:
            if not self._asked:
                self._first(lines[0])
            for batch in _batches(lines):
                self._got = 0
                answers += self._talk(batch) if self.answers_at_once else self._alone(batch)
        except DeviceError as e:
            # Start with the question without an answer: a device that ended died of that one.
            self.fail(str(e), lines[len(answers) + self._got :])
        return answers

    def fail(self, what: str, lines: Sequence[str]) -> NoReturn:
        """Stop asking: the device broke the protocol when asked these lines. Raises Broken."""
        end = f"; {how_ended(self._process, self._complaints())}" if self._process else ""
        more = f" and {len(lines) - 1} more lines" if len(lines) > 1 else ""
        self._broken = f"{what}{end}; it was asked {lines[0].strip()[:80]!r}{more}"
        self._end()
        raise Broken(self._broken) from None

    def _first(self, line: str) -> None:
        """Find out whether the device answers a line before its input ends."""
        self._asked = True
        try:
            self._start()
            self._write([line])
            self._read(1, min(self.patience_s, self.timeout_s))
        except TimeoutError:
            self.answers_at_once = False
            self._end()

    def _talk(self, lines: Sequence[str]) -> list[str]:
        self._write(lines)
        try:
            return self._read(len(lines), self.timeout_s)
        except TimeoutError:
            raise DeviceError(f"no answer for {self.timeout_s:g} s") from None

    def _alone(self, lines: Sequence[str]) -> list[str]:
        """Ask these lines in a new process."""
        self._start()
        self._write(lines)
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            answers = self._read(len(lines), self.timeout_s)
        except TimeoutError:
            raise DeviceError(f"no answer for {self.timeout_s:g} s after its input ended") from None
        self._end()
        return answers

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as e:
            raise DeviceError(f"{self.command!r} cannot be started: {e.strerror or e}") from None
        self._rest = b""

    def _write(self, lines: Sequence[str]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        data = memoryview("".join(lines).encode("ascii"))
        try:
            while data:
                data = data[self._process.stdin.write(data) :]
        except OSError:
            raise DeviceError("it closed its input") from None

    def _read(self, count: int, timeout_s: float) -> list[str]:
        """Read `count` lines. Raises TimeoutError if nothing arrives in time, DeviceError at the end of the output."""
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor, answers = self._process.stdout.fileno(), list[str]()
        limit = time.monotonic() + timeout_s
        while True:
            *whole, self._rest = self._rest.split(b"\n")
            answers += [line.decode("ascii", "replace") for line in whole if line.strip()]
            self._got = len(answers) if len(answers) < count else 0
            if len(answers) > count:
                raise DeviceError(f"it answered more lines than it was asked: {answers[count][:80]!r}")
            if len(answers) == count:
                return answers
            if len(self._rest) > MAX_LINE:
                raise DeviceError(f"it printed a line of more than {MAX_LINE} characters")
            left = limit - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError
            chunk = os.read(descriptor, 1 << 16)
            if not chunk and self._rest.strip():
                chunk = b"\n"  # a last line without a line end
            if not chunk:
                raise DeviceError(f"it closed its output {count - len(answers)} answers too early")
            limit = time.monotonic() + timeout_s
            self._rest += chunk

    def _complaints(self) -> bytes:
        self._said.seek(0)
        return self._said.read()[-2000:]

    def _end(self) -> None:
        if self._process is None:
            return
        end_group(self._process)
        close_all(self._process.stdin, self._process.stdout)
        self._process = None


def _batches(lines: Sequence[str]) -> list[list[str]]:
    """The lines in batches that fit into a pipe."""
    batches: list[list[str]] = [[]]
    size = 0
    for line in lines:
        size += len(line)
        if size > _CHUNK and batches[-1]:
            batches.append([])
            size = len(line)
        batches[-1].append(line)
    return batches
