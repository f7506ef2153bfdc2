# SPDX-License-Identifier: 0BSD
"""Casts of numpy, ml_dtypes and torch as devices: operand lines in, result lines out.

python casts.py numpy float32 float16 | ml_dtypes float32 float8_e4m3fn | torch float32 float8_e4m3fn
"""

import sys
from collections.abc import Callable

import numpy as np

Codes = np.ndarray
WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def numpy_cast(library: str, source: str, target: str) -> Callable[[Codes], Codes]:
    if library == "ml_dtypes":
        import ml_dtypes

        types = [np.dtype(getattr(ml_dtypes, name, name)) for name in (source, target)]
    else:
        types = [np.dtype(source), np.dtype(target)]
    word = WORDS[types[1].itemsize]
    return lambda codes: codes.astype(WORDS[types[0].itemsize]).view(types[0]).astype(types[1]).view(word)


def torch_cast(source: str, target: str) -> Callable[[Codes], Codes]:
    import torch

    types = [getattr(torch, name) for name in (source, target)]
    signed = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    words = [signed[t.itemsize] for t in types]
    narrow = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}

    def cast(codes: Codes) -> Codes:
        given = codes.astype(WORDS[types[0].itemsize]).view(narrow[types[0].itemsize])
        made = torch.from_numpy(given).view(types[0]).to(types[1]).view(words[1]).numpy()
        return made.view(WORDS[types[1].itemsize])

    return cast


def main() -> None:
    library, source, target = sys.argv[1:4]
    cast = torch_cast(source, target) if library == "torch" else numpy_cast(library, source, target)
    lines = [int(line.split()[0], 16) for line in sys.stdin if line.strip()]
    with np.errstate(all="ignore"):
        for code in cast(np.array(lines, np.uint64)):
            print(f"{int(code):x}")


if __name__ == "__main__":
    main()
