"""The campaign's outcome as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from .campaign import Outcome

_QUANTILES = {"median": 0.5, "90 %": 0.9, "99 %": 0.99}


def text(outcomes: Sequence[Outcome], methods: Sequence[str], count: int) -> str:
    """A line a bug, and then a line a circuit and kind of cases."""
    width = max((len(o.circuit) for o in outcomes), default=0)
    lines = [_bug_line(o, methods, width) for o in outcomes]
    lines.append(f"\ncases until a bug shows, of {count} a setting; equivalent ones left out")
    head = "".join(f"{x:>9}" for x in ("bugs", "shown", "survive", *_QUANTILES))
    lines.append(f"{'':{width}} {'cases':<10}{head}")
    circuits = list(dict.fromkeys(o.circuit for o in outcomes))
    for name in [*circuits, *(["all"] if len(circuits) > 1 else [])]:
        for method in methods:
            row = summary([o for o in outcomes if name in ("all", o.circuit)], method)
            if row is not None:
                lines.append(f"{name:{width}} {method:<10}" + "".join(f"{x or '-':>9}" for x in row.values()))
    return "\n".join(lines)


def summary(outcomes: Iterable[Outcome], method: str) -> dict[str, int | None] | None:
    """How many bugs there are, show, survive; and the cases by which such parts of all have shown."""
    real = [o for o in outcomes if not o.bug.equivalent]
    cases = sorted(o.falls[method].case for o in real if method in o.falls)
    if not cases:
        return None
    row: dict[str, int | None] = {"bugs": len(real), "shown": len(cases), "survive": len(real) - len(cases)}
    for name, part in _QUANTILES.items():
        index = -int(-part * len(real) // 1) - 1
        row[name] = cases[index] if index < len(cases) else None
    return row


def _bug_line(outcome: Outcome, methods: Sequence[str], width: int) -> str:
    shown = [*methods, *(["witness"] if outcome.bug.witness else [])]
    falls = [f"{m} {outcome.falls[m].case} ({outcome.falls[m].setting})" if m in outcome.falls else f"{m} -" for m in shown]
    said = "equivalent" if outcome.bug.equivalent else "; ".join(falls)
    return f"{outcome.circuit:{width}} {outcome.bug.number:>3} {outcome.bug.text}: {said}"


def as_json(outcomes: Sequence[Outcome], methods: Sequence[str], count: int) -> str:
    """Everything that the table has."""
    rows = [
        {
            "circuit": o.circuit,
            "number": o.bug.number,
            "bug": o.bug.text,
            "equivalent": bool(o.bug.equivalent),
            "shows": {m: {"case": f.case, "setting": f.setting} for m, f in o.falls.items()},
        }
        for o in outcomes
    ]
    return json.dumps({"cases": count, "methods": list(methods), "bugs": rows}, indent=1) + "\n"
