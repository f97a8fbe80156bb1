"""ElectLeaders (key 43): elect the preferred leader of partitions, or an unclean one.

Waits for the controller, at most the timeout of the request. A preferred election makes the first
replica the leader; an unclean one, for partitions without a leader, any replica that is alive:
records may be lost. Null means all partitions: those that need no election are left out then.
Source: KIP-183, KIP-460.

Needs ALTER on the cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import trio

from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k43_elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import visit
from trio_kafka.security.operations import Operation

UNCLEAN: Final = 1
_KINDS: Final = (0, UNCLEAN)
_Results = Mapping[TopicPartition, KafkaError | None]


@api(ElectLeadersRequest, largest=MANY_PARTITIONS)
async def elect_leaders(request: ElectLeadersRequest, context: Context) -> ElectLeadersResponse:
    context.authorize(Operation.ALTER, cluster=True)
    if request.election_type not in _KINDS:
        reason = f"election type {request.election_type}: expected 0 (preferred) or 1 (unclean)"
        raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
    partitions: list[TopicPartition] = []
    await visit(_named(request, context), partitions.append)
    results: _Results = {}
    if partitions:
        results = await context.parked(_elect, dict.fromkeys(partitions), request, context)
    is_of_all = request.topic_partitions is None
    rows: dict[str, list[PartitionResult]] = {}

    def add(item: tuple[TopicPartition, KafkaError | None]) -> None:
        at, error = item
        if error is None:
            rows.setdefault(at.topic, []).append(PartitionResult(at.partition, error_message=None))
        elif not is_of_all or error.code is not ErrorCode.ELECTION_NOT_NEEDED:
            row = PartitionResult(at.partition, error.code, error.message)
            rows.setdefault(at.topic, []).append(row)

    await visit(results.items(), add)
    return ElectLeadersResponse(
        replica_election_results=[ReplicaElectionResult(*row) for row in rows.items()]
    )


@waits_for("change", CONTROLLER, "the controller to elect leaders")
async def _elect(
    partitions: Iterable[TopicPartition], request: ElectLeadersRequest, context: Context
) -> _Results:
    return await context[Controller].elect_leaders(
        partitions,
        unclean=request.election_type == UNCLEAN,
        deadline=trio.current_time() + max(request.timeout_ms, 0) / 1000,
    )


def _named(request: ElectLeadersRequest, context: Context) -> Iterator[TopicPartition]:
    """Yield the partitions of a request: those of all topics, if it names none."""
    topics: Iterable[tuple[str, Iterable[int]]]
    if request.topic_partitions is None:
        topics = [(name, topic.partitions) for name, topic in context.image.topics.items()]
    else:
        topics = [(row.topic, row.partitions) for row in request.topic_partitions]
    for topic, numbers in topics:
        for number in numbers:
            yield TopicPartition(topic, number)
