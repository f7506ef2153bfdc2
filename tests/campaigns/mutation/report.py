"""The campaign's outcome as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from .campaign import Fall, Outcome
from .circuits import Size

_QUANTILES = {"median": 0.5, "90 %": 0.9, "99 %": 0.99}


def text(outcomes: Sequence[Outcome], methods: Sequence[str], size: Size) -> str:
    """A line a bug; the bugs that the vectors do not show; and a line a circuit and kind of cases."""
    width = max((len(o.circuit) for o in outcomes), default=0)
    lines = [_bug_line(o, width) for o in outcomes]
    for method in methods[:1]:
        lines += [f"\nshown by no case of {method}:", *map(_survivor_line, survivors(outcomes, method))]
    lines.append(f"\ncases until a bug shows, {size} a setting; equivalent ones left out")
    head = "".join(f"{x:>9}" for x in ("bugs", "shown", "survive", *_QUANTILES))
    lines.append(f"{'':{width}} {'cases':<10}{head}")
    for name, method, row in summaries(outcomes, methods):
        lines.append(f"{name:{width}} {method:<10}" + "".join(f"{'-' if x is None else x:>9}" for x in row.values()))
    return "\n".join(lines)


def summaries(outcomes: Sequence[Outcome], methods: Sequence[str]) -> Iterable[tuple[str, str, dict[str, int | None]]]:
    """A circuit's name or `all`, a kind of cases, and what `summary` says of the two."""
    circuits = list(dict.fromkeys(o.circuit for o in outcomes))
    for name in [*circuits, *(["all"] if len(circuits) > 1 else [])]:
        for method in methods:
            tried = [o for o in outcomes if name in ("all", o.circuit) and method in o.methods]
            if tried:
                yield name, method, summary(tried, method)


def summary(outcomes: Iterable[Outcome], method: str) -> dict[str, int | None]:
    """How many bugs there are, show, survive; and the cases by which such parts of all have shown: none where too few
    did."""
    real = [o for o in outcomes if not o.bug.equivalent]
    cases = sorted(o.falls[method].case for o in real if method in o.falls)
    row: dict[str, int | None] = {"bugs": len(real), "shown": len(cases), "survive": len(real) - len(cases)}
    for name, part in _QUANTILES.items():
        index = -int(-part * len(real) // 1) - 1
        row[name] = cases[index] if index < len(cases) else None
    return row


def survivors(outcomes: Iterable[Outcome], method: str) -> list[Outcome]:
    """The bugs that change something, but nothing that the cases of a kind show."""
    return [o for o in outcomes if not o.bug.equivalent and method in o.methods and method not in o.falls]


def unproven(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The bugs that nothing shows and that are not said to be equivalent."""
    return [o for o in outcomes if not o.bug.equivalent and not o.falls]


def _bug_line(outcome: Outcome, width: int) -> str:
    shown = [*outcome.methods, *(["witness"] if outcome.bug.witness else [])]
    falls = "; ".join(f"{m} {_where(outcome.falls.get(m))}" for m in shown)
    reason = "equivalent" if outcome.bug.equivalent else falls
    return f"{outcome.circuit:{width}} {outcome.bug.number:>3} {outcome.bug.text}: {reason}"


def _where(fall: Fall | None) -> str:
    return f"{fall.case} ({fall.setting})" if fall else "-"


def _survivor_line(outcome: Outcome) -> str:
    bug = outcome.bug
    line = f"  {outcome.circuit} {bug.number} {bug.text}"
    line += f"\n      needs: {bug.needs}" if bug.needs else ""
    return line + (f"\n      shown by: {bug.witness}" if bug.witness else "")


def as_json(outcomes: Sequence[Outcome], methods: Sequence[str], size: Size) -> str:
    """Everything that the table has."""
    rows = [
        {
            "circuit": o.circuit,
            "number": o.bug.number,
            "bug": o.bug.text,
            "equivalent": o.bug.equivalent or None,
            "witness": o.bug.witness or None,
            "needs": o.bug.needs or None,
            "shows": {m: {"case": f.case, "setting": f.setting} for m, f in o.falls.items()},
        }
        for o in outcomes
    ]
    summed = [{"circuit": name, "cases": method, **row} for name, method, row in summaries(outcomes, methods)]
    return (
        json.dumps(
            {
                "count": size.count,
                "level": size.level or None,
                "methods": list(methods),
                "summary": summed,
                "bugs": rows,
            },
            indent=1,
        )
        + "\n"
    )
