"""The core in seconds: a fixed sample of everything that formats, rounding, codec, operations, scales, policies and
accumulators say (tests/core), as hashes. The other tests say that the answers are right; this one, that none of them
changes unnoticed: a changed hash is a change of the library's bits or words, and an entry in the changelog.

`python tests/test_core.py` prints the hashes of this checkout. The mutation tests (`python -m tests.mutants`) run on
this file: it must stay quick, and see every small change.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from core import accumulators, conversions, definitions, operations, sums  # noqa: F401
from core.samples import SAMPLES

HASHES: dict[str, str] = {
    "accumulators": "f1d20917dc006f32",
    "dots": "be6b39a706a3c6c5",
    "trees": "97c501b618ac08b5",
    "decisions": "29be24c254885df5",
    "targets": "aefa286a961b232f",
    "encodings": "3b61d09b9db4d07f",
    "sticky_encodings": "5e4d6e6b14e2e50a",
    "whole_small_formats": "2664e09040fc648c",
    "rounding_pieces": "dbea76abf530c650",
    "conversions": "fb771545710b3127",
    "exact_numbers": "892fb80d0b754e4a",
    "scales": "68cff505e08cf62a",
    "formats": "436f892ecbd208c8",
    "ulps": "6557d26f4cf5a0c4",
    "format_names": "cb79cc952093c822",
    "policies": "0fe8403cc16fb278",
    "toml_files": "5d8ec2502b4ba2f4",
    "limits": "0aa2b1a2b191aac9",
    "operations": "65c9cc4dd50e4aa5",
    "special_operations": "1f8f6a006bdfacc3",
    "signatures": "1abe199538df4a0b",
    "block_dots": "05af5340c42d89f4",
    "scale_specials": "4eabf79d390cab50",
    "operands": "e9b236d380c0dcdf",
    "addends": "0debded54684b8e3",
    "special_sums": "fb76e4b671720f06",
    "zero_sums": "8887fb9e724c2c36",
    "levels": "5392fb59fe132536",
    "definitions_of_sums": "2f0c0e4cab87fa88",
    "references": "d3573293fde28b7d",
}


def digest(name: str) -> str:
    found = hashlib.sha256()
    for x in SAMPLES[name]():
        found.update(repr(x).encode() + b"\n")
    return found.hexdigest()[:16]


def is_unchanged(name: str) -> bool:
    return digest(name) == HASHES[name]


def pytest_generate_tests(metafunc: Any) -> None:
    metafunc.parametrize("name", SAMPLES)


def test_sample(name: str) -> None:
    assert is_unchanged(name), f"{name}: hash {digest(name)}; a change of any bit is an entry in the changelog"


if __name__ == "__main__":
    import time

    for key in SAMPLES:
        start = time.process_time()
        print(f'    "{key}": "{digest(key)}",  # {time.process_time() - start:.2f} s')
