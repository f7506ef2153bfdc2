"""A circuit on words of 64 bits with unsigned operations only: what C prints, and any machine computes quickly.

A wider term becomes words, lowest first; operations on two's complement numbers become unsigned ones. All terms are
rebuilt, so unused words disappear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Final

from softfloat_ref.symbolic.build import and_, concat, eq, extract, ite, make, not_, or_, sext, zext
from softfloat_ref.symbolic.circuit import Circuit, CircuitPort
from softfloat_ref.symbolic.terms import FALSE, Term, const, subterms, var

WORD: Final = 64
_HALF_WORD: Final = WORD // 2
_POSITION_BITS: Final = WORD.bit_length() - 1  # bits of a position in a word
Words = list[Term]  # lowest first; all but the highest have 64 bits


def count(width: int) -> int:
    """How many words hold that many bits."""
    return -(-width // WORD)


def on_words(circuit: Circuit) -> Circuit:
    """The circuit with a port of 64-bit words for each port: lane 0 first, and in a lane the lowest word first. Bits of
    inputs above a port's width are ignored."""
    inputs = {n: _word_names(p, n) for p in circuit.inputs for n in p.names}
    words = _Words({n: (p.width, inputs[n]) for p in circuit.inputs for n in p.names})
    terms: dict[str, Term] = {}
    for port in circuit.outputs:
        for lane in port.names:
            terms |= zip(_word_names(port, lane), words.of(circuit.terms[lane]), strict=True)
    names: dict[Term, str] = {}
    for term, hint in circuit.names.items():
        parts = words.known.get(term, [])
        for k, word in enumerate(parts):
            names.setdefault(word, hint if len(parts) == 1 or hint.endswith(".") else f"{hint}_w{k}")
    ins, outs = (tuple(map(_port, ports)) for ports in (circuit.inputs, circuit.outputs))
    return Circuit(circuit.name, ins, outs, terms, names, circuit.comment)


def _port(port: CircuitPort) -> CircuitPort:
    width = port.width if count(port.width) == 1 else WORD
    return CircuitPort(port.name, width, port.lanes * count(port.width), port.comment)


def _word_names(port: CircuitPort, lane: str) -> list[str]:
    """The names of a lane's words: those of the lanes of `_port`."""
    n = count(port.width)
    if n == 1:
        return [lane]
    first = port.names.index(lane) * n
    return [f"{port.name}_{first + k}" for k in range(n)]


class _Words:
    """Terms as words. known: those of each term that was asked for, and of its arguments."""

    def __init__(self, inputs: dict[str, tuple[int, list[str]]]) -> None:
        self.inputs = inputs
        self.known: dict[Term, Words] = {}

    def of(self, root: Term) -> Words:
        """The words of a term."""
        for t in subterms([root]):
            if t not in self.known:
                self.known[t] = self._of(t)
                assert sum(word.width for word in self.known[t]) == t.width, t.op
        return self.known[root]

    def _of(self, t: Term) -> Words:
        if t.op == "const":
            return _cut([const(t.value >> WORD * k, WORD) for k in range(count(t.width))], t.width)
        if t.op == "var":
            width, names = self.inputs[t.value]
            return [var(names[0], width)] if len(names) == 1 else _cut([var(n, WORD) for n in names], width)
        if t.op in ("udiv", "urem") and t.width > WORD:
            return self.of(_long_division(*t.args)[t.op == "urem"])
        return _RULES[t.op](t, *(self.known[a] for a in t.args))


def _cut(words: Words, width: int) -> Words:
    """The words of the lowest bits of a number of full words."""
    n = count(width)
    return [*words[: n - 1], extract(words[n - 1], (width - 1) % WORD, 0)]


def _full(words: Words) -> Words:
    """The highest word filled with zeros."""
    return [*words[:-1], zext(words[-1], WORD)]


def _joined(pieces: Iterable[Term]) -> Words:
    """Pieces of up to 64 bits, lowest first, side by side as words."""
    words: Words = []
    for piece in pieces:
        room = WORD - words[-1].width if words else 0
        if room:
            low = min(room, piece.width)
            words[-1] = concat(extract(piece, low - 1, 0), words[-1])
            words += [extract(piece, piece.width - 1, low)] if low < piece.width else []
        else:
            words.append(piece)
    return words


