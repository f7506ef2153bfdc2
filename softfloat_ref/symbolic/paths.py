"""Where in the code a number is computed: which inputs come there, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from softfloat_ref.base.errors import Error
from softfloat_ref.symbolic.bounds import Facts, bounds
from softfloat_ref.symbolic.build import and_, not_
from softfloat_ref.symbolic.terms import TRUE, Term


class Unsupported(Error):
    """Code that cannot be read symbolically."""


class PathCondition(Protocol):
    """A truth value: the bit, and what follows where it is set."""

    @property
    def node(self) -> Term: ...

    @property
    def facts(self) -> Facts: ...


class Path(NamedTuple):
    """A place in the code that some inputs reach. guard: which, relative to the entry of the function; whole: of all
    inputs. known: terms of one bit that are 1 there."""

    guard: Term = TRUE
    whole: Term = TRUE
    facts: Facts = ()
    known: frozenset[Term] = frozenset()

    def under(self, condition: PathCondition) -> Path:
        """The path on which a condition holds also. Raises Infeasible."""
        node, facts = condition.node, self.facts + condition.facts
        for fact in condition.facts:
            bounds(fact.sum, facts)
        whole = and_(self.whole, node)
        return Path(and_(self.guard, node), whole, facts, self.known | {whole, *_conjuncts(node)})

    def holds(self, node: Term) -> bool:
        """Whether a bit is known to be set here."""
        return node is TRUE or node in self.known

    def entered(self) -> Path:
        """The path at the entry of a function that is called here."""
        return self._replace(guard=TRUE)


def _conjuncts(node: Term) -> Iterator[Term]:
    yield node
    if node.op == "and":
        for a in node.args:
            yield from _conjuncts(a)
    if node.op == "not" and node.args[0].op == "or":
        for a in node.args[0].args:
            yield from _conjuncts(not_(a))


class _Here:
    path: Path = Path()


@contextmanager
def at(path: Path) -> Iterator[None]:
    """Compute on a path."""
    before, _Here.path = _Here.path, path
    try:
        yield
    finally:
        _Here.path = before


def here() -> Path:
    """The path on which numbers are computed now."""
    return _Here.path
