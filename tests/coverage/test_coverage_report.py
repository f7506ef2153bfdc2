"""Coverage reports, results of simulations, waivers, covergroups: the commands and what they refuse."""

from __future__ import annotations

import html.parser
import json
import re
import subprocess
from pathlib import Path

import command
import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.coverage.classes import class_of, coarse
from softfloat_ref.coverage.engine import page
from softfloat_ref.coverage.engine.measure import (
    BinLine,
    CoverageReport,
    ModelReport,
    count,
    read_waivers,
    set_report,
    summary,
)
from softfloat_ref.coverage.operation.setting import OperationSetting
from softfloat_ref.coverage.operation.sv_covergroups import class_ranges, package
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.oracle.formats import CATALOGUE, get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.rtl.simulators import Verilator, find
from softfloat_ref.testing.answers import executed_cases
from softfloat_ref.units.requests import make_unit


def run(*args: str) -> tuple[int, str, str]:
    done = command.run(*args)
    return done.returncode, done.stdout, done.stderr


LFSR = "lfsr:width=16,taps=16.14.13.11,seed=9"
ADDITIONS = VectorSet.make("add", "fp16", level=0)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set of additions."""
    folder = tmp_path_factory.mktemp("smoke")
    generate(ADDITIONS, folder)
    return folder


def report(*args: str | Path) -> dict:  # type: ignore[type-arg]
    code, out, _ = run("coverage", *map(str, args), "--json")
    assert code == 0
    table = json.loads(out)
    assert isinstance(table, dict)
    return table


def test_report_of_a_folder(smoke: Path, tmp_path: Path) -> None:
    """The same numbers as text, JSON and page."""
    table = report("report", smoke)
    bins = {b["id"]: b for m in table["models"] for b in m["bins"]}
    assert table["measured"] == "every case"
    assert len(bins) == sum(table["totals"].values()) == 1506
    assert bins["B3/pos.lsb0.guard1.sticky0"]["status"] == "hit"
    assert bins["B6/pos.0to0.25"] == {
        "id": "B6/pos.0to0.25",
        "status": "unreachable",
        "hits": 0,
        "why": "every exact result is larger",
    }
    code, out, _ = run("coverage", "report", str(smoke), "--html", str(tmp_path / "page.html"))
    assert code == 0
    totals = table["totals"]
    last = next(line for line in out.splitlines() if line.startswith("total")).split()
    assert last[1:] == [str(x) for x in (1506, *(totals[s] for s in ("hit", "empty", "waived", "unreachable")))]
    empty = [name for name, b in bins.items() if b["status"] == "empty"]
    assert [line for line in out.splitlines() if line.startswith("empty")] == [f"empty: {name}" for name in empty]
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(name in text for name in bins if "<" not in name)
    assert "<script" not in text
    assert "http" not in text.replace("https://", "http")  # nothing from elsewhere


def test_what_a_search_does_not_reach(tmp_path: Path) -> None:
    """Each wanted cell of a searched model is a bin, or named as not reached; what the cases hit is a bin."""
    vectors = of_unit(make_unit("stepwise_softmax", "fp8_e5m2", length=2), 150)
    generate(vectors, tmp_path / "soft")
    table = report("report", tmp_path / "soft")
    steps = next(m for m in table["models"] if m["id"] == "STEP")
    coverage = vectors.coverage
    assert coverage is not None
    model = next(m for m in coverage.models if m.id == "STEP")
    wanted = {f"STEP/{name}" for name in model.wanted(coverage.where).values()}
    bins, missed = {b["id"]: b["hits"] for b in steps["bins"]}, set(steps["not_reached"])
    assert not bins.keys() & missed
    assert bins.keys() | missed == wanted
    only_hit = bins.keys() - {b.id for b in coverage.bins()["STEP"]}
    assert only_hit
    assert all(bins[name] for name in only_hit)
    out = run("coverage", "report", str(tmp_path / "soft"), "--html", str(tmp_path / "page.html"))[1]
    summary_line = out.splitlines()[-1]
    assert summary_line.startswith("not reached by the search, nor proven unreachable: ")
    assert f" {len(missed)} of STEP; --bins lists them" in summary_line
    out = run("coverage", "report", str(tmp_path / "soft"), "--bins")[1]
    assert {f"not reached by the search: {name}" for name in missed} <= set(out.splitlines())
    assert all(f"<code>{name}</code>" in (tmp_path / "page.html").read_text() for name in missed)


@pytest.mark.parametrize("fmt", ["fp4_e2m1", "fp8_e4m3"])
def test_what_a_search_does_not_reach_of_few_cases(fmt: str) -> None:
    """What no possible case hits is proven unreachable, so that it is not among what the search does not reach."""
    exhaustive = set_report(VectorSet.make("exp", fmt, level="exhaustive"))
    assert exhaustive is not None
    assert "EXACT" in {m.id for m in exhaustive.models}
    assert not any(m.not_reached for m in exhaustive.models)


def test_required_coverage(smoke: Path, tmp_path: Path) -> None:
    """Exit code 1 where a reachable bin is empty, 0 where none is."""
    assert run("coverage", "report", str(smoke), "--require-coverage")[0] == 1
    options = ("--op", "mul", "--fmt", "fp4_e2m1", "--require-coverage")
    assert run("vectors", "generate", *options, "--level", "exhaustive", "-o", str(tmp_path / "all"))[0] == 0
    code, out, err = run("vectors", "generate", *options, "-n", "10", "-o", str(tmp_path / "few"))
    assert code == 1
    assert out.startswith("empty: B1/")
    assert "reachable bins hit by 10 cases" in err
    assert (tmp_path / "few" / "manifest.json").exists()
    assert run("coverage", "report", str(tmp_path / "all"), "--require-coverage")[0] == 0


def test_what_a_simulation_executed(smoke: Path, tmp_path: Path) -> None:
    """Results in the set's order, or with their operands; several runs, merged or apart."""
    lines = next(smoke.glob("*.tv")).read_text().splitlines()
    first, last = tmp_path / "first.log", tmp_path / "last.log"
    first.write_text("// from a simulation\n" + "".join(f"{x.split()[2]} {x.split()[3]}\n" for x in lines[:200]))
    last.write_text("".join(f"0x{x.split()[0]} {x.split()[1]} {x.split()[2]}\n" for x in lines[200:]))
    golden = ("--golden", smoke)
    whole = report("report", smoke)
    merged = report("from-results", first, last, "--merge", *golden)
    assert merged["cases"] == 500
    assert merged["models"] == whole["models"]
    part = report("from-results", first, *golden)
    assert part["cases"] == 200
    assert part["totals"]["hit"] < whole["totals"]["hit"]
    code, out, _ = run("coverage", "from-results", str(first), str(last), *map(str, golden))
    assert code == 0
    assert out.count("cases executed in") == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the log has no results"),
        ("3c00 xx\n", "bad.log:1: X or Z bits; it is not a line"),
        ("3c00 00\n1 2 3 4 5\n", "bad.log:2: '1 2 3 4 5' is not a line of a result and flags"),
        ("13c00 3c00 4000 00\n", "wider than 16 and 16 bits"),
        ("3c00 00\n" * 501, "bad.log:501: more results than the set has cases"),
    ],
)
def test_bad_logs(tmp_path: Path, content: str, message: str) -> None:
    log = tmp_path / "bad.log"
    log.write_text(content)
    with pytest.raises(Error, match=re.escape(message)):
        list(executed_cases(ADDITIONS, log))


