"""YAML as plain tables, lists and texts, each text with its line; within limits of size, depth and number.

PyYAML's events are read here, not its objects: nothing is constructed, an alias is the value itself and no copy, and
the text of a number or a date stays as it was typed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text

MERGE: Final = "<<"  # a key whose tables a table inherits; readers of formats do that by their own rules


class Text(str):
    """A scalar or key of a file as it was typed. line: where it is; plain: without quotes."""

    line: int
    plain: bool

    def __new__(cls, text: str, line: int, plain: bool = False) -> Text:
        """The text, with its line."""
        text_ = super().__new__(cls, text)
        text_.line, text_.plain = line, plain
        return text_


class Table(dict[str, Any]):
    """A mapping, whose keys are each a Text. line: where it begins."""

    line = 0


Value = Text | None | list[Any] | Table
_TRUTH: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def truth(value: object) -> bool | None:
    """What a value says by true, yes or on, or their opposites; None if it says something else."""
    return _TRUTH.get(value.lower()) if isinstance(value, Text) and value.plain else None


def read_yaml(path: str | Path, purpose: str, skipped_lines: int = 0) -> Value:
    """The one document of a file; None if it is empty. purpose: what it is read for, said without PyYAML;
    skipped_lines: at the start, which are not YAML. Raises Error."""
    text = read_text(path, limits.YAML, "utf-8-sig")
    yaml = _yaml(path, purpose)
    lines = text.split("\n")
    lines[:skipped_lines] = [""] * skipped_lines
    try:
        loader = yaml.SafeLoader("\n".join(lines))
        try:
            return _Reader(yaml, loader, path).document()
        finally:
            loader.dispose()
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(e, "problem", None) or str(e).partition("\n")[0]
        raise Error(f"{path}{line}: {problem}") from None


def _yaml(path: str | Path, purpose: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise Error(
            f"{path}: PyYAML, which reads {purpose}, is not installed: pip install 'softfloat-ref[sim]'"
        ) from None
    return yaml


class _Reader:
    def __init__(self, yaml: Any, loader: Any, path: str | Path) -> None:
        self.yaml, self.loader, self.path = yaml, loader, path
        self.anchors: dict[str, Value] = {}

    def document(self) -> Value:
        """The value of the only document."""
        events = self._events()
        value: Value = None
        for event in events:
            if isinstance(event, self.yaml.DocumentStartEvent):
                if value is not None:
                    raise self._error(event, "a second document")
                value = self._value(next(events), events, 0)
        return value

    def _events(self) -> Iterator[Any]:
        while self.loader.check_event():
            yield self.loader.get_event()

    def _error(self, event: Any, problem: str) -> Error:
        return Error(f"{self.path}:{event.start_mark.line + 1}: {problem}")

    def _value(self, event: Any, events: Iterator[Any], depth: int) -> Value:
        if depth > limits.DEPTH:
            raise self._error(event, f"more than {limits.DEPTH} tables and lists in each other")
        if isinstance(event, self.yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise self._error(event, f"*{event.anchor} has no anchor before it, or stands within it")
            return self.anchors[event.anchor]
        if isinstance(event, self.yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, self.yaml.SequenceStartEvent):
            value = list(self._items(events, self.yaml.SequenceEndEvent, depth))
        else:
            value = self._table(event, events, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = value
        return value

    def _scalar(self, event: Any) -> Value:
        tag = event.tag or self.loader.resolve(self.yaml.ScalarNode, event.value, event.implicit)
        return None if tag.endswith(":null") else Text(event.value, event.start_mark.line + 1, event.implicit[0])

    def _items(self, events: Iterator[Any], end: Any, depth: int) -> Iterator[Value]:
        for event in events:
            if isinstance(event, end):
                return
            yield self._value(event, events, depth + 1)

    def _table(self, start: Any, events: Iterator[Any], depth: int) -> Table:
        table = Table()
        table.line = start.start_mark.line + 1
        while not isinstance(event := next(events), self.yaml.MappingEndEvent):
            if not isinstance(event, self.yaml.ScalarEvent):
                raise self._error(event, "a key that is not a text")
            key = Text(event.value, event.start_mark.line + 1)
            if key in table:
                raise self._error(event, f"{key} is there twice")
            table[key] = self._value(next(events), events, depth + 1)
        return table
