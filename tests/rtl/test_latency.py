"""The latency of a module, from results that a bench took at another one."""

from __future__ import annotations

import pytest

from softfloat_ref.rtl.latency import MOST, SUPPOSED, find_latency, trial
from softfloat_ref.rtl.port_map import parse_ports

EXPECTED = [i * i % 251 for i in range(400)]


def taken(latency: int) -> list[int]:
    """The results of a module of this latency, taken at the one supposed; it shows 255 before its first."""
    late = latency - SUPPOSED
    return [255] * late + EXPECTED[: len(EXPECTED) - late] if late >= 0 else EXPECTED[-late:] + [255] * -late


@pytest.mark.parametrize("latency", [0, 1, 2, 5, MOST])
def test_the_latency_at_which_results_are_right(latency: int) -> None:
    assert find_latency(EXPECTED, taken(latency)) == latency


@pytest.mark.parametrize("latency", [0, 3])
def test_a_module_that_is_wrong_in_most_cases(latency: int) -> None:
    wrong = [code if i % 3 == 0 else 255 for i, code in enumerate(taken(latency))]
    assert find_latency(EXPECTED, wrong) == latency


def test_no_latency_fits_results_of_another_unit() -> None:
    assert find_latency(EXPECTED, [(7 * code + 3) % 256 for code in EXPECTED]) is None
    assert find_latency(EXPECTED, [0] * 400) is None


def test_results_that_hardly_change_fit_every_latency() -> None:
    assert find_latency([1] * 400, [1] * 400) is None


def test_too_few_results() -> None:
    assert find_latency(EXPECTED[:15], EXPECTED[:15]) is None


def test_operations_in_each_cycle() -> None:
    ports = {"module": "m", "clock": "c", "latency": 9, "handshake": {"in_valid": "v", "stalls": 40}}
    ports |= {"inputs": {"a": "a"}, "outputs": {"y": "result"}}
    tried = trial(parse_ports(ports))
    assert (tried.latency, tried.handshake.stalls) == (SUPPOSED, 0)
