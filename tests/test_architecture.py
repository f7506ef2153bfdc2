"""The shape of the house: rooms import one way, no module imports itself, and rounding happens in one module."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from softfloat_ref.base.search import find_first
from softfloat_ref.oracle.operations import OPERATIONS

pytestmark = pytest.mark.full  # it is about the source, as lint is
PACKAGE = Path(__file__).parents[1] / "softfloat_ref"
ROOMS = (
    "base",
    "oracle",
    "arrays",
    "units",
    "symbolic",
    "export",
    "nn",
    "explanation",
    "coverage",
    "golden",
    "torch",
    "rtl",
    "testing",
    "diagnosis",
    "proof",
    "workflow",
    "app",
)
# What stands beside the rooms: the names that users import, and the way in.
PUBLIC = {"__init__", "__main__", "affine", "array_ops", "blocks", "exchange", "p3109"}
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {".".join(p.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): p for p in FILES}
INSIDE = {name: path for name, path in MODULES.items() if name not in PUBLIC}
# What a second rounding would be made of.
ROUNDERS = {"round", "rint", "around", "floor", "ceil", "trunc", "fix", "log2", "log10", "log", "nearbyint", "quantize"}
MODES = {"RNE", "RNA", "RTZ", "RUP", "RDN", "RTO", "RNU", "RHZ", "SR", "SR_B", "SR_C"}


def room(name: str) -> str:
    return name.partition(".")[0]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> frozenset[str]:
    """The modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "softfloat_ref":
            parent = (node.module or "").partition(".")[2]
            inner = {f"{parent}.{a.name}".strip(".") for a in node.names}
            found |= {name for name in inner if name in MODULES} or {parent}
        elif isinstance(node, ast.Import):
            found |= {a.name.partition(".")[2] for a in node.names if a.name.startswith("softfloat_ref")}
    return frozenset(found - {""})


def nodes(modules: Iterable[str]) -> Iterator[tuple[str, ast.AST]]:
    """What the syntax trees of modules hold, each with its module's name."""
    for name in modules:
        yield from ((name, node) for node in ast.walk(tree(MODULES[name])))


def test_there_are_the_rooms_and_the_public_names_only() -> None:
    assert {room(name) for name in MODULES} <= {*ROOMS, *PUBLIC}


@pytest.mark.full
def test_rooms_import_one_way() -> None:
    for name in INSIDE:
        for other in imports(INSIDE[name]):
            assert ROOMS.index(room(other)) <= ROOMS.index(room(name)), f"{name} imports {other}"


def test_the_picture_of_the_house_is_right() -> None:
    """docs/design.md draws every room, and each below those that it imports from."""
    page = (PACKAGE.parent / "docs" / "design.md").read_text(encoding="utf-8")
    picture = re.split(r"^```.*\n", page.partition("## The rooms")[2], flags=re.MULTILINE)[1]
    drawn: dict[str, int] = {}
    for number, line in enumerate(picture.splitlines()):
        drawn |= dict.fromkeys(re.findall(r"[a-z]+", line), number)
    assert drawn.keys() == set(ROOMS)
    for name in INSIDE:
        for other in map(room, imports(INSIDE[name])):
            assert other == room(name) or drawn[other] < drawn[room(name)], f"{room(name)} imports {other}"


def test_the_drawn_flows_name_what_is_there() -> None:
    """Each path of docs/design.md's flows is a module or a package."""
    page = (PACKAGE.parent / "docs" / "design.md").read_text(encoding="utf-8")
    flows = page.partition("## How things flow")[2].partition("## Steps")[0]
    paths = set(re.findall(rf"\b((?:{'|'.join(ROOMS)})(?:/[a-z_0-9]+)+)", flows))
    assert len(paths) > 20
    assert [x for x in sorted(paths) if not (PACKAGE / x).is_dir() and not (PACKAGE / f"{x}.py").is_file()] == []


