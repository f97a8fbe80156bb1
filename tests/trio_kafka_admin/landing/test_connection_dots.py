"""Dots of connections."""

from typing import Any

import pytest

from tests.trio_kafka_admin.findings.kit import connection, moment, node, wait
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.landing.connection_dots import connection_dot, connection_rows

QUOTA = wait("quota", "quota", "Produce of client c", "the quota Produce: 9 of 3 B/s used")
MEMORY = wait("memory", "limiter", "memory-pool of plane data", "9 bytes of request memory")
ANSWER = wait("bytes", "request", "c1/7", "the answer to its request")


@pytest.mark.parametrize(
    ("fields", "state", "words"),
    [
        ({}, "idle", "shop 127.0.0.1: nothing under way"),
        ({"in_flight": 1, "waits": (ANSWER,)}, "busy", "shop 127.0.0.1: 1 request under way"),
        (
            {"waits": (ANSWER, QUOTA)},
            "watch",
            "shop 127.0.0.1: throttled, the quota Produce: 9 of 3 B/s used",
        ),
        ({"waits": (MEMORY,)}, "watch", "shop 127.0.0.1: not read, 9 bytes of request memory"),
        (
            {"unsent_bytes": 16_000_000, "unsent_s": 12.0, "in_flight": 1},
            "wrong",
            "shop 127.0.0.1: does not read; 16.0 MB unsent for 12 s",
        ),
        ({"unsent_bytes": 16, "unsent_s": 0.1}, "idle", "shop 127.0.0.1: nothing under way"),
    ],
)
def test_dot_of_a_connection_says_in_which_state_it_is(
    fields: dict[str, Any], state: str, words: str
) -> None:
    dot = connection_dot(connection(**fields))

    assert (dot.state, dot.words) == (state, words)
    assert (dot.subject and dot.subject.kind, dot.key) == ("connection", "of-shop")


def test_row_of_a_processor_counts_the_connections_that_were_not_read() -> None:
    nodes = [
        node(f"plane data/listener/{name}", "selector", connections=count)
        for name, count in (("p0", 5), ("p1", 0), ("p2", 1))
    ]
    connections = [connection("a"), connection("b"), connection("c", plane="controller")]
    change = Change(None, moment(1.0, *nodes, connections=connections))

    rows = connection_rows(change, "data", change.nodes)

    assert [(row.label, len(row.dots), row.more) for row in rows] == [
        ("processor 0", 2, 3),
        ("processor 2", 0, 1),
    ]


def test_connections_of_an_unknown_processor_have_a_row_of_their_own() -> None:
    change = Change(None, moment(1.0, connections=[connection(processor="retired")]))

    [row] = connection_rows(change, "data", change.nodes)

    assert (row.label, len(row.dots)) == ("retired", 1)
