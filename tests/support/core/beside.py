"""What stands beside scalar operations: operations on formats, types as formats, functions of vectors."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from core.samples import FORMATS, Sample, said, sample
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.formats import Format, types
from softfloat_ref.oracle.formats.meta import META, standard_name
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.vector_functions.table import VECTOR_FUNCTIONS
from softfloat_ref.units import VectorUnit


@sample
def on_formats() -> Sample:
    for fmt in FORMATS:
        yield standard_name(fmt), *(said(function, fmt) for function in META.values())


def _type(name: str, module: str) -> type[Any]:
    return type(name, (), {"__module__": module})


class _OfTorch:
    """As torch has its types: objects of one class."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"torch.{self.name}"


_OfTorch.__module__, _OfTorch.__name__ = "torch", "dtype"


@sample
def types_of_formats() -> Sample:
    numbers = ("float16", "int8", "uint16", "complex64", "longdouble")
    given: list[Any] = [getattr(np, name) for name in numbers]
    given += [np.dtype("float32"), np.dtype("int64"), np.dtype([("a", "f4")]), np.float16(1), np.zeros(2)]
    given += [_type(name, "ml_dtypes") for name in ("bfloat16", "float8_e4m3fn", "int4", "text")]
    given += [_type("dtype", "torch"), _type("float16", "elsewhere"), _type("float16", "torch.inner")]
    names = ("float8_e5m2", "float4_e2m1fn_x2", "qint8", "quint4x2", "int16", "uint8", "complex32")
    given += [_OfTorch(name) for name in names]
    given += ["float16", "torch.float16", 5, None]
    for x in given:
        found = said(types.spelled, x)
        yield found if isinstance(found, str) else found is x


@sample
def vector_functions() -> Sample:
    draw = random.Random(1)
    for name in ("softmax", "log_softmax", "rms_norm", "layer_norm", "attention_scores"):
        for fmt, out, policy in (
            ("fp8_e4m3", "fp16", Policy()),
            ("fp4_e2m1", "fp8_e5m2", Policy("rdn")),
            ("bf16", "bf16", Policy("rup", flush_inputs=True)),
        ):
            for epsilon in ("0", "1/8") if name.endswith("norm") else (None,):
                depth = 2 if name.startswith("attention") else None
                unit = VectorUnit.make(name, fmt, out, policy, length=3, depth=depth, epsilon=epsilon)
                for _ in range(40):
                    wide = draw.random() < 0.5  # else near 1
                    codes = [_code(draw, f, wide) for f in unit.input_formats]
                    yield name, said(unit.answer, codes)


def _code(draw: random.Random, fmt: Any, wide: bool) -> int:
    one = fmt.max_code // 2
    magnitude = draw.randrange(1 << fmt.width) if wide else one + draw.randrange(-3, 4)
    return magnitude & fmt.magnitude_mask | (fmt.sign_bit if draw.random() < 0.4 else 0)


@sample
def vector_functions_of_specials() -> Sample:
    """NaN, Inf, zeros and ends, each in one lane and in all, among ones and halves, zeros, infinities, and NaNs; masks
    of every length, norms without gain."""
    for name, row in VECTOR_FUNCTIONS.items():
        yield name, row.summary, row.parameters, row.epsilon, row.share, row.centred, row.has_depth
        depth = 2 if row.has_depth else None
        for fmt, policy in (("fp8_e5m2", Policy(nan="propagate")), ("fp8_e4m3", Policy("sr", sr_bits=3))):
            for other in (False, True)[: 2 if depth or row.epsilon else 1]:
                masked, plain = other and depth is not None, other and depth is None
                unit = VectorUnit.make(name, fmt, "fp16", policy, length=3, depth=depth, masked=masked, plain=plain)
                formats = [f.fmt for f in unit.inputs if f.fmt and not f.fmt.is_integer for _ in range(f.lanes)]
                words = [5, 0, 3] if policy.random_count else []
                for codes in _specials(formats):
                    for visible in (0, 1, 3, 4) if masked else (None,):
                        yield name, said(unit.answer, [*codes, *([] if visible is None else [visible]), *words])


def _specials(formats: Sequence[Format]) -> Iterator[list[int]]:
    """Operands of one format."""
    fmt = formats[0]
    one = fmt.bias << fmt.mantissa_bits
    ordinary = [one - (i % 2 << fmt.mantissa_bits) | (fmt.sign_bit if i % 3 == 2 else 0) for i in range(len(formats))]
    nan = fmt.canonical_nan | fmt.sign_bit
    infinite = fmt.inf_code, fmt.inf_code | fmt.sign_bit
    for code in (0, fmt.sign_bit, 1, fmt.max_code, fmt.canonical_nan, fmt.inf_code + 1, *infinite):
        yield [code] * len(formats)
        for others in (ordinary, [*[0] * (len(formats) - 1), one], [fmt.inf_code] * len(formats), [nan] * len(formats)):
            yield from ([*others[:i], code, *others[i + 1 :]] for i in range(len(formats)))


@sample
def aligned_numbers() -> Sample:
    numbers = [exact.finite(s, m, e) for s, m, e in ((0, 3, -2), (1, 5, 4), (0, 8, 0), (1, 12, -7))]
    for some in (numbers, numbers[:1], [exact.zero(0), exact.zero(1)], [exact.zero(1), numbers[3]]):
        yield exact.aligned(some), [exact.normal(x) for x in some]
    for n, d in ((1, 3), (7, 2), (12, 16), (5, 20), (3, 4)):
        yield [exact.compare_ratio(n, d, exact.finite(0, m, e)) for m, e in ((1, 0), (3, -2), (7, -1), (1, -2), (1, 1))]
        yield exact.root_of_ratio(n, d, 5), exact.root_of_ratio(n, d << 40, 9), exact.integer_root(n << 9, d)
