"""The tree of an accumulator as C statements around core_dot.h: its sums and roundings are constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.export.library.blocks import LibraryBlock, designated, inline
from softfloat_ref.export.library.constants import LibraryFormat, format_constants
from softfloat_ref.export.library.policies import ROUNDING_MODES, LibraryPolicy
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate.evaluate import narrowed
from softfloat_ref.oracle.accumulate.model import Accumulator
from softfloat_ref.oracle.accumulate.trees import (
    RESULT,
    Chain,
    Fuse,
    Node,
    Pairs,
    Products,
    Round,
    Running,
    To,
    Zero,
)
from softfloat_ref.oracle.codec import encoder
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import Policy, parse_rounding

_MAX_WORDS: Final = 24
_MAX_BITS: Final = 40  # of an aligned sum in a word of 64 bits
_MAX_PARTS: Final = 4


@dataclass(frozen=True)
class DotSetting:
    """What a tree is written for. name: of the function. block: of operands that are elements of blocks."""

    name: str
    accumulator: Accumulator
    fmt: Format
    block: LibraryBlock | None
    out: LibraryFormat
    step: int


def ieee(policy: Policy) -> LibraryPolicy:
    """A policy whose rounding is not the state's."""
    return LibraryPolicy("ieee", policy, "CORE_FMA_ABC", "CORE_ADDEND_NAN")


