"""Coverage by models that share a setting: of block quantization, dequantization, dot products."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final, Generic, Protocol, TypeVar

from softfloat_ref.accumulate import Accumulator
from softfloat_ref.block_formats import BlockFormat
from softfloat_ref.coverage.block_events import BlockEvents, BlockSetting, block_setting
from softfloat_ref.coverage.block_model import with_tensor_scale
from softfloat_ref.coverage.block_models import BLOCK_MODELS
from softfloat_ref.coverage.dequantize_models import Dequantize, DequantizeEvents, dequantize_setting
from softfloat_ref.coverage.dot_differences import ALL_DOT_MODELS
from softfloat_ref.coverage.dot_events import AnyFormat, DotEvents, dot_setting
from softfloat_ref.coverage.draw import bits
from softfloat_ref.coverage.protocol import Bin, Line
from softfloat_ref.errors import Undefined
from softfloat_ref.formats import Format
from softfloat_ref.policies import Policy
from softfloat_ref.profiles import Profile

TRIES: Final = 4000  # candidates of a bin that are looked at
W_contra = TypeVar("W_contra", contravariant=True)
E_contra = TypeVar("E_contra", contravariant=True)
W = TypeVar("W")
E = TypeVar("E")


class SettingModel(Protocol[W_contra, E_contra]):
    """A model of a setting W, whose cases have facts E."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    def bins(self, where: W_contra) -> tuple[Bin, ...]: ...
    def hits(self, e: E_contra) -> Iterable[str]: ...
    def cases(self, where: W_contra, name: str) -> Iterator[Line]: ...


class Modelled(Generic[W, E]):
    """The coverage of a setting by its models.

    events: the facts of a case. complete: makes a case of a model's candidate, of which it is told the number.
    """

    def __init__(
        self,
        where: W,
        models: Iterable[SettingModel[W, E]],
        events: Callable[[W, Line], E],
        complete: Callable[[W, Line, int], Line] = lambda where, case, turn: case,
    ) -> None:
        self.where = where
        self._complete = complete
        self._models = {m.id: m for m in models}
        self._events = events
        self._last: tuple[Line, E] | None = None

    @property
    def titles(self) -> Mapping[str, str]:
        """The models, with their titles."""
        return {m.id: m.title for m in self._models.values()}

    @cached_property
    def _laid_out(self) -> dict[str, tuple[Bin, ...]]:
        return {m.id: m.bins(self.where) for m in self._models.values()}

    def bins(self) -> Mapping[str, tuple[Bin, ...]]:
        """The bins of each model."""
        return self._laid_out

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The bins of each model but those that nothing can hit."""
        return {k: tuple(b.id for b in listed if not b.unreachable) for k, listed in self._laid_out.items()}

    def hits(self, case: Line) -> set[str]:
        """The bins a case hits."""
        try:
            e = self._events_of(case)
            return {name for m in self._models.values() for name in m.hits(e)}
        except Undefined:
            return set()

    def cases(self, name: str) -> Iterator[Line]:
        """Cases that hit a bin."""
        model, seen = self._models[name.partition("/")[0]], set[Line]()
        for turn, found in enumerate(itertools.islice(model.cases(self.where, name), TRIES)):
            case = self._complete(self.where, found, turn)
            if case not in seen and self._hit(model, case, name):
                seen.add(case)
                yield case

    def _events_of(self, case: Line) -> E:
        """Those of the last case are kept: what hits one bin is asked which others it hits."""
        if self._last is None or self._last[0] != case:
            self._last = case, self._events(self.where, case)
        return self._last[1]

    def _hit(self, model: SettingModel[W, E], case: Line, name: str) -> bool:
        try:
            return name in set(model.hits(self._events_of(case)))
        except Undefined:
            return False


Coverage = Modelled[Any, Any]


@lru_cache(maxsize=64)
def quantization(fmt: BlockFormat, values: Format, profile: Profile, policy: Policy) -> Coverage:
    """The coverage of quantizing blocks of values."""
    where = block_setting(fmt, values, profile, policy)
    models = [m for m in BLOCK_MODELS.values() if m.applies(where)]
    return Modelled(where, models, BlockEvents, _complete)


def _complete(where: BlockSetting, case: Line, turn: int) -> Line:
    """Values with a tensor scale of one and random words, as far as a model has not chosen these itself."""
    size, n = where.fmt.size, where.policy.random_count
    line = with_tensor_scale(where, case) if len(case) == size else case
    return line if len(line) == where.width else (*line, *(bits(turn, i, n) for i in range(size)))


@lru_cache(maxsize=64)
def dequantization(fmt: BlockFormat, profile: Profile) -> Coverage:
    """The coverage of dequantizing blocks to FP32."""
    return Modelled(dequantize_setting(fmt, profile), [Dequantize()], DequantizeEvents)


@lru_cache(maxsize=64)
def dot_products(
    a: AnyFormat, b: AnyFormat, c: Format, out: Format, unit: Accumulator, k: int, extrapolate: bool
) -> Coverage:
    """The coverage of dot products of k elements by an accumulator."""
    return Modelled(dot_setting(a, b, c, out, unit, k, extrapolate), ALL_DOT_MODELS.values(), DotEvents)
