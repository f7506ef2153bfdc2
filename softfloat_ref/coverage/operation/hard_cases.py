"""Functions of wide operands at the hardest cases known: results very near a number or a midpoint of the format.

They are searched for among two million operands by the compiled loop (arrays/kernels/functions.py), which gives results
of 38 bits; the oracle then says how near the hardest ones are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.coverage.codes import TailPlace
from softfloat_ref.coverage.engine.framework import Bins, Cell, Line
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationModel, OperationSetting
from softfloat_ref.oracle.flags import INEXACT
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import get_policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KINDS: Final = ("above a number", "below a midpoint", "above a midpoint", "below a number")
_WIDE_FORMAT: Final = "s1e8m37"
_SEARCHED_OPERANDS: Final = 1 << 21
_ENUMERATED_BITS: Final = 16  # bits of operands of which other models have all
_BINADES: Final = 8
_KIND_CASES: Final = 4  # cases of a kind that reach the number of bits in its name
_KIND_CANDIDATES: Final = 512  # candidates of a kind that the oracle looks at


class HardCases(OperationModel):
    """HARD: a result with many equal bits after the guard bit."""

    id = "HARD"
    title = "functions of wide operands: the results nearest to a number or to a midpoint, among two million operands"

    def applies(self, where: OperationSetting) -> bool:
        if where.curve is None or not where.unary or where.policy.random_count or where.out.is_integer:
            return False
        fmt = where.formats[0]
        return (
            fmt.width > _ENUMERATED_BITS
            and fmt.bias > _BINADES
            and not fmt.twos_complement
            and _loop(where) is not None
        )

    def bins(self, where: OperationSetting) -> Bins:
        """Which side of what; named after the number of equal bits that the hardest cases reach."""
        return {(kind,): f"{KINDS[kind].replace(' ', '.')}.{known[0]}bits" for kind, known in _hardest(where).items()}

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        _, lines = _hardest(where)[cell[0]]
        return iter(lines)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the bits after the guard bit."""
        if e.in_range is None or e.in_range.is_exact:
            return
        kind, run = nearness(e.in_range)
        known = _hardest(e.where).get(kind)
        if known is not None and run >= known[0]:
            yield (kind,)


def nearness(place: TailPlace) -> tuple[int, int]:
    """The kind of a result that is not exact, and the number of equal bits after its guard bit."""
    ones = int(place.ones > 0)
    return 2 * place.guard + ones, place.ones if ones else place.zeros


def _loop(where: OperationSetting):  # type: ignore[no-untyped-def]
    """The compiled loop to the wide format."""
    from softfloat_ref.arrays.operations import loop_for

    sig = where.sig._replace(out=get_format(_WIDE_FORMAT))
    policy = get_policy("ieee").replace(rounding="rtz", flush_inputs=where.flushes)
    return where.once("loop", lambda: loop_for(sig, policy))


def _hardest(where: OperationSetting) -> dict[int, tuple[int, list[Line]]]:
    """By kind: the number of equal bits that some of the operands reach, and these, the hardest first."""
    return where.once("hardest", lambda: _ranked(where))


def _ranked(where: OperationSetting) -> dict[int, tuple[int, list[Line]]]:
    """The hardest cases of each kind, with different results: a limit that many results are near is one case."""
    hardest: dict[int, dict[int, tuple[int, Line]]] = {}
    for code in _candidates(where):
        try:
            e = OperationEvents(where, (code,))
            place = e.in_range
        except Undefined:
            continue
        if place is not None and not place.is_exact and place.kept:
            kind, run = nearness(place)
            of_kind = hardest.setdefault(kind, {})
            of_kind[place.code] = max(of_kind.get(place.code, (0, (code,))), (run, (code,)))
    best = {kind: sorted(some.values(), reverse=True)[:_KIND_CASES] for kind, some in sorted(hardest.items())}
    return {kind: (some[-1][0], [line for _, line in some]) for kind, some in best.items()}


def _candidates(where: OperationSetting) -> list[int]:
    """Codes of operands with the hardest results, as far as 38 bits show it: one of a kind for each code."""
    import numpy as np

    from softfloat_ref.arrays.kernels.opcodes import UNKNOWN

    codes = _drawn(where)
    results, flags = np.empty(codes.size, np.int64), np.empty(codes.size, np.uint8)
    _loop(where)([codes], np.empty(0, np.int64), results, flags)
    listed: list[int] = codes[flags == UNKNOWN][:_KIND_CANDIDATES].tolist()
    inexact = flags == INEXACT
    codes, results = codes[inexact], results[inexact]
    below = get_format(_WIDE_FORMAT).mantissa_bits - where.out.mantissa_bits - 1
    tail = results & ((1 << below) - 1)
    ones = tail >> (below - 1)
    group = results >> below << 1 | ones
    order = np.lexsort((tail ^ -ones & ((1 << below) - 1), group))
    order = order[np.diff(group[order], prepend=-1) != 0]
    distance = (tail ^ -ones & ((1 << below) - 1))[order]
    for kind in range(len(KINDS)):
        of_kind = group[order] & 3 == kind
        listed += codes[order][of_kind][np.argsort(distance[of_kind], kind="stable")[:_KIND_CANDIDATES]].tolist()
    return listed


def _drawn(where: OperationSetting) -> NDArray[np.int64]:
    """Operands of 2^-4 to 2^4, where no function is near a number, or its own operand, for all operands."""
    import numpy as np

    from softfloat_ref.oracle.sources import Philox

    fmt = where.formats[0]
    words = Philox(1).array(fmt.width, 0, _SEARCHED_OPERANDS).astype(np.int64)
    least = fmt.bias - _BINADES // 2 << fmt.mantissa_bits
    drawn: NDArray[np.int64] = words & fmt.sign_bit | (words & ((_BINADES << fmt.mantissa_bits) - 1)) + least
    return drawn
