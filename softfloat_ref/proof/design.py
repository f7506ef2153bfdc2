"""What a circuit gives for the inputs of a unit, and where that is not what the unit gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_ as or_bits
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.search import find_first
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.sources import Lfsr
from softfloat_ref.proof.btor2 import Machine, read_btor2
from softfloat_ref.proof.registers import taken_apart
from softfloat_ref.proof.rtl import Rtl, bound, held
from softfloat_ref.proof.solver import solve
from softfloat_ref.proof.unroll import Observed, observe
from softfloat_ref.rtl.binding import Bound
from softfloat_ref.rtl.bundle import LineField, ones
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.rtl.tolerance import ELEMENTS, SCALE, CompareNan, Tolerance, nan_results, nan_scale
from softfloat_ref.symbolic.build import adjacent, and_, concat, eq, extract, ite, not_, or_, selected
from softfloat_ref.symbolic.classes import is_nan
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, const, evaluator, var, variables
from softfloat_ref.units import Unit
from softfloat_ref.units.unit import lanes_of

_LATENCY_LIMIT_S: Final = 10.0  # to show that a result has come

Terms = Mapping[str, Term]  # by the name of a lane: a, elements_3


class Segment(NamedTuple):
    """Bits of an output lane of the unit, from `low` on, as the circuit gives them."""

    low: int
    code: Term


@dataclass(frozen=True)
class BoundDesign:
    """A circuit bound to a unit. part: the operation that it does; driven: its inputs; preset: registers that hold
    inputs when it begins; codes: the parts of its outputs by lane; fill: whether bits beside them are wrong."""

    unit: Unit
    part: Unit
    ports: PortMap
    machine: Machine
    driven: Driven
    preset: Mapping[str, Term]
    observed: Observed
    codes: Mapping[str, tuple[Segment, ...]]
    fill: Term

    def code(self, name: str, expected: Term) -> Term:
        """A lane of the output; bits that the circuit does not have are the expected ones."""
        code = expected
        for segment in self.codes[name]:
            code = _with_bits(code, segment)
        return code

    def wrong(self, expected: Terms) -> Term:
        """Whether the circuit breaks its protocol, or gives something else than expected and accepted."""
        names = [name for field in self.unit.outputs for name in lanes_of(field)]
        return or_(self.broken, *(self.differs(name, expected) for name in names))

    @property
    def broken(self) -> Term:
        """Whether the circuit breaks its protocol, or drives bits beside its outputs."""
        return or_(self.observed.wrong, self.fill)

    def giving(self, got: Term) -> BoundDesign:
        """The circuit with other outputs, side by side, and nothing wrong with its protocol."""
        codes, fill = _outputs(self.driven, got)
        observed = replace(self.observed, got=got, wrong=FALSE, assumed=TRUE)
        return replace(self, observed=observed, codes=codes, fill=fill)

    def differs(self, name: str, expected: Terms) -> Term:
        """Whether a lane of the output is something else than expected and accepted."""
        want = expected[name]
        got = self.code(name, want)
        differs = not_(eq(want, got))
        fmt = {n: fmt for field, fmt in nan_results(self.part) for n in lanes_of(field)}.get(name)
        accepted = Tolerance.of_ports(self.ports).nan
        if accepted != CompareNan.EXACT and fmt is not None:
            differs = and_(differs, not_(_both_nan(want, got, fmt, accepted == CompareNan.QUIET)))
        return and_(differs, not_(self._excused(name, expected)))

    def _excused(self, name: str, expected: Terms) -> Term:
        """Whether anything is accepted: elements under an expected scale that is NaN."""
        fmt = nan_scale(self.unit)
        elements = [n for field in self.unit.results if field.name == ELEMENTS for n in lanes_of(field)]
        if Tolerance.of_ports(self.ports).any_elements and fmt is not None and name in elements:
            return is_nan(expected[SCALE], fmt)
        return FALSE


def _both_nan(want: Term, got: Term, fmt: Format, quiet: bool) -> Term:
    """Whether two codes are NaNs of a format, with the same bits above it; quiet: the second one a quiet NaN."""
    ours, theirs = (extract(x, fmt.width - 1, 0) for x in (want, got))
    same = TRUE
    if want.width > fmt.width:
        same = eq(*(extract(x, want.width - 1, fmt.width) for x in (want, got)))
    return and_(is_nan(ours, fmt), is_nan(theirs, fmt, quiet=quiet), same)


def design(
    unit: Unit,
    rtl: Rtl,
    registers: Mapping[str, str] | None = None,
    part: int = 0,
    assumed: Term = TRUE,
    source: Lfsr | None = None,
) -> BoundDesign:
    """The circuit's outputs as terms of the unit's inputs.

    part: the number of the operation that control fields select. registers: fields that registers hold when the
    operation begins, by the register's name without the instance's (state, for dut.state); source: of which such a
    register is the state. assumed: of the inputs, for which results are waited for. Raises Error.
    """
    machine, ports = read_btor2(rtl.netlist.text), rtl.ports
    if machine.uses("clk"):
        raise Error(f"{ports.module}: the clock is used as data, or by a latch; only edges of it are supported")
    bound_ports = bound(unit, ports)
    driven = Driven(unit, bound_ports, ports, part)
    preset = dict(_register(name, text, driven, machine, source) for name, text in (registers or {}).items())
    machine = taken_apart(machine, ("in_ready", "out_valid"), preset)
    observed = observe(machine, ports, driven, preset, Never(assumed))
    return BoundDesign(
        unit, unit.parts[part], ports, machine, driven, preset, observed, *_outputs(driven, observed.got)
    )


def _outputs(driven: Driven, got: Term) -> tuple[dict[str, tuple[Segment, ...]], Term]:
    """The parts of each output lane, and whether bits beside them are wrong."""
    care = driven.bound.parts[driven.part].care[0]
    codes, used = _codes(driven.bound, got, care)
    return codes, _filled(driven.bound, got, care & ~used)


class Never:
    """Whether a bit is never set where something is assumed; None if that is not decided. It is asked again and again
    of bits that are set more and more rarely: what set one before is tried first."""

    def __init__(self, assumed: Term) -> None:
        self.assumed = assumed
        self.seen: list[Mapping[str, int]] = []

    def __call__(self, bit: Term) -> bool | None:
        run, names = evaluator([bit]), [str(v.value) for v in variables([bit])]
        for values in self.seen:
            if run({name: values.get(name, 0) for name in names})[0]:
                return False
        answer = solve([self.assumed, bit], _LATENCY_LIMIT_S)
        if answer.result == "sat":
            self.seen.append(answer.model)
        return None if answer.result == "unknown" else answer.result == "unsat"


def _with_bits(code: Term, segment: Segment) -> Term:
    """A code with some bits replaced."""
    high = segment.low + segment.code.width
    above = segment.code if high == code.width else concat(extract(code, code.width - 1, high), segment.code)
    return above if segment.low == 0 else concat(above, extract(code, segment.low - 1, 0))


# -- inputs --------------------------------------------------------------------------------------------------------


class Driven:
    """The inputs side by side in each cycle: the operation's operands until the circuit has taken them, then any, of
    any operation. Operands that it does not have are free."""

    def __init__(self, unit: Unit, bound: Bound, ports: PortMap, part: int) -> None:
        self.bound, self.part, self.used = bound, part, unit.used(unit.parts[part])
        self.width = max(bound.stimulus.width, 1)
        self.fixed, self.values = held(bound)
        self.fields = {f.name: f for f in bound.fields}
        masks = [bound.stimulus.carriers(*names) for names in ports.handshake.operands]
        self.masks = masks or [ones(self.width)]
        base = const(self.values[part], self.width)
        for move in bound.stimulus.moves:
            base = _with_bits(base, Segment(move.to, self.slice(move.source, move.width)))
        self.operands = base

    def slice(self, source: int, width: int) -> Term:
        """Bits of a memory word: of a lane of an input."""
        field, lane, low = _place(self.bound.fields, source)
        name = field.name if field.lanes == 1 else f"{field.name}_{lane}"
        name = name if field.name in self.used else f"unused {name}"
        return extract(var(name, field.width), low + width - 1, low)

    def __call__(self, cycle: int, taken: Sequence[Term]) -> Term:
        return self.operands if not taken else self.offered(self.operands, cycle, taken)

    def offered(self, operands: Term, cycle: int, taken: Sequence[Term]) -> Term:
        """The inputs of a cycle with these operands, except for what was taken."""
        others, word = self.any(f"@{cycle}"), const(0, self.width)
        for mask, gone in zip(self.masks, taken, strict=False):
            word = _merged(word, mask, ite(gone, others, operands))
        rest = ones(self.width)
        for mask in self.masks:
            rest &= ~mask
        return _merged(word, rest, operands)

    def any(self, name: str) -> Term:
        """Any inputs, with the bits that are held as for any operation. name: the end of their variables'."""
        known = [const(value & self.fixed, self.width) for value in self._controls]
        differ = reduce(or_bits, (value ^ self._controls[0] for value in self._controls)) & self.fixed
        controls = _merged(known[0], differ, selected(known, self._chosen(name)))
        return _merged(controls, ones(self.width) & ~self.fixed, var(f"others{name}", self.width))

    def care(self, name: str) -> Term:
        """The bits of the outputs that matter to the operation of any inputs, as ones."""
        cares = [self.bound.parts[self.values.index(value)].care[0] for value in self._controls]
        return selected([const(care, self.bound.got.width) for care in cares], self._chosen(name))

    def chosen(self, others: int, operation: int) -> tuple[int, int]:
        """The inputs side by side that `any` has for these values, and the number of their operation."""
        value = self._controls[min(operation, len(self._controls) - 1)]
        return value & self.fixed | others & ~self.fixed, self.values.index(value)

    def lanes(self, word: int) -> dict[str, int]:
        """The lanes of the unit's inputs that inputs side by side carry."""
        codes = dict[str, int]()
        for move in self.bound.stimulus.moves:
            field, lane, low = _place(self.bound.fields, move.source)
            name = field.name if field.lanes == 1 else f"{field.name}_{lane}"
            codes[name] = codes.get(name, 0) | (word >> move.to & ones(move.width)) << low
        return codes

    @property
    def _controls(self) -> list[int]:
        return list(dict.fromkeys(self.values))

    def _chosen(self, name: str) -> Term:
        return var(f"operation{name}", max((len(self._controls) - 1).bit_length(), 1))


