"""The options of `check` that measure kappa, as IEEE P3109 defines it, and write its declaration."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from softfloat_ref.app.options import bundled
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import write_file
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE
from softfloat_ref.testing import declaration
from softfloat_ref.testing.judge import CheckReport
from softfloat_ref.testing.kappa import Allowance, Kappas, intervals

_MEASURED: Final = "measure"  # --kappa without a number


@dataclass(frozen=True)
class KappaChoice:
    """What the options say. allowance: None without --kappa; file, name, provider: of the declaration."""

    allowance: Allowance | None = None
    file: str | None = None
    name: str = ""
    provider: declaration.Provider = field(default_factory=declaration.Provider)

    def declare(self, found: CheckReport) -> None:
        """Write the declaration, if one was asked for. Raises Error."""
        if self.file is None or not isinstance(found.errors, Kappas):
            return
        if found.failure or not found.compared:
            raise Error(f"{self.file} is not written: {found.failure or 'nothing was compared'}")
        method = "exhaustive" if found.vectors.level == EXHAUSTIVE else "sampling"
        text = declaration.kappas(found.errors, self.name, method, self.provider, Path(self.file).name)
        write_file(self.file, lambda stream: stream.write(text.encode()))


def _choice(given: dict[str, Any]) -> dict[str, Any]:
    """The options as one `kappa`."""
    kappa, parts, file, name, provider = (
        given.pop(x) for x in ("kappa", "kappa_intervals", "declare", "declared_name", "provider")
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
    if text == _MEASURED:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise Error(f"--kappa {text[:40]}: give a number of values, such as 1, or none to measure it")
    return int(text)


provider_option: Final = click.option(
    "--provider", metavar="FILE.toml", help="Metadata of a declaration: provider, email, uri, name, version, timestamp."
)
kappa_options: Final = bundled(
    _choice,
    click.option(
        "--kappa",
        is_flag=False,
        flag_value=_MEASURED,
        metavar="[K]",
        help="Largest error allowed, in values of the format (P3109 4.4); without K, measure it.",
    ),
    click.option("--kappa-intervals", metavar="INTERVALS", help="Kappa by intervals: '[-inf,-1) [-1,1] (1,inf]'."),
    click.option("--declare", metavar="FILE", help="Write P3109's declaration of kappa (YAML)."),
    click.option("--name", "declared_name", metavar="NAME", help="The name of the approximate operation."),
    provider_option,
)
