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

from softfloat_ref.base import kept

_UNUSED: Final = "NRT_MemInfo_call_dtor"  # Numba's, of arrays that own their memory: none of a loop's arguments does
_ELSEWHERE: Final = {_UNUSED, "memcpy", "memmove", "memset"}
_SYSTEM: Final = ("linux", "x86_64")  # with which this is tested
_LOADING: Final = Lock()
_VOID: Final = ctypes.c_void_p
_SIZE: Final = ctypes.c_int64

Key = tuple[tuple[str, int], ...]  # of each argument: type and dimensions


class Loop:
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
            with _LOADING:
                run = self._loaded.setdefault(key, self._load(key))
        run(*arrays)

    def _load(self, key: Key) -> Callable[..., Any]:
        place = self._place(key)
        if place is not None:
            stored = kept.read(place) if _own(place) else None
            if stored is None and (stored := _compiled(self._function(), key)):
                kept.keep(place, stored)
            if stored:
                return _linked(stored["name"], base64.b64decode(stored["object"]))
        function: Callable[..., Any] = self._function()
        return function

    def _function(self) -> Any:
        return getattr(import_module(self.module), self.name)

    def _place(self, key: Key) -> Path | None:
        if not hasattr(os, "uname") or (sys.platform, os.uname().machine) != _SYSTEM:
            return None
        import llvmlite
        from llvmlite import binding

        spec = find_spec("numba")  # which is not loaded for its version
        if spec is None or spec.origin is None:
            return None
        processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
        settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
        numba = spec.origin, os.stat(spec.origin).st_mtime_ns, llvmlite.__version__
        return kept.place(kept.Origin(self.module, json.dumps([self.name, key, processor, settings, numba])), "object")


def _own(place: Path) -> bool:
    """Whether a file is this user's, whose code may run."""
    with suppress(OSError):
        return place.stat().st_uid == os.geteuid()
    return False


def _compiled(function: Any, key: Key) -> dict[str, str] | None:
    """`_object_code`; None with a version of Numba that has no such internals."""
    with suppress(AttributeError, ImportError, TypeError):
        return _object_code(function, key)
    return None


def _object_code(function: Any, key: Key) -> dict[str, str] | None:
    """The symbol and object code of a function of Numba for arguments of those types; None if it is not self-contained,
    or Numba compiles nothing."""
    import numpy as np
    from numba import from_dtype, types
    from numba.core import compiler
    from numba.core.registry import cpu_target

    if not hasattr(function, "targetoptions"):  # NUMBA_DISABLE_JIT
        return None
    numba: Any = compiler
    of_type, array_of, target = cast(Any, from_dtype), cast(Any, types.Array), cast(Any, cpu_target)
    flags = numba.Flags()
    function.targetdescr.options.parse_as_flags(flags, function.targetoptions)
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    arrays = tuple(array_of(of_type(np.dtype(kind)), dimensions, "C") for kind, dimensions in key)
    made = numba.compile_extra(target.typing_context, target.target_context, function.py_func, arrays, None, flags, {})
    library = made.library
    module = library._final_module
    symbols = [*module.functions, *module.global_variables]
    outside = {x.name for x in symbols if x.is_declaration and not x.name.startswith("llvm.")}
    if outside - _ELSEWHERE:
        return None
    code = base64.b64encode(library._get_compiled_object()).decode("ascii")
    return {"name": made.fndesc.llvm_func_name, "object": code}


def _linked(name: str, code: bytes) -> Callable[..., None]:
    """The function of that name in object code, called in Numba's convention."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if binding.address_of_symbol(_UNUSED) is None:
        abort = ctypes.cast(ctypes.CDLL(None).abort, _VOID).value
        binding.add_symbol(_UNUSED, abort)
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address = engine.get_function_address(name)

    def run(*arrays: Any) -> None:
        result, raised = _SIZE(), _VOID()
        given = [x for array in arrays for x in _parts(array)]
        kinds = [_VOID if kind else _SIZE for array in arrays for kind in _kinds(array.ndim)]
        call = ctypes.CFUNCTYPE(ctypes.c_int, _VOID, _VOID, *kinds)(address)
        if call(ctypes.addressof(result), ctypes.addressof(raised), *given):
            raise RuntimeError(f"{name} failed")

    cast(Any, run).engine = engine  # the code lives as long as the engine
    return run


def _parts(array: Any) -> tuple[int | None, ...]:
    """The fields of an array in Numba: its owner and its parent, which are nothing here, number and size of its
    elements, its data, shape and strides."""
    return None, None, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides


def _kinds(dimensions: int) -> tuple[bool, ...]:
    """Which of these fields are pointers."""
    return True, True, False, False, True, *(False,) * (2 * dimensions)
