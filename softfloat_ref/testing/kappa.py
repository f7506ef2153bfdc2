"""How far a device is from the defined results, in values: kappa, as IEEE P3109 defines it for approximate operations
(4.4).

Of a case with a finite defined result, it is the number of the format's values from the device's result (counted) to
the defined one (not counted); -0 and 0 are one value. Of a device, it is the largest; NaN if a NaN does not match a
NaN in some case, else infinity if some infinity does not match one of its sign. Of several results, the largest counts.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.oracle.operations.on_codes import rank_of
from softfloat_ref.rtl.tolerance import CompareNan, Tolerance
from softfloat_ref.testing.compare import FLAGS_ONLY, NO_NAN, Answer, code_texts
from softfloat_ref.testing.ulp import FLAGS
from softfloat_ref.units import Line, Unit

Kappa = float  # an integer, infinity or NaN
ELSEWHERE: Final = "elsewhere"
_INTERVAL: Final = re.compile(r"\s*([\[(])\s*([^,\[\]()]+?)\s*,\s*([^,\[\]()]+?)\s*([\])])\s*[,;]?")


def kappa_of(expected: int, got: int, fmt: Format) -> Kappa:
    """Kappa of one result: an integer, infinity or NaN."""
    if got >> fmt.width:
        return math.nan
    right, came = decoder(fmt)(expected), decoder(fmt)(got)
    if NAN in (right.kind, came.kind):
        return 0 if right.kind == came.kind else math.nan
    if INF in (right.kind, came.kind):
        return 0 if right[:2] == came[:2] else math.inf
    return abs(int(rank_of(fmt, got) - rank_of(fmt, expected)))


def largest_kappa(kappas: Sequence[Kappa]) -> Kappa:
    """Kappa of several: NaN if one is NaN, else the largest."""
    return math.nan if any(map(math.isnan, kappas)) else max(kappas, default=0)


def text_of(kappa: Kappa) -> str:
    """Kappa as a declaration has it: 3, Inf, NaN."""
    return "NaN" if math.isnan(kappa) else "Inf" if math.isinf(kappa) else str(int(kappa))


class Interval(NamedTuple):
    """A part of the operand's values. low, high: its ends; closed: whether they belong to it."""

    low: Fraction | float
    high: Fraction | float
    closed: tuple[bool, bool]
    text: str

    def holds(self, x: Value) -> bool:
        """Whether a value that is not NaN belongs to it."""
        number = x.as_fraction() if x.kind == FINITE else -math.inf if x.sign else math.inf
        above = number >= self.low if self.closed[0] else number > self.low
        return above and (number <= self.high if self.closed[1] else number < self.high)


def intervals(text: str) -> tuple[Interval, ...]:
    """Disjoint intervals, such as `[-inf, -1) [-1, 1] (1, inf]`, in order. Raises Error."""
    parts, at = [], 0
    while match := _INTERVAL.match(text, at):
        left, low, high, right = match.groups()
        shown = f"{left} {_shown(low)}, {_shown(high)} {right}"
        parts.append(Interval(_end(low), _end(high), (left == "[", right == "]"), shown))
        at = match.end()
    if not parts or text[at:].strip():
        raise Error(f"intervals {text[:60]!r}: give them as [-inf, -1) [-1, 1] (1, inf]")
    for one, following in zip([None, *parts], [*parts], strict=False):
        if following.low > following.high:
            raise Error(f"interval {following.text}: its ends are in the wrong order")
        meet = one is not None and one.high == following.low and one.closed[1] and following.closed[0]
        if one is not None and (one.high > following.low or meet):
            raise Error(f"intervals {one.text} and {following.text}: give disjoint intervals, in order")
    return tuple(parts)


def _end(text: str) -> Fraction | float:
    number = parse_number(text)
    if isinstance(number, Fraction):
        return number
    if number.kind == NAN:
        raise Error(f"{text[:40]!r} is not the end of an interval")
    return Fraction(0) if number.kind == FINITE else -math.inf if number.sign else math.inf


def _shown(text: str) -> str:
    """An end as a declaration writes it."""
    return text.lower().replace("infinity", "inf").replace("inf", "Inf")


class Allowance(NamedTuple):
    """The largest kappa allowed, None if it is measured; and the intervals of the operand that are told apart."""

    limit: int | None = None
    intervals: tuple[Interval, ...] = ()


class KappaCase(NamedTuple):
    """One of the worst cases."""

    kappa: Kappa
    inputs: tuple[int, ...]
    expected: tuple[int, ...]
    got: tuple[int, ...]


