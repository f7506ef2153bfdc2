"""Number formats: a few constants each, everything else derived.

Every float format here is read the same way. A code is a sign bit (if signed) and a magnitude code; the finite
magnitudes are the codes 0 .. max_code in order of value, and the special codes lie above them (or, for the "fnuz"
and IEEE P3109 signed formats, where -0 would be). A magnitude code holds an exponent field and a trailing significand
("mantissa") field. Fixed-point formats and integers have no exponent field: all their codes are like the subnormals
of a float format.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from softfloat_ref.errors import Error, unknown

Nan = Literal["ieee", "top", "negative-zero", "none"]
Subnormals = Literal["gradual", "none", "normal"]
Kind = Literal["inf", "nan", "max", "integer"]

# Far beyond any hardware; they keep a typing error from asking for gigabytes.
MAX_EXPONENT_BITS: Final = 20
MAX_MANTISSA_BITS: Final = 256
MAX_BIAS: Final = 1 << 21
MAX_INTEGER_BITS: Final = 256


@dataclass(frozen=True)
class Format:
    """A number format, checked when made.

    nan: where the NaN codes are. "ieee": every code above Inf; "top": the all-ones magnitude, of each sign;
        "negative-zero": the code of -0, which the format then lacks; "none".
    infinity: whether there is an Inf: "ieee" formats at exponent all ones, others at the largest magnitude left.
    subnormals: what exponent field 0 means. "gradual": zero and the subnormals; "none": zero, whatever the mantissa;
        "normal": one more binade of normal numbers (code 0 being zero, if the format has a zero).
    overflow: what "sat-none" makes of a value too large: "inf", "nan", the largest finite ("max"), or, for
        "integer", what the policy says of integers.
    signaling: whether a clear quiet bit marks a signalling NaN.
    symmetric: two's complement that never produces the most negative code (it still decodes).
    p3109: IEEE P3109's rules: roundings look at the parity of the code, operations have P3109's special cases.
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
    source: str = dataclasses.field(default="user definition", compare=False)

    def __post_init__(self) -> None:
        self._refuse(
            ("exponent_bits must be 1 to 20 (0 for two's complement)", self._bad_exponent_bits()),
            ("mantissa_bits must be 0 to 256", not 0 <= self.mantissa_bits <= MAX_MANTISSA_BITS),
            ("bias is out of range", abs(self.bias) > MAX_BIAS),
        )
        self._refuse(
            ("nan must be ieee, top, negative-zero or none", self.nan not in ("ieee", "top", "negative-zero", "none")),
            ("subnormals must be gradual, none or normal", self.subnormals not in ("gradual", "none", "normal")),
            ("overflow must be inf, nan, max or integer", self.overflow not in ("inf", "nan", "max", "integer")),
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
            ("the format has no finite value but zero", max(self.max_code, self.max_negative_code) < self.min_code),
        )

    def _refuse(self, *problems: tuple[str, bool]) -> None:
        for problem, wrong in problems:
            if wrong:
                raise Error(f"format {self.name!r}: {problem}")

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

    # -- the layout of a code ------------------------------------------------------------------------------------

    @cached_property
    def width(self) -> int:
        """Bits of a code."""
        return int(self.signed) + self.exponent_bits + self.mantissa_bits

    @cached_property
    def digits(self) -> int:
        """Hexadecimal digits of a code."""
        return (self.width + 3) // 4

    @cached_property
    def precision(self) -> int:
        """Bits of a normal number's significand, the hidden one included (IEEE 754's p)."""
        return self.mantissa_bits + 1

    @cached_property
    def sign_bit(self) -> int:
        """The code of the sign bit alone; 0 for unsigned formats."""
        return 1 << (self.width - 1) if self.signed else 0

    @cached_property
    def magnitude_mask(self) -> int:
        """All bits but the sign."""
        return (1 << (self.width - self.signed)) - 1

    # -- the finite values ---------------------------------------------------------------------------------------

    @cached_property
    def emin(self) -> int:
        """Exponent of the lowest normal binade."""
        return -self.bias if self.subnormals == "normal" else 1 - self.bias

    @cached_property
    def code_offset(self) -> int:
        """Code 0 stands for this many units of 2^(emin - mantissa_bits) (before zero takes it)."""
        return 1 << self.mantissa_bits if self.subnormals == "normal" else 0

    @cached_property
    def max_code(self) -> int:
        """Magnitude code of the largest finite positive value."""
        if self.nan == "ieee":
            return (((1 << self.exponent_bits) - 1) << self.mantissa_bits) - 1
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
        """Magnitude code of the smallest normal value (where the format has one)."""
        return self.min_code if self.subnormals == "normal" else 1 << self.mantissa_bits

    @cached_property
    def emax(self) -> int:
        """Exponent of the largest finite positive value: floor(log2) of it."""
        significand, exponent = self.magnitude(self.max_code)
        return significand.bit_length() - 1 + exponent

    @cached_property
    def has_normals(self) -> bool:
        """Whether any finite value is normal: not with two's complement, nor with an IEEE exponent of one bit."""
        return not self.twos_complement and self.min_normal_code <= self.max_code

    @cached_property
    def gap(self) -> bool:
        """Whether nothing lies between zero and a smallest normal that more than one mantissa bit could lead to."""
        return self.zero and self.subnormals != "gradual"

    @cached_property
    def negative_zero(self) -> bool:
        return self.signed and self.zero and self.nan != "negative-zero" and not self.twos_complement

    def magnitude(self, code: int) -> tuple[int, int]:
        """(significand, exponent) of a finite magnitude code: its value is significand * 2^exponent."""
        m = self.mantissa_bits
        field = code >> m
        if self.subnormals == "gradual":
            if field and self.exponent_bits:
                return (code & ((1 << m) - 1)) | (1 << m), field - self.bias - m
            return code, 1 - self.bias - m
        if (self.zero and code == 0) or (self.subnormals == "none" and field == 0):
            return 0, self.emin - m
        return (code & ((1 << m) - 1)) | (1 << m), field - self.bias - m

    # -- the special codes ---------------------------------------------------------------------------------------

    @cached_property
    def has_nan(self) -> bool:
        return self.nan != "none" and not (self.nan == "ieee" and self.mantissa_bits == 0)

    @cached_property
    def inf_code(self) -> int:
        """Magnitude code of Inf; -1 where there is none."""
        return self.max_code + 1 if self.infinity else -1

    @cached_property
    def quiet_bit(self) -> int:
        """The mantissa bit that marks a quiet NaN in IEEE-style formats; 0 elsewhere."""
        return 1 << (self.mantissa_bits - 1) if self.nan == "ieee" and self.mantissa_bits else 0

    @cached_property
    def canonical_nan(self) -> int:
        """Code of the NaN an operation makes by default; -1 where there is none."""
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
        """A code as lower-case hexadecimal of the format's full width."""
        return f"{code:0{self.digits}x}"

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as a manifest stores it and `from_dict` reads it."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    @staticmethod
    def from_dict(table: Mapping[str, Any], name: str | None = None) -> Format:
        """A format from a TOML table: the fields of this class, or `like = NAME` with the fields that differ."""
        values = dict(table)
        like = values.pop("like", None)
        fields = {f.name: f for f in dataclasses.fields(Format)}
        where = name or str(values.get("name", "?"))
        for key, value in values.items():
            if key not in fields:
                raise Error(f"format {where!r}: unknown field {key!r}; fields: like, {', '.join(fields)}")
            expected = {"int": int, "bool": bool}.get(str(fields[key].type), str)
            if type(value) is not expected:
                raise Error(f"format {where!r}: {key} = {value!r} is no {expected.__name__}")
        if name is not None:
            values["name"] = name
        if like is not None:
            return dataclasses.replace(get_format(like), **({"source": "user definition"} | values))
        missing = [k for k in ("name", "exponent_bits", "mantissa_bits", "bias") if k not in values]
        if missing:
            raise Error(f"format {where!r}: {', '.join(missing)} missing")
        return Format(**values)


