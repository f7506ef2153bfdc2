"""The options of a device under test, which `check` and `identify` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import click

from softfloat_ref.app.options import Seconds, bundled
from softfloat_ref.base.errors import Error
from softfloat_ref.testing.compare import CompareNan
from softfloat_ref.testing.library import LibraryDevice
from softfloat_ref.units import Unit

_MAX_WIDTH: Final = 64


@dataclass(frozen=True)
class Device:
    """A device under test: a command, or a function of a library. nan: how its NaNs are compared."""

    command: str | None
    library: str | None
    timeout_s: float
    nan: CompareNan

    def require(self, instead: str = "") -> None:
        """Raise Error unless just one device is given."""
        if (self.command is None) == (self.library is None):
            raise Error(f"give one device: --dut CMD or --dut-lib PATH.so:NAME{instead}")

    def load(self, unit: Unit) -> LibraryDevice:
        """The function of the library, a context manager. Raises Error for a unit that it cannot be."""
        fields = [*unit.inputs, *unit.results]
        if any(f.lanes > 1 for f in fields):
            raise Error("--dut-lib: functions of arrays take scalar operations; give a command, with --dut")
        if max(f.width for f in fields) > _MAX_WIDTH:
            raise Error(f"--dut-lib: codes have up to {_MAX_WIDTH} bits there; give a command, with --dut")
        return LibraryDevice(str(self.library), len(fields) - 1, self.timeout_s)


def _device(given: dict[str, Any]) -> dict[str, Any]:
    command, library, timeout, nan = (given.pop(n) for n in ("dut", "dut_lib", "timeout", "compare_nan"))
    return {"device": Device(command, library, timeout, CompareNan(nan))}


device_options: Final = bundled(
    _device,
    click.option("--dut", metavar="CMD", help="A command: operand lines in, `result [flags]` lines out."),
    click.option("--dut-lib", metavar="SO:NAME", help="A C function of arrays in a shared library."),
    click.option("--compare-nan", type=click.Choice([str(c) for c in CompareNan]), default="exact", show_default=True),
    click.option(
        "--timeout",
        type=Seconds(min=0.01),
        default=10.0,
        show_default=True,
        help="Timeout per answer, in seconds.",
    ),
)
