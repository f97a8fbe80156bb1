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
    "cramjam",
    "crc32c",
    "idna",
    "outcome",
    "sniffio",
    "sortedcontainers",
    "trio",
    "trio_kafka_apis",
    "trio_kafka_leaf",  # where it is installed; else a folder of that name
}
# Parts of the standard library that cost more than 10 ms or belong to something else.
UNWANTED = {"asyncio", "doctest", "http.server", "pydoc", "sqlite3", "tkinter", "unittest", "xml"}
SHOW = """
import importlib, json, sys
before = set(sys.modules)
importlib.import_module(sys.argv[1])
print(json.dumps(sorted(set(sys.modules) - before)))
"""

ASK = """
import sys, trio
from trio.testing import MockClock
from trio_kafka.broker import Broker
from trio_kafka.config.load import broker_config
from trio_kafka.testing.scripted_client import connected, frame
from trio_kafka.testing.simulation import simulated_world

SETTINGS = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": "/data"}

def messages():
    return [name for name in sys.modules if name.startswith("trio_kafka.protocol.messages.k")]

async def main():
    world, config = simulated_world(), broker_config(SETTINGS)
    async with (
        Broker(config, world, format_if_empty=True) as broker,
        connected(world, broker.endpoint) as client,
    ):
        print(*messages())
        await client.send(frame(18, 0))
        await client.receive_frame()
        print(*messages())

trio.run(main, clock=MockClock(autojump_threshold=0))
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
def test_starting_imports_no_package_outside_the_allowed_list(
    module: str, allowed: set[str]
) -> None:
    result = imported_with(module)

    packages = {name.partition(".")[0] for name in result}
    unknown_plugins = packages - sys.stdlib_module_names - allowed
    assert {name for name in unknown_plugins if not name.startswith("_")} == set()
    assert result & UNWANTED == set()


# Modules of ours that a command may import once it runs, its own too. Each costs 0.5 ms; with
# bytecode, a start is to take 0.25 s of CPU at most.
COMMANDS = {
    "trio_kafka.cli.completion.live": 10,
    "trio_kafka.cli.topic.list": 88,
    "trio_kafka.cli.group.lag": 93,
    "trio_kafka.cli.config.set": 88,
    "trio_kafka.cli.produce.run": 165,
    "trio_kafka.cli.consume.run": 165,
}
# Parts of clients that most commands do without, and libraries that cost as much as a command.
RARE = (
    "trio_kafka.clients.consumer.groups.group",
    "trio_kafka.clients.producer.transactions.coordinator",
    "trio_kafka.broker.",
    "numpy",
    "pandas",
    "pyarrow",
)


@pytest.mark.parametrize(("module", "most"), COMMANDS.items())
def test_command_imports_few_modules_and_none_that_it_may_not_need(module: str, most: int) -> None:
    result = imported_with(module)

    assert len([name for name in result if name.startswith("trio_kafka")]) <= most
    assert sorted(name for name in result if name.startswith(RARE)) == []
    assert "asyncio" not in result


def test_starting_a_broker_imports_no_protocol_message_modules() -> None:
    """They are dozens, of several ms each: one comes with the first request of its key."""
    result = imported_with("trio_kafka.broker.main") | imported_with("trio_kafka_apis")

    assert [name for name in result if name.startswith("trio_kafka.protocol.messages.")] == []


def test_starting_a_broker_imports_no_record_modules_of_unsupported_group_types() -> None:
    result = imported_with("trio_kafka.broker.main")

    stored = "trio_kafka.protocol.stored.groups."
    assert {f"{stored}classic", f"{stored}consumer"} <= result
    assert {f"{stored}share", f"{stored}streams"} & result == set()


def test_serving_broker_imports_message_modules_only_for_requests_received() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["", "trio_kafka.protocol.messages.k18_api_versions"]
