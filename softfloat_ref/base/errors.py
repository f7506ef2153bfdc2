"""The errors that a user can cause. Each is one line that says where the problem is, what it is and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

SHOWN: Final = 48
MAX_MESSAGE: Final = 2000


def one_line(message: object) -> str:
    """The message as one line, even if names or files in it contain line breaks."""
    line = " ".join(str(message).splitlines())
    return line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 3] + "..."


def counted(count: int, noun: str) -> str:
    """A number of things, such as `1 operand` or `2 operands`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class Error(ValueError):
    """Bad usage or bad input. The message is one line that can be shown to the user unchanged: line breaks from names
    or files become spaces, and an overlong message is cut."""

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(message))


def refuse(what: str, *problems: tuple[str, bool]) -> None:
    """Raise Error with the message of the first condition that is true."""
    for problem, wrong in problems:
        if wrong:
            raise Error(f"{what}: {problem}")


def missing(package: str, extra: str) -> Error:
    """The error for a package that an extra installs."""
    return Error(f"{package}, needed for this, is not installed: pip install 'softfloat-ref[{extra}]'")


class Undefined(Error):
    """A case that has no defined result under the policy; generated vectors omit it."""


def _closest(name: str, known: list[str]) -> list[str]:
    """Names that begin with it, as a family does (`fp8`), else names that are spelled alike."""
    family = [x for x in known if x.startswith(name)] if len(name) > 2 else []
    return family[:3] or difflib.get_close_matches(name, known, n=3, cutoff=0.5)


def unknown(kind: str, name: str, known: Iterable[str], hint: str = "") -> Error:
    """The error for an unknown name, with the closest known names."""
    known = list(known)
    close = _closest(name.lower(), known)
    more = ", ..." if len(known) > SHOWN else ""
    advice = f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(known[:SHOWN])}{more}"
    shown = name if len(name) <= 60 else name[:57] + "..."
    return Error(f"unknown {kind} {shown!r}; {advice}{hint}")
