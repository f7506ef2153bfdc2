"""Variables and nets of a design with several drivers, and races between registers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from softfloat_ref.proof.dataflow import Flow
from softfloat_ref.proof.processes import Process, is_automatic
from softfloat_ref.rtl.module_ports import Elaborated

_INITIALIZER = 8  # of slang's DriverFlags


class _Driver(NamedTuple):
    """What drives some bits. starts: only at power-up; process: None for a continuous assignment or connection."""

    bits: int
    location: Any
    starts: bool
    process: Any
    initializer: bool


def _drivers(manager: Any, symbol: Any) -> Iterator[_Driver]:
    """The drivers of a symbol, a process as one."""
    drivers: dict[Any, _Driver] = {}
    for driver in manager.getDrivers(symbol):
        low, high = driver.bounds
        block = driver.containingSymbol if driver.containingSymbol.kind.name == "ProceduralBlock" else None
        initializer = bool(int(driver.flags) & _INITIALIZER) and symbol.kind.name == "Variable"
        starts = initializer or driver.source.name == "Initial"
        own = _Driver((1 << high + 1) - (1 << low), driver.sourceRange.start, starts, block, initializer)
        key = len(drivers) if block is None else hash(block)
        drivers[key] = own._replace(bits=own.bits | drivers[key].bits) if key in drivers else own
    yield from drivers.values()


def shared(manager: Any, symbols: Iterable[Any], read: Callable[[], set[Any]]) -> set[Any]:
    """Variables that several processes use, each for itself, such as those of loops. read: all whose values matter to
    others."""
    several = set()
    for symbol in symbols:
        processes = [d for d in _drivers(manager, symbol) if d.process is not None and not d.starts]
        if len(processes) > 1 and symbol.kind.name == "Variable":
            several.add(symbol)
    return several - read() if several else several


def several_drivers(design: Elaborated, manager: Any, symbols: Iterable[Any]) -> Iterator[str]:
    """Nets and variables of which a bit has more than one driver."""
    for symbol in symbols:
        for one, other in combinations(_drivers(manager, symbol), 2):
            if one.bits & other.bits and not _allowed(one, other):
                first, second = sorted((design.place(d.location) for d in (one, other)), key=_line)
                yield f"{second}: {symbol.name} has another driver, at {first}; drive each bit once"


def _line(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line)


def _allowed(a: _Driver, b: _Driver) -> bool:
    """Whether one of two gives the value at power-up, which a process then changes."""
    if a.starts and b.starts:
        return a.initializer != b.initializer  # the initializer comes first; the order of two blocks is open
    return (a.starts and b.process is not None) or (b.starts and a.process is not None)


def never_started(design: Elaborated, manager: Any, processes: Iterable[Process]) -> Iterator[str]:
    """Processes of which nothing ever changes that starts them."""
    for process in processes:
        if process.kind in ("star", "list") and not any(_changes(design, manager, s) for s in process.events):
            place = design.place(process.symbol.location)
            yield f"{place}: no change starts this process, so a simulation never runs it; use always_comb"


def _changes(design: Elaborated, manager: Any, symbol: Any) -> bool:
    """Whether a signal may change after power-up."""
    if symbol.kind.name == "Net" and symbol.initializer is not None:  # not always listed among its drivers
        return bool(Flow(design, symbol.initializer).reads)
    for driver in manager.getDrivers(symbol):
        owner, value = driver.containingSymbol, None
        if owner.kind.name == "ContinuousAssign":
            value = owner.assignment.right
        elif int(driver.flags) & _INITIALIZER or driver.source.name == "Initial":
            value = False
        if value is None or (value is not False and Flow(design, value).reads):
            return True
    return False


def races(
    design: Elaborated, processes: Sequence[Process], links: Callable[[], Iterable[tuple[Any, Any]]]
) -> Iterator[str]:
    """Variables that a clocked process assigns at once (=), and that another one reads at the same edge, also by way of
    others; clocks that come late by <=. links: from each signal to those that follow it."""
    clocked = [p for p in processes if p.kind == "clocked"]
    at_once = [(p, s) for p in clocked for s in p.flow.blocking if not is_automatic(s)] if len(clocked) > 1 else []
    late = [(p, s) for p in processes if p.is_combinational for s in p.flow.later]
    follows: dict[Any, list[Any]] = {}
    for a, b in links() if at_once or late else ():
        follows.setdefault(a, []).append(b)
    reads = [(p, {read.symbol for read in p.flow.reads}) for p in clocked] if at_once else []
    for process, symbol in at_once:
        reached, place = set(_reached(symbol, follows)), design.place(process.flow.places[symbol])
        other = next((p for p, read in reads if p is not process and reached & read), None)
        if other is not None:
            there = design.place(other.symbol.location)
            yield (
                f"{place}: {symbol.name} is assigned by = in a clocked process and read at the same edge by the one at "
                f"{there}; which comes first is open: assign it by <="
            )
    clocks = {s for p in clocked for s in p.events}
    for process, symbol in late:
        if clocks & set(_reached(symbol, follows)):
            place = design.place(process.flow.places[symbol])
            yield f"{place}: {symbol.name}, assigned by <=, is a clock, and comes after the data; assign it by ="


def _reached(symbol: Any, follows: Mapping[Any, list[Any]]) -> Iterator[Any]:
    seen, waiting = {symbol}, [symbol]
    while waiting:
        signal = waiting.pop()
        yield signal
        for other in follows.get(signal, ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
