"""Products that a circuit adds up by trees of full and half adders (Wallace 1964, Dadda 1965), found in it.

The partial products are bits of both operands, two by two. Each adder of the tree takes bits of one column and gives a
sum there and a carry in the next column; so what the columns add up to stays the product, whatever the tree looks
like. What the last adder makes of the bits that are left is compared with their sum by the solver, which knows nothing
of these bits. The circuit's bits of the product are then those of a multiplication.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import combinations, product, zip_longest
from typing import Final, NamedTuple

from softfloat_ref.proof.cut import products_in
from softfloat_ref.proof.solver import solve
from softfloat_ref.proof.sweep import samples_of
from softfloat_ref.symbolic.build import and_, bare, concat, eq, extract, make, not_, substitute, zext
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, evaluator, subterms, var

_QUESTION_S: Final = 20.0  # for a bit of the product
_SAMPLES: Final = 128
_ADDER_DEPTH: Final = 5  # from an adder's inputs to its outputs, at most
_ADDER_TERMS: Final = 24  # terms between an adder's outputs and its inputs, at most
_WIDEST: Final = 64  # bits of an operand
_LOGIC: Final[dict[str, Callable[..., int]]] = {  # of bits for many inputs, side by side
    "and": lambda ones, a, b: a & b,
    "or": lambda ones, a, b: a | b,
    "xor": lambda ones, a, b: a ^ b,
    "not": lambda ones, a: ones ^ a,
    "ite": lambda ones, c, a, b: c & a | (ones ^ c) & b,
}


def added_products(ours: Sequence[Term], theirs: Sequence[Term]) -> dict[Term, Term]:
    """The circuit's terms that are bits of a product of the reference's operands, as bits of a multiplication; empty if
    there are none. They are equal for all inputs."""
    by: dict[Term, Term] = {}
    for term in products_in(ours):
        x, y = (bare(a) for a in term.args)
        if max(x.width, y.width) <= _WIDEST and min(x.width, y.width) > 1:
            by |= _added(x, y, tuple(theirs))
    return by


@lru_cache(maxsize=4)  # the cases of a proof have the same products
def _added(x: Term, y: Term, theirs: tuple[Term, ...]) -> Mapping[Term, Term]:
    normal = [extract(t, t.width - 1, t.width - 1) for t in (x, y)]
    samples = samples_of([x, y, *theirs], normal, {}, _SAMPLES)
    if not samples:
        return {}
    bits = _Bits(theirs, samples)
    operands = _operands(bits, *(_values(t, samples) for t in (x, y)))
    if operands is None:
        return {}
    tree = _Tree(_partial_products(*operands))
    if len(tree.placed) < len(operands[0]) * len(operands[1]):  # squares
        return {}
    tree.compress(bits)
    a, b = (reduce(concat, reversed(o)) for o in operands)
    width = a.width + b.width
    whole = make("mul", width, zext(a, width), zext(b, width))
    numbers = [p * q for p, q in zip(*(_numbers(bits, o) for o in operands), strict=True)]
    places = [list(bits.known.get(values, ())) for values in _transposed(numbers, width)]
    for k, place in enumerate(places):  # the likeliest first: made of the fewest bits that adders took
        place.sort(key=lambda t: (t not in tree.columns[k], len(tree.passed([t]))))
    tree.expose([place[0] for place in places if place])
    product_bits = {t: k for k, place in enumerate(places) for t in place if tree.adds_up_to(k, t)}
    return dict(_as_parts(bits, product_bits, whole))


def _values(t: Term, samples: Sequence[Mapping[str, int]]) -> list[int]:
    """The bits of a term from the lowest on, each for all samples side by side."""
    run = evaluator([t])
    return _transposed([run(values)[0] for values in samples], t.width)


def _transposed(numbers: Sequence[int], width: int) -> list[int]:
    """Of each bit, its values side by side."""
    return [sum((n >> k & 1) << i for i, n in enumerate(numbers)) for k in range(width)]


class _Bits:
    """A circuit bit by bit. seen: the values of each bit for all samples, side by side; known: bits by these; users: of
    a bit, the bits that are logic of it."""

    def __init__(self, roots: Sequence[Term], samples: Sequence[Mapping[str, int]]) -> None:
        self.ones = (1 << len(samples)) - 1
        self.samples = samples
        self.order = subterms(roots)
        self.of: dict[Term, list[Term]] = {}
        self.seen: dict[Term, int] = {FALSE: 0, TRUE: self.ones}
        run = evaluator(self.order)
        words = zip(*(run(values) for values in samples), strict=True)
        for t, numbers in zip(self.order, words, strict=True):
            self.of[t] = self._split(t)
            if any(bit not in self.seen for bit in self.of[t]):
                for bit, values in zip(self.of[t], _transposed(numbers, t.width), strict=True):
                    self.seen.setdefault(bit, values)
        self.known: dict[int, list[Term]] = defaultdict(list)
        self.users: dict[Term, list[Term]] = defaultdict(list)
        for bit, values in self.seen.items():
            self.known[values].append(bit)
            for arg in bit.args if bit.op in _LOGIC else ():
                self.users[arg].append(bit)
        self._above: dict[Term, frozenset[Term]] = {}

    def above(self, t: Term) -> frozenset[Term]:
        """The bits that are made of a bit in a few steps."""
        if t not in self._above:
            users, last = set[Term](), {t}
            for _ in range(_ADDER_DEPTH):
                last = {user for bit in last for user in self.users[bit]} - users
                users |= last
            self._above[t] = frozenset(users)
        return self._above[t]

    def _split(self, t: Term) -> list[Term]:
        """The bits of a term, from the lowest on: logic is split, arithmetic is made of the bits."""
        parts = [self.of[a] for a in t.args]
        if t.op == "concat":
            return parts[1] + parts[0]
        if t.op == "extract":
            return parts[0][t.value[1] : t.value[0] + 1]
        if t.op in ("zext", "sext"):
            filled = parts[0][-1] if t.op == "sext" else FALSE
            return parts[0] + [filled] * (t.width - len(parts[0]))
        if t.op == "ite":
            return [make("ite", 1, parts[0][0], a, b) for a, b in zip(*parts[1:], strict=True)]
        if t.op in _LOGIC:
            return [make(t.op, 1, *row) for row in zip(*parts, strict=True)]
        words = [reduce(concat, reversed(bits)) for bits in parts]
        whole = make(t.op, t.width, *words, value=t.value) if words else t
        return [extract(whole, k, k) for k in range(t.width)]


# -- operands --------------------------------------------------------------------------------------------------------


def _operands(bits: _Bits, x: Sequence[int], y: Sequence[int]) -> tuple[list[Term], list[Term]] | None:
    """The circuit's bits that are multiplied two by two, from the lowest on; None if they are not found.

    x, y: the values of the reference's operands, bit by bit.
    """
    partners: dict[Term, set[Term]] = defaultdict(set)
    for a, b in [t.args for t in bits.seen if t.op == "and" and bits.seen.keys() >= set(t.args)]:
        partners[a].add(b)
        partners[b].add(a)
    one, other = ([_alike(bits, partners, v) for v in values] for values in (x, y))
    first = [[t] for t in _most_paired(one, other, partners)], [[t] for t in _most_paired(other, one, partners)]
    # Again, with those that were chosen: what gates an operand is paired with its bits, too.
    chosen = _most_paired(one, first[1], partners), _most_paired(other, first[0], partners)
    inner = [t for operand in chosen for t in operand[:-1]]
    if TRUE in inner or any(TRUE not in (u, v) and v not in partners[u] for u, v in product(*chosen)):
        return None
    return chosen


def _alike(bits: _Bits, among: Iterable[Term], values: int) -> list[Term]:
    """The bits that have these values for most samples: for specials and subnormals, operands may differ."""
    return [t for t in among if (bits.seen[t] ^ values).bit_count() * 8 <= len(bits.samples)]


def _most_paired(
    mine: Sequence[Sequence[Term]], others: Sequence[Sequence[Term]], partners: Mapping[Term, set[Term]]
) -> list[Term]:
    """Of each place, the bit that is multiplied by bits of the most places of the other operand; TRUE if there is none,
    as of a leading one that is left out."""

    def count(t: Term) -> int:
        return sum(1 for places in others if not partners[t].isdisjoint(places))

    return [max(places, key=count) if places and max(map(count, places)) > 1 else TRUE for places in mine]


def _partial_products(a: Sequence[Term], b: Sequence[Term]) -> dict[int, list[Term]]:
    """The bits of each column."""
    columns: dict[int, list[Term]] = defaultdict(list)
    for (i, u), (j, v) in product(enumerate(a), enumerate(b)):
        columns[i + j].append(and_(u, v))
    return columns


def _numbers(bits: _Bits, operand: Sequence[Term]) -> list[int]:
    """An operand for each sample."""
    seen = [bits.seen[t] for t in operand]
    return [sum((s >> i & 1) << k for k, s in enumerate(seen)) for i in range(len(bits.samples))]


# -- the tree --------------------------------------------------------------------------------------------------------


class _Adder(NamedTuple):
    """An adder of a column: the bits that it takes, its sum, and its carry into the next column."""

    column: int
    taken: tuple[Term, ...]
    total: Term
    carry: Term


class _Tree:
    """Bits of each column, which add up to the product, after some of the circuit's adders. Each bit is there once, and
    taken once at most."""

    def __init__(self, columns: dict[int, list[Term]]) -> None:
        self.columns = columns
        self.adders: dict[Term, _Adder] = {}  # by the bits that they took
        self.placed = {t for column in columns.values() for t in column}

    def compress(self, bits: _Bits) -> None:
        """Take all adders that the circuit has, from the lowest column on: full ones first, which have half ones in
        them."""
        for k in range(len(self.columns)):
            waiting, left = self.columns[k], list[Term]()
            while waiting:
                t = waiting.pop()
                adder = self._first(_full_adders(bits, k, t, left))
                left.append(t)
                if adder is None and not waiting:
                    adder = self._first(_half_adders(bits, k, left))
                if adder is not None:
                    left = [t for t in left if t not in adder.taken]
                    waiting.append(adder.total)
                    self.columns[k + 1].append(adder.carry)
                    self.adders |= dict.fromkeys(adder.taken, adder)
                    self.placed |= {adder.total, adder.carry}
            self.columns[k] = left

    def _first(self, adders: Iterator[_Adder]) -> _Adder | None:
        """The first adder of which both outputs are new."""
        return next((a for a in adders if self.placed.isdisjoint((a.total, a.carry))), None)

    def expose(self, roots: Sequence[Term]) -> None:
        """Take adders back until what the roots are made of is in the columns: a last adder has other carries, too."""
        while passed := self.passed(roots):
            for adder in passed:
                self._take_back(adder)

    def passed(self, roots: Sequence[Term]) -> list[_Adder]:
        """The adders that took what the roots are made of."""
        left, waiting = {t for column in self.columns.values() for t in column}, list(roots)
        seen, adders = set[Term](), list[_Adder]()
        while waiting:
            t = waiting.pop()
            if t not in seen and t not in left:
                seen.add(t)
                if t in self.adders:
                    adders.append(self.adders[t])
                else:
                    waiting.extend(t.args)
        return adders

    def _take_back(self, adder: _Adder) -> None:
        if self.adders.get(adder.taken[0]) is not adder:
            return
        for output in (adder.total, adder.carry):
            if output in self.adders:
                self._take_back(self.adders[output])
        self._exchange([adder.total], adder.taken, adder.column)
        self.columns[adder.column + 1].remove(adder.carry)
        for t in adder.taken:
            del self.adders[t]

    def _exchange(self, old: Sequence[Term], new: Sequence[Term], k: int) -> None:
        for t in old:
            self.columns[k].remove(t)
        self.columns[k] += new

    def adds_up_to(self, k: int, t: Term) -> bool:
        """Whether a bit is bit k of the sum of all columns, whatever the bits in them are."""
        columns = [self.columns.get(i, ()) for i in range(k + 1)]
        names = {t: var(f"bit {t.number}", 1) for column in columns for t in column if not t.is_const}
        assumed = substitute([not_(t) for t in self.never], names)
        rows = zip_longest(*columns, fillvalue=FALSE)
        words = [reduce(concat, (names.get(t, t) for t in reversed(row))) for row in rows]
        total = extract(reduce(lambda a, b: make("add", k + 1, a, b), words), k, k)
        (mine,) = substitute([t], names)
        return solve([*assumed, not_(eq(mine, total))], _QUESTION_S).result == "unsat"

    @property
    def never(self) -> list[Term]:
        """Bits that are never set: sum and carry of a half adder."""
        return [and_(a.total, a.carry) for a in dict.fromkeys(self.adders.values()) if len(a.taken) == 2]


def _full_adders(bits: _Bits, k: int, t: Term, others: Sequence[Term]) -> Iterator[_Adder]:
    """The adders of a bit and two others of its column."""
    for a, b in combinations(others, 2):
        if bits.seen[a] ^ bits.seen[b] ^ bits.seen[t] in bits.known and (outputs := _outputs(bits, (a, b, t))):
            yield _Adder(k, (a, b, t), *outputs)


def _half_adders(bits: _Bits, k: int, column: Sequence[Term]) -> Iterator[_Adder]:
    """The adders of two bits of a column that are not a part of full ones."""
    for taken in combinations(column, 2):
        if (outputs := _outputs(bits, taken)) and not _inner(bits, taken, outputs[1]):
            yield _Adder(k, taken, *outputs)


def _outputs(bits: _Bits, taken: Sequence[Term]) -> tuple[Term, Term] | None:
    """The circuit's sum and carry of some bits, whatever these are; None if it does not have both."""
    total, carry = (_output_bit(bits, taken, output) for output in (_total, _carry))
    return None if total is None or carry is None else (total, carry)


