"""Tests that a change touches, chosen by imports, and why (`make check`).

Compares the working tree with a commit. A changed module chooses, nearest first, the tests that
mirror it, those that import it, those of modules that import it, and the rest of its package's
tests. A changed document or data file chooses the tests that name it. The rules that hold for the
whole tree always run, and one start of a broker as a process. Whole clusters and foreign clients
are left to `make test`, unless their own files changed.

pytest-testmon was tried: it works with this suite's plugins, but sees neither documents nor what
happens in a broker's own process, and its first run needs the whole suite under coverage.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from attrs import field

from tests.project.tree import ROOT, place_of_test
from trio_kafka.attributes import define, frozen

MOST_FILES: Final = 150
"""Test files beside those that always run: about two minutes on two cores."""
ALWAYS: Final = "tests/project"
SMOKE: Final = "tests/cli/test_embedded.py"
# Each test of these takes seconds, and imports more than it tests.
WHOLE_SYSTEM: Final = ("attacks", "benchmarks", "clients", "e2e", "examples", "sim")
SPARK: Final = "trio_kafka_spark"
_SOURCE_ROOTS: Final = ("plugins", "admin_ui")
_MODULE: Final = re.compile(r"[a-z_]\w*(?:\.\w+)+")


@frozen(order=True)
class Choice:
    """A chosen test file. rank: 0 is nearest to the change; reason: for people."""

    rank: int
    breadth: int
    path: str
    reason: str


@define
class Tree:
    """The modules and tests of a repository, and what each imports. Paths are relative to it."""

    root: Path
    files: Sequence[str]
    _texts: dict[str, str] = field(factory=dict, init=False)

    def text(self, path: str) -> str:
        if path not in self._texts:
            place = self.root / path
            self._texts[path] = place.read_text(errors="replace") if place.is_file() else ""
        return self._texts[path]

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """Paths by module name, tests included."""
        return {module_name(path): path for path in self.files if path.endswith(".py")}

    @cached_property
    def tests(self) -> Sequence[str]:
        return [path for path in self.files if is_test(path)]

    @cached_property
    def imports(self) -> Mapping[str, frozenset[str]]:
        """Names of the repository's modules that each file imports, or names in a string."""
        return {
            path: frozenset(self._imports_of(path)) for path in self.files if path.endswith(".py")
        }

    @cached_property
    def importers(self) -> Mapping[str, Sequence[str]]:
        """Paths by the name of the module that they import."""
        result = defaultdict(list)
        for path, names in self.imports.items():
            for name in names:
                result[name].append(path)
        return result

    def tests_importing(self, name: str) -> set[str]:
        """Return the tests that import a module, directly or through helpers of tests."""
        result: set[str] = set()
        waiting, seen = [name], {name}
        while waiting:
            for path in self.importers.get(waiting.pop(), ()):
                if is_test(path):
                    result.add(path)
                elif path.startswith("tests/"):
                    helper = module_name(path)
                    if path.endswith("conftest.py"):
                        result |= {test for test in self.tests if test.startswith(folder_of(path))}
                    elif helper not in seen:
                        seen.add(helper)
                        waiting.append(helper)
        return result

    def _imports_of(self, path: str) -> Iterator[str]:
        try:
            parsed = ast.parse(self.text(path))
        except SyntaxError:
            return
        for node in ast.walk(parsed):
            names: Iterable[str] = ()
            match node:
                case ast.Import():
                    names = [name.name for name in node.names]
                case ast.ImportFrom(module=str(module)):
                    names = [module, *(f"{module}.{name.name}" for name in node.names)]
                case ast.Constant(value=str(text)) if len(text) < 200:
                    names = _MODULE.findall(text)
            yield from (name for name in names if name in self.modules)


def module_name(path: str) -> str:
    """Return the name by which a file is imported."""
    parts = PurePosixPath(path).with_suffix("").parts
    if parts[0] in _SOURCE_ROOTS:
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_test(path: str) -> bool:
    name = PurePosixPath(path).name
    return path.startswith("tests/") and name.startswith("test_") and name.endswith(".py")


def folder_of(path: str) -> str:
    return f"{PurePosixPath(path).parent}/"


def choose(tree: Tree, changed: Sequence[str]) -> list[Choice]:
    """Return the chosen test files, nearest first, each once."""
    nearest: dict[str, Choice] = {}
    for path in changed:
        for rank, test, reason in _chosen_by(tree, path):
            candidate = Choice(rank, len(tree.imports[test]), test, reason)
            if test not in nearest or candidate < nearest[test]:
                nearest[test] = candidate
    if any(path.endswith(".py") and not path.startswith("tests/") for path in changed):
        smoke = Choice(0, 0, SMOKE, "starts a broker as a process")
        if SMOKE in tree.tests:
            nearest.setdefault(SMOKE, smoke)
    return sorted(choice for choice in nearest.values() if not choice.path.startswith(f"{ALWAYS}/"))


