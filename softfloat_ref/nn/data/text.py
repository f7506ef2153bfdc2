"""Texts: characters, and words of the Penn Treebank."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.data.files import digest, find_file, read_unpacked, read_utf8
from softfloat_ref.nn.data.model import LINES, Dataset, permutation

_TEST: Final = 10  # the last tenth of a text is for the test
_UNNAMED: Final = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HANGUL SYLLABLE", "YI SYLLABLE")
UNKNOWN: Final = "<unk>"
END: Final = "<eos>"


def unicode_names() -> str:
    """The names of Unicode 3.2's characters, one per line, in a fixed random order; the same in every Python version.

    Python keeps this version of the database for internationalised domain names (RFC 3490). Names that only count or
    spell a code (CJK ideographs, Hangul and Yi syllables) are left out; neighbours in the code charts are torn apart,
    since they differ in one word.
    """
    database = unicodedata.ucd_3_2_0
    named = (database.name(chr(code), "") for code in range(0x110000))
    lines = [name for name in named if name and not name.startswith(_UNNAMED)]
    return "".join(lines[i] + "\n" for i in permutation(0, LINES, 0, len(lines)).tolist())


def characters(*, seed: int, root: Path | None = None, train: int | None = None, test: int | None = None) -> Dataset:
    """Characters of Unicode's names, or of a UTF-8 file of the user's; the last tenth is for the test.

    train, test: how many of each part are kept. Symbols are numbered in the characters' order. Raises Error.
    """
    del seed  # a text has its own order
    if root is not None and not root.is_file():
        raise Error(f"{root}: data 'text' reads one UTF-8 file: give its path")
    whole = unicode_names() if root is None else read_utf8(root)
    alphabet = sorted(set(whole))
    if len(whole) < _TEST * 2 or len(alphabet) < 2:
        raise Error(f"{root}: a text needs at least {_TEST * 2} characters, at least two of them different")
    symbols = _numbered(whole, alphabet)
    cut = len(symbols) - len(symbols) // _TEST
    name = "names of Unicode 3.2" if root is None else root.name
    return _dataset(symbols[:cut][:train], symbols[cut:][:test], len(alphabet), f"{name}, {digest(whole.encode())}")


def ptb(*, seed: int, root: Path, train: int | None = None, test: int | None = None) -> Dataset:
    """The words of ptb.train.txt and ptb.test.txt, a line's end being one more; train, test: how many are kept.

    Numbered by how often they occur for training, the commonest first; equally common ones in the alphabet's order.
    Raises Error, also for a word of the test that is unknown where the text has no <unk>.
    """
    del seed
    paths = [find_file(root, f"ptb.{part}.txt") for part in ("train", "test")]
    learn, proof = (_words(path) for path in paths)
    counts = Counter(learn)
    known = {w: i for i, (w, _) in enumerate(sorted(counts.items(), key=lambda item: (-item[1], item[0])))}
    missing = next((w for w in proof if w not in known), None)
    if missing is not None and UNKNOWN not in known:
        raise Error(f"{paths[1]}: {missing[:40]!r} is not in {paths[0].name}, which has no {UNKNOWN} either")
    parts = [np.array([known.get(w, known.get(UNKNOWN, 0)) for w in x], np.int64) for x in (learn, proof)]
    source = f"Penn Treebank, {digest(*(read_unpacked(p) for p in paths))}"
    return _dataset(parts[0][:train], parts[1][:test], len(known), source)


def _words(path: Path) -> list[str]:
    words = read_utf8(path).replace("\n", f" {END} ").split()
    if not words:
        raise Error(f"{path}: no words")
    return words


def _numbered(whole: str, alphabet: Iterable[str]) -> NDArray[np.int64]:
    codes = np.array([ord(c) for c in alphabet], np.uint32)
    numbers = np.searchsorted(codes, np.frombuffer(whole.encode("utf-32-le"), "<u4"))
    return numbers.astype(np.int64)


def _dataset(learn: NDArray[np.int64], proof: NDArray[np.int64], classes: int, source: str) -> Dataset:
    return Dataset(learn, learn, proof, proof, "text", classes, source)
