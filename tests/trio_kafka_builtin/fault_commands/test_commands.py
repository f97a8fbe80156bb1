"""`trio-kafka fault ...` against a broker for tests, with kcat and librdkafka as its clients."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from trio_kafka.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, str]]:
    command = [sys.executable, "-m", "trio_kafka", "start", "--testing", "--with-parent"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        result = json.loads(process.stdout.readline())
        yield {"bootstrap": result["bootstrap"], "testing": result["testing"][0]}
        process.terminate()


@pytest.fixture
def fault(addresses: dict[str, str], capsys: pytest.CaptureFixture[str]) -> Iterator[object]:
    """Run a command; its status and its rules."""

    def run(*words: str) -> tuple[int, list[dict[str, object]]]:
        status = main(["fault", *words, "--at", addresses["testing"], "--json"])
        text = capsys.readouterr().out
        return status, json.loads(text)["rules"] if text else []

    yield run
    run("clear")


def test_rules_are_added_listed_removed_and_cleared(fault, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('[[rules]]\nname = "b"\ndrop = true\ntopic = "none"\n')

    assert fault("add", "name=a", "topic=none", "error=6")[0] == 0
    assert fault("add", "--file", str(file))[0] == 0
    assert [row["name"] for row in fault("list")[1]] == ["a", "b"]
    status, removed = fault("remove", "a")
    assert (status, removed[0]["name"], removed[0]["seen"]) == (0, "a", 0)
    assert fault("remove", "a")[0] == 1
    assert [row["name"] for row in fault("clear")[1]] == ["b"]
    assert fault("list") == (0, [])


def test_invalid_commands_exit_with_status_1(fault) -> None:
    assert fault("add")[0] == 1
    assert fault("add", "drop", "--file", "x.toml")[0] == 1
    assert fault("add", "drop", "tpoic=t")[0] == 1
    assert fault("wait", "none")[0] == 1


def test_wait_returns_after_the_hits_and_release_lets_held_requests_continue(
    fault, addresses
) -> None:
    settings = {"bootstrap.servers": addresses["bootstrap"]}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(20)
    fault("add", "name=moved", "api=Produce", "topic=orders", "error=NOT_LEADER_OR_FOLLOWER")
    fault("add", "name=held", "api=Produce", "topic=orders", "hold", "times=1")
    producer, lost = Producer(settings), list[object]()
    producer.produce("orders", b"a", on_delivery=lambda error, _: lost.append(error))

    assert fault("wait", "moved", "--hits", "2")[0] == 0
    fault("remove", "moved")
    status, [held] = fault("wait", "held")
    assert (status, held["hits"], held["held"]) == (0, 1, 1)
    assert fault("wait", "held", "--hits", "2", "--timeout", "0.1")[0] == 1
    assert fault("release", "held")[0] == 0
    assert producer.flush(20) == 0
    assert lost == [None]


def test_kcat_retries_after_an_injected_error(fault, addresses) -> None:
    kcat = shutil.which("kcat")
    if kcat is None:
        pytest.skip("kcat is not installed")
    at = [kcat, "-b", addresses["bootstrap"], "-t", "of-kcat"]
    fault("add", "name=moved", "api=Produce", "topic=of-kcat", "error=6", "times=1")

    subprocess.run([*at, "-P"], input=b"value\n", check=True, timeout=30)
    read = subprocess.run([*at, "-C", "-e", "-q"], capture_output=True, check=True, timeout=30)

    assert read.stdout == b"value\n"
    assert fault("list")[1][0]["hits"] == 1
