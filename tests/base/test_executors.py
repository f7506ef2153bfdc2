"""Work in pieces: order, bounds, workers that die, Ctrl-C, a Dask cluster; the outcome never changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from cluster import SEARCHED, cluster
from command import ENVIRONMENT, TOP, ok, refused
from processes import all_end, children, needs_proc

from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import ATTEMPTS, _close_once, in_background, in_order, workers

SELFTEST = ("selftest", "--exhaustive", "--fmt", "fp6_e3m2", "--round", "rne", "--round", "rto")


def square(x: int) -> int:
    time.sleep(0.02 * (x % 3))  # later tasks may be done first
    return x * x


def die_once(task: tuple[int, Path]) -> int:
    """Kills its worker the first time it comes to 5."""
    x, mark = task
    if x == 5:
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            return x * x
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def die(_: int) -> int:
    os._exit(9)


def fail(x: int) -> int:
    raise Error(f"task {x} is wrong")


def in_background_all(function: Callable[[int], object], fail_at: int = -1) -> None:
    with in_background(function) as call:
        for x in range(100):
            call(x)
            if x == fail_at:
                raise ZeroDivisionError


@pytest.mark.parametrize("at", [50, 99])
def test_calls_in_the_background_come_in_order_and_end_with_the_block(at: int) -> None:
    done: list[int] = []
    with pytest.raises(ZeroDivisionError):
        in_background_all(done.append, at)
    assert done == list(range(at + 1))


def test_an_error_in_the_background_ends_the_block() -> None:
    done: list[int] = []

    def some(x: int) -> None:
        if x == 3:
            raise ValueError(x)
        done.append(x)

    with pytest.raises(ValueError, match="3"):
        in_background_all(some)
    assert done[:3] == [0, 1, 2]
    assert len(done) < 20


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order_and_few_are_on_their_way(jobs: int) -> None:
    taken = []

    def tasks() -> Iterator[int]:
        for x in range(40):
            taken.append(x)
            yield x

    with workers(jobs) as crew:
        for i, result in enumerate(in_order(crew, square, tasks())):
            assert result == i * i
            assert len(taken) <= i + 1 + crew.in_flight
    assert len(taken) == 40


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    with workers(2) as crew:
        results = list(in_order(crew, die_once, [(x, tmp_path / "mark") for x in range(30)]))
    assert (tmp_path / "mark").exists()
    assert results == [x * x for x in range(30)]


@pytest.mark.full
def test_workers_that_keep_dying() -> None:
    with pytest.raises(Error, match=f"keep dying \\({ATTEMPTS} times"), workers(2) as crew:
        list(in_order(crew, die, range(3)))


def test_a_pipe_is_closed_once() -> None:
    """By the thread that comes first; what the pool's thread would get as an error made it wait forever."""

    class Pipe:
        count = 0

        def close(self) -> None:
            self.count += 1

    pipe = Pipe()
    _close_once(pipe)
    closers = [threading.Thread(target=pipe.close) for _ in range(4)]
    for thread in closers:
        thread.start()
    for thread in closers:
        thread.join()
    assert pipe.count == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_comes_through(jobs: int) -> None:
    with pytest.raises(Error, match="task 0 is wrong"), workers(jobs) as crew:
        list(in_order(crew, fail, range(9)))


def test_no_thread_outlives_an_interrupted_block() -> None:
    before = set(threading.enumerate())

    def results() -> Generator[int, None, None]:
        with workers(2) as crew:
            yield from in_order(crew, square, range(30))

    running = results()
    next(running)
    with pytest.raises(KeyboardInterrupt):
        running.throw(KeyboardInterrupt)
    assert set(threading.enumerate()) <= before


def start(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "softfloat_ref", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        start_new_session=True,
    )


def wait_for_children(pid: int) -> list[int]:
    for _ in range(600):
        pids = children(pid)
        if len(pids) == 2:
            return pids
        time.sleep(0.05)
    raise AssertionError("no workers")


@pytest.mark.full(keep=1)
@needs_proc
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_ends_cleanly(number: int, code: int) -> None:
    running = start("selftest", "--exhaustive", "--fmt", "tf32", "--jobs", "2")
    pids = wait_for_children(running.pid)
    time.sleep(1)
    os.killpg(running.pid, number) if number == signal.SIGINT else running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (code, "", "")
    assert all_end(pids)


@needs_proc
def test_workers_end_with_their_parent() -> None:
    running = start("selftest", "--exhaustive", "--fmt", "tf32", "--jobs", "2")
    pids = wait_for_children(running.pid)
    running.kill()
    running.communicate(timeout=60)
    assert all_end(pids)


@pytest.mark.full
@needs_proc
def test_selftest_with_a_killed_worker() -> None:
    piece = ("--slice", "1/8")
    running = start(*SELFTEST, *piece, "--jobs", "2")
    os.kill(wait_for_children(running.pid)[1], signal.SIGKILL)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 0, err
    assert out == ok(*SELFTEST, *piece, "--jobs", "1")


