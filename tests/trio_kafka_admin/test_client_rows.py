"""Rows of clients: what they read and write, as far as it is known."""

import trio
from attrs import evolve
from trio.testing import MockClock

from tests.trio_kafka_admin.test_group_rows import GROUP, member
from tests.trio_kafka_admin.test_mute_history import connection, wait
from trio_kafka.introspect.facts.clients import ClientFacts
from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka.protocol.messages.k10010_describe_requests import RequestLife
from trio_kafka_admin.client_rows import (
    ClientRow,
    ConnectionRow,
    TopicUseRow,
    client_row,
    connection_row,
    in_flight_rows,
    recent_rows,
    topic_uses,
)
from trio_kafka_admin.rate_history import RateHistory

CLIENT = ClientFacts(
    client_id="shop",
    connections=1,
    software=("soft 1.0",),
    hosts=("127.0.0.1",),
    requests=10,
    in_flight=0,
    muted=0,
    unsent_bytes=0,
)


def request(api: str, *on: Subject) -> RequestFacts:
    return RequestFacts(
        plane="data",
        processor="p",
        connection="c",
        correlation=1,
        client_id="shop",
        software="",
        principal="",
        api=api,
        version=1,
        stage="parked",
        age_s=2.0,
        hops_s={},
        why=tuple(Wait(cause="bytes", words=f"bytes of {each.name}", on=each) for each in on),
    )


async def test_client_and_connection_have_rates_from_the_second_look_on(
    autojump_clock: MockClock,
) -> None:
    rates = RateHistory()
    first = client_row(CLIENT, rates)
    connection_row(connection("c"), 10, rates)
    await trio.sleep(2)
    second = client_row(evolve(CLIENT, requests=30), rates)
    row = connection_row(connection("c", wait("quota"), wait("memory", words="memory")), 14, rates)

    assert (first["requests_per_s"], second["requests_per_s"]) == (None, 10.0)
    assert (row["requests"], row["requests_per_s"]) == (14, 2.0)
    assert row["not_read"] == "its quota; memory"
    assert set(second) == {field.name for field in ClientRow.__attrs_attrs__}
    assert set(row) == {field.name for field in ConnectionRow.__attrs_attrs__}


def test_topics_are_known_from_requests_in_flight_and_from_assignments() -> None:
    mine = evolve(member(""), client_id="shop", assigned={"orders": (0, 1)})
    other = evolve(member(""), client_id="mail", assigned={"letters": (0,)})
    requests = [
        request("Fetch", Subject("topic", "orders"), Subject("group", "g")),
        request("Produce", Subject("partition", "re-turns-3")),
        request("Fetch", Subject("topic", "")),
    ]

    uses = topic_uses({"shop"}, requests, [evolve(GROUP, members=(mine, other))])

    assert uses == [
        TopicUseRow(topic="orders", how="Fetch in flight"),
        TopicUseRow(topic="orders", how="is assigned in group g"),
        TopicUseRow(topic="re-turns", how="Produce in flight"),
    ]


def test_request_in_flight_names_all_that_it_waits_for() -> None:
    (row,) = in_flight_rows([request("Fetch", Subject("topic", "a"), Subject("topic", "b"))])

    assert (row.api, row.age_s, row.waits_for) == ("Fetch", 2.0, "bytes of a; bytes of b")


def test_latest_requests_are_counted_by_api_with_the_age_of_the_last() -> None:
    lives = [
        RequestLife(api_name=name, ended_us=ended_us)
        for name, ended_us in (("Fetch", 5_000_000), ("Produce", 1), ("Fetch", 2_000_000))
    ]

    rows = recent_rows(lives)

    assert [(row.api, row.requests, row.ago_s) for row in rows] == [
        ("Fetch", 2, 2.0),
        ("Produce", 1, 0.000001),
    ]
