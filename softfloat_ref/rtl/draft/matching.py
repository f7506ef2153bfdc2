"""Which port carries which field of the vectors that a draft is for: by name where the width agrees, else by width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.rtl.bundle import LineField
from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.design import Signal, SourceModule
from softfloat_ref.rtl.draft.lines import Draft
from softfloat_ref.rtl.draft.slot_names import (
    exchanged_format,
    has_codes,
    has_place,
    is_like,
    is_operand,
    is_random,
    letter,
    rank,
)
from softfloat_ref.rtl.draft.slots import Bits, Slot, lines, slots
from softfloat_ref.rtl.draft.target import Target
from softfloat_ref.rtl.draft.unpacked import unpacked_parts, without_whole

LETTERS: Final = names.LETTERS
_BYTE: Final = 8
_SUMS: Final = ("add", "sub")  # for which units of three operands take a and b, or b and c
OF_THREE: Final = "of three operands; some units add the last two"  # why which two operands are added is a guess
_MAX_SHOWN: Final = 6  # ports that an error names
Filter = Callable[[Slot], bool]


def add_inputs(draft: Draft, target: Target, is_data: Callable[[Signal], bool]) -> dict[str, str]:
    """Add the inputs that carry operands and random words; the port of each field, the first of several. Raises Error
    for a field that none carries."""
    matching = _Matching(draft, target, "input", ("operand", "random"), is_data)
    matching.match()
    matching.add()
    for slot in matching.slots:
        own = slot.signals[0]
        if own.name in draft.left and names.position(slot.name) is not None and slot.width in matching.sizes:
            held = f"{{ value = 0, width = {own.width} }}" if own.width > 1 else "{ value = 0 }"
            draft.use("inputs", own, held, f"the vectors have no {letter(slot) or 'other operand'}")
    return {field: slot.signals[0].name for field, (slot, _, _) in matching.chosen.items()}


def add_outputs(draft: Draft, target: Target) -> None:
    """Add the outputs that carry results. Raises Error for a result that none carries."""
    matching = _Matching(draft, target, "output", ("result",), lambda _: True)
    matching.match()
    matching.add()


class _Matching:
    """The fields of some roles, and the ports of a direction that may carry them; chosen: the slot of each field, why,
    and whether it is a guess."""

    def __init__(
        self, draft: Draft, target: Target, direction: str, roles: tuple[str, ...], is_data: Callable[[Signal], bool]
    ) -> None:
        self.draft, self.direction = draft, direction
        self.lanes = draft.lanes
        self.unit, self.constants, self.op = target.unit, target.constants, target.op
        every = [f for f in target.fields.values() if f.role in roles]
        self.fields = [f for f in every if f.name not in draft.carried]
        self.sizes = {self.size(f) for f in every}
        formats = [f.fmt for f in target.unit.fields if f.fmt and f.name in {x.name for x in self.fields}]
        fitting = slots(draft.ports(direction), self.sizes, formats if self.lanes == 1 else [])
        self.unpacked = unpacked_parts(draft.ports("output")) if direction == "output" else []
        fitting = [slot for slot in fitting if len(slot.bits) > 1 or slot.bits[0].signal not in self.unpacked]
        self.likely = [slot for slot in fitting if len(slot.bits) > 1 or is_data(slot.bits[0].signal)]
        self.slots = [slot for slot in fitting if slot in self.likely or self._is_field(slot)]
        self.chosen: dict[str, tuple[Slot, str, bool]] = {}

    def size(self, field: LineField) -> int:
        """The bits that carry a field, of all lanes."""
        return field.size * self.lanes

    def _is_field(self, slot: Slot) -> bool:
        """Whether a slot that does not look like data may carry a field: it is wide, or has the name of one."""
        named = any(names.is_named(slot.name, f.name) for f in self.fields)
        return named or (slot.width > 1 and not has_codes(slot))

    def match(self) -> None:
        """Choose a slot for each field: by exact names, then by width, then among the parts of a port."""
        for field in self.fields:
            if named := [s for s in self._left(self.size(field)) if names.is_named(s.name, field.name)]:
                self._choose(field, named[0], "")
            elif field.name in self.unit.held:
                self.draft.ignored[field.name] = "a register of the circuit"
        self.fields = [f for f in self.fields if f.name not in self.draft.ignored]
        for field in self._unmatched():
            if field.role == "random":
                self._one(field, [is_random, lambda s: not has_place(s)])
        for field in self._unmatched():
            if field.name not in self.chosen:
                self._group([f for f in self._unmatched() if _kind(f) == _kind(field)])
        self._scales_in_bytes()
        self._side_by_side()
        for field in self._unmatched():
            self.draft.ignored[field.name] = self._why_absent(field)
        self._mark_sums()

    def _why_absent(self, field: LineField) -> str:
        """Why the module may do without a field. Raises Error if it may not."""
        if field.name not in self.constants:
            raise Error(self._missing(field))
        shown = "_".join(f"{code:x}" for code in dict.fromkeys(self.constants[field.name]))
        return f"no input carries {field.name}, which is always {shown}"

    def _mark_sums(self) -> None:
        """On a unit of three operands, it is a guess which two it adds, unless that is known."""
        left = [s for width in self.sizes for s in self._left(width) if has_place(s)]
        if self.direction != "input" or self.op not in _SUMS or not left:
            return
        if self.draft.sums and len(left) == 1 and {*"ab"} <= {*self.chosen}:
            three = dict(zip(LETTERS, [self.chosen["a"][0], self.chosen["b"][0], left[0]], strict=True))
            for name, place in zip("ab", self.draft.sums, strict=True):
                self.chosen[name] = three[place], f"operands {' and '.join(self.draft.sums)} of three", False
            return
        for name, (slot, why, _) in self.chosen.items():
            self.chosen[name] = slot, f"{why}{', ' * bool(why)}{OF_THREE}", True

    def add(self) -> None:
        """Add the lines of the ports."""
        chosen = {field: slot for field, (slot, _, _) in self.chosen.items()}
        reasons = {s.name: self.chosen[f][1:] for f, slot in reversed(chosen.items()) for s in slot.signals}
        signals = {s.name: s for slot in chosen.values() for s in slot.signals}
        for name, value in lines(chosen).items():
            self.draft.use(f"{self.direction}s", signals[name], value, *reasons[name])
        self.draft.carried |= set(chosen)

    # -- which slots -------------------------------------------------------------------------------------------------

    def _unmatched(self) -> list[LineField]:
        return [f for f in self.fields if f.name not in self.chosen]

    def _left(self, width: int) -> list[Slot]:
        """The slots of that width whose bits nothing uses; those that look like data, if there are any."""
        used = {bits.place for slot, _, _ in self.chosen.values() for bits in slot.bits}
        left = [s for s in self.slots if s.width == width and not any(bits.place in used for bits in s.bits)]
        return [s for s in left if s in self.likely] or left

    def _choose(self, field: LineField, slot: Slot, why: str) -> None:
        """Choose a slot for a field. why: '' if it has the field's name."""
        self.chosen[field.name] = slot, slot.why or why, slot.guess if slot.why else bool(why)

    def _group(self, fields: Sequence[LineField]) -> None:
        """Choose slots for fields of one kind: a, b and c, or their scales, or a field alone."""
        left = self._left(self.size(fields[0]))
        of_scale = [s for s in left if names.is_scale(s.name)]
        left = of_scale if "scale" in fields[0].name and of_scale else [s for s in left if s not in of_scale] or left
        if len(left) < len(fields):
            fields = [f for f in fields if f.name not in self.constants] or fields
        if fields[0].role == "result" or _stem(fields[0]) not in {*LETTERS}:
            for field in fields:
                self._one(field, [is_operand], left)
            return
        for field in fields:
            own = [s for s in left if letter(s) == _stem(field)]
            if len(own) == 1:
                why = "" if names.core(own[0].name) == field.name.split("_") else "by its name"
                self._choose(field, own[0], why + self._other_format(field, own[0]))
        if not any(map(letter, left)):
            self._by_format(fields, left)
        rest = [f for f in fields if f.name not in self.chosen]
        left = [s for s in left if s in self._left(self.size(fields[0]))]
        self._in_order(rest, left if len(left) == len(rest) else [s for s in left if not letter(s)])

    def _format(self, field: LineField) -> str:
        return find_first(f.format for f in self.unit.fields if f.name == field.name)

    def _other_format(self, field: LineField, slot: Slot) -> str:
        """That a slot says another format than its field has; '' if it does not."""
        own, formats = self._format(field), {f.format for f in self.unit.fields if f.role == field.role}
        other = exchanged_format(slot, own, formats)
        return f", though it says {other}, and {field.name} is {own}: are they exchanged?" if other else ""

    def _by_format(self, fields: Sequence[LineField], left: Sequence[Slot]) -> None:
        """Choose slots for fields of several formats by the formats in their names."""
        own = {f.name: [s for s in left if names.format_of(s.name) == self._format(f)] for f in fields}
        if len(fields) > 1 and all(len(some) == 1 for some in own.values()):
            for field in fields:
                self._choose(field, own[field.name][0], "by the format in its name")

    def _in_order(self, fields: Sequence[LineField], left: Sequence[Slot]) -> None:
        """Choose slots for fields in the order of the places in their names, or else of the ports."""
        for narrow in (has_place, is_operand):
            if len(left) > len(fields):
                left = [s for s in left if narrow(s)] or left
        if len(left) > len(fields) > 0 and not all(map(has_place, left)):
            self._ambiguous(fields, left)
        if len(left) >= len(fields):
            ordered = sorted(left, key=lambda s: (names.position(s.name) or (False, 0))[1])
            for field, slot in zip(fields, ordered, strict=False):
                self._choose(field, slot, "by its name" if has_place(slot) else "by its place and width")

    def _one(self, field: LineField, filters: Iterable[Filter], among: Sequence[Slot] | None = None) -> None:
        """Choose a slot for a field that is alone of its kind: the only one, or the only one that a filter leaves, or
        the most likely by name."""
        left = [s for s in self._left(self.size(field)) if among is None or s in among]
        for narrow in (lambda s: is_like(s, field), *filters):
            left = (len(left) > 1 and [s for s in left if narrow(s)]) or left
        if self.direction == "output" and len(left) > 1:
            named = [s for s in left if names.says_operation(s.name, self.op)]
            left = [s for s in named if len(names.core(s.name)) == 1] or named or left
            ranks = list(map(rank, left))
            left = [s for s, rank in zip(left, ranks, strict=True) if rank == min(ranks)]
        if len(left) > 1:
            self._ambiguous([field], left)
        if left:
            known = {*names.RESULT, *field.name.split("_"), self.op}
            self._choose(field, left[0], f"by its {'name and ' * bool(known & {*names.words(left[0].name)})}width")

    def _scales_in_bytes(self) -> None:
        """Scales of less than a byte, as of NVFP4, in the low bits of a byte."""
        for field in self._unmatched():
            left = self._left(_BYTE)
            if "scale" in field.name and self.size(field) < _BYTE and len(left) == 1:
                low = Slot(left[0].name, (replace(left[0].bits[0], width=self.size(field)),))
                self._choose(field, low, f"{field.size} bits in a byte")

    def _side_by_side(self) -> None:
        """Fields of one width side by side in a port, the first one lowest."""
        fields = self._unmatched()
        width = self.size(fields[0]) if fields else 0
        if not 1 < len(fields) <= len(LETTERS) or any(self.size(f) != width for f in fields):
            return
        counts = range(len(fields), len(LETTERS) + 1)
        wide = [(s, n) for n in counts for s in self._left(n * width) if n == len(fields) or is_operand(s)]
        if len(wide) == 1:
            slot, count = wide[0]
            signal = slot.bits[0].signal
            for i, field in enumerate(fields):
                own = Slot(slot.name, (Bits(signal, i * width, width, slot.name),))
                self._choose(field, own, f"{count} times the width of {field.name}")

    # -- what cannot be decided ----------------------------------------------------------------------------------------

    def _ambiguous(self, fields: Sequence[LineField], left: Sequence[Slot]) -> None:
        which = " or ".join(s.name for s in left[:_MAX_SHOWN])
        which += f" or {len(left) - _MAX_SHOWN} more" if len(left) > _MAX_SHOWN else ""
        signal = left[0].signals[0]
        alike = {s.name for slot in left for s in slot.signals} == {signal.name} and signal.array
        many = f", or, for {len(left)} of them side by side, --set lanes={len(left)}" if alike else ""
        raise Error(
            f"{' and '.join(f.name for f in fields)}: {which}, by width; say which, such as "
            f"{_setting(self.direction, fields[0], left[0])}{many}"
        )

    def _missing(self, field: LineField) -> str:
        """The message for a field that nothing carries."""
        size, module = self.size(field), self.draft.design.name
        if self.unpacked:
            return without_whole(self.unpacked, field.name, module)
        taken = {s.name for slot, _, _ in self.chosen.values() for s in slot.signals}
        others = [s for s in self.slots if not taken & {x.name for x in s.signals}]
        wide = list({s.signals[0].name: s.signals[0] for s in others if s.width > 1}.values())
        shown = ", ".join(f"{s.name} has {s.width}" for s in sorted(wide, key=lambda s: -s.width)[:_MAX_SHOWN])
        head = (
            f"{field.name} has {size} bit{'s' if size > 1 else ''}, and no {self.direction} of {module} is left for it"
        )
        return (
            f"{head}{f' ({shown})' if shown else ''}: {_advice(field, self.draft.design, self.direction, size, wide)}"
        )


