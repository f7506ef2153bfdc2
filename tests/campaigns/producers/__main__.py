"""`python -m tests.campaigns.producers [--model FILE] [--count N] [--sources FOLDER] [NAME ...]`: what packages make of
weights, of blocks at the thresholds of scales and of blocks of specials, beside our profiles of their names.

Prints, for each producer and kind of values, how many values there were, and how many scales and codes differ. Packages
that are not installed, and sources that are not in the folder, are named. --blocks shows the first blocks that differ.
"""

from __future__ import annotations

import argparse
import warnings
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from softfloat_ref import blocks
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.blocks.scale_rules import largest
from tests.campaigns.producers import packages
from tests.campaigns.producers.packages import Array, Produced, Producer
from tests.campaigns.producers.sources import (
    FOUR_OVER_SIX,
    TRANSFORMER_ENGINE,
    Source,
    four_over_six,
    transformer_engine,
)
from tests.campaigns.producers.values import SPECIALS, integers, near_thresholds, of_bf16, special, weights


class Row(NamedTuple):
    """A producer: the package or its sources, our format and profile, and what runs it."""

    package: str | Source
    fmt: str
    profile: str
    run: Producer

    def version(self, folder: Path | None) -> str | None:
        """Which version is there; None if there is none. folder: of sources."""
        if isinstance(self.package, Source):
            return self.package.version(folder)
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return None

    @property
    def absent(self) -> str:
        """What to do if there is none."""
        if isinstance(self.package, Source):
            name, url, commit = self.package
            return f"not in --sources: git clone {url} FOLDER/{name}, git checkout {commit[:8]}"
        return f"{self.package} is not installed"


ROWS: Final = {
    "modelopt NVFP4": Row("nvidia-modelopt", "nvfp4", "modelopt-nvfp4", packages.modelopt_nvfp4),
    "modelopt MXFP4": Row("nvidia-modelopt", "mxfp4", "modelopt-mxfp4", packages.modelopt_mxfp4),
    "modelopt MXFP8": Row("nvidia-modelopt", "mxfp8", "modelopt-mxfp8", packages.modelopt_mxfp8),
    "compressed-tensors NVFP4": Row(
        "compressed-tensors", "nvfp4", "compressed-tensors-nvfp4", packages.compressed_nvfp4
    ),
    "compressed-tensors MXFP4": Row("compressed-tensors", "mxfp4", "compressed-tensors-mx", packages.compressed_mxfp4),
    "compressed-tensors MXFP6": Row(
        "compressed-tensors", "mxfp6_e2m3", "compressed-tensors-mx", packages.compressed_mxfp6
    ),
    "compressed-tensors MXFP8": Row(
        "compressed-tensors", "mxfp8", "compressed-tensors-mxfp8", packages.compressed_mxfp8
    ),
    "gguf MXFP4": Row("gguf", "mxfp4", "gguf-mxfp4", packages.gguf_mxfp4),
    "MLX MXFP4": Row("mlx", "mxfp4", "mlx-cpu-mxfp4", packages.mlx_mxfp4),
    "MLX MXFP8": Row("mlx", "mxfp8", "mlx-cpu-mxfp8", packages.mlx_mxfp8),
    "MLX NVFP4": Row("mlx", "nvfp4", "mlx-cpu-nvfp4", packages.mlx_nvfp4),
    "Quark MXFP4": Row("amd-quark", "mxfp4", "quark-mx", packages.quark_mxfp4),
    "Quark MXFP6": Row("amd-quark", "mxfp6_e2m3", "quark-mx", packages.quark_mxfp6),
    "Quark MXFP8": Row("amd-quark", "mxfp8", "quark-mxfp8", packages.quark_mxfp8),
    "DeepSeek FP8": Row("torch", "fp8_e4m3@fp32/128", "deepseek-fp8", packages.deepseek_fp8),
}


def searched(folder: Path | None) -> dict[str, Row]:
    """Producers of four over six. folder: of their sources."""
    rows = {}
    for error, theirs in (("mse", "mse"), ("mae", "mae"), ("max", "abs_max")):
        run = four_over_six(folder, theirs)
        rows[f"fouroversix {theirs}"] = Row(FOUR_OVER_SIX, "nvfp4", f"nvfp4-4over6-{error}", run)
    for reach, change in ((256, ""), (448, ",tensor_scale=amax")):
        for error in ("mae", "mse"):
            run = transformer_engine(folder, error.upper(), reach)
            profile = f"nvfp4-4over6-{error}{change}"
            rows[f"Transformer Engine {error} {reach}"] = Row(TRANSFORMER_ENGINE, "nvfp4", profile, run)
    return rows


def differences(row: Row, x: Array) -> tuple[Produced, blocks.BlockArray, Array, Array]:
    """Where scales and codes differ."""
    theirs = row.run(x)
    ours = blocks.encode(x, row.fmt, profile=row.profile)
    scales = ours.scales.reshape(theirs.scales.shape) != theirs.scales
    if theirs.tensor_scale is not None and theirs.tensor_scale != ours.tensor_scale:
        print(f"    tensor scale {theirs.tensor_scale!r}, ours {ours.tensor_scale!r}")
    return theirs, ours, scales, ours.codes != theirs.codes


def compare(name: str, kind: str, row: Row, x: Array, show: int) -> None:
    """One line: what differs; then the first blocks that do."""
    theirs, ours, scales, codes = differences(row, x)
    print(f"{name:27} {kind:22} {x.size:9,} values  {scales.sum():7,} scales differ  {codes.sum():7,} codes differ")
    size = x.shape[1] // scales.shape[1]
    by_block = codes.reshape(*scales.shape, size).any(axis=-1) | scales
    for r, c in np.argwhere(by_block)[:show].tolist():
        part = slice(c * size, c * size + size)
        values = [float(v) for v in x[r, part] if v != 0 or np.signbit(v)][:4]
        mine = ours.scales.reshape(scales.shape)[r, c], ours.codes[r, part]
        both = (theirs.scales[r, c], theirs.codes[r, part]), mine
        texts = [f"{scale:02x} {own[:6].tobytes().hex(' ')}" for scale, own in both]
        print(f"    {values}: scale and codes {texts[0]}, ours {texts[1]}")


def run(name: str, row: Row, model: Array, show: int) -> None:
    """All kinds of values for one producer."""
    fmt = get_block_format(row.fmt)
    compare(name, "weights", row, model, show)
    if get_profile(row.profile).scale_search != "none":
        compare(name, "weights in BF16", row, of_bf16(model), show)
        compare(name, "integers", row, integers(model.size), show)
    compare(name, "thresholds", row, near_thresholds(float(largest(fmt.element)), fmt.element.mantissa_bits, fmt.size),
            show)  # fmt: skip
    for kind in SPECIALS:
        for k, x in enumerate(special(kind, fmt.size)):  # apart: a tensor scale is that of the whole array
            compare(name, f"{kind} {k}", row, np.tile(x, (1, 2)), show)


def main() -> None:
    """Run the producers named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--blocks", type=int, default=0)
    parser.add_argument("--sources", type=Path, help="of packages that run from their sources")
    options = parser.parse_args()
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    model = weights(options.model, options.count)
    for name, row in {**ROWS, **searched(options.sources)}.items():
        if options.names and not any(name.lower().startswith(x.lower()) for x in options.names):
            continue
        version = row.version(options.sources)
        if version is None:
            print(f"{name}: {row.absent}")
            continue
        package = row.package.name if isinstance(row.package, Source) else row.package
        print(f"{name}: {package} {version}, profile {row.profile}")
        run(name, row, model, options.blocks)


if __name__ == "__main__":
    main()
