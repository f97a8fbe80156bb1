"""Transactional batches of a Produce request, admitted before any of its batches is appended.

The transaction coordinator is asked once for all of them: are their partitions part of the
transaction? From version 12 on they become part of it. Without a coordinator nothing is asked, and
the append rejects the batches. A request that waits for the verdict keeps no frame, in which the
records are, so these are copied. Source: KIP-890.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.verification import Guard
from trio_kafka.model import TopicId
from trio_kafka.pending import Eventual, Pending
from trio_kafka.records.validate import is_transactional
from trio_kafka.replication.leader.transaction_gate import Admission, Admissions, NotAdmittedError
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import Pairs, for_each
from trio_kafka.security.operations import Operation

ABORTABLE_SINCE: Final = 11  # clients know TRANSACTION_ABORTABLE
ADDS_SINCE: Final = 12  # Produce adds partitions to the transaction


class Batch(Protocol):
    """Batch of a request, for one partition of a topic."""

    index: int
    records: memoryview | None


T = TypeVar("T")
G = TypeVar("G")
B = TypeVar("B", bound=Batch)


def authorize_batch(
    context: Context, transactional_id: str | None, _topic: object, batch: Batch
) -> None:
    """Raise KafkaError for a transactional batch that the client may not write."""
    if is_transactional(batch.records):
        if transactional_id is None:
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        context.authorize(Operation.WRITE, transactional_id=transactional_id)


def error_without_id(batch: Batch, error: KafkaError) -> KafkaError:
    """Return the error of a batch whose request has no transactional id; as in Kafka, without an
    authorizer too.
    """
    if error.code is not ErrorCode.INVALID_TXN_STATE or not is_transactional(batch.records):
        return error
    return NotAdmittedError(
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "a transactional batch in a request without a transactional id",
    )


@define(eq=False)
class TransactionalBatches(Generic[G, B]):
    """Batches of one request that has a transactional id.

    batches: all of the request, each with its topic; some may not be transactional.
    key: returns the name or id of a topic.
    """

    context: Context
    transactional_id: str
    batches: Pairs[G, B]
    key: Callable[[G], TopicId | str]
    _admission: Admission | None = field(default=None, init=False)

    def admit(self, append_all: Callable[[], Eventual[T]]) -> Eventual[T]:
        """Return what `append_all` returns, which is called when the coordinator has answered.

        Raises KafkaError, also when the Pending completes: a denied transactional id, batches of
        two producers.
        """
        version = self.context.version
        self._admission = self.context[Admissions].begin(
            self.transactional_id,
            adds=version >= ADDS_SINCE,
            knows_generic_errors=version >= ABORTABLE_SINCE,
        )
        if self._admission is None:
            return append_all()
        begin = partial(self._begin, self._admission)
        return for_each(self.batches, begin, partial(self._ask, self._admission, append_all))

    def guard(self, partition: Partition) -> Guard | None:
        """Return the guard of a partition's append. Raises KafkaError: see `Admission.guard`."""
        return None if self._admission is None else self._admission.guard(partition.at)

    def _begin(self, admission: Admission, pair: tuple[G, B]) -> None:
        topic, batch = pair
        if not self.context.allows_all:
            authorize_batch(self.context, self.transactional_id, topic, batch)
        partition = self.context[Replicas].find((self.key(topic), batch.index))
        if partition is not None and self.context.is_authorized(
            Operation.WRITE, topic=partition.at.topic
        ):
            admission.begin(partition, batch.records)

    def _ask(self, admission: Admission, append_all: Callable[[], Eventual[T]]) -> Eventual[T]:
        verdict = admission.ask()
        if not isinstance(verdict, Pending):
            return append_all()
        return for_each(self.batches, _copy, lambda: verdict.then(lambda _: append_all()))


def _copy(pair: tuple[object, Batch]) -> None:
    """Give a batch records of its own."""
    batch = pair[1]
    if batch.records is not None:
        batch.records = memoryview(bytearray(batch.records))
