"""Sets in manifests of schema 2, converted to schema 3; and back, for the header of JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from softfloat_ref.oracle.formats import CATALOGUE
from softfloat_ref.oracle.policies import POLICIES

_IMAGE_TYPES: Final = {"vectors.svh": "images-svh"}
_DOT: Final = ("formats", "out", "accumulator", "k", "steps", "extrapolate")


def upgraded(table: Mapping[str, Any]) -> dict[str, Any]:
    """The definition of a set in schema 3. Raises KeyError, TypeError for a table that is not of schema 2."""
    sources = [table["random_source"]] if table.get("random_source") else []
    if table["op"] == "mixed":
        sources = [part["random_source"] or "" for part in table["parts"]]
    return {
        "unit": _unit(table),
        "count": table["count"],
        "level": table.get("level", ""),
        "seed": table["seed"],
        "generator": table["generator"],
        "random_sources": sources if any(sources) else [],
        **({"unboxed": table["unboxed"]} if table.get("unboxed") else {}),
    }


def upgraded_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest of schema 2 converted to schema 3; traces are the same in both."""
    found: dict[str, Any] = {**manifest, "schema": 3}
    table = manifest["set"]
    if table.get("op") == "trace":
        return found
    try:
        found["set"] = upgraded(table)
    except (KeyError, TypeError, AttributeError):
        return found  # reading the set reports the error
    if table["op"] == "matmul":  # whose files had no types
        found["files"] = [{**f, "format": _IMAGE_TYPES.get(f["name"], f["name"])} for f in manifest["files"]]
    return found


def _unit(table: Mapping[str, Any]) -> dict[str, Any]:
    op = table["op"]
    if op == "mixed":
        kept = ("padding", "width", "places", "sign_extend")
        parts = [{k: v for k, v in _unit(part).items() if k != "kind"} for part in table["parts"]]
        return {"kind": op, **{k: table[k] for k in kept if k in table}, "parts": parts}
    if op == "dot":
        return {"kind": op, **{k: table[k] for k in _DOT}}
    if op == "matmul":
        return {"kind": op, "dot": {k: table[k] for k in _DOT}, **{k: table[k] for k in ("m", "n", "layout", "word")}}
    if table.get("block") is None:
        more = {"intermediate": True} if table.get("intermediate") else {}
        return {"kind": "operation", **{k: table[k] for k in ("op", "formats", "out", "policy")}, **more}
    found = {"kind": op, "block": table["block"], "profile": table["profile"]}
    return {**found, "values": table["formats"][0], "policy": table["policy"]} if op == "quantize" else found


def downgraded(table: Mapping[str, Any]) -> dict[str, Any]:
    """The definition of a set in schema 2; unchanged if the unit's kind is newer."""
    unit = table["unit"]
    shared = {k: table[k] for k in ("count", "level", "seed")}
    generator = {"generator": table["generator"]}
    source = next(iter(table["random_sources"]), "") or None
    if unit["kind"] == "dot":
        return {"op": "dot", **{k: unit[k] for k in _DOT}, **shared, **generator, "layout": _LAYOUT}
    if unit["kind"] == "mixed":
        sources = table["random_sources"] or [""] * len(unit["parts"])
        one = {"count": 1, "level": "", "seed": table["seed"]}
        parts = [_operation(p, one, generator, x or None) for p, x in zip(unit["parts"], sources, strict=True)]
        kept = {k: unit[k] for k in ("padding", "width", "places", "sign_extend") if k in unit}
        rest = {"unboxed": table.get("unboxed", 0), **kept, "parts": parts}
        return {"op": "mixed", **{k: table[k] for k in ("count", "seed")}, **generator, **_in_order(rest)}
    if unit["kind"] == "operation":
        return _operation(unit, shared, generator, source)
    if unit["kind"] in ("quantize", "dequantize"):
        return _block(unit, shared, generator, source)
    return dict(table)


_LAYOUT: Final = "lane i of a and b is element i; lane j of a_scale and b_scale is the scale of block j"


def _in_order(table: dict[str, Any]) -> dict[str, Any]:
    names = ("padding", "unboxed", "width", "places", "sign_extend", "parts")
    return {k: table[k] for k in names if k in table}


def _operation(unit: Any, shared: Any, generator: Any, source: str | None) -> dict[str, Any]:
    return {
        **{k: unit[k] for k in ("op", "formats", "out")},
        **shared,
        **generator,
        "policy": unit["policy"],
        "random_source": source,
        "block": None,
        "profile": None,
        **({"intermediate": True} if unit.get("intermediate") else {}),
    }


def _block(unit: Any, shared: Any, generator: Any, source: str | None) -> dict[str, Any]:
    quantizes = unit["kind"] == "quantize"
    return {
        "op": unit["kind"],
        "formats": [unit["values"]] if quantizes else [],
        "out": unit["block"]["element"] if quantizes else CATALOGUE["fp32"].to_dict(),
        **shared,
        **generator,
        "policy": unit["policy"] if quantizes else POLICIES["ieee"].to_dict(),
        "random_source": source,
        "block": unit["block"],
        "profile": unit["profile"],
    }
