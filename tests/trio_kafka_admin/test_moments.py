"""Moments: all facts that the landing page needs, read together and bounded."""

from collections.abc import Sequence
from typing import Any

import trio
from attrs import Factory, define
from trio.testing import MockClock

from tests.trio_kafka_admin.findings.kit import (
    connection,
    directory,
    group,
    open_transaction,
    request,
    transaction,
)
from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.introspect.facts.groups import GroupFacts
from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.facts.storage import DirectoryFacts
from trio_kafka.introspect.facts.transactions import OpenTransactions
from trio_kafka.introspect.snapshots import WORKING
from trio_kafka.introspect.tree_reader import TreeReading, TreeRow
from trio_kafka.plugin_host.transaction_access import TransactionPage
from trio_kafka_admin.moments import (
    MOST_CONNECTIONS,
    MOST_GROUPS,
    MOST_REQUESTS,
    MOST_TRANSACTIONS,
    read_moment,
)


@define(eq=False)
class Readings:
    """Readings that take a millisecond each. bounds: what was asked for."""

    bounds: dict[str, Any] = Factory(dict)

    async def tree(self, *, kinds: Sequence[str] = ()) -> TreeReading:
        self.bounds["tree"] = tuple(kinds)
        await trio.sleep(0.001)
        return TreeReading([TreeRow(path=("b",), kind="broker", name="b", figures={})], False)

    async def requests_in_flight(self, *, most: int = -1) -> Sequence[RequestFacts]:
        return await self._read("requests", most, request())

    async def groups(self, *, only: str | None = None, most: int = -1) -> Sequence[GroupFacts]:
        assert only is None
        return await self._read("groups", most, group())

    async def directories(self) -> Sequence[DirectoryFacts]:
        return await self._read("directories", -1, directory())

    async def connections(self, *, most: int = -1) -> Sequence[ConnectionFacts]:
        return await self._read("connections", most, connection())

    async def transaction_page(self, *, most: int, only_open: bool = False) -> TransactionPage:
        assert only_open
        return TransactionPage(await self._read("transactions", most, transaction("payments")), 1)

    async def open_transactions(self, *, most: int) -> OpenTransactions:
        listed = await self._read("open_transactions", most, open_transaction())
        return OpenTransactions(listed=tuple(listed), total=1)

    async def _read(self, name: str, most: int, fact: Any) -> Sequence[Any]:
        self.bounds[name] = most
        await trio.sleep(0.001)
        return [fact]


async def test_moment_has_all_facts_of_the_time_when_its_reading_began(
    autojump_clock: MockClock,
) -> None:
    readings, begun = Readings(), trio.current_time()

    moment = await read_moment(readings)

    assert moment.at == moment.tree.at == begun
    assert list(moment.tree.nodes) == [("b",)]
    assert [fact.client_id for fact in (*moment.requests, *moment.connections)] == ["shop"] * 2
    assert [fact.group_id for fact in moment.groups] == ["g"]
    assert [fact.path for fact in moment.directories] == ["/data"]
    assert [fact.transactional_id for fact in moment.transactions] == ["payments"]
    assert [fact.partition for fact in moment.open_transactions] == [0]


async def test_moment_reads_bounded_numbers_of_facts(autojump_clock: MockClock) -> None:
    readings = Readings()

    await read_moment(readings)

    assert readings.bounds == {
        "tree": WORKING,
        "requests": MOST_REQUESTS,
        "groups": MOST_GROUPS,
        "directories": -1,
        "connections": MOST_CONNECTIONS,
        "transactions": MOST_TRANSACTIONS,
        "open_transactions": MOST_TRANSACTIONS,
    }
