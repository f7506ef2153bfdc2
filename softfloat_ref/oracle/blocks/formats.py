"""Block formats: elements of one format that share scales of another format."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.tables import check, check_reference, load_definition
from softfloat_ref.oracle.blocks.profiles import PROFILES, get_profile
from softfloat_ref.oracle.formats import (
    ALIASES,
    CATALOGUE,
    Format,
    define_format,
    get_format,
    spelled,
)
from softfloat_ref.oracle.formats.families import finite

FP32: Final = CATALOGUE["fp32"]
MAX_BLOCK: Final = 4096
MAX_TILE: Final = 1 << 14  # elements of a block of several rows
AXIS: Final = 0  # as a block size: the whole axis (one scale per row or channel)
TENSOR: Final = -1  # the whole tensor
_SIZES: Final = {"axis": AXIS, "tensor": TENSOR}
MX_TABLE: Final = "OCP Microscaling Formats (MX) 1.0, table 1"


@dataclass(frozen=True)
class BlockFormat:
    """Elements of one format that share a scale: value = scale * element.

    size: number of elements that share a scale, along one axis; AXIS: the whole axis; TENSOR: the whole tensor. rows:
        blocks of two dimensions have that many rows, along the axis before (or, of the first axis, the one behind it).
    profile: the default profile, which defines how values become blocks.
    """

    name: str
    element: Format
    scale: Format
    size: int
    profile: str = "ocp"
    source: str = dataclasses.field(default="user definition", compare=False)
    rows: int = 1

    def __post_init__(self) -> None:
        if type(self.size) is not int or not TENSOR <= self.size <= MAX_TILE:
            raise _bad_size(self.size, self.name)
        if type(self.rows) is not int or self.rows < 1 or (self.rows > 1 and self.size % self.rows):
            raise _bad_size(f"{self.size} in {self.rows!r} rows", self.name)
        for what, fmt in (("element", self.element), ("scale", self.scale)):
            if fmt.is_integer:
                raise Error(f"block format {self.name!r}: the {what} {fmt.name} is an integer; int8 is the MX element")
            fmt.needs_hidden(f"block format {self.name!r}: the {what}s")
        get_profile(self.profile)

    @property
    def columns(self) -> int:
        """The number of elements of a row of a block."""
        return self.size // self.rows

    @property
    def in_one_row(self) -> BlockFormat:
        """The format whose blocks have the same elements in one row."""
        return self if self.rows == 1 else dataclasses.replace(self, rows=1)

    @property
    def size_name(self) -> str:
        """The size as written in names."""
        if self.rows > 1:
            return f"{self.rows}x{self.columns}"
        return next((word for word, size in _SIZES.items() if size == self.size), str(self.size))

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as manifests store it; `define_block_format` reads it."""
        element, scale = self.element.to_dict(), self.scale.to_dict()
        size = self.size if self.size > 0 and self.rows == 1 else self.size_name
        return {"name": self.name, "element": element, "scale": scale, "size": size, "profile": self.profile}


def _mx(name: str, element: str) -> BlockFormat:
    return BlockFormat(name, CATALOGUE[element], CATALOGUE["e8m0"], 32, "ocp", MX_TABLE)


def _msfp(bits: int) -> BlockFormat:
    """Sign and magnitude without a hidden bit, in units of 2^(1 - bits): equivalent to an exponent field of one bit."""
    element = finite(f"s{bits}", 1, bits - 1, 1, source="sign and magnitude")
    return BlockFormat(f"msfp{9 + bits}", element, CATALOGUE["e8m0"], 16, "msfp", PROFILES["msfp"].source)


BLOCK_FORMATS: Final[dict[str, BlockFormat]] = {
    b.name: b
    for b in (
        _mx("mxfp8_e5m2", "fp8_e5m2"),
        _mx("mxfp8_e4m3", "fp8_e4m3"),
        _mx("mxfp6_e3m2", "fp6_e3m2"),
        _mx("mxfp6_e2m3", "fp6_e2m3"),
        _mx("mxfp4_e2m1", "fp4_e2m1"),
        _mx("mxint8", "int8"),
        BlockFormat("nvfp4", CATALOGUE["fp4_e2m1"], CATALOGUE["ue4m3"], 16, "nvfp4", PROFILES["nvfp4"].source),
        *(_msfp(bits) for bits in range(2, 8)),
    )
}
BLOCK_ALIASES: Final[dict[str, str]] = {"mxfp8": "mxfp8_e4m3", "mxfp6": "mxfp6_e3m2", "mxfp4": "mxfp4_e2m1"}
_INLINE: Final = re.compile(r"([^@/]+)@([^@/]+)/(\w+)", re.ASCII)
_TILE: Final = re.compile(r"([0-9]{1,4})x([0-9]{1,4})")
_FLEXFP: Final = re.compile(r"flexfp_e([0-9]{1,2})m([0-9]{1,3})")
GRAMMAR: Final = (
    "or ELEMENT@SCALE/SIZE, such as fp4_e2m1@ue5m3/16 (SIZE: a number, ROWSxCOLUMNS, axis, tensor), or flexfp_eXmY"
)


