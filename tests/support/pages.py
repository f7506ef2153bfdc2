"""Pages of docs/, for the tests."""

from __future__ import annotations

import re
from pathlib import Path


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)
