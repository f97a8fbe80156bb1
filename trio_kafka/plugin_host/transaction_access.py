"""Facts of transactions for plugins that show them; see `state_access`.

A transactional id needs DESCRIBE, as for ListTransactions; others are left out. Its partitions need
DESCRIBE on their topic. Transactions that are open in a partition need READ on the topic, as for
DescribeProducers.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.open_transactions import judged_transactions
from trio_kafka.coordinators.transactions.transaction_facts import (
    RankedTransaction,
    ranked_transactions,
    transaction_facts,
)
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.facts.transactions import OpenTransactions, TransactionFacts
from trio_kafka.plugin_host.group_access import may_describe_topic
from trio_kafka.plugin_host.paced_steps import paced
from trio_kafka.requests.loopback import IN_PROCESS
from trio_kafka.requests.parts import MissingPartError, Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import DENIALS, Resource, ResourceType

_A_STEP: Final = 16  # ids: each may have many partitions


@frozen
class TransactionPage:
    """Some transactional ids in their order. total: ids that there are."""

    transactions: Sequence[TransactionFacts]
    total: int


async def read_transaction_page_as(
    principal: Principal,
    parts: Parts,
    *,
    of: str = "",
    first: int = 0,
    most: int,
    only_open: bool = False,
) -> TransactionPage:
    """Read some of the transactional ids that this broker coordinates, open transactions first.

    of: text that they contain, in whatever case. first: ids to skip. only_open: leave out ids
    without an open transaction.
    """
    coordinator = _coordinator(parts)
    if coordinator is None:
        return TransactionPage((), 0)
    may_see, searched = _may_describe_id(principal, parts), of.lower()

    def is_visible(name: str) -> bool:
        return searched in name.lower() and may_see(name)

    ranking = await paced(
        ranked_transactions(
            coordinator.machines, coordinator.marker_writer, is_visible, only_open=only_open
        )
    )
    chosen = ranking[first : first + most]
    facts = await paced(_facts_of(coordinator, chosen, may_describe_topic(principal, parts)))
    return TransactionPage(facts, len(ranking))


async def read_transaction_as(
    principal: Principal, parts: Parts, name: str
) -> TransactionFacts | None:
    """Read one transactional id; None: this broker does not coordinate it.

    Raises KafkaError(TRANSACTIONAL_ID_AUTHORIZATION_FAILED).
    """
    if not _may_describe_id(principal, parts)(name):
        raise KafkaError(
            DENIALS[ResourceType.TRANSACTIONAL_ID],
            f"{principal} has no permission {Operation.DESCRIBE.name} on transactional id {name}:"
            " ask an administrator for it",
        )
    coordinator = _coordinator(parts)
    if coordinator is None:
        return None
    chosen = [
        RankedTransaction(False, 0, name, machine)
        for machine in coordinator.machines
        if name in machine.by_id
    ]
    facts = await paced(_facts_of(coordinator, chosen, may_describe_topic(principal, parts)))
    return facts[0] if facts else None


async def read_open_transactions_as(
    principal: Principal, parts: Parts, *, most: int
) -> OpenTransactions:
    """Read the transactions that are open in the partitions led here, with what becomes of them."""
    coordinator = _coordinator(parts)
    if coordinator is None:
        return OpenTransactions(listed=(), total=0)

    @cache
    def may_read(topic: str) -> bool:
        resource = Resource(ResourceType.TOPIC, topic)
        return parts.authorizer.authorize(principal, IN_PROCESS.host, Operation.READ, resource)

    may_see = _may_describe_id(principal, parts)
    return await paced(
        judged_transactions(coordinator, parts.replicas, may_read, may_see, most=most)
    )


def _facts_of(
    coordinator: TransactionCoordinator,
    chosen: Sequence[RankedTransaction],
    may_describe: Callable[[str], bool],
) -> Steps[list[TransactionFacts]]:
    facts, now_ms = list[TransactionFacts](), coordinator.now_ms
    for number, entry in enumerate(chosen, 1):
        machine = entry.machine
        transaction = machine.by_id.get(entry.transactional_id)
        if transaction is not None:  # else it was removed meanwhile
            facts.append(
                transaction_facts(
                    transaction,
                    machine,
                    coordinator.marker_writer,
                    now_ms,
                    may_describe=may_describe,
                )
            )
        if not number % _A_STEP:
            yield
    yield
    return facts


def _may_describe_id(principal: Principal, parts: Parts) -> Callable[[str], bool]:
    def may_describe(name: str) -> bool:
        resource = Resource(ResourceType.TRANSACTIONAL_ID, name)
        return parts.authorizer.authorize(principal, IN_PROCESS.host, Operation.DESCRIBE, resource)

    return may_describe


def _coordinator(parts: Parts) -> TransactionCoordinator | None:
    """Return the coordinator; None: this broker has none."""
    try:
        return parts[TransactionCoordinator]
    except MissingPartError:
        return None
