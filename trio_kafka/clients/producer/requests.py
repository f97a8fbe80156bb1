"""Produce requests from batches, and the rows of their responses by batch. Does no I/O."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.errors import error_of
from trio_kafka.clients.metadata.values import PartitionLeader
from trio_kafka.clients.producer.batch import ProducerBatch
from trio_kafka.errors import ErrorCode
from trio_kafka.model import ZERO_TOPIC_ID, Endpoint, TopicPartition
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

BY_NAME: Final = 12  # the newest version that names topics


@frozen(kw_only=True)
class ProduceAnswer:
    """Answer for one batch. leader: of KIP-951, with epoch -1 if the broker has sent none."""

    code: ErrorCode
    base_offset: int = -1
    append_ms: int = -1
    message: str | None = None
    leader: PartitionLeader = PartitionLeader()


NO_ANSWER: Final = ProduceAnswer(code=ErrorCode.UNKNOWN_SERVER_ERROR)
"""For a batch that its response does not name."""


@frozen(kw_only=True)
class ProduceAttempt:
    """A request and its batches. at_most: newest version, as not every topic has a known id."""

    request: ProduceRequest
    batches: Sequence[ProducerBatch]
    topic_ids: Mapping[str, bytes]
    at_most: int | None

    def answers(self, response: ProduceResponse) -> dict[TopicPartition, ProduceAnswer]:
        """Return the answers of a response; a partition without a row has none."""
        names = {topic_id: name for name, topic_id in self.topic_ids.items()}
        answers = {}
        for topic in response.responses:
            name = topic.name or names.get(topic.topic_id, "")
            for row in topic.partition_responses:
                answers[TopicPartition(name, row.index)] = ProduceAnswer(
                    code=error_of(row.error_code),
                    base_offset=row.base_offset,
                    append_ms=row.log_append_time_ms,
                    message=_message(row.error_message, row.record_errors),
                    leader=PartitionLeader(
                        row.current_leader.leader_id, row.current_leader.leader_epoch
                    ),
                )
        return answers


def produce_attempt(
    batches: Sequence[ProducerBatch],
    id_of: Callable[[str], bytes],
    *,
    acks: int,
    timeout_ms: int,
    transactional_id: str | None = None,
) -> ProduceAttempt:
    """Return a request with closed batches, each of another partition.

    id_of: returns the id of a topic, or zeros.
    """
    topics: dict[str, list[PartitionProduceData]] = {}
    for batch in batches:
        data = memoryview(batch.data or b"")
        topics.setdefault(batch.place.topic, []).append(
            PartitionProduceData(batch.place.partition, data)
        )
    ids = {name: id_of(name) for name in topics}
    request = ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(name, ids[name], parts) for name, parts in topics.items()],
    )
    at_most = BY_NAME if ZERO_TOPIC_ID in ids.values() else None
    return ProduceAttempt(request=request, batches=batches, topic_ids=ids, at_most=at_most)


def addresses(response: ProduceResponse) -> dict[int, Endpoint]:
    """Return the addresses of brokers that a response names (KIP-951)."""
    return {row.node_id: Endpoint(row.host, row.port) for row in response.node_endpoints}


def _message(text: str | None, record_errors: Sequence[object]) -> str | None:
    """Return the broker's text, and how many records it has named."""
    if not record_errors:
        return text
    return f"{text or 'rejected records'} ({len(record_errors)} records)"
