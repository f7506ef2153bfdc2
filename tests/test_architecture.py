"""The shape of the house: imports point one way, and rounding happens in one module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "softfloat_ref"
LAYERS = (
    ("errors", "patterns"),
    ("rounding", "formats", "files"),
    ("policies", "exact", "sources", "packing", "executors", "npz"),
    ("codec", "scales", "literals", "exchange", "slabs"),
    ("profiles",),
    ("ops", "block_formats", "affine_formats"),
    ("accumulate",),
    ("coverage",),
    ("kernels",),
    ("explain", "arrays"),
    ("matmul", "array_ops"),
    ("explain_block",),
    ("block_files",),
    ("block_arrays",),
    ("blocks",),
    ("affine",),
    ("nn", "exponents"),
    ("golden", "rtl", "exhaustive"),
    ("testing", "plots"),
    ("diagnosis",),
    ("app", "__init__", "__main__"),
)
RANK = {name: i for i, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(PACKAGE.rglob("*.py"))
# What a second rounding would be made of.
ROUNDERS = {"round", "rint", "around", "floor", "ceil", "trunc", "fix", "log2", "log10", "log", "nearbyint", "quantize"}
MODES = {"RNE", "RNA", "RTZ", "RUP", "RDN", "RTO", "RNU", "RHZ", "SR", "SR_B", "SR_C"}


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("softfloat_ref"):
            inner = (node.module or "").split(".")[1:]
            found |= {inner[0]} if inner else {a.name for a in node.names if a.name in RANK}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("softfloat_ref.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    mine = part(path)
    for other in imports(ast.parse(path.read_text())):
        assert other == mine or RANK[other] < RANK[mine] or (RANK[other] == RANK[mine] and (mine, other) in ALLOWED)


# Within a layer, these and not the other way round.
ALLOWED = {("__main__", "app")}


def test_every_module_has_a_layer() -> None:
    assert {part(p) for p in MODULES} == set(RANK)


@pytest.mark.parametrize(
    "path", [p for p in MODULES if p.stem != "rounding"], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_no_rounding_decision_elsewhere(path: Path) -> None:
    """No floor, rint or logarithm, and no comparison with a rounding mode but those listed."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            own = name == "quantize" and isinstance(node.func, ast.Attribute) and _ours(node.func)
            own = own or (name == "quantize" and part(path) in ("arrays", "blocks", "affine"))
            own = own or (name == "floor" and part(path) == "matmul")  # splits sums exactly
            own = own or (name in ("floor", "log2", "quantize") and path.stem == "bench_peers")  # a peer's
            own = own or (name == "trunc" and path.stem == "random_words")  # LLVM's: the lower half of a word
            assert name not in ROUNDERS or own, f"{path.name}:{node.lineno}: {name}"
        if isinstance(node, ast.Compare):
            names = {getattr(x, "attr", getattr(x, "id", "")) for x in (node.left, *node.comparators)}
            # IEEE 754 6.3: the sign of an exact zero sum under rdn; it rounds nothing
            # and the stochastic loop is compiled for each mode that it hands to rounds_up
            modes = {"ops": {"RDN"}, "kernels": {"SR", "SR_B", "SR_C"}}.get(part(path), set())
            assert names & MODES <= modes, f"{path.name}:{node.lineno}"


def _ours(node: ast.Attribute) -> bool:
    """Whether it is a function of a module of ours, by whatever name that is imported."""
    return any(word in ast.dump(node) for word in ("affine", "arrays", "blocks", "dispatch"))


def test_rounds_up_is_called_in_one_module() -> None:
    """explain shows the decision, and kernels makes a truth table of it, by asking the same function."""
    callers = {part(p) for p in MODULES if "rounds_up(" in p.read_text()}
    assert callers == {"rounding", "explain", "kernels"}


def test_importing_the_package_is_light() -> None:
    import subprocess
    import sys

    code = "import sys, softfloat_ref.app.main; print(sorted({'numpy', 'gmpy2', 'numba'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
