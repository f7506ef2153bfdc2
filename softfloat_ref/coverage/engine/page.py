"""Coverage reports as text, and as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from softfloat_ref.coverage.engine.measure import LISTED, OUTSIDE, STATUSES, CoverageReport, ModelReport

_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c1c1c; }
h1 { font-size: 1.4rem; margin-bottom: 0; }
p { margin: .3rem 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .15rem .6rem; border-bottom: 1px solid #e2e2e2; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
details { border: 1px solid #d5d5d5; border-radius: 4px; margin: .4rem 0; padding: .3rem .7rem; }
summary { cursor: pointer; display: flex; gap: .8rem; align-items: center; }
summary .title { flex: 1; }
code { font: 13px ui-monospace, monospace; }
.bar { display: inline-flex; width: 12rem; height: .7rem; background: #eee; }
.bar span { display: block; height: 100%; }
.hit { background: #cfe8d0; } .empty { background: #f6c7c3; } .waived { background: #f7e6b5; }
.unreachable, .outside { background: #e4e4e4; }
.bar .hit { background: #3f9b47; } .bar .empty { background: #cf3a2e; } .bar .waived { background: #d9a520; }
.bar .unreachable, .bar .outside { background: #b5b5b5; }
.key span { padding: .1rem .5rem; margin-right: .4rem; }
"""


def text(report: CoverageReport, every_bin: bool = False) -> Iterator[str]:
    """Lines: one per model, or per part of a unit with several; then the empty and the waived bins, of each part the
    first. every_bin: all bins."""
    yield f"{report.name}: {report.measured}"
    parts = report.parts
    rows = [(k, p.totals, "") for k, p in parts.items()] or [(m.id, m.totals, f"  {m.title}") for m in report.models]
    width = max(5, *(len(name) for name, _, _ in rows)) if rows else 5
    title = "part" if parts else "model"
    heads = ("bins", *_SIZES) if OUTSIDE in report.totals else ("bins", *STATUSES)
    yield f"{title:{width}} " + " ".join(f"{h:>{_SIZES.get(h, 6)}}" for h in heads)
    for name, totals, what in rows:
        yield _row(name, totals, width, heads) + what
    yield _row("total", report.totals, width, heads)
    for one in parts.values() or (report,):
        lines = list(_bins(one, every_bin))
        shown = len(lines) if every_bin or not parts else LISTED
        yield from lines[:shown]
        if lines[shown:]:
            yield f"... and {len(lines) - shown} more of {one.name}; --bins shows all"


def _bins(report: CoverageReport, every_bin: bool) -> Iterator[str]:
    for m in report.models:
        for b in m.bins:
            if every_bin or b.status in ("empty", "waived"):
                shown = f"{b.hits} hits" if b.status == "hit" else b.why
                yield f"{b.status}: {b.id}" + (f" ({shown})" if shown else "")
        if every_bin:
            yield from (f"not reached by the search: {x}" for x in m.not_reached)
    missed = {m.id: len(m.not_reached) for m in report.models if m.not_reached}
    if missed and not every_bin:
        numbers = ", ".join(f"{n} of {model}" for model, n in missed.items())
        yield f"not reached by the search, nor proven unreachable: {numbers}; --bins lists them"


def _row(name: str, totals: dict[str, int], width: int, heads: Sequence[str]) -> str:
    counts = {"bins": sum(totals.values()), **totals}
    return f"{name:{width}} " + " ".join(f"{counts.get(h, 0):>{_SIZES.get(h, 6)}}" for h in heads)


_SIZES: Final = dict(zip((*STATUSES, OUTSIDE), (6, 6, 6, 11, 7), strict=True))  # of columns
_STATUS_ORDER: Final = ("empty", "waived", "hit", "unreachable", OUTSIDE)  # the most relevant bins come first


def html(report: CoverageReport) -> str:
    """The page."""
    totals = report.totals
    reachable = totals["hit"] + totals["empty"]
    key = "".join(f'<span class="{s}">{s}: {count}</span>' for s, count in totals.items())
    head = (
        f"<h1>Coverage of {escape(report.name)}</h1>\n"
        f"<p>{escape(report.measured)}: {totals['hit']} of {reachable} reachable bins hit</p>\n"
        f'<p class="key">{key}</p>\n'
    )
    body = "".join(
        f"<h2>{escape(name)}</h2>\n" * bool(name) + "".join(_model(m) for m in one.models)
        for name, one in (report.parts or {"": report}).items()
    )
    title = escape(f"Coverage of {report.name}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{head}{body}</body>\n</html>\n"
    )


def _model(m: ModelReport) -> str:
    totals = m.totals
    count = max(len(m.bins), 1)
    parts = "".join(f'<span class="{s}" style="width:{100 * n / count:.2f}%"></span>' for s, n in totals.items() if n)
    opened = " open" if totals["empty"] else ""
    rows = "".join(
        f'<tr class="{b.status}"><td><code>{escape(b.id)}</code></td><td>{b.status}</td>'
        f'<td class="n">{b.hits or ""}</td><td>{escape(b.why)}</td></tr>\n'
        for b in sorted(m.bins, key=lambda b: _STATUS_ORDER.index(b.status))
    )
    reachable = totals["hit"] + totals["empty"]
    return (
        f'<details{opened}>\n<summary><b>{escape(m.id)}</b><span class="title">{escape(m.title)}</span>'
        f'<span>{totals["hit"]}/{reachable}</span><span class="bar">{parts}</span></summary>\n'
        '<table>\n<tr><th>bin</th><th>status</th><th class="n">hits</th><th>why</th></tr>\n'
        f"{rows}</table>\n{_not_reached(m)}</details>\n"
    )


def _not_reached(m: ModelReport) -> str:
    if not m.not_reached:
        return ""
    names = ", ".join(f"<code>{escape(x)}</code>" for x in m.not_reached)
    return f"<p>Not reached by the search, nor proven unreachable, nor hit: {names}</p>\n"
