"""What a kind of vector set offers to be covered: bins, the bins a case hits, cases for a bin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

Line = tuple[int, ...]  # the inputs of a case: operands, then random words where the case chooses its own


class Bin(NamedTuple):
    """A bin: its stable name, and why nothing can hit it ('': no proof that nothing can)."""

    id: str
    unreachable: str = ""


class Coverage(Protocol):
    """The models of one request: an operation, its formats, its policy."""

    def __hash__(self) -> int: ...

    @property
    def titles(self) -> Mapping[str, str]:
        """The title of each model that applies, by its id, in their order."""
        ...

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The names of each model's bins, in a fixed order: those that may be reachable, as far as that is cheap."""
        ...

    def bins(self) -> Mapping[str, tuple[Bin, ...]]:
        """Every bin of each model, with all that can be proven."""
        ...

    def hits(self, case: Line) -> Iterable[str]:
        """The names of the bins a case hits; none where it has no defined result."""
        ...

    def cases(self, name: str) -> Iterator[Line]:
        """Cases that hit a bin, each once; so many as a bounded search finds."""
        ...
