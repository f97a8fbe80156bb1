"""A large batch holds the loop for a slice at a time, on the machine's own clock."""

import json

import pytest
import trio
from schema_guard.batches import look_at
from schema_guard.schemas import judge_of

from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.records.compression import Codec
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4, Codec.ZSTD])
def test_other_tasks_run_while_a_large_batch_is_checked(codec: Codec) -> None:
    judge = judge_of("JSON", json.dumps({"properties": {"n": {"type": "integer"}}}))
    records = [Record(timestamp=1, value=b'{"n": %d}' % number) for number in range(20_000)]
    batch = memoryview(encode_batch(records, codec=codec))

    async def check(value: bytes) -> str | None:
        return judge(value)

    async def main(world: RealWorld) -> int:
        passes = 0

        async def count() -> None:
            nonlocal passes
            while True:
                await trio.lowlevel.checkpoint()
                passes += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(count)
            assert await look_at(batch, check, world=world, most_bytes=1 << 30) is None
            nursery.cancel_scope.cancel()
        return passes

    clock = SkippingClock()
    assert trio.run(main, RealWorld(clock), clock=clock) > 20
