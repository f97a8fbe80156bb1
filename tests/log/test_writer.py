"""Changes of a log: turns in order, appends that are blocked, generations, claims of long work."""

import pytest
import trio
import trio.testing
from attrs import evolve

from tests.log.kit import append, batch, new_log
from trio_kafka.errors import InvariantError, KafkaError
from trio_kafka.log.durability.sync import close
from trio_kafka.log.rolling import roll, roll_in_thread
from trio_kafka.log.truncate import restart_at
from trio_kafka.log.writer import LogWriter, open_claims


async def test_changes_of_a_log_take_turns_in_order_of_arrival(autojump_clock):
    writer, order = LogWriter("t-0"), []

    async def change(name: str) -> None:
        async with writer.turn(name):
            order.append(writer.change)
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        for name in ("cut", "sync", "roll"):
            nursery.start_soon(change, name)
            await trio.testing.wait_all_tasks_blocked()

    assert order == ["cut", "sync", "roll"]
    assert writer.change is None


async def test_cancelled_change_of_a_log_ends_its_turn(autojump_clock):
    writer = LogWriter("t-0")

    with trio.move_on_after(1):
        async with writer.turn("sync"):
            await trio.sleep_forever()

    assert writer.change is None
    with trio.fail_after(1):
        async with writer.turn("cut"):
            pass


async def test_turn_without_waiting_is_refused_during_another_change(autojump_clock):
    writer = LogWriter("t-0")

    async def cut() -> None:
        async with writer.turn("cut"):
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(cut)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.WouldBlock):
            writer.turn_nowait("sync")
        assert writer.change == "cut"

    writer.turn_nowait("sync")
    assert writer.change == "sync"
    writer.end_turn()
    assert writer.change is None


async def test_appends_and_rolls_are_refused_while_a_truncation_blocks_them(autojump_clock, world):
    log = new_log(world)
    append(log, batch(timestamp=1))

    with log.blocking_appends("cut"):
        for begin in (lambda: append(log, batch(timestamp=1)), lambda: roll(log)):
            with pytest.raises(InvariantError, match=r"t-0: .*this change: cut"):
                begin()

    append(log, batch(timestamp=1))
    assert log.end_offset == 2


async def test_an_append_needs_no_turn_beside_a_sync(autojump_clock, world):
    log = new_log(world)

    async with log.writer.turn("sync"):
        append(log, batch(timestamp=1))

    assert log.end_offset == 1


async def test_a_writer_waits_until_appends_are_no_longer_blocked(autojump_clock, world):
    log, ends = new_log(world), []
    append(log, batch(timestamp=1))

    async def write() -> None:
        await log.writer.wait_unblocked()
        append(log, batch(timestamp=1))
        ends.append(log.end_offset)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(roll_in_thread, log)
        while log.writer.blocked_by is None:
            await trio.sleep(0.00001)
        assert log.writer.blocked_by == "roll"
        nursery.start_soon(write)
        nursery.start_soon(write)

    assert ends == [2, 3]
    assert len(log.segments) == 2


async def test_a_restart_blocks_appends_and_begins_a_generation(autojump_clock, world):
    log = new_log(world)
    append(log, batch(timestamp=1))
    generation, seen = log.writer.generation, set()

    async def watch() -> None:
        while log.start_offset != 50:
            seen.add(log.writer.blocked_by)
            await trio.sleep(0.00001)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        await restart_at(log, 50)

    assert "cut" in seen
    assert log.writer.generation > generation + 1


async def test_close_of_a_log_begins_a_new_generation(autojump_clock, world):
    log = new_log(world)
    generation = log.writer.generation

    await close(log)

    assert log.writer.generation > generation
    with pytest.raises(KafkaError), log.blocking_appends("roll"):
        pass


# Claims


async def test_a_second_claim_of_a_log_is_refused(autojump_clock):
    writer = LogWriter("t-0")

    with writer.claimed("cleaning") as claim:
        assert writer.claim is claim
        assert open_claims() == ("cleaning t-0",)
        with pytest.raises(InvariantError, match="retention claims the log amid cleaning"):
            writer.claimed("retention").__enter__()

    assert writer.claim is None
    assert open_claims() == ()
    assert claim.revoked is None


async def test_revoked_claim_cancels_its_work_and_keeps_the_first_reason(autojump_clock):
    writer, ends = LogWriter("t-0"), []

    async def work() -> None:
        with writer.claimed("cleaning") as claim:
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(1)
        ends.append(claim.revoked)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)
        await trio.testing.wait_all_tasks_blocked()
        claim = writer.claim
        writer.revoke("a reason")
        writer.revoke("a later reason")
        await trio.testing.wait_all_tasks_blocked()
        assert writer.claim is claim  # the work has not stopped yet
        await claim.ended.wait()
        assert writer.claim is None

    assert ends == ["a reason"]


async def test_close_of_a_log_revokes_its_claim(autojump_clock, world):
    log = new_log(world)

    async with trio.open_nursery() as nursery:

        async def work() -> None:
            with log.writer.claimed("cleaning"):
                await trio.sleep_forever()

        nursery.start_soon(work)
        await trio.testing.wait_all_tasks_blocked()
        claim = log.writer.claim
        log.abandon()

    assert claim.revoked == "the log was closed"


@pytest.mark.parametrize(
    ("change", "is_revoked"),
    [
        ({"cleanup_policy": frozenset({"delete"})}, True),
        ({"cleanup_policy": frozenset({"compact", "delete"})}, False),
        ({"retention_ms": 5}, False),
    ],
)
async def test_claim_of_the_cleaner_is_revoked_when_a_log_is_no_longer_compacted(
    autojump_clock, world, change, is_revoked
):
    log = new_log(world, cleanup_policy=frozenset({"compact"}))

    with log.writer.claimed("cleaning") as claim:
        log.configure(evolve(log.config, **change))

    assert (claim.revoked is not None) == is_revoked
