"""Coverage of scalar operations: the models of a setting, and every operand of a small one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Final

from softfloat_ref.coverage import models
from softfloat_ref.coverage.draw import word
from softfloat_ref.coverage.events import Events, Setting, setting
from softfloat_ref.coverage.model import Model
from softfloat_ref.coverage.protocol import Bin, Line
from softfloat_ref.errors import Undefined
from softfloat_ref.ops import Signature
from softfloat_ref.policies import Policy

TRIES: Final = 400  # candidates of a bin that are looked at
ENUMERATED: Final = 16  # bits of operands, up to which all of them are tried
_FEW: Final = 12  # bits of operands, up to which that is quicker than solving for them
_KEPT: Final = 1 << _FEW  # cases that enumeration keeps for a bin


class Scalar:
    """The coverage of one operation under a policy. Made by `scalar`."""

    def __init__(self, where: Setting) -> None:
        self.where = where
        self.arity = len(where.formats)
        self._models = {m.id: m for m in models.applicable(where)}
        self._enumerated: dict[str, dict[str, list[Line]]] = {}

    @property
    def titles(self) -> Mapping[str, str]:
        """The models that apply, with their titles."""
        return {m.id: m.title for m in self._models.values()}

    @cached_property
    def _laid_out(self) -> dict[str, tuple[Bin, ...]]:
        return {m.id: m.bins(self.where) for m in self._models.values()}

    def listed(self) -> Mapping[str, tuple[Bin, ...]]:
        """The bins of each model, with what bounds and constructions prove: no enumeration."""
        return self._laid_out

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The bins of each model but those that are proven unreachable."""
        return {k: tuple(b.id for b in listed if not b.unreachable) for k, listed in self._laid_out.items()}

    def bins(self) -> Mapping[str, tuple[Bin, ...]]:
        """The bins of each model; of small operand spaces all that no operands hit are known to be unreachable."""
        return {k: tuple(map(self._judged, listed)) for k, listed in self._laid_out.items()}

    def _judged(self, b: Bin) -> Bin:
        if b.unreachable or not self._small or next(self.cases(b.id), None) is not None:
            return b
        return Bin(b.id, f"none of the {1 << self.where.space} cases there are hits it")

    @cached_property
    def _small(self) -> bool:
        return self.where.space <= ENUMERATED and not self.where.policy.random_count

    def events(self, case: Line) -> Events | None:
        """The facts of a case; None where it has no defined result."""
        try:
            return Events(self.where, case[: self.arity], case[self.arity] if len(case) > self.arity else 0)
        except Undefined:
            return None

    def hits(self, case: Line) -> set[str]:
        """The bins a case hits."""
        e = self.events(case)
        return set() if e is None else models.hits(e)

    def cases(self, name: str) -> Iterator[Line]:
        """Cases that hit a bin: those solved for; if there are none, and of few, those that enumeration finds."""
        model = self._models[name.partition("/")[0]]
        if self._small and self.where.space <= _FEW:
            listed = self._by_enumeration(model).get(name, [])
            yield from sorted(listed, key=lambda case: word(len(listed), case[0] << _FEW | case[-1]))
            return
        seen: set[Line] = set()
        for case in itertools.islice(model.cases(self.where, name), TRIES):
            if case not in seen and self._hits(model, case, name):
                seen.add(case)
                yield case
        if not seen and self._small:
            yield from self._by_enumeration(model).get(name, ())

    def _hits(self, model: Model, case: Line, name: str) -> bool:
        e = self.events(case)
        return e is not None and name in model.hits(e)

    def _by_enumeration(self, model: Model) -> dict[str, list[Line]]:
        """Some of all the cases that hit each bin of a model."""
        known = self._enumerated.get(model.id)
        if known is None:
            known = self._enumerated[model.id] = {}
            for case in itertools.product(*(range(1 << f.width) for f in self.where.formats)):
                e = self.events(case)
                for name in model.hits(e) if e is not None else ():
                    kept = known.setdefault(name, [])
                    if len(kept) < _KEPT:
                        kept.append(case)
        return known


@lru_cache(maxsize=64)
def scalar(sig: Signature, policy: Policy) -> Scalar:
    """The coverage of an operation under a policy."""
    return Scalar(setting(sig, policy))
