"""`write_trace`: the golden vectors of a model's forward pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.files import refuse_other
from softfloat_ref.golden.trace.files import write_trace as write_files
from softfloat_ref.golden.trace.recorder import Recorder
from softfloat_ref.nn.numerics import RunState
from softfloat_ref.torch.layers import Quantized
from softfloat_ref.torch.passes import Recording


def write_trace(model: Any, folder: str | Path, *inputs: Any) -> Any:
    """Run a model from `quantized`, in evaluation, and write every tensor of its quantized layers into a folder, with
    the operations between them: a golden trace, as `softfloat-ref vectors verify` recomputes it. Returns the model's
    output.

    inputs: what the model is called with. A layer's input, weight and bias are given tensors; what torch computes
    between layers is not recorded. Products that the recipe leaves to BLAS, whose order of additions is undefined, are
    added up by mx-fp32 (blocks) or fp32-sequential here, so that the output may differ in its last bits. Raises Error
    for a model without quantized layers or in training mode, for a call of it in which no product or function was
    quantized, and for a folder that holds vectors. Nothing is written then.
    """
    clocks = dict.fromkeys(m._clock for m in model.modules() if isinstance(m, Quantized))
    if len(clocks) != 1:
        which = "layers of several quantized models" if clocks else "no quantized layers"
        raise Error(f"a model with {which}; give one from softfloat_ref.torch.quantized")
    (clock,) = clocks
    if model.training:
        raise Error("the model is in training mode; call its eval() first")
    folder, recorder = Path(folder), Recorder()
    refuse_other(folder)
    clock.recording = Recording(recorder, RunState(clock.seed, clock.step, training=False, phase="forward"))
    try:
        with torch.no_grad():
            y = model(*inputs)
    finally:
        clock.recording = None
    trace = recorder.trace(clock.recipe.name, clock.recipe.to_toml(), 0)
    write_files(trace, recorder.codes, folder)
    return y
