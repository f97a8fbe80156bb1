"""`trio-kafka tree`: what it prints, and what it says when it cannot."""

import json
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from threading import Thread

import pytest
import trio

from trio_kafka.cli import main
from trio_kafka.cli.broker_client import BrokerClientError, parse_address
from trio_kafka.cli.tree import (
    MORE,
    NO_KINDS,
    as_data,
    as_text,
    branches,
    read_tree,
    show,
)
from trio_kafka.introspect.tree import Node
from trio_kafka.model import Endpoint
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k18_api_versions import ApiVersion, ApiVersionsResponse
from trio_kafka.protocol.messages.k10001_describe_tree import (
    DescribeTreeResponse,
    TreeFigure,
    TreeRow,
)
from trio_kafka.protocol.texts import printable
from trio_kafka.testing.planes import RunningPlane, running_plane
from trio_kafka.wire.server import small_answer
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka_apis.k18_api_versions import api_versions
from trio_kafka_apis.k10001_describe_tree import describe_tree

ROWS = [
    TreeRow(0, "broker", "broker-1", [TreeFigure("epoch", 2, "3")]),
    TreeRow(1, "plane", "plane data", []),
    TreeRow(2, "listener", "l", [TreeFigure("peer", 4, "a b"), TreeFigure("rate", 3, "0.5")]),
    TreeRow(3, "selector", "p", [TreeFigure("left", 0, "")]),
    TreeRow(2, "channel", "c", []),
    TreeRow(1, "task", "scheduler", [TreeFigure("up", 1, "true")]),
]


@asynccontextmanager
async def broker() -> AsyncIterator[RunningPlane]:
    """A plane that answers on loopback and shows a small tree."""
    async with running_plane(RealWorld(SkippingClock()), [describe_tree, api_versions]) as plane:
        root = plane.parts.tree = Node("broker-1", "broker", lambda: {"epoch": 3})
        root.add("plane data", "plane").add("queue", "channel", lambda: {"depth": 0})
        yield plane


async def run(*arguments: str) -> int:
    """The command in a thread, as it blocks."""
    return await trio.to_thread.run_sync(main, ["tree", *arguments])


