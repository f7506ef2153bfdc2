# SPDX-License-Identifier: 0BSD
"""The smallest blocks that tell two profiles apart, for every two profiles of a format: vectors/producers/pairs.csv.

Two for each pair: a block of any values, with +0 behind them (fill: zeros), and one of numbers alone, the last of which
fills the block (fill: last). Both have the fewest values that a pool has: zeros, specials, subnormals, then numbers at
and beside thresholds of scales and ties of elements, then others. Pairs without such a block are listed, too.
`python vectors/make_producer_pairs.py` writes the file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.blocks.scales import largest_magnitude
from softfloat_ref.oracle.blocks.tensor_scales import tensor_scale_of
from softfloat_ref.oracle.codec import decode, encode, to_value

OUT: Final = Path(__file__).parent / "producers" / "pairs.csv"
PROFILES: Final = {
    "mxfp4": ["ocp", "nvidia", "torchao-floor", "torchao-ceil", "torchao-even", "modelopt-mxfp4",
              "compressed-tensors-mx", "gguf-mxfp4", "mlx-cpu-mxfp4", "quark-mx", "microxcaling"],
    "mxfp6_e2m3": ["ocp", "nvidia", "torchao-even", "compressed-tensors-mx", "quark-mx", "microxcaling"],
    "mxfp8": ["ocp", "nvidia", "torchao-floor", "torchao-ceil", "torchao-even", "modelopt-mxfp8",
              "compressed-tensors-mxfp8", "mlx-cpu-mxfp8", "quark-mxfp8", "microxcaling"],
    "nvfp4": ["nvfp4", "nvfp4-torchao", "modelopt-nvfp4", "compressed-tensors-nvfp4", "mlx-cpu-nvfp4",
              "nvfp4-4over6-mse", "nvfp4-4over6-mae", "nvfp4-4over6-max"],
}  # fmt: skip
HEAD: Final = "format,first,second,fill,values,answer of first,answer of second"
Block = tuple[float, ...]


def pool() -> Iterator[Block]:
    """Blocks by their first values, the fewest first, the simplest of these first."""
    ones = [1.0, 3.0, 5.0, 7.0, 1.75, 1.9375, 6.5, 448.0, 464.0, 480.0, 500.0, 449.0]
    yield ()
    yield (-0.0,)
    yield from ((x,) for x in ones)
    yield from ((x,) for x in (2.0**-149, 2.0**-127, 2.0**-126, 3.0e38, float("inf"), float("nan")))
    rng = np.random.default_rng(5)
    drawn = [float(np.float32(x)) for x in rng.uniform(1, 8, 400)]
    yield from ((x,) for x in drawn)
    small = (-0.0, 0.25, 0.75, 1.25, 2.5, 3.5, -0.25, -1e-9, 1e-9, 2.0**-126, -(2.0**-149))  # beside a larger one
    yield from itertools.product((6.0, 7.0, 4.0, 448.0, 1.0), small)
    yield from ((float("nan"), 1.0), (float("inf"), 1.0), (-float("inf"), -1.0))


def numbers() -> Iterator[Block]:
    """The same of numbers alone: between 1/16 and 512, positive and negative."""
    ones = (1.0, 3.0, 5.0, 7.0, 1.75, 1.9375, 6.5, 448.0, 464.0, 480.0, 500.0, 449.0)
    yield from ((x,) for x in ones)
    rng = np.random.default_rng(6)
    drawn = [float(np.float32(x)) for x in rng.uniform(1, 8, 1500)]
    yield from ((x,) for x in drawn[:400])
    ties = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, -0.25, 0.0625)
    yield from itertools.product((6.0, 7.0, 4.0, 448.0, 1.0), ties)
    yield from ((x, float(np.float32(y))) for x, y in zip(drawn, rng.uniform(0.1, 6, 1500), strict=True))
    for _ in range(1500):
        yield tuple(float(np.float32(x)) for x in rng.uniform(0.1, 6, 4))


def answer(values: Block, fmt: str, profile: str, fill: str) -> str:
    """The tensor's scale (if any), the scale, the codes of the values and, where zeros fill the block, of one zero."""
    block, choice = get_block_format(fmt), get_profile(profile)
    lanes = [to_value(x, 0) for x in (*values, *((0.0,) if fill == "zeros" else ()))]
    second = tensor_scale_of(largest_magnitude([x for x in lanes if x.is_finite and not x.is_zero]), block, choice)
    q = quantize_block(lanes, block, choice, tensor_scale=decode(second, "fp32"))
    codes = " ".join(block.element.hex(c) for c in q.codes)
    tensor = f"{second:08x} " if choice.two_levels else ""
    return f"{tensor}{block.scale.hex(q.scale)}: {codes}"


def rows() -> Iterator[str]:
    """The lines of the file."""
    pools = {"zeros": list(pool()), "last": list(numbers())}
    for (fmt, profiles), (fill, blocks) in itertools.product(PROFILES.items(), pools.items()):
        answers = {p: [answer(x, fmt, p, fill) for x in blocks] for p in profiles}
        for a, b in itertools.combinations(profiles, 2):
            differing = (i for i, (x, y) in enumerate(zip(answers[a], answers[b], strict=True)) if x != y)
            i = next(differing, None)
            if i is None:
                yield f"{fmt},{a},{b},{fill},,none found,none found"
                continue
            codes = " ".join(f"{encode(x, 'fp32').bits:08x}" for x in blocks[i]) or "00000000"
            yield f"{fmt},{a},{b},{fill},{codes},{answers[a][i]},{answers[b][i]}"


def main() -> None:
    """Write the file."""
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text("\n".join([HEAD, *rows(), ""]))


if __name__ == "__main__":
    main()
