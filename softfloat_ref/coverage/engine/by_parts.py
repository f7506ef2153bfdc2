"""The coverage of a unit with several parts: each part has its own models, and their ids begin with the part's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.coverage.engine.framework import Bin, Coverage, Line

Selected = Callable[[Line], tuple[str, Line]]  # the part of a case, and its own inputs


class PartsCoverage(Coverage):
    """The models of all parts. parts: by name. selected: raises Undefined for inputs of no part."""

    def __init__(self, parts: Mapping[str, Coverage], selected: Selected) -> None:
        self.where = None  # each part has a setting of its own
        self.parts = parts
        self._selected = selected

    @property
    def titles(self) -> Mapping[str, str]:
        return {f"{name}/{k}": title for name, part in self.parts.items() for k, title in part.titles.items()}

    @cached_property
    def listed(self) -> Mapping[str, tuple[Bin, ...]]:
        return self._of_parts(lambda part: part.listed)

    def bins(self) -> Mapping[str, tuple[Bin, ...]]:
        return self._of_parts(lambda part: part.bins())

    def _of_parts(self, bins: Callable[[Coverage], Mapping[str, tuple[Bin, ...]]]) -> dict[str, tuple[Bin, ...]]:
        return {
            f"{name}/{k}": tuple(b._replace(id=f"{name}/{b.id}") for b in listed)
            for name, part in self.parts.items()
            for k, listed in bins(part).items()
        }

    def hits(self, case: Line) -> set[str]:
        """The names of the bins a case hits, all of its part. Raises Error for inputs of no part."""
        try:
            name, own = self._selected(case)
        except Undefined as e:
            raise Error(f"a case with the inputs {' '.join(f'{x:x}' for x in case)}: {e}") from None
        return {f"{name}/{x}" for x in self.parts[name].hits(own)}
