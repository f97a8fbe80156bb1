"""One change follows the other, whole or not at all; large ones let others run in between."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
import trio.testing

from tests.raft.kit import format_root, running_quorum
from trio_kafka.controller.decision import Decision
from trio_kafka.controller.writer import Writer
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.rolling import roll_in_thread
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.topics import PartitionRecord, TopicRecord
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.world.world import World

ID = bytes(15) + b"\x07"


@asynccontextmanager
async def writing(world: World) -> AsyncIterator[tuple[Writer, RaftDriver]]:
    """A writer that begins with the level of a new cluster."""
    await format_root(world)
    async with running_quorum(world) as (driver, loader):
        writer = Writer(driver)
        writer.take_over(await driver.elect(), loader.image, {}, {})
        level = FeatureLevelRecord(name="metadata.version", feature_level=33)
        await writer.write(lambda: Decision(None, [level]))
        yield writer, driver


def topic(name: str = "t", partitions: int = 1, id_: bytes = ID) -> list[MetadataRecord]:
    records: list[MetadataRecord] = [TopicRecord(name=name, topic_id=id_)]
    records += [
        PartitionRecord(partition_id=number, topic_id=id_, replicas=[1], isr=[1], leader=1)
        for number in range(partitions)
    ]
    return records


class Passes:
    """How often others could run while a block was running."""

    def __init__(self) -> None:
        self.count = 0

    async def run(self) -> None:
        while True:
            await trio.lowlevel.checkpoint()
            self.count += 1


@pytest.mark.parametrize(("partitions", "pauses"), [(1, 0), (1000, 62)])
async def test_other_tasks_run_during_a_large_metadata_change(
    world: World, autojump_clock: object, partitions: int, pauses: int
) -> None:
    async with writing(world) as (writer, driver), trio.open_nursery() as nursery:
        passes = Passes()
        nursery.start_soon(passes.run)
        await trio.lowlevel.checkpoint()
        before, start = passes.count, driver.next_offset

        result, end = await writer.write(lambda: Decision("made", topic(partitions=partitions)))

        assert abs(passes.count - before - pauses) <= 1
        assert (result, end) == ("made", start + partitions + 1)
        assert end == driver.next_offset == writer.present.offset
        assert len(writer.present.topics["t"].partitions) == partitions
        assert writer.collision_keys == {"t": "t"}
        nursery.cancel_scope.cancel()


async def test_a_decision_waits_for_the_previous_decision_and_sees_its_result(
    world: World, autojump_clock: object
) -> None:
    seen: list[str] = []

    def look() -> Decision[None]:
        seen.extend(writer.present.topics)
        return Decision(None)

    async with writing(world) as (writer, _), trio.open_nursery() as nursery:
        nursery.start_soon(writer.write, lambda: Decision(None, topic(partitions=1000)))
        await trio.lowlevel.checkpoint()
        assert "t" not in writer.present.topics  # nothing of it is seen before it is whole
        nursery.start_soon(writer.write, look)

    assert seen == ["t"]


async def test_a_change_cancelled_before_its_append_changes_nothing(
    world: World, autojump_clock: object
) -> None:
    async with writing(world) as (writer, driver):
        before, start = writer.present, driver.next_offset
        with trio.CancelScope() as scope:

            def records() -> Iterator[MetadataRecord]:
                yield from topic(partitions=1000)
                scope.cancel()
                yield from topic("u", 1000, bytes(15) + b"\x08")

            await writer.write(lambda: Decision(None, records()))
        assert scope.cancelled_caught
        assert writer.present is before
        assert driver.next_offset == start

        await writer.write(lambda: Decision(None, topic("after")))
        assert list(writer.present.topics) == ["after"]


async def test_a_controller_that_resigns_during_a_change_writes_nothing(
    world: World, autojump_clock: object
) -> None:
    async with writing(world) as (writer, driver):
        start = driver.next_offset

        def records() -> Iterator[MetadataRecord]:
            yield from topic(partitions=100)
            writer.resign()

        with pytest.raises(KafkaError) as refused:
            await writer.write(lambda: Decision(None, records()))
        assert refused.value.code is ErrorCode.NOT_CONTROLLER
        assert driver.next_offset == start
        assert (writer.active, writer.epoch) == (False, -1)
        with pytest.raises(KafkaError):
            await writer.write(lambda: Decision(writer.present))


async def test_a_change_waits_for_a_roll_of_the_metadata_log_in_a_thread(
    world: World, autojump_clock: object
) -> None:
    async with writing(world) as (writer, driver), trio.open_nursery() as nursery:
        nursery.start_soon(roll_in_thread, driver.store.log)
        await trio.testing.wait_all_tasks_blocked()
        assert driver.store.log.writer.blocked_by == "roll"

        await writer.write(lambda: Decision(None, topic("during")))

        assert list(writer.present.topics) == ["during"]
        assert driver.store.log.end_offset == writer.present.offset


async def test_a_controller_that_resigns_while_the_log_is_rolled_writes_nothing(
    world: World, autojump_clock: object
) -> None:
    async with writing(world) as (writer, driver), trio.open_nursery() as nursery:
        start = driver.next_offset
        nursery.start_soon(roll_in_thread, driver.store.log)
        await trio.testing.wait_all_tasks_blocked()

        async def write() -> None:
            with pytest.raises(KafkaError) as refused:
                await writer.write(lambda: Decision(None, topic()))
            assert refused.value.code is ErrorCode.NOT_CONTROLLER

        nursery.start_soon(write)
        await trio.testing.wait_all_tasks_blocked()
        writer.resign()
        await trio.sleep(1)

        assert driver.next_offset == start


async def test_other_tasks_run_during_a_long_scan_without_changes(
    world: World, autojump_clock: object
) -> None:
    async with writing(world) as (writer, driver), trio.open_nursery() as nursery:
        passes, start = Passes(), driver.next_offset
        nursery.start_soon(passes.run)
        await trio.lowlevel.checkpoint()
        before = passes.count

        await writer.write(lambda: Decision(None, iter([None] * 5)))

        assert passes.count - before >= 4  # one more or less: a pass has no order
        assert driver.next_offset == start
        nursery.cancel_scope.cancel()


async def test_a_change_begun_in_an_old_epoch_is_not_written_in_a_new_epoch(
    world: World, autojump_clock: object
) -> None:
    async with writing(world) as (writer, driver):
        image, epoch, start = writer.present, writer.epoch, driver.next_offset

        def records() -> Iterator[MetadataRecord]:
            yield from topic(partitions=100)
            writer.resign()
            writer.take_over(epoch, attrs.evolve(image, offset=start + 1), {}, {})

        with pytest.raises(KafkaError) as refused:
            await writer.write(lambda: Decision(None, records()))
        assert refused.value.code is ErrorCode.NOT_CONTROLLER
        assert driver.next_offset == start


async def test_validate_only_returns_the_result_without_making_records(
    world: World, autojump_clock: object
) -> None:
    def records() -> Iterator[MetadataRecord]:
        raise AssertionError("made")
        yield

    async with writing(world) as (writer, driver):
        start = driver.next_offset
        result, end = await writer.write(lambda: Decision("would", records()), validate_only=True)

        assert (result, end, driver.next_offset) == ("would", start, start)


async def test_a_refused_decision_does_not_block_later_decisions(
    world: World, autojump_clock: object
) -> None:
    def refuse() -> Decision[None]:
        raise KafkaError(ErrorCode.INVALID_REQUEST)

    async with writing(world) as (writer, driver):
        start = driver.next_offset
        for _ in range(2):
            with pytest.raises(KafkaError):
                await writer.write(refuse)
        await writer.write(lambda: Decision(None))
        assert driver.next_offset == start


async def test_other_tasks_run_after_about_every_eighth_small_decision(
    world: World, autojump_clock: object
) -> None:
    async with writing(world) as (writer, _), trio.open_nursery() as nursery:
        passes = Passes()
        nursery.start_soon(passes.run)
        await trio.lowlevel.checkpoint()
        counts = []
        for _ in range(40):
            await writer.write(lambda: Decision(None))
            await writer.pause()
            counts.append(passes.count)
        nursery.cancel_scope.cancel()

    assert 4 <= counts[-1] - counts[0] <= 6  # a decision counts as 8 records of 64


async def test_other_tasks_run_after_each_slow_decision_even_a_refused_one(
    world: World, autojump_clock: trio.testing.MockClock
) -> None:
    def refuse_slowly() -> Decision[None]:
        autojump_clock.jump(0.008)
        raise KafkaError(ErrorCode.INVALID_CONFIG)

    async with writing(world) as (writer, _), trio.open_nursery() as nursery:
        passes = Passes()
        nursery.start_soon(passes.run)
        await trio.lowlevel.checkpoint()
        before = passes.count
        for _ in range(7):
            with pytest.raises(KafkaError):
                await writer.write(refuse_slowly)
            await writer.pause()
        assert passes.count - before >= 6  # one more or less: a pass has no order
        nursery.cancel_scope.cancel()
