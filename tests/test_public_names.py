"""The public modules show their public names and nothing else, to dir, completion and help; each says what it is."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import rlcompleter
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref.base.errors import Error

MODULES = [
    "softfloat_ref",
    *(f"softfloat_ref.{x}" for x in ("arrays", "blocks", "affine", "array_ops", "exchange", "p3109")),
]


@pytest.mark.parametrize("name", MODULES)
def test_dir_is_the_public_names(name: str) -> None:
    module: Any = importlib.import_module(name)
    assert dir(module) == sorted(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    completer = rlcompleter.Completer({"m": module})
    shown = {str(completer.complete("m.", i)).removesuffix("(").removesuffix("()") for i in range(len(module.__all__))}
    assert {x.partition("(")[0] for x in shown} == {f"m.{x}" for x in module.__all__}
    shown = pydoc.render_doc(module, renderer=pydoc.plaintext)
    for public in module.__all__:
        found = getattr(module, public)
        assert public in shown
        if inspect.isroutine(found) or inspect.isclass(found):
            assert inspect.getdoc(found), public


def shows_its_names(of_torch: bool) -> int:
    """How many modules with public names there are in softfloat_ref.torch, or outside it; all show exactly them."""
    root = Path(sf.__file__).parent
    listed = [x for x in root.rglob("*.py") if "\n__all__ = [" in x.read_text(encoding="utf-8")]
    found = [x for x in listed if ("torch" in x.relative_to(root).parts) == of_torch]
    for path in found:
        parts = path.relative_to(root.parent).with_suffix("").parts
        module: Any = importlib.import_module(".".join(x for x in parts if x != "__init__"))
        assert dir(module) == sorted(module.__all__), path
        assert all(hasattr(module, name) for name in module.__all__), path
    return len(found)


def test_every_module_with_public_names_shows_them() -> None:
    assert shows_its_names(of_torch=False) > 15


@pytest.mark.extra("torch")
def test_the_modules_for_torch_show_them() -> None:
    assert shows_its_names(of_torch=True)


def test_dir_needs_no_import() -> None:
    code = "import sys, softfloat_ref as sf; dir(sf); print('numpy' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


def test_all_can_be_imported() -> None:
    names: dict[str, Any] = {}
    exec("from softfloat_ref import *", names)
    assert names.keys() - {"__builtins__"} == set(sf.__all__)
    assert sum(isinstance(x, ModuleType) for x in names.values()) == 6


# -- formats as types --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (np.float16, "fp16"),
        (np.float32, "fp32"),
        (np.dtype("float64"), "fp64"),
        (np.dtype(">f4"), "fp32"),
        (np.int8, "i8"),
        (np.dtype("uint16"), "u16"),
        (ml_dtypes.bfloat16, "bf16"),
        (ml_dtypes.float8_e4m3fn, "fp8_e4m3"),
        (np.dtype(ml_dtypes.float8_e5m2), "fp8_e5m2"),
        (ml_dtypes.float4_e2m1fn, "fp4_e2m1"),
        (ml_dtypes.float8_e8m0fnu, "e8m0"),
        (ml_dtypes.int4, "i4"),
    ],
)
def test_types_of_numpy_and_ml_dtypes(kind: Any, name: str) -> None:
    assert sf.get_format(kind) == sf.get_format(name)
    x = np.linspace(0, 3, 7)
    assert (sf.quantize(x, kind) == sf.quantize(x, name)).all()
    assert sf.encode(x, kind) == sf.encode(x, name)
    if name[0] not in "iu":
        assert sf.get_format(sf.exchange.ml_dtype(name)) == sf.get_format(name)


@pytest.mark.parametrize(
    "kind", [np.bool_, np.complex64, np.dtype("U3"), np.longdouble, np.dtype(np.longdouble), np.str_]
)
def test_types_that_are_no_formats(kind: Any) -> None:
    with pytest.raises(Error, match="is not a type of floats or integers"):
        sf.get_format(kind)
    with pytest.raises(Error, match="is not a type of floats or integers"):
        sf.quantize([1.0], kind)


@pytest.mark.parametrize("wrong", [3, None, float, np.float32(1), np.zeros(2)])
def test_what_is_no_format(wrong: Any) -> None:
    for work in (sf.get_format, lambda x: sf.quantize([1.0], x), lambda x: sf.blocks.encode([1.0], x)):
        with pytest.raises(Error):
            work(wrong)


@pytest.mark.extra
def test_types_of_torch() -> None:
    torch = pytest.importorskip("torch")
    for kind, name in (
        (torch.float8_e4m3fn, "fp8_e4m3"),
        (torch.float4_e2m1fn_x2, "fp4_e2m1"),
        (torch.half, "fp16"),
        (torch.bfloat16, "bf16"),
        (torch.float8_e8m0fnu, "e8m0"),
    ):
        assert sf.get_format(kind) == sf.get_format(name)
        assert sf.exchange.torch_dtype(name) == kind
    assert sf.get_format(torch.int8) == sf.get_format("i8")
    assert sf.encode([1.0, 2.0], torch.quint8) == sf.encode([1.0, 2.0], "quint8")
    assert sf.encode([1.0, 2.0], torch.quint4x2) == sf.encode([1.0, 2.0], "quint4")
    for kind in (torch.bool, torch.complex64):
        with pytest.raises(Error, match="is not a type of floats or integers"):
            sf.get_format(kind)