def test_bad_input_is_one_line(smoke: Path, tmp_path: Path) -> None:
    """And exit code 2; nothing is left."""
    (tmp_path / "bad").write_text("x\n")
    bad, golden = str(tmp_path / "bad"), str(smoke)
    for args in (
        ("from-results", bad, "--golden", golden),
        ("from-results", bad, bad, "--json", "--golden", golden),
        ("waive", bad, golden),
        ("report", str(tmp_path)),
        ("export-sv", golden, "-o", str(tmp_path / "no" / "where.sv")),
    ):
        command.refused("coverage", *args)
    assert [x.name for x in tmp_path.iterdir()] == ["bad"]


def test_waivers(tmp_path: Path) -> None:
    """They do not count as empty, are shown with their reason, and stay with the folder."""
    folder = tmp_path / "set"
    generate(VectorSet.make("add", "fp16", 100), folder)
    waivers = tmp_path / "waivers.toml"
    waivers.write_text('[[waive]]\nbin = "*"\nreason = "all of\\n it"\n\n[[waive]]\nbin = "B8/*"\nreason = "late"\n')
    table = report("report", folder, "--waive", waivers)
    assert table["totals"]["empty"] == 0 < table["totals"]["waived"]
    assert {b["why"] for m in table["models"] for b in m["bins"] if b["status"] == "waived"} == {"all of it"}
    assert run("coverage", "report", str(folder), "--require-coverage")[0] == 1
    code, out, err = run("coverage", "waive", str(waivers), str(folder))
    assert (code, out.count("waived: ")) == (0, 1506)
    assert err.startswith("1506 bins waived")
    assert run("coverage", "report", str(folder), "--require-coverage")[0] == 0
    assert run("vectors", "verify", str(folder))[0] == 0
    waivers.write_text('[[waive]]\nbin = "B3/pos.lsb0.guard1.sticky0"\nreason = "one"\n')
    code, _, err = run("coverage", "waive", str(waivers), str(folder))
    stored = folder / "waivers.toml"
    message = f"1 bin waived in {stored}; replaced the earlier waivers, 1506 bins, 1505 of them no longer waived\n"
    assert (code, err) == (0, message)
    stored.write_text("broken")
    message = run("coverage", "waive", str(waivers), str(folder))[2]
    assert message.endswith("; replaced a file that did not hold waivers\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[[waive]]\nbin = "B3/pos.lsb0.guard1.stick0"\nreason = "x"\n', "did you mean B3/pos.lsb0.guard1.sticky0"),
        ('[[waive]]\nbin = "B99/*"\nreason = "x"\n', "unknown bin"),
        ('[[waive]]\nbin = "B3/*"\n', "waiver 1 must have a bin and a reason, and nothing else"),
        (
            '[[waive]]\nbin = "B3/*"\nreason = " "\n',
            "waiver 1: its reason is empty; give the reason why its bins need not be hit",
        ),
        ('[[waive]]\nbin = ""\nreason = "x"\n', "waiver 1: its bin is empty; give an id or a pattern with * and ?"),
        ('[[waive]]\nbin = 3\nreason = "x"\n', "waiver 1: its bin is not a string"),
        ('[[waived]]\nbin = "B3/*"\n', "waivers must be [[waive]] tables"),
        ("", "waivers must be [[waive]] tables"),
        ("= 3", "not valid TOML"),
    ],
)
def test_bad_waivers(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "bad.toml").write_text(content)
    assert ADDITIONS.coverage is not None
    with pytest.raises(Error, match=re.escape(message)):
        read_waivers(tmp_path / "bad.toml", ADDITIONS.coverage)


