"""What fuzzing found in the readers of manifests, suites, journals and traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import ok, refused, run

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.manifest import make_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.suites import verify_suite
from softfloat_ref.golden.trace.files import write_trace
from softfloat_ref.golden.trace.step import trace_step
from softfloat_ref.golden.verify import verify
from softfloat_ref.nn.training_recipe import read_recipe
from softfloat_ref.oracle.formats import get_format

pytestmark = pytest.mark.usefixtures("nothing_kept")  # the inputs may open no file outside their folder


def test_a_suite_whose_entry_has_no_count(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('[[set]]\nop = "add"\nfmt = "fp16"\ncount = 5\n')
    ok("vectors", "generate", "s.toml", "-o", "v", cwd=tmp_path)
    path = tmp_path / "v" / "suite.json"
    suite = json.loads(path.read_text())
    del suite["sets"][0]["count"]
    path.write_text(json.dumps(suite))
    assert "sets are not tables with folder, count and sha256" in refused("vectors", "verify", "v", cwd=tmp_path)


def test_a_suite_whose_folder_has_a_long_name(tmp_path: Path) -> None:
    """No file has such a name."""
    suite = {"schema": 1, "suite": "s", "count": 9, "sets": [{"folder": "a" * 300, "count": 9, "sha256": "0"}]}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    with pytest.raises(Error, match="sets are not tables"):
        list(verify_suite(tmp_path))


@pytest.mark.parametrize("name", ["../x.tv", "/etc/hostname", "v/../../x.tv", "x.tv"])
def test_no_path_of_a_manifest_is_opened(name: str, tmp_path: Path) -> None:
    """Names in it are only compared with those that the set has."""
    ok("vectors", "generate", "--op", "add", "--fmt", "fp16", "-n", "9", "-o", "v", cwd=tmp_path)
    (tmp_path / "x.tv").write_bytes((tmp_path / "v" / "add_fp16_rne.tv").read_bytes())
    path = tmp_path / "v" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"][0]["name"] = name
    path.write_text(json.dumps(manifest))
    done = run("vectors", "verify", "v", cwd=tmp_path)
    assert done.returncode == 1
    assert "but this set has" in done.stdout
    suite = {"schema": 1, "suite": "s", "count": 9, "sets": [{"folder": name, "count": 9, "sha256": "0"}]}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    message = refused("vectors", "verify", ".", cwd=tmp_path)
    assert "not tables" in message or "x.tv" in message


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 1024, "k": 4096}, "fields does not match this set"),
        ({"m": 1024, "k": 4096, "described": True}, "a.memh: 2 lines, but 1 vectors make 1048576"),
        ({"c": "fp128"}, "memory images take formats of at most 64 bits"),
        ({"step": 10**6}, "a step has 1 to 16384 products"),
        ({"tree": "fuse(p[0:999999]+c)->out:rne"}, "a step has 1 to 16384 products"),
    ],
)
def test_products_that_a_manifest_claims(change: dict[str, object], message: str, tmp_path: Path) -> None:
    """No time or memory goes into what the files cannot hold."""
    args = ("--op", "matmul", "--fmt", "fp16", "--acc", "exact", "--m", "2", "--n", "2", "--k", "3", "-n", "1")
    ok("vectors", "generate", *args, "-o", "v", cwd=tmp_path)
    path = tmp_path / "v" / "manifest.json"
    manifest = json.loads(path.read_text())
    unit = manifest["set"]["unit"]
    for key, value in change.items():
        if key == "described":  # all that is said of the set is that of the larger one
            vectors = VectorSet.from_dict(manifest["set"])
            manifest = make_manifest(vectors, [], 1, manifest["left_out"], manifest["files"], [("identity", 1)])
        elif key == "c":
            unit["dot"]["formats"]["c"] = get_format(str(value)).to_dict()
        elif key == "m":
            unit[key] = value
        else:
            (unit["dot"] if key == "k" else unit["dot"]["accumulator"])[key] = value
    path.write_text(json.dumps(manifest))
    done = run("vectors", "verify", "v", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert message in done.stdout + done.stderr


def test_ends_of_lines_in_a_manifest_do_not_reach_the_report(tmp_path: Path) -> None:
    ok("vectors", "generate", "--op", "add", "--fmt", "fp16", "-n", "9", "-o", "v", cwd=tmp_path)
    path = tmp_path / "v" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"][0]["lines"] = "1\n2\r\nthree"
    path.write_text(json.dumps(manifest))
    assert "but the manifest counts 1 2 three" in run("vectors", "verify", "v", cwd=tmp_path).stdout
    manifest["files"][0]["lines"] = "1\n2\u2028three"
    path.write_text(json.dumps(manifest))
    assert r"'1\n2\u2028three' has a hidden character, \u2028" in refused("vectors", "verify", "v", cwd=tmp_path)


def dots(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    args = ("--op", "dot", "--fmt", "fp16", "--acc", "nvidia-v100", "-n", "3")
    ok("vectors", "generate", *args, "-o", "v", cwd=tmp_path)
    path = tmp_path / "v" / "manifest.json"
    return path, json.loads(path.read_text())


@pytest.mark.parametrize(("field", "value"), [("formats", "../x.toml:a"), ("steps", "../x.toml:a=4")])
def test_a_manifests_accumulator_names_no_file(field: str, value: str, tmp_path: Path) -> None:
    path, manifest = dots(tmp_path)
    (tmp_path / "x.toml").write_text('[formats.a]\nlike = "fp16"\n')
    manifest["set"]["unit"]["accumulator"][field] = value
    path.write_text(json.dumps(manifest))
    assert "not from a file" in refused("vectors", "verify", ".", cwd=path.parent)


def test_a_manifests_name_that_is_too_long_for_a_file(tmp_path: Path) -> None:
    path, manifest = dots(tmp_path)
    text = (
        json.dumps(manifest)
        .replace("nvidia_v100", "nvidia_v1" + 300 * "0")
        .replace("nvidia-v100", "nvidia-v1" + 300 * "0")
    )
    path.write_text(text)
    done = run("vectors", "verify", "v", cwd=tmp_path)
    assert done.returncode == 1
    assert ".tv: missing" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["é x", "a\nb", "\uff11"])
def test_recipes_may_be_called_anything(name: str, tmp_path: Path) -> None:
    """The files of a trace are plain ASCII, a line a statement."""
    tables = {"model": {"kind": "mlp", "hidden": []}, "data": {"name": "blobs", "features": 2, "train": 4, "test": 1}}
    write_trace(*trace_step(read_recipe(tables, name), 1), tmp_path / "t", [])
    report = verify(tmp_path / "t")
    assert report.passed, report.problems
    (header,) = (tmp_path / "t").glob("*.svh")
    assert all(line.startswith(("//", "localparam int ")) for line in header.read_text("ascii").splitlines())
