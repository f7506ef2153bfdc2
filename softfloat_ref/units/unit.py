"""The unit: what a circuit computes. It has named input fields, named output fields, and the exact answer to every
case."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, TypeVar

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.base.tables import hints
from softfloat_ref.oracle import rounding_steps
from softfloat_ref.oracle.affine import AffineFormat, Rule
from softfloat_ref.oracle.approximation import Approximation, define_approximation
from softfloat_ref.oracle.blocks.formats import BlockFormat, define_block_format
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.profiles import define_profile
from softfloat_ref.oracle.formats import Format, define_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.requantization import RequantizeRule
from softfloat_ref.oracle.steps import PLAIN, Do

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint64]  # a row a case, a column a code

Role = Literal["control", "operand", "random", "result", "flags", "intermediate"]
Line = tuple[int, ...]
C = TypeVar("C")
INPUTS: Final = ("control", "operand", "random")
LETTERS: Final = "abcdefghi"  # the operands of operations
FLAG_BITS: Final = 5


@dataclass(frozen=True)
class Field:
    """A field of a unit: `lanes` codes of `width` bits. Lane 0 comes first in text, and lowest in a memory word.

    fmt: the format of the codes, if they have only one. codes: the meanings of a control field's numbers. padding:
    how narrower formats are padded, if several share the field.
    """

    name: str
    role: Role
    width: int
    lanes: int = 1
    fmt: Format | None = None
    codes: tuple[str, ...] = ()
    padding: str = ""

    @property
    def digits(self) -> int:
        """Hexadecimal digits of a lane."""
        return -(-self.width // 4)

    @property
    def stride(self) -> int:
        """Bits of a lane in a memory word."""
        return 4 * self.digits

    @property
    def format(self) -> str:
        """The name of the format; '' without one."""
        return self.fmt.name if self.fmt is not None else ""

    @property
    def is_input(self) -> bool:
        """Whether it is an input of the circuit."""
        return self.role in INPUTS


def operand(name: str, fmt: Format, lanes: int = 1) -> Field:
    """A field of operands in one format."""
    return Field(name, "operand", fmt.width, lanes, fmt)


def result(name: str, fmt: Format, lanes: int = 1) -> Field:
    """A field of results in one format."""
    return Field(name, "result", fmt.width, lanes, fmt)


def random_words(bits: int, lanes: int = 1) -> list[Field]:
    """The field of the random words of a stochastic rounding of that number of bits; none for 0 bits."""
    return [Field("r", "random", bits, lanes)] if bits else []


def lanes_of(field: Field) -> list[str]:
    """The name of each lane of a field: the field's, if it has one."""
    return [field.name] if field.lanes == 1 else [f"{field.name}_{k}" for k in range(field.lanes)]


FLAGS: Final = Field("flags", "flags", FLAG_BITS)


