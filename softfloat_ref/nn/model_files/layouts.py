"""How producers store quantized weights, as data: which tensors of a file belong together, and what their bytes mean.

The rows are those of layouts.toml, and a user's own. docs/checkpoints.md describes the keys.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from softfloat_ref.arrays import packing
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.tables import LIKE, check, check_choices, choices, from_table, read_file, split_like
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format

TABLE: Final = Path(__file__).with_name("layouts.toml")
_MAX_BLOCK: Final = 1 << 32
_EXACT_BITS: Final = CATALOGUE["fp64"].precision  # of products that float64 holds


@dataclass(frozen=True)
class Role:
    """A tensor of a quantized weight: its name, and the formats that the file may have it in. name: the last part of
    the tensor's name; `*SUFFIX`: how the whole name ends; empty: there is no such tensor."""

    name: str = ""
    formats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if "*" in self.name[1:]:
            raise Error(f"name {self.name!r}: the last part of a tensor's name, or * and how the name ends")
        for name in self.formats:
            get_format(name)

    def stem(self, name: str) -> str | None:
        """What is left of a tensor's name; None if it does not play this role."""
        end = self.name.removeprefix("*")
        if not name.endswith(end) or (name == end and self.name[0] == "*"):
            return None
        stem = name.removesuffix(end)
        return stem if self.name[0] == "*" or not stem or stem.endswith(".") else None

    def named(self, stem: str) -> str:
        """The name of the tensor that plays this role beside others."""
        return stem + self.name.removeprefix("*")


NO_ROLE: Final = Role()


@dataclass(frozen=True)
class Layout:
    """How a producer stores a quantized weight: value = (element - zero point) * scale * tensor scale + bias.

    codes, scales, tensor_scale, zero_points, biases, shape, groups: the tensors with the elements' codes, the scales of
        blocks, the second-level scale, the zero points (codes of elements), what is added to the values of blocks, the
        shape of the values, and the number of the block along the last but one axis for each place on it.
    absent: names, as a role's, of tensors without which the layout is another one.
    result: the name of the values, as a role's: "weight", "*"; the name of the codes if empty.
    elements: the format of elements; empty: the format of the tensor with the codes.
    packing: how elements share the tensor's bytes along its last axis, as in docs/packing.md; empty: one each.
    pack_along: the axis along which elements share words of the tensor: its "columns", or its "rows", without
        `packing`: in each column, a stream of bits, the lowest of a word first.
    zero_packing: how zero points share bytes along the last axis; empty: one each.
    scale_order: of scales, and of zero points and biases: "rows", or "swizzled", NVIDIA's tiles of 128 by 4.
    merge: the last two axes of the codes, blocks and their bytes, are one axis of the values.
    scale: the format of scales; empty: the format of their tensor.
    tensor_scale_use: whether values are multiplied or divided by the second-level scale.
    zero_point: what is subtracted from every element, besides the zero points, if a tensor has such.
    block: the shape of a block along the last axes; 0: what the shapes of values and scales give.
    short_blocks: whether the last block of an axis may be short; without it, such shapes are not of this layout.
    arithmetic: how the producer computes a value: its exact product, rounded once ("exact"); or the scale times the
        tensor scale rounded to FP32, then the product with the element rounded to FP32 ("scale-first").
    negative_zero: whether the producer keeps or drops the sign of a zero element.
    automatic: whether a file's tensors are enough to know that the layout is meant; if not, a user names it.
    """

    name: str
    codes: Role
    scales: Role
    tensor_scale: Role = NO_ROLE
    zero_points: Role = NO_ROLE
    biases: Role = NO_ROLE
    shape: Role = NO_ROLE
    groups: Role = NO_ROLE
    absent: tuple[str, ...] = ()
    result: str = ""
    elements: str = ""
    packing: str = ""
    pack_along: Literal["columns", "rows"] = "columns"
    zero_packing: str = ""
    scale_order: Literal["rows", "swizzled"] = "rows"
    merge: bool = False
    scale: str = ""
    tensor_scale_use: Literal["multiply", "divide"] = "multiply"
    zero_point: int = 0
    block: tuple[int, ...] = (0, 0)
    short_blocks: bool = False
    arithmetic: Literal["exact", "scale-first"] = "exact"
    negative_zero: Literal["keep", "drop"] = "keep"
    automatic: bool = True
    source: str = dataclasses.field(default="user definition", compare=False)
    checked: str = dataclasses.field(default="not checked: a user definition", compare=False)

    def __post_init__(self) -> None:
        where = f"layout {self.name!r}"
        check_choices(self, where, choices(Layout))
        for key in ("packing", "zero_packing"):
            if getattr(self, key) and getattr(self, key) not in packing.ELEMENT_LAYOUTS:
                raise unknown(f"{key} of {where}:", getattr(self, key), packing.ELEMENT_LAYOUTS)
        if self.pack_along == "rows" and (self.packing or self.merge or not self.elements):
            raise Error(f"{where}: pack_along = rows needs elements = ..., and neither packing nor merge")
        if not self.block or not all(0 <= n <= _MAX_BLOCK for n in self.block):
            raise Error(f"{where}: block = {list(self.block)}; write the lengths along the last axes, such as [1, 16]")
        if self.packing and not self.elements:
            raise Error(f"{where}: packing needs the format of the elements: elements = ...")
        for name in filter(None, (self.elements, self.scale)):
            get_format(name)
        for role, name in ((self.codes, "codes"), (self.scales, "scales")):
            if not role.name or not role.formats:
                raise Error(f"{where}: {name} = {{ name = ..., formats = [...] }}")

    @property
    def roles(self) -> dict[str, Role]:
        """The tensors that the layout has."""
        names = ("codes", "scales", "tensor_scale", "zero_points", "biases", "shape", "groups")
        return {name: role for name in names if (role := getattr(self, name)).name}

    def check_bits(self, element: Format, scale: Format) -> str:
        """Why values cannot be computed exactly in float64; '' if they can."""
        bits = _bits(element) + bool(self.zero_point or self.zero_points.name) + _bits(scale)
        if self.tensor_scale.name and self.tensor_scale_use == "multiply":
            bits += CATALOGUE["fp32"].precision
        return "" if bits <= _EXACT_BITS else f"values of {bits} bits, more than float64 has"


