"""A start imports nothing that it does not use: these are all that it may."""

import json
import subprocess
import sys

import pytest

from tests.project.tree import ROOT

pytestmark = pytest.mark.slow

CLI = {"trio_kafka"}
BROKER = CLI | {
    "attr",
    "attrs",
    "cattr",
    "cattrs",
    "cramjam",
    "crc32c",
    "idna",
    "outcome",
    "sniffio",
    "sortedcontainers",
    "structlog",
    "trio",
    "trio_kafka_apis",
    "typing_extensions",
}
# Parts of the standard library that cost more than 10 ms or belong to something else.
UNWANTED = {"asyncio", "doctest", "http.server", "pydoc", "sqlite3", "tkinter", "unittest", "xml"}
SHOW = """
import importlib, json, sys
before = set(sys.modules)
importlib.import_module(sys.argv[1])
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def imported_with(module: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW, module], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("module", "allowed"), [("trio_kafka.cli", CLI), ("trio_kafka.broker.main", BROKER)]
)
def test_a_start_imports_what_it_uses(module: str, allowed: set[str]) -> None:
    found = imported_with(module)

    packages = {name.partition(".")[0] for name in found}
    strangers = packages - sys.stdlib_module_names - allowed
    assert {name for name in strangers if not name.startswith("_")} == set()
    assert found & UNWANTED == set()


def test_a_start_imports_no_message_of_the_protocol() -> None:
    """They are dozens, of several ms each: one comes with the first request of its key."""
    found = imported_with("trio_kafka.broker.main") | imported_with("trio_kafka_apis")

    assert [name for name in found if name.startswith("trio_kafka.protocol.messages.")] == []