class Unit(ABC):
    """A kind of unit is a frozen dataclass with `kind`, `name`, `fields` and `answer`.

    Everything else here follows from these. A unit is complete: its definition, stored, makes the same unit anywhere.
    """

    kind: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    @property
    @abstractmethod
    def name(self) -> str:
        """A name for files: letters, digits, points and underscores."""

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """The fields, inputs before outputs, in the order of a line of vectors."""

    @abstractmethod
    def answer(self, inputs: Sequence[int]) -> Sequence[int]:
        """The codes of the outputs for those of the inputs. Raises Undefined where no result is defined."""

    def to_dict(self) -> dict[str, Any]:
        """The full definition, in plain data: formats and policies by their fields, not their names."""
        return {name: plain(value) for name, value in self.__getstate__().items()}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """The unit of a definition. Raises Error, KeyError, TypeError for an incomplete or wrong definition."""
        return cls(**{name: _defined(kind, table[name]) for name, kind in hints(cls).items()})

    def __getstate__(self) -> dict[str, Any]:
        """The definition only: derived values are computed again after unpickling."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]

    def answers(self, inputs: Rows) -> Rows | None:
        """`answer` for many cases at once; None if that is not faster, or if some case has no defined result."""
        return None

    def with_intermediate(self) -> Unit:
        """The unit with the unrounded intermediate among its outputs. Raises Error where there is none."""
        op = self.properties()["op"]
        raise Error(f"{op} has no unrounded intermediate: only operations that round have one")

    def compared(self) -> Unit:
        """The unit without the outputs that circuits do not have."""
        return self

    @property
    def parts(self) -> tuple[Unit, ...]:
        """The units that control fields select; the unit itself, without control fields."""
        return (self,)

    def selected(self, inputs: Sequence[int]) -> tuple[Unit, Line]:
        """The part that the control fields select, and its own inputs. Raises Undefined for those of no part."""
        return self, tuple(inputs)

    def used(self, part: Unit) -> frozenset[str]:
        """The names of the inputs that a part takes; all, without control fields."""
        return frozenset(f.name for f in part.inputs)

    @property
    def label(self) -> str:
        """Its properties in words, to tell parts apart in tables."""
        own = self.properties()
        if "fmt" not in own:
            return self.name
        to = [f"to {own['out']}"] if own["out"] not in (own["fmt"], "u1", "u10") else []
        return " ".join(filter(None, (own["op"], self._operand_formats(own), *to, own.get("rounding"))))

    def _operand_formats(self, own: Mapping[str, str]) -> str:
        """The formats of the operands in a label. own: its properties."""
        return own["fmt"]

    def properties(self) -> dict[str, str]:
        """Its properties by name, for test benches that drive a circuit's controls: op, and out and width of the
        result."""
        first = self.results[0]
        return {"op": self.kind, "out": first.format, "width": str(first.width)}

    # -- what follows from the fields ----------------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> tuple[Field, ...]:
        """The fields that go in."""
        return tuple(f for f in self.fields if f.is_input)

    @cached_property
    def outputs(self) -> tuple[Field, ...]:
        """The fields that come out."""
        return tuple(f for f in self.fields if not f.is_input)

    @cached_property
    def results(self) -> tuple[Field, ...]:
        """The outputs that are results."""
        return tuple(f for f in self.fields if f.role == "result")

    @cached_property
    def has_flags(self) -> bool:
        """Whether it raises flags."""
        return any(f.role == "flags" for f in self.fields)

    @cached_property
    def input_width(self) -> int:
        """How many codes the inputs of a case are."""
        return sum(f.lanes for f in self.inputs)

    @cached_property
    def operand_width(self) -> int:
        """`input_width` without random words."""
        return sum(f.lanes for f in self.inputs if f.role != "random")

    @cached_property
    def random_field(self) -> Field | None:
        """The field of random words."""
        return next((f for f in self.fields if f.role == "random"), None)

    @property
    def held(self) -> frozenset[str]:
        """The names of inputs that the circuit holds in registers of its own, as the line before left them."""
        return frozenset()

    @cached_property
    def input_formats(self) -> tuple[Format | None, ...]:
        """The format of each input code; None for random words and controls."""
        return tuple(f.fmt for f in self.inputs for _ in range(f.lanes))

    @cached_property
    def result_formats(self) -> tuple[Format | None, ...]:
        """The format of each code of the results."""
        return tuple(f.fmt for f in self.results for _ in range(f.lanes))

    def line(self, inputs: Sequence[int]) -> Line | None:
        """The inputs and expected outputs; None if the result is undefined."""
        try:
            return (*inputs, *self.answer(inputs))
        except Undefined:
            return None


class SteppedUnit(Unit):
    """A unit that declares its computation in named steps: `answer` does them, other runs record or replace them."""

    @abstractmethod
    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        """The outputs, step by step. more_bits: of quotients and roots, beyond those that rounding needs."""

    def answered(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        """`computed`, and the step that gives its outputs."""
        return do(rounding_steps.answer, tuple(self.computed(do, inputs, more_bits)))

    def answer(self, inputs: Sequence[int]) -> Sequence[int]:
        return self.computed(PLAIN, inputs)


KINDS: Final[dict[str, type[Unit]]] = {}
_DEFINED: Final[dict[Any, Callable[[Any], Any]]] = {
    Format: define_format,
    BlockFormat: lambda table: define_block_format({k: table[k] for k in ("name", "element", "scale", "size")}),
    Profile: define_profile,
    Policy: lambda table: Policy(**table),
    AffineFormat: lambda table: AffineFormat(**table),
    Rule: lambda table: Rule(**table),
    Approximation: define_approximation,
    RequantizeRule: lambda table: RequantizeRule(**table),
}


def plain(value: Any) -> Any:
    """A field of a unit as its definition stores it."""
    if isinstance(value, AffineFormat | Rule | RequantizeRule):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.compare}
    return value.to_dict() if hasattr(value, "to_dict") else value


def _defined(kind: Any, value: Any) -> Any:
    """A field of a unit of that kind from what a definition stores."""
    if isinstance(kind, type) and issubclass(kind, Unit):
        return kind.from_dict(value)
    return _DEFINED[kind](value) if kind in _DEFINED else value


def controls(unit: Unit) -> list[dict[str, str]]:
    """The properties of each part of a unit: op, fmt (of operand a; fmt_b, fmt_c), out, rounding, overflow, width.

    A name that does not apply to a part, such as fmt_c of an addition, is "-".
    """
    table = [part.properties() for part in unit.parts]
    return [dict.fromkeys((k for t in table for k in t), "-") | t for t in table]


def stored(unit: Unit) -> dict[str, Any]:
    """A unit as a manifest stores it."""
    return {"kind": unit.kind, **unit.to_dict()}


def restored(table: Mapping[str, Any]) -> Unit:
    """The unit that a manifest stores. Raises Error for a unit that this version cannot make."""
    kind = table["kind"]
    if kind not in KINDS:
        raise Error(f"units of kind {str(kind)[:60]!r}; this version has {', '.join(KINDS)}")
    try:
        return KINDS[kind].from_dict(table)
    except (KeyError, TypeError, AttributeError) as e:
        raise Error(f"the set's definition is incomplete or wrong: {e}") from None


def split(fields: Iterable[Field], codes: Sequence[C]) -> list[tuple[Field, Sequence[C]]]:
    """Each field with its codes."""
    parts, at = [], 0
    for f in fields:
        parts.append((f, codes[at : at + f.lanes]))
        at += f.lanes
    return parts


def file_name(*words: str) -> str:
    """Words as a name for files."""
    return re.sub(r"[^A-Za-z0-9.]", "_", "_".join(words))
