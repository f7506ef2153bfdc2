"""What was skipped for want of what. A reason to skip that begins with "needs X" says so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_NEEDS = re.compile(r"(?:Skipped: )?(?:needs (?P<thing>[^;:(,]+)|could not import '(?P<package>\w+))")


def summary(reasons: Iterable[str]) -> str:
    """One line: how many tests were skipped, and how many of them for want of each thing, most first."""
    found = [_NEEDS.match(reason) for reason in reasons]
    wants = Counter((m["thing"] or m["package"]).strip() for m in found if m)
    parts = [f"{count} {'of' if i else 'for want of'} {thing}" for i, (thing, count) in enumerate(wants.most_common())]
    if others := found.count(None):
        parts.append(f"{others} for other reasons (-rs lists them)")
    return f"{len(found)} skipped: {', '.join(parts)}"
