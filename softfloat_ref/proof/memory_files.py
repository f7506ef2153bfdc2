"""Memory files ($readmemh, $readmemb) that the front ends of Yosys 0.70 do not read as IEEE 1800 (21.4) has them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text

_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD: Final = re.compile(r"@[0-9a-fA-F]+|[0-9a-fA-F_xXzZ]+")


def check_memory_files(paths: Iterable[Path], frontend: str) -> None:
    """Raise Error for a file that the front end may read as another one. When the last word of a memory is loaded,
    slang's loses what follows in the line, and Yosys' own what follows in the file; that matters where it has an
    address. Both take # for a comment."""
    for path in paths:
        text = _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), read_text(path, limits.SOURCE))
        addresses = 0
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            for place, word in enumerate(words):
                if not _WORD.fullmatch(word):
                    raise Error(f"{path}:{number}: {word!r} is neither a number nor an address for Yosys")
                addresses += word.startswith("@")
                if word.startswith("@") and (place if frontend == "slang" else addresses > 1):
                    remedy = "begin a new line" if frontend == "slang" else "use the front end slang"
                    raise Error(f"{path}:{number}: Yosys does not read the words at {word}; {remedy}")
