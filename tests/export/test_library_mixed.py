"""Operations of exported C libraries whose result has a wider format: results and flags equal to the oracle's."""

from __future__ import annotations

import itertools
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from libraries import CompiledLibrary, library_texts
from library_comparison import OPERATIONS, SANITIZED, SETTINGS, codes
from test_library import POLICIES

from softfloat_ref.base.errors import Error
from softfloat_ref.export.library import library_files, library_policy
from softfloat_ref.export.library.mixed import OPERATIONS as MIXED
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluator, signature

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")


class MixedLibrary:
    def __init__(self, names: tuple[str, ...], folder: Path, policy: dict[str, Any], *options: str) -> None:
        chosen = library_policy(policy)
        self.policy, self.rng = chosen.policy, random.Random(3)
        texts = library_files([get_format(x) for x in names], chosen, mixed=True)
        self.compiled = CompiledLibrary(texts, folder, *options)

    def check(self, own: str, wide: str, count: int, exhaustive: bool = False) -> None:
        """All operations of a pair; pairs of all codes, or directed and random ones, in some settings each."""
        narrow, result = get_format(own), get_format(wide)
        for k, name in enumerate(MIXED):
            sig = signature(OPERATIONS[name], narrow)
            formats = [narrow] * min(sig.operation.arity, 2) + [result] * (sig.operation.arity == 3)
            sig = signature(OPERATIONS[name], formats, result)
            if exhaustive and len(formats) < 3:
                cases = list(itertools.product(range(1 << narrow.width), repeat=len(formats)))
            else:
                cases = list(zip(*(codes(f, count, self.rng) for f in formats), strict=True))
            function = f"{own.replace('fp', 'f')}_{name}_{wide.replace('fp', 'f')}"
            for mode, tininess in [SETTINGS[0], *SETTINGS[1 + k :: 3]]:
                answer = evaluator(sig, self.policy.replace(rounding=mode, tininess=tininess))
                results, flags = self.compiled(function, list(zip(*cases, strict=True)), mode, tininess)
                for case, code, raised in zip(cases, results.tolist(), flags.tolist(), strict=True):
                    assert (code, raised) == answer(case, 0), (function, mode, tininess, [f"{x:x}" for x in case])


@pytest.mark.full
def test_fp4_in_fp16(tmp_path: Path) -> None:
    MixedLibrary(("fp4_e2m1", "fp16"), tmp_path, {}, *SANITIZED).check("fp4_e2m1", "fp16", 60, exhaustive=True)


@pytest.mark.full(gate=2)
@pytest.mark.parametrize("policy", list(POLICIES))
def test_policies(policy: str, tmp_path: Path) -> None:
    """NaNs are passed on with payload and signaling; bf16 has FP32's subnormals, which may be flushed."""
    fields = POLICIES[policy]
    small = "fp8_e4m3" if fields.get("flush_inputs") or "tpu" in policy else "fp8_e4m3fnuz"
    library = MixedLibrary((small, "fp8_e5m2", "bf16", "fp32", "fp64"), tmp_path, fields, "-O1")
    for own, wide in ((small, "bf16"), ("fp8_e5m2", "fp32"), ("bf16", "fp32"), ("fp32", "fp64"), (small, "fp64")):
        library.check(own, wide, 80)


def test_pairs_of_formats() -> None:
    """The wider format has all numbers of the other; it is one with Inf and NaNs above."""
    header = library_files(
        [get_format(x) for x in ("fp8_e4m3", "fp6_e3m2", "fp16", "bf16")], library_policy({}), mixed=True
    )
    text = header["softfloat_units.h"]
    assert "float16_t f8_e4m3_mulAdd_f16(float8_e4m3_t a, float8_e4m3_t b, float16_t c);" in text
    assert "bfloat16_t f6_e3m2_sqrt_bf16(float6_e3m2_t a);" in text
    assert not [x for x in ("_f8_e4m3(", "_f6_e3m2(", "f16_mul_bf16", "bf16_mul_f16") if x in text]
    with pytest.raises(Error, match="--mixed: no format of the library has all numbers of another one"):
        library_files([get_format("fp16"), get_format("bf16")], library_policy({}), mixed=True)
    assert "softfloat_mixed.c" not in library_texts(["fp16", "fp32"])