def get_block_format(name: str | BlockFormat) -> BlockFormat:
    """A block format by name. Raises Error."""
    fmt = any_format(name)
    if not isinstance(fmt, (BlockFormat, Format)):
        raise Error(f"a block format must be a name, not {fmt!r}")
    if not isinstance(fmt, BlockFormat):
        raise Error(f"{fmt.name} is a scalar format; block formats: {', '.join(BLOCK_FORMATS)}, {GRAMMAR}")
    return fmt


def described(name: str) -> str:
    """The error message for a block format name where a scalar format is needed; '' for other names."""
    key = name.lower()
    inline = re.fullmatch(r"[^@/]+@[^@/]+/\w+", key)  # of any size
    if not (key in BLOCK_FORMATS or key in BLOCK_ALIASES or inline or _FLEXFP.fullmatch(key)):
        return ""
    return f"{name!r} is a block format; a scalar format is needed, for example its element (formats show {name})"


def any_format(name: str | Format | BlockFormat) -> Format | BlockFormat:
    """A scalar or block format from a name of the catalogues, a name of the grammars, or FILE.toml[:NAME] (tables
    [formats.NAME] and [block_formats.NAME]). Raises Error, listing the closest names of both kinds."""
    name = spelled(name)
    if not isinstance(name, str):
        return name
    key = name.strip().lower()
    key = BLOCK_ALIASES.get(key, key)
    if key in BLOCK_FORMATS:
        return BLOCK_FORMATS[key]
    if match := _INLINE.fullmatch(name.strip()):
        size, rows = _size(int(match[3]) if match[3].isdecimal() else match[3], key)
        element, scale, profile = get_format(match[1]), get_format(match[2]), _default_profile(match[2])
        return BlockFormat(key, element, scale, size, profile, rows=rows)
    if match := _FLEXFP.fullmatch(key):
        element = get_format(f"s1e{match[1]}m{match[2]}")
        return BlockFormat(key, element, CATALOGUE["e8m0"], TENSOR, "dse", PROFILES["dse"].source)
    if key.startswith("mx") and key not in ALIASES:
        raise unknown("format", name, [*BLOCK_FORMATS, *BLOCK_ALIASES, *CATALOGUE, *ALIASES], f" ({GRAMMAR})")
    if ".toml" in key:
        return _from_toml(name.strip())
    return get_format(name)


def _size(size: Any, where: str) -> tuple[int, int]:
    """A size and a number of rows from text: a positive number, ROWSxCOLUMNS, `axis` or `tensor`. Raises Error."""
    if isinstance(size, str):
        if match := _TILE.fullmatch(size.lower()):
            rows, columns = int(match[1]), int(match[2])
            if rows > 1 and columns > 0 and rows * columns <= MAX_TILE:
                return rows * columns, rows
        elif size.lower() in _SIZES:
            return _SIZES[size.lower()], 1
    elif type(size) is int and 0 < size <= MAX_BLOCK:
        return size, 1
    raise _bad_size(size, where)


def _bad_size(size: Any, where: str) -> Error:
    return Error(
        f"block format {where!r}: a block has 1 to {MAX_BLOCK} elements, or 2 rows or more with up to {MAX_TILE}"
        f" (16x16), or is axis or tensor, not {size!r}"
    )


def _default_profile(scale: str) -> str:
    """The profile of an inline format: MX for power-of-two scales, P3109 for its scales, else nearest rounding."""
    fmt = get_format(scale)
    if fmt.p3109:
        return "p3109"
    return "ocp" if fmt.mantissa_bits == 0 else "ocp,scale_rule=rne,flush=never"


def _from_toml(spec: str) -> Format | BlockFormat:
    try:
        return load_definition(spec, "block_formats", define_block_format)
    except Error as e:
        if "no [block_formats" not in str(e):
            raise
    return get_format(spec)


_KEYS: Final = {"element": str | Mapping, "scale": str | Mapping, "size": Any, "profile": str, "source": str}


def define_block_format(table: object, name: str | None = None) -> BlockFormat:
    """A block format from a table: element, scale (names or tables), size and profile. Raises Error."""
    where = name or str(table.get("name", "?") if isinstance(table, Mapping) else "?")
    values = check(table, f"block format {where!r}", {"name": str, **_KEYS}, ("element", "scale", "size"), "field")
    parts = {key: _part(values[key]) for key in ("element", "scale")}
    size, rows = _size(values["size"], where)
    return BlockFormat(**values | parts | {"name": where, "size": size, "rows": rows})


def _part(fmt: object) -> Format:
    """The format of elements or scales, from a name or a table."""
    if isinstance(fmt, str):
        check_reference(fmt)
        return get_format(fmt)
    return define_format(fmt)
