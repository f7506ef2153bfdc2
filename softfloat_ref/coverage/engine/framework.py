"""The framework: a setting, the events of a case, models that declare their bins as crosses, and their coverage.

A setting has what all cases of a unit share: its formats, its policy. Events are the exact facts of one case. A
model declares its bins as crosses of named axes. Models work only with cells, the values on the axes: the
cells that a case hits, the reason why no case can hit one, and cases for a cell. The name of a bin is derived from its
cell once, for people, and looked up in a table; it is never parsed.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, Generic, NamedTuple, TypeVar

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle.formats import Format

Line = tuple[int, ...]  # the inputs of a case: operands, then random words where the case chooses its own
Cell = tuple[Any, ...]  # a value on each axis
Bins = dict[Cell, str]  # the names of cells, in a fixed order

SIGNS: Final = {0: "pos", 1: "neg"}
BITS: Final = (0, 1)
ENUMERATED: Final = 16  # bits of inputs, up to which all cases are tried
_ENUMERATED_FIRST: Final = 12  # bits of inputs, up to which that is quicker than solving for them
_BIN_CASES: Final = 1 << _ENUMERATED_FIRST  # cases that enumeration keeps for a bin

_MASK: Final = (1 << 64) - 1

T = TypeVar("T")
K = TypeVar("K")
Selected = Callable[[Line], tuple[str, Line]]  # the part of a case, and its own inputs


class Bin(NamedTuple):
    """A bin: its stable name, and the reason why nothing can hit it ('' if there is no proof). outside: why it is taken
    to lie outside of the range of the operands, without a proof."""

    id: str
    unreachable: str = ""
    outside: str = ""


def signs_of(fmt: Format) -> dict[int, str]:
    """The signs that values of a format have, with their names."""
    return SIGNS if fmt.signed else {0: SIGNS[0]}


def cross(template: str, **axes: Iterable[Any]) -> Bins:
    """Every combination of the axes' values, with its name; a mapping is an axis whose values have names."""
    named = [list(x.items()) if isinstance(x, Mapping) else [(v, v) for v in x] for x in axes.values()]
    return {
        tuple(value for value, _ in chosen): template.format(**dict(zip(axes, (n for _, n in chosen), strict=True)))
        for chosen in itertools.product(*named)
    }


# The bits that a rounding depends on, in every combination.
ROUND_BITS: Final = cross("{sign}.lsb{lsb}.guard{guard}.sticky{sticky}", sign=SIGNS, lsb=BITS, guard=BITS, sticky=BITS)


class BaseSetting(ABC):
    """Everything that is fixed for all cases of a unit. tries: maximum number of candidates per bin. space: bits of all
    inputs, if the cases may be enumerated."""

    tries: int = 4000
    space: int | None = None

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """The result of the first call of `make` for that key."""
        if key not in self._known:
            self._known[key] = make()
        value: T = self._known[key]
        return value

    @abstractmethod
    def events(self, line: Line) -> Any:
        """The facts of a case. The constructor or an attribute raises Undefined if the case has no defined result."""

    def complete(self, case: Line, turn: int) -> Line:
        """The `turn`-th case of a model's candidate."""
        return case

    def every(self) -> Iterator[Line]:
        """Every case, if `space` gives their number."""
        raise NotImplementedError


S = TypeVar("S", bound=BaseSetting)
E = TypeVar("E")


class Model(ABC, Generic[S, E]):
    """A coverage model of settings S, whose cases have facts E. id: IBM FPgen's number as B3, or its own name.

    chooses_words: its cases choose their random words.
    """

    id: str
    title: str
    chooses_words: bool = False

    def applies(self, where: S) -> bool:
        """Whether the model applies to a setting."""
        return True

    @abstractmethod
    def bins(self, where: S) -> Bins:
        """The cells, and their names after the model's id: crosses of named axes."""

    def not_reached(self, where: S) -> Bins:
        """Cells that are no bins because a bounded search has no case of them; no proof that there is none."""
        return {}

    def never(self, where: S, cell: Cell) -> str:
        """Why nothing hits a cell; '' if there is no proof."""
        return ""

    def operand_classes(self, where: S, cell: Cell) -> Mapping[int, str]:
        """The classes that operands of numbers have in every case that hits a cell, by their place in it; none if
        the cell is not about them."""
        return {}

    @abstractmethod
    def hits(self, e: E) -> Iterable[Cell]:
        """The cells that a case hits; cells that are not bins do not count."""

    @abstractmethod
    def cases(self, where: S, cell: Cell) -> Iterator[Line]:
        """Candidates for a cell, most of which hit it."""


