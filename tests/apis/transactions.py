"""Stand-in for the transaction coordinator, and requests of a transactional producer."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.apis.kit import batch, parts_of, produce_request
from tests.requests.waits import Waits
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual
from trio_kafka.protocol.messages.k00_produce import PartitionProduceResponse
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from trio_kafka.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from trio_kafka.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from trio_kafka.replication.leader.transaction_gate import Admissions, TransactionAsk
from trio_kafka.testing.broker import ServedBroker

PRODUCER = {"producer_id": 7, "producer_epoch": 0}


class Coordinator:
    """Gate that answers with `errors`. waits: completes the questions, if they are to be parked."""

    def __init__(self, served: ServedBroker, waits: Waits | None = None) -> None:
        self.errors: dict[TopicPartition, ErrorCode] = {}
        self.questions: list[TransactionAsk] = []
        self.waits = waits
        self._refusal = ErrorCode.NONE
        self._admissions = served.broker[Admissions]
        self._admissions.gate = self

    def refuse_all(self, code: ErrorCode) -> None:
        """Answer with this error for every partition."""
        self._refusal = code

    def remove(self) -> None:
        """Leave the broker without a coordinator."""
        self._admissions.gate = None

    def admit(self, ask: TransactionAsk) -> Eventual[Mapping[TopicPartition, ErrorCode]]:
        self.questions.append(ask)
        if self._refusal:
            return dict.fromkeys(ask.partitions, self._refusal)
        if self.waits is None:
            return self.errors
        return self.waits.operation("verdict", float("inf"))


async def produce_in_transaction(
    client: Any,
    topic: str,
    *values: bytes,
    sequence: int = 0,
    version: int = 11,
    acks: int = 1,
    transactional_id: str | None = "tx",
    partitions: tuple[int, ...] = (0,),
    **producer: int,
) -> list[PartitionProduceResponse]:
    """Send a transactional batch to some partitions."""
    sent = {**PRODUCER, **producer, "base_sequence": sequence, "transactional": True}
    request = produce_request(
        topic, *((number, batch(*values, **sent)) for number in partitions), acks=acks
    )
    request.transactional_id = transactional_id
    return parts_of(await client.ask(request, version))


def marker_request(
    topics: Mapping[str, list[int]],
    *,
    commit: bool = True,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
) -> WriteTxnMarkersRequest:
    """Return a request that ends the transaction of the producer."""
    return WriteTxnMarkersRequest(
        [
            WritableTxnMarker(
                PRODUCER["producer_id"],
                epoch,
                commit,
                [WritableTxnMarkerTopic(name, numbers) for name, numbers in topics.items()],
                coordinator_epoch,
                transaction_version,
            )
        ]
    )


def offsets_request(
    partitions: Sequence[int],
    *,
    offset: int = 7,
    topic: str = "t",
    topic_id: bytes = bytes(16),
    metadata: str = "",
    epoch: int = 0,
) -> TxnOffsetCommitRequest:
    """Return offsets of group "g" in the transaction of the producer."""
    rows = [TxnOffsetCommitRequestPartition(number, offset, -1, metadata) for number in partitions]
    topics = [TxnOffsetCommitRequestTopic(topic, topic_id, rows)]
    return TxnOffsetCommitRequest("tx", "g", PRODUCER["producer_id"], epoch, topics=topics)


async def commit_offsets(
    client: Any, *, version: int = 5, offset: int = 7, **fields: Any
) -> TxnOffsetCommitResponse:
    """Commit an offset of t-0 in the transaction of the producer."""
    answer: TxnOffsetCommitResponse
    answer = await client.ask(offsets_request([0], offset=offset, **fields), version)
    return answer


async def fetch_offset(client: Any, *, stable: bool = False) -> tuple[int, int]:
    """Return the offset of t-0 that group "g" has committed, and the error."""
    group = OffsetFetchRequestGroup(
        "g", topics=[OffsetFetchRequestTopics("t", partition_indexes=[0])]
    )
    answer = await client.ask(OffsetFetchRequest(groups=[group], require_stable=stable), 9)
    (row,) = answer.groups[0].topics[0].partitions
    return row.committed_offset, row.error_code
