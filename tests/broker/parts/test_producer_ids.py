import pytest
import trio

from trio_kafka.broker.parts.producer_ids import ProducerIds
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node


async def test_producer_ids_are_consecutive_and_each_block_is_allocated_once(
    autojump_clock,
) -> None:
    times: list[float] = []
    producer_ids: list[int] = []

    async def allocate() -> tuple[int, int]:
        times.append(trio.current_time())
        await trio.sleep(1)
        return 1000 * len(times), 3

    root = Node("broker", "broker")
    ids = ProducerIds(allocate, root)

    async def take() -> None:
        producer_ids.append(await ids.next_id())

    async with trio.open_nursery() as nursery:
        for _ in range(7):
            nursery.start_soon(take)

    assert sorted(producer_ids) == [1000, 1001, 1002, 2000, 2001, 2002, 3000]
    assert times == [0, 1, 2]
    assert root.children[0].figures() == {"next": 3001, "end": 3003, "given": 7}


async def test_refused_producer_id_allocation_raises_and_is_retried_by_the_next_request() -> None:
    answers = [KafkaError(ErrorCode.NOT_CONTROLLER), (5, 1)]

    async def allocate() -> tuple[int, int]:
        await trio.lowlevel.checkpoint()
        answer = answers.pop(0)
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    ids = ProducerIds(allocate, Node("broker", "broker"))

    with pytest.raises(KafkaError):
        await ids.next_id()
    assert await ids.next_id() == 5
