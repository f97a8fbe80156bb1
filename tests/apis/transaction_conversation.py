"""Requests of clients to a coordinator of transactions, valid and invalid, and its responses.

    python -m tests.apis.transaction_conversation     record what Apache Kafka says, into `data/`

The test beside it holds this broker to the record. Each part has transactional ids of its own.
"""

import tempfile
from pathlib import Path
from typing import Final

import trio

from tests.apis.transaction_inspection import inspection, markers
from tests.apis.transaction_offsets import offsets
from tests.apis.transaction_talk import (
    GROUP,
    INIT,
    NEW_END,
    NEW_OFFSETS,
    NEW_PRODUCE,
    OLD_ADD,
    OLD_END,
    OLD_OFFSETS,
    OLD_PRODUCE,
    TIMEOUT_MS,
    TRANSACTION,
    Ask,
    TransactionTalk,
    add,
    add_offsets,
    batch_of,
    commit_offsets,
    describe,
    end,
    write,
    wrong,
)
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from trio_kafka.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from trio_kafka.testing.processes import broker_process
from trio_kafka.testing.scripted_client import connected
from trio_kafka.world.real import RealWorld

RECORD: Final = Path(__file__).parent / "data" / "kafka-4.4-transactions.txt"
SETTINGS: Final = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
NOBODY: Final = ProducerIdentity(4_000_000, 0)
END_VERSIONS: Final = (0, 1, 2, OLD_END, NEW_END)
PRODUCE_VERSIONS: Final = (9, 10, OLD_PRODUCE, NEW_PRODUCE)


async def initializing(talk: TransactionTalk) -> None:
    """InitProducerId, good and bad."""
    await talk.ready(TRANSACTION, "init")
    plain = InitProducerIdRequest(None, TIMEOUT_MS)
    while (await talk.ask(plain, INIT)).error_code:  # the controller has given no ids yet
        await trio.sleep(0.1)
    for timeout_ms in (0, -1, 900_001):
        request = InitProducerIdRequest("init", timeout_ms)
        await talk.say_in(range(INIT + 1), f"init with a timeout of {timeout_ms}", request)
    await talk.say("init without a name", InitProducerIdRequest("", TIMEOUT_MS), INIT)
    for producer_id, epoch in ((5, -1), (-1, 5), (-2, -2), (5, 5)):
        request = InitProducerIdRequest("init", TIMEOUT_MS, producer_id, epoch)
        await talk.say(f"init of an unknown id as {producer_id} {epoch}", request, INIT)
        request = InitProducerIdRequest(None, TIMEOUT_MS, producer_id, epoch)
        await talk.say(f"init without an id as {producer_id} {epoch}", request, INIT)
    await talk.ready(TRANSACTION, "twice")
    producer = await talk.initialize("twice")
    for version in range(INIT + 1):
        await talk.say("init again", InitProducerIdRequest("twice", TIMEOUT_MS), version)
    newest = await talk.initialize("twice")
    for label, named in (
        ("the first epoch", producer),
        ("the newest epoch", newest),
        ("the epoch before", newest),
        ("the epoch after", ProducerIdentity(newest.producer_id, newest.epoch + 1)),
        *wrong(ProducerIdentity(newest.producer_id, newest.epoch + 9)),
    ):
        request = InitProducerIdRequest("twice", TIMEOUT_MS, named.producer_id, named.epoch)
        for version in (3, INIT):
            await talk.say(f"init as {label}", request, version)
    for version in range(7):
        many = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[""])
        single = FindCoordinatorRequest(key_type=TRANSACTION, key="")
        if version >= 1:
            answered = await talk.ask(many if version >= 4 else single, version)
            row = answered.coordinators[0] if version >= 4 else answered
            talk.lines.append(f"coordinator of nothing v{version} => {row.error_code}")


