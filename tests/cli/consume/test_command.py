"""`trio-kafka consume`: which records are printed, how, and the way back by `produce`."""

import json
import socket
import threading
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli import peers
from tests.cli.kit import Shell
from trio_kafka.controls.ask import ask
from trio_kafka.controls.values import Record
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.testing.kafka.threaded import Kafka

HOSTILE = [
    (None, None, ()),
    (b"", b"", (("", b""), ("", None))),
    (b"\0", b"a\0b\n\r\n\xff\xfe", (("h\0\n", b"\xff"),)),
    ("ключ".encode(), "\ud7ff\U0010ffff\u2028".encode(), (("a", b"1"), ("a", b"2"))),
    (b'{"hex":"00"}', b'{"base64":"AA=="}', ()),
    (b"\xed\xa0\x80", b"\xc0\x80", ()),  # a surrogate, and an overlong NUL
    (b"k", b"x" * 70_000, ()),
]
NULLABLE = st.none() | st.binary(max_size=20)
RECORDS = st.lists(
    st.tuples(
        NULLABLE,
        NULLABLE,
        st.lists(st.tuples(st.text(max_size=5), NULLABLE), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=5,
)


def contents(kafka: Kafka, topic: str) -> list[tuple[object, ...]]:
    """All of each record but its topic, by partition and offset."""
    rows = [
        (row.partition, row.offset, row.timestamp_ms, row.key, row.value, tuple(row.headers))
        for row in kafka.records(topic)
    ]
    return sorted(rows, key=lambda row: row[:2])


def copy(shell: Shell, source: str, target: str, *options: str) -> None:
    lines = shell.run("consume", source, "--json", *options)
    shell.run("produce", target, "--json", stdin=lines)


@pytest.mark.parametrize("form", ["text", "hex", "base64"])
def test_hostile_records_are_copied_byte_for_byte(shell: Shell, form: str) -> None:
    source, target = f"hostile-{form}", f"copy-{form}"
    for name in (source, target):
        shell.kafka.create_topic(name, partitions=2)
    for number, (key, value, headers) in enumerate(HOSTILE):
        shell.kafka.produce(
            source,
            Record(
                value=value, key=key, headers=headers, partition=number % 2, timestamp_ms=number
            ),
        )

    forms = [word for part in ("key", "value", "header") for word in (f"--{part}-encoding", form)]
    copy(shell, source, target, *forms)

    assert contents(shell.kafka, target) == contents(shell.kafka, source)


@given(records=RECORDS)
@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@pytest.mark.slow
def test_any_records_are_copied_byte_for_byte(shell: Shell, records) -> None:
    test_any_records_are_copied_byte_for_byte.number += 1
    number = test_any_records_are_copied_byte_for_byte.number
    source, target = f"any-{number}", f"any-copy-{number}"
    shell.kafka.create_topic(source)
    shell.kafka.create_topic(target)
    for key, value, headers in records:
        shell.kafka.produce(source, Record(value=value, key=key, headers=headers))

    copy(shell, source, target)

    assert contents(shell.kafka, target) == contents(shell.kafka, source)


test_any_records_are_copied_byte_for_byte.number = 0


@pytest.fixture
def orders(shell: Shell) -> str:
    """A topic with five records in two partitions, one second apart."""
    if "orders" not in shell.kafka.topics():
        shell.kafka.create_topic("orders", partitions=2)
        for number in range(5):
            record = Record(
                value=f"v{number}",
                key=f"k{number}",
                headers=[("n", str(number).encode())],
                partition=number // 3,
                timestamp_ms=1_000 * number,
            )
            shell.kafka.produce("orders", record)
    return "orders"


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ([], {"v0", "v1", "v2", "v3", "v4"}),
        (["-p", "1"], {"v3", "v4"}),
        (["-o", "1"], {"v1", "v2", "v4"}),
        (["-o", "-1"], {"v2", "v4"}),
        (["-o", "latest"], set()),
        (["--since", "2000"], {"v2", "v3", "v4"}),
        (["--since", "9000"], set()),
        (["--until", "2000"], {"v0", "v1"}),
        (["--since", "1000", "--until", "1970-01-01T00:00:04Z"], {"v1", "v2", "v3"}),
        (["--key", "k[13]"], {"v1", "v3"}),
        (["--value", "4$"], {"v4"}),
        (["--header", "n=[01]"], {"v0", "v1"}),
        (["--committed"], {"v0", "v1", "v2", "v3", "v4"}),
    ],
)
def test_options_choose_records(
    shell: Shell, orders: str, options: list[str], values: set[str]
) -> None:
    assert set(shell.run("consume", orders, *options).decode().split()) == values


def test_count_and_format_bound_and_shape_the_output(shell: Shell, orders: str) -> None:
    output = shell.run("consume", orders, "-p", "0", "-n", "2", "-f", r"%p/%o %k=%s (%h)\n")

    assert output == b"0/0 k0=v0 (n=0)\n0/1 k1=v1 (n=1)\n"


def test_json_has_all_of_a_record(shell: Shell, orders: str) -> None:
    output = shell.run("consume", orders, "-p", "1", "-n", "1", "--json")

    assert json.loads(output) == {
        "topic": "orders",
        "partition": 1,
        "offset": 0,
        "timestamp_ms": 3000,
        "headers": [["n", "3"]],
        "key": "k3",
        "value": "v3",
    }


def test_glob_reads_several_topics(shell: Shell) -> None:
    for name in ("glob-a", "glob-b"):
        shell.kafka.create_topic(name)
        shell.kafka.produce(name, name.encode())

    assert set(shell.run("consume", "glob-*").split()) == {b"glob-a", b"glob-b"}


