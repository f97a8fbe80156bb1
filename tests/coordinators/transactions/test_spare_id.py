"""A producer id in reserve: fetched after the first request for one."""

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.coordinators.transactions.spare_id import SpareId
from trio_kafka.errors import ErrorCode, KafkaError


async def test_first_request_fetches_an_id_and_each_id_is_taken_once() -> None:
    fetched = iter(range(10, 20))

    async def fetch() -> int:
        await trio.lowlevel.checkpoint()
        return next(fetched)

    spare = SpareId(fetch)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(spare.run)
        await wait_all_tasks_blocked()
        assert spare.take() is None
        await wait_all_tasks_blocked()
        assert spare.take() == 10
        assert spare.take() is None
        await wait_all_tasks_blocked()
        assert spare.take() == 11
        nursery.cancel_scope.cancel()


async def test_failed_fetch_is_tried_again(autojump_clock: MockClock) -> None:
    errors = [KafkaError(ErrorCode.NOT_CONTROLLER)]

    async def fetch() -> int:
        await trio.lowlevel.checkpoint()
        if errors:
            raise errors.pop()
        return 10

    spare = SpareId(fetch)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(spare.run)
        assert spare.take() is None
        await trio.sleep(2)
        assert spare.take() == 10
        nursery.cancel_scope.cancel()