async def adding(talk: TransactionTalk) -> None:
    """AddPartitionsToTxn and AddOffsetsToTxn, good and bad."""
    await talk.create("add")
    await talk.ready(TRANSACTION, "adds")
    await talk.ready(GROUP, "offsets")
    for name in ("ghost", ""):
        await talk.ready(TRANSACTION, name or "ghost")
        await talk.say_in(range(4), f"add to {name!r}", add(name, NOBODY, {"add": [0]}))
        await talk.say_in(range(5), f"add offsets to {name!r}", add_offsets(name, NOBODY))
        await talk.say(f"verify in {name!r}", broker_add(name, NOBODY, verifies=True), 5)
        await talk.say(f"add by a broker to {name!r}", broker_add(name, NOBODY), 5)
    await talk.initialize("adds")
    producer = await talk.initialize("adds")
    for label, named in wrong(producer):
        await talk.say_in(range(4), f"add with {label}", add("adds", named, {"add": [0]}))
        await talk.say_in(range(5), f"add offsets with {label}", add_offsets("adds", named))
        await talk.say_in((4, 5), f"add by a broker with {label}", broker_add("adds", named))
    topics: tuple[tuple[str, dict[str, list[int]]], ...] = (
        ("an unknown topic", {"nowhere": [0]}),
        ("an unknown partition", {"add": [7]}),
        ("a known and an unknown topic", {"add": [0], "nowhere": [0]}),
        ("an internal topic", {"__consumer_offsets": [0]}),
        ("the topic of transactions", {"__transaction_state": [0]}),
        ("no topic", {}),
        ("no partition", {"add": []}),
    )
    for label, chosen in topics:
        await talk.say_in(range(4), f"add {label}", add("adds", producer, chosen))
        for verifies in (True, False):
            request = broker_add("adds", producer, chosen, verifies=verifies)
            await talk.say(f"{label} by a broker, {verifies}", request, 5)
    await talk.say("describe after nothing", describe("adds"))
    await talk.say("add offsets without a group", add_offsets("adds", producer, ""))
    await talk.say_in((4, 5), "verify before", broker_add("adds", producer, verifies=True))
    await talk.say("add", add("adds", producer, {"add": [0]}), OLD_ADD)
    await talk.say("add again", add("adds", producer, {"add": [0, 0, 1]}), OLD_ADD)
    both = broker_add("adds", producer, {"add": [0, 1], "init": [0]}, verifies=True)
    await talk.say_in((4, 5), "verify", both)
    await talk.say("describe an open one", describe("adds"))


def broker_add(
    name: str,
    producer: ProducerIdentity,
    topics: dict[str, list[int]] | None = None,
    *,
    verifies: bool = False,
) -> AddPartitionsToTxnRequest:
    """Return the form of brokers."""
    chosen = {"add": [0]} if topics is None else topics
    rows = [AddPartitionsToTxnTopic(*topic) for topic in chosen.items()]
    return AddPartitionsToTxnRequest(
        [AddPartitionsToTxnTransaction(name, producer.producer_id, producer.epoch, verifies, rows)]
    )


async def ending(talk: TransactionTalk) -> None:
    """EndTxn in every state, and repeated."""
    await talk.create("end")
    await talk.ready(TRANSACTION, "ghost")
    await talk.say_in(END_VERSIONS, "end of an unknown id", end("ghost", NOBODY))
    await talk.say_in(END_VERSIONS, "end without an id", end("", NOBODY))
    for version in (OLD_END, NEW_END):
        for commits in (True, False):
            name = f"end-{version}-{commits}"
            await talk.ready(TRANSACTION, name)
            await talk.initialize(name)
            producer = await talk.initialize(name)
            await talk.say(f"{name}: nothing", end(name, producer, commits=commits), version)
            await talk.settle(name)
            producer = await talk.initialize(name)
            for label, named in wrong(producer):
                await talk.say(f"{name}: with {label}", end(name, named, commits=commits), version)
            await talk.say(f"{name}: add", add(name, producer, {"end": [0]}), OLD_ADD)
            for label, named in wrong(producer):
                await talk.say(f"{name}: with {label}", end(name, named, commits=commits), version)
            await talk.say(f"{name}: end", end(name, producer, commits=commits), version)
            await talk.settle(name)
            await talk.say(f"{name}: ended", describe(name))
            await talk.say(f"{name}: again", end(name, producer, commits=commits), version)
            await talk.settle(name)
            await talk.say(f"{name}: otherwise", end(name, producer, commits=not commits), version)
            await talk.settle(name)
            newer = ProducerIdentity(producer.producer_id, producer.epoch + 1)
            await talk.say(f"{name}: next epoch", end(name, newer, commits=commits), version)
            await talk.settle(name)
            await talk.say(
                f"{name}: next, otherwise", end(name, newer, commits=not commits), version
            )
            await talk.settle(name)
            await talk.say(f"{name}: finally", describe(name))


