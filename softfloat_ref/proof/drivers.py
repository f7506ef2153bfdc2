"""Variables and nets of a design with several drivers, and races between registers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from softfloat_ref.proof.processes import Process, is_automatic
from softfloat_ref.rtl.module_ports import Elaborated

_INITIALIZER, _INPUT = 8, 1  # slang's DriverFlags


class _Driver(NamedTuple):
    """What drives some bits. key: of a process, or of one assignment or connection; starts: only at power-up."""

    key: Any
    bits: int
    location: Any
    starts: bool
    process: Any
    initializer: bool


def _drivers(design: Elaborated, manager: Any, symbol: Any) -> Iterator[_Driver]:
    for driver in manager.getDrivers(symbol):
        low, high = driver.bounds
        owner, place = driver.containingSymbol, driver.sourceRange.start
        block = owner if owner.kind.name == "ProceduralBlock" else None
        initializer = bool(int(driver.flags) & _INITIALIZER) and symbol.kind.name == "Variable"
        starts = initializer or driver.source.name == "Initial"
        key = block if block is not None else (owner, place.offset, low, high)
        yield _Driver(key, (1 << high + 1) - (1 << low), place, starts, block, initializer)


def several_drivers(design: Elaborated, manager: Any, symbols: Iterable[Any]) -> Iterator[str]:
    """Nets and variables of which a bit has more than one driver."""
    for symbol in symbols:
        before: dict[Any, _Driver] = {}
        for driver in _drivers(design, manager, symbol):
            for other in before.values():
                if driver.bits & other.bits and driver.key != other.key and not _allowed(driver, other):
                    first, second = sorted((design.place(d.location) for d in (other, driver)), key=_line)
                    yield f"{second}: {symbol.name} has another driver, at {first}; drive each bit once"
            old = before.get(driver.key)
            before[driver.key] = driver if old is None else old._replace(bits=old.bits | driver.bits)


def _line(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line)


def _allowed(a: _Driver, b: _Driver) -> bool:
    """Whether one of two gives the value at power-up, which a process then changes."""
    if a.starts and b.starts:
        return a.initializer != b.initializer  # the initializer comes first; the order of two blocks is open
    return (a.starts and b.process is not None) or (b.starts and a.process is not None)


def races(
    design: Elaborated, processes: Iterable[Process], links: Callable[[], Iterable[tuple[Any, Any]]]
) -> Iterator[str]:
    """Variables that a clocked process assigns at once (=), and that another one reads at the same edge, also by way of
    others. links: from each signal to those that follow it."""
    clocked = [p for p in processes if p.kind == "clocked"]
    risky = [(p, s) for p in clocked for s in p.flow.blocking if not is_automatic(s)] if len(clocked) > 1 else []
    follows: dict[Any, list[Any]] = {}
    for a, b in links() if risky else ():
        follows.setdefault(a, []).append(b)
    reads = [(p, {read.symbol for read in p.flow.reads}) for p in clocked] if risky else []
    for process, symbol in risky:
        reached = set(_reached(symbol, follows))
        other = next((p for p, read in reads if p is not process and reached & read), None)
        if other is not None:
            place, there = design.place(process.flow.places[symbol]), design.place(other.symbol.location)
            yield (
                f"{place}: {symbol.name} is assigned by = in a clocked process and read at the same edge by the one at "
                f"{there}; which comes first is open: assign it by <="
            )


def _reached(symbol: Any, follows: Mapping[Any, list[Any]]) -> Iterator[Any]:
    seen, waiting = {symbol}, [symbol]
    while waiting:
        found = waiting.pop()
        yield found
        for other in follows.get(found, ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
