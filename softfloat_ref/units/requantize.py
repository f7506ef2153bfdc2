"""Units that requantize: an accumulator, a multiplier and a shift (or a scale), a zero point in, an integer out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.literals import parse_number, writer
from softfloat_ref.oracle.requantization import MOST_BITS, RequantizeRule, get_rule, spelled
from softfloat_ref.oracle.requantization_steps import Operands, defined, operand_value, requantized
from softfloat_ref.oracle.steps import PLAIN, Do
from softfloat_ref.units.unit import Field, SteppedUnit, file_name, operand, result

if TYPE_CHECKING:
    from softfloat_ref.units.unit import Rows

DEFAULT_RULE: Final = "single"
_DOMAIN: Final = ("negative", "range", "least_shift", "most_shift", "accumulator_bits")  # which operands have a result


@dataclass(frozen=True)
class RequantizeUnit(SteppedUnit):
    """A requantizer. fixed: parameters that are constants, not inputs, as in "shift=-5,zero_point=0".
    clamped: the ends of an activation's range are inputs, min and max."""

    kind: ClassVar[str] = "requantize"
    op: ClassVar[str] = "requantize"

    accumulator: Format
    out: Format
    rule: RequantizeRule
    fixed: str = ""
    clamped: bool = False

    def __post_init__(self) -> None:
        most = self.rule.accumulator_bits or MOST_BITS
        for what, fmt, bits in (("an accumulator", self.accumulator, most), ("a result", self.out, MOST_BITS)):
            if not fmt.is_integer or fmt.width > bits:
                raise Error(
                    f"requantize: {what} of rule {self.rule.name} is an integer of at most {bits} bits, not {fmt.name}"
                )
        text = ",".join(f"{n}={_text(c, self.parameters[n])}" for n, c in self.constants.items())
        object.__setattr__(self, "fixed", text)

    @staticmethod
    def make(
        fmt: str | Format,
        out: str | Format | None = None,
        rule: str | RequantizeRule | None = None,
        fixed: str | Mapping[str, Any] | None = None,
        clamped: bool = False,
    ) -> RequantizeUnit:
        """A requantizer from names: of accumulators fmt, to out (i8). fixed: constants, as a text or a table."""
        table = ",".join(f"{k}={v}" for k, v in fixed.items()) if isinstance(fixed, Mapping) else fixed or ""
        chosen = get_rule(DEFAULT_RULE if rule is None else rule)
        return RequantizeUnit(get_format(fmt), get_format(out or "i8"), chosen, table, clamped)

    def under(self, rule: RequantizeRule) -> RequantizeUnit:
        """A device that follows another rule, for the operands that have a result by the unit's own; where the rule has
        no result, its numbers are exact. Raises Error if the rule has other operands."""
        own = self.rule
        if (rule.multiplier, rule.shift) != (own.multiplier, own.shift):
            raise Error(f"rule {rule.name} has other operands than rule {own.name}")
        domain = {k: getattr(own, k) for k in _DOMAIN}
        exact = {k: "exact" for k in ("result", "sum") if getattr(rule, k) == "undefined"}
        device = rule.replace(**domain, **exact)
        return replace(self, rule=device.replace(name=spelled(device)))

    @cached_property
    def name(self) -> str:
        constants = self.fixed.replace("=", "_").replace(",", "_").replace("-", "minus_")
        words = ("requantize", self.accumulator.name, "to", self.out.name, self.rule.name, constants)
        return file_name(*filter(None, (*words, "clamped" if self.clamped else "")))

    @property
    def label(self) -> str:
        rule = f"{super().label} {self.rule.name}"
        return f"{rule} with {self.fixed.replace(',', ', ')}" if self.fixed else rule

    @cached_property
    def parameters(self) -> dict[str, Format]:
        """The formats of everything but the accumulator, by name."""
        rule, out = self.rule, self.out
        scale = {"multiplier": rule.multiplier_format, "shift": rule.shift_format} if rule.has_shift else {}
        return {**(scale or {"scale": rule.multiplier_format}), "zero_point": out, "min": out, "max": out}

    @cached_property
    def constants(self) -> dict[str, int]:
        """The codes of the parameters that are not inputs. Raises Error for one that does not fit."""
        table = assignments.parse(self.fixed, "fixed", tuple(self.parameters)) if self.fixed else {}
        return {name: _code(name, table[name], fmt) for name, fmt in self.parameters.items() if name in table}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        ends = () if self.clamped else ("min", "max")
        own = [operand(n, f) for n, f in self.parameters.items() if n not in self.constants and n not in ends]
        return (operand("accumulator", self.accumulator), *own, result("result", self.out))

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        numbers = self.operands(do, inputs)
        defined(numbers if do is PLAIN else self.operands(PLAIN, inputs), self.rule)  # whatever is read
        return (requantized(do, numbers, self.rule, self.accumulator) % (1 << self.out.width),)

    def operands(self, do: Do, inputs: Sequence[int]) -> Operands:
        """The numbers of a case."""
        pairs = zip(self.inputs, inputs, strict=True)
        own, fixed = {f.name: _number(do, f, code) for f, code in pairs}, self.fixed_numbers
        return self.of_numbers({name: own[name] if name in own else fixed[name] for name in (*own, *fixed)})

    def of_numbers(self, numbers: Mapping[str, Any]) -> Operands:
        """Numbers by the names of their parameters, or arrays of them."""
        scale = numbers["multiplier"] if self.rule.has_shift else numbers["scale"]
        ends = numbers["min"], numbers["max"]
        return Operands(numbers["accumulator"], scale, numbers.get("shift", 0), numbers["zero_point"], *ends)

    @cached_property
    def fixed_numbers(self) -> dict[str, int]:
        """What is not an input: constants, and the ends of the result's range."""
        codes = {"min": self.out.sign_bit, "max": self.out.max_code} | self.constants
        formats = self.parameters
        return {n: operand_value(c, formats[n]) if formats[n].is_integer else c for n, c in codes.items()}

    def answers(self, inputs: Rows) -> Rows | None:
        from softfloat_ref.arrays.requantize import evaluate

        return evaluate(self, inputs)

    def properties(self) -> dict[str, str]:
        own = {"op": self.op, "fmt": self.accumulator.name, "out": self.out.name, "rule": self.rule.name}
        return {**own, "width": str(self.out.width)}


def _number(do: Do, field: Field, code: int) -> int:
    """The integer of a code; of a scale, the code."""
    integer = field.fmt is not None and field.fmt.is_integer
    return do.at(field.name)(operand_value, code, field.fmt) if integer else code  # type: ignore[arg-type]


def _code(name: str, text: str, fmt: Format) -> int:
    """The code of a constant: of a scale, rounded to its format. Raises Error."""
    if not fmt.is_integer:
        return encode(parse_number(text), fmt).bits
    try:
        number = int(text, 0)
    except ValueError:
        raise Error(f"fixed: {name}={text[:40]!r} is not an integer") from None
    if not -fmt.sign_bit <= number <= fmt.max_code:
        raise Error(f"fixed: {name}={text[:40]} does not fit {fmt.name}: from {-fmt.sign_bit} to {fmt.max_code}")
    return number % (1 << fmt.width)


def _text(code: int, fmt: Format) -> str:
    """A constant as it is written."""
    return str(operand_value(code, fmt)) if fmt.is_integer else writer(fmt.precision)(decode(code, fmt))
