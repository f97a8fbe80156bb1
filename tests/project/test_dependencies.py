import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.tree import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = ROOT / "requirements"
NAME = re.compile(r"[A-Za-z0-9_.-]+")


def names(requirements: list[str | dict[str, str]]) -> Iterator[str]:
    """Names of one list, with those of the groups that it includes."""
    for requirement in requirements:
        if isinstance(requirement, dict):
            yield from names(SETTINGS["dependency-groups"][requirement["include-group"]])
        elif result := NAME.match(requirement):
            yield result[0].lower()


RUN = set(names(SETTINGS["project"]["dependencies"]))
OPTIONAL = SETTINGS["project"]["optional-dependencies"]
SPARK = set(names(OPTIONAL["spark"])) - {"trio-kafka"}  # which stands for its extra `columnar`
OWN = {"trio-kafka", "trio-kafka-leaf"}  # distributions of this repository
EXTRAS = {name for extra in OPTIONAL.values() for name in names(extra)} - OWN
GROUPS = {name: set(names(group)) for name, group in SETTINGS["dependency-groups"].items()}


def locked(name: str) -> dict[str, str]:
    """Version and hashes of each package of a lock."""
    entries = re.split(r"\n(?=\S)", (LOCKS / f"{name}.txt").read_text())
    result = (re.match(r"([\w.-]+)==(\S+)", entry) for entry in entries)
    return {match[1]: match.string for match in result if match}


def test_dependencies_page_gives_a_reason_for_exactly_the_declared_dependencies() -> None:
    text = (ROOT / "docs" / "reference" / "dependencies.md").read_text()
    reasons = [line.partition(":")[0] for line in text.splitlines() if line.startswith("- ")]
    named = {name for line in reasons for name in re.findall(r"\*\*([\w.-]+)\*\*", line)}

    assert named - OWN == RUN | EXTRAS | GROUPS["dev"] | GROUPS["recipes"] | GROUPS["docs"]


@pytest.mark.parametrize(
    ("lock", "packages"),
    [
        ("run", RUN | set(names(OPTIONAL["http"]))),
        ("test", RUN | EXTRAS - SPARK | GROUPS["test"]),
        ("spark", RUN | EXTRAS | GROUPS["test"]),
        ("dev", RUN | EXTRAS | GROUPS["dev"]),
        ("recipes", RUN | set(names(OPTIONAL["testing"])) | GROUPS["recipes"]),
        ("docs", GROUPS["docs"]),
        ("build", GROUPS["build"]),
        ("uv", GROUPS["uv"]),
    ],
)
def test_lock_file_contains_every_declared_dependency_with_hashes(
    lock: str, packages: set[str]
) -> None:
    result = locked(lock)

    assert packages <= set(result)
    assert [name for name, entry in result.items() if "--hash=sha256:" not in entry] == []


def test_all_lock_files_pin_the_same_version_of_a_package() -> None:
    versions: dict[str, set[str]] = {}
    for path in LOCKS.glob("*.txt"):
        for name, entry in locked(path.stem).items():
            versions.setdefault(name, set()).add(entry.split("==")[1].split()[0])

    assert {name: pins for name, pins in versions.items() if len(pins) > 1} == {}


def test_every_make_target_named_in_the_docs_exists() -> None:
    rules = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][\w-]*):", rules, re.MULTILINE))
    named_targets = {
        target
        for page in (ROOT / "README.md", *Path(ROOT / "docs").rglob("*.md"))
        for target in re.findall(r"(?:^    |`)make ([a-z][\w-]*)", page.read_text(), re.MULTILINE)
    }

    assert {"run", "test"} <= named_targets <= targets
    assert set(re.findall(r"^\.PHONY: (.*)$", rules, re.MULTILINE)[0].split()) == targets
