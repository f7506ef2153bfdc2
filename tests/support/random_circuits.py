"""Random circuits: terms of all operations, of many widths, and inputs near their ends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from softfloat_ref.symbolic.build import extract, make, sext, zext
from softfloat_ref.symbolic.circuit import Circuit, CircuitPort
from softfloat_ref.symbolic.terms import Term, const, var

BINARY = ("and", "or", "xor", "add", "sub", "mul", "udiv", "urem")
SHIFTS = ("shl", "lshr", "ashr")
COMPARISONS = ("eq", "ult", "slt")
OTHERS = ("not", "neg", "ite", "concat", "extract", "zext", "sext", "const")


def random_circuit(seed: int, name: str, widest: int = 150, count: int = 60, divided: int = 150) -> Circuit:
    """A circuit of about `count` operations on terms of up to `widest` bits; quotients have up to `divided` bits."""
    rnd = random.Random(seed)
    widths = [1, rnd.randint(1, 16), rnd.randint(1, widest), rnd.randint(1, widest)]
    ports = [CircuitPort(f"in_{k}", w) for k, w in enumerate(widths)]
    ports.append(CircuitPort("lanes", rnd.choice([1, 5, 70]) if widest >= 70 else 3, 3))
    terms = [var(n, p.width) for p in ports for n in p.names]
    for _ in range(count):
        terms.append(_another(rnd, terms, widest, divided))
    results = [terms[-1], terms[-2], *(_fit(rnd, t, 7) for t in terms[-4:-2])]
    outs = [CircuitPort("out", results[0].width), CircuitPort("other", results[1].width), CircuitPort("pair", 7, 2)]
    names = [n for p in outs for n in p.names]
    hints = {t: f"stage{k // 20}.{t.op}" for k, t in enumerate(terms) if k % 5 == 0 and t.args}
    return Circuit(name, tuple(ports), tuple(outs), dict(zip(names, results, strict=True)), hints, "At random.")


def _another(rnd: random.Random, terms: list[Term], widest: int, divided: int) -> Term:
    def pick() -> Term:
        return rnd.choice(terms[-12:] if rnd.random() < 0.7 else terms)

    a, b = pick(), pick()
    op: Any = rnd.choice([*BINARY, *SHIFTS, *COMPARISONS, *OTHERS])
    if op in ("udiv", "urem") and a.width > divided:
        a = _fit(rnd, a, divided)
    if op in BINARY:
        return make(op, a.width, a, _fit(rnd, b, a.width))
    if op in SHIFTS:
        by = b if rnd.random() < 0.5 else _fit(rnd, b, rnd.randint(1, 8))
        return make(op, a.width, a, by)
    if op in COMPARISONS:
        return make(op, 1, a, _fit(rnd, b, a.width))
    if op in ("not", "neg"):
        return make(op, a.width, a)
    if op == "ite":
        return make(op, a.width, _fit(rnd, pick(), 1), a, _fit(rnd, b, a.width))
    if op == "concat":
        both = a.width + b.width
        return make(op, both, a, b) if both <= widest else _another(rnd, terms, widest, divided)
    if op == "const":
        w = rnd.randint(1, widest)
        return const(rnd.choice([0, 1, -1, rnd.getrandbits(w)]), w)
    return _fit(rnd, a, rnd.randint(1, widest))


def _fit(rnd: random.Random, t: Term, width: int) -> Term:
    if t.width < width:
        return rnd.choice([zext, sext])(t, width)
    low = rnd.randint(0, t.width - width)
    return extract(t, low + width - 1, low)


def random_inputs(circuit: Circuit, seed: int, count: int) -> Iterator[list[int]]:
    """Codes for the inputs' lanes: zeros, ones, few bits, and any."""
    rnd = random.Random(seed)
    widths = [p.width for p in circuit.inputs for _ in range(p.lanes)]
    for _ in range(count):
        yield [_code(rnd, w) for w in widths]


def _code(rnd: random.Random, w: int) -> int:
    any_code = rnd.getrandbits(w)
    return rnd.choice([0, (1 << w) - 1, 1 << rnd.randrange(w), any_code, any_code >> rnd.randrange(w)])
