"""Copies a topic exactly once: offsets and copies in the same transaction."""

from typing import Final

import trio

from tests.clients.consumer.kit import consumer_of
from tests.clients.producer.kit import producer_of, record
from tests.clients.simulation.ledger import Ledger
from tests.clients.simulation.members import ALL
from tests.clients.simulation.writers import LeavingError
from trio_kafka.clients import GroupMetadata
from trio_kafka.clients.errors import ClientError
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulate import Simulation

COPIES: Final = "copies"
GROUP: Final = "copying"
_PRODUCER: Final = {
    "transactional_id": "copier",
    "transaction_timeout_ms": 5000,
    "request_timeout_ms": 1500,
    "delivery_timeout_ms": 8000,
    "max_block_ms": 8000,
}
_CONSUMER: Final = {
    "group_id": GROUP,
    "enable_auto_commit": False,
    "isolation_level": "read_committed",
    "request_timeout_ms": 2000,
    "default_api_timeout_ms": 4000,
    "max_poll_records": 4,
}


async def copy(sim: Simulation, ledger: Ledger, done: trio.Event) -> None:
    """Copy until `done`; after a failure begin again, where the last transaction has ended."""
    while not done.is_set():
        try:
            # The producer first: it ends an open transaction, whose offsets would be missed.
            async with producer_of(sim, **_PRODUCER) as producer:  # noqa: SIM117
                async with consumer_of(sim, **_CONSUMER) as consumer:
                    consumer.assign(ALL)
                    while not done.is_set():
                        if records := await consumer.poll(0.3):
                            async with producer.transaction() as transaction:
                                ends = {}
                                for row in records:
                                    at = TopicPartition(row.topic, row.partition)
                                    copied = record(row.value, COPIES, partition=row.partition)
                                    await producer.send(copied)
                                    ends[at] = row.offset + 1
                                    if sim.chance.random() < 0.02:
                                        raise LeavingError
                                await transaction.send_offsets(ends, GroupMetadata(group_id=GROUP))
        except (ClientError, LeavingError):
            await trio.sleep(0.1)
