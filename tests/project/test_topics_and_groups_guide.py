"""docs/how-to/topics-and-groups.md: its commands are run, and print what the page shows.

`…` in the output of the page is any text, line breaks too.
"""

import os
import re
import subprocess
import sys

import pytest

from tests.project.tree import ROOT
from trio_kafka.testing.kafka.threaded import running_broker

GUIDE = (ROOT / "docs" / "how-to" / "topics-and-groups.md").read_text()
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
ADDRESS = "127.0.0.1:9092"
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.mark.slow
def test_commands_of_the_page_print_what_it_shows() -> None:
    program = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    with running_broker(SETTINGS) as kafka:
        environment = {
            **os.environ,
            "PATH": program,
            "TRIO_KAFKA_BOOTSTRAP": kafka.bootstrap,
        }
        for block in BLOCK.findall(GUIDE):
            for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, expected = step.partition("\n")
                result = subprocess.run(
                    ["bash", "-c", command],
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=50,
                    check=False,
                )
                assert result.stderr == "", command
                shown = result.stdout.replace(kafka.bootstrap, ADDRESS)
                assert re.fullmatch(pattern(expected), shown, re.DOTALL), (command, shown)


def pattern(expected: str) -> str:
    """Return what matches the output that the page shows."""
    return ".*".join(map(re.escape, expected.split("…")))
