"""Ways to read: columns, and what a turn before a record must not miss."""

import pytest
import trio
from trio.testing import MockClock

from tests.clients.consumer.kit import T0, consumer_of, read
from tests.clients.consumer.scripted import ScriptedCluster
from trio_kafka.clients.errors import TopicError
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, PartitionData
from trio_kafka.testing.simulate import simulate


def column(batches, name):
    return [value for batch in batches for value in batch[name].to_pylist()]


@simulate(seeds=1)
async def test_columns_have_the_records_behind_the_position_and_none_of_aborted_transactions(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", b"0", b"1", b"2")
    await sim.kafka.produce("t", b"3", b"4", transactional_id="x")
    await sim.kafka.abort("x")
    await sim.kafka.produce("t", b"6")

    async with consumer_of(sim, isolation_level="read_committed", max_poll_records=1) as consumer:
        consumer.assign([T0])
        assert [record.offset for record in await read(consumer, 1)] == [0]
        batch = await consumer.next_batch()
        columns = list(batch.columns())
        assert await consumer.position(T0) == batch.next_offset

    assert column(columns, "offset") == [1, 2, 6]
    assert column(columns, "value") == [b"1", b"2", b"6"]
    assert set(column(columns, "topic")) == {"t"}


async def test_error_that_arrives_while_a_loop_waits_is_raised_there(
    autojump_clock: MockClock,
) -> None:
    errors = [0, 0]

    def answer(node: int, row: FetchPartition) -> PartitionData:
        del node, row
        return PartitionData(0, error_code=errors.pop() if errors else 17)

    async with ScriptedCluster(answer).consumer() as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 0)
        with trio.fail_after(30), pytest.raises(TopicError):
            async for _ in consumer:
                pass
