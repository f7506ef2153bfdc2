"""A numpy layer's passes on tensors, and what the layers of a model share: the step, the run, the recording."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from softfloat_ref.golden.trace.numerics import RecordingNumerics
from softfloat_ref.golden.trace.recorder import Recorder
from softfloat_ref.nn import layers
from softfloat_ref.nn.numerics import RunState
from softfloat_ref.nn.training_recipe import Recipe
from softfloat_ref.torch import tensors


class Clock:
    """The step of a model in training, on which random bits depend: the number of its calls in training mode.

    forwards: the number of quantized forwards of its layers.
    """

    def __init__(self, recipe: Recipe, seed: int | None) -> None:
        self.recipe, self.seed = recipe, recipe.training.seed if seed is None else seed
        self.step = 0
        self.forwards = 0
        self.recording: ForwardRecording | None = None
        self._run = RunState(self.seed)

    @torch.compiler.disable
    def begin(self, module: Any, inputs: Any) -> None:
        """Count a call of the model: a forward pre-hook."""
        if module.training:
            self.step += 1
            self._run = RunState(self.seed, self.step)

    def run(self, training: bool) -> RunState:
        """The run of a layer that trains: one for all layers in this step; or of one in evaluation."""
        return self._run if training else RunState(self.seed, self.step, training=False)


class ForwardRecording(NamedTuple):
    """A forward pass that is being recorded: its tensors and operations, and the run of all its layers."""

    recorder: Recorder
    run: RunState


class Through(torch.autograd.Function):
    """A numpy layer. It reads x and the parameters in place, and autograd refuses a backward after they changed."""

    @staticmethod
    def forward(ctx: Any, layer: layers.Layer, x: Any, weight: Any, bias: Any) -> Any:
        ctx.save_for_backward(x, weight, bias)
        ctx.layer = layer
        with np.errstate(over="ignore", invalid="ignore"):
            y = layer.forward(array(x, layer))
        # Functions keep theirs; what is given may be changed.
        return tensor_of(y if layer.products else y.copy(), x, layer)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Any) -> tuple[Any, ...]:
        x, *parameters = ctx.saved_tensors
        layer = ctx.layer
        layer.needs_input_gradient = ctx.needs_input_grad[1]
        with np.errstate(over="ignore", invalid="ignore"):
            dx = layer.backward(array(dy, layer))
        gradients = [tensor_of(dx, x, layer) if ctx.needs_input_grad[1] else None]
        for needed, name, p in zip(ctx.needs_input_grad[2:], ("weight", "bias"), parameters, strict=True):
            gradients.append(tensor_of(layer.grads[name], p, layer) if needed else None)
        return None, *gradients


def array(x: Any, layer: layers.Layer) -> tensors.Array:
    """A tensor as float32 in the numpy layers' order of axes: images and kernels have their channels last. A
    tensor without axes becomes an array of one number."""
    last = layer.kind != "linear" and x.ndim == 4
    return np.atleast_1d(tensors.float32(x.detach().permute(0, 2, 3, 1) if last else x, layer.name))


def record_forward(layer: layers.Layer, x: Any, recording: ForwardRecording) -> Any:
    """The output of a numpy layer whose operations are recorded; its input and its parameters are given tensors."""
    recorder, path = recording.recorder, layer.numerics.name.replace(".", "/")
    layer.numerics.run = recording.run
    layer.numerics = RecordingNumerics(layer.numerics, recorder)
    layer.params = {key: recorder.input(f"{path}/{key}", p) for key, p in layer.params.items()}
    with np.errstate(over="ignore", invalid="ignore"):
        y = layer.forward(recorder.input(f"{path}/input", array(x, layer)))
    return tensor_of(np.asarray(y).copy(), x, layer)


def tensor_of(values: tensors.Array, x: Any, layer: layers.Layer) -> Any:
    """A numpy layer's result as a tensor, in torch's order of axes."""
    if layer.kind != "linear" and values.ndim == 4:
        values = values.transpose(0, 3, 1, 2)
    return tensors.like(values if x.ndim else values.reshape(()), x)
