"""Makes the packs in vectors/packs anew, from the suites: run it from the top of a checkout."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from softfloat_ref.golden.suites import find_suite, generate_suite
from softfloat_ref.golden.vector_recipes import suite_files

TOP = Path(__file__).parents[1]


def command(name: str) -> list[str]:
    """What makes one of them by hand."""
    return ["softfloat-ref", "vectors", "generate", name, "--pack", "-o", f"vectors/packs/{name}"]


def make(packs: Path) -> None:
    """Write the pack of every suite into a folder."""
    for name in suite_files():
        suite = find_suite(name)
        assert suite is not None
        generate_suite(suite.packed(), packs / name, command(name))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TOP / "vectors" / "packs"
    if target.exists():
        shutil.rmtree(target)
    make(target)
