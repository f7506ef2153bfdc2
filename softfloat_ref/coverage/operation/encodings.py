"""Coverage of operations on formats that store their integer bit: the models work on the formats that hide it, and one
more model is about the codes in which the bit is not as the exponent field has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from softfloat_ref.coverage.classes import class_of
from softfloat_ref.coverage.engine.framework import SIGNS, Bins, Cell, Coverage, Line, Model
from softfloat_ref.coverage.operation.operands import ordinary
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationSetting
from softfloat_ref.oracle.encodings import KINDS, kind_of, magnitudes
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Signature
from softfloat_ref.oracle.operations.table import LETTERS
from softfloat_ref.oracle.policies import Policy

_BESIDE: Final = ("number", "zero", "inf", "qnan", "snan")
_TURNS: Final = 8


class StoredLine(tuple[int, ...]):
    """A case whose operands are codes as they are stored already."""

    __slots__ = ()


class ExplicitEvents(OperationEvents):
    """The facts of a case, from codes that hide the integer bit. stored: the codes of its operands."""

    stored: Line = ()


class ExplicitSetting(OperationSetting):
    """An operation on formats that store their integer bit, by those that hide it and have the precision that is
    rounded to."""

    def __init__(self, sig: Signature, policy: Policy) -> None:
        self.stored_formats = sig.formats
        out = sig.operation.rounded_as(policy).rounded_format(sig.out)
        hidden = Signature(sig.operation, tuple(f.hidden for f in sig.formats), out)
        super().__init__(hidden, policy.replace(nan="canonical"))
        self.space = None  # a case has more codes than its hidden one

    def events(self, line: Line) -> ExplicitEvents:
        n = len(self.formats)
        codes = [f.unstored(code) for f, code in zip(self.stored_formats, line, strict=False)]
        facts = ExplicitEvents(self, codes, line[n] if len(line) > n else 0)
        facts.stored = tuple(line[:n])
        return facts

    def complete(self, case: Line, turn: int) -> Line:
        if isinstance(case, StoredLine):
            return tuple(case)
        n = len(self.formats)
        return (*(f.stored(code) for f, code in zip(self.stored_formats, case, strict=False)), *case[n:])

    def is_canonical(self, line: Line) -> bool:
        """Whether all operands of a case are canonical."""
        return all(f.is_canonical(code) for f, code in zip(self.stored_formats, line, strict=False))


class Encodings(Model[OperationSetting, OperationEvents]):
    """X87: encodings that are not canonical."""

    id = "X87"
    title = "encodings that are not canonical: each kind and sign, in each place, beside each class of the next operand"

    def bins(self, where: OperationSetting) -> Bins:
        """The place, the kind, its sign, and the class of the operand after it, or of the first after the last one."""
        assert isinstance(where, ExplicitSetting)
        bins, arity = Bins(), len(where.formats)
        for i, fmt in enumerate(where.stored_formats):
            if not fmt.explicit_bit:
                continue
            for kind in KINDS:
                for sign, name in SIGNS.items():
                    bins |= {
                        (i, kind, sign, beside): f"{LETTERS[i]}.{name}.{kind}" + (f".beside-{beside}" if beside else "")
                        for beside in (_classes(where.stored_formats[(i + 1) % arity]) if arity > 1 else ("",))
                    }
        return bins

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        assert isinstance(where, ExplicitSetting)
        i, kind, sign, beside = cell
        fmt, arity = where.stored_formats[i], len(where.formats)
        codes = magnitudes(fmt)[kind]
        for turn in range(_TURNS):
            line = [f.stored(ordinary(f.hidden, turn + j)) for j, f in enumerate(where.stored_formats)]
            line[i] = codes[turn % len(codes)] | (fmt.sign_bit if sign else 0)
            if beside:
                k = (i + 1) % arity
                line[k] = _example(where.stored_formats[k], beside, turn)
            yield StoredLine(line)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        assert isinstance(e, ExplicitEvents)
        assert isinstance(e.where, ExplicitSetting)
        formats, arity = e.where.stored_formats, len(e.stored)
        for i, (fmt, code) in enumerate(zip(formats, e.stored, strict=True)):
            if kind := kind_of(fmt, code):
                k = (i + 1) % arity
                yield i, kind, int(code & fmt.sign_bit != 0), _class(formats[k], e.stored[k]) if arity > 1 else ""


def _class(fmt: Format, code: int) -> str:
    """The class of an operand, of those in _BESIDE; '' if it is not canonical."""
    if not fmt.is_canonical(code):
        return ""
    name = class_of(fmt, code).rpartition(".")[2]
    return name if name in _BESIDE else "number"


def _classes(fmt: Format) -> list[str]:
    """Those that a format has."""
    lacking = {"inf"} if not fmt.infinity else set()
    lacking |= {"qnan", "snan"} if not fmt.has_nan else {"snan"} if not fmt.signaling else set()
    return [x for x in _BESIDE if x not in lacking]


def _example(fmt: Format, name: str, turn: int) -> int:
    """A code of a class."""
    if name == "number":
        return fmt.stored(ordinary(fmt.hidden, turn))
    sign = fmt.sign_bit if turn & 1 and not fmt.twos_complement else 0
    size = {"zero": 0, "inf": fmt.inf_code, "qnan": fmt.canonical_nan, "snan": fmt.inf_code + 1 + turn}[name]
    return size | sign


class EncodingCoverage(Coverage):
    """Cases with codes that are not canonical hit only bins of the model that is about them; others hit the rest."""

    def _hits(self, models: Iterable[Model[Any, Any]], case: Line) -> set[str]:
        canonical = self.where.is_canonical(case)
        return super()._hits([m for m in models if isinstance(m, Encodings) != canonical], case)
