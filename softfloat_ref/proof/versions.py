"""The versions of the tools that a proof is made with."""

from __future__ import annotations

import importlib.metadata
from typing import Final

_PACKAGES: Final = {"z3": "z3-solver"}  # of tools with other names


def installed_version(tool: str) -> str | None:
    """The version of a tool from PyPI, or of softfloat-ref; None if it is not installed."""
    from softfloat_ref import __version__

    if tool == "softfloat-ref":
        return __version__
    try:
        return importlib.metadata.version(_PACKAGES.get(tool, tool))
    except importlib.metadata.PackageNotFoundError:
        return None


def versions(*tools: str) -> dict[str, str]:
    """The versions of tools that are installed; an empty name is none."""
    return {tool: version for tool in tools if tool and (version := installed_version(tool)) is not None}
