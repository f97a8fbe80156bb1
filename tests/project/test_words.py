"""The project speaks of itself alone: no machine's paths, no hosts but known ones."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.project.tree import ROOT, tracked_files

URL = re.compile(r"\b(?:https?|ftp|ssh|git)://([\w.-]+)")
# Written in two halves, so that this file passes its own test.
MACHINE_PATH = re.compile(r"(?<![\w./}])/(?:" + "work|root|home|Users" + r")/\w")
HOSTS = {
    "www.apache.org",
    "www.w3.org",
    "localhost",
    "127.0.0.1",
    "0.0.0.0",
    "example.com",
    "host",
    "schemas",
}
BINARY = {".gz", ".png", ".log", ".index", ".timeindex", ".checkpoint", ".bin", ".snapshot"}


def lines() -> Iterator[tuple[Path, int, str]]:
    for path in tracked_files():
        if path.suffix not in BINARY:
            text = (ROOT / path).read_text(errors="replace")
            yield from ((path, n, line) for n, line in enumerate(text.splitlines(), 1))


def test_no_file_names_a_host_that_is_not_listed() -> None:
    result = [
        f"{path}:{n}: {host}"
        for path, n, line in lines()
        for host in URL.findall(line)
        if host not in HOSTS and not host.endswith((".example", ".test"))
    ]

    assert result == []


def test_no_file_contains_a_path_of_a_developer_machine() -> None:
    result = [f"{path}:{n}" for path, n, line in lines() if MACHINE_PATH.search(line)]

    assert result == []


def test_patterns_match_urls_and_machine_paths() -> None:
    assert URL.findall("see https://" + "registry.test/simple") == ["registry.test"]
    assert MACHINE_PATH.search("in /" + "home/me/checkout")
    assert not MACHINE_PATH.search("src/" + "work/queue")
