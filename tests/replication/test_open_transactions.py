"""Open transactions of this broker's logs, in steps."""

from trio.testing import MockClock

from tests.apis.kit import broker
from trio_kafka.log.producer_state import Producer
from trio_kafka.model import TopicPartition
from trio_kafka.replication.open_transactions import open_transactions
from trio_kafka.scheduling.chunked_work import whole


async def test_transactions_that_are_silent_for_longest_are_returned_and_all_are_counted(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        replicas = served.broker.parts.replicas
        for number in range(600):
            log = replicas.partition("t", number % 2).local_log()
            log.producers.restore(
                Producer(
                    producer_id=number, timestamp=number, transaction_first_offset=1000 - number
                )
            )

        chosen, total = whole(open_transactions(replicas, lambda _topic: True, 3))
        hidden = whole(open_transactions(replicas, lambda topic: topic != "t", 3))
        steps = sum(1 for _ in open_transactions(replicas, lambda _topic: True, 3))
        oldest = whole(open_transactions(replicas, lambda _topic: True, 600))[0]
        replicas.partition("t", 0).local_log().producers.clear()

        assert total == 600
        assert [(entry.at, entry.producer_id) for entry in chosen] == [
            (TopicPartition("t", number % 2), number) for number in range(3)
        ]
        assert hidden == ([], 0)
        assert steps == 3
        assert [entry.producer_id for entry in oldest if entry.is_oldest] == [598, 599]
        assert [entry.is_open for entry in chosen] == [False, True, False]