# -- families ------------------------------------------------------------------------------------------------------


def ieee(name: str, exponent_bits: int, mantissa_bits: int, bias: int | None = None, *, signed: bool = True,
         source: str = "IEEE 754-2019 3.4") -> Format:
    """An IEEE-style format: the top exponent is reserved for Inf and NaN. Without mantissa bits there is no NaN."""
    bias = (1 << (exponent_bits - 1)) - 1 if bias is None else bias
    return Format(name, exponent_bits, mantissa_bits, bias, signed, signaling=mantissa_bits >= 2, source=source)


def fn(name: str, exponent_bits: int, mantissa_bits: int, bias: int | None = None, *, signed: bool = True,
       source: str) -> Format:
    """Finite and NaN ("fn"): no Inf, NaN only at all ones."""
    bias = (1 << (exponent_bits - 1)) - 1 if bias is None else bias
    return Format(name, exponent_bits, mantissa_bits, bias, signed, nan="top", infinity=False, overflow="nan",
                  source=source)


def fnuz(name: str, exponent_bits: int, mantissa_bits: int, bias: int | None = None, *, source: str) -> Format:
    """Finite, NaN, unsigned zero ("fnuz"): no Inf, one NaN where -0 would be; the bias is one higher."""
    bias = 1 << (exponent_bits - 1) if bias is None else bias
    return Format(name, exponent_bits, mantissa_bits, bias, nan="negative-zero", infinity=False, overflow="nan",
                  source=source)


