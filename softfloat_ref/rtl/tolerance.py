"""What benches and scoreboards accept besides the expected bits: other NaNs, and any elements under a NaN scale.

The NaNs are those of the formats in the manifest, and the rules those of `check --compare-nan`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.formats import Format
from softfloat_ref.rtl.binding import Bound
from softfloat_ref.rtl.bundle import LineField
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.units import Field, Unit

SCALE: Final = "scale"
ELEMENTS: Final = "elements"


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
        wanted = [key for key, value in ports.tolerances.items() if value != "exact"]
        units = VectorSet.from_dict(manifest["set"]).unit.parts if wanted else ()
        self.parts = [list(self._nans(unit)) + list(self._elements(unit)) for unit in units]
        for key, excuses in (("compare_nan", self._nans), ("nan_scale_elements", self._elements)):
            if key in wanted and not any(True for unit in units for _ in excuses(unit)):
                missing = "NaN in a result" if key == "compare_nan" else "elements under a scale that may be NaN"
                raise Error(f"{key} = {ports.tolerances[key]!r} has no effect: these vectors have no {missing}")

    def _nans(self, unit: Unit) -> Iterator[Excuse]:
        """Where a NaN is expected, another one is accepted."""
        if self.ports.compare_nan == "exact":
            return
        for result, fmt in nan_results(unit):
            for lane in range(self.ports.lanes):
                for i in range(result.lanes):
                    word, got, mask = self._code(self.results[result.name], i, lane, fmt.width)
                    if mask:
                        accepted = self.nans.test(fmt, got, self.ports.compare_nan == "quiet")
                        yield Excuse(lane, f"{self.nans.test(fmt, word)} && {accepted}", mask)

    def _elements(self, unit: Unit) -> Iterator[Excuse]:
        """Where the expected scale is NaN, any elements are accepted."""
        scale = nan_scale(unit)
        if self.ports.nan_scale_elements == "exact" or scale is None:
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