def _merged(base: Term, mask: int, other: Term) -> Term:
    """A term with the bits of another where the mask has ones."""
    merged, low = base, 0
    while mask >> low:
        if mask >> low & 1:
            run = (~(mask >> low) & (mask >> low) + 1).bit_length() - 1
            merged = _with_bits(merged, Segment(low, extract(other, low + run - 1, low)))
            low += run
        else:
            low += 1
    return merged


def _place(fields: Sequence[LineField], source: int) -> tuple[LineField, int, int]:
    """The field, lane and bit of a bit of a memory word."""
    field = find_first(f for f in fields if f.lsb <= source < f.lsb + f.stride * f.lanes)
    lane, low = divmod(source - field.lsb, field.stride)
    return field, lane, low


def _register(name: str, text: str, driven: Driven, machine: Machine, source: Lfsr | None) -> tuple[str, Term]:
    """A register of the circuit, and what it holds at first: a field of the unit's inputs. Raises Error."""
    field = driven.fields.get(text)
    if field is None or field.role not in ("operand", "random"):
        raise Error(f"register {name}: the unit has no input {text}")
    own = register(name, machine)
    width, has = field.width if source is None else source.width, machine.registers[own].width
    if has != width or field.lanes > 1:
        raise Error(f"register {name} has {has} bits, and {text if source is None else source.spec()} {width}")
    if source is None:
        return own, var(field.name, width)
    source.bits(field.width, 0, 0)  # refuses too many
    held = var(f"rest of {name}", width)  # the bits that no operation gets
    return own, _with_bits(held, Segment(source.high + 1 - field.width, var(field.name, field.width)))


