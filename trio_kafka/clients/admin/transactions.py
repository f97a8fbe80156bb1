"""Calls about transactions: list and describe them, fence their producers. Source: KIP-664."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.call import RETRIED, Call, Plan, Rejection, perform, result_of
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import transaction_target
from trio_kafka.clients.admin.listings import Listings, list_everywhere
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from trio_kafka.protocol.messages.k65_describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from trio_kafka.protocol.messages.k66_list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

_STABLE: Final = 5  # the newest version of InitProducerId that is not in development
_RETRIED: Final = RETRIED | {ErrorCode.CONCURRENT_TRANSACTIONS}


@frozen(kw_only=True)
class TransactionListing:
    """A transactional id with its producer, and the state of its last transaction."""

    transactional_id: str
    producer_id: int
    state: str


@frozen(kw_only=True)
class TransactionDescription:
    """A transactional id. transaction_start_time_ms: since 1970; None: no transaction is open."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int | None = None
    partitions: frozenset[TopicPartition] = frozenset()


@frozen(kw_only=True)
class FencedProducer:
    """Id and epoch that replace those of a producer. A producer with an older epoch is rejected."""

    producer_id: int
    producer_epoch: int


def list_transactions(
    *,
    states: Iterable[str] = (),
    producer_ids: Iterable[int] = (),
    longer_than_ms: int = -1,
    pattern: str | None = None,
) -> Plan[Listings[TransactionListing]]:
    """List the transactional ids that all brokers coordinate; each filter must match.

    longer_than_ms: -1: all (KIP-994). pattern: regular expression of RE2 for the transactional id.
    A broker that does not know a state is an error that names the state.
    """
    state_names, ids = list(states), list(producer_ids)
    return list_everywhere(
        lambda: ListTransactionsRequest(state_names, ids, longer_than_ms, pattern), _read_listings
    )


def describe_transactions(
    transactional_ids: Iterable[str],
) -> Plan[Results[str, TransactionDescription]]:
    """Describe transactional ids with the partitions of their open transactions."""
    return perform(
        Call(
            targets={name: transaction_target(name) for name in transactional_ids},
            request=lambda items, _timeout_ms: DescribeTransactionsRequest(list(items)),
            read=_read_descriptions,
        )
    )


def fence_producers(
    transactional_ids: Iterable[str],
) -> Plan[Results[str, FencedProducer]]:
    """Begin a new epoch for transactional ids: open transactions are aborted, producers rejected.

    Waits until each transaction is aborted.
    """

    def request(items: Sequence[str], timeout_ms: int) -> InitProducerIdRequest:
        (name,) = items
        return InitProducerIdRequest(name, timeout_ms)

    return perform(
        Call(
            targets={name: transaction_target(name) for name in transactional_ids},
            request=request,
            read=_read_fenced,
            most=1,
            at_most=_STABLE,
            retried=_RETRIED,
        )
    )


def _read_listings(
    response: ListTransactionsResponse,
) -> Mapping[str, TransactionListing] | Rejection:
    if response.unknown_state_filters:
        names = ", ".join(response.unknown_state_filters)
        return Rejection(ErrorCode.INVALID_REQUEST, f"the broker knows no state {names}")
    listings = {
        row.transactional_id: TransactionListing(
            transactional_id=row.transactional_id,
            producer_id=row.producer_id,
            state=row.transaction_state,
        )
        for row in response.transaction_states
    }
    return result_of(response.error_code, None, listings)


def _read_descriptions(
    response: DescribeTransactionsResponse, _items: Sequence[str]
) -> Iterator[tuple[str, TransactionDescription | Rejection]]:
    for row in response.transaction_states:
        yield row.transactional_id, result_of(row.error_code, None, _description(row))


def _description(row: TransactionState) -> TransactionDescription:
    start_ms = row.transaction_start_time_ms
    return TransactionDescription(
        transactional_id=row.transactional_id,
        state=row.transaction_state,
        producer_id=row.producer_id,
        producer_epoch=row.producer_epoch,
        transaction_timeout_ms=row.transaction_timeout_ms,
        transaction_start_time_ms=start_ms if start_ms >= 0 else None,
        partitions=frozenset(
            TopicPartition(topic.topic, number)
            for topic in row.topics
            for number in topic.partitions
        ),
    )


def _read_fenced(
    response: InitProducerIdResponse, items: Sequence[str]
) -> Iterator[tuple[str, FencedProducer | Rejection]]:
    (name,) = items
    producer = FencedProducer(
        producer_id=response.producer_id, producer_epoch=response.producer_epoch
    )
    yield name, result_of(response.error_code, None, producer)
