"""Readings of transactions."""

from trio_kafka.introspect.facts.transactions import OpenTransactions, TransactionFacts
from trio_kafka.plugin_host.transaction_access import (
    TransactionPage,
    read_open_transactions_as,
    read_transaction_as,
    read_transaction_page_as,
)
from trio_kafka.requests.parts import Parts
from trio_kafka.security.principal import Principal


async def read_transaction_page(
    parts: Parts, principal: Principal, *, of: str, first: int, most: int, only_open: bool
) -> TransactionPage:
    """Read some transactional ids: see `transaction_access.read_transaction_page_as`."""
    return await read_transaction_page_as(
        principal, parts, of=of, first=first, most=most, only_open=only_open
    )


async def read_transaction(
    parts: Parts, principal: Principal, name: str
) -> TransactionFacts | None:
    """Read one transactional id: see `transaction_access.read_transaction_as`."""
    return await read_transaction_as(principal, parts, name)


async def read_open_transactions(
    parts: Parts, principal: Principal, *, most: int
) -> OpenTransactions:
    """Read open transactions: see `transaction_access.read_open_transactions_as`."""
    return await read_open_transactions_as(principal, parts, most=most)