def grouped(items: Iterable[T], keys: Callable[[T], Iterable[K]], most: int | None = None) -> dict[K, list[T]]:
    """Items by the keys that a function gives for them, none for a case without a defined result; at most so many."""
    groups: dict[K, list[T]] = {}
    for item in items:
        with suppress(Undefined):
            for key in keys(item):
                group = groups.setdefault(key, [])
                if most is None or len(group) < most:
                    group.append(item)
    return groups


class ReachedModel(Model[S, E]):
    """A model whose bins are those of the wanted cells that its own cases hit."""

    @abstractmethod
    def wanted(self, where: S) -> Bins:
        """The cells to search for."""

    def bins(self, where: S) -> Bins:
        """The cells with cases."""
        return where.once(
            self.id, lambda: {c: name for c, name in self.wanted(where).items() if self._is_reached(where, c)}
        )

    def not_reached(self, where: S) -> Bins:
        bins = self.bins(where)
        return {c: name for c, name in self.wanted(where).items() if c not in bins}

    def _is_reached(self, where: S, cell: Cell) -> bool:
        return any(cell in self.hits(where.events(line)) for line in self.cases(where, cell))


class SearchedModel(ReachedModel[S, E]):
    """A model that searches one list of lines for the cases of all its cells. most: cases kept for a cell."""

    most: int | None = None

    @abstractmethod
    def searched(self, where: S) -> Iterable[Line]:
        """The lines that are searched."""

    def _is_reached(self, where: S, cell: Cell) -> bool:
        return cell in self._by_cell(where)

    def cases(self, where: S, cell: Cell) -> Iterator[Line]:
        """The cases that the search found."""
        return iter(self._by_cell(where).get(cell, ()))

    def _by_cell(self, where: S) -> dict[Cell, list[Line]]:
        return where.once(
            (self.id, "cases"),
            lambda: grouped(self.searched(where), lambda line: self.hits(where.events(line)), self.most),
        )