def test_sets_without_models(tmp_path: Path) -> None:
    generate(VectorSet.make("matmul", "fp16", 2, acc="exact", k=2, m=2, n=2), tmp_path)
    assert "no coverage models for matmul" in command.refused("coverage", "report", str(tmp_path))


def test_exhaustive_is_confirmed(tmp_path: Path) -> None:
    """Its count is printed; more than 2^24 cases are not written unasked."""
    options = (
        "vectors",
        "generate",
        "--op",
        "add",
        "--fmt",
        "fp16",
        "--level",
        "exhaustive",
        "-o",
        str(tmp_path / "x"),
    )
    code, _, err = run(*options)
    assert code == 2
    assert "exhaustive: 4294967296 cases" in err
    assert "--yes" in err
    assert not (tmp_path / "x").exists()


def test_page_escapes() -> None:
    """Whatever stands in names and reasons."""
    bins = (BinLine("X/<b>", "waived", 0, 'a "reason" & <i>'), BinLine("X/c", "hit", 3), BinLine("X/d", "empty", 0))
    text = page.html(CoverageReport("<set>", "every case", 3, (ModelReport("X", "title & <more>", bins),)))

    class Tags(html.parser.HTMLParser):
        seen: set[str] = set()  # noqa: RUF012
        open_: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.seen.add(tag)
            if tag != "meta":
                self.open_.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open_.pop() == tag

    parser = Tags()
    parser.feed(text)
    assert parser.open_ == []
    assert not {"i", "more", "set"} & parser.seen
    assert "<b>X</b>" in text
    assert "<details open>" in text


