"""The command line, for the tests: in this process, where a hundred runs take seconds, or as a process of its own."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

TOP = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(TOP)}
# Commands that start processes, or set how libraries start, have a process of their own.
OWN_PROCESS = {"--jobs", "--executor", "--scheduler", "--dut", "selftest"}
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def run(*args: str, stdin: str | bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What a command printed and its exit code; stdin is what it reads."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    if needs_process(args):
        return process(*args, stdin=data, cwd=cwd)
    return here(*args, stdin=data, cwd=cwd)


def needs_process(args: Iterable[str]) -> bool:
    return bool(OWN_PROCESS & {x.partition("=")[0] for x in args})


def here(
    *args: str, stdin: bytes = b"", cwd: Path | None = None, together: bool = False
) -> subprocess.CompletedProcess[str]:
    """The same in this process. together: what goes to stderr goes to stdout, each line at once, as on a terminal."""
    with _streams(stdin, together) as shown, contextlib.chdir(cwd or "."), _signals():
        code = _exit_code(args)
    return subprocess.CompletedProcess(args, code, *(x.decode() for x in shown))


def process(*args: str, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The same by a process of its own."""
    command = [sys.executable, "-m", "softfloat_ref", *args]
    done = subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, env=ENVIRONMENT, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _exit_code(args: tuple[str, ...]) -> int:
    from softfloat_ref.app.main import main

    before, sys.argv = sys.argv, [str(TOP / "softfloat_ref" / "__main__.py"), *args]  # manifests say what was typed
    try:
        main()
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else 0
    finally:
        sys.argv = before
    raise AssertionError("main never returns")


@contextlib.contextmanager
def _streams(data: bytes, together: bool) -> Iterator[list[bytes]]:
    """Files in place of the three descriptors and their streams; what was written into the last two, in the end.

    together: the last two are one file."""
    shown: list[bytes] = []
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(data)
        files[0].seek(0)
        kept = [os.dup(x) for x in range(3)]
        try:
            for number, file in enumerate([*files[:2], files[1]] if together else files):
                os.dup2(file.fileno(), number)
            raw = [io.FileIO(x, "rb" if x == 0 else "wb", closefd=False) for x in range(3)]
            sys.stdin = io.TextIOWrapper(io.BufferedReader(raw[0]), encoding="utf-8")
            out, err = map(io.BufferedWriter, raw[1:])
            sys.stdout = io.TextIOWrapper(out, encoding="utf-8", line_buffering=together)
            sys.stderr = io.TextIOWrapper(err, encoding="utf-8", line_buffering=True)
            yield shown
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
            sys.stderr.flush()
            sys.stdin, sys.stdout, sys.stderr = before
            for number, descriptor in enumerate(kept):
                os.dup2(descriptor, number)
                os.close(descriptor)
        for file in files[1:]:
            file.seek(0)
            shown.append(file.read())


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """The handlers as they were, whatever the command line did."""
    before = {x: signal.getsignal(x) for x in HANDLED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ok(*args: str, **more: object) -> str:
    done = run(*args, **more)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*args: str, **more: object) -> str:
    """The one line that bad input gets."""
    done = run(*args, **more)  # type: ignore[arg-type]
    assert done.returncode == 2, (args, done.returncode, done.stderr)
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr
