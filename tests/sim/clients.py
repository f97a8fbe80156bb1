"""Clients of a broker that may die at any time; what they learn goes into the ledger."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from random import Random
from typing import Any, Final

import trio
from attrs import define, field

from tests.records.kit import encode_batch
from tests.sim.ledger import BrokenWordError, Ledger, Partition, State, Topic
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from trio_kafka.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from trio_kafka.records.batch import Record, iterate_headers, read_records
from trio_kafka.testing.scripted_client import ScriptedClient, connected
from trio_kafka.testing.simulate.lives import ADDRESS
from trio_kafka.world.world import World

KEYS: Final = 5  # of a compacted partition
_EARLIEST: Final = -2
# What a client may be told of a broker that starts, stops, or deletes the topic meanwhile.
PASSING: Final = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.INVALID_REPLICATION_FACTOR,  # the only broker leaves
}


@define(eq=False)
class Sent:
    """A batch under way: the same until its answer has come."""

    topic: Topic
    number: int
    values: list[bytes]
    sequence: int = -1

    @property
    def partition(self) -> Partition:
        return self.topic.partitions[self.number]


@define(eq=False, kw_only=True)
class Clients:
    """Of one broker over all its lives; an idempotent producer goes on where it was.

    pause_s: the longest that each of them rests between two requests.
    compacted: names of topics that are compacted, with few keys.
    cuts: delete records of topics that are not compacted.
    directories: paths between which partitions are moved.
    """

    world: World
    ledger: Ledger
    chance: Random
    address: Endpoint = ADDRESS
    pause_s: float = 0.03
    compacted: Collection[str] = ()
    cuts: bool = False
    directories: Sequence[str] = ()
    idempotent: "list[IdempotentProducer]" = field(
        factory=lambda: [IdempotentProducer(f"i{n}") for n in range(2)]
    )
    _count: int = 0
    _named: set[str] = field(factory=set)  # topics in requests that know them by name

    async def run(self) -> None:
        """All of them, until cancelled. Each begins anew when its connection ends."""
        async with trio.open_nursery() as nursery:
            for act in (self.administrate, self.read, self.produce, self.produce):
                nursery.start_soon(self._again, act, name=act.__name__)
            if self.cuts:
                nursery.start_soon(self._again, self.cut, name="cut")
            if self.directories:
                nursery.start_soon(self._again, self.move, name="move")
            for producer in self.idempotent:
                nursery.start_soon(self._again, self.act_for(producer), name=producer.name)

    async def _again(self, act: Callable[[ScriptedClient], Awaitable[None]]) -> None:
        while True:
            try:
                async with connected(self.world, self.address) as client:
                    while True:
                        await act(client)
                        await trio.sleep(self.chance.uniform(0, self.pause_s))
            except (OSError, EOFError):
                await trio.sleep(0.05)

    # Topics

    async def administrate(self, client: ScriptedClient) -> None:
        """Create a topic, or delete one; names come again."""
        name = f"t{self.chance.randrange(5)}"
        topic = self.ledger.topics.get(name)
        if topic is None:
            count = self.chance.randrange(1, 4)
            compacted = name in self.compacted
            topic = self.ledger.create(name, count, compacted=compacted)
            policy = CreatableTopicConfig("cleanup.policy", "compact" if compacted else "delete")
            expected = CreatableTopic(name, count, 1, configs=[policy])
            answer = await client.ask(CreateTopicsRequest([expected]), 7)
            if not check(answer.topics[0].error_code):
                topic.identify(answer.topics[0].topic_id)
                topic.state = State.THERE
        elif topic.state is State.THERE and name not in self._named and self.chance.random() < 0.02:
            topic.state = State.DELETING
            answer = await client.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=9000), 5)
            if not check(answer.responses[0].error_code):
                del self.ledger.topics[name]
                self.ledger.deleted += 1

    def some_topic(self) -> Topic | None:
        topics = [topic for topic in self.ledger.topics.values() if topic.state is State.THERE]
        return self.chance.choice(topics) if topics else None

    def new_values(self, partition: Partition) -> list[bytes]:
        values = []
        for _ in range(self.chance.randrange(1, 4)):
            self._count += 1
            values.append(b"%s %d " % (partition.name.encode(), self._count))
        values = [value.ljust(self.chance.choice((20, 700, 3000)), b".") for value in values]
        if partition.keys is not None:
            for value in values:
                partition.keys[value] = b"k%d" % self.chance.randrange(KEYS)
        return values

    # Records

    async def produce(self, client: ScriptedClient) -> None:
        """One request for some partitions; no batch is sent twice."""
        topic = self.some_topic()
        if topic is None:
            return
        numbers = [n for n in range(len(topic.partitions)) if n == 0 or self.chance.random() < 0.5]
        sent = [Sent(topic, n, self.new_values(topic.partitions[n])) for n in numbers]
        await self.send(client, sent)

    def act_for(
        self, producer: "IdempotentProducer"
    ) -> Callable[[ScriptedClient], Awaitable[None]]:
        async def act(client: ScriptedClient) -> None:
            if producer.id < 0:
                answer = await client.ask(InitProducerIdRequest(None, 0), 4)
                check(answer.error_code)
                self.ledger.take_producer_id(answer.producer_id)
                producer.id = answer.producer_id
            await producer.act(self, client)

        return act

    async def send(
        self, client: ScriptedClient, sent: Sequence[Sent], producer_id: int = -1
    ) -> list[int]:
        """The error of each batch; the ledger learns what was acknowledged."""
        now = int(self.world.clock.wall() * 1000)
        data = []
        for part in sent:
            part.partition.send(part.values)
            batch = encode_batch(
                [
                    Record(timestamp=now, key=part.partition.key(value), value=value)
                    for value in part.values
                ],
                producer_id=producer_id,
                producer_epoch=0 if producer_id >= 0 else -1,
                base_sequence=part.sequence,
            )
            data.append(PartitionProduceData(part.number, memoryview(batch)))
        # By id: a name may mean another topic when the request arrives.
        topic = TopicProduceData(topic_id=sent[0].topic.id, partition_data=data)
        request = ProduceRequest(
            acks=self.chance.choice((1, -1)), timeout_ms=1000, topic_data=[topic]
        )
        answer = await client.ask(request, 13)
        errors = []
        for part, row in zip(sent, answer.responses[0].partition_responses, strict=True):
            errors.append(check(row.error_code))
            if not row.error_code:
                part.partition.acknowledge(row.base_offset, part.values)
                self.ledger.acknowledged += len(part.values)
        return errors

    async def cut(self, client: ScriptedClient) -> None:
        """Delete some of the first records of a partition."""
        topic = self.some_topic()
        if topic is None or topic.name in self.compacted or self.chance.random() < 0.9:
            return
        number = self.chance.randrange(len(topic.partitions))
        partition = topic.partitions[number]
        if not partition.confirmed:
            return
        offset = self.chance.randrange(max(partition.confirmed) + 1)
        partition.start = max(partition.start, offset)
        rows = [DeleteRecordsPartition(number, offset)]
        request = DeleteRecordsRequest([DeleteRecordsTopic(topic.name, rows)], timeout_ms=1000)
        self._named.add(topic.name)
        try:
            answer = await client.ask(request, 2)
        finally:
            self._named.discard(topic.name)
        self.ledger.cut += not check(answer.topics[0].partitions[0].error_code)

    async def move(self, client: ScriptedClient) -> None:
        """Move a partition to another log directory."""
        topic = self.some_topic()
        if topic is None or self.chance.random() < 0.7:
            return
        rows = [AlterReplicaLogDirTopic(topic.name, [self.chance.randrange(len(topic.partitions))])]
        request = AlterReplicaLogDirsRequest(
            [AlterReplicaLogDir(self.chance.choice(self.directories), rows)]
        )
        answer = await client.ask(request, 2)
        code = answer.results[0].partitions[0].error_code
        if code != ErrorCode.REPLICA_NOT_AVAILABLE:  # it is being created
            self.ledger.moved += not check(code)

    async def read(self, client: ScriptedClient) -> None:
        """See what is there now of some partition: it stays so."""
        topic = self.some_topic()
        if topic is not None:
            number = self.chance.randrange(len(topic.partitions))
            content, error = await read_all(client, topic, number)
            if topic.state is State.THERE and not error:
                for offset, value in content.items():
                    topic.partitions[number].see(offset, value)

    async def settle(self) -> None:
        """Hold a broker that has started to all that is known. No other client may be active."""
        async with connected(self.world, self.address) as client:
            answer = await client.ask(MetadataRequest(None), 12)
            self.ledger.settle(
                {row.name: (row.topic_id, len(row.partitions)) for row in answer.topics}
            )
            for topic in self.ledger.topics.values():
                for number, partition in enumerate(topic.partitions):
                    content, error = await read_all(client, topic, number)
                    if error:
                        raise BrokenWordError(
                            "every partition can be read", f"{partition.name}: {error}"
                        )
                    retried = [
                        value
                        for producer in self.idempotent
                        if producer.sent is not None and producer.sent.partition is partition
                        for value in producer.sent.values
                    ]
                    before = partition.compacted
                    partition.settle(content, retried)
                    self.ledger.compacted += partition.compacted - before


@define(eq=False)
class IdempotentProducer:
    """Repeats its batch until it is answered, also in the next life.

    A batch that was given up with its topic may be in the log, and the topic may stay (its deletion
    was lost with a power loss, or refused): the next sequence is not known, so nothing follows it.
    """

    name: str
    id: int = -1
    sent: Sent | None = None
    _next: dict[Partition, int] = field(factory=dict)
    _given_up: set[Partition] = field(factory=set)

    async def act(self, clients: Clients, client: ScriptedClient) -> None:
        if self.sent is None or not _lives(clients.ledger, self.sent.topic):
            if self.sent is not None:
                self._given_up.add(self.sent.partition)
            topic = clients.some_topic()
            self.sent = None
            if topic is None:
                return
            number = clients.chance.randrange(len(topic.partitions))
            partition = topic.partitions[number]
            if partition in self._given_up:
                return
            values = clients.new_values(partition)
            self.sent = Sent(topic, number, values, self._next.get(partition, 0))
        sent = self.sent
        (error,) = await clients.send(client, [sent], self.id)
        if not error:
            self._next[sent.partition] = sent.sequence + len(sent.values)
            self.sent = None


def _lives(ledger: Ledger, topic: Topic) -> bool:
    return ledger.topics.get(topic.name) is topic and topic.state is State.THERE


def check(code: int) -> int:
    """The code, if it is one that may come."""
    if code and code not in PASSING:
        raise BrokenWordError("no error but of what starts, stops or goes", ErrorCode(code).name)
    return code


async def read_all(
    client: ScriptedClient, topic: Topic, number: int
) -> tuple[dict[int, bytes], int]:
    """Offsets and values up to the high watermark, and an error code."""
    result: dict[int, bytes] = {}
    offset = 0
    for _ in range(10_000):
        part = FetchPartition(number, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0, topics=[FetchTopic(topic_id=topic.id, partitions=[part])]
        )
        answer = await client.ask(request, 13)
        data: Any = answer.responses[0].partitions[0]
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            first = await first_offset(client, topic.name, number)
            if first is None or topic.state is not State.THERE:  # another one has the name now
                return result, data.error_code
            if first <= offset:
                raise BrokenWordError(
                    "what is there can be read",
                    f"{topic.name}-{number}: {offset} from {first}, {data.high_watermark}",
                )
            offset = first
            result.clear()
            continue
        if check(data.error_code) or offset == data.high_watermark:
            return result, data.error_code
        content = bytes(data.records or b"")
        for position, header in iterate_headers(content):
            for record in read_records(content, position, header):
                result[record.offset] = bytes(record.value or b"")
            offset = header.next_offset
    raise BrokenWordError("what is committed can be read", f"{number} of {topic.id.hex()}")


async def first_offset(client: ScriptedClient, name: str, number: int) -> int | None:
    """The first offset of a partition; None if the broker does not tell."""
    request_topic = ListOffsetsTopic(name, [ListOffsetsPartition(number, timestamp=_EARLIEST)])
    answer = await client.ask(ListOffsetsRequest(replica_id=-1, topics=[request_topic]), 7)
    (row,) = answer.topics[0].partitions
    return None if check(row.error_code) else row.offset