@pytest.mark.parametrize("name", ["symbolic", "proof"])
def test_the_page_of_a_room_names_its_modules(name: str) -> None:
    page = (PACKAGE.parent / "docs" / f"design-{name}.md").read_text(encoding="utf-8")
    own = {x.partition(".")[2] for x in INSIDE if room(x) == name} - {""}
    assert own <= set(re.findall(r"\w+", page)), own - set(re.findall(r"\w+", page))


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Within rooms too; an import inside a function counts."""
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join((*way[way.index(name) :], name))
        if name not in done:
            for other in sorted(imports(MODULES[name]) - {name}):
                visit(other, (*way, name))
            done.add(name)

    for name in MODULES:
        visit(name, ())


def test_no_arrow_is_hidden() -> None:
    """A file names no other room's file in a text, and climbs no further than its own room: only recipes, which stand
    in the checkout's vectors/, are looked for from the top."""
    for name, node in nodes(INSIDE):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for module in re.findall(r"\bsoftfloat_ref[./]([a-z_./]+)", node.value):
                own = _at(module.replace("/", ".").removesuffix(".py"))
                assert own is None or ROOMS.index(room(own)) <= ROOMS.index(room(name)), f"{name}: {node.value!r}"
        if isinstance(node, ast.Attribute) and node.attr == "parents" and "__file__" in ast.dump(node):
            assert name == "golden.vector_recipes", f"{name}:{node.lineno}: a path out of its room"


def _at(name: str) -> str | None:
    """The module inside a room that a dotted name starts with."""
    while name and name not in INSIDE:
        name = name.rpartition(".")[0]
    return name or None


def test_no_rounding_decision_elsewhere() -> None:
    """No floor, rint or logarithm, and no comparison with a rounding mode but those listed."""
    for name, node in nodes(x for x in INSIDE if x != "oracle.rounding"):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            own = called == "quantize" and (_ours(node.func) or name.startswith("arrays."))
            own = own or (called == "floor" and name == "arrays.matmul")  # splits sums exactly
            own = own or (called == "round" and name == "arrays.fitting")  # chooses coefficients, which are measured
            own = own or (called == "log10" and name == "arrays.error_counts")  # decibels, to be shown
            own = own or (called == "trunc" and name == "arrays.kernels.random_words")  # LLVM's: a word's lower half
            assert called not in ROUNDERS or own, f"{name}:{node.lineno}: {called}"
        if isinstance(node, ast.Compare):
            names = {getattr(x, "attr", getattr(x, "id", "")) for x in (node.left, *node.comparators)}
            # IEEE 754 6.3: the sign of an exact zero sum under rdn; it rounds nothing
            # and the stochastic loop is compiled for each mode that it hands to rounds_up
            modes = {"oracle.operations": {"RDN"}, "arrays.kernels": {"SR", "SR_B", "SR_C"}}
            assert names & MODES <= modes.get(".".join(name.split(".")[:2]), set()), f"{name}:{node.lineno}"


def _ours(node: ast.expr) -> bool:
    """Whether it is a function of a module of ours, by whatever name that is imported."""
    return isinstance(node, ast.Attribute) and any(
        word in ast.dump(node) for word in ("affine", "convert", "blocks", "dispatch", "kinds")
    )


def test_rounds_up_is_called_in_one_module() -> None:
    """A step does only that; explain shows the decision, and kernels makes a truth table of it."""
    callers = {name for name, path in INSIDE.items() if "rounds_up(" in path.read_text(encoding="utf-8")}
    kernels = {name for name in callers if name.startswith("arrays.kernels.")}
    assert callers - kernels == {"oracle.rounding", "oracle.rounding_steps", "explanation.scalar"}


# Names of operations that are nothing else's too.
NAMES = OPERATIONS.keys() - {"abs", "neg", "sub", "min", "max", "class", "clamp", "sigmoid", "tanh"}
# A self-test of some operations; the nodes of a trace, which have names of their own.
NAMED = ("app.selftest", "golden.trace.case", "golden.trace.operations")
TERMS = ("symbolic", "export", "proof")  # operators of bit vectors have the names of operations, too


