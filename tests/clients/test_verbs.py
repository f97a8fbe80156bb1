"""Verbs of the command line beside Kafka's own tools: both say the same of the same cluster.

Facts are compared, not texts: `verbs/rows.py` has the table. In the short form the output of the
tools was recorded on Apache Kafka 4.4 (`python -m tests.clients.verbs.record`). In the long form
the tools run against this broker and against Apache Kafka 4.4, and a change is made by a verb and
by the command that its dry run prints.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.benchmarks.brokers import apache_kafka_command
from tests.clients.kafka_tools.jvm import AskTool
from tests.clients.verbs import changes
from tests.clients.verbs.record import recorded
from tests.clients.verbs.rows import ROWS, Row, answer_of, words_of
from tests.clients.verbs.scenario import (
    SETTINGS,
    check_soon,
    fill,
    live_clients,
    run_patiently,
    run_verb,
)
from tests.installed import APACHE_KAFKA, need_or_skip
from trio_kafka.cli.commands import COMMANDS
from trio_kafka.testing.kafka.threaded import running_broker
from trio_kafka.testing.processes import broker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NOT_KAFKAS = {
    "client list": "Kafka has no tool for connections",
    "client metrics": "what clients push goes to a plugin of Kafka, which no tool asks",
    "user list": "tests/clients/test_sasl_tool.py",
    "token list": "tests/clients/test_delegation_tokens_tool.py",
    "token create": "as token list",
    "token renew": "as token list",
    "token expire": "as token list",
    "decode": "frames are bytes, without a cluster; tests/cli/decode compares with recorded frames",
    "log dump": "tests/e2e/test_dump_log.py",
    "log verify": "Kafka's tools do not check what they print",
    "log stats": "as log verify",
    "format": "tests/e2e/test_kafka_directories.py",
    "txn abort": "tests/clients/test_transactions_tool.py",
}
OWN = {"start", "tree", "top", "requests", "completion", "version", "config explain"}
OWN |= {"config lint", "config diff"}
OWN_GROUPS = {"cert", "bench", "jobs", "profile", "plugin"}


def name_of(row: Row | changes.Row) -> str:
    return row.verb if isinstance(row, Row) else row.change


@pytest.fixture(scope="module")
def filled() -> Iterator[str]:
    """Address of this broker, filled by the scenario."""
    settings = dict(setting.split("=", 1) for setting in SETTINGS)
    with running_broker({**settings, "log.dirs": "/one,/two"}) as kafka:
        fill(kafka.bootstrap)
        with live_clients(kafka.bootstrap):
            yield kafka.bootstrap


def facts_of_verb(bootstrap: str, row: Row) -> object:
    return row.ours(answer_of(run_verb(bootstrap, *row.verb.split(), "--json")))


@pytest.mark.parametrize("row", [row for row in ROWS if row.is_portable], ids=name_of)
def test_verb_says_what_kafkas_tool_says_of_apache_kafka(filled: str, row: Row) -> None:
    texts = recorded()

    assert facts_of_verb(filled, row) == row.theirs(*(texts[tool] for tool in row.tools))


def test_every_verb_about_a_cluster_is_beside_a_tool() -> None:
    beside = {name_of(row) for row in [*ROWS, *changes.ROWS]} | {"partition move", "produce"}
    named = {name for name in COMMANDS if any(f"{verb} ".startswith(f"{name} ") for verb in beside)}
    own = {name for name in COMMANDS if name.partition(" ")[0] in OWN_GROUPS} | OWN

    assert COMMANDS.keys() - named - own - NOT_KAFKAS.keys() == {"partition reassign"}


@pytest.fixture(scope="module", params=["trio-kafka", "apache-kafka"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of each broker, filled by the scenario."""
    if request.param == "trio-kafka":
        yield request.getfixturevalue("filled")
        return
    need_or_skip(*APACHE_KAFKA)
    home = tmp_path_factory.mktemp("apache")
    disks = f"log.dirs={home / 'data' / 'log'},{home / 'data' / 'two'}"
    with broker_process(
        home, *SETTINGS, disks, command=apache_kafka_command, start_timeout_s=120
    ) as broker:
        fill(broker.bootstrap)
        with live_clients(broker.bootstrap):
            yield broker.bootstrap


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_verb_and_tool_say_the_same_of_each_broker(
    both: str, kafka_tool: AskTool, row: Row, request: pytest.FixtureRequest
) -> None:
    def check() -> None:
        facts = row.theirs(*(kafka_tool(*words_of(tool, both)).printed for tool in row.tools))
        assert facts_of_verb(both, row) == facts
        if row.is_portable and request.node.callspec.params["both"] == "apache-kafka":
            assert facts == row.theirs(*(recorded()[tool] for tool in row.tools))

    check_soon(check)


@pytest.mark.long
def test_changes_by_a_verb_and_by_kafkas_command_end_in_the_same(
    both: str, kafka_tool: AskTool
) -> None:
    for row in changes.ROWS:
        changes.by_verb(both, row, "left")
        changes.by_tool(both, row, "right", kafka_tool)

        check_soon(partial(check_equal, both, row))


def check_equal(bootstrap: str, row: changes.Row) -> None:
    left_answer, right_answer = (changes.look(bootstrap, row, name) for name in ("left", "right"))
    assert left_answer == right_answer, row.change


@pytest.mark.long
def test_kafkas_command_moves_a_replica_as_the_verb_does(
    both: str, kafka_tool: AskTool, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    for name in ("by-verb", "by-command", "by-plan"):
        run_patiently(both, "topic", "create", name, "-p", "1")
    for name in ("by-verb", "by-command", "by-plan"):
        (here,), there = directories(both, name), other_directory(both, name)
        move = ("partition", "move", name, "--to", there)
        if name == "by-plan":
            row = {"topic": name, "partition": 0, "replicas": [1], "log_dirs": [there]}
            plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
            move = ("partition", "reassign", str(plan))
        if name == "by-verb":
            run_verb(both, *move, "--wait", "60")
        else:
            answer = json.loads(run_verb(both, *move, "--dry-run", "--json"))
            changes.run_command(answer["changes"][0]["kafka_command"], kafka_tool)
            run_verb(both, *move, "--wait", "60")  # nothing is to do: it waits for the end

        assert (here, directories(both, name)) == (here, [there])
        run_verb(both, "topic", "delete", name)


def directories(bootstrap: str, topic: str) -> list[str]:
    answer = json.loads(run_patiently(bootstrap, "partition", "list", topic, "--json"))
    return [row["directory"] for row in answer["replicas"]]


def other_directory(bootstrap: str, topic: str) -> str:
    """Return a directory that has no replica of a topic of one partition."""
    answer = json.loads(run_verb(bootstrap, "partition", "list", "--json"))
    paths = {row["directory"] for row in answer["replicas"]} - {*directories(bootstrap, topic)}
    return str(paths.pop())
