"""Options of pytest's command line for softfloat_ref.testing; without them, nothing else is imported.

A module of its own, outside the package: pytest imports the plugins of everything that is installed, in every run.
"""

from __future__ import annotations

from typing import Any

_PREFIX = "--softfloat-"
_OPTIONS: dict[str, dict[str, Any]] = {
    "dut": {"metavar": "CMD", "help": "a device: operand lines in, `result [flags]` lines out; its suite is run"},
    "op": {"metavar": "OP", "help": "the operation, as fma, or dot"},
    "fmt": {"metavar": "FORMAT", "help": "format, or one an operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32"},
    "out": {"metavar": "FORMAT", "help": "the result's format"},
    "policy": {"metavar": "NAME", "help": "policy, as riscv, or FILE.toml[:NAME]"},
    "round": {"metavar": "MODE", "help": "rounding, as rtz"},
    "set": {"metavar": "FIELD=VALUE", "action": "append", "help": "a field of the policy, as tininess=before"},
    "acc": {"metavar": "NAME", "help": "of dot: the accumulator (default: fp32-sequential)"},
    "k": {"metavar": "N", "type": int, "help": "of dot: products (default: 16)"},
    "compare-nan": {"metavar": "HOW", "default": "exact", "help": "exact, quiet or any"},
    "no-flags": {"action": "store_true", "help": "flags do not count"},
    "timeout": {"metavar": "S", "type": float, "default": 10.0, "help": "seconds an answer"},
    "examples": {"metavar": "N", "type": int, "help": "cases a property (default: the Hypothesis profile's)"},
}


def pytest_addoption(parser: Any) -> None:
    """The options, all of them --softfloat-...."""
    group = parser.getgroup("softfloat-ref", "properties of a device (softfloat_ref)")
    for name, settings in _OPTIONS.items():
        group.addoption(f"{_PREFIX}{name}", dest=f"softfloat_{name.replace('-', '_')}", **settings)


def pytest_configure(config: Any) -> None:
    """Run the suite of a device, where one is given."""
    if config.getoption("softfloat_dut") is not None:
        import pytest

        try:
            from softfloat_ref.testing import plugin

            device = plugin.DevicePlugin(config)
        except ValueError as e:  # the library's errors: Hypothesis is missing, or an empty command
            raise pytest.UsageError(str(e)) from None
        config.pluginmanager.register(device, "softfloat-ref-device")
        return
    # Those of a configuration file may wait there for a device.
    typed = [x for x in config.invocation_params.args if str(x).startswith(_PREFIX)]
    if typed:
        import pytest

        raise pytest.UsageError(f"{typed[0].partition('=')[0]} is for a device; give {_PREFIX}dut=CMD too")
