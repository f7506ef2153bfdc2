"""What a model of dot products is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from softfloat_ref.coverage.dot_events import DotEvents, DotSetting, Line
from softfloat_ref.coverage.memo import remembered
from softfloat_ref.coverage.model import Bin

Names = dict[str, str]  # why nothing can hit a bin, by name


class DotModel(ABC):
    """A coverage model of dot products; as coverage.model.Model."""

    id: str
    title: str

    @abstractmethod
    def names(self, where: DotSetting) -> Names:
        """The bins in a fixed order, with the reason where nothing can hit one."""

    @abstractmethod
    def facts(self, e: DotEvents) -> Iterable[str]:
        """Names of what is so of a case, whether they are bins or not."""

    @abstractmethod
    def cases(self, where: DotSetting, name: str) -> Iterator[Line]:
        """Inputs for a bin, most of which hit it."""

    def bins(self, where: DotSetting) -> tuple[Bin, ...]:
        """The bins."""
        return tuple(Bin(name, why) for name, why in self._known(where).items())

    def hits(self, e: DotEvents) -> Iterable[str]:
        """The names of the bins a case hits."""
        known = self._known(e.where)
        return (name for name in self.facts(e) if name in known)

    def _known(self, where: DotSetting) -> Names:
        def make() -> Names:
            return {f"{self.id}/{name}": why for name, why in self.names(where).items()}

        return remembered(where.memo, self.id, make)