def _filled(bit: Term, width: int) -> Words:
    """That many copies of a bit."""
    return [sext(bit, min(WORD, width - at)) if bit.is_const else _minus(bit, min(WORD, width - at))
            for at in range(0, width, WORD)]  # fmt: skip


def _minus(bit: Term, width: int) -> Term:
    return bit if width == 1 else make("neg", width, zext(bit, width))


def _top(words: Words) -> Term:
    """The highest bit."""
    return extract(words[-1], words[-1].width - 1, words[-1].width - 1)


def _bitwise(t: Term, *args: Words) -> Words:
    return [make(t.op, parts[0].width, *parts) for parts in zip(*args, strict=True)]


def _add(t: Term, a: Words, b: Words) -> Words:
    sums, carry = [], FALSE
    for x, y in zip(a, b, strict=True):
        first = make("add", x.width, x, y)
        sums.append(make("add", x.width, first, zext(carry, x.width)))
        carry = or_(make("ult", 1, first, x), make("ult", 1, sums[-1], first)) if len(sums) < len(a) else FALSE
    return sums


def _sub(t: Term, a: Words, b: Words) -> Words:
    differences, borrow = [], FALSE
    for x, y in zip(a, b, strict=True):
        first, less = make("sub", x.width, x, y), zext(borrow, x.width)
        differences.append(make("sub", x.width, first, less))
        borrow = or_(make("ult", 1, x, y), make("ult", 1, first, less)) if len(differences) < len(a) else FALSE
    return differences


def _neg(t: Term, a: Words) -> Words:
    if len(a) == 1:
        return [make("neg", t.width, *a)]
    return _sub(t, [const(0, x.width) for x in a], a)


def _mul(t: Term, a: Words, b: Words) -> Words:
    """By halves of words, whose products fit a word."""
    if len(a) == 1:
        return [make("mul", t.width, *a, *b)]
    n = 2 * len(a)
    total: Words = [const(0, WORD)] * len(a)
    x, y = (_halves(_full(words)) for words in (a, b))
    for i in range(n):
        for j in range(n - i):
            part = make("mul", WORD, zext(x[i], WORD), zext(y[j], WORD))
            if part.is_const and part.value == 0:
                continue
            moved = [zext(word, WORD) for word in _joined([*[const(0, _HALF_WORD)] * (i + j), part])]
            total = _add(t, total, [*moved, *[const(0, WORD)] * n][: len(a)])
    return _cut(total, t.width)


def _halves(words: Words) -> Words:
    return [extract(w, low + _HALF_WORD - 1, low) for w in words for low in (0, _HALF_WORD)]


def _long_division(a: Term, b: Term) -> tuple[Term, Term]:
    """Quotient and remainder bit by bit, with terms of any width; of a division by zero too."""
    w = a.width
    divisor, rest = zext(b, w + 1), const(0, w + 1)
    bits: list[Term] = []
    for i in reversed(range(w)):
        rest = concat(extract(rest, w - 1, 0), extract(a, i, i))
        if rest.is_const and rest.value == 0:
            bits.append(eq(b, const(0, w)))
            continue
        bits.append(not_(make("ult", 1, rest, divisor)))
        rest = ite(bits[-1], make("sub", w + 1, rest, divisor), rest)
    return reduce(concat, bits), extract(rest, w - 1, 0)


def _shift(t: Term, a: Words, by: Words) -> Words:
    """By whole words, one bit of the amount after another, then by the bits of a position in a word."""
    amount = _amount(by)
    if len(a) == 1:
        return [_shifted(t, a[0], amount)]
    filling = _top(a) if t.op == "ashr" else FALSE
    fill = _filled(filling, WORD)[0]
    words = [*a[:-1], _joined([a[-1], *_filled(filling, WORD)])[0]]
    words = words[::-1] if t.op == "shl" else words  # from where the bits go, to where they come from
    beyond, n = FALSE, len(words)
    for k in range(_POSITION_BITS, amount.width):
        bit, step = extract(amount, k, k), 1 << (k - _POSITION_BITS)
        if step >= n:
            beyond = or_(beyond, bit)
        else:
            words = [ite(bit, words[i + step] if i + step < n else fill, words[i]) for i in range(n)]
    words = [ite(beyond, fill, w) for w in words]
    by_bits = zext(extract(amount, min(_POSITION_BITS, amount.width) - 1, 0), _POSITION_BITS)
    ends = [*words[1:], fill]
    if t.op == "shl":
        words = [_moved("shl", "lshr", x, y, by_bits) for x, y in zip(words, ends, strict=True)][::-1]
    else:
        words = [_moved("lshr", "shl", x, y, by_bits) for x, y in zip(words, ends, strict=True)]
    return _cut(words, t.width)