@pytest.mark.full(keep=14)
@pytest.mark.parametrize("name", [*(n for n, f in CATALOGUE.items() if f.width <= 16), "binary8p3uf", "s1e2m2", "i4"])
def test_class_ranges(name: str) -> None:
    """The ranges of the covergroups are the classes."""
    fmt = get_format(name)
    for coarsely in (False, True):
        classes = {
            c: k for k, listed in class_ranges(fmt, coarsely).items() for a, b in listed for c in range(a, b + 1)
        }
        for code in range(1 << fmt.width):
            wanted = class_of(fmt, code)
            assert classes[code] == (coarse(wanted) if coarsely else wanted)


@pytest.mark.full(keep=3)
@pytest.mark.parametrize(
    "vectors",
    [
        VectorSet.make("add", "fp16", 20000),
        VectorSet.make("add", "fp16", level=0),  # too few cases for every bin
        VectorSet.make("div", "fp8_e4m3", level=1),
        VectorSet.make("convert", "fp32", 20000, out="fp8_e5m2"),
        VectorSet.make("convert", "fp16", 20000, out="fp8_e5m2", policy=Policy("sr", sr_bits=5), source=LFSR),
        VectorSet.make("dot", "fp16", 50, acc="mx-fp32"),
    ],
    ids=lambda vectors: f"{vectors.name}-{vectors.count}",
)
def test_summary_of_the_directed_cases(vectors: VectorSet) -> None:
    """The bins that the cases hit, each case looked at for every model."""
    coverage = vectors.coverage
    assert coverage is not None
    hits, cases = count(coverage, [case for _, case in vectors.directed()])
    totals = summary(vectors)
    assert totals is not None
    assert totals["cases"] == cases > 0
    assert totals["hit"] == sum(m["hit"] for m in totals["models"].values())
    for model, names in coverage.names().items():
        assert totals["models"][model] == {"bins": len(names), "hit": sum(name in hits for name in names)}


def test_covergroups(smoke: Path, tmp_path: Path) -> None:
    """Every bin of B3 and B9 stands there under its id; Verilator reads the package (and ignores the bins)."""
    out = tmp_path / "groups.sv"
    assert run("coverage", "export-sv", str(smoke), "-o", str(out))[0] == 0
    text = out.read_text()
    coverage = VectorSet.make("add", "fp16", 1).coverage
    assert coverage is not None
    assert isinstance(coverage.where, OperationSetting)
    assert text == package(coverage, "add_fp16_rne").text
    for model in ("B3", "B9"):
        for b in coverage.bins()[model]:
            assert f"// {b.id}\n" in text
    simulator = find("verilator")
    assert isinstance(simulator, Verilator)
    output = subprocess.run(
        [str(simulator.executable), "--lint-only", "-Wno-COVERIGN", str(out)],
        env={"VERILATOR_ROOT": str(simulator.root)} if simulator.root else None,
        capture_output=True,
        text=True,
        check=False,
    )
    assert output.returncode == 0, output.stderr
