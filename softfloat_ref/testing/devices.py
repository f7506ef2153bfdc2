"""Devices under test that speak lines: a command that reads operand lines and answers `result [flags]` lines.

The command's input is fed as fast as it reads it and no faster; its answers are read as they come. A device that dies,
hangs, prints something else, or too few or too many lines, is a DeviceError that says so.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref.errors import Error

_CHUNK: Final = 1 << 16
_STDERR_KEPT: Final = 2000
_BATCH: Final = 512
_PIPE: Final = 4096  # what a pipe that can be written to takes without blocking
_JOIN_S: Final = 5.0
MAX_LINE: Final = 4096


class DeviceError(Exception):
    """The device did not answer as a device must: what happened, after how many answers."""


class Late(DeviceError):
    """The time limit passed: how the device ended says nothing, since it has not."""


class CommandDevice:
    """A command as a device. Use as a context manager: it ends with the block, with all that it started."""

    def __init__(self, command: str, timeout_s: float = 10.0) -> None:
        """Start the command. Raises Error where it cannot be started."""
        self.command = command
        self.timeout_s = timeout_s
        try:
            words = shlex.split(command)
        except ValueError as e:
            raise Error(f"--dut {command!r}: {e}") from None
        if not words:
            raise Error("--dut is empty; give a command that reads operand lines and answers result lines")
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as e:
            raise Error(f"--dut {command!r}: cannot be started: {e.strerror or e}") from None
        self._complaints = b""
        self._moved = time.monotonic()
        self._fed = threading.Event()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._answered = False
        self._feed_failure: BaseException | None = None

    def __enter__(self) -> CommandDevice:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._stop.set()
        for thread in self._threads:  # before the pipes are closed: their numbers may serve other files then
            thread.join(_JOIN_S)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def answers(self, lines: Iterable[str]) -> Iterator[str]:
        """Feed the lines; yield the answer lines as they come, until the device closes its output.

        Raises DeviceError where nothing moves for the time limit.
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
            *found, rest = (rest + chunk).split(b"\n")
            if len(rest) > MAX_LINE:
                raise DeviceError(f"the device printed a line of more than {MAX_LINE} characters")
            for line in found:
                if line.strip():
                    self._moved, self._answered = time.monotonic(), True
                    yield line.decode("ascii", "replace")
                    self._moved = time.monotonic()
        if rest.strip():
            yield rest.decode("ascii", "replace")
        if self._feed_failure is not None:
            raise self._feed_failure

    def finish(self) -> None:
        """After its last answer: it must end by itself, and well. Raises DeviceError."""
        try:
            code = self._process.wait(self.timeout_s)
        except subprocess.TimeoutExpired:
            raise Late(f"it answered everything but did not end within {self.timeout_s:g} s") from None
        if code:
            raise DeviceError("it answered everything, but not well")

    def how_it_ended(self) -> str:
        """For reports: the exit code or signal, and what the device last said on stderr."""
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return "it is still running"
        text = f"it died of signal {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}"
        said = self._complaints.decode("utf-8", "replace").strip().splitlines()
        return f"{text}; its last words: {said[-1][:200]}" if said else text

    def _read(self, descriptor: int) -> bytes:
        """The next bytes of the device's output. Raises DeviceError after the time limit without an answer; until the
        first one, a device that reads its input is not late."""
        while True:
            left = self._moved + self.timeout_s - time.monotonic()
            if left <= 0:
                waiting = "" if self._fed.is_set() else ", and it does not read its input either"
                raise Late(f"no answer for {self.timeout_s:g} s{waiting}")
            if select.select([descriptor], [], [], min(left, 0.5))[0]:
                return os.read(descriptor, _CHUNK)

    def _feed(self, lines: Iterator[str]) -> None:
        """Write the lines; blocks while the device does not read. A device that closed its input ends this quietly."""
        assert self._process.stdin is not None
        descriptor = self._process.stdin.fileno()
        try:
            batch: list[str] = []
            for line in lines:
                if self._stop.is_set():
                    return
                batch.append(line)
                if len(batch) == _BATCH:
                    self._write(descriptor, batch)
                    batch = []
            self._write(descriptor, batch)
            self._process.stdin.close()
        except (BrokenPipeError, OSError):
            pass
        except BaseException as e:  # of the generator: shown by the thread that reads
            self._feed_failure = e
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        finally:
            self._fed.set()

    def _write(self, descriptor: int, batch: list[str]) -> None:
        data = memoryview("".join(batch).encode("ascii"))
        while data:
            if self._stop.is_set():
                return
            if not select.select([], [descriptor], [], 0.5)[1]:
                continue
            data = data[os.write(descriptor, data[:_PIPE]) :]
            if not self._answered:
                self._moved = time.monotonic()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._process.stderr.fileno(), _CHUNK):
                self._complaints = (self._complaints + chunk)[-_STDERR_KEPT:]
