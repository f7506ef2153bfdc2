"""Which tensors of a model belong together: quantized weights with their scales, by the layouts of producers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from softfloat_ref.arrays import convert, packing
from softfloat_ref.nn.model_files.layouts import Layout, LayoutTable
from softfloat_ref.nn.model_files.quantized import ALIGNED, LayoutTensor, Part, QuantizedTensor
from softfloat_ref.nn.model_files.tensors import ModelTensor, problem_of
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, MAX_BLOCK
from softfloat_ref.oracle.formats import get_format

ByName = Mapping[str, ModelTensor]


def weights(tensors: Sequence[ModelTensor], table: LayoutTable) -> list[ModelTensor]:
    """The tensors with those of a layout joined: scales are part of a weight, and no tensors of their own. A tensor
    whose scales fit no layout has a problem."""
    by_name = {t.name: t for t in tensors}
    joined: list[ModelTensor] = []
    parts: set[str] = set()
    for tensor in tensors:
        weight, names = _weight(tensor, by_name, table)
        joined.append(weight)
        parts |= names
    return [_companion(t, table) for t, own in zip(joined, tensors, strict=True) if own.name not in parts]


def _companion(tensor: ModelTensor, table: LayoutTable) -> ModelTensor:
    last = tensor.name.rpartition(".")[2]
    if tensor.swizzled and not tensor.problem:
        return replace(tensor, problem="swizzled scales, and no weight that they fit")
    if isinstance(tensor, QuantizedTensor) or tensor.problem or last not in table.companions:
        return tensor
    return replace(tensor, problem=f"{last}: accompanies weights or activations")


def _weight(tensor: ModelTensor, by_name: ByName, table: LayoutTable) -> tuple[ModelTensor, set[str]]:
    """The weight whose codes a tensor holds, and the names of its other tensors; else the tensor itself."""
    scales, possible = "", []
    if tensor.problem or not tensor.fmt:
        return tensor, set()
    for layout in table.layouts:
        stem = layout.codes.stem(tensor.name)
        if stem is None or tensor.fmt not in layout.codes.formats:
            continue
        named = {name: role.named(stem) for name, role in layout.roles.items()}
        scales = scales or named["scales"] * (named["scales"] in by_name)
        if all(x in by_name for x in named.values()) and not any(stem + x in by_name for x in layout.absent):
            members = {name: by_name[x] for name, x in named.items()}
            weight = _joined(layout, stem, members)
            if weight is not None and not layout.automatic:
                possible.append(layout.name)
            elif weight is not None:
                return weight, {x.name for name, x in members.items() if name != "codes"}
    if scales:
        shapes = "x".join(map(str, tensor.shape)), "x".join(map(str, by_name[scales].shape))
        problem = f"{tensor.type} of shape {shapes[0]}, with {scales} ({by_name[scales].type}, shape {shapes[1]})"
        fits = "no layout fits; describe one with --layouts"
        if possible:
            fits = f"may be {' or '.join(possible)}, which its tensors do not tell; name it with --layouts"
        return replace(tensor, problem=f"{problem}: {fits}"), set()
    return tensor, set()


def _joined(layout: Layout, stem: str, members: Mapping[str, ModelTensor]) -> LayoutTensor | None:
    """The weight of some tensors; None if their formats or shapes do not fit the layout."""
    if any(members[name].fmt not in role.formats or members[name].problem for name, role in layout.roles.items()):
        return None
    codes = members["codes"]
    element = get_format(layout.elements or codes.fmt)
    shape = _value_shape(layout, codes, element.width, members.get("shape"))
    if shape is None or problem_of(shape) or not prod(shape):
        return None
    names = [name for name in layout.roles if name not in ("codes", "shape", "groups")]
    parts = {name: _part(layout, name, members[name], shape) for name in names}
    fitting = {name: part for name, part in parts.items() if part is not None}
    if len(fitting) == len(parts) and "groups" in members:
        fitting = _grouped(fitting, members["groups"], shape)
    if len(fitting) < len(parts) or layout.check_bits(element, get_format(fitting["scales"].fmt)):
        return None
    packed = layout.packing or layout.pack_along == "rows"
    if convert.code_dtype(element).itemsize != codes.itemsize and not packed:
        return None
    block = fitting["scales"].block
    result = layout.result or layout.codes.name
    return LayoutTensor(
        stem + result.removeprefix("*") or "weight",
        shape,
        codes.type,
        format_name(element.name, fitting["scales"].fmt, block, shape, "tensor_scale" in fitting),
        element=element.name,
        unit=unit_of(block[-1], shape[-1]),
        stored=sum(members[name].nbytes for name in members if name != "shape"),
        source=codes,
        members=tuple(fitting.items()),
        layout=layout,
    )


def unit_of(block: int, length: int) -> int:
    """The values of a row that are read together: whole blocks of whole bytes; all of them, if that is impossible."""
    if block >= length or ALIGNED % block == 0:
        return ALIGNED
    return block if block % ALIGNED == 0 else length


def _value_shape(layout: Layout, codes: ModelTensor, width: int, shape: ModelTensor | None) -> tuple[int, ...] | None:
    """The shape of the values; None if the codes have another number of axes than the layout needs."""
    axes = codes.shape
    if layout.merge:
        if len(axes) < 2:
            return None
        axes = (*axes[:-2], axes[-2] * axes[-1])
    if not axes:
        return None
    if layout.pack_along == "rows":
        if len(axes) < 2 or axes[-2] * codes.itemsize * 8 % width or codes.packing:
            return None
        axes = (*axes[:-2], axes[-2] * codes.itemsize * 8 // width, axes[-1])
    if layout.packing and not codes.packing:
        if axes[-1] * codes.itemsize * 8 % width:
            return None
        axes = (*axes[:-1], axes[-1] * codes.itemsize * 8 // width)
    if shape is None:
        return axes
    if shape.size != len(axes) or shape.size > 8:
        return None
    own = tuple(int(n) for n in shape.numbers(0, shape.size))
    full = own[:-1] == axes[:-1] and 0 < own[-1] <= axes[-1]
    words = [-(-own[-1] * w // (8 * codes.itemsize)) for w in (width - 1, width, width + 1)]
    fitting = [n == codes.shape[-1] for n in words]  # of rows so short that another width fits, the width is unknown
    return own if full and fitting == [False, True, False] else None


def _part(layout: Layout, role: str, tensor: ModelTensor, shape: tuple[int, ...]) -> Part | None:
    """A tensor of scales, zero points or biases; None if its shape or type does not fit."""
    fmt = {"scales": layout.scale, "zero_points": layout.elements}.get(role, "") or tensor.fmt
    second, packed = role == "tensor_scale", layout.zero_packing if role == "zero_points" else ""
    if tensor.packing or (not packed and convert.code_dtype(get_format(fmt)).itemsize != tensor.itemsize):
        return None
    if tensor.swizzled or (layout.scale_order == "swizzled" and not second):
        return _swizzled(tensor, fmt, layout.block, shape)
    stored = _unpacked(tensor, get_format(fmt).width, shape, layout.block) if packed else tensor.shape
    block = None if stored is None else blocks_of(shape, stored, (0, 0) if second else layout.block)
    short = block is not None and any(n % b for n, b in zip(shape, block, strict=True))
    return None if block is None or (short and not layout.short_blocks) else Part(tensor, fmt, block, packed)


def _unpacked(
    tensor: ModelTensor, width: int, shape: tuple[int, ...], block: Sequence[int]
) -> tuple[int, ...] | None:  # fmt: skip
    """The shape of packed zero points, one for each block along the last axis; None if their words do not fit."""
    if len(tensor.shape) != len(shape) or not block[-1]:
        return None
    count = -(-shape[-1] // block[-1])
    words = -(-count * width // (8 * tensor.itemsize))
    return (*tensor.shape[:-1], count) if tensor.shape[-1] == words else None


def _swizzled(tensor: ModelTensor, fmt: str, block: Sequence[int], shape: tuple[int, ...]) -> Part | None:
    """Scales of a matrix in NVIDIA's tiles, whose shape says nothing of their order."""
    if len(shape) != 2 or len(block) != 2 or block[0] != 1 or not block[1] or tensor.itemsize != 1:
        return None
    columns = -(-shape[1] // block[1])
    fits = tensor.size == packing.swizzled_size(shape[0], columns) and shape[1] % block[1] == 0
    return Part(tensor, fmt, (1, block[1]), swizzled=True) if fits else None


def _grouped(parts: Mapping[str, Part], groups: ModelTensor, shape: tuple[int, ...]) -> dict[str, Part]:
    """The parts with the number of the block for each row of a matrix; without those that it does not fit."""
    if len(shape) != 2 or groups.shape != shape[:1]:
        return {}
    numbers = groups.numbers(0, groups.size).astype(np.int64)
    low, high = numbers.min(), numbers.max()
    fitting = {name: part for name, part in parts.items() if low >= 0 and high < shape[0] // part.block[0]}
    return {name: part._replace(rows=numbers) for name, part in fitting.items()}


def blocks_of(shape: tuple[int, ...], scales: tuple[int, ...], block: Sequence[int]) -> tuple[int, ...] | None:
    """The lengths of blocks on each axis of the values; None if the scales have another shape. block: the lengths on
    the last axes, 0 for any that divides the axis."""
    lead = 1 if any(block) else 0
    wanted = ((lead,) * len(shape) + tuple(block))[-len(shape) :]
    if prod(scales) == 1 and all(not b or b >= n for b, n in zip(wanted, shape, strict=True)):
        return shape
    if 0 in wanted and len(scales) == 1 < len(shape) and scales[0] == shape[0]:
        return (1, *shape[1:])
    if len(scales) != len(shape) or not all(scales):
        return None
    if any(-(-n // b) != s if b else n % s for n, s, b in zip(shape, scales, wanted, strict=True)):
        return None
    return tuple(b or n // s for n, s, b in zip(shape, scales, wanted, strict=True))


def format_name(element: str, scale: str, block: tuple[int, ...], shape: tuple[int, ...], two_levels: bool) -> str:
    """A name of the format to be shown: of a block format that has one, or ELEMENT@SCALE/BLOCK."""
    own, last = "ue4m3" if two_levels and scale == "fp8_e4m3" else scale, block[-1]
    rows = all(n == 1 for n in block[:-1])
    for fmt in BLOCK_FORMATS.values():
        if rows and (fmt.element.name, fmt.scale.name, fmt.size) == (element, own, last) and last <= MAX_BLOCK:
            return fmt.name
    if all(b >= n for b, n in zip(block, shape, strict=True)):
        return f"{element}@{own}/tensor"
    if rows and last >= shape[-1]:
        return f"{element}@{own}/axis"
    return f"{element}@{own}/" + (f"{last}" if rows else "x".join(map(str, _wide(block))))


def _wide(block: tuple[int, ...]) -> Iterator[int]:
    """The lengths of a block without leading ones."""
    started = False
    for n in block:
        started = started or n != 1
        if started:
            yield n
