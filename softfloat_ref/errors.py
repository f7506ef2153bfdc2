"""The errors a user can cause: each is one line that says where, what and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Error(ValueError):
    """Bad usage or bad input. The message is one line, fit to be shown to the user as it is."""


class Undefined(Error):
    """A case that has no defined result under the policy; generated vectors leave it out."""


def unknown(kind: str, name: str, known: Iterable[str], hint: str = "") -> Error:
    """The error for a name that is in no registry, with the closest names that are."""
    known = list(known)
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    advice = f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(known[:24])}"
    return Error(f"unknown {kind} {name!r}; {advice}{hint}")