def _is_name(node: ast.expr) -> bool:
    """Whether an expression is called as an operation's name is: name, op, x.operation, x.operation.name."""
    return getattr(node, "attr", getattr(node, "id", "")) in ("name", "op", "operation")


def _texts(node: ast.AST | None) -> set[str]:
    """The texts of a constant, or of the members of a tuple, list or set."""
    members = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return {x.value for x in members if isinstance(x, ast.Constant) and isinstance(x.value, str)}


def _asked(node: ast.AST) -> set[str]:
    """The operations that a comparison asks for by name, or that a list or table names."""
    if isinstance(node, ast.Compare) and any(_is_name(x) for x in (node.left, *node.comparators)):
        sides = (node.left, *node.comparators)
        known = OPERATIONS.keys() if any(isinstance(x, ast.Attribute) for x in sides) else NAMES
        return known & {text for x in sides for text in _texts(x)}
    if isinstance(node, ast.MatchValue):
        return OPERATIONS.keys() & _texts(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith":
        starts = _texts(node.args[0]) if _is_name(node.func.value) else set()
        return {x for x in OPERATIONS for start in starts if x.startswith(start)}
    if isinstance(node, ast.Dict):
        return NAMES & {text for key in node.keys for text in _texts(key)}
    found = NAMES & _texts(node) if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else set()
    return found if len(found) > 1 else set()


@pytest.mark.full
def test_operations_are_known_by_their_rows() -> None:
    """What an operation is stands on its row: no other module asks for one by name, or lists some."""
    for name, node in nodes(x for x in INSIDE if not x.startswith(("oracle.operations", *NAMED, *TERMS))):
        assert not _asked(node), f"{name}:{getattr(node, 'lineno', '')}: {', '.join(sorted(_asked(node)))}"


def test_importing_the_package_is_light() -> None:
    code = "import sys, softfloat_ref.app.main; print(sorted({'numpy', 'gmpy2', 'numba', 'torch'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_test_modules_have_names_of_their_own() -> None:
    """Pytest imports them by name: of two that share one, it collects the first only."""
    names = sorted(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert names == sorted(set(names))


# Iterators without an end, and one that is asked where StopIteration is caught.
ENDLESS = {"words", "word_of", "remaining"}


def _endings(node: ast.AST, inside: bool = False) -> Iterator[ast.Call]:
    """Calls of next() without a default that may end something else: a search, or any in a generator."""
    if isinstance(node, ast.FunctionDef):
        inside = any(isinstance(x, (ast.Yield, ast.YieldFrom)) for x in ast.walk(node))
    inside = inside or isinstance(node, ast.GeneratorExp)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "next" and len(node.args) == 1:
        (given,) = node.args
        if not isinstance(given, ast.Name) or (inside and given.id not in ENDLESS):
            yield node
    for child in ast.iter_child_nodes(node):
        yield from _endings(child, inside)


def test_a_search_without_a_find_is_no_end() -> None:
    """A StopIteration ends a generator with an error about something else, and a map() in silence."""
    for name in MODULES:
        lines = [f"{name}:{call.lineno}: {ast.unparse(call)}" for call in _endings(tree(MODULES[name]))]
        assert not lines, "use base.search.find_first, or give a default"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("next(x for x in y if x)", 1),
        ("next(iter(x))", 1),
        ("next(x for x in y if x), next(x, None)", 1),
        ("def f():\n  yield next(x)", 1),
        ("(next(x) for _ in y)", 1),
        ("def f():\n  return next(x)", 0),
        ("def f():\n  yield next(words)", 0),
    ],
)
def test_the_searches_that_are_found(text: str, count: int) -> None:
    assert len(list(_endings(ast.parse(text)))) == count


def test_a_search_finds_the_first_or_raises() -> None:
    assert find_first(x for x in range(9) if x > 3) == 4
    with pytest.raises(LookupError):
        list(map(find_first, [[1], []]))


