"""The core in seconds: a fixed sample of the answers of formats, rounding, codec, operations, scales, policies and
accumulators (tests/support/core), as hashes. The other tests check that the answers are right; this one, that none of
them changes unnoticed: a changed hash is a change of the library's bits or words, and an entry in the changelog.

`python tests/oracle/test_core.py` prints the hashes of this checkout. The mutation tests (tests/campaigns/mutants) run
this file: it must stay quick, and see every small change.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1] / "support")]

from core import accumulators, beside, blocks, conversions, definitions, extended, in_steps, operations, sums  # noqa: F401
from core.samples import SAMPLES

HASHES: dict[str, str] = {
    "accumulators": "1ccd469e621e2320",
    "dots": "ca601f068f984018",
    "trees": "ee5017a088952178",
    "decisions": "29be24c254885df5",
    "targets": "ddc60320fb61673b",
    "encodings": "cd6a9e5262f0d011",
    "sticky_encodings": "203e45c9e27c3f6c",
    "whole_small_formats": "498de53ce97c926c",
    "rounding_pieces": "366813ce4cbe79bf",
    "modular_conversions": "9d851a30ab2ff026",
    "conversions": "fa3f1f577f32ca4a",
    "exact_numbers": "199bf53d138174a7",
    "scales": "78829ccf11c2145f",
    "formats": "410ea20d26d1a391",
    "ulps": "6c58cf084079cb4b",
    "format_names": "b6bf4a92673157bf",
    "policies": "4f9480ccb155d159",
    "toml_files": "42d050dd17dc1c13",
    "limits": "368156e8a4ae6b9c",
    "rows": "de63d4f2852df892",
    "operations": "2f92daa043b6af1c",
    "functions": "6c4f483aaa519684",
    "processors": "5e6df7f119baf609",
    "interpolations": "3c486e8d28e6083e",
    "special_operations": "ed4b935c88461899",
    "signatures": "051205afd7ce0a89",
    "block_dots": "b783c27726459a25",
    "scale_specials": "4eabf79d390cab50",
    "wider_formats": "0afcb52dacd4d057",
    "operands": "b437f5e34fd3b143",
    "block_quantizers": "a8a15c130582033b",
    "fp32_arithmetic": "9ffeae0f495bed5f",
    "given_tensor_scales": "656c756be631c1ee",
    "definitions_of_profiles": "0cb5084af5f1701a",
    "choices_of_profiles": "6bddc982a1a3ea11",
    "scale_errors": "64b3239940108c10",
    "second_scales": "17c0d6f84877cda5",
    "addends": "c9f5fad93138d9d5",
    "special_sums": "fb76e4b671720f06",
    "zero_sums": "8887fb9e724c2c36",
    "levels": "5392fb59fe132536",
    "definitions_of_sums": "49429fd61df775ea",
    "on_formats": "cbd54199fb3a301c",
    "types_of_formats": "a0cf6e69b5854863",
    "vector_functions": "de071e8a019a8770",
    "vector_functions_of_specials": "d74b178d2e7b30bf",
    "aligned_numbers": "483cdb5ff0395026",
    "references": "8e6cd2b59e3841e4",
    "extended_precision": "34889fe1ef401d85",
    "stored_integer_bits": "70700ff902349b76",
    "special_functions": "9ecf8cf9357e6632",
    "names_of_p3109": "c2ce7d1649393916",
    "operations_in_steps": "5d8cea1323a37589",
    "dots_in_steps": "aa60680d209c9b6a",
    "defaults": "3491fa48164c9f6c",
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
