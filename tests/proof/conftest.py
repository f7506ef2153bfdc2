"""What several tests of proofs share."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest


@pytest.fixture(autouse=True)
def patient_simulations() -> Iterator[None]:
    """A machine with other work may take longer than the minute that a simulation has."""
    with patch("softfloat_ref.rtl.cycles._RUN_S", 600.0):
        yield


@pytest.fixture
def nothing_simulated() -> Iterator[None]:
    """What simulators say is another matter (test_cosimulation.py), and takes longer."""
    with patch("softfloat_ref.proof.outcome.SIMULATORS", ()):
        yield