def finite(name: str, exponent_bits: int, mantissa_bits: int, bias: int | None = None, *, signed: bool = True,
           source: str) -> Format:
    """Finite values only: every code is a number."""
    bias = (1 << (exponent_bits - 1)) - 1 if bias is None else bias
    return Format(name, exponent_bits, mantissa_bits, bias, signed, nan="none", infinity=False, overflow="max",
                  source=source)


def fixed(name: str, width: int, fraction_bits: int, *, signed: bool = True, overflow: Kind = "max",
          source: str) -> Format:
    """Two's complement with fraction bits. The bias puts the unit, 2^(1 - bias - mantissa_bits), where it belongs."""
    mantissa_bits = width - signed
    return Format(name, 0, mantissa_bits, 1 - mantissa_bits + fraction_bits, signed, nan="none", infinity=False,
                  twos_complement=True, overflow=overflow, source=source)


def integer(name: str, width: int, *, signed: bool) -> Format:
    """A plain integer: a source and target of conversions."""
    return fixed(name, width, 0, signed=signed, overflow="integer", source="two's complement integer")


def p3109(k: int, p: int, *, signed: bool, extended: bool) -> Format:
    """IEEE P3109 v4.0's BinaryKpP{s,u}{e,f}: K bits, P of precision (clause 4, "Formats")."""
    name = f"binary{k}p{p}{'s' if signed else 'u'}{'e' if extended else 'f'}"
    if not 3 <= k <= 16 or not 1 <= p <= (k - 1 if signed else k):
        raise Error(f"format {name!r}: P3109 needs 3 <= K <= 16 and 1 <= P {'<' if signed else '<='} K")
    exponent_bits = k - p if signed else k - p + 1
    bias = 1 << (exponent_bits - 1)
    return Format(name, exponent_bits, p - 1, bias, signed, nan="negative-zero" if signed else "top",
                  infinity=extended, overflow="inf" if extended else "max", p3109=True, source="IEEE P3109 v4.0")


# -- the catalogue -------------------------------------------------------------------------------------------------

_OFP8: Final = "OCP 8-bit Floating Point Specification (OFP8) 1.0, table 1"
_MX: Final = "OCP Microscaling Formats (MX) 1.0"
_FNUZ: Final = "Noune et al., 8-bit Numerical Formats for Deep Neural Networks, arXiv 2206.02915"

