"""Names: of a registry, or of a user's own objects (`package.module:Name`); patterns of names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, Final, TypeVar

from softfloat_ref.base.errors import Error, unknown

T = TypeVar("T")

SEPARATOR: Final = ":"
MAX_PATTERN: Final = 1000  # characters; fnmatch needs quadratic time for a pattern of brackets


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches an fnmatch pattern, in which * stands for any characters and ? for one; a pattern that is
    too long matches nothing."""
    return len(pattern) <= MAX_PATTERN and fnmatchcase(name, pattern)


def is_own(name: object) -> bool:
    """Whether a name is of a user's own object."""
    return isinstance(name, str) and SEPARATOR in name


def entry(what: str, name: object, known: Mapping[str, T], base: type | None = None) -> T:
    """What a registry has under a name, or the object `package.module:Name`, which Python must be able to import.

    base: what an imported object must be a subclass of; without it, a function will do. Raises Error.
    """
    if not is_own(name):
        if not isinstance(name, str) or name not in known:
            raise unknown(what, str(name), known)
        return known[name]
    item: T = imported(what, str(name))
    fits = callable(item) if base is None else isinstance(item, type) and issubclass(item, base)
    if not fits:
        required = "a class or a function" if base is None else f"a subclass of {base.__module__}.{base.__name__}"
        raise Error(f"{what} {name!r} is not {required}")
    return item


def imported(what: str, name: str) -> Any:
    """The object `package.module:Name`. Raises Error if it cannot be imported."""
    module, _, inner = name.partition(SEPARATOR)
    if not inner.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise Error(f"{what} {name!r}: write package.module:Name")
    try:
        return getattr(import_module(module), inner)
    except Exception as e:  # whatever a user's module raises
        raise Error(f"{what} {name!r} cannot be imported: {type(e).__name__}: {e}") from None


def parameters(what: str, function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters. Raises Error."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError) as e:
        raise Error(f"{what} has no known parameters: {e}") from None


def checked_call(what: str, function: Callable[..., Any], /, *args: Any, **keywords: Any) -> Any:
    """The result of a function. Raises Error if it does not take these arguments."""
    parameters(what, function)
    try:
        inspect.signature(function).bind(*args, **keywords)
    except TypeError as e:
        raise Error(f"{what} does not take what a recipe gives it: {e}") from None
    return function(*args, **keywords)
