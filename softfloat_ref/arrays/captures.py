"""Replay of results captured on hardware matrix units. Reading them needs numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import npz
from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.search import find_first
from softfloat_ref.oracle.accumulate import parse_operand_formats
from softfloat_ref.oracle.accumulate.dots import Operand, check_c, run, setting
from softfloat_ref.oracle.accumulate.model import Accumulator
from softfloat_ref.oracle.codec import check_code, decoder, encoder
from softfloat_ref.oracle.flags import INEXACT
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import Policy

_FORMAT_NAMES: Final = {"e4m3": "fp8_e4m3", "e5m2": "fp8_e5m2"}
# (accumulator for fp16, bf16 and tf32; accumulator for fp8), by GPU.
_ACCUMULATORS: Final = {
    "V100": ("nvidia-v100", ""),
    "A100": ("nvidia-a100", ""),
    "A2": ("nvidia-a100", ""),
    "Ada": ("nvidia-a100", "nvidia-ada-fp8"),
    "L40S": ("nvidia-a100", "nvidia-ada-fp8"),
    "H100": ("nvidia-h100", "nvidia-h100-fp8-mma"),
    "H200": ("nvidia-h100", "nvidia-h100-fp8-mma"),
    "B200": ("nvidia-b200", "nvidia-b200-fp8-mma"),
}
_HOPPER_GPUS: Final = ("H100", "H200")
# The accumulator for fp8 in a file that names an instruction.
_FP8_ACCUMULATORS: Final = {"mma": "nvidia-h100-fp8-mma", "wgmma": "nvidia-h100-fp8-wgmma"}


@dataclass(frozen=True)
class Capture:
    """What a file was captured on. use_c: whether its c was an input of the captured products."""

    accumulator: str
    fmt: str
    out: str
    use_c: bool = True


@dataclass(frozen=True)
class RowMismatch:
    """A row on which model and hardware differ."""

    row: int
    got: int
    hardware: int


def capture_of(path: str) -> Capture | None:
    """What a file named `GPU_input_output.npz` or `H100_mma32_a_b_output.npz` contains; None for other names and GPUs.

    FP8 to FP32 on H100 and H200 was captured with c = 0 and shows the native FP8 unit; the FP16 results show mma.sync.
    """
    words = Path(path).stem.split("_")
    if len(words) == 5 and words[0] == "H100":
        return _of_instruction(*words[1:])
    if len(words) != 3 or words[0] not in _ACCUMULATORS or words[2] not in ("fp16", "fp32"):
        return None
    gpu, fmt, out = words
    wide, narrow = _ACCUMULATORS[gpu]
    if fmt not in _FORMAT_NAMES:
        return Capture(wide, fmt, out) if fmt in ("fp16", "bf16", "tf32") else None
    if gpu in _HOPPER_GPUS and out == "fp32":
        return Capture("nvidia-h100-fp8-wgmma", _FORMAT_NAMES[fmt], out, use_c=False)
    return Capture(narrow, _FORMAT_NAMES[fmt], out) if narrow else None


def _of_instruction(name: str, a: str, b: str, out: str) -> Capture | None:
    """What a file contains that was captured by one instruction, named with its K."""
    narrow = _FP8_ACCUMULATORS.get(name.rstrip("0123456789"))
    if narrow is None:
        return None
    unit = narrow if a in _FORMAT_NAMES else "nvidia-fp64" if a == "fp64" else "nvidia-h100"
    return Capture(unit, f"a={_FORMAT_NAMES.get(a, a)},b={_FORMAT_NAMES.get(b, b)}", out)


def load(path: str, needed: tuple[str, ...], more: tuple[str, ...] = ()) -> dict[str, Any]:
    """Arrays of unsigned integers from an .npz file: those needed, and those of `more` that exist. Raises Error."""
    arrays = npz.load(path, (*needed, *more))
    for name in needed:
        if name not in arrays:
            raise Error(f"{path}: no array {name}; it needs {', '.join(needed)}")
    return arrays


def read(path: str) -> dict[str, Any]:
    """The arrays a, b, c and d of a captures file, checked. Raises Error."""
    arrays = load(path, ("a", "b", "c", "d"))
    n = arrays["d"].shape
    if len(n) != 1 or arrays["c"].shape != n or arrays["a"].shape != arrays["b"].shape or arrays["a"].shape[:1] != n:
        raise Error(f"{path}: shapes {[x.shape for x in arrays.values()]}; captures have a, b [n, K] and c, d [n]")
    if arrays["a"].ndim != 2 or 0 in arrays["a"].shape:
        raise Error(f"{path}: a is of shape {arrays['a'].shape}; captures have a and b [n, K]")
    return arrays


def code_rows(path: str) -> Iterator[dict[str, Any]]:
    """Operands by row: a, b, c (0 if the file has none), and scales if the file has them. Raises Error.

    The file's arrays are codes: a, b [n, K] or [K]; c [n] or a single code; scales_a, scales_b [n, blocks] or [blocks].
    """
    arrays = load(path, ("a", "b"), ("c", "scales_a", "scales_b"))
    for name in npz.names(path):
        if name not in arrays:
            raise Error(
                f"{path}: unknown array {name[:40]!r}; the arrays of operands are a, b, c, scales_a and scales_b"
            )
    if arrays["a"].ndim == 1:
        arrays = {name: x.reshape(1, -1) if name != "c" else x.reshape(-1) for name, x in arrays.items()}
    n = len(arrays["a"]) if arrays["a"].ndim else 0
    for name, x in arrays.items():
        if x.ndim != (1 if name == "c" else 2) or len(x) != n:
            raise Error(f"{path}: {name} is of shape {x.shape}; a, b [n, K], c [n], scales [n, blocks] must match")
    if n == 0:
        raise Error(f"{path}: a is of shape {arrays['a'].shape}: there are no operands")
    for row in range(n):
        yield {"c": 0} | {name: int(x[row]) if name == "c" else x[row].tolist() for name, x in arrays.items()}


def replay(
    path: str, accumulator: Accumulator, fmt: str, out: str, *, use_c: bool = True, extrapolate: bool = False
) -> tuple[int, list[RowMismatch]]:
    """Replay a captures file: the number of rows, and the rows on which the model differs. Raises Error.

    fmt: of A and B, or a=..,b=... The file's a, b and c are codes where their integers are as wide as the formats',
    else FP32 bits: a and b must then be values of the format, and c is rounded to the output format (rne).
    """
    arrays = read(path)
    formats, result = [get_format(str(x)) for x in parse_operand_formats(fmt)[:2]], get_format(out)
    numbers = [_reader(arrays[n], f, f"{path}: {n}") for n, f in zip("ab", formats, strict=True)]
    number_c = _reader(arrays["c"], result, f"{path}: c", rounded=True)
    wrong = []
    for row in range(len(arrays["d"])):
        a, b = (
            Operand(f, tuple(convert(int(x), row) for x in arrays[n][row]))
            for n, f, convert in zip("ab", formats, numbers, strict=True)
        )
        c = number_c(int(arrays["c"][row]), row) if use_c else 0
        s = setting(a, b, accumulator, result, extrapolate=extrapolate)
        bits = run(s, a, b, check_c(s, c)).bits
        if bits != int(arrays["d"][row]):
            wrong.append(RowMismatch(row, bits, int(arrays["d"][row])))
    return len(arrays["d"]), wrong


def _reader(array: Any, fmt: Format, where: str, *, rounded: bool = False) -> Callable[[int, int], int]:
    """The function that gives the code for an entry in a row. rounded: FP32 bits need not be those of a code."""
    width = array.dtype.itemsize
    own = find_first(n for n in (1, 2, 4, 8, 16, 32) if fmt.width <= 8 * n)
    if width == own and fmt.width != 19:  # tf32's registers hold FP32 bits
        return lambda bits, row: check_code(bits, fmt)
    if width != 4:
        raise Error(f"{where}: integers of {counted(width, 'byte')} are neither codes of {fmt.name} nor FP32 bits")
    convert = _from_fp32(fmt)
    if rounded:
        return lambda bits, row: convert(bits)[0]
    return lambda bits, row: _exact(convert(bits), bits, fmt, where, row)


def _from_fp32(fmt: Format) -> Any:
    decode, encode = decoder(get_format("fp32")), encoder(fmt, Policy())

    @lru_cache(maxsize=1 << 16)
    def convert(bits: int) -> tuple[int, int]:
        return encode(decode(bits), 0)

    return convert


def _exact(converted: tuple[int, int], bits: int, fmt: Format, where: str, row: int) -> int:
    code, flags = converted
    if flags & INEXACT:
        raise Error(f"{where}: row {row}: {bits:08x} is not a value of {fmt.name}")
    return code
