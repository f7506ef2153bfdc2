"""One mutant in a process of its own, which is forked with everything but the library already imported."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[3]
CPU_SECONDS = 60  # of a mutant, which may never end; more than the suite takes
MEMORY = 4 << 30


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a text."""

    def __init__(self, name: str, path: Path, text: str) -> None:
        self.name, self.path, self.text = name, path, text

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        where = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, self.path, loader=self, submodule_search_locations=where)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(compile(self.text, str(self.path), "exec"), module.__dict__)


def module_name(path: Path) -> str:
    """softfloat_ref/oracle/exact.py is softfloat_ref.oracle.exact."""
    parts = list(path.relative_to(TOP).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def prepare() -> None:
    """Import what the core suite needs, but not the library."""
    import decimal  # noqa: F401
    import difflib  # noqa: F401
    import fractions  # noqa: F401
    import tomllib  # noqa: F401

    sys.path[:0] = [str(TOP), str(TOP / "tests" / "support"), str(TOP / "tests" / "oracle")]
    assert not [name for name in sys.modules if name.startswith("softfloat_ref")]


def survives(path: Path, text: str, samples: Sequence[str]) -> bool:
    """Whether the core suite passes with that text in a module's place. samples: of it, those to begin with."""
    child = os.fork()
    if child == 0:
        _test(path, text, samples)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def _test(path: Path, text: str, samples: Sequence[str]) -> None:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(null, descriptor)
        sys.dont_write_bytecode = True
        sys.meta_path.insert(0, _Mutated(module_name(path), path, text))
        import test_core

        code = int(not all(test_core.is_unchanged(name) for name in dict.fromkeys([*samples, *test_core.SAMPLES])))
    finally:
        os._exit(code)