@pytest.mark.slow
def test_group_continues_where_it_has_ended(shell: Shell, orders: str) -> None:
    options = ("consume", orders, "--group", "g")

    first = shell.run(*options, "-n", "2").split()
    rest = shell.run(*options).split()
    nothing = shell.run(*options)

    assert len(first) == 2
    assert sorted(first + rest) == [b"v0", b"v1", b"v2", b"v3", b"v4"]
    assert nothing == b""


@pytest.mark.slow
def test_consume_with_a_classic_group_ends_after_the_last_record(shell: Shell, orders: str) -> None:
    options = ("--group", "old", "--group-protocol", "classic")

    assert len(shell.run("consume", orders, *options).split()) == 5


def join(kafka: Kafka, group: str) -> None:
    """Join a classic group, and say nothing more: others wait for this member's next join."""
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=60_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"\0\1\0\0\0\0\xff\xff\xff\xff")],
    )
    answer = kafka.thread.call(partial(ask, kafka.broker, request))
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        request.member_id = answer.member_id
        answer = kafka.thread.call(partial(ask, kafka.broker, request))
    assert answer.error_code == 0


@pytest.mark.slow
def test_join_that_waits_for_another_member_ends_at_the_timeout(shell: Shell, orders: str) -> None:
    shell.run("consume", orders, "--group", "first")  # its coordinator has loaded its groups
    join(shell.kafka, "waits")

    line = shell.fail(
        *("consume", orders, "--group", "waits", "--group-protocol", "classic"),
        *("--timeout", "1"),
    )

    assert "group waits gave no partition within 1 s: see `trio-kafka group members waits`" in line


@pytest.mark.slow
def test_member_without_a_partition_ends_at_the_timeout(shell: Shell) -> None:
    shell.kafka.create_topic("narrow")
    shell.kafka.produce("narrow", b"x")
    shell.run("consume", "narrow", "--group", "first")
    request = ConsumerGroupHeartbeatRequest(
        group_id="narrow",
        member_id="A" * 22,
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["narrow"],
        topic_partitions=[],
    )
    answer = shell.kafka.thread.call(partial(ask, shell.kafka.broker, request))
    assert answer.error_code == 0

    line = shell.fail("consume", "narrow", "--group", "narrow", "--timeout", "1")

    assert "group narrow gave no partition within 1 s" in line


def test_records_of_an_aborted_transaction_are_skipped_if_asked_for(shell: Shell) -> None:
    shell.kafka.create_topic("aborts")
    shell.fail(
        *("produce", "aborts", "--json", "--transactional-id", "a"),
        *("--commit-every", "1", "-X", "linger.ms=0"),
        stdin=b'{"value":"v"}\n{"value":1}\n',
    )
    shell.run("produce", "aborts", stdin=b"last\n")

    assert shell.run("consume", "aborts", "--committed").split() == [b"v", b"last"]


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["ordres"], 1, "topic ordres: there is no such topic; did you mean orders?"),
        (["x*y"], 1, "no topic matches 'x*y'"),
        (["orders", "-o", "9"], 1, "partition orders-0: offset 9 is out of range, it has 0 to 3"),
        (["orders", "-p", "7"], 1, "topic orders: there is no partition 7, they are 0 to 1"),
        (["orders", "-o", "1", "--since", "1h"], 2, "both say where to begin"),
        (["orders", "--follow", "--until", "1h"], 2, "leave one out"),
        (["orders", "--group", "g", "-p", "1"], 2, "a group chooses partitions"),
        (["orders", "--json", "-f", "%k"], 2, "leave -f out"),
        (["orders", "-n", "0"], 2, "want at least 1"),
        (["orders", "--since", "soon"], 2, "--since: 'soon' is not a time"),
        (["orders", "-f", "%x"], 2, "--format: unknown %x"),
        (["orders", "--key", "("], 2, "--key (: not an expression of RE2"),
        (["orders", "-X", "group.id"], 2, "want NAME=VALUE"),
    ],
)
def test_wrong_options_are_one_line_with_a_remedy(
    shell: Shell, orders: str, options: list[str], status: int, words: str
) -> None:
    assert words in shell.fail("consume", *options, status=status)


@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "this is a port of HTTP"),
        (b"\x15\x03\x03\x00\x02\x02\x0a", "this is a port of TLS"),
        (b"SSH-2.0-x\r\n", "this is a port of SSH"),
        (b"\0\0\0\x08garbage!", "does not speak Kafka's protocol"),
        (b"", "closed the connection without an answer"),
    ],
)
@pytest.mark.parametrize("command", ["consume", "produce"])
def test_server_that_is_no_broker_is_named(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, command: str, greeting: bytes, words: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"

        def answer() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(greeting)

        thread = threading.Thread(target=answer)
        thread.start()
        monkeypatch.setattr(type(shell.kafka), "bootstrap", address)
        line = shell.fail(command, "orders")
        thread.join()

    assert address in line
    assert words in line


def test_read_ends_at_its_timeout_when_the_broker_sends_no_records(shell: Shell) -> None:
    shell.kafka.create_topic("stalled")
    shell.kafka.produce("stalled", b"x")
    fetch = 1

    with peers.serving(peers.Relay(shell.kafka.bootstrap, seen=fetch.__eq__)) as address:
        line = shell.at(address).fail("consume", "stalled", "--timeout", "0.5")

    assert "no records of stalled-0 within 0.5 s, after 0 records" in line
