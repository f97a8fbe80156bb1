"""The tree that tests look at: the files that git knows, and the modules."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def tracked_files() -> list[Path]:
    """Files of the repository, relative to it, or those of the directory if it is no checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = listed.stdout.decode().split("\0")
    return [Path(name) for name in names if name and (ROOT / name).is_file()]


def modules() -> Iterator[Path]:
    """Modules of the broker, its plugins and the admin UI; a package counts if it has code.

    A plugin with a `pyproject.toml` is a distribution of its own: the compiled leaf.
    """
    apart = [path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml")]
    for root in ("trio_kafka", "plugins", "admin_ui"):
        for path in sorted((ROOT / root).rglob("*.py")):
            if any(folder in path.parents for folder in apart):
                continue
            if path.name not in ("__init__.py", "__main__.py") or has_code(path):
                yield path.relative_to(ROOT)


def has_code(path: Path) -> bool:
    """Whether a package's file defines more than its docstring and the names that it passes on."""

    def passes_on(node: ast.stmt) -> bool:
        if isinstance(node, ast.Assign):
            return [ast.unparse(target) for target in node.targets] == ["__all__"]
        return isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)

    return not all(passes_on(node) for node in ast.parse(path.read_text()).body)


def place_of_test(module: Path) -> Path:
    """Where a module's tests are (the style's rule: the tests mirror the tree)."""
    root, *folders, name = module.parts
    stem = name.removesuffix(".py")
    if root == "trio_kafka" and stem in ("__init__", "__main__"):
        *folders, stem = folders or ["trio_kafka"]
        stem = stem if name == "__init__.py" else f"{stem}_main"
    if root == "plugins" and folders == ["trio_kafka_apis"]:
        folders = ["apis"]
    return Path("tests", *folders, f"test_{stem}.py")