async def producing(talk: TransactionTalk) -> None:
    """Batches that the coordinator was told of, or not."""
    for version in PRODUCE_VERSIONS:
        name = topic = f"produce-{version}"
        await talk.create(topic)
        await talk.ready(TRANSACTION, name)
        await talk.ready(TRANSACTION, "ghost")
        await talk.initialize(name)
        producer = await talk.initialize(name)
        other = await talk.initialize("twice")
        ahead = ProducerIdentity(producer.producer_id, producer.epoch + 1)

        async def say(
            label: str,
            *batches: memoryview,
            name: str | None = name,
            topic: str = topic,
            version: int = version,
        ) -> None:
            await talk.say(f"produce: {label}", write(name, topic, *batches), version)

        for label, named in wrong(producer):
            await say(f"with {label}", batch_of(named))
        await say("to an unknown id", batch_of(NOBODY), name="ghost")
        await say("without an id", batch_of(producer), name=None)
        await say("with another id", batch_of(producer), name="twice")
        await say("without a name", batch_of(producer), name="")
        await say("to an unknown topic", batch_of(producer), topic="nowhere")
        await say("two producers", batch_of(producer), batch_of(other))
        await say("first with sequence 5", batch_of(producer, 5))
        await say("before it is added", batch_of(producer))
        await talk.say("add", add(name, producer, {topic: [0, 1]}), OLD_ADD)
        await say("a batch", batch_of(producer, 0 if version < NEW_PRODUCE else 1))
        await say("a gap", batch_of(producer, 9))
        await say("the first again", batch_of(producer))
        await say("not transactional", batch_of(producer, 2, transactional=False))
        await say(
            "not transactional, without an id",
            batch_of(producer, 2, transactional=False),
            name=None,
        )
        plain = batch_of(ProducerIdentity(-1, -1), -1, transactional=False)
        await say("a plain one beside it", batch_of(producer, 2), plain)
        await say("the next", batch_of(producer, 3))
        ended = OLD_END if version < NEW_PRODUCE else NEW_END
        await talk.say("end", end(name, producer), ended)
        await talk.settle(name)
        await say("after the end", batch_of(producer, 4))
        await say("after the end, from the beginning", batch_of(producer))
        await say("after the end, not transactional", batch_of(producer, 4, transactional=False))
        await say("the next epoch", batch_of(ahead))
        await say("the next epoch, again", batch_of(ahead))
        await say("the next epoch, a gap", batch_of(ahead, 7))
        await talk.say("end as it was", end(name, producer), ended)
        await talk.say("end of the next", end(name, ahead, commits=False), ended)
        await talk.settle(name)
        producers = DescribeProducersRequest([TopicRequest(topic, [0, 1])])
        await talk.say("describe the producers", producers)