def _moved(there: str, back: str, word: Term, beside: Term, by: Term) -> Term:
    """A word moved by less than 64 bits, and the bits of the word beside it that follow."""
    one, others = const(1, 1), not_(by)
    follow = make(back, WORD, make(back, WORD, beside, one), others)  # type: ignore[arg-type]
    return make("or", WORD, make(there, WORD, word, by), follow)  # type: ignore[arg-type]


def _amount(by: Words) -> Term:
    """A shift's amount as one word: all ones, if it is more."""
    if len(by) == 1:
        return by[0]
    more = [not_(eq(w, const(0, w.width))) for w in by[1:]]
    return make("or", WORD, by[0], _filled(or_(*more), WORD)[0])


def _shifted(t: Term, a: Term, by: Term) -> Term:
    if t.op != "ashr":
        return make(t.op, t.width, a, by)
    signs = _filled(_top([a]), t.width)[0]
    return make("xor", t.width, make("lshr", t.width, make("xor", t.width, a, signs), by), signs)


def _eq(t: Term, a: Words, b: Words) -> Words:
    if len(a) == 1:
        return [eq(*a, *b)]
    apart = [make("xor", WORD, x, y) for x, y in zip(_full(a), _full(b), strict=True)]
    return [eq(reduce(lambda x, y: make("or", WORD, x, y), apart), const(0, WORD))]


def _ult(t: Term, a: Words, b: Words) -> Words:
    less = FALSE
    for x, y in zip(a, b, strict=True):
        less = or_(make("ult", 1, x, y), and_(eq(x, y), less))
    return [less]


def _slt(t: Term, a: Words, b: Words) -> Words:
    """As unsigned numbers with the highest bit inverted."""
    turned = [[*words[:-1], make("xor", words[-1].width, words[-1], _sign(words[-1].width))] for words in (a, b)]
    return _ult(t, *turned)


def _sign(width: int) -> Term:
    return const(1 << (width - 1), width)


def _ite(t: Term, c: Words, a: Words, b: Words) -> Words:
    return [ite(c[0], x, y) for x, y in zip(a, b, strict=True)]


def _concat(t: Term, high: Words, low: Words) -> Words:
    return _joined([*low, *high])


def _extract(t: Term, a: Words) -> Words:
    high, low = t.value
    pieces = []
    for k in range(low // WORD, high // WORD + 1):
        top, bottom = min(high - k * WORD, WORD - 1), max(low - k * WORD, 0)
        pieces.append(extract(a[k], top, bottom))
    return _joined(pieces)


def _zext(t: Term, a: Words) -> Words:
    if t.width <= WORD:
        return [zext(a[0], t.width)]
    return [zext(x, min(WORD, t.width - WORD * k)) for k, x in enumerate(a)] + [
        const(0, min(WORD, t.width - WORD * k)) for k in range(len(a), count(t.width))
    ]


def _sext(t: Term, a: Words) -> Words:
    if t.width > WORD:
        return _joined([*a, *_filled(_top(a), t.width - t.args[0].width)])
    if t.args[0].width == 1:
        return _filled(a[0], t.width)
    sign = zext(_sign(t.args[0].width), t.width)
    return [make("sub", t.width, make("xor", t.width, zext(a[0], t.width), sign), sign)]


def _plain(t: Term, a: Words, b: Words) -> Words:
    return [make(t.op, t.width, *a, *b)]


_Rule = Callable[..., Words]
_RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys(("not", "and", "or", "xor"), _bitwise),
    **dict.fromkeys(("udiv", "urem"), _plain),
    **dict.fromkeys(("shl", "lshr", "ashr"), _shift),
    "neg": _neg,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "eq": _eq,
    "ult": _ult,
    "slt": _slt,
    "ite": _ite,
    "concat": _concat,
    "extract": _extract,
    "zext": _zext,
    "sext": _sext,
}


def words_of(codes: Sequence[int], ports: Sequence[CircuitPort]) -> list[int]:
    """Codes of a circuit's ports as those of its words."""
    lanes = [p.width for p in ports for _ in range(p.lanes)]
    return [c >> WORD * k & ((1 << WORD) - 1) for c, w in zip(codes, lanes, strict=True) for k in range(count(w))]