def register(name: str, machine: Machine) -> str:
    """A register's name in the machine, by its own (state, for dut.state). Raises Error."""
    own = machine.aliases.get(f"dut.{name}", f"dut.{name}")
    if own not in machine.registers:
        known = {*machine.registers, *machine.aliases}
        raise unknown("register", name, sorted(x.removeprefix("dut.") for x in known if x.startswith("dut.")))
    return own


# -- outputs -------------------------------------------------------------------------------------------------------


def _codes(bound: Bound, got: Term, care: int) -> tuple[dict[str, tuple[Segment, ...]], int]:
    """The parts of each output lane that the circuit has, and the bits of `got` that they are."""
    segments: dict[str, list[Segment]] = {}
    used = 0
    for field in bound.fields:
        if field.role in ("result", "flags"):
            segments |= {field.name if field.lanes == 1 else f"{field.name}_{k}": [] for k in range(field.lanes)}
    for move in bound.got.moves:
        field, lane, low = _place(bound.fields, move.source)
        name = field.name if field.lanes == 1 else f"{field.name}_{lane}"
        used |= ones(move.width) << move.to
        for bit in range(move.width):
            if care >> move.to + bit & 1:
                segments[name].append(Segment(low + bit, extract(got, move.to + bit, move.to + bit)))
    return {name: tuple(_joined(parts)) for name, parts in segments.items()}, used


def _joined(parts: Sequence[Segment]) -> Iterator[Segment]:
    """The same bits in as few segments as they have runs."""
    run: list[Segment] = []
    for part in sorted(parts, key=lambda s: s.low):
        if run and part.low != run[0].low + len(run):
            yield _segment(run)
            run = []
        run.append(part)
    if run:
        yield _segment(run)


def _segment(run: Sequence[Segment]) -> Segment:
    code = run[0].code
    for part in run[1:]:
        code = adjacent(part.code, code)
    return Segment(run[0].low, code)


def _filled(bound: Bound, got: Term, care: int) -> Term:
    """Whether bits of the outputs that carry no field differ from those that the port map gives."""
    wrong = [not_(eq(extract(got, i, i), const(bound.got.constant >> i, 1))) for i in range(got.width) if care >> i & 1]
    return or_(*wrong)
