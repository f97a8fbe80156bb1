"""Every verb about a cluster against what it must not trust: wrong ports, bad answers, wrong names.

In the short form each verb meets one wrong peer, and two places where a connection is cut; in the
long form all of them.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from itertools import cycle, product
from pathlib import Path

import pytest

from tests.cli import peers
from tests.cli.kit import Shell
from tests.cli.verbs import VERBS, Verb
from trio_kafka.cli.commands import COMMANDS
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PEERS: list[tuple[peers.Behave | None, str]] = [
    (None, "connection refused: start a broker there, or set --bootstrap"),
    (peers.http, "this is a port of HTTP"),
    (peers.tls, "this is a port of TLS"),
    (peers.ssh, "this is a port of SSH"),
    (peers.garbage, ""),
    (peers.endless, ""),
    (peers.half, ""),
    (peers.closed, ""),
    (peers.silent, ""),
]
REFUSED = "127.0.0.1:1"
OWN_MACHINE = {
    *(
        "start",
        "format",
        "version",
        "completion",
        "decode",
        "cert dev",
        "plugin new",
        "plugin check",
    ),
    *("log dump", "log verify", "log stats", "config explain", "config lint"),
}
OPEN = {"cluster describe", "cluster features", "cluster health", "txn list"}
"""They need no permission, or show what the client may see: nothing."""
Words = Callable[[Verb], list[str]]


@pytest.fixture(scope="module")
def module_kafka() -> Iterator[Kafka]:
    with running_broker({"log.dirs": "/one,/two"}) as kafka:
        yield kafka


@pytest.fixture
def words(tmp_path: Path) -> Words:
    """Returns the words of a verb, about the topic `orders` and the group `billing`."""
    row = {"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": ["/two"]}
    plan, file = tmp_path / "plan.json", tmp_path / "file.properties"
    plan.write_text(json.dumps({"partitions": [row]}))
    file.touch()
    password = tmp_path / "password"
    password.write_text("a password\n")
    names = {"TOPIC": "orders", "GROUP": "billing", "PLAN": str(plan), "FILE": str(file)}
    names["PASSWORD"] = str(password)
    return lambda verb: [names.get(word, word) for word in verb.words.split()]


def fill(shell: Shell) -> None:
    """Create the topic and the group, where they are not there."""
    if b"orders" not in shell.run("topic", "list"):
        shell.kafka.create_topic("orders")
        shell.kafka.produce("orders", b"one")
    if b"orders" not in shell.result("group", "lag", "billing")[1]:
        shell.run("consume", "orders", "--group", "billing")


def test_table_has_every_verb_about_a_cluster() -> None:
    named = {name for name in COMMANDS for verb in VERBS if f"{verb.words} ".startswith(f"{name} ")}
    others = {name for name in COMMANDS if name.startswith("profile ")}

    assert COMMANDS.keys() - named - others == OWN_MACHINE


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.words)
def test_verb_that_changes_has_a_dry_run_and_one_that_shows_prints_json(
    verb: Verb, shell: Shell
) -> None:
    name = " ".join(verb.words.split()[:2])
    command = name if name in COMMANDS else name.split()[0]

    text = shell.result(*command.split(), "--help")[1].decode()

    assert "--json" in text
    if verb.changes and command not in WITHOUT_DRY_RUN:
        assert "--dry-run" in text


WITHOUT_DRY_RUN = {
    *("consume", "produce"),  # data, not settings of the cluster
    *("bench produce", "bench latency"),
    *("jobs run", "plugin reload"),  # they do what the broker does by itself
}


def test_peer_that_is_no_broker_is_named_in_one_line(
    shell: Shell, words: Words, size: Callable[[int, int], int]
) -> None:
    pairs = [*product(VERBS, PEERS)] if size(0, 1) else [*zip(VERBS, cycle(PEERS), strict=False)]
    for behave, reason in PEERS:
        verbs = [verb for verb, peer in pairs if peer == (behave, reason)]
        if behave is None:
            check_refusals(shell.at(REFUSED), verbs, words, reason)
            continue
        with peers.serving(behave) as address:
            check_refusals(shell.at(address), verbs, words, reason)


def check_refusals(shell: Shell, verbs: list[Verb], words: Words, reason: str) -> None:
    for verb in verbs:
        status, output, errors = shell.result(
            *words(verb), "--timeout", "0.3" if reason == "" else "5", stdin=verb.stdin
        )
        about = (verb.words, shell.bootstrap, errors)
        assert status == (2 if verb.words.startswith("config diff") else 1), about
        assert output == b"", about
        (line,) = errors.splitlines()
        assert line.startswith("trio-kafka: "), about
        assert shell.bootstrap in line, about
        assert reason in line, about


def test_connection_that_is_cut_in_an_answer_leaves_nothing_said_to_be_done(
    shell: Shell, words: Words, size: Callable[[int, int], int]
) -> None:
    for answers in (range(1, 9), (1, 3))[size(1, 0)]:
        for verb in VERBS:
            fill(shell)
            relay = peers.Relay(shell.kafka.bootstrap, answers=answers)
            with peers.serving(relay) as address:
                at = shell.at(address)
                status, output, errors = at.result(
                    *words(verb), "--timeout", "0.2", stdin=verb.stdin
                )

            about = (verb.words, answers, output, errors)
            if status == 0:  # it was done before, or by the broker's own address
                assert errors == "", about
            elif errors or not verb.words.startswith("config diff"):
                assert status in (1, 2), about
                assert output == b"", about
                (line,) = errors.splitlines()
                assert line.startswith("trio-kafka: "), about


def test_interrupted_seek_is_not_said_to_be_done(shell: Shell) -> None:
    fill(shell)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    commit = 8

    def interrupt(key: int) -> bool:
        if key == commit:
            os.kill(os.getpid(), signal.SIGINT)
        return key == commit

    try:
        with peers.serving(peers.Relay(shell.kafka.bootstrap, seen=interrupt)) as address:
            seek = ("group", "seek", "billing", "--to", "earliest")
            status, output, errors = shell.at(address).result(*seek)
    finally:
        signal.signal(signal.SIGINT, before)

    (row,) = json.loads(shell.run("group", "lag", "billing", "--json"))["lags"]
    assert (status, output, errors) == (130, b"", "trio-kafka: interrupted\n")
    assert row["committed"] == 1


@pytest.mark.parametrize(
    "verb",
    [
        *(verb for verb in VERBS if "TOPIC" in verb.words),
        *(verb for verb in VERBS if "GROUP" in verb.words),
    ],
    ids=lambda verb: verb.words,
)
def test_unknown_topic_or_group_is_answered_with_the_nearest_name(
    verb: Verb, shell: Shell, words: Words
) -> None:
    fill(shell)
    typos = {"orders": "ordrs", "billing": "billng"}
    typed = [typos.get(word, word) for word in words(verb)]

    line = shell.fail(*typed, stdin=verb.stdin)

    right, typo = ("orders", "ordrs") if "TOPIC" in verb.words else ("billing", "billng")
    assert typo in line
    assert line.endswith(f"did you mean {right}?")


def test_every_verb_names_the_permission_that_is_missing(shell: Shell, words: Words) -> None:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:other",
    }
    with running_broker(settings, topics=["orders"]) as kafka:
        at = shell.at(kafka.bootstrap)
        for verb in VERBS:
            status, output, errors = at.result(*words(verb), "--timeout", "2", stdin=verb.stdin)

            about = (verb.words, status, output, errors)
            if verb.words in OPEN:
                assert (status, errors) == (0, ""), about
                assert b"orders" not in output, about
                continue
            assert status in (1, 2), about
            assert output == b"", about
            (line,) = errors.splitlines()
            assert line.startswith("trio-kafka: "), about
            assert (
                "permission" in line or "AUTHORIZATION_FAILED" in line or "NOT_ALLOWED" in line
            ), about
        assert [*kafka.topics()] == ["orders"]
