"""A device under test: adapters, comparison, reports; Hypothesis strategies and conformance suites.

The strategies (bits, values, blocks, formats, policies) and the suites (AddConformance, FmaConformance, ...) need
Hypothesis: `pip install 'softfloat-ref[testing]'`. docs/property-tests.md shows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softfloat_ref.testing.conformance import (
        AddConformance,
        AffineConformance,
        BlockQuantizeConformance,
        CompareConformance,
        ConvertConformance,
        DivConformance,
        DotConformance,
        FmaConformance,
        FunctionConformance,
        IntegerDotConformance,
        MinMaxConformance,
        MulConformance,
        NotConforming,
        OperationConformance,
        QuantizeConformance,
        RequantizeConformance,
        SqrtConformance,
        SubConformance,
    )
    from softfloat_ref.testing.strategies import bits, blocks, formats, operands, policies, values

__all__ = [
    "AddConformance",
    "AffineConformance",
    "BlockQuantizeConformance",
    "CompareConformance",
    "ConvertConformance",
    "DivConformance",
    "DotConformance",
    "FmaConformance",
    "FunctionConformance",
    "IntegerDotConformance",
    "MinMaxConformance",
    "MulConformance",
    "NotConforming",
    "OperationConformance",
    "QuantizeConformance",
    "RequantizeConformance",
    "SqrtConformance",
    "SubConformance",
    "bits",
    "blocks",
    "formats",
    "operands",
    "policies",
    "values",
]


def __getattr__(name: str) -> Any:
    """Import Hypothesis when one of these names is first used."""
    import importlib

    if name not in __all__:
        raise AttributeError(f"module 'softfloat_ref.testing' has no attribute {name!r}")
    module = "conformance" if name[0].isupper() else "strategies"
    return getattr(importlib.import_module(f"softfloat_ref.testing.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