def _advice(field: LineField, design: SourceModule, direction: str, size: int, left: Sequence[Signal]) -> str:
    """What to do about a field that no port is as wide as."""
    if field.name == "c":
        return "if the module has no c and starts from 0, give --where 'c = 0x0' to vectors generate, or to verify"
    advice = ["set the module's width (-G NAME=VALUE)"] if design.parameters else []
    advice += ["take vectors of its format"]
    wider = [s for s in left if s.width > size]
    if wider:
        name, width = wider[0].name, wider[0].width
        bits = f'{{ {field.name} = "{size - 1}:0", width = {width} }}'
        advice += [f"for {width // size} of them side by side --set lanes={width // size}"] if width % size == 0 else []
        advice += [f"say which bits carry it: --set '{direction}s.{name}={bits}'"]
    elif left and field.role == "operand":
        advice += [f"say which port carries it: --set {direction}s.PORT={field.name}"]
    return ", or ".join(filter(None, (", ".join(advice[:-1]), advice[-1])))


def _setting(direction: str, field: LineField, slot: Slot) -> str:
    """The option that says which bits carry a field."""
    port, value = find_first(lines({field.name: slot}).items())
    text = f"{direction}s.{port}=" + value.strip('"')
    return f"--set '{text}'" if " " in text else f"--set {text}"


def _kind(field: LineField) -> tuple[int, str, str]:
    return field.size, field.role, field.name.partition("_")[2]


def _stem(field: LineField) -> str:
    return field.name.partition("_")[0]
