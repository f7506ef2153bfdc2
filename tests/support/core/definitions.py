"""Formats and policies: every field, what follows from it, and every refusal."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import tempfile
from pathlib import Path

from core.samples import FORMATS, MODES, MORE, NAMED, Sample, said, sample
from softfloat_ref.oracle.accumulate import define_accumulator, get_accumulator
from softfloat_ref.oracle.formats import ALIASES, define_format, deprecated_spelling, get_format, in_full, p3109
from softfloat_ref.oracle.policies import Policy, get_policy


@sample
def formats() -> Sample:
    for f in FORMATS:
        yield f.to_dict()
        names = [n for n in dir(type(f)) if not n.startswith("_") and not callable(getattr(type(f), n))]
        yield [(n, getattr(f, n)) for n in sorted(names) if n not in {x.name for x in dataclasses.fields(f)}]
        codes = (
            range(1 << f.width)
            if f.width <= 8
            else {0, 1, f.max_code, f.sign_bit, f.inf_code, f.canonical_nan, f.min_normal_code, (1 << f.width) - 1}
        )
        yield [
            (c, f.is_nan(c), f.hex(c), f.magnitude(c & f.magnitude_mask) if c & f.magnitude_mask <= f.max_code else "")
            for c in sorted(codes)
        ]
    yield sorted(ALIASES.items())


@sample
def ulps() -> Sample:
    for f in FORMATS:
        yield [
            f.ulp_exponent(top)
            for top in (-20000, -300, *range(-40, 40), 300, 20000, f.emin - 1, f.emin, f.emax, f.emax + 1)
        ]


@sample
def format_names() -> Sample:
    for name in (
        "s1e5m2",
        "S1E5M2 ",
        "s1e5m2b15",
        "s1e4m3b-3fn",
        "s0e3m3fnuz",
        "s1e0m3",
        "s1e20m256",
        "s1e21m2",
        "s1e5m257",
        "s2e1m1",
        "i0",
        "i256",
        "i257",
        "u1",
        "binary3p1se",
        "binary2p1se",
        "binary16p16ue",
        "binary8p9se",
        "binary8p8sf",
        "binary8p8uf",
        "fp8",
        "fp17",
        "",
        "half",
        5,
        "s1e1m0",
        "s1e1m0fn",
        "s1e2m0fn",
        "s0e1m1fn",
        "s1e1m1finite",
        "s1e1m1fnuz",
        "s1e4m3b99999999",
        "s0e5m2",
        "s1e2m1fnuz",
        "mxfp8",
        "fp8_e4m3@e8m0/" + "1" * 60,
    ):
        yield name, said(lambda n=name: get_format(n).to_dict())
    yield [deprecated_spelling(name) for name in ("int8", " INT8", "mx_int8", "i8", 5)]
    for k, p, signed, extended in itertools.product(range(2, 6), range(7), (True, False), (True, False)):
        yield said(lambda *a: p3109(a[0], a[1], signed=a[2], extended=a[3]).to_dict(), k, p, signed, extended)
    good = {"exponent_bits": 4, "mantissa_bits": 3, "bias": 7}
    for change in (
        {},
        {"bias": "x"},
        {"bias": True},
        {"x": 1},
        {"like": "fp16"},
        {"signed": 1},
        {"nan": "none"},
        {"nan": "none", "overflow": "max"},
        {"nan": "none", "infinity": False, "overflow": "max"},
        {"nan": "top", "infinity": False},
        {"nan": "top", "overflow": "nan", "infinity": False},
        {"nan": "odd"},
        {"zero": False},
        {"zero": False, "subnormals": "normal"},
        {"zero": False, "subnormals": "normal", "signed": False},
        {"twos_complement": True},
        {"twos_complement": True, "nan": "none", "infinity": False, "overflow": "max", "exponent_bits": 0},
        {"signaling": True},
        {"mantissa_bits": 0, "signaling": True},
        {"mantissa_bits": 1, "signaling": True},
        {"mantissa_bits": 2, "signaling": True},
        {"symmetric": True},
        {"nan": "negative-zero", "signed": False},
        {"bias": 1 << 30},
        {"mantissa_bits": -1},
        {"mantissa_bits": 257},
        {"exponent_bits": 0},
        {"exponent_bits": 21},
        {"overflow": "x"},
        {"subnormals": "none"},
        {"subnormals": "odd"},
        {"name": "b c"},
        {"exponent_bits": 1, "mantissa_bits": 0},
        {"exponent_bits": 0, "mantissa_bits": 0},
    ):
        yield change, said(lambda c=change: define_format({**good, **c}, "a").to_dict())
    for table, name in (
        ({}, None),
        ({"name": "b"}, None),
        ({"name": 3}, "a"),
        ([], None),
        ("x", "y"),
        ({"like": "fp16", "bias": 3}, None),
    ):
        yield said(lambda t=table, n=name: define_format(t, n).to_dict())


@sample
def policies() -> Sample:
    for p in (*NAMED, *MODES, *MORE):
        yield p.to_dict(), p.random_count, [str(p.overflow_for(f)) for f in FORMATS]
        yield (
            [said(p.nan_rule.code, f) if f.has_nan else "" for f in FORMATS],
            p.nan_rule,
            [p.nan_rule.has_code(f) for f in FORMATS],
        )
    for fields in (
        {"rounding": "x"},
        {"rounding": 3},
        {"rounding": "SR"},
        {"rounding": "sr", "sr_bits": 0},
        {"rounding": "sr", "sr_bits": 64},
        {"sr_bits": 65},
        {"sr_bits": 1},
        {"sr_bits": True},
        {"nan": "7fc0"},
        {"nan": "0x7FC0"},
        {"nan": "fp16=7e00,fp32=7fc00001"},
        {"nan": "fp16=7c00"},
        {"nan": "zz"},
        {"e8m0": "smalest"},
        {"e8m0": "Nan , field"},
        {"e8m0": 1},
        {"nan": ""},
        {"nan": "fp16="},
        {"nan": 0x7FC0},
        {"nan": True},
        {"nan": -1},
        {"nan": "propagate,fp16=7e01"},
        {"nan": "propagate,canonical"},
        {"nan": "propagate-signaling"},
        {"flush_inputs": "on"},
        {"flush_inputs": 1},
        {"flush_outputs": "off"},
        {"overflow": "sat"},
        {"overflow": None},
        {"tininess": "x"},
        {"integers": "x86"},
        {"specials": "p3109"},
        {"bare_widening": "x"},
        {"bare_widening": "ON"},
        {"bare_widening": "float16"},
        {"x": 1},
        {"nan_missing": "zero"},
    ):
        yield (
            fields,
            said(lambda f=fields: get_policy(None, **f).to_dict()),
            said(lambda f=fields: get_policy("arm").replace(**f).to_dict()),
        )
        p = said(lambda f=fields: get_policy(None, **f))
        if isinstance(p, Policy):
            yield (
                said(lambda p=p: p.random_count),
                [said(p.nan_rule.code, f) if f.has_nan else "" for f in FORMATS[:16]],
            )
            yield [p.nan_rule.has_code(f) for f in FORMATS[:16]]
    for given in (
        "ieee",
        "ARM",
        " x86-sse",
        "nothing",
        3,
        {"like": "riscv", "rounding": "rtz"},
        {"rounding": "x"},
        None,
        Policy("rtz"),
    ):
        yield (
            said(lambda g=given: get_policy(g).to_dict()),
            said(lambda g=given: get_policy(g, tininess="before").to_dict()),
        )


TOML = {
    "one.toml": '[formats.a]\nlike = "fp16"\n',
    "two.toml": '[formats.a]\nlike = "fp16"\n[formats.b]\nlike = "fp8_e4m3"\nbias = 5\n'
    '[policies.p]\nrounding = "rtz"\n',
    "itself.toml": '[formats.a]\nlike = "itself.toml:b"\n[formats.b]\nlike = "itself.toml:a"\n',
    "twice.toml": '[formats.a]\nlike = "two.toml:b"\nbias = 4\n',
    "other.toml": "formats = 3\n",
    "none.toml": "[formats]\n",
    "no_table.toml": "[formats]\na = 3\n",
    "broken.toml": "[formats\n",
    "a.toml.toml": '[formats.c]\nlike = "bf16"\n',
}


@sample
def toml_files() -> Sample:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in TOML.items():
            Path(name).write_text(text)
        for name in (
            *TOML,
            "two.toml:a",
            "two.toml:b",
            "two.toml:c",
            "two.toml:",
            "one.toml:a",
            "one.toml:a:",
            "missing.toml",
            "itself.toml:a",
        ):
            yield name, said(lambda n=name: get_format(n).to_dict()), said(lambda n=name: get_policy(n).to_dict())


@sample
def limits() -> Sample:
    good = {"exponent_bits": 4, "mantissa_bits": 3, "bias": 7}
    whole = {"twos_complement": True, "nan": "none", "infinity": False, "overflow": "max", "exponent_bits": 0}
    for change in (
        *({"bias": x} for x in (1 << 21, (1 << 21) + 1, -(1 << 21), -(1 << 21) - 1, 1 << 22)),
        *({**whole, "nan": x, "infinity": y} for x in ("none", "ieee", "top") for y in (False, True)),
        *(
            {**whole, "signed": x, "mantissa_bits": y, "exponent_bits": z}
            for x in (False, True)
            for y in (0, 1, 2)
            for z in (0, 1)
        ),
        *({**whole, "subnormals": x, "zero": y} for x in ("gradual", "none", "normal") for y in (False, True)),
    ):
        yield change, said(lambda c=change: define_format({**good, **c}, "a").to_dict())
    for name in (
        "s1e2m3b5finite",
        "s1e2m3b-5finite",
        "binary17p1se",
        "binary16p1se",
        "s1e1m0finite",
        "s0e1m0finite",
        "s1e2m0fn",
        "s0e2m0fn",
    ):
        f = said(get_format, name)
        yield name, f, isinstance(f, str) or (f.has_normals, f.emax, f.max_code, f.gap)  # type: ignore[attr-defined]
    for fields in (
        {"tininess": " Before "},
        {"tininess": 3},
        {"overflow": " SAT-NONE"},
        {"nan": "fp16=7e00=1"},
        {"overflow": "sat-narrow"},
    ):
        p = said(lambda f=fields: get_policy(None, **f))
        yield fields, p, isinstance(p, str) or [str(p.overflow_for(get_format(n))) for n in ("u8", "i9", "s1e4m4")]  # type: ignore[attr-defined]


@sample
def references() -> Sample:
    """What definitions may refer to, and that stored ones may not."""
    for within in (in_full, contextlib.nullcontext, in_full):
        with within():
            for define, table in (
                (define_format, {"like": "fp16", "name": "a"}),
                (define_format, {"like": "x.toml:" + 80 * "a", "name": "a"}),
                (define_format, get_format("fp8_e4m3").to_dict()),
                (get_policy, {"like": "ieee", "flush_inputs": True}),
                (get_policy, {"flush_inputs": True}),
                (define_accumulator, {"like": "exact", "name": "a"}),
                (define_accumulator, get_accumulator("exact").to_dict()),
            ):
                yield said(define, table)
            yield said(get_format, "x.toml:a"), said(get_format, "bf16")