class Coverage:
    """The models of a setting: bins, the bins that a case hits, cases for a bin."""

    def __init__(self, where: BaseSetting, models: Iterable[Model[Any, Any]]) -> None:
        self.where: Any = where
        self.models = [m for m in models if m.applies(where)]
        self._enumerated: dict[str, dict[str, list[Line]]] = {}
        self._last: tuple[Line, Any] | None = None

    @property
    def titles(self) -> Mapping[str, str]:
        """The title of each model that applies, by its id, in their order."""
        return {m.id: m.title for m in self.models}

    @cached_property
    def _named(self) -> dict[str, dict[Cell, str]]:
        """The full names of each model's cells."""
        return {m.id: {cell: f"{m.id}/{name}" for cell, name in m.bins(self.where).items()} for m in self.models}

    @cached_property
    def _not_reached(self) -> dict[str, dict[Cell, str]]:
        """The full names of the cells that each model's search does not reach."""
        return {m.id: {cell: f"{m.id}/{name}" for cell, name in m.not_reached(self.where).items()} for m in self.models}

    @cached_property
    def _all_named(self) -> dict[str, dict[Cell, str]]:
        return {k: {**named, **self._not_reached[k]} for k, named in self._named.items()}

    @cached_property
    def _at(self) -> dict[str, tuple[Model[Any, Any], Cell]]:
        """Model and cell by name."""
        return {name: (m, cell) for m in self.models for cell, name in self._named[m.id].items()}

    @cached_property
    def listed(self) -> Mapping[str, tuple[Bin, ...]]:
        """The bins of each model, with the proofs by bounds and constructions, without enumeration."""
        return {
            m.id: tuple(Bin(name, m.never(self.where, cell)) for cell, name in self._named[m.id].items())
            for m in self.models
        }

    def cells(self, model: str) -> Mapping[Cell, Bin]:
        """The cells of a model, with their bins."""
        return dict(zip(self._named[model], self.bins()[model], strict=True))

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The names of each model's bins except those proven unreachable by these means."""
        return {k: tuple(b.id for b in listed if not b.unreachable) for k, listed in self.listed.items()}

    def bins(self) -> Mapping[str, tuple[Bin, ...]]:
        """The bins of each model; if cases are few, all bins that none of them hits are proven unreachable."""
        return {k: tuple(map(self._judged, listed)) for k, listed in self.listed.items()}

    def not_reached(self) -> Mapping[str, tuple[str, ...]]:
        """What each model looks for and a bounded search has no case of: no bins, unless other cases hit them. Of few
        possible cases, what none of them hits is left out: it is proven unreachable."""
        return {
            m.id: tuple(x for x in self._not_reached[m.id].values() if not self.small or x in self._by_enumeration(m))
            for m in self.models
        }

    def _judged(self, b: Bin) -> Bin:
        if b.unreachable or not self.small or next(self.cases(b.id), None) is not None:
            return b
        return Bin(b.id, f"none of the {1 << self.where.space} possible cases hits it")

    @property
    def small(self) -> bool:
        """Whether all cases are so few that they may be enumerated."""
        return self.where.space is not None and self.where.space <= ENUMERATED

    def hits(self, case: Line) -> set[str]:
        """The names of the bins a case hits, with those that the search did not reach; none if it has no defined
        result."""
        return self._hits(self.models, case)

    def hits_of(self, models: Collection[str], case: Line) -> set[str]:
        """Those among the bins of some models."""
        return self._hits([m for m in self.models if m.id in models], case)

    def _hits(self, models: Iterable[Model[Any, Any]], case: Line) -> set[str]:
        try:
            e = self._events(case)
            return {name for m in models for cell in m.hits(e) if (name := self._all_named[m.id].get(cell)) is not None}
        except Undefined:
            return set()

    def operand_classes(self, name: str) -> Mapping[int, str]:
        """The classes that operands have in every case that hits a bin, by their place."""
        model, cell = self._at[name]
        return model.operand_classes(self.where, cell)

    def chooses_words(self, name: str) -> bool:
        """Whether a bin's cases choose their random words."""
        return self._at[name][0].chooses_words

    def cases(self, name: str) -> Iterator[Line]:
        """Cases that hit a bin, each once: solved ones; if there are none and all cases are few, enumerated ones."""
        model, cell = self._at[name]
        if self.small and self.where.space <= _ENUMERATED_FIRST:
            listed = self._by_enumeration(model).get(name, [])
            yield from sorted(listed, key=lambda case: word(len(listed), case[0] << _ENUMERATED_FIRST | case[-1]))
            return
        seen: set[Line] = set()
        for turn, candidate in enumerate(itertools.islice(model.cases(self.where, cell), self.where.tries)):
            case = self.where.complete(candidate, turn)
            if case not in seen and cell in self._cells_of(model, case):
                seen.add(case)
                yield case
        if not seen and self.small:
            yield from self._by_enumeration(model).get(name, ())

    def _cells_of(self, model: Model[Any, Any], case: Line) -> list[Cell]:
        try:
            return list(model.hits(self._events(case)))
        except Undefined:
            return []

    def _events(self, case: Line) -> Any:
        """The events of the last case are cached: a case that hits one bin is checked for the others."""
        if self._last is None or self._last[0] != case:
            self._last = case, self.where.events(case)
        return self._last[1]

    def _by_enumeration(self, model: Model[Any, Any]) -> dict[str, list[Line]]:
        """Some of all the cases that hit each bin of a model."""
        if model.id not in self._enumerated:
            names = self._all_named[model.id]
            self._enumerated[model.id] = grouped(
                self.where.every(), lambda case: (names.get(x, "") for x in self._cells_of(model, case)), _BIN_CASES
            )
        return self._enumerated[model.id]


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

    def not_reached(self) -> Mapping[str, tuple[str, ...]]:
        return {
            f"{name}/{k}": tuple(f"{name}/{x}" for x in listed)
            for name, part in self.parts.items()
            for k, listed in part.not_reached().items()
        }

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


# -- deterministic choices for searches: words by position (SplitMix64, Steele et al., OOPSLA 2014) --------------------


def word(seed: int, i: int) -> int:
    """A word of 64 bits that depends only on the two numbers."""
    z = (seed * 0xD1342543DE82EF95 + (i + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _MASK
    return z ^ z >> 31


def bits(seed: int, i: int, width: int) -> int:
    """A number of random bits."""
    number = 0
    for j in range(-(-width // 64)):
        number = number << 64 | word(seed + j, i)
    return number & ((1 << width) - 1) if width > 0 else 0


def significands(seed: int, width: int) -> Iterator[int]:
    """Endless significands of exactly `width` bits: the ends, short ones, then mixed ones."""
    if width <= 0:
        return
    low, high = 1 << (width - 1), (1 << width) - 1
    yield from dict.fromkeys((low, high, low | 1, low | low >> 1, high - 1, max(low | low >> 1 | 1, low)))
    i = 0
    while True:
        yield low | bits(seed, i, width - 1)
        i += 1
