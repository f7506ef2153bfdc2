"""Hashes of questions to a solver, the same however and in whichever order their terms were made."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from softfloat_ref.symbolic.terms import Term, subterms

_COMMUTING: Final = ("and", "or", "xor", "add", "mul", "eq")


def query_hash(assertions: Sequence[Term]) -> str:
    """SHA-256 of the assertions, each term by its operation, width, value and the hashes of its arguments."""
    known: dict[Term, bytes] = {}
    for term in subterms(assertions):
        args = [known[a] for a in term.args]
        args = sorted(args) if term.op in _COMMUTING else args
        head = f"{term.op} {term.width} {term.value} ".encode()
        known[term] = hashlib.sha256(head + b"".join(args)).digest()
    return hashlib.sha256(b"".join(sorted(known[a] for a in assertions))).hexdigest()