async def zombies(talk: TransactionTalk) -> None:
    """Each request of a producer whose id has another one by now."""
    await talk.create("zombie")
    await talk.ready(GROUP, "offsets")
    for version in (OLD_END, NEW_END):
        name = f"zombie-{version}"
        produced = OLD_PRODUCE if version == OLD_END else NEW_PRODUCE
        await talk.ready(TRANSACTION, name)
        zombie = await talk.initialize(name)
        await talk.say(f"{name}: add", add(name, zombie, {"zombie": [0]}), OLD_ADD)
        await talk.say(f"{name}: write", write(name, "zombie", batch_of(zombie)), produced)
        await talk.say(f"{name}: another", InitProducerIdRequest(name, TIMEOUT_MS), INIT)
        await talk.settle(name)
        await talk.say(f"{name}: aborted", describe(name))
        await of_zombie(talk, f"{name}, aborted", name, zombie)
        producer = await talk.initialize(name)
        await of_zombie(talk, f"{name}, with a new one", name, zombie)
        await talk.say(f"{name}: add", add(name, producer, {"zombie": [0]}), OLD_ADD)
        await of_zombie(talk, f"{name}, with an open one", name, zombie)
        await talk.say(f"{name}: end", end(name, producer), version)
        await talk.settle(name)
        await of_zombie(talk, f"{name}, after all", name, zombie)


async def of_zombie(talk: TransactionTalk, label: str, name: str, zombie: ProducerIdentity) -> None:
    """Say everything that a producer can."""
    await talk.say_in(range(4), f"{label}: add", add(name, zombie, {"zombie": [1]}))
    await talk.say_in(range(5), f"{label}: add offsets", add_offsets(name, zombie))
    await talk.say_in(
        PRODUCE_VERSIONS, f"{label}: write", write(name, "zombie", batch_of(zombie, 1))
    )
    await talk.say_in(
        (0, 2, OLD_OFFSETS, NEW_OFFSETS),
        f"{label}: offsets",
        commit_offsets(name, zombie, "zombie"),
    )
    for commits in (True, False):
        request = end(name, zombie, commits=commits)
        await talk.say_in(END_VERSIONS, f"{label}: end, {commits}", request)
    again = InitProducerIdRequest(name, TIMEOUT_MS, zombie.producer_id, zombie.epoch)
    for version in (3, INIT):
        await talk.say(f"{label}: init", again, version)
        await talk.settle(name)


async def expiring(talk: TransactionTalk) -> None:
    """Requests of a producer whose transaction was open for too long."""
    await talk.create("expire")
    for version in (OLD_END, NEW_END):
        for action in ("add", "write", "commit", "abort", "init"):
            name = f"expire-{version}-{action}"
            produced = OLD_PRODUCE if version == OLD_END else NEW_PRODUCE
            await talk.ready(TRANSACTION, name)
            producer = await talk.initialize(name, timeout_ms=300)
            await talk.ask(add(name, producer, {"expire": [0]}), OLD_ADD)
            await talk.say(f"{name}: first", write(name, "expire", batch_of(producer)), produced)
            await talk.settle(name, "CompleteAbort")
            if action == "add":
                await talk.say(f"{name}: add", add(name, producer, {"expire": [1]}), OLD_ADD)
            elif action == "write":
                request = write(name, "expire", batch_of(producer, 1))
                await talk.say(f"{name}: write", request, produced)
            elif action == "init":
                again = InitProducerIdRequest(name, 60_000, producer.producer_id, producer.epoch)
                await talk.say(f"{name}: init", again, INIT)
            else:
                request = end(name, producer, commits=action == "commit")
                await talk.say(f"{name}: end", request, version)
            await talk.settle(name)
            await talk.say(f"{name}: finally", describe(name))


async def converse(ask: Ask) -> list[str]:
    """Return all of it."""
    talk = TransactionTalk(ask)
    for part in (
        initializing,
        adding,
        ending,
        producing,
        zombies,
        expiring,
        offsets,
        markers,
        inspection,
    ):
        talk.begin()
        await part(talk)
    return talk.lines


async def answers_of(address: tuple[str, int]) -> list[str]:
    async with connected(RealWorld(), Endpoint(*address)) as client:
        return await converse(client.ask)


def main() -> None:
    from tests.benchmarks.brokers import apache_kafka_command

    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    with (
        tempfile.TemporaryDirectory() as directory,
        broker_process(Path(directory), *settings, command=apache_kafka_command) as broker,
    ):
        RECORD.write_text("".join(f"{line}\n" for line in trio.run(answers_of, broker.address)))


if __name__ == "__main__":
    main()
