"""What of a device's outputs is compared: decided here for benches, checks, the diagnosis and proofs.

Other NaNs, some flags, results that the module lacks, elements under a NaN scale and bits above a narrower result may
be left out. The NaNs are those of the formats in the manifest, and the rules those of `check --compare-nan`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import ulp_limit
from softfloat_ref.rtl.binding import Bound, flag_mask
from softfloat_ref.rtl.bundle import ALL_FLAGS, FLAG_NAMES, LineField
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.units import Field, Unit

SCALE: Final = "scale"
ELEMENTS: Final = "elements"
# Of a bench, in its log of results.
_NOTE: Final = re.compile(
    r"(?://|#)\s*(?:(flags|compare_nan|nan_scale_elements|above_result|sticky) = ([a-z_ ]+)"
    r"|(ulp|kappa) = (\d{1,400}(?:/\d{1,400})?))"
)
PAUSE: Final = re.compile(r"(?://|#)\s*pause (\d{1,6}) (\d{1,6})")  # a line, and cycles without an answer before it
CLEAR: Final = re.compile(r"(?://|#)\s*clear\s*")  # of a bench, where it clears sticky flags


class CompareNan(StrEnum):
    """exact: a NaN's bits must match; quiet: any quiet NaN matches; any: any NaN matches."""

    EXACT = "exact"
    QUIET = "quiet"
    ANY = "any"


def compare_nan(name: object) -> CompareNan:
    """The comparison of that name. Raises Error for an unknown name."""
    if name not in list(CompareNan):
        raise unknown("comparison of NaNs", str(name), CompareNan)
    return CompareNan(str(name))


def same_code(expected: int, got: int, fmt: Format | None, nan: CompareNan) -> bool:
    """Whether two codes agree, with NaNs compared by the rule; codes without a format are compared bit by bit."""
    if expected == got:
        return True
    if nan == CompareNan.EXACT or fmt is None or got >> fmt.width or not (fmt.is_nan(expected) and fmt.is_nan(got)):
        return False
    return nan == CompareNan.ANY or not decoder(fmt)(got).signaling


