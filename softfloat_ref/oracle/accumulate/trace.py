"""A dot product traced stage by stage: products, alignment, lost bits, sums, roundings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate.dots import Accumulation, Operand, accumulate, products, running_result
from softfloat_ref.oracle.accumulate.evaluate import Aligned, align_terms, special, stored, total
from softfloat_ref.oracle.accumulate.grammar import LONG
from softfloat_ref.oracle.accumulate.terms import Term, operand_decoder
from softfloat_ref.oracle.codec import check_code, decoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.literals import hexadecimal, shortest
from softfloat_ref.oracle.rounding_steps import rounded
from softfloat_ref.oracle.steps import Recorded, recording

Stage = dict[str, Any]


@dataclass(frozen=True)
class Trace:
    """A dot product with all its intermediate results. stages: in the order of evaluation."""

    setting: Accumulation
    a: Operand
    b: Operand
    c: int
    products: list[Term]
    stages: list[Stage]
    bits: int
    flags: int


def trace(s: Accumulation, a: Operand, b: Operand, c: int) -> Trace:
    """The dot product of checked operands, with its stages. Raises Error if c is not a code of its format."""
    run = recording()
    terms = products(s, a, b)
    bits, flags = accumulate(s, terms, check_code(c, s.c), do=run)
    return Trace(s, a, b, c, terms, list(_stages(s, run.record)), bits, flags)


def _stages(s: Accumulation, record: Sequence[Recorded]) -> Iterator[Stage]:
    """The sums and roundings of a record, each with its step."""
    step, aligned, rounding = 0, record[:0], record[0]
    for x in record:
        if x.function is align_terms:
            aligned = [x]
        elif x.function is total:
            yield _fuse_stage(s, aligned[0], x.value) | {"step": step}
        elif x.function is special:
            yield {"stage": "special", "terms": x.args[0], "sum": x.value[0], "step": step}
        elif x.function is rounded:
            rounding = x
            if x.path in (("c",), ("convert",)):
                yield _round_stage(x, "c" if x.path == ("c",) else "result")
        elif x.function is stored:
            _, _, how, label = x.args
            fmt = (how.held or how.to).fmt
            to = {"format": fmt, "rounding": how.by.rounding, "kept": how.by.kept, "code": x.value, "step": step}
            yield _round_stage(rounding, label) | {"stage": "round"} | to
        elif x.function is running_result:
            step += 1


def _round_stage(x: Recorded, label: str) -> Stage:
    (code, flags), (value, _, to) = x.value, x.args
    return {
        "stage": "convert",
        "input": value,
        "label": label,
        "format": to.fmt,
        "rounding": "rne",
        "kept": None,
        "code": code,
        "flags": flags,
    }


def _fuse_stage(s: Accumulation, x: Recorded, value: Value) -> Stage:
    """A sum. largest: the exponent at which its terms are aligned; None if they have none."""
    terms, node, largest = x.args
    has_exponent = node.floor_for(s.result.name) is not None or not all(term.empty for term, _ in terms)
    return {
        "stage": "fuse",
        "bits": node.bits,
        "align": node.align,
        "largest": largest if has_exponent else None,
        "terms": [term for term, _ in terms],
        "aligned": x.value,
        "sum": value,
    }


def number_text(x: Value) -> str:
    """A value as exact text without spaces."""
    return shortest(x) if x.kind != FINITE else hexadecimal(x)


# -- as data -----------------------------------------------------------------------------------------------------------


def trace_dict(t: Trace) -> dict[str, Any]:
    """The trace as plain data for JSON. Integers are exact; an aligned term is `kept` times 2^`unit`, signed."""
    s = t.setting
    return {
        "accumulator": s.accumulator.to_dict(),
        "formats": {"a": s.formats[0].name, "b": s.formats[1].name, "c": s.c.name, "out": s.out.name},
        "c": s.c.hex(t.c),
        "products": [_product(t, k, x) for k, x in enumerate(t.products)],
        "stages": [{"name": f"s{i}", **_stage(x)} for i, x in enumerate(t.stages)],
        "result": s.out.hex(t.bits),
        "flags": f"{t.flags:02x}",
    }


def _product(t: Trace, k: int, x: Term) -> dict[str, Any]:
    a, b = (f.hex(codes[k]) for f, codes in zip(t.setting.formats, (t.a.codes, t.b.codes), strict=True))
    shown = {"name": x.label, "a": a, "b": b, "flushed": bool(_flushed(t, k)), "value": number_text(x.value)}
    return shown | {"exponent": None if x.empty or x.value.kind != FINITE else x.exponent}


def _flushed(t: Trace, k: int) -> int:
    """How many of a product's factors the unit flushed, so that their value differs from their code's."""
    flush = t.setting.accumulator.flush_inputs
    pairs = zip(t.setting.formats, (t.a.codes[k], t.b.codes[k]), strict=True)
    return sum(operand_decoder(f, flush)(code) != decoder(f)(code) for f, code in pairs)


def _stage(x: Stage) -> dict[str, Any]:
    shown: dict[str, Any] = {"stage": x["stage"], "step": x.get("step", 0)}
    if x["stage"] in ("round", "convert"):
        fmt, code = x["format"], x["code"]
        value = number_text(decoder(fmt)(code))
        rounding = {"format": fmt.name, "rounding": x["rounding"], "fraction_bits": x["kept"]}
        rounding |= {"code": fmt.hex(code), "value": value}
        return shown | {"of": x["label"], "exact": number_text(x["input"])} | rounding | {"flags": f"{x['flags']:02x}"}
    if x["stage"] == "special":
        return shown | {"terms": [_term(term, None) for term in x["terms"]], "sum": number_text(x["sum"])}
    terms = [_term(term, a) for term, a in zip(x["terms"], x["aligned"], strict=True)]
    fuse = {"F": "inf" if x["bits"] is None else x["bits"], "align": x["align"], "M": x["largest"]}
    return shown | fuse | {"terms": terms, "sum": number_text(x["sum"])}


def _term(term: Term, a: Aligned | None) -> dict[str, Any]:
    shown: dict[str, Any] = {"of": term.label, "value": number_text(term.value)}
    if a is not None:
        shown |= {"kept": a.kept, "unit": a.unit, "cut": number_text(_cut(term, a))}
    return shown


def _cut(term: Term, a: Aligned) -> Value:
    """The part of a term that the alignment cut off."""
    return exact.add(term.value, exact.finite(int(a.kept > 0), abs(a.kept), a.unit))


# -- as text -----------------------------------------------------------------------------------------------------------


def trace_text(t: Trace) -> Iterator[str]:
    """The trace as text, line by line."""
    s = t.setting
    yield f"{'c':6} {s.c.hex(t.c)} = {number_text(decoder(s.c)(t.c))}"
    for k, x in enumerate(t.products):
        a, b = (f.hex(codes[k]) for f, codes in zip(s.formats, (t.a.codes, t.b.codes), strict=True))
        exponent = "" if x.empty or x.value.kind != FINITE else f"  exponent {x.exponent}"
        yield f"{x.label:6} {a} * {b} = {number_text(x.value)}{exponent}" + ("  (flushed)" if _flushed(t, k) else "")
    step = -1
    for i, stage in enumerate(t.stages):
        if stage.get("step", -1) != step and "step" in stage:
            step = stage["step"]
            yield f"step {step}"
        yield from _stage_text(f"s{i}", stage)
    yield f"{'result':6} {s.out.hex(t.bits)} = {number_text(decoder(s.out)(t.bits))}  flags {t.flags:02x}"


def _stage_text(name: str, x: Stage) -> Iterator[str]:
    if x["stage"] in ("round", "convert"):
        fmt, code = x["format"], x["code"]
        rounding: str = x["rounding"]
        mode = LONG.get(rounding, rounding) + ("" if x["kept"] is None else f":{x['kept']}")
        exact_text, result = number_text(x["input"]), number_text(decoder(fmt)(code))
        change = "  (exact)" if exact_text == result else f"  (was {exact_text})"
        change = change if x["input"].kind == FINITE else ""
        yield f"{name:6} round {x['label']} to {fmt.name}:{mode} = {fmt.hex(code)} = {result}{change}"
        return
    if x["stage"] == "special":
        yield f"{name:6} fuse {' + '.join(t.label for t in x['terms'])} = {number_text(x['sum'])}"
        return
    if x["bits"] is None:
        how = "exactly"
    else:
        how = f"F={x['bits']} {x['align']}" + ("" if x["largest"] is None else f", M={x['largest']}")
    yield f"{name:6} fuse {' + '.join(t.label for t in x['terms'])}, {how} = {number_text(x['sum'])}"
    for term, a in zip(x["terms"], x["aligned"], strict=True):
        if a.lost:
            whole = f"{number_text(term.value)} is {a.kept} * 2^{a.unit}"
            yield f"{'':6}   {term.label}: {whole}, cut {number_text(_cut(term, a))}"


# -- why a result differs ----------------------------------------------------------------------------------------------


def losses(t: Trace) -> str:
    """A short description of how a dot product differed from an exact sum."""
    stages = t.stages
    flushed = sum(_flushed(t, k) for k in range(len(t.products)))
    words = [f"{flushed} operand{'s' * (flushed > 1)} flushed"] if flushed else []
    cut = [(y.label, a) for x in stages if x["stage"] == "fuse" for y, a in zip(x["terms"], x["aligned"], strict=True)]
    lost = sum(a.lost for _, a in cut)
    if lost:
        words.append(f"{lost} of {len(cut)} terms cut in alignment")
    rounded = [x for x in stages if x["stage"] in ("round", "convert")]
    changed = sum(_changes(x) for x in rounded)
    if changed:
        words.append(f"{changed} of {len(rounded)} roundings inexact")
    if any(_becomes(x, INF) for x in rounded):
        words.append("overflow to Inf")
    if any(x["stage"] == "special" and x["sum"].kind == NAN for x in stages):
        words.append("NaN")
    return ", ".join(words) or "nothing lost"


def _changes(x: Stage) -> bool:
    result = decoder(x["format"])(x["code"])
    both = x["input"].kind == FINITE and result.kind == FINITE
    return both and exact.compare(x["input"], result) != 0


def _becomes(x: Stage, kind: int) -> bool:
    return x["input"].kind == FINITE and decoder(x["format"])(x["code"]).kind == kind
