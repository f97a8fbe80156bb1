"""Names of tests are sentences that a stranger understands: no riddles."""

import re
from collections.abc import Iterator

from tests.project.tree import ROOT, tracked_files

LONGEST = 95
# Name the client, request, task or setting instead.
WORDS = frozenset(
    [
        "who",
        "whom",
        "whoever",
        "nobody",
        "somebody",
        "everybody",
        "anybody",
        "stranger",
        "heard",
        "told",
        "tells",
    ]
)


TEST = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)


def names() -> Iterator[tuple[str, str]]:
    """Yield the file and the name of each test."""
    for path in tracked_files():
        if path.name.startswith("test_") and path.suffix == ".py":
            for name in TEST.findall((ROOT / path).read_text()):
                yield str(path), name


def test_no_test_name_has_a_forbidden_word() -> None:
    riddles = [f"{path}: {name}" for path, name in names() if WORDS & set(name.split("_"))]

    assert riddles == []


def test_no_test_name_is_too_long() -> None:
    assert [name for _, name in names() if len(name) > LONGEST] == []
