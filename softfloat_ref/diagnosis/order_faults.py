"""Faults that only show in the order of the cases: answers that come late or early, flags that keep those of earlier
operations, answers that are repeated, inputs of other lines. They are looked for first; what else is wrong is diagnosed
without them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import eq, or_, xor
from typing import Final, NamedTuple

from softfloat_ref.diagnosis.conditions import common, conditions
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Output
from softfloat_ref.diagnosis.kinds import kind_of
from softfloat_ref.diagnosis.misaligned_inputs import misaligned_input
from softfloat_ref.diagnosis.shifts import shift_of, shifted_pairs, shifts
from softfloat_ref.explanation.scalar import flag_text
from softfloat_ref.rtl.bundle import ALL_FLAGS
from softfloat_ref.testing.compare import FLAGS_ONLY, Answer
from softfloat_ref.testing.judge import EARLIER_FLAGS, CheckReport, judge_like
from softfloat_ref.units import Line, Unit

_SEEN: Final = 512  # lines by which a shift of flags is found
_FEWEST: Final = 8  # wrong lines that a fault of the order must explain
_NEAR: Final = 4  # codes that may be apart by a rounding
_CHANCE: Final = 1e-6  # of what is taken for a latch


class OrderFault(NamedTuple):
    """A fault of the order of answers. sentence: what is wrong; advice: on the port map; others: a name of the answers
    without it, which report compares; late: by how many lines all answers are late (early: less than 0); in_order: the
    number of answers that are right without it. by_chance: whether some faults of the arithmetic look like it in some
    orders of the cases."""

    sentence: str
    advice: tuple[str, ...]
    others: str
    report: CheckReport
    late: int = 0
    by_chance: bool = False

    @property
    def in_order(self) -> int:
        return self.report.compared - self.report.mismatched


@dataclass(frozen=True)
class _Answers:
    """The answers of a report in their order, as they are compared."""

    report: CheckReport
    comparator: Comparator

    @cached_property
    def expected(self) -> list[Output]:
        width = self.report.vectors.unit.input_width
        return [self.comparator(line[width:]) for line, _ in self.report.first]

    @cached_property
    def got(self) -> list[Output]:
        return [self.comparator.answer(answer) for _, answer in self.report.first]

    @cached_property
    def flags(self) -> tuple[list[int], list[int]]:
        """The expected flags and those that came."""
        mask, first = self.report.tolerance.flags, self.report.first
        return [line[-1] & mask for line, _ in first], [(answer.flags or 0) & mask for _, answer in first]

    def with_flags(self, flags: Iterable[int]) -> CheckReport:
        """The same answers with other flags, compared."""
        pairs = zip(self.report.first, flags, strict=True)
        return _judged(self.report, [(line, answer._replace(flags=x)) for (line, answer), x in pairs])


def order_fault(report: CheckReport, comparator: Comparator) -> OrderFault | None:
    """The fault of the order that a report shows, if any; with several, the one that concerns the most."""
    if not report.wrong or not report.first:
        return None
    answers, has_flags = _Answers(report, comparator), bool(comparator.flags)
    if has_flags and report.tolerance.sticky:
        return _late(_Answers(report, comparator._replace(flags=0))) or _alone(answers)
    of_flags = (_accumulated, _late_flags, _repeated, _held_flags)
    finds = (_late, *(of_flags if has_flags else (_repeated,)), _misaligned)
    return next((fault for find in finds if (fault := find(answers))), None)


def _judged(
    report: CheckReport, pairs: Iterable[tuple[Line, Answer]], sticky: bool | None = None, flags: int | None = None
) -> CheckReport:
    """Other answers compared as those of a report. sticky: whether flags are those of all operations so far; flags:
    those that are compared."""
    judge, own = judge_like(report), report.tolerance
    sticky, flags = own.sticky if sticky is None else sticky, own.flags if flags is None else flags
    judge.report.tolerance = replace(own, sticky=sticky, flags=flags)
    for line, answer in pairs:
        judge.compare(line, answer)
    return judge.report


# -- late and early answers --------------------------------------------------------------------------------------------


def late_answers(report: CheckReport, comparator: Comparator) -> OrderFault | None:
    """Answers that all come some lines late or early, whether they are right then or have other faults."""
    return _late(_Answers(report, comparator))


def _late(answers: _Answers) -> OrderFault | None:
    report = answers.report
    cycles = report.cycles()
    late = shift_of(report.vectors.unit, cycles, answers.expected, answers.got)
    if not late:
        return None
    first = report.first
    later = _judged(report, [(first[j][0], first[i][1]) for j, i in shifted_pairs(cycles, late)])
    unit = "cycle" if report.assumptions.pauses and report.assumptions.latency is not None else "line"
    number = f"{abs(late)} {unit}{'s' * (abs(late) > 1)}"
    way = "late: each line answers an earlier question" if late > 0 else "early: each line answers a later question"
    right = f"{later.compared - later.mismatched} answers are right after this shift"
    advice = report.assumptions.of_shift(late)
    return OrderFault(f"the answers are {number} {way} ({right})", advice, "the shifted answers", later, late)


# -- flags -------------------------------------------------------------------------------------------------------------


def _agreeing(expected: Sequence[int], got: Sequence[int], late: int) -> int:
    """The number of flags that are right after a shift."""
    return sum(map(eq, expected, got[late:]) if late > 0 else map(eq, expected[-late:], got))


def _accumulated(answers: _Answers) -> OrderFault | None:
    """Flags that, once raised, stay: some of them, or all."""
    report, (right, came) = answers.report, answers.flags
    bits = [bit for bit in range(ALL_FLAGS.bit_length()) if _stays(_bit(right, bit), _bit(came, bit))]
    if not bits:
        return None
    mask, raised = sum(1 << bit for bit in bits), reduce(or_, came, 0)
    which = "the flags" if mask == raised else f"the flags {flag_text(mask)[3:]}"
    count = sum(bool(y & ~x & mask) for x, y in zip(right, came, strict=True))
    always = ", or are always raised" * any(all(_bit(came, bit)) for bit in bits)
    so_far = f"each answer has those of all operations so far ({count} have flags of earlier ones)"
    sentence = f"{which} accumulate{always}: {so_far}"
    return OrderFault(sentence, report.assumptions.of_sticky_flags(), *_without(report, mask, mask == raised))


def _without(report: CheckReport, mask: int, every: bool) -> tuple[str, CheckReport]:
    """The answers without flags that accumulate, and a name of them. What an operation adds to these is only known if
    results are right: another fault may raise flags that were raised before."""
    if every:
        own = _judged(report, report.first, sticky=True)
        if own.mismatched == own.kinds[EARLIER_FLAGS] + own.kinds[FLAGS_ONLY]:
            return "the flags of each operation alone", own
    return "the answers without these flags", _judged(report, report.first, flags=report.tolerance.flags & ~mask)


def _stays(right: Sequence[int], came: Sequence[int]) -> bool:
    """Whether a flag stays once it is raised, was right at first, and stays on where it should not."""
    wrong = sum(y > x for x, y in zip(right, came, strict=True))
    return (
        came[0] <= right[0] and wrong >= _FEWEST and all(y >= before for y, before in zip(came[1:], came, strict=False))
    )


def _bit(flags: Sequence[int], bit: int) -> list[int]:
    return [x >> bit & 1 for x in flags]


def _late_flags(answers: _Answers) -> OrderFault | None:
    """Flags that are a few lines late or early, beside results that are not."""
    right, came = answers.flags
    wrong = len(came) - _agreeing(right, came, 0)
    late = max(shifts(len(came), _FEWEST), key=lambda k: _agreeing(right[:_SEEN], came[:_SEEN], k), default=0)
    count = len(came) - abs(late)
    if wrong < _FEWEST or not late or 4 * (count - _agreeing(right, came, late)) > wrong:
        return None
    moved = [*came[late:], *right[len(right) - late :]] if late > 0 else [*right[:-late], *came[:late]]
    number = f"{abs(late)} operation{'s' * (abs(late) > 1)}"
    sentence = f"the flags are {number} {'late' if late > 0 else 'early'}, and the results are not"
    return OrderFault(sentence, (), "the flags after this shift", answers.with_flags(moved))


def _held_flags(answers: _Answers) -> OrderFault | None:
    """Flags that are as before wherever they are wrong, more often than chance has it: of a latch."""
    right, came = answers.flags
    wrong = [x ^ y for x, y in zip(right[1:], came[1:], strict=True)]
    changed = list(map(xor, came[1:], came))
    stale = [w & ~c for w, c in zip(wrong, changed, strict=True)]
    others = sum((w & c).bit_count() for w, c in zip(wrong, changed, strict=True))
    lines = sum(map(bool, stale))
    if lines < _FEWEST or 20 * others > lines or _chance(right[1:], came, stale) > _CHANCE:
        return None
    own = answers.with_flags([came[0], *(y ^ k for y, k in zip(came[1:], stale, strict=True))])
    visible = {i for i, (x, y) in enumerate(zip(right[1:], came, strict=False), 1) if x != y}
    held = {i for i, k in enumerate(stale, 1) if k}
    where = _where(answers, held, visible - held)
    sentence = (
        f"{lines} answers keep flags of the answer before{where}: a latch, or a register that is not always written"
    )
    return OrderFault(sentence, (), "the other answers", own, by_chance=True)


def _chance(right: Sequence[int], before: Sequence[int], stale: Sequence[int]) -> float:
    """How likely it is that all wrong flags are those of the answer before, if these were of no influence."""
    chance = 1.0
    for bit in range(ALL_FLAGS.bit_length()):
        for value in (0, 1):
            prior = [y >> bit & 1 for x, y in zip(right, before, strict=False) if x >> bit & 1 == value]
            count = sum(k >> bit & 1 for x, k in zip(right, stale, strict=True) if x >> bit & 1 == value)
            chance *= (prior.count(1 - value) / len(prior)) ** count if count else 1
    return chance


def _alone(answers: _Answers) -> OrderFault | None:
    """Flags of each operation alone, where all flags so far are expected."""
    report, (right, came) = answers.report, answers.flags
    if 20 * _agreeing(right, came, 0) < 19 * len(came):
        return None
    own = _judged(report, report.first, sticky=False)
    return OrderFault(
        "the flags of each answer are those of its operation alone", ("the port map has [sticky]: leave it out",),
        "the flags of each operation alone", own,
    )  # fmt: skip


# -- repeated answers --------------------------------------------------------------------------------------------------


def _repeated(answers: _Answers) -> OrderFault | None:
    """Wrong answers of which most are the one before again, which is not near the right one: runs of many different
    ones, often right where they came first, and far more than are like the one before that."""
    expected, got, report = answers.expected, answers.got, answers.report
    if report.vectors.unit.held:  # a register that keeps what it holds may be right
        return None
    far = [i for i in range(2, len(got)) if any(abs(x - y) > _NEAR for x, y in zip(expected[i], got[i], strict=True))]
    again = [i for i in far if got[i] == got[i - 1]]
    firsts = [i - 1 for i in again if got[i - 1] != got[i - 2]]
    different = len({got[i] for i in firsts})
    if len(again) < _FEWEST or 2 * len(again) < len(far) or 2 * different < max(len(firsts), _FEWEST):
        return None
    if 3 * sum(got[i] == expected[i] for i in firsts) < len(firsts):
        return None
    if 4 * sum(got[i] == got[i - 2] != got[i - 1] for i in far) > len(again):
        return None
    stale = {i for i in range(1, len(got)) if got[i] != expected[i] and got[i] == got[i - 1]}
    own = _judged(report, (pair for i, pair in enumerate(report.first) if i not in stale))
    visible = {i for i in range(1, len(got)) if expected[i] != got[i - 1]}
    where = _where(answers, stale, visible - stale) or _unchanged(
        report.vectors.unit, [line for line, _ in report.first], sorted(stale)
    )
    sentence = f"{len(stale)} answers are the answer before again{where}"
    return OrderFault(sentence, (), "the other answers", own)


# -- inputs of other lines ---------------------------------------------------------------------------------------------


def _misaligned(answers: _Answers) -> OrderFault | None:
    """An input, or a part of it, that is that of another line."""
    report = answers.report
    width = report.vectors.unit.input_width
    lines = [line[:width] for line, _ in report.first]
    fault = misaligned_input(answers.comparator, lines, answers.expected, answers.got)
    if fault is None:
        return None
    where = _where(answers, fault.held, fault.others) if fault.others else ""
    if not where and 20 * len(fault.others) > len(fault.held):
        return None
    moved = (
        (None if x is None else report.vectors.line(x), answer)
        for x, (_, answer) in zip(fault.inputs, report.first, strict=True)
    )
    own = _judged(report, [(line, answer) for line, answer in moved if line is not None])
    sentence = f"{len(fault.held)} answers are those with {fault.text}{where}"
    advice = (
        "one more register, or one fewer, than for the other inputs; or it is read when the next operation has come"
    )
    return OrderFault(sentence, (advice,), "the answers to these inputs", own, by_chance=True)


def _where(answers: _Answers, held: Set[int], others: Set[int]) -> str:
    """A property that all these answers have and no other one, in words; '' without one."""
    report, expected = answers.report, answers.expected
    width, known = report.vectors.unit.input_width, kind_of(report.vectors.unit)
    cases = [
        AnsweredCase(report.first[i][0][:width], expected[i], () if i in held else expected[i])
        for i in sorted(held | others)
    ]
    shared = common(cases, conditions(known.features(), cases))
    return f", where {shared.condition.text}" if shared is not None and not shared.right else ""


def _unchanged(unit: Unit, lines: Sequence[Line], again: Sequence[int]) -> str:
    """The inputs that are as before in all these lines, in words."""
    names = [f.name for f in unit.inputs for _ in range(f.lanes)]
    same = [name for at, name in enumerate(names) if all(lines[i][at] == lines[i - 1][at] for i in again)]
    if not same or len(same) == len(names):
        return ""
    inputs = ", ".join(dict.fromkeys(same))
    return f", in all of them with the same {inputs}: a sensitivity list, or an enable, that has only this input?"
