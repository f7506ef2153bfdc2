"""Devices under test that speak lines: a command that reads operand lines and answers `result [flags]` lines.

The command's input is fed as fast as it reads, and its answers are read as they arrive. A device that dies,
hangs, prints anything else, too few or too many lines, or answers before it has read anything, raises a DeviceError
that describes the fault.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import IO, Final

from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.numbers import seconds
from softfloat_ref.oracle.literals import MAX_LINE

_CHUNK: Final = 1 << 16
_MAX_STDERR: Final = 2000
_BATCH: Final = 512
_PIPE_BYTES: Final = 4096  # bytes that a writable pipe accepts without blocking
_JOIN_S: Final = 5.0
_SHELL_WORDS: Final = frozenset(
    ("|", "||", "|&", "&", "&&", ";", "<", "<<", "<<<", ">", ">>", "2>", "2>>", "2>&1", "&>", ">&2", "1>&2")
)
_MAX_WAITING: Final = 4096  # questions kept, to name the one without an answer
_MAX_QUOTED: Final = 3  # answers quoted in a report of too many answers


class DeviceError(Exception):
    """The device broke the protocol: what happened, after how many answers."""


class Late(DeviceError):
    """The time limit passed. The device has not ended, so there is no exit code to report."""


def command_words(command: str, what: str) -> list[str]:
    """The words of a device's command. Raises Error if it is empty, or if it needs a shell.

    what: the command's name in messages, such as --dut.
    """
    try:
        words = shlex.split(command)
    except ValueError as e:
        raise Error(f"{what} {command[:80]!r}: {e}") from None
    if not words:
        raise Error(f"{what} is empty; give a command that reads operand lines and answers result lines")
    if shell := [x for x in _as_typed(command) if x in _SHELL_WORDS]:
        raise Error(f"{what} {command[:80]!r}: commands run without a shell, which {shell[0]!r} needs; use sh -c '...'")
    return words


def check_startable(command: str) -> None:
    """Raise Error for a command that obviously cannot be started."""
    words = command_words(command, "--dut")
    if shutil.which(words[0]) is None:
        raise Error(f"--dut {command!r}: cannot be started: no such program")


def _as_typed(command: str) -> list[str]:
    """The words with their quotes, because a quoted ';' belongs to the device; no words if they cannot be parsed."""
    try:
        return shlex.split(command, posix=False)
    except ValueError:
        return []


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session, and its children, except those with a session of their own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def close_all(*streams: IO[bytes] | None) -> None:
    """Close a process's pipes, broken ones too."""
    for stream in streams:
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def how_ended(process: subprocess.Popen[bytes], complaints: bytes = b"") -> str:
    """For reports: the exit code or signal, and the device's last line on stderr."""
    try:
        code = process.wait(1.0)
    except subprocess.TimeoutExpired:
        return "it is still running"
    text = f"it died of signal {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}"
    stderr_lines = complaints.decode("utf-8", "replace").strip().splitlines()
    return f"{text}; its last line on stderr: {stderr_lines[-1][:200]}" if stderr_lines else text


class _QuestionTally:
    """The number of questions a device was given and of lines it answered, with enough of both to quote them.

    Both threads write here, each into its own fields; one thread may append to a deque while another pops.
    """

    def __init__(self) -> None:
        self.fed = 0
        self.answered = 0
        self._waiting: deque[tuple[int, str]] = deque()
        self._first: list[str] = []

    def feed(self, lines: Iterator[str]) -> Iterator[str]:
        """The lines, counted as they are fed."""
        for line in lines:
            if len(self._waiting) < _MAX_WAITING:  # a device may read everything before it answers
                self._waiting.append((self.fed, line))
            self.fed += 1
            yield line

    def answer(self, line: str) -> None:
        if self._waiting and self._waiting[0][0] == self.answered:
            self._waiting.popleft()
        self.answered += 1
        if len(self._first) < _MAX_QUOTED:
            self._first.append(line)

    def complaint(self) -> str:
        """For a device that has ended: the fault in the number of its answers, or ''."""
        if self.answered < self.fed:
            known = self._waiting and self._waiting[0][0] == self.answered
            question = f" to {self._waiting[0][1].strip()[:80]!r}" if known else ""
            some = f"{counted(self.answered, 'answer')}, none" if self.answered else "no answer"
            return f"it gave {some}{question}"
        if self.answered > self.fed:
            quoted = ", ".join(repr(x.strip()[:40]) for x in self._first)
            more = ", ..." if self.answered > len(self._first) else ""
            return f"it answered {self.answered} lines to {counted(self.fed, 'question')}: {quoted}{more}"
        return ""


