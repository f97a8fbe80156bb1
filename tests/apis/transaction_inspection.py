"""Markers as brokers send them, and questions of administrators about transactions."""

from tests.apis.transaction_talk import (
    NEW_END,
    NEW_PRODUCE,
    OLD_ADD,
    OLD_END,
    OLD_PRODUCE,
    TRANSACTION,
    TransactionTalk,
    add,
    batch_of,
    describe,
    end,
    write,
)
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from trio_kafka.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from trio_kafka.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from trio_kafka.protocol.messages.k66_list_transactions import ListTransactionsRequest


def marker(
    producer: ProducerIdentity,
    topics: dict[str, list[int]],
    *,
    commits: bool = True,
    coordinator_epoch: int = 0,
    version: int = 0,
) -> WriteTxnMarkersRequest:
    """Return a request of a coordinator. version: transaction.version."""
    rows = [WritableTxnMarkerTopic(*topic) for topic in topics.items()]
    return WriteTxnMarkersRequest(
        [
            WritableTxnMarker(
                producer.producer_id, producer.epoch, commits, rows, coordinator_epoch, version
            )
        ]
    )


async def markers(talk: TransactionTalk) -> None:
    """WriteTxnMarkers, good and bad."""
    for version, produced, ended in ((1, OLD_PRODUCE, OLD_END), (2, NEW_PRODUCE, NEW_END)):
        name = topic = f"markers-{version}"
        await talk.create(topic)
        await talk.ready(TRANSACTION, name)
        await talk.initialize(name)
        producer = await talk.initialize(name)
        before = ProducerIdentity(producer.producer_id, producer.epoch - 1)
        after = ProducerIdentity(producer.producer_id, producer.epoch + 1)
        later = ProducerIdentity(producer.producer_id, producer.epoch + 2)
        nobody = ProducerIdentity(producer.producer_id + 200_000, 0)
        level = 2 if version > 1 else 0
        await talk.say("marker of an unknown producer", marker(nobody, {topic: [0]}), version)
        both = {topic: [0, 7], "nowhere": [0]}
        await talk.say("marker for unknown ones", marker(nobody, both), version)
        await talk.say("add", add(name, producer, {topic: [0, 1]}), OLD_ADD)
        await talk.say("write", write(name, topic, *[batch_of(producer)] * 2), produced)
        for label, named, epoch in (
            ("an older epoch", before, 0),
            ("the epoch", producer, 5),
            ("an older coordinator", after, 4),
            ("the epoch after", after, 5),
            ("the epoch after, again", after, 5),
            ("the epoch, again", producer, 5),
            ("a newer epoch", later, 6),
        ):
            request = marker(named, {topic: [0]}, coordinator_epoch=epoch, version=level)
            await talk.say(f"marker with {label}", request, version)
        producers = DescribeProducersRequest([TopicRequest(topic, [0, 1, 7])])
        await talk.say("describe the producers", producers)
        await talk.say("write after a marker", write(name, topic, batch_of(producer, 1)), produced)
        await talk.say("end", end(name, producer, commits=False), ended)


async def inspection(talk: TransactionTalk) -> None:
    """DescribeTransactions, ListTransactions and DescribeProducers."""
    await talk.create("inspect")
    await talk.ready(TRANSACTION, "inspect")
    await talk.say("describe an unknown one", describe("ghost"))
    await talk.say("describe without a name", describe(""))
    await talk.say("describe nothing", DescribeTransactionsRequest([]))
    producer = await talk.initialize("inspect")
    await talk.say("describe an empty one", describe("inspect"))
    twice = DescribeTransactionsRequest(["inspect", "inspect", "ghost"])
    await talk.say("describe twice", twice)
    await talk.say("add", add("inspect", producer, {"inspect": [1, 0], "add": [0]}), OLD_ADD)
    await talk.say("describe an open one", describe("inspect"))
    only = [producer.producer_id]
    for label, request in (
        ("all of it", ListTransactionsRequest(producer_id_filters=only)),
        ("ongoing", ListTransactionsRequest(["Ongoing"], only)),
        ("in small letters", ListTransactionsRequest(["ongoing"], only)),
        ("unknown", ListTransactionsRequest(["Ghost", "Dead"], only)),
        ("unknown and ongoing", ListTransactionsRequest(["Ghost", "Ongoing"], only)),
        ("dead", ListTransactionsRequest(["Dead"], only)),
        ("empty", ListTransactionsRequest(["Empty"], only)),
        ("of nobody", ListTransactionsRequest([], [9_000_000])),
    ):
        for version in range(3):
            await talk.say(f"list: {label}", request, version)
    for label, duration_ms in (("long", 3_600_000), ("any", 0), ("negative", -7)):
        request = ListTransactionsRequest([], only, duration_ms)
        await talk.say(f"list: {label}", request, 2)
    for pattern in ("insp.*", "insp", "", "(", "INSPECT"):
        request = ListTransactionsRequest([], only, -1, pattern)
        await talk.say(f"list: by {pattern!r}", request, 2)
    producers = DescribeProducersRequest([TopicRequest("nowhere", [0])])
    await talk.say("describe producers of nowhere", producers)
    await talk.say("end", end("inspect", producer), OLD_END)
    await talk.settle("inspect")
    await talk.say("describe an ended one", describe("inspect"))
