"""The options of a device under test, of the comparison of its answers, and of kappa, as IEEE P3109 defines it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from softfloat_ref.app.options import Seconds, base_option, bundled
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import write_data
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE
from softfloat_ref.rtl.tolerance import CompareNan
from softfloat_ref.testing import declaration
from softfloat_ref.testing.judge import CheckReport
from softfloat_ref.testing.kappa import Allowance, Kappas, intervals
from softfloat_ref.testing.library import LibraryDevice
from softfloat_ref.units import Unit

_MAX_WIDTH: Final = 64
_MEASURE: Final = "measure"  # --kappa without a number


@dataclass(frozen=True)
class DeviceChoice:
    """A device under test: a command, or a function of a library. nan: how its NaNs are compared; base: of the digits
    of its answers."""

    command: str | None
    library: str | None
    timeout_s: float
    nan: CompareNan
    base: str | None

    def require(self, instead: str = "") -> None:
        """Raise Error unless just one device is given."""
        if (self.command is None) == (self.library is None):
            raise Error(f"give one device: --dut CMD or --dut-lib PATH.so:NAME{instead}")

    def load(self, unit: Unit) -> LibraryDevice:
        """The function of the library, a context manager. Raises Error for a unit that it cannot be."""
        if self.base is not None:
            raise Error("--base is for lines of digits; a function of arrays gives codes")
        fields = [*unit.inputs, *unit.results]
        if any(f.lanes > 1 for f in fields):
            raise Error("--dut-lib: functions of arrays take scalar operations; give a command, with --dut")
        if max(f.width for f in fields) > _MAX_WIDTH:
            raise Error(f"--dut-lib: codes have up to {_MAX_WIDTH} bits there; give a command, with --dut")
        return LibraryDevice(str(self.library), len(fields) - 1, self.timeout_s)


def _device(params: dict[str, Any]) -> dict[str, Any]:
    command, library, timeout, nan = (params.pop(n) for n in ("dut", "dut_lib", "timeout", "compare_nan"))
    return {"device": DeviceChoice(command, library, timeout, CompareNan(nan), params.pop("base"))}


device_options: Final = bundled(
    _device,
    click.option("--dut", metavar="CMD", help="A command: operand lines in, `result [flags]` lines out."),
    click.option("--dut-lib", metavar="SO:NAME", help="A C function of arrays in a shared library."),
    click.option("--compare-nan", type=click.Choice([str(c) for c in CompareNan]), default="exact", show_default=True),
    base_option,
    click.option(
        "--timeout",
        type=Seconds(min=0.01),
        default=10.0,
        show_default=True,
        help="Timeout per answer, in seconds.",
    ),
)


# -- kappa -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KappaChoice:
    """The options of kappa. allowance: None without --kappa; file, name, provider: of the declaration."""

    allowance: Allowance | None = None
    file: str | None = None
    name: str = ""
    provider: declaration.Provider = field(default_factory=declaration.Provider)

    def declare(self, report: CheckReport) -> None:
        """Write the declaration, if one was asked for. Raises Error."""
        if self.file is None or not isinstance(report.errors, Kappas):
            return
        if report.failure or not report.compared:
            raise Error(f"{self.file} is not written: {report.failure or 'nothing was compared'}")
        method = "exhaustive" if report.vectors.level == EXHAUSTIVE else "sampling"
        text = declaration.kappas(report.errors, self.name, method, self.provider, Path(self.file).name)
        write_data(self.file, text)


def _kappa(params: dict[str, Any]) -> dict[str, Any]:
    """The options as one `kappa`."""
    kappa, parts, file, name, provider = (
        params.pop(x) for x in ("kappa", "kappa_intervals", "declare", "declared_name", "provider")
    )
    if kappa is None:
        for option, value in (("--kappa-intervals", parts), ("--declare", file)):
            if value is not None:
                raise Error(f"{option} needs --kappa")
    if (file is None) != (name is None):
        raise Error("--declare FILE and --name NAME go together: an approximate operation has a name of its own")
    if provider is not None and file is None:
        raise Error("--provider is for --declare")
    if kappa is None:
        return {"kappa": KappaChoice()}
    allowance = Allowance(_limit(kappa), intervals(parts) if parts is not None else ())
    if name is not None:
        declaration.check_approximate(name)
    return {"kappa": KappaChoice(allowance, file, name or "", declaration.read_provider(provider))}


def _limit(text: str) -> int | None:
    """The largest kappa allowed; None to measure it. Raises Error."""
    if text == _MEASURE:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise Error(f"--kappa {text[:40]}: give a number of values, such as 1, or none to measure it")
    return int(text)


provider_option: Final = click.option(
    "--provider", metavar="FILE.toml", help="Metadata of a declaration: provider, email, uri, name, version, timestamp."
)
kappa_options: Final = bundled(
    _kappa,
    click.option(
        "--kappa",
        is_flag=False,
        flag_value=_MEASURE,
        metavar="[K]",
        help="Largest error allowed, in values of the format (P3109 4.4); without K, measure it.",
    ),
    click.option("--kappa-intervals", metavar="INTERVALS", help="Kappa by intervals: '[-inf,-1) [-1,1] (1,inf]'."),
    click.option("--declare", metavar="FILE", help="Write P3109's declaration of kappa (YAML)."),
    click.option("--name", "declared_name", metavar="NAME", help="The name of the approximate operation."),
    provider_option,
)
