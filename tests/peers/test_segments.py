"""The proof of the compiled functions' bounds, for some segments of every function; compare_segments.py has all."""

from __future__ import annotations

import pytest

from softfloat_ref.arrays.kernels import segments as sg
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.operations.table import Loop

pytestmark = pytest.mark.extra("flint")

FUNCTIONS = [name for name, row in OPERATIONS.items() if row.loop is Loop.SEGMENTS]
SOME = ("exp", "tanh", "sigmoid", "rsqrt", "log", "asinpi")  # those whose tables tests/arrays makes anyway


@pytest.mark.parametrize("op", SOME)
def test_bounds_are_proved(op: str) -> None:
    from compare_segments import prove

    proved, failed, _ = prove(op, every=13 if op != "rsqrt" else 61)
    assert failed == 0
    assert proved > 30


@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions_are_odd_and_even_as_their_rows_say(op: str) -> None:
    from compare_segments import symmetry

    assert symmetry(op)


@pytest.mark.parametrize("op", SOME)
def test_outside_is_outside_the_domain(op: str) -> None:
    """Each binade marked so lies beyond the ends of the curve (rsqrt's: below zero)."""
    from compare_segments import outside_is_right

    assert outside_is_right(OPERATIONS[op])


def test_a_wrong_claim_is_not_proved() -> None:
    """Bounds a little narrower than the error, a base moved, a coefficient changed."""
    from compare_segments import Claim, claims, prepare

    prepare()
    known = sg.segments(OPERATIONS["exp"])
    claim = next(c for c in claims(OPERATIONS["exp"]) if c.place.binade == 1 and not c.place.sign)
    row = int(known.binades[0, claim.place.binade - sg.LEAST, 0]) + (1 << claim.place.steps)
    whole, parts = known.whole[row], known.parts[row]
    assert Claim("exp", claim.place, whole, parts).is_proved()
    for change in ([whole[3] * 2, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, -whole[3] + 40, -whole[4] + 40]):
        assert not Claim("exp", claim.place, whole + change, parts).is_proved(halvings=2)
    changed = parts.copy()
    changed[3] *= 1 + 2.0**-20
    assert not Claim("exp", claim.place, whole, changed).is_proved(halvings=2)
