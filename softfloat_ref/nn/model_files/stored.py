"""Formats of tensors that a file has as bytes without a type, such as numpy's files of ml_dtypes arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from softfloat_ref.arrays.convert import code_dtype
from softfloat_ref.base.errors import Error
from softfloat_ref.base.names import matches
from softfloat_ref.nn.model_files.tensors import UNTYPED, ModelTensor
from softfloat_ref.oracle.formats import Format, get_format


@dataclass(frozen=True)
class StoredFormats:
    """Formats by pattern of names, the first that matches; and which of them were used."""

    rows: tuple[tuple[str, Format], ...]
    used: set[str] = field(default_factory=set)

    @staticmethod
    def parsed(texts: Sequence[str]) -> StoredFormats:
        """From FORMAT or PATTERN=FORMAT. Raises Error."""
        rows = []
        for text in texts:
            pattern, equals, name = text.rpartition("=")
            rows.append((pattern if equals else "*", get_format(name)))
        return StoredFormats(tuple(rows))

    def named(self, tensor: ModelTensor) -> ModelTensor:
        """The tensor with its format, if its file does not say it. Raises Error for a format of another size."""
        if not tensor.type.startswith(UNTYPED) or not tensor.fmt:
            return tensor
        for pattern, fmt in self.rows:
            if matches(tensor.name, pattern):
                if code_dtype(fmt).itemsize != tensor.itemsize:
                    raise Error(f"{tensor.name}: {8 * tensor.itemsize} bits, but {fmt.name} has {fmt.width}")
                self.used.add(pattern)
                return replace(tensor, fmt=fmt.name, type=fmt.name)
        return tensor

    def check_used(self) -> None:
        """Raise Error for a format that no tensor needed."""
        for pattern, fmt in self.rows:
            if pattern not in self.used:
                raise Error(f"--stored {fmt.name}: no tensor matches {pattern} and lacks a type in its file")
