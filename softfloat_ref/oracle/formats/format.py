"""Number formats: each has a few constants, and everything else is derived.

All float formats are decoded in the same way. A code is a sign bit (if signed) and a magnitude code. The finite
magnitudes are the codes 0 .. max_code in order of value, and the special codes lie above them (or, for "fnuz" and IEEE
P3109 signed formats, in place of -0). A magnitude code has an exponent field and a trailing significand ("mantissa")
field. Fixed-point formats and integers have no exponent field: all their codes are like the subnormals of a float
format. The x87 format stores the integer bit of its significand, so its codes are not in order: its format `hidden`,
which has the same values and hides that bit, is what codes are counted, rounded and searched in.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.base.tables import check_choices, choices

Nan = Literal["ieee", "top", "negative-zero", "none"]
Subnormals = Literal["gradual", "none", "normal"]
Kind = Literal["inf", "nan", "max", "integer"]

# Far beyond any hardware; they prevent a typing error from requesting gigabytes.
MAX_EXPONENT_BITS: Final = 20
MAX_MANTISSA_BITS: Final = 256
MAX_BIAS: Final = 1 << 21
MIN_EXPLICIT_WIDTH: Final = 65  # arrays, whose loops and tables hide the integer bit, hold codes of at most 64 bits


@dataclass(frozen=True)
class Format:
    """A number format, checked on creation.

    nan: where the NaN codes are. "ieee": every code above Inf; "top": the all-ones magnitude, of each sign;
        "negative-zero": the code of -0, which the format then lacks; "none".
    infinity: whether there is an Inf: "ieee" formats at exponent all ones, others at the largest magnitude left.
    subnormals: what exponent field 0 means. "gradual": zero and the subnormals; "none": zero, whatever the mantissa;
        "normal": one more binade of normal numbers (code 0 is zero if the format has a zero).
    overflow: the result of "sat-none" for a value that is too large: "inf", "nan", the largest finite ("max"), or, for
        "integer", according to the policy's field `integers`.
    signaling: whether a clear quiet bit marks a signalling NaN.
    symmetric: two's complement that never produces the most negative code (but decodes it).
    p3109: IEEE P3109's rules: roundings use the parity of the code, operations have P3109's special cases.
    explicit_bit: the integer bit of the significand is stored, between the exponent and the mantissa field (x87). The
        codes in which it does not fit the exponent are further encodings: see `is_canonical`.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    signed: bool = True
    nan: Nan = "ieee"
    infinity: bool = True
    zero: bool = True
    subnormals: Subnormals = "gradual"
    twos_complement: bool = False
    overflow: Kind = "inf"
    signaling: bool = False
    symmetric: bool = False
    p3109: bool = False
    explicit_bit: bool = False
    source: str = dataclasses.field(default="user definition", compare=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_.+-]{1,64}", self.name):
            raise Error(f"format {self.name[:80]!r}: a name has 1 to 64 letters, digits and _ . + -")
        where = f"format {self.name!r}"
        refuse(
            where,
            ("exponent_bits must be 1 to 20 (0 for two's complement)", self._bad_exponent_bits()),
            ("mantissa_bits must be 0 to 256", not 0 <= self.mantissa_bits <= MAX_MANTISSA_BITS),
            ("bias is out of range", abs(self.bias) > MAX_BIAS),
        )
        check_choices(self, where, choices(Format))
        refuse(
            where,
            ("overflow = inf needs infinity", self.overflow == "inf" and not self.infinity),
            ("overflow = nan needs a NaN", self.overflow == "nan" and not self.has_nan),
            ("nan = ieee goes with infinity", self.nan == "ieee" and not self.infinity),
            ("nan = negative-zero needs a sign and a zero", self.nan == "negative-zero" and not self._can_lose_zero()),
            ("signaling needs nan = ieee and 2 mantissa bits", self.signaling and not self._has_quiet_bit()),
            ("a format without zero must have subnormals = normal and no sign", self._bad_zero()),
            ("two's complement has neither NaN nor Inf", self.twos_complement and (self.has_nan or self.infinity)),
            ("two's complement has subnormals = gradual and a zero", self.twos_complement and self._bad_fixed()),
            ("overflow = integer is for two's complement", self.overflow == "integer" and not self.twos_complement),
            ("symmetric is for signed two's complement", self.symmetric and not (self.twos_complement and self.signed)),
            ("explicit_bit needs a sign, gradual subnormals, nan = ieee, 2 exponent bits", self._bad_explicit_bit()),
            (f"explicit_bit needs {MIN_EXPLICIT_WIDTH} bits", self.explicit_bit and self.width < MIN_EXPLICIT_WIDTH),
            ("the format has no finite value except zero", max(self.max_code, self.max_negative_code) < self.min_code),
        )

    def _bad_exponent_bits(self) -> bool:
        if self.twos_complement:
            return self.exponent_bits != 0 or self.mantissa_bits + self.signed < 1
        return not 1 <= self.exponent_bits <= MAX_EXPONENT_BITS

    def _has_quiet_bit(self) -> bool:
        return self.nan == "ieee" and self.mantissa_bits >= 2

    def _can_lose_zero(self) -> bool:
        return self.signed and self.zero

    def _bad_zero(self) -> bool:
        return not self.zero and (self.signed or self.subnormals != "normal")

    def _bad_fixed(self) -> bool:
        return self.subnormals != "gradual" or not self.zero

    def _bad_explicit_bit(self) -> bool:
        usual = self.signed and self.subnormals == "gradual" and self._has_quiet_bit() and self.overflow == "inf"
        return self.explicit_bit and not (usual and self.exponent_bits > 1 and not self.p3109)

    # -- the layout of a code ------------------------------------------------------------------------------------

    @cached_property
    def width(self) -> int:
        """The number of bits of a code."""
        return int(self.signed) + self.exponent_bits + self.mantissa_bits + int(self.explicit_bit)

    @cached_property
    def digits(self) -> int:
        """The number of hexadecimal digits of a code."""
        return (self.width + 3) // 4

    @cached_property
    def precision(self) -> int:
        """The number of bits of a normal significand, including the integer bit (IEEE 754's p)."""
        return self.mantissa_bits + 1

    @cached_property
    def sign_bit(self) -> int:
        """The code with only the sign bit set; 0 for unsigned formats."""
        return 1 << (self.width - 1) if self.signed else 0

    @cached_property
    def magnitude_mask(self) -> int:
        """All bits except the sign."""
        return (1 << (self.width - self.signed)) - 1

    @cached_property
    def field_shift(self) -> int:
        """The number of bits below the exponent field: the mantissa bits, and the integer bit if it is stored."""
        return self.mantissa_bits + int(self.explicit_bit)

    # -- a stored integer bit ------------------------------------------------------------------------------------

    @cached_property
    def hidden(self) -> Format:
        """The format of the same values whose integer bit is hidden; most formats themselves."""
        return self.rounded_to(self.mantissa_bits) if self.explicit_bit else self

    def rounded_to(self, mantissa_bits: int) -> Format:
        """The format with a hidden integer bit, the same exponents and so many mantissa bits."""
        usual = self.bias == (1 << (self.exponent_bits - 1)) - 1
        name = f"s1e{self.exponent_bits}m{mantissa_bits}" + ("" if usual else f"b{self.bias}")
        return dataclasses.replace(self, name=name, mantissa_bits=mantissa_bits, explicit_bit=False)

    def needs_hidden(self, what: str) -> None:
        """Raise Error for a format that stores its integer bit. what: what does not take it, as in `dot products`."""
        if self.explicit_bit:
            raise Error(
                f"{what} take formats that hide the integer bit, not {self.name}; "
                f"{self.hidden.name} has the same values"
            )

    def stored(self, code: int) -> int:
        """The code of what the format `hidden` has at a code."""
        if not self.explicit_bit:
            return code
        m = self.mantissa_bits
        low = code & ((1 << m) - 1)
        high = code >> m
        bit = 1 << m if high & ((1 << self.exponent_bits) - 1) else 0
        return high << (m + 1) | bit | low

    def unstored(self, code: int) -> int:
        """The code of the format `hidden` for what a code says, which need not be canonical."""
        if not self.explicit_bit:
            return code
        m, top = self.mantissa_bits, (1 << self.exponent_bits) - 1
        sign, field, significand = code >> (self.width - 1), code >> (m + 1) & top, code & ((2 << m) - 1)
        if field < top:
            field = max(field, 1)
            shift = min(field - 1, m + 1 - significand.bit_length())
            significand <<= shift
            field = field - shift if significand >> m else 0
        return (sign << self.exponent_bits | field) << m | significand & ((1 << m) - 1)

    def is_canonical(self, code: int) -> bool:
        """Whether the integer bit, if it is stored, is as the exponent field has it: 0 where that is 0, else 1."""
        field = code & self.magnitude_mask & ~((2 << self.mantissa_bits) - 1)
        return not self.explicit_bit or (code >> self.mantissa_bits & 1) == (field != 0)

    # -- the finite values ---------------------------------------------------------------------------------------

    @cached_property
    def emin(self) -> int:
        """Exponent of the lowest normal binade."""
        return -self.bias if self.subnormals == "normal" else 1 - self.bias

    @cached_property
    def code_offset(self) -> int:
        """The value of code 0 in units of 2^(emin - mantissa_bits), before zero takes that code."""
        return 1 << self.mantissa_bits if self.subnormals == "normal" else 0

    @cached_property
    def max_code(self) -> int:
        """Magnitude code of the largest finite positive value."""
        if self.nan == "ieee":
            return self.stored((((1 << self.exponent_bits) - 1) << self.mantissa_bits) - 1)
        return self.magnitude_mask - int(self.nan == "top") - int(self.infinity)

    @cached_property
    def max_negative_code(self) -> int:
        """Magnitude of the most negative finite value, as a magnitude code; 0 for unsigned formats."""
        if not self.signed:
            return 0
        return self.max_code + int(self.twos_complement and not self.symmetric)

    @cached_property
    def min_code(self) -> int:
        """Magnitude code of the smallest positive value."""
        if not self.zero:
            return 0
        return 1 << self.mantissa_bits if self.subnormals == "none" else 1

    @cached_property
    def min_normal_code(self) -> int:
        """Magnitude code of the smallest normal value, if the format has one."""
        return self.min_code if self.subnormals == "normal" else self.stored(1 << self.mantissa_bits)

    @cached_property
    def emax(self) -> int:
        """Exponent of the largest finite positive value: floor(log2) of it."""
        significand, exponent = self.magnitude(self.max_code)
        return significand.bit_length() - 1 + exponent

    @cached_property
    def has_normals(self) -> bool:
        """Whether any finite value is normal: not in two's complement, nor with an IEEE exponent of one bit."""
        return not self.twos_complement and self.min_normal_code <= self.max_code

    @cached_property
    def gap(self) -> bool:
        """Whether the format has a zero but no subnormals: nothing lies between zero and the smallest normal."""
        return self.zero and self.subnormals != "gradual"

    @cached_property
    def negative_zero(self) -> bool:
        return self.signed and self.zero and self.nan != "negative-zero" and not self.twos_complement

    def magnitude(self, code: int) -> tuple[int, int]:
        """(significand, exponent) of a finite magnitude code: its value is significand * 2^exponent."""
        m = self.mantissa_bits
        if self.explicit_bit:
            return code & ((2 << m) - 1), max(code >> (m + 1), 1) - self.bias - m
        field = code >> m
        if self.subnormals == "gradual":
            if field and self.exponent_bits:
                return (code & ((1 << m) - 1)) | (1 << m), field - self.bias - m
            return code, 1 - self.bias - m
        if (self.zero and code == 0) or (self.subnormals == "none" and field == 0):
            return 0, self.emin - m
        return (code & ((1 << m) - 1)) | (1 << m), field - self.bias - m

    def ulp_exponent(self, top: int) -> int:
        """The exponent of an ulp for numbers x with 2^top <= |x| < 2^(top+1): max(top, emin) - mantissa_bits.

        Goldberg's ulp, extended to real numbers (Muller et al., Handbook of Floating-Point Arithmetic, 2.3.2). Beyond
        the largest finite value, the ulp of that value.
        """
        return max(min(top, self.emax), self.emin) - self.mantissa_bits

    # -- the special codes ---------------------------------------------------------------------------------------

    @cached_property
    def has_nan(self) -> bool:
        return self.nan != "none" and not (self.nan == "ieee" and self.mantissa_bits == 0)

    @cached_property
    def inf_code(self) -> int:
        """Magnitude code of Inf; -1 if there is none."""
        if self.explicit_bit:
            return ((2 << self.exponent_bits) - 1) << self.mantissa_bits
        return self.max_code + 1 if self.infinity else -1

    @cached_property
    def quiet_bit(self) -> int:
        """The mantissa bit that marks a quiet NaN in IEEE-style formats; 0 elsewhere."""
        return 1 << (self.mantissa_bits - 1) if self.nan == "ieee" and self.mantissa_bits else 0

    @cached_property
    def canonical_nan(self) -> int:
        """The code of the NaN that operations generate by default; -1 if there is none."""
        if not self.has_nan:
            return -1
        if self.nan == "ieee":
            return self.inf_code | self.quiet_bit
        return self.sign_bit if self.nan == "negative-zero" else self.magnitude_mask

    def is_nan(self, code: int) -> bool:
        """Whether a code (not checked) is a NaN."""
        if self.nan == "ieee":
            return code & self.magnitude_mask > self.inf_code
        if self.nan == "top":
            return code & self.magnitude_mask == self.magnitude_mask
        return self.nan == "negative-zero" and code == self.sign_bit

    # -- text ----------------------------------------------------------------------------------------------------

    @cached_property
    def is_integer(self) -> bool:
        return self.twos_complement and self.overflow == "integer"

    def hex(self, code: int) -> str:
        """A code in lower-case hexadecimal, with all digits of the format's width."""
        return f"{code:0{self.digits}x}"

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as manifests store it; `define_format` reads it."""
        names = (name for name in self.__dataclass_fields__ if name != "explicit_bit" or self.explicit_bit)
        return {name: getattr(self, name) for name in names}
