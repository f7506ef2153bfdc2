"""A .core file of FuseSoC: its name and version, what its tables inherit and append, and its conditions on flags."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.yaml_text import MERGE, Table, Text, read_yaml, truth
from softfloat_ref.rtl.project_entries import At

_TOOL: Final = "verilator"  # if no target names one
_APPEND: Final = "_append"
_WORD: Final = r'[A-Za-z0-9`:<>.\[\]_,=~/^+"$-]++'
_PART: Final = re.compile(rf"\s*(?:(!?)\s*({_WORD})\s*\?\s*\(|({_WORD})|\))")  # of a text with conditions
_RELATION: Final = re.compile(r"(!?)(>=|<=|[><~^=]?)(.*)")
_SAME: Final = {"^": 1, "~": 2}  # numbers of a version


class CoreVersion(NamedTuple):
    """The name of a core, vendor:library:name, its version, and how it is compared."""

    name: str
    version: tuple[int, ...]
    relation: str = ""

    @classmethod
    def of(cls, text: str, error: Callable[[str], Error]) -> CoreVersion:
        """The name and version that a text has. Raises error(message)."""
        match = _RELATION.fullmatch(text)
        relation, parts = (match[2], match[3].split(":")) if match else ("", [])
        if len(parts) == 1:  # of old: name-version
            plain = re.fullmatch(r"(.*?)(?:-(\d[\w.]*))?(?:-r(\d+))?", parts[0])
            parts = ["", "", plain[1], plain[2] or ""] if plain else []
        if len(parts) == 3:
            parts.append("")
        if len(parts) != 4:
            raise error(f"{text!r} is not the name of a core; example: vendor:library:name:1.0")
        numbers = tuple(int(number) for number in re.findall(r"\d+", parts[3].replace("-r", ".")))
        return cls(":".join(parts[:3]), numbers, relation or ("=" if parts[3] else ""))

    def fits(self, version: tuple[int, ...]) -> bool:
        """Whether a version is as wanted."""
        size = max(len(self.version), len(version))
        own, other = ((*v, *[0] * (size - len(v))) for v in (self.version, version))
        same = _SAME.get(self.relation, 0)
        order = {"": True, "=": other == own, ">": other > own, "<": other < own, "<=": other <= own}
        return order.get(self.relation, other >= own and other[:same] == own[:same])


@dataclass(frozen=True)
class Core:
    """A file. top: whether it is the one that was given, and not one that it depends on."""

    at: At
    top: bool = False

    @cached_property
    def table(self) -> Table:
        """All of it, with what tables inherit, and lists to which others are appended."""
        table = self.at.table(read_yaml(self.at.file, ".core files", skipped_lines=1), "a core")
        return _appended(_inherited(table, self.at, {}))

    @cached_property
    def name(self) -> CoreVersion:
        """Its name and version."""
        return CoreVersion.of(str(self.at.text(self.table.get("name"), "name")), self.at.error)

    @cached_property
    def targets(self) -> Table:
        """Its targets."""
        return self.at.table(self.table.get("targets"), "targets")

    def flags(self, name: str) -> set[str]:
        """The flags that a target sets."""
        target = self.at.table(self.targets[name], f"target {name}")
        options = target.get("flow_options")
        tool = target.get("default_tool") or (options.get("tool") if isinstance(options, Table) else None) or _TOOL
        flags = {f"target_{name}", f"tool_{tool}"}
        for flag, value in self.at.table(target.get("flags"), "flags").items():
            if value is not None and truth(value) is not False:
                flags.add(flag if truth(value) else f"{flag}_{value}")
        return flags


def _inherited(value: Any, at: At, done: dict[int, Any]) -> Any:
    """A table with those that it inherits by <<, which FuseSoC merges in depth."""
    if not isinstance(value, Table):
        return value
    if id(value) in done:  # by an alias
        return done[id(value)]
    own = Table({key: _inherited(item, at, done) for key, item in value.items()})
    own.line = value.line
    parent = own.pop(MERGE, Table())
    if not isinstance(parent, Table):
        raise at.of(value).error(f"{MERGE} inherits one table, not a list")
    done[id(value)] = _merged(parent, own, True)
    return done[id(value)]


def _merged(parent: Table, own: Table, appends_only: bool) -> Table:
    merged = Table(parent)
    merged.line = own.line
    for key, value in own.items():
        before = merged.get(key)
        if isinstance(value, Table):
            merged[key] = _merged(before if isinstance(before, Table) else Table(), value, False)
        elif isinstance(value, list) and isinstance(before, list) and (not appends_only or key.endswith(_APPEND)):
            merged[key] = [*before, *value]
        else:
            merged[key] = value
    return merged


def _appended(table: Table) -> Table:
    """A table of tables with each list NAME_append at the end of the list NAME."""
    result = Table()
    result.line = table.line
    for key, value in table.items():
        result[key] = _appended(value) if isinstance(value, Table) else value
    for key, value in table.items():
        name = key.removesuffix(_APPEND)
        if key != name and isinstance(value, list) and isinstance(result.get(name, []), list):
            result[name] = [*result.get(name, []), *value]
    return result


# -- conditions on flags -----------------------------------------------------------------------------------------------


def words_of(at: At, value: object, flags: set[str]) -> list[Text]:
    """The texts of a list, by the flags that are set; without those of which nothing is left."""
    texts = [at.text(item, "an entry") for item in at.listed(value, "a list")]
    return [Text(word, text.line) for text in texts if (word := expanded(text, flags, at))]


def expanded(value: object, flags: set[str], at: At) -> str:
    """What is left of a text such as `flag? (a) !flag? (b)` by the flags that are set. Raises Error."""
    text = str(value)
    if "?" not in text:
        return text
    at, words, place = at.of(value), list[str](), 0
    if len(text) > limits.KEY:
        raise at.error(f"a condition of more than {limits.KEY} characters")
    included = [True]  # for each parenthesis that is open
    while part := _PART.match(text, place):
        place = part.end()
        if part[2]:
            included.append(included[-1] and (part[2] in flags) != bool(part[1]))
        elif not part[3]:
            included.pop()
        elif included[-1]:
            words.append(part[3])
        if not included:
            break
    if len(included) != 1 or text[place:].strip():
        raise at.error(f"{text!r}: a condition is written `flag? (text)`")
    return " ".join(words)
