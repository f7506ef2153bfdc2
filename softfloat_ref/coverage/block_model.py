"""What a model of block quantization is, and how its blocks are laid out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from softfloat_ref import exact
from softfloat_ref.coverage.block_events import ONE, BlockEvents, BlockSetting, Line
from softfloat_ref.coverage.model import Bin
from softfloat_ref.exact import Value


class BlockModel(ABC):
    """A coverage model of quantization; as coverage.model.Model, for blocks."""

    id: str
    title: str

    def applies(self, where: BlockSetting) -> bool:
        """Whether the model says anything of a format under a profile."""
        return True

    @abstractmethod
    def bins(self, where: BlockSetting) -> tuple[Bin, ...]:
        """The bins, in a fixed order."""

    @abstractmethod
    def hits(self, e: BlockEvents) -> Iterable[str]:
        """The names of the bins a block hits."""

    @abstractmethod
    def cases(self, where: BlockSetting, name: str) -> Iterator[Line]:
        """Codes of values for a bin, most of which hit it."""


def filled(where: BlockSetting, first: Sequence[int], rest: int = 0) -> Line:
    """A block that starts so; the rest is one code."""
    size = where.fmt.size
    return (*first, *[rest] * size)[:size]


def shrunk(where: BlockSetting, magnitude: int) -> list[int]:
    """Codes below a magnitude's: of other significands and signs, ever smaller."""
    m, sign = where.values.mantissa_bits, where.values.sign_bit
    steps = (magnitude - (i * 0x2545F491 % (1 << m)) - (i // 3 << m) for i in range(1, where.fmt.size))
    return [max(x, 0) | (sign if i % 3 == 1 else 0) for i, x in enumerate(steps)]


def with_tensor_scale(where: BlockSetting, line: Line) -> Line:
    """The inputs of a line: a tensor scale of one follows the values where there are two levels."""
    return (*line, ONE) if where.two_levels else line


def largest_element(where: BlockSetting) -> Value:
    """The largest finite element."""
    element = where.fmt.element
    return exact.finite(0, *element.magnitude(element.max_code))