@contextmanager
def server(answers: Callable[[socket.socket], None]) -> Iterator[Endpoint]:
    """Something that accepts one connection and does what it is told."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                answers(connection)

        thread = Thread(target=serve)
        thread.start()
        yield Endpoint(*listening.getsockname())
        thread.join()


def api_versions_answer(*keys: int) -> bytes:
    body = to_bytes(ApiVersionsResponse(0, [ApiVersion(key, 0, 0) for key in keys]), 4)
    return small_answer(1, body, flexible=False)


async def test_tree_prints_the_live_tree_of_a_broker(capsys: pytest.CaptureFixture[str]) -> None:
    async with broker() as plane:
        assert await run("--bootstrap", str(plane.endpoint)) == 0

    assert capsys.readouterr().out.splitlines() == [
        "broker-1       broker   epoch=3",
        "└─ plane data  plane",
        "   └─ queue    channel  depth=0",
    ]


async def test_tree_options_path_and_depth_restrict_the_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with broker() as plane:
        arguments = ("--bootstrap", str(plane.endpoint))
        await run(*arguments, "--path", "plane data")
        await run(*arguments, "--depth", "0")

    assert capsys.readouterr().out == (
        "plane data  plane\n└─ queue    channel  depth=0\nbroker-1  broker  epoch=3\n"
    )


async def test_tree_option_kind_selects_nodes_and_their_ancestors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with broker() as plane:
        plane.parts.tree.add("scheduler", "task")
        arguments = ("--bootstrap", str(plane.endpoint), "--kind", "channel")
        assert await run(*arguments) == 0
        assert await run(*arguments, "--depth", "1", "--kind", "task", "--kind", "nonsense") == 0

    assert capsys.readouterr().out.splitlines() == [
        "broker-1       broker   epoch=3",
        "└─ plane data  plane",
        "   └─ queue    channel  depth=0",
        "broker-1      broker  epoch=3",
        "└─ scheduler  task",
    ]


async def test_more_kinds_than_the_limit_are_refused_with_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with broker() as plane:
        kinds = ["--kind", "task"] * 65
        assert await run("--bootstrap", str(plane.endpoint), *kinds) == 1

    assert capsys.readouterr() == (
        "",
        f"trio-kafka: {plane.endpoint}: 65 kinds: expected at most 64\n",
    )


async def test_tree_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    async with broker() as plane:
        assert await run("--bootstrap", str(plane.endpoint), "--json") == 0

    assert json.loads(capsys.readouterr().out) == {
        "truncated": False,
        "tree": {
            "name": "broker-1",
            "kind": "broker",
            "figures": {"epoch": 3},
            "children": [
                {
                    "name": "plane data",
                    "kind": "plane",
                    "figures": {},
                    "children": [
                        {
                            "name": "queue",
                            "kind": "channel",
                            "figures": {"depth": 0},
                            "children": [],
                        }
                    ],
                }
            ],
        },
    }


async def test_unknown_tree_path_is_reported_with_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with broker() as plane:
        assert await run("--bootstrap", str(plane.endpoint), "--path", "x") == 1

    assert capsys.readouterr() == (
        "",
        f"trio-kafka: {plane.endpoint}: broker-1 has no node 'x'\n",
    )


def test_refused_connection_is_reported_with_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = Endpoint(*unused.getsockname())

    assert main(["tree", "--bootstrap", str(address)]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith(f"trio-kafka: {address}: connection refused: start a broker there")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("localhost", "not an address: give HOST:PORT, with a port from 1 to 65535"),
        (":9092", "not an address: give HOST:PORT, with a port from 1 to 65535"),
        ("h:", "not an address: give HOST:PORT, with a port from 1 to 65535"),
        ("h:0", "not an address: give HOST:PORT, with a port from 1 to 65535"),
        ("h:65536", "not an address: give HOST:PORT, with a port from 1 to 65535"),
        ("h:²", "not an address: give HOST:PORT, with a port from 1 to 65535"),
        ("::1:9092", "an IPv6 address must be in brackets, as in [::1]:9092"),
        ("a..b:9092", "'a..b' is not a host name"),
    ],
)
def test_invalid_address_is_reported_with_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    assert main(["tree", "--bootstrap", text]) == 1
    assert capsys.readouterr().err == f"trio-kafka: {text}: {message}\n"


def test_help_of_tree_names_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tree", "--help"]) == 0

    text = capsys.readouterr().out
    for option in ("--bootstrap", "--path", "--depth", "--kind", "--json", "--timeout"):
        assert f"{option} " in text


def test_address_of_host_and_port_is_parsed() -> None:
    assert str(parse_address("h:1")) == str(Endpoint("h", 1))
    assert str(parse_address("[::1]:9092")) == str(Endpoint("::1", 9092))


def test_server_without_the_tree_api_is_not_sent_a_tree_request() -> None:
    def kafka(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(api_versions_answer(0, 1, 18))
        assert connection.recv(1) == b""

    with (
        server(kafka) as address,
        pytest.raises(BrokerClientError, match="only a trio-kafka broker"),
    ):
        read_tree(address)


@pytest.mark.parametrize("keys", [(18, 10001), (18,)])
def test_kinds_are_not_requested_from_a_server_of_an_older_version(keys: tuple[int, ...]) -> None:
    def older(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(api_versions_answer(*keys))
        assert connection.recv(1) == b""

    with server(older) as address, pytest.raises(BrokerClientError) as raised:
        read_tree(address, kinds=["task"])

    assert str(raised.value) == f"{address}: {NO_KINDS}"


def test_whole_tree_is_requested_from_a_server_of_an_older_version() -> None:
    answered = DescribeTreeResponse(rows=ROWS)

    def older(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(api_versions_answer(10001))
        connection.recv(1 << 16)
        connection.sendall(small_answer(2, to_bytes(answered, 0), flexible=False))

    with server(older) as address:
        assert read_tree(address) == answered


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "the server does not speak Kafka's protocol: this is a port of HTTP",
        ),
        (b"", "the server closed the connection without an answer"),
        (api_versions_answer(10001)[:-1], "the server closed the connection without an answer"),
    ],
)
def test_malformed_response_of_a_server_is_an_error(data: bytes, message: str) -> None:
    def answers(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(data)

    with server(answers) as address, pytest.raises(BrokerClientError, match=message):
        read_tree(address)


@pytest.mark.parametrize("drip", [b"", struct.pack(">i", 1000)])
def test_silent_server_times_out(drip: bytes) -> None:
    def silent(connection: socket.socket) -> None:
        connection.sendall(drip)
        while connection.recv(1 << 16):
            pass

    with (
        server(silent) as address,
        pytest.raises(BrokerClientError, match=r"no answer within 0\.05 s"),
    ):
        read_tree(address, timeout_s=0.05)


def test_server_that_sends_single_bytes_does_not_prolong_the_timeout() -> None:
    def drips(connection: socket.socket) -> None:
        connection.sendall(struct.pack(">i", 1000))
        connection.settimeout(0.02)
        try:
            while True:
                connection.sendall(b"x")
                try:
                    if not connection.recv(1 << 16):
                        return
                except TimeoutError:
                    pass
        except ConnectionError:
            pass

    with (
        server(drips) as address,
        pytest.raises(BrokerClientError, match=r"no answer within 0\.1 s"),
    ):
        read_tree(address, timeout_s=0.1)


def test_tree_columns_are_aligned_and_branches_lead_to_every_node() -> None:
    assert list(as_text(DescribeTreeResponse(rows=ROWS, truncated=True))) == [
        "broker-1       broker    epoch=3",
        "├─ plane data  plane",
        "│  ├─ l        listener  peer='a b'  rate=0.5",
        "│  │  └─ p     selector  left=-",
        "│  └─ c        channel",
        "└─ scheduler   task      up=true",
        MORE,
    ]


def test_empty_tree_is_printed_without_rows() -> None:
    nothing = DescribeTreeResponse(truncated=True)

    assert list(as_text(nothing)) == [MORE]
    assert as_data(nothing) == {"truncated": True, "tree": None}


def test_branches_of_two_nested_single_nodes_are_drawn() -> None:
    assert branches([TreeRow(0), TreeRow(1), TreeRow(2)]) == ["", "└─ ", "   └─ "]


def test_terminal_control_characters_in_the_tree_are_escaped() -> None:
    row = TreeRow(0, "part", "a\x1b[2J", [TreeFigure("client_id", 4, "x\ny\u202e")])

    (line,) = as_text(DescribeTreeResponse(rows=[row]))

    assert line == r"a\x1b[2J  part  client_id=x\ny\u202e"
    assert printable("é├ 1") == "é├ 1"


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (0, "", "-"),
        (1, "true", "true"),
        (1, "false", "false"),
        (2, "12", "12"),
        (3, "0.123456", "0.123"),
        (3, "100.0", "100"),
        (3, "inf", "inf"),
        (3, "nan", "nan"),
        (4, "12", "12"),
        (4, "", "''"),
        (9, "x", "x"),
    ],
)
def test_figure_is_shown_according_to_its_kind(kind: int, value: str, shown: str) -> None:
    assert show(TreeFigure("f", kind, value)) == shown


def test_error_without_a_message_is_reported_by_the_name_of_its_code() -> None:
    def refuses(code: int, connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(api_versions_answer(10001))
        connection.recv(1 << 16)
        body = to_bytes(DescribeTreeResponse(error_code=code), 0)
        connection.sendall(small_answer(2, body, flexible=False))

    for code, message in ((-1, "UNKNOWN_SERVER_ERROR"), (999, "error 999")):
        with (
            server(partial(refuses, code)) as address,
            pytest.raises(BrokerClientError, match=message),
        ):
            read_tree(address)
