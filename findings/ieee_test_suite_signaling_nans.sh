#!/usr/bin/env bash
# SPDX-License-Identifier: 0BSD
#
# What: IBM's floating-point test suite for IEEE 754 (.fptest) expects no invalid exception from 182 sums, differences,
# products, quotients and fused multiply-adds of which the first NaN is quiet and a later one signaling. In 90 of them the
# invalid exception is trapped, and the result is "#", for none, as if it had occurred. If the signaling NaN comes first,
# or in the decimal files, in any order, the suite expects the exception. In 6 lines it expects the exception from abs,
# copy and negate of a signaling NaN, whose result is that NaN.
#
# Standard: IEEE 754-2008, 6.2: a signaling NaN signals the invalid exception for every general-computational operation, and
# 7.2 a): any such operation on a signaling NaN; neither depends on other operands. 5.5.1: copy, negate and abs signal no
# exception. The suite's syntax.txt, 3, 6 and 7: i is the invalid exception, and # stands where an exception that is
# trapped left no result.
#
# Seen with commit 12e883a0c7b826976a8f1243318ac4b7626a0ffc of https://github.com/sergev/ieee754-test-suite, a copy of the
# suite.
#
# Run: bash findings/ieee_test_suite_signaling_nans.sh
# It clones the suite, or the repository that is its argument, into a temporary folder, and needs git, python3 and a
# network.
# Exit code: 0 as long as the behaviour is the one described; 1 if it has changed.
set -euo pipefail

source=${1:-https://github.com/sergev/ieee754-test-suite}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
git clone -q "$source" suite
git -C suite checkout -q 12e883a0c7b826976a8f1243318ac4b7626a0ffc

cat > lines.py <<'PYTHON'
import re
import sys
from collections import Counter
from pathlib import Path

ARITHMETIC, SIGN = {"+", "-", "*", "/", "*+"}, {"A", "cp", "~"}
counts = Counter()
examples = {}
for path in sorted(Path("suite").glob("*.fptest")):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = re.match(r"([bd])\d+(\S+) +(\S+) +(.*?) *-> *(\S+) *(\S*) *$", line)
        if match is None:
            continue
        radix, op, _, inputs, result, flags = match.groups()
        words = inputs.split()
        is_trapped = bool(words) and re.fullmatch("[xuozi]+", words[0]) is not None and "i" in words[0]
        nans = [word for word in words if word in ("Q", "S")]
        if "S" not in nans or op not in ARITHMETIC | SIGN:
            continue
        kind = "sign" if op in SIGN else "quiet NaN first" if nans[0] == "Q" else "signaling NaN first"
        key = radix, kind, "i" in flags, is_trapped and result == "#"
        counts[key] += 1
        examples.setdefault(key, f"{path.name}:{number}: {line}")

described = {  # binary or decimal, what comes first, whether i is expected, whether it is trapped and # is the result
    ("b", "quiet NaN first", False, False): 92,
    ("b", "quiet NaN first", False, True): 90,
    ("b", "sign", True, False): 6,
}
for key in described:
    print(counts[key], "lines such as", examples.get(key))
decimal = {key[2] for key in counts if key[0] == "d"}
first = {key[2] for key in counts if key[1] == "signaling NaN first"}
print("decimal files expect the exception:", decimal, "a signaling NaN that comes first:", first)
same = all(counts[key] == number for key, number in described.items()) and decimal == first == {True}
sys.exit(0 if same and not any(key[1] == "sign" and not key[2] for key in counts) else 1)
PYTHON

if python3 lines.py; then
  echo "as described: whether a signaling NaN is invalid depends on the order of the operands"
else
  echo "the behaviour has changed"
  exit 1
fi