def _total(values: Sequence[int]) -> int:
    return reduce(int.__xor__, values)


def _carry(values: Sequence[int]) -> int:
    """Whether at least two are set, of two or three."""
    return reduce(int.__or__, (a & b for a, b in combinations(values, 2)))


def _output_bit(bits: _Bits, taken: Sequence[Term], output: Callable[[Sequence[int]], int]) -> Term | None:
    """The circuit's bit that is the sum or carry of some bits, whatever they are; None if it has none."""
    rows = range(1 << len(taken))
    inputs = {t: sum((row >> i & 1) << row for row in rows) for i, t in enumerate(taken)}
    ones, want = (1 << len(rows)) - 1, output(list(inputs.values()))
    values = output([bits.seen[t] for t in taken])
    near = (t for t in frozenset.intersection(*map(bits.above, taken)) if bits.seen[t] == values)
    return min((t for t in near if _table(t, inputs, ones) == want), key=lambda t: t.number, default=None)


def _table(t: Term, inputs: Mapping[Term, int], ones: int) -> int | None:
    """The values of a bit for all values of a few others below it; None if it is not a function of these alone, or is
    far above them."""
    known: dict[Term, int | None] = {**inputs, FALSE: 0, TRUE: ones}

    def value(t: Term) -> int | None:
        if t not in known:
            known[t] = None
            if t.op in _LOGIC and len(known) < _ADDER_TERMS:
                parts = [value(a) for a in t.args]
                if None not in parts:
                    known[t] = _LOGIC[t.op](ones, *parts)
        return known[t]

    return value(t)


def _inner(bits: _Bits, taken: Sequence[Term], carry: Term) -> bool:
    """Whether a half adder is a part of a full one: its carry is joined with a bit that its inputs have a part in."""
    inputs = dict.fromkeys(taken, 0)
    joined = {t for join in bits.users[carry] if join.op in ("or", "xor") for t in join.args if t is not carry}
    others = [a for t in joined if t.op == "and" for a in t.args]
    return any(_table(a, inputs, 0) is not None for a in others)


def _as_parts(bits: _Bits, places: Mapping[Term, int], whole: Term) -> Iterator[tuple[Term, Term]]:
    """The circuit's terms all bits of which are neighbouring bits of the product, and what they are of it."""
    for t in bits.order:
        low = places.get(bits.of[t][0])
        if low is not None and t.args and [places.get(b) for b in bits.of[t]] == list(range(low, low + t.width)):
            yield t, extract(whole, low + t.width - 1, low)
