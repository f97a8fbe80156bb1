"""Moments: all facts that the landing page and its rules need, read together.

A moment is read in slices, so its parts are a few milliseconds apart. Each part is bounded; the
whole is shared by all viewers of one principal, like other snapshots.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.introspect.facts.groups import GroupFacts
from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.facts.storage import DirectoryFacts
from trio_kafka.introspect.facts.transactions import (
    OpenTransactionFacts,
    OpenTransactions,
    TransactionFacts,
)
from trio_kafka.introspect.snapshots import WORKING, TreeSnapshot
from trio_kafka.introspect.tree_reader import TreeReading
from trio_kafka.plugin_host.transaction_access import TransactionPage

MOST_REQUESTS: Final = 1000
MOST_CONNECTIONS: Final = 500
MOST_GROUPS: Final = 100  # the most troubled come first
MOST_TRANSACTIONS: Final = 100  # the oldest come first


@frozen(kw_only=True)
class Moment:
    """Facts of one tick.

    at: when reading them began, in `trio.current_time()`; ages in facts are relative to it.
    transactions: ids with an open transaction. open_transactions: those of partitions.
    """

    at: float
    tree: TreeSnapshot
    requests: Sequence[RequestFacts] = ()
    groups: Sequence[GroupFacts] = ()
    directories: Sequence[DirectoryFacts] = ()
    connections: Sequence[ConnectionFacts] = ()
    transactions: Sequence[TransactionFacts] = ()
    open_transactions: Sequence[OpenTransactionFacts] = ()


class Readings(Protocol):
    """Readings of which a moment consists: see `broker_reader.BrokerReader`."""

    async def tree(self, *, kinds: Sequence[str] = ()) -> TreeReading: ...

    async def requests_in_flight(self, *, most: int = -1) -> Sequence[RequestFacts]: ...

    async def groups(self, *, only: str | None = None, most: int = -1) -> Sequence[GroupFacts]: ...

    async def directories(self) -> Sequence[DirectoryFacts]: ...

    async def connections(self, *, most: int = -1) -> Sequence[ConnectionFacts]: ...

    async def transaction_page(self, *, most: int, only_open: bool = False) -> TransactionPage: ...

    async def open_transactions(self, *, most: int) -> OpenTransactions: ...


async def read_moment(reader: Readings) -> Moment:
    """Read all facts. Raises KafkaError: the principal may not see them."""
    at = trio.current_time()
    page = await reader.transaction_page(most=MOST_TRANSACTIONS, only_open=True)
    return Moment(
        at=at,
        tree=(await reader.tree(kinds=WORKING)).snapshot(at),
        requests=await reader.requests_in_flight(most=MOST_REQUESTS),
        groups=await reader.groups(most=MOST_GROUPS),
        directories=await reader.directories(),
        connections=await reader.connections(most=MOST_CONNECTIONS),
        transactions=page.transactions,
        open_transactions=(await reader.open_transactions(most=MOST_TRANSACTIONS)).listed,
    )
