"""The faults of small_fpu, in pairs and triples: each is named wherever it shows.

`python -m tests.campaigns.faults` runs all pairs and triples."""

from __future__ import annotations

import pytest
from benches import CHEAP, with_icarus
from faults.planted import FAULTS, LEVELS, Campaign, Verdict

pytestmark = pytest.mark.sim
COUNT = 6000
# Those that meet in one part: 0, 1, 2 and 7 in FP16, 6 and 9 in FP32, 0, 4 and 5 in comparisons. The campaign has all.
TOGETHER = ((0, 1, 7), (0, 4, 5), (3, 6, 8), (2, 5, 9))
MORE = ((6, 9),)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(tmp_path_factory.mktemp("faults"), COUNT, 1, CHEAP)


def test_every_fault_is_among_them() -> None:
    assert {n for faults in TOGETHER for n in faults} == set(range(len(FAULTS)))


@pytest.mark.full(gate=1)
@pytest.mark.parametrize("faults", [*TOGETHER, *(with_icarus(x) for x in MORE)], ids=str)
def test_each_of_several_faults_is_named(faults: tuple[int, ...], campaign: Campaign) -> None:
    assert campaign.verdict(faults) == Verdict(dict.fromkeys(faults, LEVELS[0]), [], 0)
