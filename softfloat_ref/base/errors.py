"""The errors that a user can cause. Each is one line that says where the problem is, what it is and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MAX_NAMES: Final = 48
MAX_MESSAGE: Final = 2000
# Control characters, line ends, marks that reverse the direction of a text, and halves of characters: a terminal would
# obey them, or an encoding refuse them.
_HIDDEN: Final = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
HIDDEN: Final = re.compile(f"[{_HIDDEN}]")
_NAMES: Final = re.compile(rf"[\\{_HIDDEN}]")


def one_line(message: object) -> str:
    """The message as one line, even if names or files in it contain line breaks; other hidden characters escaped."""
    text = str(message)[: 2 * MAX_MESSAGE]
    line = HIDDEN.sub(_escape, " ".join(text.splitlines()))
    return line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 3] + "..."


def escaped(name: str) -> str:
    """A name from a file as it is printed: hidden characters and backslashes as in a Python text, such as \\x1b. Two
    names never become the same."""
    return _NAMES.sub(_escape, name)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def counted(count: int, noun: str) -> str:
    """A number of things, such as `1 operand` or `2 operands`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class Error(ValueError):
    """Bad usage or bad input. The message is one line that can be shown to the user unchanged: line breaks from names
    or files become spaces, and an overlong message is cut."""

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(message))


@contextmanager
def errors_of(name: str | Path) -> Iterator[None]:
    """Put the name of a file in front of an Error raised within, unless it is there."""
    try:
        yield
    except Error as e:
        raise e if str(e).startswith(one_line(f"{name}:")) else Error(f"{name}: {e}") from None


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
    more = ", ..." if len(known) > MAX_NAMES else ""
    advice = f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(known[:MAX_NAMES])}{more}"
    excerpt = name if len(name) <= 60 else name[:57] + "..."
    return Error(f"unknown {kind} {excerpt!r}; {advice}{hint}")
