"""`python -m tests.campaigns.mutants [MODULE...]`: mutate the core; exit code 1 where an unlisted mutant survives."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import click

from . import run

CORE = ("rounding", "codec", "exact", "blocks/scale_rules", "policies", "formats", "operations", "accumulate")
ORACLE = run.TOP / "softfloat_ref" / "oracle"
# The text of traces: other tests are for it, not the core suite.
UNSAMPLED = {"trace.py"}
SURVIVORS = Path(__file__).with_name("survivors.toml")
# The samples of the core suite that a module's mutants are asked first.
FIRST = {
    "rounding": ("rounding_pieces", "sticky_encodings", "encodings", "dots", "trees"),
    "codec": ("stored_integer_bits", "extended_precision", "conversions", "targets", "whole_small_formats"),
    "exact": ("exact_numbers", "operations"),
    "blocks/scale_rules": ("scales",),
    "blocks/fp32_steps": ("fp32_arithmetic",),
    "blocks/profile": ("definitions_of_profiles",),
    "blocks": ("choices_of_profiles", "given_tensor_scales", "block_quantizers", "scale_errors", "second_scales"),
    "encodings": ("extended_precision", "stored_integer_bits"),
    "rounding_steps": ("operations_in_steps", "dots_in_steps"),
    "steps": ("operations_in_steps", "dots_in_steps"),
    "policies": ("extended_precision", "policies", "format_names", "targets"),
    "formats": ("stored_integer_bits", "extended_precision", "ulps", "format_names", "formats", "policies", "targets"),
    "operations/real_functions": ("special_functions", "functions"),
    "operations/interpolation": ("interpolations",),
    "operations/estimates/nvidia": ("interpolations", "processors"),
    "operations/estimates": ("processors",),
    "reals": ("special_functions", "functions"),
    "vector_functions": ("vector_functions_of_specials", "vector_functions"),
    "operations/modular": ("modular_conversions",),
    "operations": ("signatures", "operations", "special_operations", "extended_precision"),
    "accumulate": (
        *("trees", "accumulators", "dots", "levels", "operands", "definitions_of_sums", "addends", "block_dots"),
        *("special_sums", "zero_sums", "scale_specials"),
    ),
}


def files(modules: tuple[str, ...]) -> list[Path]:
    """The files of modules: of the core, or a path below the oracle."""
    paths: list[Path] = []
    for name in modules or CORE:
        path = ORACLE / name
        inside = (p for p in sorted(path.glob("*.py")) if p.name not in UNSAMPLED)
        paths += inside if path.is_dir() else [path.with_suffix(".py")]
    for path in paths:
        if not path.is_file():
            raise click.UsageError(f"{path}: no such module; the core is {', '.join(CORE)}")
    return paths


def changed_lines(base: str, path: Path) -> set[int]:
    """The lines of a file that differ from another commit's, wherever it stood there."""
    numbers: set[int] = set()
    whole = _git("diff", "--unified=0", "--find-renames", base, "--", str(run.TOP / "softfloat_ref"))
    _, _, rest = whole.partition(f"\n+++ b/{path.relative_to(run.TOP)}\n")
    for start, count in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", rest.partition("\ndiff --git ")[0], re.M):
        numbers |= set(range(int(start), int(start) + int(count or 1)))
    return numbers


def first_samples(path: Path) -> tuple[str, ...]:
    """The samples of the core suite that a file's mutants are asked first."""
    name = str(path.relative_to(ORACLE).with_suffix(""))
    return next((samples for module, samples in FIRST.items() if name == module or name.startswith(f"{module}/")), ())


def base_commit() -> str:
    """Where the branch left main, or, on main, the commit before; "" where git knows neither."""
    head = _git("rev-parse", "HEAD")
    tried = (("merge-base", "HEAD", "origin/main"), ("merge-base", "HEAD", "main"), ("rev-parse", "--verify", "HEAD~1"))
    return next((commit.strip() for x in tried if (commit := _git(*x)) and commit != head), "")


def _git(*arguments: str) -> str:
    """What git prints; nothing where it fails, or is not there."""
    try:
        done = subprocess.run(["git", *arguments], cwd=run.TOP, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def listed() -> dict[str, dict[str, str]]:
    """By file: mutants that change nothing, and why."""
    return tomllib.loads(SURVIVORS.read_text(encoding="utf-8")) if SURVIVORS.exists() else {}


@click.command()
@click.argument("modules", nargs=-1, metavar="[MODULE]...")
@click.option("--changed", is_flag=True, help="Only lines that differ from the commit where the branch began.")
@click.option("--base", default=None, help="With --changed: another commit.")
@click.option("--seconds", type=float, default=None, help="Stop after so long; what is left is counted.")
@click.option("--every", default=1, show_default=True, help="One of so many mutants.")
def main(modules: tuple[str, ...], changed: bool, base: str | None, seconds: float | None, every: int) -> None:
    """Mutate MODULEs of the core, all by default, and run the core suite on each mutant."""
    known, end = listed(), time.monotonic() + (seconds or float("inf"))
    lines: dict[Path, set[int] | None] = dict.fromkeys(files(modules))
    if changed:
        base = base or base_commit()
        if not base:
            print("no commit to compare with: nothing is mutated")
            return
        lines = {path: numbers for path in lines if (numbers := changed_lines(base, path))}
    if not lines:
        print("no changed lines of the core: nothing is mutated")
        return
    run.prepare()
    first = next(iter(lines))
    if not run.survives(first, first.read_text(encoding="utf-8"), ()):
        raise click.ClickException("the core suite fails without any mutant; run pytest tests/oracle/test_core.py")
    surviving = 0
    for path, of_lines in lines.items():
        surviving += _mutate(path, of_lines, known.get(str(path.relative_to(run.TOP)), {}), end, every)
    sys.exit(surviving > 0)


def _mutate(path: Path, lines: set[int] | None, equivalent: dict[str, str], end: float, every: int) -> int:
    """Run the mutants of a file, and print what survives; how many that are not listed do."""
    from .source import mutants

    name, began = str(path.relative_to(run.TOP)), time.monotonic()
    total = killed = known = left = 0
    surviving: list[str] = []
    for number, mutant in enumerate(mutants(path.read_text(encoding="utf-8"), lines)):
        if number % every:
            continue
        total += 1
        if mutant.key in equivalent:
            known += 1
        elif time.monotonic() > end:
            left += 1
        elif run.survives(path, mutant.text, first_samples(path)):
            surviving.append(f"  {name}:{mutant.line}: {mutant.key}")
            print(surviving[-1], flush=True)
        else:
            killed += 1
    spent = time.monotonic() - began
    more = f", {left} not run" if left else ""
    print(
        f"{name}: {total} mutants, {killed} killed, {known} equivalent, {len(surviving)} survive{more} ({spent:.0f} s)",
        flush=True,
    )
    return len(surviving)


if __name__ == "__main__":
    main()