CATALOGUE: Final[dict[str, Format]] = {
    f.name: f
    for f in (
        ieee("fp128", 15, 112, source="IEEE 754-2019 table 3.5, binary128"),
        ieee("fp64", 11, 52, source="IEEE 754-2019 table 3.5, binary64"),
        ieee("fp32", 8, 23, source="IEEE 754-2019 table 3.5, binary32"),
        ieee("tf32", 8, 10, source="NVIDIA A100 whitepaper: 1-8-10 (19 bits)"),
        ieee("fp16", 5, 10, source="IEEE 754-2019 table 3.5, binary16"),
        ieee("bf16", 8, 7, source="Google bfloat16: the upper half of binary32"),
        Format("dlfloat16", 6, 9, 31, nan="top", infinity=False, subnormals="normal", overflow="nan",
               source="Agrawal et al., DLFloat, ARITH 2019: no subnormals, one merged NaN-Infinity code"),
        ieee("fp8_e5m2", 5, 2, source=_OFP8),
        fn("fp8_e4m3", 4, 3, source=_OFP8),
        ieee("fp8_e3m4", 3, 4, source="ml_dtypes float8_e3m4: IEEE style"),
        fnuz("fp8_e4m3fnuz", 4, 3, source=_FNUZ),
        fnuz("fp8_e5m2fnuz", 5, 2, source=_FNUZ),
        fnuz("fp8_e4m3b11fnuz", 4, 3, 11, source="ml_dtypes float8_e4m3b11fnuz"),
        finite("fp6_e3m2", 3, 2, source=f"{_MX}, 5.3.2"),
        finite("fp6_e2m3", 2, 3, source=f"{_MX}, 5.3.2"),
        finite("fp4_e2m1", 2, 1, source=f"{_MX}, 5.3.3"),
        Format("e8m0", 8, 0, 127, signed=False, nan="top", infinity=False, zero=False, subnormals="normal",
               overflow="nan", source=f"{_MX}, 5.4.1"),
        fn("ue4m3", 4, 3, signed=False, source="PTX ISA, ue4m3: unsigned E4M3, 7 bits in a byte"),
        fn("ue5m3", 5, 3, signed=False, source="unsigned E5M3 block scale: all ones is NaN"),
        fixed("int8", 8, 6, source=f"{_MX}, 5.3.4: two's complement, 6 fraction bits"),
        *(integer(f"{s}{w}", w, signed=s == "i") for w in (8, 16, 32, 64) for s in "iu"),
    )
}

# Other spellings, most of them ml_dtypes'. Beware: its float8_e4m3 is IEEE style, not OCP's E4M3.
ALIASES: Final[dict[str, str]] = {
    "binary128": "fp128", "float128": "fp128",
    "binary64": "fp64", "float64": "fp64", "double": "fp64",
    "binary32": "fp32", "float32": "fp32", "single": "fp32", "float": "fp32",
    "binary16": "fp16", "float16": "fp16", "half": "fp16",
    "bfloat16": "bf16", "tensorfloat32": "tf32", "dlfloat": "dlfloat16",
    "float8_e5m2": "fp8_e5m2", "e5m2": "fp8_e5m2",
    "float8_e4m3fn": "fp8_e4m3", "e4m3fn": "fp8_e4m3", "e4m3": "fp8_e4m3", "fp8_e4m3fn": "fp8_e4m3",
    "float8_e4m3": "s1e4m3", "float8_e3m4": "fp8_e3m4", "e3m4": "fp8_e3m4",
    "float8_e4m3fnuz": "fp8_e4m3fnuz", "float8_e5m2fnuz": "fp8_e5m2fnuz", "float8_e4m3b11fnuz": "fp8_e4m3b11fnuz",
    "float6_e3m2fn": "fp6_e3m2", "e3m2": "fp6_e3m2", "float6_e2m3fn": "fp6_e2m3", "e2m3": "fp6_e2m3",
    "float4_e2m1fn": "fp4_e2m1", "e2m1": "fp4_e2m1", "float8_e8m0fnu": "e8m0", "ue8m0": "e8m0",
    "int1": "i1", "uint1": "u1", "int2": "i2", "uint2": "u2", "int4": "i4", "uint4": "u4", "uint8": "u8",
    "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64",
}

