"""Long work in pieces, through `concurrent.futures.Executor`: this process, local processes, or a Dask cluster.

A piece of work is a module-level function and a task, both of which can be pickled. Results come in the order of the
tasks, whichever worker ran them and however often a worker died, so they do not depend on the number of workers.

The pool is the standard library's. This module adds: tasks lost with a worker run again, only a few tasks are submitted
at a time, no process is left behind when this one is stopped or killed, and none prints a traceback.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from typing import Any, Final, Protocol, TypeVar, cast

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_bytes
from softfloat_ref.base.numbers import integer
from softfloat_ref.base.trees import parse_json

_SIGNAL_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")  # SIGALRM re-raises a signal that was lost
_SIGNALS: Final = [getattr(signal, name) for name in _SIGNAL_NAMES if hasattr(signal, name)]
ATTEMPTS: Final = 4  # how often a task is run if its workers die
CONNECT_SECONDS: Final = 10
_CLOSE_SECONDS: Final = 5
_PIPE_CLOSED_SINCE: Final = (3, 11, 5)
MAX_JOBS: Final = 1024
_IN_FLIGHT: Final = 4  # tasks per worker: none waits for the next one, and results do not pile up
_DYING: Final = f"worker processes keep dying ({ATTEMPTS} times at the same task): out of memory?"

Task = TypeVar("Task")
Result = TypeVar("Result")


class Workers:
    """Where tasks run: this process by default."""

    in_flight = 1  # tasks submitted at a time
    is_remote = False  # whether tasks go to other machines
    executor: Executor | None = None

    @contextmanager
    def threads(self) -> Iterator[Workers]:
        """As many threads as there are local processes, for tasks that release the interpreter lock: their results need
        not be copied. Other kinds of workers are returned unchanged."""
        yield self

    def renew(self) -> None:
        """Replace a broken executor."""

    def close(self) -> None:
        """Shut down; all tasks are complete."""

    def abort(self) -> None:
        """Shut down at once, cancelling running tasks."""


def usable_cpus() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def workers(jobs: int | None = None, scheduler: str | None = None) -> Iterator[Workers]:
    """Workers for a `with` block: local processes (1: this process), or the workers of a Dask scheduler.

    jobs: number of processes; default: the number of processors. scheduler: an address (tcp://host:8786) or a scheduler
    file (.json). If an exception (such as Ctrl-C) leaves the block, no process and no task remains. Raises Error for
    another number, and for a scheduler that cannot be reached.
    """
    if scheduler is not None and jobs is not None:
        raise Error("--jobs is for local processes; a scheduler has its own workers")
    pool = _chosen(jobs, scheduler)
    try:
        yield pool
    except BaseException:
        pool.abort()
        raise
    pool.close()


def _chosen(jobs: int | None, scheduler: str | None) -> Workers:
    if scheduler is not None:
        return _Cluster(scheduler)
    jobs = usable_cpus() if jobs is None else integer(jobs, "jobs", 1, MAX_JOBS)
    return Workers() if jobs == 1 else _Processes(jobs)


def in_order(pool: Workers, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """The results of the function, in the order of the tasks.

    A task whose worker died is run again. Raises what the function raises, and Error if workers keep dying.
    """
    if pool.executor is None:
        yield from map(function, tasks)
        return
    remaining = iter(tasks)
    waiting: deque[_Sent] = deque()
    while True:
        while len(waiting) < pool.in_flight:
            try:
                task = next(remaining)
            except StopIteration:
                break
            waiting.append(_Sent(function, task))
            _send(pool, waiting)
        if not waiting:
            return
        yield _receive(pool, waiting)


@contextmanager
def in_background(function: Callable[[Task], object]) -> Iterator[Callable[[Task], None]]:
    """Calls of a function that run in a thread, one after the other, while the block goes on; all end with the block,
    even if that raises.

    The block raises what the function raises, if not at that call then at a later one or at the end; calls that have
    not begun then never do.
    """
    waiting: deque[Future[object]] = deque()

    def settle() -> None:
        try:
            waiting.popleft().result()
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise

    def call(task: Task) -> None:
        waiting.append(executor.submit(function, task))
        if len(waiting) > _IN_FLIGHT:
            settle()

    with ThreadPoolExecutor(1) as executor:
        yield call
        while waiting:
            settle()


@dataclass
class _Sent:
    """A task and, once submitted, its future."""

    function: Callable[[Any], Any]
    task: Any
    future: Future[Any] | None = None
    attempts: int = 0

    def is_lost(self) -> bool:
        """Whether the task must be submitted, again or for the first time."""
        if self.future is None:
            return True
        return self.future.done() and (self.future.cancelled() or isinstance(self.future.exception(), BrokenExecutor))


def _send(pool: Workers, waiting: Iterable[_Sent]) -> None:
    """Submit the tasks that are new or were lost."""
    for sent in waiting:
        while sent.is_lost():
            sent.attempts += 1
            if sent.attempts > ATTEMPTS:
                raise Error(_DYING)
            try:
                assert pool.executor is not None
                sent.future = pool.executor.submit(sent.function, sent.task)
            except BrokenExecutor:
                pool.renew()


def _receive(pool: Workers, waiting: deque[_Sent]) -> Any:
    """The result of the first task."""
    while True:
        future = waiting[0].future
        assert future is not None
        try:
            result = future.result()
        except BrokenExecutor:  # all futures of the broken pool are lost with it
            pool.renew()
            _send(pool, waiting)
        except CancelledError:
            raise Error("the connection to the scheduler was lost, and its unfinished tasks with it") from None
        except Exception as e:
            if type(e).__name__ == "KilledWorker":  # Dask's, which is not imported unless it is used
                raise Error(_DYING) from None
            raise
        else:
            waiting.popleft()
            return result


# -- local processes -------------------------------------------------------------------------------------------------


@contextmanager
def signals_wait() -> Iterator[list[int]]:
    """Handlers of signals that end this process run after the block; yields the signals that have come.

    For code that calls back into Python, where an exception would be dropped. Only the main thread has handlers.
    """
    numbers: list[int] = []
    handlers = _replaced(numbers)
    try:
        yield numbers
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for code in numbers:
            signal.raise_signal(code)


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Block signals in this process and in the processes it starts, which would otherwise print a traceback.

    Started processes inherit the mask and unblock signals in `_begin`. In this process, another thread that lacks the
    mask (such as a BLAS library's) may receive a signal that the main thread blocks, and Python would still run the
    handler in the main thread, so the handlers are deferred as well.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # if started later, it would unblock the signals
    with signals_wait():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _replaced(numbers: list[int]) -> dict[signal.Signals, Any]:
    """Replace the handlers of signals, where there are some, by one that records them; returns the old ones. Only the
    main thread may do this, and only there do handlers run."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    handlers = {number: handler for number in _SIGNALS if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, lambda number, _: numbers.append(number))
    return handlers


class _Pool(ProcessPoolExecutor):
    """Processes that receive no signal while they are being started."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with _interrupts_wait():
            return super().submit(fn, *args, **kwargs)


def _begin() -> None:
    """Set up a worker: leave Ctrl-C to the parent, and exit when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


class _Processes(Workers):
    """A pool of local processes, started with spawn so that they share no threads or locks with this process."""

    executor: Executor

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.in_flight = jobs * _IN_FLIGHT
        self._others = set(multiprocessing.active_children())
        self._start()

    @contextmanager
    def threads(self) -> Iterator[Workers]:
        with ThreadPoolExecutor(self.jobs) as executor:
            crew = Workers()
            crew.executor, crew.in_flight = executor, self.in_flight
            try:
                yield crew
            except BaseException:
                executor.shutdown(wait=False, cancel_futures=True)
                raise

    def _start(self) -> None:
        self.executor = _Pool(self.jobs, multiprocessing.get_context("spawn"), _begin)
        calls = getattr(self.executor, "_call_queue", None)
        self._reader: _Closable | None = getattr(calls, "_reader", None)
        if self._reader is not None and sys.version_info < _PIPE_CLOSED_SINCE:
            _close_once(self._reader)

    def renew(self) -> None:
        self._let_go()
        self.close()
        self._start()

    def close(self) -> None:
        self.executor.shutdown(wait=True)

    def abort(self) -> None:
        for process in set(multiprocessing.active_children()) - self._others:
            process.terminate()
        self._let_go()
        # Waits for the pool's thread: one that still closes its pipe while this process exits prints a traceback.
        self.executor.shutdown(wait=True, cancel_futures=True)

    def _let_go(self) -> None:
        """Close the pipe to workers that have ended: early versions of 3.11 wait forever to write to it
        (github.com/python/cpython/issues/94777). Later versions close it themselves."""
        if self._reader is not None and sys.version_info < _PIPE_CLOSED_SINCE:
            with suppress(OSError):
                self._reader.close()


class _Closable(Protocol):
    """An object whose `close` is an attribute, so that it can be replaced."""

    close: Callable[[], None]


def _close_once(pipe: _Closable) -> None:
    """Let several threads close a pipe, of which only the first one does. The pool's thread closes it, too: after an
    error there, such as for a file that is closed already, that thread would wait forever."""
    lock, closers = threading.Lock(), [pipe.close]

    def close() -> None:
        with lock:
            if closers:
                closers.pop()()

    pipe.close = close


# -- a cluster -------------------------------------------------------------------------------------------------------


def _version() -> str:
    from softfloat_ref import __version__

    return __version__


class _Cluster(Workers):
    """The workers of a Dask scheduler, which itself reruns the tasks of a worker that died."""

    is_remote = True
    executor: Executor

    def __init__(self, scheduler: str) -> None:
        self._client = _connect(scheduler)
        names = [n for n in logging.root.manager.loggerDict if n.split(".")[0] == "distributed"]
        self._levels = {log: log.level for log in map(logging.getLogger, names)}
        for log in self._levels:
            log.setLevel(logging.CRITICAL)  # Dask logs a lost scheduler with tracebacks
        try:
            self._check(scheduler)
            self.executor = self._client.get_executor(retries=ATTEMPTS - 1)
            self.in_flight = _IN_FLIGHT * max(sum(self._client.nthreads().values()), 4)
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        self._client.close(timeout=_CLOSE_SECONDS)
        for log, level in self._levels.items():
            log.setLevel(level)

    def _check(self, scheduler: str) -> None:
        """Check that there are workers and that they run this version of the package, since another version may give
        other results."""
        with suppress(TimeoutError):
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        try:
            versions = set(self._client.run(_version).values())
        except Exception as e:  # any failure there; most likely the module is missing
            raise Error(f"{scheduler}: workers cannot run softfloat-ref: {_first_line(e)}") from None
        if not versions:
            raise Error(f"{scheduler}: has no workers")
        if versions != {_version()}:
            raise Error(f"{scheduler}: workers have softfloat-ref {', '.join(sorted(versions))}, not {_version()}")

    def renew(self) -> None:
        raise Error(_DYING)

    def close(self) -> None:
        self.executor.shutdown(wait=True)
        self._end()

    def abort(self) -> None:
        with suppress(Exception):  # the scheduler may be gone
            self.executor.shutdown(wait=False, cancel_futures=True)
        self._end()


def _connect(scheduler: str) -> Any:
    try:
        from dask import distributed
    except ImportError:
        raise Error("--scheduler needs Dask: pip install 'softfloat-ref[cluster]'") from None
    address, client = _address(scheduler), cast(Any, distributed.Client)
    try:
        return client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as e:
        raise Error(f"{scheduler}: cannot connect to a scheduler: {_first_line(e)}") from None


def _address(scheduler: str) -> str:
    """The address, read from the scheduler file if `scheduler` is one. Raises Error for an address that Dask cannot
    use."""
    address = scheduler
    if scheduler.endswith(".json"):
        data = read_bytes(scheduler, limits.JSON)
        try:
            address = str(parse_json(data, scheduler)["address"])
        except (Error, KeyError, TypeError):
            raise Error(f"{scheduler}: not a scheduler file; `dask scheduler --scheduler-file` writes one") from None
    if not re.fullmatch(r"(tcp|tls|ws|wss)://[^\s/]+:[0-9]{1,5}", address):
        raise Error(f"{scheduler}: not a scheduler; use tcp://host:port or FILE.json")
    return address


def _first_line(e: Exception) -> str:
    return (str(e) or type(e).__name__).split("\n")[0]
