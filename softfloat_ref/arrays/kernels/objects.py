"""Compiled loops as object code, kept on disk between runs and called without loading Numba, which takes longer than
many a command.

The object code depends on all sources of the loop, on the versions of Numba and llvmlite, and on the processor. Where
it cannot be kept, Numba's own function is called; the results are the same.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final, cast

from softfloat_ref.base import disk_cache

_C_LIBRARY: Final = {"memcpy", "memmove", "memset"}
_TESTED_SYSTEM: Final = ("linux", "x86_64")  # with which this is tested
_LOAD_LOCK: Final = Lock()
_POINTER: Final = ctypes.c_void_p
_SIZE: Final = ctypes.c_ssize_t

Key = tuple[tuple[str, int], ...]  # of each argument: type and dimensions


class ObjectLoop:
    """A compiled function of a module, whose arguments are contiguous numpy arrays; what it returns is not passed on.

    It must neither allocate memory nor raise exceptions. Calls release the interpreter lock.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        self._loaded: dict[Key, Callable[..., Any]] = {}

    def __call__(self, *arrays: Any) -> None:
        if not all(x.flags.carray for x in arrays):
            raise ValueError(f"{self.name}: an array is not contiguous, not aligned, or read-only")
        key = tuple((x.dtype.str, x.ndim) for x in arrays)
        run = self._loaded.get(key)
        if run is None:
            with _LOAD_LOCK:
                run = self._loaded.setdefault(key, self._load(key))
        run(*arrays)

    def _load(self, key: Key) -> Callable[..., Any]:
        place = self._place(key)
        if place is not None:
            stored = disk_cache.load(place) if _own(place) else None
            if stored is None and (stored := _object_code(self._function(), key)):
                disk_cache.store(place, stored)
            if stored:
                return _linked(stored["name"], base64.b64decode(stored["object"]))
        function: Callable[..., Any] = self._function()
        return function

    def _function(self) -> Any:
        return getattr(import_module(self.module), self.name)

    def _place(self, key: Key) -> Path | None:
        if not hasattr(os, "uname") or (sys.platform, os.uname().machine) != _TESTED_SYSTEM:
            return None
        import llvmlite
        from llvmlite import binding

        spec = find_spec("numba")  # which is not loaded for its version
        if spec is None or spec.origin is None:
            return None
        processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
        settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
        numba = spec.origin, os.stat(spec.origin).st_mtime_ns, llvmlite.__version__
        return disk_cache.path_for(
            disk_cache.CacheKey(self.module, json.dumps([self.name, key, processor, settings, numba])), "C object"
        )


def _own(place: Path) -> bool:
    """Whether a file is this user's, whose code may run."""
    with suppress(OSError):
        return place.stat().st_uid == os.geteuid()
    return False


def _object_code(function: Any, key: Key) -> dict[str, str] | None:
    """The symbol and object code of a C function that calls a function of Numba with arrays of those types; None if it
    is not self-contained, or not compiled for this processor."""
    from llvmlite import binding
    from numba import config

    chosen = config.CPU_NAME or config.CPU_FEATURES  # type: ignore[attr-defined]
    if chosen or not hasattr(function, "inspect_llvm") or not hasattr(binding, "create_pass_builder"):
        return None  # inspect_llvm: NUMBA_DISABLE_JIT; create_pass_builder: an older llvmlite
    c_function = _c_function(function, key)
    machine, module = _machine(), binding.parse_assembly(c_function.inspect_llvm())
    for x in (*module.functions, *module.global_variables):
        if not x.is_declaration and x.name != c_function.native_name:
            x.linkage = "internal"  # so that code that is never called is removed: here all error handling
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(module, passes)
    symbols = (*module.functions, *module.global_variables)
    outside = {x.name for x in symbols if x.is_declaration and not x.name.startswith("llvm.")}
    if outside - _C_LIBRARY:
        return None
    return {"name": c_function.native_name, "object": base64.b64encode(machine.emit_object(module)).decode("ascii")}


def _c_function(function: Any, key: Key) -> Any:
    """Of Numba: its arguments are the pointer and the shape of each array."""
    import numba
    import numpy as np

    nb: Any = numba
    arrays = [(f"p{i}", [f"n{i}_{k}" for k in range(dimensions)]) for i, (_, dimensions) in enumerate(key)]
    parameters = ", ".join(x for pointer, shape in arrays for x in (pointer, *shape))
    passed = ", ".join(f"carray({pointer}, ({', '.join(shape)},))" for pointer, shape in arrays)
    names: dict[str, Any] = {"function": function, "carray": nb.carray}
    exec(f"def call({parameters}):\n    function({passed})\n", names)
    types = [(nb.types.CPointer(nb.from_dtype(np.dtype(kind))), dimensions) for kind, dimensions in key]
    kinds = [x for pointer, dimensions in types for x in (pointer, *[nb.types.intp] * dimensions)]
    return nb.cfunc(nb.types.void(*kinds))(names["call"])


def _machine() -> Any:
    """Code for this processor, wherever it is loaded."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    return binding.Target.from_default_triple().create_target_machine(*processor, codemodel="jitdefault", jit=True)


def _linked(name: str, code: bytes) -> Callable[..., None]:
    """The C function of that name in object code."""
    from llvmlite import binding

    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _machine())
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address = engine.get_function_address(name)

    def run(*arrays: Any) -> None:
        kinds = [kind for x in arrays for kind in (_POINTER, *[_SIZE] * x.ndim)]
        call = ctypes.CFUNCTYPE(None, *kinds)(address)
        call(*(x for array in arrays for x in (array.ctypes.data, *array.shape)))

    cast(Any, run).engine = engine  # the code lives as long as the engine
    return run
