"""What the log of a build says is wrong: the errors, in the order of the log, and not the warnings before them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_C_ERROR: Final = r"^[^%\s].*?(?:\berror: |: undefined reference to |\bld: cannot find )"  # of compilers and linkers
_ANY_ERROR: Final = r"^.*(?:(?:^%|\s)error|not found)\b"
_HINT: Final = re.compile(r"^\s*\.\.\. (?:See the manual|For \w+ description see|Use \"/\* verilator lint_off)")


@dataclass(frozen=True)
class LogErrors:
    """How a program's errors begin in its log: patterns of lines, of which the first that is there counts.

    passed: those that end the build, although the program goes on after them. more: how lines begin that belong to the
    error before them.
    """

    patterns: tuple[re.Pattern[str], ...] = ()
    passed: re.Pattern[str] | None = None
    more: re.Pattern[str] = re.compile(r"\s")

    def messages(self, log: str) -> list[list[str]]:
        """The lines of each error; without one, those of the log."""
        for pattern in (*self.patterns, _pattern(_ANY_ERROR)):
            if messages := list(self._messages(log, pattern)):
                return messages
        return [[line] for line in log.splitlines() if line.strip()]

    def ignored(self, log: str) -> str | None:
        """The first error after which the program went on; None without one."""
        return next((lines[0] for lines in self._messages(log, self.passed)), None) if self.passed else None

    def _messages(self, log: str, pattern: re.Pattern[str]) -> Iterator[list[str]]:
        message: list[str] = []
        for line in log.splitlines():
            if pattern.match(line):
                if message:
                    yield message
                message = [line.strip()]
            elif message and self.more.match(line):
                message += [] if _HINT.match(line) else [line.rstrip()]
            elif message:
                yield message
                message = []
        if message:
            yield message


def _pattern(*texts: str) -> re.Pattern[str]:
    return re.compile("|".join(texts), re.IGNORECASE)


ANY: Final = LogErrors()
VERILATOR: Final = LogErrors((_pattern(r"%Error(?!: '?make |: Exiting due)"), _pattern(_C_ERROR), _pattern("%Error")))
_LINE: Final = r"[^:]+:\d+: "
_UNDEFINED: Final = rf"{_LINE}warning: (?:macro \S+ undefined|parameter \S+ not found)"
ICARUS: Final = LogErrors(
    (_pattern(rf"{_LINE}(?:error|sorry|internal error|syntax error|assert|Include file)\b", "error: ", _UNDEFINED),),
    _pattern(_UNDEFINED),
    re.compile(r"\s|\S.*?:\d+:\s{2,}:"),
)
GHDL: Final = LogErrors(
    (
        _pattern(r"[^:]+:\d+:\d+:(?!\s*(?:warning|note)\b)"),
        _pattern(r"\S*ghdl\S*:error: "),
        _pattern(r"raised [\w.]+ : "),  # of its own bugs
    ),
    _pattern(r'[^:]+:\d+:\d+:warning: instance ".*" of component ".*" is not bound'),
)