def _bits(fmt: Format) -> int:
    return fmt.width if fmt.is_integer else fmt.precision


@dataclass(frozen=True)
class LayoutTable:
    """Layouts in the order in which they are tried, and the names of tensors that only accompany weights."""

    layouts: tuple[Layout, ...]
    companions: frozenset[str]


def layout_table(files: Sequence[str | Path] = ()) -> LayoutTable:
    """The layouts of some files of a user's own, then those of this package. Raises Error."""
    tables = [*(_users(_load(x)) for x in files), _own()]
    return LayoutTable(
        tuple(row for table in tables for row in table.layouts),
        frozenset[str]().union(*(table.companions for table in tables)),
    )


def _users(table: LayoutTable) -> LayoutTable:
    """A table of a user's own, whose layouts are meant."""
    return dataclasses.replace(table, layouts=tuple(dataclasses.replace(x, automatic=True) for x in table.layouts))


@lru_cache(maxsize=1)
def _own() -> LayoutTable:
    return _load(TABLE)


def _load(path: str | Path) -> LayoutTable:
    return read_file(path, lambda tables: _read(str(path), tables))


def _read(path: str, tables: Mapping[str, Any]) -> LayoutTable:
    """The rows of a file: [layouts.NAME] and [companions] names = [...]."""
    known = {"layouts": Mapping, "companions": Mapping}
    checked = check(tables, "", known, (), "table")
    names: Collection[str] = check(checked.get("companions", {}), "companions", {"names": tuple[str, ...]}).get(
        "names", ()
    )
    rows: dict[str, Layout] = {}
    for name, table in checked.get("layouts", {}).items():
        values, like = split_like(table, f"layout {name!r}")
        known_rows = rows if path == str(TABLE) else {**{x.name: x for x in _own().layouts}, **rows}
        if like is not None and (not isinstance(like, str) or like not in known_rows):
            raise unknown(f"layout in like of {name!r}:", str(like), known_rows)
        base = known_rows.get(str(like))
        rows[name] = from_table(Layout, {**values, "name": name}, f"layout {name!r}", base, also=LIKE)
    if not rows and not names:
        raise Error("no [layouts.NAME] table")
    return LayoutTable(tuple(rows.values()), frozenset(names))
