"""Accumulators: how products are summed, as trees of Fuse and Round; the named accumulators; `dot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.tables import load_definition, split_like
from softfloat_ref.oracle.accumulate.catalogue import ACCUMULATORS
from softfloat_ref.oracle.accumulate.dots import check_c, operand, run, setting
from softfloat_ref.oracle.accumulate.model import STATUSES, Accumulator, from_table, from_text
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.codec import Encoded, check_code
from softfloat_ref.oracle.formats import Format, get_format

__all__ = [
    "ACCUMULATORS",
    "STATUSES",
    "Accumulator",
    "default_accumulator",
    "define_accumulator",
    "dot",
    "get_accumulator",
    "parse_operand_formats",
]

FormatName = str | Format | BlockFormat
_HINT: Final = " (or an expression, as fuse(16+c,F=25,rz)->fp32:rz, or FILE.toml[:NAME])"


def get_accumulator(acc: str | Accumulator | Mapping[str, Any]) -> Accumulator:
    """An accumulator from a name, an expression, `FILE.toml[:NAME]`, a table of fields, or an Accumulator, which is
    returned unchanged.

    Raises Error for an unknown name, listing the closest ones.
    """
    if isinstance(acc, Accumulator):
        return acc
    if isinstance(acc, Mapping):
        return define_accumulator(acc)
    if not isinstance(acc, str):
        raise Error(f"an accumulator must be a name, an expression, a table or an Accumulator, not {acc!r}")
    key = acc.strip().lower()
    if key in ACCUMULATORS:
        return ACCUMULATORS[key]
    if "(" in acc:
        return from_text(acc, ACCUMULATORS)
    if ".toml" in acc:
        return load_definition(acc, "accumulators", define_accumulator)
    raise unknown("accumulator", acc, ACCUMULATORS, _HINT)


def define_accumulator(table: object, name: str | None = None) -> Accumulator:
    """An accumulator from a TOML table: the fields of Accumulator, or `like = NAME` and the fields that differ."""
    values, like = split_like(table, f"accumulator {name or '?'}")
    base = None if like is None else get_accumulator(like)
    return from_table(values, name or str(values.get("name", "unnamed")), base)


def parse_operand_formats(fmt: Any) -> tuple[FormatName | None, FormatName | None, FormatName | None]:
    """The formats of a, b, c from one for both operands, a pair, or `a=fp8_e4m3,b=fp8_e5m2,c=fp32`. Raises Error."""
    if fmt is None or isinstance(fmt, (Format, BlockFormat)):
        return fmt, fmt, None
    if isinstance(fmt, str):
        if "=" not in fmt:
            return fmt, fmt, None
        usage = "write one FORMAT, or a=FORMAT,b=FORMAT[,c=FORMAT]"
        names = assignments.parse(fmt, f"formats {fmt!r}", "abc", usage=usage)
        if not {"a", "b"} <= names.keys():
            raise Error(f"formats {fmt!r}: no format for {'b' if 'a' in names else 'a'}")
        return names["a"], names["b"], names.get("c")
    if isinstance(fmt, Sequence) and len(fmt) in (2, 3):
        return fmt[0], fmt[1], fmt[2] if len(fmt) == 3 else None
    raise Error(f"give one format, or one for each of a and b (and c), not {fmt!r}")


def default_accumulator(*operands: Any) -> str:
    """The accumulator of operands, blocks or not, if none is named. operands: formats, or what has a block's scales."""
    blocks = any(isinstance(x, BlockFormat) or getattr(x, "block", 0) for x in operands)
    return "mx-fp32" if blocks else "fp32-sequential"


def dot(
    a: Any,
    b: Any,
    fmt: Any = None,
    c: int = 0,
    acc: str | Accumulator | Mapping[str, Any] = "",
    to: str | Format = "fp32",
    *,
    scales: tuple[Any, Any] | None = None,
    tensor_scales: tuple[Any, Any] | None = None,
    extrapolate: bool = False,
) -> Encoded:
    """The dot product sum(a[k] * b[k]) + c, with the order and the roundings of an accumulator.

    a, b: sequences of codes of equal length, or one-dimensional BlockArrays, which include format and scales. fmt: one
    format for both, scalar or block, a pair, or text such as `a=fp8_e4m3,b=fp8_e5m2,c=fp32`. scales: for block formats,
    the codes of the scales of a and b, one per block. tensor_scales: the values of their second-level scales, which
    NVFP4 needs; None for one that has none. c: a code of the format `to`, unless fmt names a format for c. acc: a name,
    expression, TOML file, table or Accumulator; by default mx-fp32 for blocks, else fp32-sequential. to: the format of
    the result. extrapolate: apply a unit's model to operand formats and scales it does not support.

    Returns bits and flags. Raises Error if the arguments do not fit together.
    """
    result = get_format(to)
    fmt_a, fmt_b, fmt_c = parse_operand_formats(fmt)
    scale_a, scale_b = (None, None) if scales is None else _pair(scales, "scales")
    tensor_a, tensor_b = (None, None) if tensor_scales is None else _pair(tensor_scales, "tensor_scales")
    x, y = operand(a, fmt_a, scale_a, "a", tensor_a), operand(b, fmt_b, scale_b, "b", tensor_b)
    own = None if fmt_c is None else _scalar(fmt_c)
    unit = get_accumulator(acc or default_accumulator(x, y))
    s = setting(x, y, unit, result, own, extrapolate=extrapolate)
    return run(s, x, y, check_c(s, check_code(c, s.c)))


def _pair(scales: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(scales, (tuple, list)) or len(scales) != 2:
        raise Error(f"{name} must be a pair: one for a and one for b")
    return scales[0], scales[1]


def _scalar(fmt: FormatName) -> Format:
    if isinstance(fmt, BlockFormat):
        raise Error(f"c must have a scalar format, not {fmt.name}")
    return get_format(fmt)


def __dir__() -> list[str]:
    return sorted(__all__)
