"""The pytest command-line options of softfloat_ref.testing; unless they are used, nothing else is imported.

A separate module outside the package, because pytest imports the plugins of all installed packages in every run.
"""

from __future__ import annotations

from typing import Any

_PREFIX = "--softfloat-"
_OPTIONS: dict[str, dict[str, Any]] = {
    "dut": {"metavar": "CMD", "help": "a device: operand lines in, `result [flags]` lines out; its suite is run"},
    "op": {"metavar": "OP", "help": "the operation, such as fma, or dot"},
    "fmt": {"metavar": "FORMAT", "help": "format, or one per operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32"},
    "out": {"metavar": "FORMAT", "help": "format of the result"},
    "policy": {"metavar": "NAME", "help": "policy, such as riscv, or FILE.toml[:NAME]"},
    "round": {"metavar": "MODE", "help": "rounding, such as rtz"},
    "set": {"metavar": "FIELD=VALUE", "action": "append", "help": "a field of the policy, such as tininess=before"},
    "acc": {"metavar": "NAME", "help": "dot: the accumulator (default: fp32-sequential)"},
    "k": {"metavar": "N", "type": int, "help": "dot: number of products (default: 16)"},
    "compare-nan": {"metavar": "HOW", "default": "exact", "help": "comparison of NaNs: exact, quiet or any"},
    "no-flags": {"action": "store_true", "help": "ignore flags"},
    "timeout": {"metavar": "S", "type": float, "default": 10.0, "help": "timeout per answer, in seconds"},
    "examples": {"metavar": "N", "type": int, "help": "cases per property (default: from the Hypothesis profile)"},
}


def pytest_addoption(parser: Any) -> None:
    """Add the options, all named --softfloat-...."""
    group = parser.getgroup("softfloat-ref", "properties of a device (softfloat_ref)")
    for name, settings in _OPTIONS.items():
        group.addoption(f"{_PREFIX}{name}", dest=f"softfloat_{name.replace('-', '_')}", **settings)


def pytest_configure(config: Any) -> None:
    """Run the suite of a device, if one is given."""
    if config.getoption("softfloat_dut") is not None:
        import pytest

        try:
            from softfloat_ref.testing import plugin

            device = plugin.DevicePlugin(config)
        except ValueError as e:  # the library's errors: Hypothesis is missing, or an empty command
            raise pytest.UsageError(str(e)) from None
        config.pluginmanager.register(device, "softfloat-ref-device")
        return
    # Options in a configuration file may be there before a device is given.
    typed = [x for x in config.invocation_params.args if str(x).startswith(_PREFIX)]
    if typed:
        import pytest

        raise pytest.UsageError(f"{typed[0].partition('=')[0]} needs a device: give {_PREFIX}dut=CMD too")