@dataclass(frozen=True)
class Tolerance:
    """What of a device's outputs is compared, and how.

    nan: which NaNs count as equal; flags: those that are compared; any_elements: whether any elements are accepted
    where the expected scale is NaN; any_above: whether any bits are accepted above a narrower result of a mixed set;
    absent: the results that the module does not have; sticky: whether flags are those of all operations so far; ulp,
    kappa: the largest error allowed, None where results must be exact.
    """

    nan: CompareNan = CompareNan.EXACT
    flags: int = ALL_FLAGS
    any_elements: bool = False
    any_above: bool = False
    absent: frozenset[str] = frozenset()
    sticky: bool = False
    ulp: Fraction | None = None
    kappa: int | None = None

    @staticmethod
    def of_ports(ports: PortMap) -> Tolerance:
        """What a port map tolerates, and what it leaves out."""
        filled = any(getattr(port, "fill", "") == "any" for port in ports.outputs)
        return Tolerance(
            CompareNan(ports.compare_nan),
            flag_mask(ports),
            ports.nan_scale_elements == "any",
            filled,
            frozenset(ports.ignore) - {*FLAG_NAMES, "flags"},
            ports.sticky is not None,
            ulp_limit(ports.ulp) if ports.ulp else None,
            ports.kappa,
        )

    def notes(self, has_flags: bool, has_parts: bool) -> list[str]:
        """The comments with which a log says so; `-` in its lines stands for the results that are absent."""
        notes = [] if self.nan == CompareNan.EXACT else [f"compare_nan = {self.nan}"]
        notes += ["nan_scale_elements = any"] * self.any_elements
        notes += ["above_result = any"] * (self.any_above and has_parts)
        notes += ["sticky = true"] * self.sticky
        notes += [f"{key} = {x}" for key, x in (("ulp", self.ulp), ("kappa", self.kappa)) if x is not None]
        if has_flags and self.flags != ALL_FLAGS:
            notes += [f"flags = {' '.join(n for n in FLAG_NAMES if self.flags >> FLAG_NAMES[n] & 1) or 'none'}"]
        return notes

    def noted(self, comment: str) -> Tolerance:
        """The same with what a comment of a log says; an option for NaNs goes before it."""
        match = _NOTE.fullmatch(comment.strip())
        if match is None:
            return self
        if match[3] == "ulp":
            return replace(self, ulp=ulp_limit(match[4]))
        if match[3]:
            return replace(self, kappa=int(match[4].partition("/")[0]))
        key, value = match[1], match[2].strip()
        if key == "flags":
            return replace(self, flags=self.flags & sum(1 << FLAG_NAMES[n] for n in value.split() if n in FLAG_NAMES))
        if key == "compare_nan":
            return replace(self, nan=compare_nan(value)) if self.nan == CompareNan.EXACT else self
        if key == "sticky":
            return replace(self, sticky=value == "true")
        any_of = value == "any"
        return replace(self, any_elements=any_of) if key == "nan_scale_elements" else replace(self, any_above=any_of)

    def lacking(self, names: Iterable[str]) -> Tolerance:
        """The same without these results."""
        return replace(self, absent=self.absent.union(names))

    def differing(self, unit: Unit, expected: Sequence[int], codes: Sequence[int]) -> list[int]:
        """The places of the results' codes that are something else than expected and accepted."""
        rows = enumerate(zip(expected, codes, unit.result_formats, strict=True))
        places = [i for i, (x, y, f) in rows if x != y and not same_code(x, y, f, self.nan)]
        return [i for i in places if i not in self.left_out(unit, expected)] if places else []

    def left_out(self, unit: Unit, codes: Sequence[int]) -> frozenset[int]:
        """The places that are not compared where these results are expected."""
        places = _places(unit, self.absent) if self.absent else frozenset()
        if self.any_elements and (scale := nan_scale(unit)) is not None:
            (at,) = _places(unit, frozenset((SCALE,)))
            places |= _places(unit, frozenset((ELEMENTS,))) if scale.is_nan(codes[at]) else frozenset()
        return places


@lru_cache(maxsize=64)
def _places(unit: Unit, names: frozenset[str]) -> frozenset[int]:
    """The places of some fields among the codes of the results."""
    lanes = [f.name for f in unit.results for _ in range(f.lanes)]
    return frozenset(i for i, name in enumerate(lanes) if name in names)


class Nans:
    """Functions of SystemVerilog that say whether a code is a NaN, or a quiet one; those that `test` has named."""

    def __init__(self) -> None:
        self.names: dict[tuple[Format, bool], str] = {}

    def test(self, fmt: Format, code: str, quiet: bool = False) -> str:
        """The expression that says whether a code of a format is a NaN. quiet: whether it must be a quiet one."""
        only = quiet and fmt.signaling
        kind = "quiet_nan" if only else "nan"
        return f"{self.names.setdefault((fmt, only), f'{kind}_{len(self.names)}')}({code})"

    def lines(self) -> list[str]:
        """The text of the functions."""
        return [line for (fmt, quiet), name in self.names.items() for line in _nan_function(name, fmt, quiet)]


def _nan_function(name: str, fmt: Format, quiet: bool) -> list[str]:
    """A function of SystemVerilog: whether a code is a NaN, or a quiet one."""
    w = fmt.width
    magnitude = f"(x & {w}'h{fmt.magnitude_mask:x})"
    if fmt.nan == "ieee":
        test = f"{magnitude} > {w}'h{fmt.inf_code:x}"
    elif fmt.nan == "top":
        test = f"{magnitude} == {w}'h{fmt.magnitude_mask:x}"
    else:
        test = f"x == {w}'h{fmt.sign_bit:x}"
    test += f" && (x & {w}'h{fmt.quiet_bit:x}) != 0" if quiet else ""
    return [f"function logic {name}(input logic [{w - 1}:0] x);  // {fmt.name}", f"  {name} = {test};", "endfunction"]


