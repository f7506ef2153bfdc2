"""Hypothesis: no deadlines, since machines are shared; in CI the same examples every time."""

from __future__ import annotations

import os

from hypothesis import settings

pytest_plugins = ["benches"]  # its fixtures serve several files

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