def _chosen_by(tree: Tree, path: str) -> Iterator[tuple[int, str, str]]:
    """Yield rank, test file and reason for one changed file."""
    if is_test(path):
        if path in tree.tests:
            yield 0, path, "changed"
    elif not path.endswith(".py"):
        yield from _naming(tree, path)
    elif path.endswith("conftest.py"):
        for test in tree.tests:
            if test.startswith(folder_of(path)) and folder_of(path) != "tests/":
                yield 1, test, f"has the fixtures of {path}"
    elif path.startswith("tests/"):
        for test in tree.tests_importing(module_name(path)):
            yield 1, test, f"imports {module_name(path)}"
    elif path.startswith("examples/"):
        yield from _naming(tree, path)
    else:
        yield from _reached_from(tree, path)


def _reached_from(tree: Tree, path: str) -> Iterator[tuple[int, str, str]]:
    """Yield the tests of a module, of its importers, and of its package."""
    name = module_name(path)
    mirror = place_of_test(Path(path)).as_posix()
    if mirror in tree.tests:
        yield 0, mirror, f"tests {name}"
    spark = name.startswith(SPARK)
    for test in tree.tests_importing(name):
        if is_focused(test, spark=spark):
            yield 1, test, f"imports {name}"
    for importer in tree.importers.get(name, ()):
        if not importer.startswith("tests/"):
            test = place_of_test(Path(importer)).as_posix()
            if test in tree.tests and is_focused(test, spark=spark):
                yield 2, test, f"tests {module_name(importer)}, which imports {name}"
    folder = folder_of(mirror)
    for test in tree.tests:
        if folder != "tests/" and test.startswith(folder) and is_focused(test, spark=spark):
            yield 3, test, f"is in the package of {name}"


def _naming(tree: Tree, path: str) -> Iterator[tuple[int, str, str]]:
    """Yield the tests that name a file that is not a module; without any, those beside it."""
    name = PurePosixPath(path).name
    result = False
    for test in tree.tests:
        helpers = [
            tree.modules[module] for module in tree.imports[test] if module.startswith("tests.")
        ]
        if any(name in tree.text(file) for file in (test, *helpers)):
            result = True
            yield 1, test, f"names {name}"
    if not result:
        owner = PurePosixPath(path).parent
        parts = [part for part in owner.parts if part not in (*_SOURCE_ROOTS, "tests")]
        while parts:
            folder = "/".join(["tests", *parts]) + "/"
            beside = [test for test in tree.tests if test.startswith(folder)]
            if beside:
                yield from ((3, test, f"is beside {path}") for test in beside)
                return
            parts.pop()


def is_focused(test: str, *, spark: bool) -> bool:
    """Whether a test is small enough to be chosen by imports."""
    folder = test.split("/")[1]
    return folder not in WHOLE_SYSTEM and (spark or folder != SPARK)


def changed_files(root: Path, base: str | None) -> list[str]:
    """Return the files that differ from a commit, from HEAD if it is None, and the new ones."""
    commit = "HEAD" if base is None else _git(root, "merge-base", base, "HEAD")[0]
    changed = _git(root, "diff", "--name-only", "--no-renames", commit)
    return sorted({*changed, *_git(root, "ls-files", "--others", "--exclude-standard")})


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@cache
def repository() -> Tree:
    """Return this repository as it is at the first call: it is parsed once in a process."""
    files = _git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard")
    return Tree(ROOT, [path for path in files if (ROOT / path).is_file()])


def report(
    changed: Sequence[str], chosen: Sequence[Choice], omitted: int, base: str
) -> Iterator[str]:
    """Yield what was chosen and why."""
    yield f"{len(changed)} files differ from {base}; {len(chosen)} test files:"
    yield from (f"  {choice.path}: {choice.reason}" for choice in chosen)
    yield f"  {ALWAYS}/: rules for the whole tree"
    if omitted:
        yield f"left out: {omitted} test files further away; `make test` runs everything"


def main(arguments: Sequence[str] | None = None) -> int:
    """Choose, say so, and run pytest. Further arguments are pytest's."""
    parser = argparse.ArgumentParser("python -m tests.selection", description=__doc__)
    parser.add_argument("--base", help="the commit or branch to compare with (default: HEAD)")
    parser.add_argument("--list", action="store_true", help="say what would run, and run nothing")
    options, others = parser.parse_known_args(arguments)
    changed = changed_files(ROOT, options.base)
    base = options.base or "HEAD"
    if not changed:
        print(f"nothing differs from {base}; `make check BASE=main` compares with main")
        return 0
    every = choose(repository(), changed)
    near = [choice for choice in every if choice.rank == 0]
    chosen = [*near, *[choice for choice in every if choice.rank][: max(0, MOST_FILES - len(near))]]
    for line in report(changed, chosen, len(every) - len(chosen), base):
        print(line, flush=True)
    return 0 if options.list else run([ALWAYS, *(choice.path for choice in chosen)], others)


def run(paths: Sequence[str], others: Sequence[str]) -> int:
    """Run pytest, and once more for tests with the mark `spark`, which share a session."""
    pytest = [sys.executable, "-m", "pytest", "-q"]
    runs = [[*pytest, "-n", "2", "--dist", "worksteal", *paths, *others]]
    spark = [path for path in paths if path.startswith(f"tests/{SPARK}/")]
    if spark:
        runs.append([*pytest, "-m", "spark", *spark, *others])
    codes = [subprocess.run(command, cwd=ROOT, check=False).returncode for command in runs]
    no_tests = 5  # pytest's own status: nothing was left after the marks
    return max((code for code in codes if code != no_tests), default=0)


if __name__ == "__main__":
    raise SystemExit(main())