@dataclass
class TreeWriter:
    """The statements of a step. constants: the rules of its sums and roundings."""

    unit: DotSetting
    constants: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    wide: dict[Node, bool] = field(default_factory=dict)
    count: int = 0

    def statements(self) -> list[str]:
        a = self.unit.accumulator
        running = f"{self.unit.name}_running"
        policy = Policy(flush_inputs=a.flush_inputs != "off")
        self.constants.append(
            f"static const core_format {running} = {inline(format_constants(self.unit.out.fmt, ieee(policy)))};"
        )
        self.lines.append(f"core_term c = core_number_term(code, {running});")
        if a.flush_inputs == "positive":
            self.lines.append("if (c.empty) c.sign = 0;")
        self.terms(a.root)
        uses_c = a.adds_c
        return [*self.lines, *([] if uses_c else ["(void)c;"]), "return code;"]

    def terms(self, node: Node) -> tuple[str, int]:
        """The terms of a node: an array, and their number."""
        match node:
            case Products():
                return self._products(node)
            case Running():
                return self._array(["c"])
            case Zero():
                return self._array(["core_no_term"])
            case Fuse():
                return self._fuse(node)
            case Round():
                return self._round(node)
        raise AssertionError("a chain stands in a Round")

    def _name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def _array(self, values: Sequence[str]) -> tuple[str, int]:
        name = self._name()
        self.lines.append(f"core_term {name}[{len(values)}] = {{{', '.join(values)}}};")
        return name, len(values)

    def _products(self, node: Products) -> tuple[str, int]:
        name, step = self._name(), self.unit.step
        count = len(node.positions(step))
        if not count:
            raise self._refusal("a slice without products")
        self.lines += [f"core_term {name}[{count}];"]
        at = 0
        for start, stop, stride in node.slices:
            n = len(range(start, step if stop is None else min(stop, step), stride))
            place = f"{name}[{at} + k]" if at else f"{name}[k]"
            index = f"{start} + {stride} * k" if (start, stride) != (0, 1) else "k"
            self.lines += [f"for (int k = 0; k < {n}; k++) {place} = p[{index}];"]
            at += n
        return name, count

    def _joined(self, nodes: Sequence[Node]) -> tuple[str, list[int]]:
        """The terms of several nodes in one array, and the number of each."""
        arrays = [self.terms(x) for x in nodes]
        if len(arrays) == 1:
            return arrays[0][0], [arrays[0][1]]
        name, at = self._name(), 0
        self.lines.append(f"core_term {name}[{sum(n for _, n in arrays)}];")
        for array, n in arrays:
            if n == 1:
                self.lines.append(f"{name}[{at}] = {array}[0];")
            else:
                place = f"{name}[{at} + k]" if at else f"{name}[k]"
                self.lines.append(f"for (int k = 0; k < {n}; k++) {place} = {array}[k];")
            at += n
        return name, [n for _, n in arrays]

    def _fuse(self, node: Fuse) -> tuple[str, int]:
        array, counts = self._joined([x.node for x in node.parts])
        bits = [node.bits if x.bits is None else x.bits for x in node.parts]
        if any(self.wide.get(x.node) for x in node.parts):
            raise self._refusal("an exact sum of exact sums of a wide range")
        floor = node.floor_for(self.unit.out.fmt.name)
        when = {"zero": "CORE_FLOOR_OF_ZEROS", "always": "CORE_FLOOR_ALWAYS"}[node.floor_when]
        if None in bits:
            if any(x is not None for x in bits):
                raise self._refusal("a sum of exact and aligned parts")
            fields = {"parts": 1, "count": _list([sum(counts)]), **self._exact(node, sum(counts))}
            self.wide[node] = fields["words"] > 1
        else:
            fields = self._aligned(node, counts)
        fields |= {"has_floor": "CORE_NO_FLOOR" if floor is None else when, "floor": floor or 0}
        fields |= {"by_scale": int(node.exponent == "scale")}
        rule = self._constant("core_sum_rule", designated(fields))
        return self._array([f"core_sum({array}, {rule}, {self._quiet}, flags)"])

    def _aligned(self, node: Fuse, counts: Sequence[int]) -> dict[str, Any]:
        """Neighbours that are aligned alike are one part."""
        rules = [
            (node.bits if x.bits is None else x.bits, int((x.align or node.align) == "rd"), x.drop) for x in node.parts
        ]
        parts: list[tuple[Any, int]] = []
        for rule, count in zip(rules, counts, strict=True):
            parts[-1:] = (
                [(rule, parts[-1][1] + count)] if parts and parts[-1][0] == rule else [*parts[-1:], (rule, count)]
            )
        if len(parts) > _MAX_PARTS or max(bits or 0 for (bits, _, _), _ in parts) > _MAX_BITS:
            raise self._refusal(f"an aligned sum of more than {_MAX_PARTS} parts or {_MAX_BITS} bits")
        return {
            "parts": len(parts),
            "count": _list([count for _, count in parts]),
            "bits": _list([bits for (bits, _, _), _ in parts]),
            "down": _list([down for (_, down, _), _ in parts]),
            "drop": _list([-1 if drop is None else drop for (_, _, drop), _ in parts]),
        }

    def _exact(self, node: Fuse, count: int) -> dict[str, Any]:
        """An exact sum as words: from the smallest unit of a term to the largest one. Two terms need no words."""
        if count == 2:
            return {"exact": 1, "words": 2}
        ranges = [self._range(x.node) for x in node.parts]
        relative = self.unit.block is not None and all(isinstance(x.node, Products) for x in node.parts)
        if relative and not self._in_one_block(node):
            raise self._refusal("an exact sum of products under several scales")
        if not relative and self.unit.block is not None and any(isinstance(x, Products) for x in self._sources(node)):
            raise self._refusal("an exact sum of scaled products and other terms")
        unit, top = min(x[0] for x in ranges), max(x[1] for x in ranges)
        words = (top - unit + count.bit_length() + 2 + 63) // 64
        if words > _MAX_WORDS:
            raise self._refusal("an exact sum of so wide a range")
        return {"exact": 1, "words": words, "unit": unit, "relative": int(relative)}

    def _sources(self, node: Fuse) -> Iterator[Node]:
        for x in node.parts:
            yield x.node

    def _in_one_block(self, node: Fuse) -> bool:
        block, step = self.unit.block, self.unit.step
        positions = [k for x in node.parts if isinstance(x.node, Products) for k in x.node.positions(step)]
        size = block.size if block else step
        return (step % size == 0 or size % step == 0) and len({k // size for k in positions}) <= 1

    def _range(self, node: Node) -> tuple[int, int]:
        """The smallest unit of a node's terms, and an exponent of two above them; of products under scales, relative to
        the exponent of these."""
        fmt, a = self.unit.fmt, self.unit.accumulator
        match node:
            case Products():
                low, high = (
                    2 * (fmt.emin - fmt.mantissa_bits) + a.product_exponent,
                    2 * (_top(fmt) + 1) + a.product_exponent,
                )
                if self.unit.block is not None:
                    low, high = low - 2 * self.unit.block.block.scale.mantissa_bits, high + 2
                return low, high
            case Running():
                own = self.unit.out.fmt
                return own.emin - own.mantissa_bits, _top(own) + 1
            case Round():
                to, _ = self._formats(node.choice(self.unit.out.fmt.name))
                return to.emin - to.mantissa_bits, _top(to) + 1
            case Zero():
                return 0, 0
            case _:
                raise self._refusal("an exact sum of sums that are not rounded")

    def _round(self, node: Round) -> tuple[str, int]:
        rounding = self._rounding(node.choice(self.unit.out.fmt.name))
        inner = node.node
        if isinstance(inner, (Chain, Pairs)):
            array, counts = self._joined(inner.parts)
            word = "chain" if isinstance(inner, Chain) else "pairs"
            self.lines.append(f"core_{word}({array}, {sum(counts)}, {rounding}, {self._quiet}, &code, flags);")
            return array, 1
        array, count = self.terms(inner)
        call = f"core_round_term({{x}}, {rounding}, {self._quiet}, &code, flags)"
        if count == 1:
            self.lines.append(f"{array}[0] = {call.format(x=f'{array}[0]')};")
        else:
            self.lines.append(f"for (int k = 0; k < {count}; k++) {array}[k] = {call.format(x=f'{array}[k]')};")
        return array, count

    def _formats(self, to: To) -> tuple[Format, Format]:
        """The format that is rounded to, and the one that holds its codes."""
        fmt = self.unit.out.fmt if to.fmt == RESULT else get_format(to.fmt)
        return narrowed(fmt, to.kept), fmt

    def _rounding(self, to: To) -> str:
        a, (narrow, fmt) = self.unit.accumulator, self._formats(to)
        mode = parse_rounding(to.rounding)
        if mode not in ROUNDING_MODES:
            raise self._refusal(f"rounding {to.rounding}")
        policy = a.policy(to.rounding)
        if policy.nan_rule.propagate != "no":
            raise self._refusal(f"NaN rule {a.nan}")
        up = fmt.mantissa_bits - narrow.mantissa_bits
        if a.overflow == "inf" and not fmt.infinity:
            raise self._refusal(f"overflow = inf in {fmt.name}")
        fields = {
            "f": inline(format_constants(narrow, ieee(policy))),
            "mode": f"{{{ROUNDING_MODES[mode]}, 0}}",
            "infinite": int(a.overflow == "inf"),
            "positive_zero": int(a.zero == "positive"),
            "up": max(up, 0),
            "nan": f"UINT64_C({encoder(fmt if up > 0 else narrow, policy)(exact.GENERATED, 0)[0]:#x})",
        }
        return self._constant("core_rounding", designated(fields))

    @property
    def _quiet(self) -> int:
        return int(self.unit.accumulator.nan_rule.fma_quiet)

    def _constant(self, kind: str, text: str) -> str:
        name = f"{self.unit.name}_{kind.removeprefix('core_')}_{len(self.constants)}"
        self.constants.append(f"static const {kind} {name} = {text};")
        return name

    def _refusal(self, what: str) -> Error:
        return Error(f"accumulator {self.unit.accumulator.name} cannot be in a library: it has {what}")


def _top(fmt: Format) -> int:
    """The exponent of the largest number."""
    significand, exponent = fmt.magnitude(fmt.max_code)
    return exponent + significand.bit_length() - 1


def _list(values: Sequence[Any]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"
