"""A place to fuzz readers in, and the readers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz import guard
from fuzz.__main__ import all_readers, workplace
from fuzz.reader import Reader


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = workplace(tmp_path_factory.mktemp("fuzz"))
    with guard.limits(folder):
        yield folder


@pytest.fixture(scope="module")
def readers(work: Path) -> dict[str, Reader]:
    return all_readers(work)