class CommandDevice:
    """A command as a device. Use as a context manager: it ends with the block, with all processes of its session.

    A daemon with its own session (setsid) is not ended.
    """

    def __init__(self, command: str, timeout_s: float = 10.0) -> None:
        """Start the command. Raises Error if it cannot be started."""
        self.command = command
        self.timeout_s = seconds(timeout_s, "timeout_s")
        words = command_words(command, "--dut")
        source, sink = os.pipe()
        try:
            self._process = subprocess.Popen(
                words, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as e:
            os.close(source)
            os.close(sink)
            raise Error(f"--dut {command!r}: cannot be started: {e.strerror or e}") from None
        self._sink = os.fdopen(sink, "wb", buffering=0)
        self._source: int | None = source  # kept until the first answer, to see how much the device has read by then
        self._written = 0
        self._writing = threading.Lock()
        self._complaints = b""
        self._moved = time.monotonic()
        self._fed = threading.Event()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._answered = False
        self._tally = _QuestionTally()
        self._feed_failure: BaseException | None = None

    def __enter__(self) -> CommandDevice:
        return self

    def __exit__(self, *_: object) -> None:
        end_group(self._process)
        self._stop.set()
        for thread in self._threads:  # before the pipes are closed: their numbers may be reused for other files
            if thread.ident is not None:  # a signal may have come before it was started
                thread.join(_JOIN_S)
        self._close_source()
        close_all(self._sink, self._process.stdout, self._process.stderr)

    def answers(self, lines: Iterable[str]) -> Iterator[str]:
        """Feed the lines; yield the answer lines as they arrive, until the device closes its output.

        Raises DeviceError if nothing happens within the time limit.
        """
        self._threads = [
            threading.Thread(target=self._feed, args=(iter(lines),), daemon=True),
            threading.Thread(target=self._listen, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        assert self._process.stdout is not None
        rest = b""
        while chunk := self._read(self._process.stdout.fileno()):
            *complete, rest = (rest + chunk).split(b"\n")
            for line in complete:
                if line.strip():
                    self._check_read(line)
                    self._moved, self._answered = time.monotonic(), True
                    yield self._counted(line)
                    self._moved = time.monotonic()
            if len(rest) > MAX_LINE:
                raise DeviceError(f"the device printed a line of more than {MAX_LINE} characters")
        if rest.strip():
            self._check_read(rest)
            yield self._counted(rest)
        if self._feed_failure is not None:
            raise self._feed_failure

    def finish(self) -> None:
        """Check that the device answered everything and ends by itself with exit code 0. Raises DeviceError."""
        self._close_source()  # so that no thread waits to feed a device that has ended
        try:
            code = self._process.wait(self.timeout_s)
        except subprocess.TimeoutExpired:
            done = self._tally.complaint() or "it answered everything"
            raise Late(f"{done} but did not end within {self.timeout_s:g} s") from None
        self._fed.wait(_JOIN_S)
        if complaint := self._tally.complaint():
            raise DeviceError(complaint)
        if code:
            raise DeviceError("it answered everything, but failed")

    def how_it_ended(self) -> str:
        """For reports: the exit code or signal, and the device's last line on stderr."""
        return how_ended(self._process, self._complaints)

    def _counted(self, answer: bytes) -> str:
        text = answer.decode("ascii", "replace")
        self._tally.answer(text)
        return text

    def _read(self, descriptor: int) -> bytes:
        """The next bytes of the device's output. Raises DeviceError after the time limit without an answer. Until the
        first one, a device that reads its input is not late."""
        while True:
            left = self._moved + self.timeout_s - time.monotonic()
            if left <= 0:
                waiting = "" if self._fed.is_set() else ", and it does not read its input either"
                raise Late(f"no answer for {self.timeout_s:g} s{waiting}")
            if select.select([descriptor], [], [], min(left, 0.5))[0]:
                return os.read(descriptor, _CHUNK)

    def _check_read(self, answer: bytes) -> None:
        """At the first answer, check that the device has read some of its input. Raises DeviceError."""
        if self._source is None:
            return
        with self._writing:
            unread = fcntl.ioctl(self._source, termios.FIONREAD, bytes(4))
            untouched = int.from_bytes(unread, sys.byteorder) == self._written
        self._close_source()
        if untouched:
            shown = answer[:80].decode("ascii", "replace")
            raise DeviceError(f"it answered {shown!r} before it read any operands")

    def _close_source(self) -> None:
        """Close our read end, so that writing to a device that closed its input fails."""
        if self._source is not None:
            os.close(self._source)
            self._source = None

    def _feed(self, lines: Iterator[str]) -> None:
        """Write the lines; blocks while the device does not read. A device that closed its input ends this quietly."""
        descriptor = self._sink.fileno()
        try:
            batch: list[str] = []
            for line in self._tally.feed(lines):
                if self._stop.is_set():
                    return
                batch.append(line)
                if len(batch) == _BATCH:
                    self._write(descriptor, batch)
                    batch = []
            self._write(descriptor, batch)
            self._sink.close()
        except (BrokenPipeError, OSError):
            pass
        except BaseException as e:  # raised by the generator: reported by the thread that reads
            self._feed_failure = e
            with contextlib.suppress(OSError):
                self._sink.close()
        finally:
            self._fed.set()

    def _write(self, descriptor: int, batch: list[str]) -> None:
        data = memoryview("".join(batch).encode("ascii"))
        while data:
            if self._stop.is_set():
                return
            if not select.select([], [descriptor], [], 0.5)[1]:
                continue
            with self._writing:
                done = os.write(descriptor, data[:_PIPE_BYTES])
                self._written += done
            data = data[done:]
            if not self._answered:
                self._moved = time.monotonic()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._process.stderr.fileno(), _CHUNK):
                self._complaints = (self._complaints + chunk)[-_MAX_STDERR:]
