"""Producers that run from their sources at a commit, since their packages need a GPU's compiler to be installed.

--sources names a folder that has them, under the names of SOURCES: `git clone URL FOLDER/NAME`, `git checkout COMMIT`.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from tests.campaigns.producers.packages import Array, Produced, Producer, as_bytes, nibbles


class Source(NamedTuple):
    """Where sources are, and the commit that a profile was compared with."""

    name: str
    url: str
    commit: str

    def version(self, folder: Path | None) -> str | None:
        """Which commit is in a folder; None if the sources are not there."""
        if folder is None or not (folder / self.name).is_dir():
            return None
        command = ["git", "-C", str(folder / self.name), "rev-parse", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stdout.strip() or "an unknown commit"


FOUR_OVER_SIX: Final = Source(
    "fouroversix", "https://github.com/mit-han-lab/fouroversix", "dadfad6901d473a734fe71e0b082e70ee993e23a"
)
TRANSFORMER_ENGINE: Final = Source(
    "TransformerEngine", "https://github.com/NVIDIA/TransformerEngine", "d0067d0da6cb01811b8072a7d304f0e00344ce2b"
)


def _package(name: str, folder: Path | None = None, **names: Any) -> None:
    """A package of that name whose own __init__ is not run: it imports compiled libraries. names: what it has."""
    module = ModuleType(name)
    module.__path__ = [] if folder is None else [str(folder)]
    module.__dict__.update(names)
    sys.modules[name] = module


@cache
def _four_over_six(folder: Path) -> Any:
    _package("fouroversix", folder / FOUR_OVER_SIX.name / "src" / "fouroversix")
    return import_module("fouroversix.quantize.pytorch.reference"), import_module("fouroversix.utils")


@cache
def _transformer_engine(folder: Path) -> Any:
    class Quantizer:
        def __init__(self, *, rowwise: bool, columnwise: bool) -> None:
            self.rowwise_usage, self.columnwise_usage = rowwise, columnwise

    top = folder / TRANSFORMER_ENGINE.name / "transformer_engine"
    names = {"QuantizedTensorStorage": type("QuantizedTensorStorage", (), {}), "Quantizer": Quantizer}
    _package("transformer_engine", top)
    _package("transformer_engine.pytorch", top / "pytorch")
    _package("transformer_engine.pytorch.quantized_tensor", **names)
    _package("transformer_engine.pytorch.tensor")
    _package("transformer_engine.pytorch.tensor.utils", is_custom=None)
    return import_module("transformer_engine.pytorch.custom_recipes.reference_nvfp4")


def four_over_six(folder: Path | None, error: str) -> Producer:
    """fouroversix' PyTorch backend. error: mse, mae or abs_max."""

    def run(x: Array) -> Produced:
        import torch

        assert folder is not None
        reference, words = _four_over_six(folder)
        weights, rule = torch.from_numpy(x.copy()), words.ScaleRule(error)
        packed, scales, amax = reference.quantize(weights, scale_rule=rule, use_blackwell_scale_layout=False)
        return Produced(as_bytes(scales).reshape(len(x), -1), nibbles(as_bytes(packed)), float(amax))

    return run


def transformer_engine(folder: Path | None, error: str, reach: int) -> Producer:
    """Transformer Engine's reference in Python. error: MSE or MAE; reach: 256 or 448."""

    def run(x: Array) -> Produced:
        import torch

        assert folder is not None
        reference = _transformer_engine(folder)
        options = {"nvfp4_use_4over6": True, "nvfp4_e4m3_max": reach, "nvfp4_4over6_err_mode": error}
        element = reference.reference_utils.Fp4Formats.E2M1
        made = reference.NVFP4QuantizerRef(element, columnwise=False, **options).quantize(torch.from_numpy(x.copy()))
        return Produced(as_bytes(made.scale), nibbles(as_bytes(made.data)), float(made.global_amax_row))

    return run
