"""The catalogue: one line per format, with its citation, and the aliases."""

from __future__ import annotations

from typing import Final

from softfloat_ref.oracle.formats.families import extended, finite, fixed, fn, fnuz, ieee, integer
from softfloat_ref.oracle.formats.format import Format

_OFP8: Final = "OCP 8-bit Floating Point Specification (OFP8) 1.0, table 1"
_MX: Final = "OCP Microscaling Formats (MX) 1.0"
_FNUZ: Final = "Noune et al., 8-bit Numerical Formats for Deep Neural Networks, arXiv 2206.02915"

CATALOGUE: Final[dict[str, Format]] = {
    f.name: f
    for f in (
        ieee("fp128", 15, 112, source="IEEE 754-2019 table 3.5, binary128"),
        extended("extf80", 15, 63, source="Intel SDM vol. 1, 4.2.2: double extended precision, explicit integer bit"),
        ieee("fp64", 11, 52, source="IEEE 754-2019 table 3.5, binary64"),
        ieee("fp32", 8, 23, source="IEEE 754-2019 table 3.5, binary32"),
        ieee("tf32", 8, 10, source="NVIDIA A100 whitepaper: 1-8-10 (19 bits)"),
        ieee("fp16", 5, 10, source="IEEE 754-2019 table 3.5, binary16"),
        ieee("bf16", 8, 7, source="Google bfloat16: the upper half of binary32"),
        Format(
            "dlfloat16",
            6,
            9,
            31,
            nan="top",
            infinity=False,
            subnormals="normal",
            overflow="nan",
            source="Agrawal et al., DLFloat, ARITH 2019: no subnormals, one merged NaN-Infinity code",
        ),
        ieee("fp8_e5m2", 5, 2, source=_OFP8),
        fn("fp8_e4m3", 4, 3, source=_OFP8),
        ieee("fp8_e3m4", 3, 4, source="ml_dtypes float8_e3m4: IEEE style"),
        fnuz("fp8_e4m3fnuz", 4, 3, source=_FNUZ),
        fnuz("fp8_e5m2fnuz", 5, 2, source=_FNUZ),
        fnuz("fp8_e4m3b11fnuz", 4, 3, 11, source="ml_dtypes float8_e4m3b11fnuz"),
        finite("fp6_e3m2", 3, 2, source=f"{_MX}, 5.3.2"),
        finite("fp6_e2m3", 2, 3, source=f"{_MX}, 5.3.2"),
        finite("fp4_e2m1", 2, 1, source=f"{_MX}, 5.3.3"),
        Format(
            "e8m0",
            8,
            0,
            127,
            signed=False,
            nan="top",
            infinity=False,
            zero=False,
            subnormals="normal",
            overflow="nan",
            source=f"{_MX}, 5.4.1",
        ),
        fn("ue4m3", 4, 3, signed=False, source="PTX ISA, ue4m3: unsigned E4M3, 7 bits in a byte"),
        fn("ue5m3", 5, 3, signed=False, source="unsigned E5M3 block scale: all ones is NaN"),
        fixed("int8", 8, 6, source=f"{_MX}, 5.3.4: two's complement, 6 fraction bits"),
        *(integer(f"{s}{w}", w, signed=s == "i") for w in (8, 16, 32, 64) for s in "iu"),
    )
}

# Other spellings, mostly those of ml_dtypes. Note that its float8_e4m3 is IEEE style, not OCP's E4M3.
ALIASES: Final[dict[str, str]] = {
    "binary128": "fp128",
    "float128": "fp128",
    "fp80": "extf80",
    "float80": "extf80",
    "x86_fp80": "extf80",
    "binary64": "fp64",
    "float64": "fp64",
    "double": "fp64",
    "binary32": "fp32",
    "float32": "fp32",
    "single": "fp32",
    "float": "fp32",
    "binary16": "fp16",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "tensorfloat32": "tf32",
    "dlfloat": "dlfloat16",
    "float8_e5m2": "fp8_e5m2",
    "e5m2": "fp8_e5m2",
    "float8_e4m3fn": "fp8_e4m3",
    "e4m3fn": "fp8_e4m3",
    "e4m3": "fp8_e4m3",
    "fp8_e4m3fn": "fp8_e4m3",
    "float8_e4m3": "s1e4m3",
    "float8_e3m4": "fp8_e3m4",
    "e3m4": "fp8_e3m4",
    "float8_e4m3fnuz": "fp8_e4m3fnuz",
    "float8_e5m2fnuz": "fp8_e5m2fnuz",
    "float8_e4m3b11fnuz": "fp8_e4m3b11fnuz",
    "float6_e3m2fn": "fp6_e3m2",
    "e3m2": "fp6_e3m2",
    "float6_e2m3fn": "fp6_e2m3",
    "e2m3": "fp6_e2m3",
    "float4_e2m1fn": "fp4_e2m1",
    "e2m1": "fp4_e2m1",
    "float8_e8m0fnu": "e8m0",
    "ue8m0": "e8m0",
    "mx_int8": "int8",
    "int1": "i1",
    "uint1": "u1",
    "int2": "i2",
    "uint2": "u2",
    "int4": "i4",
    "uint4": "u4",
    "uint8": "u8",
    "int16": "i16",
    "uint16": "u16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
}

# Spellings that will mean another format, and what to write instead.
DEPRECATED: Final[dict[str, str]] = {
    "int8": "int8 is OCP's MX element, in units of 1/64, though int4 and int16 are integers: write mx_int8 for it, or "
    "i8 for integers, which int8 will mean in a later version",
}
