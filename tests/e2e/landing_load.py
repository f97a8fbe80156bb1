"""A busy broker with three troubles, made by real clients: what the landing page is looked at with.

settle-a, a member of `settlement`, takes part in no rebalance; importer writes above its quota;
nightly-export waits for more bytes than there are.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Final

from attrs import define, field
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking import connected
from trio_kafka.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    EntryData,
    OpData,
)
from trio_kafka.protocol.structs.cluster import EntityData
from trio_kafka.testing.processes import Address, BrokerProcess

TOPICS: Final = {"orders": 6, "clicks": 12, "payments": 3, "emails": 1, "rare": 1, "imports": 1}
ALLOWED: Final = 20_000  # bytes a second of importer
_END_S: Final = 20.0


@define(eq=False)
class Load:
    """Clients, each in a thread, until `stop` is set."""

    broker: BrokerProcess
    stop: Event = field(factory=Event, init=False)
    threads: list[Thread] = field(factory=list, init=False)

    @property
    def _address(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.broker.bootstrap}

    def run(self, client: Callable[..., None], *arguments: Any, **more: Any) -> None:
        thread = Thread(target=client, args=arguments, kwargs=more)
        thread.start()
        self.threads.append(thread)

    def create_topics(self) -> None:
        admin = AdminClient({**self._address, "client.id": "ops"})
        topics = [NewTopic(name, count, 1) for name, count in TOPICS.items()]
        for created in admin.create_topics(topics).values():
            created.result(_END_S)

    def produce(self, client_id: str, topic: str, *, every_s: float, size: int = 200) -> None:
        producer = Producer({**self._address, "client.id": client_id, "linger.ms": 0})
        while not self.stop.wait(every_s):
            if len(producer) < 100:
                producer.produce(topic, os.urandom(size))
            producer.poll(0)
        producer.purge()
        producer.flush(1)

    def consume(self, client_id: str, group: str, topics: list[str], **more: Any) -> None:
        consumer = self._consumer(client_id, group, topics, **more)
        while not self.stop.is_set():
            consumer.poll(0.1)
        consumer.close()

    def fall_silent(self, client_id: str, group: str, topics: list[str]) -> None:
        """Join, and poll no more: its heartbeats go on, and it rejoins no more."""
        consumer = self._consumer(client_id, group, topics)
        while not self.stop.is_set() and not consumer.assignment():
            consumer.poll(0.1)
        self.stop.wait()
        consumer.close()

    def _consumer(self, client_id: str, group: str, topics: list[str], **more: Any) -> Consumer:
        options = {"client.id": client_id, "group.id": group, "auto.offset.reset": "earliest"}
        consumer = Consumer({**self._address, **options, **more})
        # With callbacks a rebalance waits for the application to poll.
        consumer.subscribe(topics, on_assign=_ignore, on_revoke=_ignore)
        return consumer


def _ignore(*arguments: object) -> None:
    del arguments


def limit(address: Address, client_id: str) -> None:
    """Set a quota for what a client produces."""
    entry = EntryData(
        [EntityData("client-id", client_id)], [OpData("producer_byte_rate", float(ALLOWED))]
    )
    deadline = time.monotonic() + _END_S
    endpoint = Endpoint(*address)
    with connected(endpoint, deadline=deadline, client_id="ops") as connection:
        answer = connection.ask(AlterClientQuotasRequest([entry]), deadline=deadline)
    assert [row.error_code for row in answer.entries] == [0]


@contextmanager
def load(broker: BrokerProcess, *, troubles: bool) -> Iterator[Load]:
    """Run the clients. troubles: False: only the healthy ones."""
    clients = Load(broker)
    clients.create_topics()
    try:
        for number in (1, 2):
            clients.run(clients.produce, f"shop-{number}", "orders", every_s=0.03)
            clients.run(clients.consume, f"billing-{number}", "billing", ["orders"])
        clients.run(clients.produce, "web-tracker", "clicks", every_s=0.02)
        clients.run(clients.produce, "mailer", "emails", every_s=0.1)
        clients.run(clients.consume, "dashboard", "dashboard", ["clicks"])
        clients.run(clients.consume, "archive", "archive", ["payments"])
        if troubles:
            limit(broker.address, "importer")
            clients.run(clients.fall_silent, "settle-a", "settlement", ["payments", "orders"])
            clients.run(clients.produce, "rare-writer", "rare", every_s=1.0, size=50)
            clients.run(clients.produce, "importer", "imports", every_s=0.2, size=60_000)
            patient = {"fetch.min.bytes": 100_000, "fetch.wait.max.ms": 30_000}
            more = {"socket.timeout.ms": 60_000, **patient}
            clients.run(clients.consume, "nightly-export", "nightly", ["rare"], **more)
        yield clients
    finally:
        clients.stop.set()
        for thread in clients.threads:
            thread.join(_END_S)
