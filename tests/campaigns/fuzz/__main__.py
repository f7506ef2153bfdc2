"""`python -m tests.campaigns.fuzz [READER...] [-n COUNT]`: COUNT inputs for each reader; exit code 1 for a fault."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from fuzz import definitions, files, guard, lines, models, training, vector_folders
from fuzz.reader import Reader
from softfloat_ref.base.errors import Error

SHOWN = 20  # faults of one reader
MANIFESTS = ("scalar", "left_out", "stochastic", "block", "dot", "mixed", "intermediate", "matmul", "trace")
NAMES = (  # of all readers
    *("formats", "policies", "profiles", "block_formats", "accumulators", "recipes", "suites", "ports", "waivers"),
    *("format_names", "affine_names", "affine_rules", "accumulator_trees", "random_sources"),
    *("profile_names", "policy_names"),
    *("numbers", "operand_formats", "journal", "npy", "csv", "results", "lines", "waves"),
    *("operand_lines", "requests"),
    *("captures", "operand_arrays", "arrays", "packed", "codes", "suite_manifest"),
    *("training_recipes", "checkpoints", "safetensors", "run_logs", "outcomes", "drawn_arrays"),
    *("mnist", "mnist_packed", "cifar10", "titanic", "penn_treebank", "text", "schedulers"),
    *("model_npz", "model_npy", "model_pt", "model_safetensors", "model_onnx", "model_gguf", "model_index"),
    "model_flax",
    *("model_quantized", "model_dequantized", "layouts"),
    *("certificates", "proof_results", "report_json", "kept_results", "sources", "file_lists"),
    *(
        f"vectors_{x}"
        for x in ("tv", "memh", "svh", "svpkg", "c", "csv", "jsonl", "coe", "mif", "ihex", "fptest", "npz")
    ),
    *(f"manifest_{x}" for x in MANIFESTS),
)


def workplace(folder: Path) -> Path:
    """The folder to work in, filled, with files beside it that no input may reach."""
    work = folder / "work"
    work.mkdir()
    text = '[formats.a]\nlike = "fp16"\n[policies.a]\nrounding = "rtz"\n[profiles.a]\ntail = "pad"\n'
    (folder / "outside.toml").write_text(text)
    (work / "outside.toml").write_text(text)
    vector_folders.prepare(work)
    return work


def all_readers(work: Path) -> dict[str, Reader]:
    """By name; work: a folder that `workplace` filled."""
    rooms = (vector_folders, lines, files, training, models)
    return {r.name: r for r in (*definitions.readers(), *(r for room in rooms for r in room.readers(work)))}


def warm(reader: Reader, work: Path) -> None:
    """Read the examples without a clock: modules are imported and loops compiled now."""
    for example in reader.examples:
        with suppress(Error):
            reader.run(example, work)


def fuzz(reader: Reader, work: Path, numbers: range) -> tuple[int, list[str]]:
    """How many of the inputs with those numbers were accepted, and what went wrong, once for each place."""
    accepted, faults = 0, dict[str, str]()
    warm(reader, work)
    for number in numbers:
        data = reader.input(number)
        try:
            accepted += guard.call(lambda: reader.run(data, work), reader.others)  # noqa: B023
        except guard.Fault as e:
            faults.setdefault(str(e).rpartition(", in ")[2], f"{reader.name} {number}: {e}\n  {data[:300]!r}")
    return accepted, list(faults.values())


@click.command()
@click.argument("names", nargs=-1, metavar="[READER]...")
@click.option("-n", "count", default=1_000_000, show_default=True, help="Inputs for each reader.")
@click.option("--first", default=0, show_default=True, help="Number of the first input; the number makes the input.")
@click.option("--seconds", default=None, type=float, help="Stop with a reader after so long.")
@click.option("--show", is_flag=True, help="Print the inputs instead.")
def main(names: tuple[str, ...], count: int, first: int, seconds: float | None, show: bool) -> None:
    """Fuzz the readers, all of them or those named, one after the other."""
    failed = False
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        work = workplace(Path(folder))
        readers = all_readers(work)
        if unknown := [n for n in names if n not in readers]:
            raise click.UsageError(f"unknown reader {unknown[0]}; there are {', '.join(readers)}")
        gc.freeze()  # what was imported is not looked through again and again
        with guard.limits(work):
            for reader in (readers[n] for n in names or readers):
                if show:
                    for number in range(first, first + count):
                        print(reader.input(number))
                    continue
                failed |= _report(reader, work, range(first, first + count), seconds)
    sys.exit(failed)


def _report(reader: Reader, work: Path, numbers: range, seconds: float | None) -> bool:
    """Fuzz one reader in slices, and print a line of figures; whether anything went wrong."""
    began, done, accepted, faults = time.perf_counter(), 0, 0, dict[str, None]()
    while done < len(numbers) and (seconds is None or time.perf_counter() - began < seconds):
        part = numbers[done : done + 1000]
        more, wrong = fuzz(reader, work, part)
        done, accepted = done + len(part), accepted + more
        faults |= dict.fromkeys(wrong)
        if len(faults) > SHOWN:
            break
    spent = time.perf_counter() - began
    what = f"{accepted:8} accepted {done - accepted:8} refused {done / spent:8.0f}/s  {len(faults)} faults"
    print(f"{reader.name:24} {done:8} inputs {what}", flush=True)
    for fault in list(faults)[:SHOWN]:
        print(f"  {fault}", flush=True)
    return bool(faults)


if __name__ == "__main__":
    main()
