"""Parse assignments such as `a=fp16,b=fp32` and `NAME,key=value,...`, with the same error messages everywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from softfloat_ref.base.errors import Error, unknown

_MAX_SHOWN: Final = 60


def words(text: str, separator: str | None = ",") -> Iterator[tuple[str, str | None]]:
    """The words of a text, each split at its first =, with None for a word that has none. Empty words are skipped.

    separator: between words; None if the text is a single word."""
    for word in filter(None, map(str.strip, [text] if separator is None else text.split(separator))):
        key, equals, value = (part.strip() for part in word.partition("="))
        yield (key, value) if equals else (word, None)


def parse(
    text: str, where: str, keys: Collection[str] | None = None, *, usage: str = "", separator: str | None = ","
) -> dict[str, str]:
    """The values of `key=value,...` by key. Raises Error for malformed text, an unknown key, and a repeated key.

    where: what the text is, for errors. keys: the valid keys (None: any); a dash may replace an underscore. usage: what
    to write instead, for errors.
    """
    values: dict[str, str] = {}
    hint = usage or (f"keys: {', '.join(keys)}" if keys else "write KEY=VALUE")
    for word, value in words(text, separator):
        if not word or value is None:
            raise Error(f"{where}: {word[:_MAX_SHOWN]!r} is not KEY=VALUE; {hint}")
        key = word if keys is None or word in keys else word.replace("-", "_")
        if keys is not None and key not in keys:
            wrong = unknown("key", key, keys, f" (in {where})")
            raise Error(f"{where}: unknown key {key[:_MAX_SHOWN]!r}; {usage}") if usage else wrong
        if key in values:
            raise Error(f"{where}: {key[:_MAX_SHOWN]} is given twice; {hint}")
        values[key] = value
    return values


def parse_named(text: str, where: str, keys: Collection[str]) -> tuple[str, dict[str, str]]:
    """The name and the values of `NAME,key=value,...`. Raises Error as `parse` does."""
    name, comma, rest = text.partition(",")
    if comma and not all(map(str.strip, rest.split(","))):
        raise Error(f"{where} {text[:_MAX_SHOWN]!r}: nothing follows the comma; write NAME,key=value,...")
    return name.strip(), parse(rest, where, keys)
