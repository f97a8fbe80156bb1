"""The latest requests of clients other than the kit."""

from confluent_kafka.admin import AdminClient

from trio_kafka.testing.kafka.latest_requests import MOST


def test_only_the_latest_requests_are_kept(kafka):
    latest = kafka.in_loop.latest_requests
    assert list(kafka.look(lambda _: list(latest.rows()))) == []
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, "client.id": "mine"})
    for _ in range(MOST + 5):
        client.list_topics(timeout=10)
    del client

    rows = kafka.look(lambda _: list(latest.rows()))

    assert len(rows) == MOST
    assert {row[2] for row in rows} == {"mine"}
    assert rows[-1][1].startswith("Metadata v")
    assert rows[-1][4].endswith(" ms")
