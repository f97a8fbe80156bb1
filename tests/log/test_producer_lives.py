"""Idempotent producers over many lives of a log: stops in order, crashes, rolls and retention.

Whatever happens, a producer goes on where it was, its last batch is known again, and no batch is
ever written twice.
"""

from random import Random

import pytest

from tests.log.kit import PARTITION, append, batch, new_log
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.append import Appended
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.log import Log
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.retention import delete_before

SEQUENCES = 1 << 31
PRODUCERS = 3


class Lives:
    """A log with small segments, and all that each producer has sent."""

    def __init__(self, world, seed: int) -> None:
        self.world = world
        self.random = Random(seed)
        self.log: Log = new_log(world, segment_bytes=400)
        self.sent: dict[int, list[tuple[int, int, int]]] = {
            producer: [] for producer in range(PRODUCERS)
        }  # sequence, count, offset

    def _append(self, producer: int, sequence: int, count: int) -> Appended:
        fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence}
        return append(self.log, batch(count, **fields))

    def send(self, producer: int) -> None:
        count, sent = self.random.randint(1, 3), self.sent[producer]
        sequence = SEQUENCES - 3 * producer - 1
        if sent:
            sequence = (sent[-1][0] + sent[-1][1]) % SEQUENCES
        end = self.log.end_offset

        appended = self._append(producer, sequence, count)

        assert (appended.first_offset, appended.duplicate) == (end, False)
        sent.append((sequence, count, end))

    def send_again(self, producer: int, back: int) -> None:
        """The batch `back` before the last one: known again, or refused, never written."""
        sent, end = self.sent[producer], self.log.end_offset
        if len(sent) <= back:
            return
        sequence, count, offset = sent[-1 - back]
        try:
            result: Appended | ErrorCode = self._append(producer, sequence, count)
        except KafkaError as error:
            result = error.code
        if isinstance(result, ErrorCode):
            assert (result, back > 0) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, True)
        else:
            assert (result.first_offset, result.duplicate, back < 5) == (offset, True, True)
        assert self.log.end_offset == end

    async def begin_anew(self, *, clean: bool) -> None:
        if clean:
            await close(self.log)
        else:
            await sync(self.log)
            self.log.abandon()
        old = self.log
        recovery = Recovery(
            clean=clean, start_offset=old.start_offset, recovery_point=old.recovery_point
        )
        self.log = await open_log(
            self.world, old.directory, PARTITION, config=old.config, recovery=recovery
        )
        self.log.high_watermark = self.log.end_offset

    async def retain(self) -> None:
        await delete_before(self.log, self.random.randint(0, self.log.end_offset), _nothing)


async def _nothing() -> None:
    """Start offsets are told to the next life by hand."""


@pytest.mark.parametrize("seed", range(12))
async def test_restarts_neither_forget_a_producer_nor_write_a_duplicate_batch(
    autojump_clock, world, seed: int
) -> None:
    lives = Lives(world, seed)
    random = lives.random
    for _ in range(120):
        choice = random.random()
        if choice < 0.55:
            lives.send(random.randrange(PRODUCERS))
        elif choice < 0.8:
            lives.send_again(random.randrange(PRODUCERS), random.randrange(8))
        elif choice < 0.95:
            await lives.begin_anew(clean=random.random() < 0.5)
        else:
            await lives.retain()
        for producer in range(PRODUCERS):
            lives.send_again(producer, 0)

    await lives.begin_anew(clean=True)
    assert len(lives.log.segments) > 1
    for producer in range(PRODUCERS):
        lives.send(producer)