# Ways to a file's content other than `base.files`, and the modules that may go them: on a stream that it opened, after
# a check of limits, or for files of this package.
WAYS: dict[str, set[str]] = {
    "app.main": {"os.open"},  # the null device
    "app.quantize": {"np.memmap"},
    "app.quantize_stream": {"np.fromfile"},
    "base.archives": {"zipfile.ZipFile"},
    "base.files": {"os.open", "os.fdopen", "hashlib.file_digest"},
    "base.disk_cache": {"open"},  # sources of this package
    "base.trees": {"json.loads", "tomllib.loads"},
    "nn.data.files": {"gzip.open"},
    "nn.model_files.npz": {"np.fromfile"},
    "nn.model_files.pickles": {"pickle._Unpickler"},
    "nn.model_files.safetensors": {"library.safe_open"},
    "nn.model_files.tensors": {"np.fromfile"},
    "symbolic.source": {".read_text"},  # sources of this package
}
READS = {
    "bz2": {"open", "BZ2File", "decompress"},
    "codecs": {"open"},
    "gzip": {"open", "GzipFile", "decompress"},
    "hashlib": {"file_digest"},
    "io": {"open", "FileIO"},
    "json": {"load", "loads"},
    "linecache": {"getline", "getlines"},
    "lzma": {"open", "LZMAFile", "decompress"},
    "marshal": {"load", "loads"},
    "mmap": {"mmap"},
    "np": {"load", "fromfile", "memmap", "loadtxt", "genfromtxt", "fromregex"},
    "os": {"open", "fdopen"},
    "pickle": {"load", "loads", "Unpickler", "_Unpickler"},
    "shelve": {"open"},
    "tarfile": {"open", "TarFile"},
    "tomllib": {"load", "loads"},
    "torch": {"load"},
    "zipfile": {"ZipFile", "Path"},
    "zlib": {"decompress"},
}
METHODS = {"read_bytes", "read_text", "safe_open", "load_file", "open_memmap"}  # of whatever


def _way(node: ast.AST) -> str:
    """The way to a file's content that a call or a base of a class is; "" if it is none, or writes."""
    if isinstance(node, ast.ClassDef):
        bases = [x.attr for x in node.bases if isinstance(x, ast.Attribute)]
        return next((f"pickle.{x}" for x in bases if x in READS["pickle"]), "")
    if not isinstance(node, ast.Call):
        return ""
    modes = [x.value for x in (*node.args, *(k.value for k in node.keywords)) if isinstance(x, ast.Constant)]
    if any(isinstance(x, str) and x in ("w", "wb", "x", "xb") for x in modes):
        return ""
    if isinstance(node.func, ast.Name):
        return "open" if node.func.id == "open" else ""
    if not isinstance(node.func, ast.Attribute):
        return ""
    of, name = node.func.value, node.func.attr
    if isinstance(of, ast.Name) and name in READS.get(of.id, ()):
        dumped = of.id == "json" and ast.unparse(node.args[0]).startswith("json.dumps(")  # our own
        return "" if dumped else f"{of.id}.{name}"
    if name in METHODS and "__file__" not in ast.dump(of):
        return f"{of.id}.{name}" if isinstance(of, ast.Name) and of.id == "library" else f".{name}"
    return ".open" if name == "open" and (not node.args or modes) else ""


def test_files_are_opened_in_one_place() -> None:
    """So that none is read without a limit, and no pipe is waited for."""
    for name in MODULES:
        found = {way: getattr(node, "lineno", 0) for node in ast.walk(tree(MODULES[name])) if (way := _way(node))}
        assert found.keys() == WAYS.get(name, set()), f"{name}: {found}; base.files opens files, base.trees parses them"


@pytest.mark.parametrize(
    "text",
    ["open(p)", "open(p, 'rb')", "p.open()", "p.open('r')", "p.read_text()", "json.loads(x)", "np.load(p)",
     "os.open(p, 0)", "zipfile.ZipFile(p)", "pickle.loads(x)", "tomllib.loads(x)",
     "st.safe_open(p)", "class A(pickle.Unpickler): pass"],
)  # fmt: skip
def test_other_ways_to_a_file_are_seen(text: str) -> None:
    assert any(map(_way, ast.walk(ast.parse(text))))