GRAMMAR_HELP: Final = "names also follow s1e5m2[b15][fn|fnuz|finite], i12, u12, binary8p4se, or FILE.toml[:NAME]"

_FLOAT: Final = re.compile(r"s([01])e(\d{1,3})m(\d{1,3})(?:b(-?\d{1,8}))?(fnuz|fn|finite)?")
_INTEGER: Final = re.compile(r"([iu])(\d{1,3})")
_P3109: Final = re.compile(r"binary(\d{1,2})p(\d{1,2})([su])([ef])")


def get_format(name: str | Format) -> Format:
    """The format of that name: catalogue, alias, grammar, or `FILE.toml[:NAME]`. A Format is returned as it is.

    Raises Error for an unknown name, listing the closest ones.
    """
    if isinstance(name, Format):
        return name
    if not isinstance(name, str):
        raise Error(f"a format is a name or a Format, not {type(name).__name__}")
    path, _, entry = name.partition(".toml")
    if _:
        return load_format(path + ".toml", entry.removeprefix(":"))
    return _named(name)


@lru_cache(maxsize=1024)
def _named(name: str) -> Format:
    key = name.strip().lower()
    key = ALIASES.get(key, key)
    if key in CATALOGUE:
        return CATALOGUE[key]
    if match := _FLOAT.fullmatch(key):
        return _from_grammar(key, match)
    if match := _INTEGER.fullmatch(key):
        width = int(match[2])
        if not 1 <= width <= MAX_INTEGER_BITS:
            raise Error(f"format {name!r}: integers have 1 to {MAX_INTEGER_BITS} bits")
        return integer(f"{match[1]}{width}", width, signed=match[1] == "i")
    if match := _P3109.fullmatch(key):
        return p3109(int(match[1]), int(match[2]), signed=match[3] == "s", extended=match[4] == "e")
    raise unknown("format", name, [*CATALOGUE, *ALIASES], f" ({GRAMMAR_HELP})")


def _from_grammar(key: str, match: re.Match[str]) -> Format:
    signed, e, m = match[1] == "1", int(match[2]), int(match[3])
    bias = None if match[4] is None else int(match[4])
    if not 1 <= e <= MAX_EXPONENT_BITS:
        raise Error(f"format {key!r}: exponents have 1 to {MAX_EXPONENT_BITS} bits")
    source = "name grammar"
    match match[5]:
        case None:
            return ieee(key, e, m, bias, signed=signed, source=source)
        case "fn":
            return fn(key, e, m, bias, signed=signed, source=source)
        case "finite":
            return finite(key, e, m, bias, signed=signed, source=source)
    if not signed:
        raise Error(f"format {key!r}: fnuz has its NaN at -0, so it needs a sign")
    return fnuz(key, e, m, bias, source=source)


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a TOML file. Errors are one line."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise Error(f"{path}: not valid TOML: {e}") from None


def load_format(path: str, name: str = "") -> Format:
    """The format `[formats.NAME]` of a TOML file; NAME may be left out where the file defines just one."""
    tables = read_toml(path).get("formats")
    if not isinstance(tables, dict) or not tables:
        raise Error(f"{path}: no [formats.NAME] table")
    if not name:
        if len(tables) > 1:
            raise Error(f"{path}: defines {', '.join(tables)}; choose one as {path}:NAME")
        name = next(iter(tables))
    if not isinstance(tables.get(name), dict):
        raise unknown("format", name, tables, f" (in {path})")
    return Format.from_dict(tables[name], name)
