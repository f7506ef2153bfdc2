"""Functions of many vectors at once, such as softmax: the codes and flags of the scalar oracle.

The compiled loops of kernels/vector_loops.py compute in float64 with bounds, and leave to the oracle every lane that
these do not decide, and vectors with NaNs, or with infinite numbers that are not masks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.kernels import divided, plans
from softfloat_ref.arrays.kernels.op_plans import signed_word
from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import encoder, needed_bits, target
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.vector_functions import FunctionSetting, VectorFunction

MAX_BITS: Final = 42  # of the prefix that a rounding needs: more would often leave the answer to the oracle
_EXPONENTS: Final = 400  # of operands and results, for which no square or product leaves float64's range
_FP32: Final = CATALOGUE["fp32"]
_CHUNK: Final = 1 << 16  # codes of an operand at a time: their values stay in the cache
_NOTHING: Final = np.empty((0, 0))
_NO_WORDS: Final = np.empty((0, 0), np.int64)

Codes = NDArray[np.uint64]  # a row a vector


class VectorResults(NamedTuple):
    """The code of each lane, the flags of each vector, which vectors are left to the oracle, and which lanes of the
    others are."""

    codes: Codes
    flags: NDArray[np.uint8]
    left: NDArray[np.bool_]
    apart: NDArray[np.bool_]


def is_fit(function: VectorFunction, formats: tuple[Format, ...], out: Format, policy: Policy) -> bool:
    """Whether the loops compute a function in formats: float64 holds operands and products of two, and the errors are
    small beside the result's last bit."""
    if function.name not in _LOOPS or not plans.is_generic(out, policy) or needed_bits(out, policy) > MAX_BITS:
        return False
    lowest = out.emin - out.mantissa_bits - policy.random_count
    wide = max(out.emax, -lowest) > _EXPONENTS or (out.gap and needed_bits(out, policy) + out.precision > 62)
    narrow = all(f.precision <= 26 and max(f.emax, f.mantissa_bits - f.emin) <= _EXPONENTS for f in formats)
    return narrow and not wide and not convert.flushes_subnormals()


def evaluate(
    function: VectorFunction,
    operands: Mapping[str, Codes],
    formats: Mapping[str, Format],
    out: Format,
    policy: Policy,
    setting: FunctionSetting,
    visible: NDArray[np.int64],
    words: NDArray[Any] | None = None,
) -> VectorResults:
    """The results of a function, of operands by name, a row a vector. visible: how many lanes of each take part; words:
    the random bits of each lane. Requires `is_fit`."""
    lanes = operands["k"].shape[1] // operands["q"].shape[1] if "k" in operands else operands["x"].shape[1]
    numbers, targets = _numbers(function.name, setting.bits, out, policy)
    rows, loop = len(visible), _LOOPS[function.name]
    codes, flags = np.zeros((rows, lanes), np.uint64), np.empty(rows, np.uint8)
    apart = np.zeros((rows, lanes), np.bool_)
    at_once = max(1, _CHUNK // max(x.shape[1] for x in operands.values()))
    for start in range(0, rows, at_once):
        part = slice(start, start + at_once)
        values = {
            name: _values(_by_depth(x[part], lanes) if name == "k" else x[part], formats[name], policy.flush_inputs)
            for name, x in operands.items()
        }
        drawn = _NO_WORDS if words is None else words[part].astype(np.int64)
        loop(numbers, targets, values, setting, visible[part], drawn, codes[part], flags[part], apart[part])
    return VectorResults(codes, flags, flags & UNKNOWN != 0, apart)


def _by_depth(codes: Codes, lanes: int) -> Codes:
    """Keys, (vectors, depth, lanes): the products of all lanes are added side by side."""
    return codes.reshape(len(codes), lanes, -1).swapaxes(1, 2)


def _values(codes: Codes, fmt: Format, flush: bool) -> NDArray[np.float64]:
    """The values of codes. flush: subnormals become zeros with their sign."""
    if not flush and divided.is_cut_fp32(fmt):  # a shift is several times as fast as a table of BF16's codes
        bits = codes.astype(np.uint32) << np.uint32(_FP32.width - fmt.width)
        with np.errstate(invalid="ignore"):  # signalling NaNs, whose vectors are left to the oracle
            return np.ascontiguousarray(bits).view(np.float32).astype(np.float64)
    own = np.ascontiguousarray(codes.astype(convert.code_dtype(fmt)))
    if fmt.width <= 16:
        return convert.to_float64(convert.Source(own, fmt), flush)
    values = convert.decode_float64(own, fmt)
    if flush and fmt.subnormals == "gradual":
        values = np.where(own & fmt.magnitude_mask < fmt.min_normal_code, np.copysign(0.0, values), values)
    return values


@lru_cache(maxsize=64)
def _numbers(name: str, bits: int, out: Format, policy: Policy) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    from softfloat_ref.arrays.kernels import vector_loops as loops

    numbers, encode = np.zeros(loops.SETTING, np.int64), encoder(out, policy)
    numbers[loops.BITS], numbers[loops.LOGARITHM] = bits, name == "log_softmax"
    numbers[loops.CENTRED] = name == "layer_norm"
    known = (loops.ZERO_CODE, exact.zero(0)), (loops.MINUS_ZERO_CODE, exact.zero(1)), (loops.INF_CODE, exact.inf(1))
    for at, value in known:
        code, raised = encode(value, 0)
        numbers[at : at + 2] = signed_word(code), raised
    return numbers, np.array([[signed_word(int(x)) for x in target(out, policy)]], np.int64)


# -- the loops, by the names of functions ------------------------------------------------------------------------------


def _softmax(numbers: Any, targets: Any, values: Any, setting: Any, visible: Any, words: Any, *out: Any) -> None:
    from softfloat_ref.arrays.kernels.vector_loops import exponentials

    rows = len(visible)
    exponentials(numbers, targets, values["x"], np.ones(rows), np.zeros(rows), visible, words, *out)


def _attention(numbers: Any, targets: Any, values: Any, setting: Any, visible: Any, words: Any, *out: Any) -> None:
    from softfloat_ref.arrays.kernels.vector_loops import dot_products, exponentials

    rows, lanes = out[0].shape
    scores, slack = np.zeros((rows, lanes)), np.empty(rows)
    dot_products(values["q"], values["k"], visible, scores, slack)
    exponentials(numbers, targets, scores, values["scale"][:, 0], slack, visible, words, *out)


def _norm(numbers: Any, targets: Any, values: Any, setting: Any, visible: Any, words: Any, *out: Any) -> None:
    from softfloat_ref.arrays.kernels.vector_loops import norms

    gain, bias = values.get("gain", _NOTHING), values.get("bias", _NOTHING)
    norms(numbers, targets, values["x"], gain, bias, float(setting.epsilon), words, *out)


_LOOPS: Final[dict[str, Any]] = {
    "softmax": _softmax,
    "log_softmax": _softmax,
    "attention_scores": _attention,
    "rms_norm": _norm,
    "layer_norm": _norm,
}