def nan_results(unit: Unit) -> Iterator[tuple[Field, Format]]:
    """The results that may be NaN, with their formats."""
    for result in unit.results:
        if result.fmt is not None and result.fmt.has_nan:
            yield result, result.fmt


def nan_scale(unit: Unit) -> Format | None:
    """The format of the scale that says nothing of its elements where it is NaN, if the unit has one."""
    formats = {r.name: r.fmt for r in unit.results}
    scale = formats.get(SCALE) if ELEMENTS in formats else None
    return scale if scale is not None and scale.has_nan else None


@dataclass(frozen=True)
class Excuse:
    """Bits of the outputs (mask) that are not compared if a condition holds. lane: of the operation."""

    lane: int
    condition: str
    mask: int


class NanTolerance:
    """The excuses of each part of a set, and the functions that their conditions use (nans)."""

    def __init__(self, manifest: Mapping[str, Any], bound: Bound, ports: PortMap) -> None:
        self.bound, self.ports = bound, ports
        self.nans = Nans()
        self.results = {f.name: f for f in bound.fields if f.role == "result"}
        self.tolerance = Tolerance.of_ports(ports)
        wanted = [key for key, value in ports.tolerances.items() if value != "exact"]
        units = VectorSet.from_dict(manifest["set"]).unit.parts if wanted else ()
        self.parts = [list(self._nans(unit)) + list(self._elements(unit)) for unit in units]
        for key, excuses in (("compare_nan", self._nans), ("nan_scale_elements", self._elements)):
            if key in wanted and not any(True for unit in units for _ in excuses(unit)):
                missing = "NaN in a result" if key == "compare_nan" else "elements under a scale that may be NaN"
                raise Error(f"{key} = {ports.tolerances[key]!r} has no effect: these vectors have no {missing}")

    def _nans(self, unit: Unit) -> Iterator[Excuse]:
        """Where a NaN is expected, another one is accepted."""
        if self.tolerance.nan == CompareNan.EXACT:
            return
        for result, fmt in nan_results(unit):
            for lane in range(self.ports.lanes):
                for i in range(result.lanes):
                    word, got, mask = self._code(self.results[result.name], i, lane, fmt.width)
                    if mask:
                        accepted = self.nans.test(fmt, got, self.tolerance.nan == CompareNan.QUIET)
                        yield Excuse(lane, f"{self.nans.test(fmt, word)} && {accepted}", mask)

    def _elements(self, unit: Unit) -> Iterator[Excuse]:
        """Where the expected scale is NaN, any elements are accepted."""
        scale = nan_scale(unit)
        if not self.tolerance.any_elements or scale is None:
            return
        for lane in range(self.ports.lanes):
            mask = self.bound.got.carriers(ELEMENTS, lane=lane)
            if mask:
                word = _slice("word", self.results[SCALE].lsb, scale.width)
                yield Excuse(lane, self.nans.test(scale, word), mask)

    def _code(self, field: LineField, number: int, lane: int, width: int) -> tuple[str, str, int]:
        """A code in a memory word, in the outputs, and the bits of the outputs that carry it."""
        first = field.lane(number)
        bits, mask = [], 0
        for m in sorted(self.bound.got.moves, key=lambda m: -m.source):
            low, high = max(first, m.source), min(first + width, m.source + m.width)
            if m.lane == lane and low < high:
                bits.append(_slice("got", m.to + low - m.source, high - low))
                mask |= (1 << high - low) - 1 << m.to + low - m.source
        return _slice("word", first, width), bits[0] if len(bits) == 1 else f"{{{', '.join(bits)}}}", mask


def _slice(name: str, lsb: int, width: int) -> str:
    return f"{name}[{lsb}+:{width}]"
