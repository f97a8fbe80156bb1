"""A cluster of two nodes that answer as a test says, and a consumer of ours beside them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from attrs import define, field

from tests.clients.consumer.kit_requests import TOPIC
from tests.peers.kit import PORT, Node, running, served
from trio_kafka.clients import Consumer, open_consumer
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.world.simulated import Universe

HOSTS = {1: "one", 2: "two"}


def batch(start: int, *values: bytes, epoch: int = 0) -> bytes:
    """A batch of records from an offset on."""
    return encode_batch([Record(value=value, timestamp=0) for value in values], start, epoch)


@define(eq=False)
class ScriptedCluster:
    """The topic t with one partition. fetched: answers of a node to a row of a Fetch.

    ends: epoch and end offset that the leader names for an older epoch. fetches: node and request,
    in order.
    """

    fetched: Callable[[int, FetchPartition], PartitionData]
    leader: int = 1
    epoch: int = 0
    ends: tuple[int, int] = (0, 0)
    universe: Universe = field(factory=lambda: Universe(0))
    fetches: list[tuple[int, FetchRequest]] = field(factory=list)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve both nodes during the block."""
        async with (
            running(self._node(1), self.universe.machine("one")),
            running(self._node(2), self.universe.machine("two")),
        ):
            yield

    @asynccontextmanager
    async def consumer(self, **settings: object) -> AsyncIterator[Consumer[bytes, bytes]]:
        """Open a consumer on a third machine."""
        config = {name.replace("_", "."): value for name, value in settings.items()}
        config["bootstrap.servers"] = f"one:{PORT},two:{PORT}"
        async with (
            self.serving(),
            open_consumer(config, world=self.universe.machine("here")) as consumer,
        ):
            yield consumer

    def _node(self, number: int) -> Node:
        def fetch(request: FetchRequest) -> FetchResponse:
            self.fetches.append((number, request))
            rows = [row for topic in request.topics for row in topic.partitions]
            parts = [self.fetched(number, row) for row in rows]
            return FetchResponse(
                responses=[FetchableTopicResponse(topic="t", topic_id=TOPIC, partitions=parts)]
            )

        def epochs(request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
            del request
            code = 0 if number == self.leader else ErrorCode.NOT_LEADER_OR_FOLLOWER
            row = EpochEndOffset(int(code), 0, *self.ends)
            return OffsetForLeaderEpochResponse(
                topics=[OffsetForLeaderTopicResult(topic="t", partitions=[row])]
            )

        def versions(request: ApiVersionsRequest) -> object:
            del request
            return served({1: (4, 17), 3: (0, 13), 18: (0, 4), 23: (2, 4)})

        answers = {
            ApiVersionsRequest: versions,
            MetadataRequest: self._metadata,
            FetchRequest: fetch,
            OffsetForLeaderEpochRequest: epochs,
        }
        return Node(answers=answers)

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        del request
        partition = MetadataResponsePartition(
            partition_index=0,
            leader_id=self.leader,
            leader_epoch=self.epoch,
            replica_nodes=[1, 2],
            isr_nodes=[1, 2],
        )
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=number, host=host, port=PORT)
                for number, host in HOSTS.items()
            ],
            topics=[MetadataResponseTopic(name="t", topic_id=TOPIC, partitions=[partition])],
        )
