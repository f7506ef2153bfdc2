"""A diagnosis in words, and as data."""

from __future__ import annotations

from typing import Any, Final

from softfloat_ref.codec import decoder
from softfloat_ref.diagnosis.cost import operand_formats
from softfloat_ref.diagnosis.hypotheses import Case
from softfloat_ref.diagnosis.ranking import Diagnosis, Finding
from softfloat_ref.explain import flag_text, value_text
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing import block_answers
from softfloat_ref.testing.check import Checkable

ALSO: Final = 5  # other explanations shown
_LANES: Final = 4


def lines(d: Diagnosis, vectors: Checkable) -> list[str]:
    """What the device seems to do, how far that goes, what refutes the next best, and the simplest mismatch."""
    if not d.findings:
        none = "no policy, profile, accumulator or listed defect explains any of these mismatches"
        return [f"diagnosis: {none}", *_simplest(d, vectors)]
    first, *others = d.best
    found = [f"diagnosis: the device {first.hypothesis.says}" if d.complete else _partly(d)]
    found.append(f"  {_share(first, d)}: {first.hypothesis.name}")
    found += [f"  as many: {f.hypothesis.name}" for f in others[:ALSO]]
    if second := d.runner_up:
        found.append(f"  {_share(second, d)}: {second.hypothesis.name}" + (", refuted by" if d.refutation else ""))
        found += [] if d.refutation is None else [f"    {case_text(d.refutation, vectors)}"]
    if d.exception is not None:
        found += ["  not explained, for one:", f"    {case_text(d.exception, vectors)}"]
    return [*found, *_simplest(d, vectors)]


def _partly(d: Diagnosis) -> str:
    """The first line where something is left unexplained."""
    f = d.findings[0]
    rest = d.examined - f.explained
    few = rest * 20 <= d.wrong
    return (
        f"diagnosis: the device {'' if few else 'perhaps '}{f.hypothesis.says}, and does something else in {rest} cases"
    )


def _share(f: Finding, d: Diagnosis) -> str:
    if f.explained == d.examined:
        return f"explains all {d.examined} cases, {d.wrong} of them mismatches"
    return f"explains {f.explained} of {d.examined} cases ({100 * f.explained / d.examined:.3g} %)"


def _simplest(d: Diagnosis, vectors: Checkable) -> list[str]:
    if d.simplest is None:
        return []
    return [f"  simplest mismatch: {case_text(d.simplest, vectors)}"]


def case_text(case: Case, vectors: Checkable) -> str:
    """Operands, what is expected and what came, in one line."""
    if isinstance(vectors, VectorSet) and vectors.block is None:
        formats = operand_formats(vectors)
        shown = " ".join(_code(x, f) for x, f in zip(case.inputs, formats, strict=True))
        answers = f"expected {_answer(case.expected, vectors)}, got {_answer(case.got, vectors)}"
        return f"{vectors.op} {shown}: {answers}"
    if isinstance(vectors, DotSet):
        return (
            f"{_dot_text(case, vectors)}: expected {_answer(case.expected, vectors)}, got {_answer(case.got, vectors)}"
        )
    return _block_text(case, vectors)


def _code(code: int, fmt: Any) -> str:
    return f"r={code:x}" if fmt is None else f"{fmt.hex(code)} ({_value(code, fmt)})"


def _value(code: int, fmt: Any) -> str:
    return value_text(decoder(fmt)(code)).split(" (0x")[0] if not code >> fmt.width else "too wide"


def _answer(output: tuple[int, ...], vectors: Any) -> str:
    text = f"{vectors.out.hex(output[0])} ({_value(output[0], vectors.out)})"
    return text if len(output) < 2 else f"{text} flags {flag_text(output[1])}"


def _dot_text(case: Case, vectors: DotSet) -> str:
    formats, at, parts = operand_formats(vectors), 0, []
    for f in (x for x in vectors.fields if x.role == "operand"):
        codes = case.inputs[at : at + f.lanes]
        shown = {i: x for i, x in enumerate(codes) if x} if f.lanes > 1 else {0: codes[0]}
        fmt = formats[at]
        assert fmt is not None
        if f.lanes > 1 and len(set(codes)) == 1 and codes[0]:
            parts.append(f"{f.name} {fmt.hex(codes[0])} everywhere")
        elif f.lanes > 1:
            parts.append(f"{f.name} {_sparse(shown, fmt)}")
        else:
            parts.append(f"{f.name} {_code(codes[0], fmt)}")
        at += f.lanes
    return "dot " + ", ".join(parts)


def _sparse(codes: dict[int, int], fmt: Any) -> str:
    if not codes:
        return "0"
    shown = [f"[{i}]={fmt.hex(x)}" for i, x in list(codes.items())[:_LANES]]
    rest = len(codes) - _LANES
    return " ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def _block_text(case: Case, vectors: VectorSet) -> str:
    formats = block_answers.formats(vectors)
    places = [i for i, (x, y) in enumerate(zip(case.expected, case.got, strict=True)) if x != y][:_LANES]
    quantize = vectors.op == "quantize"

    def name(i: int) -> str:
        return ("scale" if i == 0 else f"element {i - 1}") if quantize else f"value {i}"

    wrong = [f"{name(i)} {formats[i].hex(case.expected[i])} came as {formats[i].hex(case.got[i])}" for i in places]
    inputs = operand_formats(vectors)
    shown = {i: x for i, x in enumerate(case.inputs) if x}
    nonzero = [f"[{i}]={_code(x, inputs[i])}" for i, x in list(shown.items())[:_LANES]]
    rest = len(shown) - _LANES
    given = " ".join(nonzero) + (f" and {rest} more" if rest > 0 else "") or "zeros"
    return f"{vectors.op} {given}: {', '.join(wrong)}"


def as_dict(d: Diagnosis, vectors: Checkable) -> dict[str, Any]:
    """The diagnosis as data."""
    return {
        "examined": d.examined,
        "mismatched": d.wrong,
        "findings": [
            {"name": f.hypothesis.name, "kind": f.hypothesis.kind, "says": f.hypothesis.says, "explained": f.explained}
            for f in d.findings
        ],
        "complete": d.complete,
        "refutation_of_runner_up": d.refutation and case_text(d.refutation, vectors),
        "not_explained": d.exception and case_text(d.exception, vectors),
        "simplest_mismatch": d.simplest
        and {"operands": [f"{x:x}" for x in d.simplest.inputs], "text": case_text(d.simplest, vectors)},
    }
