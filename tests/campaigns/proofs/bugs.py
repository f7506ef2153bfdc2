"""Each bug of the mutation campaign: an input that shows it, or a proof that there is none."""

from __future__ import annotations


def run(names, numbers, limit_s):  # type: ignore
    return 0