SETS = {
    "in bulk": ("--op", "add", "--fmt", "fp16", "-n", "540000"),
    "in bulk, some left out": (
        "--op",
        "convert",
        "--fmt",
        "fp32",
        "--out",
        "fp4_e2m1",
        "--nan-missing",
        "error",
        "-n",
        "270000",
    ),
    "random bits": (
        "--op",
        "convert",
        "--fmt",
        "fp32",
        "--out",
        "fp8_e4m3",
        "--round",
        "sr",
        "--sr-bits",
        "8",
        "-n",
        "270000",
    ),
    "blocks": ("--op", "dequantize", "--fmt", "mxfp8", "-n", "4200"),
    "by line": ("--op", "rem", "--fmt", "fp16", "-n", "9000"),
    "dot": ("--op", "dot", "--fmt", "fp16", "--acc", "nvidia-v100", "-n", "4200"),
    "a recipe": ("fp32_to_fp8_e4m3_rne", "-n", "5000"),
}


@pytest.mark.full(gate=3)
@pytest.mark.parametrize("options", SETS.values(), ids=SETS)
def test_vectors_by_any_number_of_processes(options: tuple[str, ...], tmp_path: Path) -> None:
    contents = []
    for jobs in ((), ("--jobs=2",)):
        folder = tmp_path / f"with{len(contents)}"
        folder.mkdir()
        ok("vectors", "generate", *options, *jobs, "-o", "out", cwd=folder)
        contents.append({p.name: p.read_bytes() for p in (folder / "out").iterdir()})
    assert len(contents[0]) == 4 + ("error" in options)  # so many left out that they have a file
    assert contents[1] == contents[0]


def test_vectors_that_take_no_workers() -> None:
    more = ("-o", "-", "--op", "add")
    assert "--jobs" in refused("vectors", "generate", "--fmt", "fp16", "--jobs", "2", *more)


# -- a Dask cluster of separate processes on this machine ------------------------------------------------------------


@pytest.mark.extra
def test_dask_with_a_killed_worker(tmp_path: Path) -> None:
    piece = ("--slice", "1/4")
    with cluster(tmp_path, 2) as (file, processes):
        running = start(*SELFTEST, *piece, "--scheduler", str(file))
        assert running.stdout is not None
        first = running.stdout.readline()  # it is in the middle of its work
        processes[1].kill()
        out, err = running.communicate(timeout=300)
        assert running.returncode == 0, err
        assert processes[2].poll() is None
    assert first + out == ok(*SELFTEST, *piece, "--jobs", "1")


@pytest.mark.extra
def test_dask_ctrl_c(tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as (file, processes):
        running = start("selftest", "--exhaustive", "--fmt", "fp4_e2m1", "--scheduler", str(file))
        assert running.stdout is not None
        running.stdout.readline()
        os.killpg(running.pid, signal.SIGINT)
        _, err = running.communicate(timeout=60)
        assert running.returncode == 130
        assert "Traceback" not in err
        assert processes[1].poll() is None


@pytest.mark.extra
def test_dask_whose_scheduler_dies(tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as (file, processes):
        running = start("selftest", "--exhaustive", "--fmt", "fp4_e2m1", "--scheduler", str(file))
        assert running.stdout is not None
        running.stdout.readline()
        processes[0].kill()
        _, err = running.communicate(timeout=120)
    assert running.returncode == 2
    assert (
        err.splitlines()[-1]
        == "softfloat-ref: the connection to the scheduler was lost, and its unfinished tasks with it"
    )
    assert "Traceback" not in err


DYING = """
import sys
from test_executors import die
from softfloat_ref.base.executors import in_order, workers
with workers(scheduler=sys.argv[1]) as crew:
    list(in_order(crew, die, range(1)))
"""


@pytest.mark.extra
def test_dask_workers_that_keep_dying(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": SEARCHED}
    with cluster(tmp_path, ATTEMPTS) as (file, _):
        command = [sys.executable, "-c", DYING, str(file)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr.splitlines()[-1].startswith("softfloat_ref.base.errors.Error: worker processes keep dying")


@pytest.mark.extra
def test_dask_that_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    broken = tmp_path / "s.json"
    broken.write_text("{")
    for where, why in (
        ("host", "tcp://host:port"),
        (str(broken), "not a scheduler file"),
        (str(tmp_path / "none.json"), "No such file"),
        ("tcp://127.0.0.1:1", "cannot connect to a scheduler"),
    ):
        assert why in refused("selftest", "--exhaustive", "--scheduler", where)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_no_signal_comes_while_a_worker_is_started(name: str) -> None:
    program = f"""
import os, signal
from softfloat_ref.base import executors
seen = []
signal.signal(signal.{name}, lambda *_: seen.append(1))
with executors._interrupts_wait():
    os.kill(os.getpid(), signal.{name})
    during = list(seen)
print(during, seen)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert done.stdout == "[] [1]\n"