@dataclass
class Kappas:
    """Kappa of a device over the cases of a unit, also for each interval of its operand."""

    key: ClassVar[str] = "kappa"

    unit: Unit
    allowed: Allowance
    worst_count: int
    compared: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    by_interval: dict[str, Kappa] = field(default_factory=dict)
    kappa: Kappa = 0
    _heap: list[tuple[float, int, KappaCase]] = field(default_factory=list)

    def count(self, case: KappaCase) -> None:
        self.compared += 1
        self.counts[text_of(case.kappa)] += 1
        self.kappa = largest_kappa((self.kappa, case.kappa))
        where = self._where(case)
        if where:
            self.by_interval[where] = largest_kappa((self.by_interval.get(where, 0), case.kappa))
        if case.kappa:
            entry = (math.inf if math.isnan(case.kappa) else case.kappa, -self.compared, case)
            (heapq.heappush if len(self._heap) < self.worst_count else heapq.heappushpop)(self._heap, entry)

    def _where(self, case: KappaCase) -> str:
        """The interval of the operand; '' without intervals, and of a case whose defined result is not finite."""
        fmt, out = self.unit.input_formats[0], self.unit.result_formats[0]
        if not self.allowed.intervals or fmt is None or out is None or decoder(out)(case.expected[0]).kind != FINITE:
            return ""
        x = decoder(fmt)(case.inputs[0])
        if x.kind == NAN:
            return ELSEWHERE
        return next((i.text for i in self.allowed.intervals if i.holds(x)), ELSEWHERE)

    @property
    def declared(self) -> list[tuple[str, Kappa]]:
        """Kappa of each interval, or of all. Over all if NaNs or infinities do not match, as 4.4 has it."""
        order = [*(i.text for i in self.allowed.intervals), ELSEWHERE]
        if not self.allowed.intervals or not math.isfinite(self.kappa):
            return [("[ -Inf, Inf ]", self.kappa)]
        return [(where, self.by_interval[where]) for where in order if where in self.by_interval]

    # -- in words ------------------------------------------------------------------------------------------------------

    def summary(self) -> str:
        """The end of a summary line."""
        allowed = "" if self.allowed.limit is None else f", {self.allowed.limit} allowed"
        return f"; kappa {text_of(self.kappa)}{allowed}"

    def text(self) -> list[str]:
        """How many cases have each kappa; kappa by interval; the worst cases."""
        rows = sorted(self.counts.items(), key=lambda x: float(x[0]))
        lines = [f"kappa {name:8}{n:10}  {100 * n / self.compared:8.4f} %" for name, n in _gathered(rows)]
        lines += [f"kappa {text_of(k)} in {where}" for where, k in self.declared if self.allowed.intervals]
        for _, _, case in sorted(self._heap, reverse=True):
            inputs = " ".join(code_texts(self.unit.inputs, case.inputs))
            came, right = (" ".join(code_texts(self.unit.results, codes)) for codes in (case.got, case.expected))
            op = self.unit.properties()["op"]
            lines.append(f"worst {text_of(case.kappa)}: {op} {inputs} = {came}, defined {right}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Kappa for JSON; as text, since it may be Inf or NaN."""
        return {
            "kappa": text_of(self.kappa),
            "limit": self.allowed.limit,
            "counts": dict(self.counts),
            "intervals": [{"interval": where, "kappa": text_of(k)} for where, k in self.declared],
        }


def _gathered(rows: Sequence[tuple[str, int]], most: int = 8) -> list[tuple[str, int]]:
    """The rows; many of them as ranges between powers of two."""
    if len(rows) <= most:
        return list(rows)
    ranges: Counter[str] = Counter()
    for name, n in rows:
        k = int(name).bit_length() if name.isdecimal() else 0
        ranges[name if k < 2 else f"{1 << (k - 1)}-{(1 << k) - 1}"] += n
    return list(ranges.items())


class KappaJudge:
    """Judges a device's answers by kappa. Raises Error for a unit whose results are not floating-point values."""

    def __init__(self, unit: Unit, allowed: Allowance, worst_count: int) -> None:
        op = unit.properties()["op"]
        formats = unit.result_formats
        if len(unit.parts) > 1 or any(f is None or not f.exponent_bits for f in formats):
            raise Error(f"--kappa is for results that are floating-point values; {op} has others")
        if allowed.intervals and (unit.operand_width != 1 or len(formats) != 1):
            raise Error(f"--kappa-intervals is for functions of one operand; {op} takes {unit.operand_width} codes")
        self.errors = Kappas(unit, allowed, worst_count)
        self._formats = [f for f in formats if f is not None]

    def allows(self, inputs: Line, expected: Sequence[int], got: Sequence[int], nan: CompareNan) -> bool:
        """Whether results are right or have an allowed error. Counts nothing."""
        limit = self.errors.allowed.limit
        kappa = largest_kappa([kappa_of(*x) for x in zip(expected, got, self._formats, strict=True)])
        return limit is None or (not math.isnan(kappa) and kappa <= limit)

    def kind(self, line: Line, answer: Answer, tolerance: Tolerance) -> tuple[str, str]:
        """The kind of mismatch of an answer ('' if it is allowed), and its kappa. Counts the case."""
        width, count = self.errors.unit.input_width, len(self._formats)
        expected = line[width : width + count]
        kappa = largest_kappa([kappa_of(*x) for x in zip(expected, answer.codes, self._formats, strict=True)])
        self.errors.count(KappaCase(kappa, line[:width], expected, answer.codes))
        if self.errors.allowed.limit is None:
            return "", ""
        if math.isnan(kappa):
            has_nan = any(f.is_nan(x) for x, f in zip(answer.codes, self._formats, strict=True))
            return ("NaN" if has_nan else NO_NAN), ""
        if kappa > self.errors.allowed.limit:
            return f"kappa above {self.errors.allowed.limit}", ""
        differ = answer.flags is not None and (answer.flags ^ line[-1]) & FLAGS & tolerance.flags
        return (FLAGS_ONLY if differ else ""), ""
