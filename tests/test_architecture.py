"""The arrows of ARCHITECTURE.md: who may import whom, no cycles, and a core that is told everything."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "mayfly"
MAY_IMPORT = {
    "core": {"core"},
    "lab": {"lab", "core", "urls", "errors"},
    "fetch": {"fetch", "core", "urls", "errors"},
    "store": {"store", "core", "urls", "errors"},
    "crawl": {"crawl", "fetch", "store", "core", "urls", "errors"},
    "cluster": {"cluster", "crawl", "fetch", "store", "core", "urls", "errors"},
    "testing": {"testing", "lab", "core", "urls", "errors"},
    "serve": {"serve", "crawl", "fetch", "store", "core", "urls", "errors"},
    "demo": {"demo", "testing", "lab", "core", "errors"},
    "cli": {"cli", "demo", "serve", "cluster", "crawl", "lab", "fetch", "store", "testing", "core", "urls", "errors"},
    "__main__": {"cli"},
    "urls": {"errors"},
    "errors": set(),
}
CORE_MAY_USE = {
    "__future__", "bisect", "collections", "dataclasses", "enum", "functools", "heapq", "itertools", "math", "re",
    "typing", "zlib",
    "numpy", "scipy",
}  # fmt: skip
MODULES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Full names of the modules a file imports at any depth of its code."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            inner = SOURCE.joinpath(*node.module.split(".")[1:]) if node.module.startswith("mayfly") else None
            for alias in node.names:
                module = inner is not None and (inner / f"{alias.name}.py").exists()
                names.add(f"{node.module}.{alias.name}" if module else node.module)
    return names


def ring(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    parts = ("mayfly", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_arrows_point_inwards(path: Path) -> None:
    if ring(path) == "__init__":
        assert imports(path) == set()
        return
    for name in imports(path):
        if name.startswith("mayfly."):
            assert name.split(".")[1] in MAY_IMPORT[ring(path)], f"{name_of(path)} may not import {name}"
        elif ring(path) == "core":
            assert name.split(".")[0] in CORE_MAY_USE, f"core is pure, but {name_of(path)} imports {name}"


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {name_of(path): {name for name in imports(path) if name.startswith("mayfly")} for path in MODULES}

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        for other in graph.get(name, ()):
            visit(other, (*trail, name))

    for name in graph:
        visit(name, ())


def test_files_stay_readable() -> None:
    long = {name_of(path): lines for path in MODULES if (lines := len(path.read_text().splitlines())) > 400}
    assert not long, f"look for the second noun in {long}"


def test_nothing_in_core_asks_for_the_time_or_for_chance() -> None:
    for path in MODULES:
        if ring(path) == "core":
            text = path.read_text()
            assert "time()" not in text
            assert "np.random.seed" not in text
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.random.default_rng":
                    assert node.args, f"{name_of(path)}: a generator without a seed"
