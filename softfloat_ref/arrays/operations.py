"""Element-wise operations on numpy arrays of codes, with flags: bit-identical to the scalar oracle.

There are four methods with identical results: a table that the oracle fills on demand, for operands of at most 16 bits
together; the compiled loops of kernels/operations.py and kernels/functions.py; and the oracle for each distinct case.
Small arrays use the oracle until the loop is loaded (loading takes about a second; compiling it after an installation,
about ten). The loop of functions is used from 65,536 elements on, since making a function's tables takes a while, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays.convert import Codes, check_buffer, code_dtype, store
from softfloat_ref.arrays.exchange import as_codes
from softfloat_ref.arrays.kernels.function_plans import function_plan
from softfloat_ref.arrays.kernels.op_plans import plan
from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.arrays.random_bits import RandomBits, random_words, resolve_bits
from softfloat_ref.base.errors import Error, Undefined, counted
from softfloat_ref.oracle.codec import FLAGS, check_random
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Operation, Signature, evaluator, signature
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.sources import is_source

__all__ = ["evaluate"]

FlagsWanted = Literal["none", "any", "each"]
FLAGS_WANTED: Final = ("none", "any", "each")

CHUNK: Final = 1 << 13  # elements at a time, so that the temporaries stay in the cache
COMPILED_FROM: Final = 1 << 16  # elements for which loading the compiled loop pays
_LOADED_FROM: Final = 1 << 12  # once it is loaded: elements for which making its tables pays
_TABLE_BITS: Final = 16
_LOOP_MODULE: Final = "softfloat_ref.arrays.kernels.operations"
_NO_WORDS: Final = np.empty(0, np.int64)

Ints = NDArray[np.int64]
FlagBytes = NDArray[np.uint8]


@overload
def evaluate(
    op: str | Operation,
    operands: Sequence[ArrayLike],
    fmt: str | Format | Sequence[str | Format],
    to: str | Format | None = None,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    flags: Literal["none"] = "none",
    *,
    seed: int | None = None,
    key: str | None = None,
    out: Codes | None = None,
) -> Codes: ...


@overload
def evaluate(
    op: str | Operation,
    operands: Sequence[ArrayLike],
    fmt: str | Format | Sequence[str | Format],
    to: str | Format | None = None,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    *,
    flags: Literal["any"],
    seed: int | None = None,
    key: str | None = None,
    out: Codes | None = None,
) -> tuple[Codes, Flags]: ...


@overload
def evaluate(
    op: str | Operation,
    operands: Sequence[ArrayLike],
    fmt: str | Format | Sequence[str | Format],
    to: str | Format | None = None,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    *,
    flags: Literal["each"],
    seed: int | None = None,
    key: str | None = None,
    out: Codes | None = None,
) -> tuple[Codes, FlagBytes]: ...


def evaluate(
    op: str | Operation,
    operands: Sequence[ArrayLike],
    fmt: str | Format | Sequence[str | Format],
    to: str | Format | None = None,
    policy: Policy | str | None = None,
    random_bits: RandomBits | None = None,
    flags: FlagsWanted = "none",
    *,
    seed: int | None = None,
    key: str | None = None,
    out: Codes | None = None,
) -> Codes | tuple[Codes, Flags] | tuple[Codes, FlagBytes]:
    """The results of an operation on arrays of codes: codes of the output format, in the operands' common shape.

    operands: one integer array per operand; shapes must broadcast. fmt: one format for all operands, or one per
    operand. to: the result's format (default: the operands' format). random_bits: for stochastic rounding, integers in
    the common shape, or a RandomSource. flags: "any" also returns the union of all flags, "each" an array of flag bytes
    in the common shape. out: the buffer for the codes, written at the end; it may be an operand.
    Raises Error for codes, shapes, formats, random bits or buffers that do not fit, and for a case with no defined
    result.
    """
    sig, policy = signature(op, fmt, to), get_policy(policy)
    if flags not in FLAGS_WANTED:
        raise Error(f"flags = {flags!r}: use none, any or each")
    arrays = _common(sig, operands)
    codes = np.empty(arrays[0].shape, code_dtype(sig.out))
    check_buffer(out, codes.shape, codes.dtype)
    each = np.empty(codes.shape if flags == "each" else 0, np.uint8)
    random_bits = resolve_bits(random_bits, policy, codes, seed, key)
    source = random_bits if is_source(random_bits) else None
    words = None if source else random_words(policy, random_bits, codes.shape)
    if source:
        check_random(policy, 0)
    bulk = Bulk(sig, policy, codes.size)
    seen = start = 0
    for parts, places in _chunks([*arrays, *([] if words is None else [words])], codes, each):
        size = parts[0].size
        drawn = source.array(policy.random_count, start, size).view(np.int64) if source else None
        if words is not None:
            drawn = parts.pop()
        for part, f in zip(parts, sig.formats, strict=True):
            _check(part, f)
        results, raised = bulk(parts, drawn)
        if raised.size and int(raised.max()) == UNKNOWN:
            _refuse(sig, policy, parts, drawn, raised, start)
        places[0][...] = results
        if flags == "each":
            places[1][...] = raised
        elif flags == "any":
            seen |= int(np.bitwise_or.reduce(raised))
        start += size
    codes = store(codes, out)
    if flags == "none":
        return codes
    return (codes, each) if flags == "each" else (codes, FLAGS[seen])


def _common(sig: Signature, operands: Sequence[ArrayLike]) -> list[NDArray[Any]]:
    """The operands broadcast to a common shape."""
    if isinstance(operands, (str, bytes)) or not isinstance(operands, Sequence):
        raise Error(f"operands must be a sequence of arrays of codes, not {type(operands).__name__}")
    if len(operands) != sig.operation.arity:
        raise Error(f"{sig.operation.name} takes {counted(sig.operation.arity, 'operand')}, not {len(operands)}")
    try:
        arrays = [as_codes(x, f) for x, f in zip(operands, sig.formats, strict=True)]
    except ValueError:
        raise Error("rows of different lengths do not form an array") from None
    for x, f in zip(arrays, sig.formats, strict=True):
        if f.width > 64:
            raise Error(f"{f.name} has {f.width} bits; arrays hold codes of at most 64")
        if x.dtype.kind not in "iu" and x.size:
            raise Error(f"codes must be integers, not {x.dtype}")
    try:
        return list(np.broadcast_arrays(*(x if x.size else x.astype(np.int64) for x in arrays)))
    except ValueError:
        shapes = ", ".join(str(x.shape) for x in arrays)
        raise Error(f"operands of shapes {shapes} cannot be broadcast to a common shape") from None


def _chunks(inputs: list[NDArray[Any]], codes: Codes, each: FlagBytes) -> Any:
    """Flat chunks of the inputs as int64 arrays, in C order, and the buffers for their results."""
    if codes.size == 0:
        return
    places = [codes.reshape(-1), each.reshape(-1)]
    if all(x.flags.c_contiguous for x in inputs):
        flat = [x.reshape(-1) for x in inputs]
        for start in range(0, codes.size, CHUNK):
            part = slice(start, start + CHUNK)
            yield [_signed(x[part]) for x in flat], [p[part] for p in places]
        return
    iterator = np.nditer(
        inputs, ["external_loop", "buffered"], [["readonly"]] * len(inputs), order="C", buffersize=CHUNK
    )
    start = 0
    for piece in iterator:
        pieces = piece if isinstance(piece, tuple) else (piece,)
        part = slice(start, start + pieces[0].size)
        yield [_signed(np.array(x)) for x in pieces], [p[part] for p in places]
        start = part.stop


def _signed(x: NDArray[Any]) -> Ints:
    """The same bits as signed 64-bit integers."""
    native = x.astype(x.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(native).view(np.int64) if x.dtype.itemsize == 8 else native.astype(np.int64)


def _check(codes: Ints, fmt: Format) -> None:
    # A negative int64 is a valid code only in a 64-bit format.
    if fmt.width < 64 and int(np.bitwise_or.reduce(codes)) >> fmt.width:
        wrong = int(codes[(codes < 0) | (codes >> fmt.width != 0)][0])
        sign = "-" if wrong < 0 else ""
        raise Error(f"code {sign}{abs(wrong):x} does not fit {fmt.name}, which has {fmt.width} bits")


def _refuse(
    sig: Signature, policy: Policy, operands: Sequence[Ints], words: Ints | None, flags: FlagBytes, start: int
) -> None:
    """Raise Undefined for the first element with no defined result."""
    at = int(np.flatnonzero(flags == UNKNOWN)[0])
    case = [int(x[at]) % (1 << f.width) for x, f in zip(operands, sig.formats, strict=True)]
    try:
        evaluator(sig, policy)(case, 0 if words is None else int(words[at]) % (1 << 64))
    except Undefined as e:
        raise Undefined(f"element {start + at}: {e}") from None


class Bulk:
    """An operation on flat arrays of checked codes (as int64 patterns): codes, and flags, which are UNKNOWN where no
    result is defined.

    size: the approximate total number of elements, which selects the method; all methods give the same results.
    """

    def __init__(self, sig: Signature, policy: Policy, size: int) -> None:
        self.sig, self.policy = sig, policy
        bits = sum(f.width for f in sig.formats) + policy.random_count
        self._table = _lazy_table(sig, policy) if bits <= _TABLE_BITS and not policy.random_count else None
        self._run = loop_for(sig, policy, size) if self._table is None else None

    def __call__(self, operands: Sequence[Ints], words: Ints | None = None) -> tuple[Ints, FlagBytes]:
        """Codes (as int64 patterns) and flags of each element. words: the random bits of each element."""
        if self._table is not None:
            return self._table(operands)
        if self._run is None:
            return by_oracle(self.sig, self.policy, operands, words)
        size = operands[0].size
        codes, flags = np.empty(size, np.int64), np.empty(size, np.uint8)
        self._run(operands, _NO_WORDS if words is None else words, codes, flags)
        unknown = flags == UNKNOWN
        if unknown.any():
            left = [x[unknown] for x in operands]
            drawn = None if words is None else words[unknown]
            codes[unknown], flags[unknown] = by_oracle(self.sig, self.policy, left, drawn)
        return codes, flags


Compiled = Callable[[Sequence[Ints], Ints, Ints, FlagBytes], None]  # operands, random words, codes, flags


def loop_for(sig: Signature, policy: Policy, size: int = 1 << 30) -> Compiled | None:
    """The compiled loop of an operation, or None if there is none, or so few elements do not justify loading it."""
    if size < (_LOADED_FROM if _LOOP_MODULE in sys.modules else COMPILED_FROM):
        return None
    if sig.operation.estimate is not None:
        from softfloat_ref.arrays.kernels import estimates, interpolations

        estimate_loop: Compiled | None = estimates.loop(sig, policy) or interpolations.loop(sig, policy)
        return estimate_loop
    if known := plan(sig, policy):

        def run(operands: Sequence[Ints], words: Ints, codes: Ints, flags: FlagBytes) -> None:
            from softfloat_ref.arrays.kernels import operations

            operate: Any = operations.operate
            operate(*known, *[*operands, _NO_WORDS, _NO_WORDS][:3], words, codes, flags)

        return run
    if size < COMPILED_FROM or not (function := function_plan(sig, policy)):
        return None

    def run_function(operands: Sequence[Ints], words: Ints, codes: Ints, flags: FlagBytes) -> None:
        from softfloat_ref.arrays.kernels import functions

        evaluate: Any = functions.evaluate
        evaluate(*function, *operands, words, codes, flags)

    return run_function


def by_oracle(
    sig: Signature, policy: Policy, operands: Sequence[Ints], words: Ints | None = None
) -> tuple[Ints, FlagBytes]:
    """Codes and flags of each element from the scalar oracle, called once for each distinct case."""
    run, memory = evaluator(sig, policy), dict[tuple[int, ...], tuple[int, int]]()
    masks = [np.uint64((1 << f.width) - 1) for f in sig.formats]
    columns = [(x.view(np.uint64) & mask).tolist() for x, mask in zip(operands, masks, strict=True)]
    columns.append([0] * operands[0].size if words is None else words.view(np.uint64).tolist())
    answers = []
    for case in zip(*columns, strict=True):
        answer = memory.get(case)
        if answer is None:
            try:
                answer = run(case[:-1], case[-1])
            except Undefined:
                answer = 0, UNKNOWN
            memory[case] = answer
        answers.append(answer)
    codes = np.array([code for code, _ in answers], np.uint64).view(np.int64)
    return codes, np.array([flags for _, flags in answers], np.uint8)


class _LazyTable:
    """Codes and flags, indexed by the operands' bits; the oracle fills entries on demand."""

    def __init__(self, sig: Signature, policy: Policy) -> None:
        self.sig, self.policy = sig, policy
        size = 1 << sum(f.width for f in sig.formats)
        self.codes = np.zeros(size, np.int64)
        self.flags = np.zeros(size, np.uint8)
        self.known = np.zeros(size, np.bool_)

    def __call__(self, operands: Sequence[Ints]) -> tuple[Ints, FlagBytes]:
        index = operands[0]
        for x, f in zip(operands[1:], self.sig.formats[1:], strict=True):
            index = index << f.width | x
        if not self.known.all():
            missing = np.unique(index[~self.known[index]])
            if missing.size:
                self._fill(missing)
        return self.codes[index], self.flags[index]

    def _fill(self, index: Ints) -> None:
        operands, rest = [], index
        for f in reversed(self.sig.formats):
            operands.append(rest & ((1 << f.width) - 1))
            rest = rest >> f.width
        self.codes[index], self.flags[index] = by_oracle(self.sig, self.policy, operands[::-1])
        self.known[index] = True


_lazy_table = lru_cache(maxsize=32)(_LazyTable)


def __dir__() -> list[str]:
    return sorted(__all__)
