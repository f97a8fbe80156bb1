"""Clients in a copied test: they send the requests that the trouble is about.

Each is lines of a function body, in which `kafka` is the broker. A reader replaces them by his own
application.
"""

from collections.abc import Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka_admin.copying.literals import client, literal

TOPIC: Final = "orders"  # where the trouble has no topic
GROUP: Final = "copied"
READER: Final[Mapping[str, object]] = {"group.id": GROUP, "auto.offset.reset": "earliest"}


@frozen
class Load:
    """Lines of a test. imports: names of confluent_kafka that they use."""

    imports: str
    lines: tuple[str, ...]


def produce(topic: str, partition: int, client_id: str, *, records: int = 1) -> Load:
    """Write records into one partition."""
    call = f'producer.produce({literal(topic)}, b"value", partition={partition})'
    lines = [call] if records == 1 else [f"for _ in range({records}):", f"    {call}"]
    maker = client("producer", "Producer", _named(client_id))
    return Load("Producer", (*maker, *lines, "producer.flush(60)"))


def fetch(topic: str, client_id: str, more: Mapping[str, object] | None = None) -> Load:
    """Read one record of partition 0, without a group's help."""
    settings = {**READER, **(more or {}), **_named(client_id)}
    lines = (
        f'kafka.produce({literal(topic)}, b"value")',
        *client("consumer", "Consumer", settings),
        f"consumer.assign([TopicPartition({literal(topic)}, 0, 0)])",
        "record = consumer.poll(60)",
        "consumer.close()",
    )
    return Load("Consumer, TopicPartition", lines)


def join(topic: str, group_id: str, client_id: str) -> Load:
    """Read one record as a member of a group, and commit its offset."""
    settings = {**READER, "group.id": group_id or GROUP, **_named(client_id)}
    lines = (
        f'kafka.produce({literal(topic)}, b"value")',
        *client("consumer", "Consumer", settings),
        f"consumer.subscribe([{literal(topic)}])",
        "record = consumer.poll(60)",
        "consumer.commit(record, asynchronous=False)",
        "consumer.close()",
    )
    return Load("Consumer", lines)


def describe(client_id: str) -> Load:
    """Ask for the topics."""
    maker = client("client", "admin.AdminClient", _named(client_id))
    return Load("admin", (*maker, "client.list_topics(timeout=60)"))


def _named(client_id: str) -> dict[str, object]:
    return {"client.id": client_id} if client_id else {}
