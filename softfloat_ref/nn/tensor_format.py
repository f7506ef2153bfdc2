"""The format of one role in a training recipe, and how values are converted to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.base import tables
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.oracle.affine import AffineFormat, get_affine_format, is_affine
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.blocks.quantize import resolve
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy, get_policy

OBSERVERS: Final = ("minmax", "moving-average")


@dataclass(frozen=True)
class TensorFormat:
    """A format with its policy.

    format: scalar, block (`mxfp8`), affine (`qint8`) or with a shared exponent (`flexfp_e4m3`). policy: name or table
    of fields. profile: of a block format. observer, momentum, axis: of affine integers: the range is the tensor's own,
    or a moving average of those seen; of each channel along the axis. clip: the gradient is cut off where a value was
    beyond the format (else it passes straight through).
    """

    format: str = "fp32"
    policy: Mapping[str, Any] | str | None = None
    profile: str | None = None
    observer: str = "minmax"
    momentum: float = 0.01
    axis: int | None = None
    clip: bool = False

    def __post_init__(self) -> None:
        fmt = self.resolved()
        self.resolved_policy()
        if self.observer not in OBSERVERS:
            raise unknown("observer", self.observer, OBSERVERS)
        if self.profile is not None:
            if not isinstance(fmt, BlockFormat):
                raise Error(f"profile: {self.format} is not a block format")
            resolve(fmt, self.profile)
        if not isinstance(fmt, AffineFormat) and (self.axis is not None or self.observer != "minmax"):
            raise Error(f"observer and axis apply to affine formats, not to {self.format}")

    def resolved(self) -> Format | BlockFormat | AffineFormat:
        """The format. Raises Error."""
        return get_affine_format(self.format) if is_affine(self.format) else any_format(self.format)

    def resolved_policy(self) -> Policy:
        """The policy. Raises Error."""
        policy = get_policy(self.policy)
        policy.random_count  # noqa: B018  (a stochastic rounding says its number of bits, or is refused here)
        return policy

    def to_value(self) -> str | dict[str, Any]:
        """The spec as TOML has it: the format's name, or a table of what differs from the defaults."""
        table: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name == "format" or value != field.default:
                table[field.name] = dict(value) if isinstance(value, Mapping) else value
        return self.format if len(table) == 1 else table


def read_tensor_format(value: object, where: str, policy: Mapping[str, Any] | str | None = None) -> TensorFormat:
    """A spec from a format's name or a table; policy: the default. Raises Error, which says where."""
    table = {"format": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        raise Error(f"{where} = {value!r}: a format's name, or a table with format = NAME")
    values = tables.check({"policy": policy, **table}, where, tables.hints(TensorFormat))
    try:
        return TensorFormat(**values)
    except Error as e:
        raise Error(f"{where}: {e}") from None
