"""Trees as text: `fuse(16+c,F=25,rz)->fp32:rz`. docs/accumulators.md describes the grammar.

tree   = term (one that ends in a rounding)
list   = term {"+" term}; a term is
         NUMBER (the next products of the step) | p | p[slice,...] (Python's slices) | c | zero
         | fuse(part {"+" part} {"," option}) | chain(list) | pairs(list), each with {"->" round}
part   = term ["@" BITS [":" rz|rd [":" DROP]]]
option = F=BITS | F=inf | rz | rd | floor=E | floor=FORMAT:E|FORMAT:E | floor_when=zero|always | exponent=scale
round  = FORMAT:ROUNDING[:FRACTION_BITS] {"|" FORMAT:ROUNDING[:FRACTION_BITS]}; FORMAT `out`: the result's format
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NoReturn

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.accumulate.trees import (
    RESULT,
    Addends,
    Chain,
    Fuse,
    Node,
    Pairs,
    Products,
    Round,
    Running,
    Slice,
    To,
    Zero,
    check,
)
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import parse_rounding, rounding_name

MAX_TEXT: Final = 4000
MAX_DEPTH: Final = 50
SHORT: Final = {"rz": "rtz", "rd": "rdn"}  # as in the literature on matrix units
LONG: Final = {long: short for short, long in SHORT.items()}
_TOKEN: Final = re.compile(r"\s*(?:->|-?\d{1,6}(?![\w.])|[A-Za-z_][A-Za-z0-9_]*(?:b-\d+)?|[-()\[\]+,=:|@])", re.ASCII)


@lru_cache(maxsize=256)
def parse_tree(text: str) -> Round:
    """The tree that a text describes. Raises Error, which says where parsing stopped."""
    if len(text) > MAX_TEXT:
        raise Error(f"a tree of {len(text)} characters; at most {MAX_TEXT} are read")
    parser = _Parser(text)
    tree = parser.term(0)
    if parser.token:
        parser.fail("the end")
    if parser.next_product and any(isinstance(x, Products) and x not in parser.counted for x in parser.leaves):
        raise Error(f"{text!r}: products are either counted (16) or chosen (p, p[0:16]), not both")
    return check(tree)


class _Parser:
    """Reads a text from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.token = ""
        self.next_product = 0
        self.leaves: list[Node] = []
        self.counted: list[Products] = []
        self.advance()

    def advance(self) -> str:
        """Return the current token and read the next one into `token`; '' at the end."""
        token, self.start = self.token, self.position
        match = _TOKEN.match(self.text, self.position)
        if match:
            self.token, self.position = match[0].strip(), match.end()
        elif self.text[self.position :].strip():
            self.token = self.text[self.position :].strip()[0]
            self.fail("a tree")
        else:
            self.token = ""
        return token

    def fail(self, expected: str) -> NoReturn:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        raise Error(f"{shown!r}: expected {expected}, not {self.token[:20] or 'the end'!r} (column {self.start + 1})")

    def take(self, token: str) -> None:
        if self.token != token:
            self.fail(repr(token))
        self.advance()

    def word(self, what: str) -> str:
        if not re.fullmatch(r"[A-Za-z_]\S*", self.token):
            self.fail(what)
        return self.advance()

    def integer(self, what: str = "a number") -> int:
        if not re.fullmatch(r"-?\d+", self.token):
            self.fail(what)
        return int(self.advance())

    def accept(self, token: str) -> bool:
        if self.token != token:
            return False
        self.advance()
        return True

    # -- nodes -------------------------------------------------------------------------------------------------------

    def term(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self.fail(f"at most {MAX_DEPTH} levels")
        node = self.bare_term(depth + 1)
        while self.accept("->"):
            node = Round(node, self.choices())
        return node

    def bare_term(self, depth: int) -> Node:
        if re.fullmatch(r"\d+", self.token):
            return self.leaf(self.next_products())
        if self.token not in ("p", "c", "zero", "fuse", "chain", "pairs"):
            self.fail("a term: a number of products, p, c, zero, fuse(...), chain(...) or pairs(...)")
        match self.advance():
            case "p":
                return self.leaf(self.products())
            case "c":
                return self.leaf(Running())
            case "zero":
                return self.leaf(Zero())
            case "fuse":
                return self.fuse(depth)
            case "chain":
                return Chain(self.terms(depth))
        return Pairs(self.terms(depth))

    def leaf(self, node: Node) -> Node:
        self.leaves.append(node)
        return node

    def next_products(self) -> Products:
        count = self.integer()
        if count < 1:
            raise Error(f"{self.text!r}: a step has 1 or more products")
        products = Products(((self.next_product, self.next_product + count, 1),))
        self.next_product += count
        self.counted.append(products)
        return products

    def products(self) -> Products:
        if not self.accept("["):
            return Products()
        slices = [self.one_slice()]
        while self.accept(","):
            slices.append(self.one_slice())
        self.take("]")
        return Products(tuple(slices))

    def one_slice(self) -> Slice:
        """`3`, `0:16`, `1::2`; never negative."""
        numbers: list[int | None] = [self.integer() if self.token != ":" else None]
        while len(numbers) < 3 and self.accept(":"):
            numbers.append(self.integer() if re.fullmatch(r"-?\d+", self.token) else None)
        if len(numbers) == 1 and numbers[0] is not None:
            numbers = [numbers[0], numbers[0] + 1]
        start, stop, stride = (*numbers, None, None)[:3]
        if any(x is not None and x < least for x, least in ((start, 0), (stop, 1), (stride, 1))):
            raise Error(f"{self.text!r}: positions in a step count from 0, and strides from 1")
        return start or 0, stop, stride or 1

    def terms(self, depth: int) -> tuple[Node, ...]:
        self.take("(")
        terms = [self.term(depth)]
        while self.accept("+"):
            terms.append(self.term(depth))
        self.take(")")
        return tuple(terms)

    def fuse(self, depth: int) -> Fuse:
        self.take("(")
        parts = [self.part(depth)]
        while self.accept("+"):
            parts.append(self.part(depth))
        options: dict[str, Any] = {}
        while self.accept(","):
            self.option(options)
        self.take(")")
        if "align" in options and options.get("bits") is None:
            raise Error(f"{self.text!r}: rz and rd apply to an alignment; give F=BITS too")
        return Fuse(tuple(parts), **options)

    def part(self, depth: int) -> Addends:
        node = self.term(depth)
        if not self.accept("@"):
            return Addends(node)
        bits = self.integer()
        align = self.one_of("rz", "rd") if self.accept(":") else None
        drop = self.integer() if align and self.accept(":") else None
        return Addends(node, bits, align, drop)  # type: ignore[arg-type]

    def option(self, options: dict[str, Any]) -> None:
        match self.word("an option: F=, rz, rd, floor=, floor_when= or exponent="):
            case "F":
                self.take("=")
                options["bits"] = None if self.accept("inf") else self.integer("a number of bits, or inf")
            case "rz" | "rd" as align:
                options["align"] = align
            case "floor":
                self.take("=")
                options["floor"] = self.floors()
            case "floor_when":
                self.take("=")
                options["floor_when"] = self.one_of("zero", "always")
            case "exponent":
                self.take("=")
                options["exponent"] = self.one_of("largest", "scale")
            case other:
                raise Error(f"{self.text!r}: unknown option {other!r}; F=, rz, rd, floor=, floor_when=, exponent=")

    def one_of(self, *words: str) -> str:
        if self.token not in words:
            self.fail(" or ".join(words))
        return self.advance()

    def floors(self) -> tuple[tuple[str, int], ...]:
        if re.fullmatch(r"-?\d+", self.token):
            return (("", self.integer()),)
        floors = [self.named_floor()]
        while self.accept("|"):
            floors.append(self.named_floor())
        return tuple(floors)

    def named_floor(self) -> tuple[str, int]:
        name = self.format_name()
        self.take(":")
        return name, self.integer()

    def choices(self) -> tuple[To, ...]:
        choices = [self.rounding()]
        while self.accept("|"):
            choices.append(self.rounding())
        return tuple(choices)

    def rounding(self) -> To:
        name = self.format_name()
        mode = self.rounding_name() if self.accept(":") else "rne"
        bits = self.integer("a number of fraction bits") if self.accept(":") else None
        if bits is not None and not 0 <= bits <= 256:
            raise Error(f"{self.text!r}: a format has 0 to 256 fraction bits, not {bits}")
        return To(name, mode, bits)

    def rounding_name(self) -> str:
        name = self.word("a rounding")
        return rounding_name(parse_rounding(SHORT.get(name, name)))

    def format_name(self) -> str:
        name = self.word("a format")
        if name == RESULT:
            return name
        fmt = get_format(name)
        fmt.needs_hidden("accumulators")
        return fmt.name


# -- and back ----------------------------------------------------------------------------------------------------------


def tree_text(node: Node) -> str:
    """A tree as text; `parse_tree` reads it back to the same tree."""
    match node:
        case Products():
            return _products_text(node)
        case Running():
            return "c"
        case Zero():
            return "zero"
        case Chain() | Pairs():
            return f"{type(node).__name__.lower()}({' + '.join(map(tree_text, node.parts))})"
        case Round():
            return f"{tree_text(node.node)} -> {'|'.join(map(_to_text, node.choices))}"
        case Fuse():
            return _fuse_text(node)


def _products_text(node: Products) -> str:
    if node.slices == ((0, None, 1),):
        return "p"
    return f"p[{','.join(_slice_text(*s) for s in node.slices)}]"


def _slice_text(start: int, stop: int | None, stride: int) -> str:
    if stop == start + 1:
        return str(start)
    return f"{start}:{'' if stop is None else stop}" + (f":{stride}" if stride != 1 else "")


def _to_text(to: To) -> str:
    return f"{to.fmt}:{LONG.get(to.rounding, to.rounding)}" + ("" if to.kept is None else f":{to.kept}")


def _part_text(part: Addends) -> str:
    words = [str(part.bits)] if part.bits is not None else []
    words += [part.align] if part.align else []
    words += [str(part.drop)] if part.drop is not None else []
    return tree_text(part.node) + (" @ " + ":".join(words) if words else "")


def _fuse_text(node: Fuse) -> str:
    words = [" + ".join(map(_part_text, node.parts))]
    if node.bits is not None:
        words += [f"F={node.bits}", node.align]
    if node.floor:
        words.append("floor=" + "|".join(f"{name}:{e}" if name else str(e) for name, e in node.floor))
    if node.floor_when != "zero":
        words.append(f"floor_when={node.floor_when}")
    if node.exponent != "largest":
        words.append(f"exponent={node.exponent}")
    return f"fuse({', '.join(words)})"
