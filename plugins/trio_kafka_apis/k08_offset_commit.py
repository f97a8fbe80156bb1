"""OffsetCommit (key 8): store the offsets that a group has reached.

Waits, parked, until the records are committed. A group without members accepts a commit from any
client, and is created if it does not exist; a member must be of the current generation or epoch.
From version 10 on topics are named by id. A partition that does not exist gets an error of its own,
and the others are stored. An error of the group is that of all other partitions. Source: KIP-98,
KIP-345, KIP-848, KIP-516.

Needs READ on the group, without which the whole request fails, and READ on each topic.
"""

from functools import lru_cache, partial
from operator import attrgetter
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.coordinators.groups.offset_values import Commit
from trio_kafka.errors import KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from trio_kafka.requests.api import MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.offsets_to_commit import OffsetsToCommit, final_codes
from trio_kafka.requests.replies import Encoded
from trio_kafka.requests.rows import rows
from trio_kafka.security.operations import Operation

IDS_SINCE: Final = 10
FEW: Final = 16  # partitions of one topic, up to which a response without errors is cached
KEPT: Final = 512  # such responses
_partitions: Final = attrgetter("partitions")
_number: Final = attrgetter("partition_index")


@api(OffsetCommitRequest, largest=MANY_PARTITIONS)
def offset_commit(
    request: OffsetCommitRequest, context: Context
) -> Eventual[Encoded | OffsetCommitResponse]:
    context.authorize(Operation.READ, group=request.group_id)
    commit = _Commit(context, context.version >= IDS_SINCE, request)
    return rows(
        request.topics,
        _partitions,
        commit.add,
        commit.submit,
        group=lambda _, codes: codes,
        refused=lambda _topic, _row, error: error.code,
        permission=commit.begin_topic,
    )


@define(eq=False)
class _Commit(OffsetsToCommit):
    """One request, with the offsets that its group is asked to store."""

    request: OffsetCommitRequest

    def submit(self, codes: list[list[int]]) -> Eventual[Encoded | OffsetCommitResponse]:
        """Ask the group to store the offsets, unless there are none. codes: for each topic."""
        request, version = self.request, self.context.version
        respond = partial(_respond, request, version, codes)
        if not self.has_offsets:
            return respond([])
        commit = Commit(
            request.group_id,
            self.topics,
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            version,
            request.retention_time_ms,
        )
        of_group = self.context[GroupCoordinator].offsets.commit(commit)
        return respond(of_group) if type(of_group) is list else then(of_group, respond)


def _respond(
    request: OffsetCommitRequest,
    version: int,
    codes: list[list[int]],
    of_group: list[int] | KafkaError,
) -> Eventual[Encoded | OffsetCommitResponse]:
    """Return the response. codes, of_group: as in `final_codes`."""
    topics = request.topics
    if type(of_group) is list and len(topics) == 1 and not any(of_group):
        topic = topics[0]
        numbers = tuple(map(_number, topic.partitions))
        if len(of_group) == len(numbers) <= FEW:
            return _all_well(version, topic.name, topic.topic_id, numbers)
    in_order = final_codes(codes, of_group)
    return rows(
        topics,
        _partitions,
        lambda _, row: OffsetCommitResponsePartition(row.partition_index, next(in_order)),
        lambda answered: OffsetCommitResponse(topics=answered),
        group=lambda topic, answers: OffsetCommitResponseTopic(topic.name, topic.topic_id, answers),
    )


@lru_cache(maxsize=KEPT)
def _all_well(version: int, name: str, topic_id: bytes, numbers: tuple[int, ...]) -> Encoded:
    """Return the response that all partitions are stored, the usual one for a consumer."""
    rows = [OffsetCommitResponsePartition(number) for number in numbers]
    topic = OffsetCommitResponseTopic(name, topic_id, rows)
    return Encoded(to_bytes(OffsetCommitResponse(topics=[topic]), version), {0: len(numbers)})
