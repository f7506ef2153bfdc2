"""Classes of operands as sets of codes: every code of every narrow format is among those of its class."""

from __future__ import annotations

import pytest

from softfloat_ref.coverage.classes import class_of, coarse, codes_among
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format

FORMATS = [f for f in CATALOGUE.values() if f.width <= 9 or f.name == "fp16"]
FORMATS += [get_format(x) for x in ("binary6p3se", "s1e1m3b0", "s1e4m3b10fnuz")]
FORMATS += [Format("nosub", 3, 3, 3, subnormals="none"), Format("more", 3, 3, 3, subnormals="normal")]


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
def test_every_code_is_among_those_of_its_class(fmt: Format) -> None:
    for code in range(1 << fmt.width):
        name = class_of(fmt, code)
        assert all(any(code in r for r in codes_among(fmt, x)) for x in (name, coarse(name))), (name, fmt.hex(code))
