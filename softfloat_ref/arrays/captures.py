"""Replay of results captured on hardware matrix units. Reading them needs numpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import npz
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.accumulate.dots import Operand, check_c, run, setting
from softfloat_ref.oracle.accumulate.model import Accumulator
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.flags import INEXACT
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import Policy

_SPELLINGS: Final = {"e4m3": "fp8_e4m3", "e5m2": "fp8_e5m2"}
# (accumulator for fp16, bf16 and tf32; accumulator for fp8), by GPU.
_GPUS: Final = {
    "V100": ("nvidia-v100", ""),
    "A100": ("nvidia-a100", ""),
    "A2": ("nvidia-a100", ""),
    "Ada": ("nvidia-a100", "nvidia-ada-fp8"),
    "L40S": ("nvidia-a100", "nvidia-ada-fp8"),
    "H100": ("nvidia-h100", "nvidia-h100-fp8-mma"),
    "H200": ("nvidia-h100", "nvidia-h100-fp8-mma"),
    "B200": ("nvidia-b200", "nvidia-b200-fp8-mma"),
}
_HOPPER: Final = ("H100", "H200")


@dataclass(frozen=True)
class Capture:
    """What a file was captured on. use_c: whether its c was an input of the captured products."""

    accumulator: str
    fmt: str
    out: str
    use_c: bool = True


@dataclass(frozen=True)
class Mismatch:
    """A row on which model and hardware differ."""

    row: int
    got: int
    hardware: int


def capture_of(path: str) -> Capture | None:
    """What a file named `GPU_input_output.npz` contains; None for other names and unknown GPUs.

    FP8 to FP32 on H100 and H200 was captured with c = 0 and shows the native FP8 unit; the FP16 results show mma.sync.
    """
    words = Path(path).stem.split("_")
    if len(words) != 3 or words[0] not in _GPUS or words[2] not in ("fp16", "fp32"):
        return None
    gpu, fmt, out = words
    wide, narrow = _GPUS[gpu]
    if fmt not in _SPELLINGS:
        return Capture(wide, fmt, out) if fmt in ("fp16", "bf16", "tf32") else None
    if gpu in _HOPPER and out == "fp32":
        return Capture("nvidia-h100-fp8-wgmma", _SPELLINGS[fmt], out, use_c=False)
    return Capture(narrow, _SPELLINGS[fmt], out) if narrow else None


def load(path: str, needed: tuple[str, ...], more: tuple[str, ...] = ()) -> dict[str, Any]:
    """Arrays of unsigned integers from an .npz file: those needed, and those of `more` that exist. Raises Error."""
    found = npz.load(path, (*needed, *more))
    for name in needed:
        if name not in found:
            raise Error(f"{path}: no array {name}; it needs {', '.join(needed)}")
    return found


def read(path: str) -> dict[str, Any]:
    """The arrays a, b, c and d of a captures file, checked. Raises Error."""
    found = load(path, ("a", "b", "c", "d"))
    n = found["d"].shape
    if len(n) != 1 or found["c"].shape != n or found["a"].shape != found["b"].shape or found["a"].shape[:1] != n:
        raise Error(f"{path}: shapes {[x.shape for x in found.values()]}; captures have a, b [n, K] and c, d [n]")
    if found["a"].ndim != 2 or 0 in found["a"].shape:
        raise Error(f"{path}: a is of shape {found['a'].shape}; captures have a and b [n, K]")
    return found


def code_rows(path: str) -> Iterator[dict[str, Any]]:
    """Operands by row: a, b, c (0 if the file has none), and scales if the file has them. Raises Error.

    The file's arrays are codes: a, b [n, K] or [K]; c [n] or a single code; scales_a, scales_b [n, blocks] or [blocks].
    """
    found = load(path, ("a", "b"), ("c", "scales_a", "scales_b"))
    for name in npz.names(path):
        if name not in found:
            raise Error(f"{path}: an array {name[:40]!r}; the arrays of operands are a, b, c, scales_a and scales_b")
    if found["a"].ndim == 1:
        found = {name: x.reshape(1, -1) if name != "c" else x.reshape(-1) for name, x in found.items()}
    n = len(found["a"]) if found["a"].ndim else 0
    for name, x in found.items():
        if x.ndim != (1 if name == "c" else 2) or len(x) != n:
            raise Error(f"{path}: {name} is of shape {x.shape}; a, b [n, K], c [n], scales [n, blocks] must match")
    if n == 0:
        raise Error(f"{path}: a is of shape {found['a'].shape}: there are no operands")
    for row in range(n):
        yield {"c": 0} | {name: int(x[row]) if name == "c" else x[row].tolist() for name, x in found.items()}


def replay(
    path: str, accumulator: Accumulator, fmt: str, out: str, *, use_c: bool = True, extrapolate: bool = False
) -> tuple[int, list[Mismatch]]:
    """Replay a captures file: the number of rows, and the rows on which the model differs. Raises Error.

    The file's a, b and c are FP32 bits. a and b must be values of the format; c is rounded to the output format (rne).
    """
    arrays = read(path)
    operand, result = get_format(fmt), get_format(out)
    convert, convert_c = _from_fp32(operand), _from_fp32(result)
    wrong = []
    for row in range(len(arrays["d"])):
        a, b = (
            Operand(operand, tuple(_exact(convert(int(x)), x, operand, path, row) for x in arrays[n][row]))
            for n in "ab"
        )
        c = convert_c(int(arrays["c"][row]))[0] if use_c else 0
        s = setting(a, b, accumulator, result, extrapolate=extrapolate)
        bits = run(s, a, b, check_c(s, c)).bits
        if bits != int(arrays["d"][row]):
            wrong.append(Mismatch(row, bits, int(arrays["d"][row])))
    return len(arrays["d"]), wrong


def _from_fp32(fmt: Format) -> Any:
    decode, encode = decoder(get_format("fp32")), encoder(fmt, Policy())

    @lru_cache(maxsize=1 << 16)
    def convert(bits: int) -> tuple[int, int]:
        return encode(decode(bits), 0)

    return convert


def _exact(converted: tuple[int, int], bits: int, fmt: Format, path: str, row: int) -> int:
    code, flags = converted
    if flags & INEXACT:
        raise Error(f"{path}: row {row}: {int(bits):08x} is not a value of {fmt.name}")
    return code
