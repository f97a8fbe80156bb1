import pytest
import trio

from tests.log.managers import format_directory, started
from trio_kafka.log.manager.disk_space import DiskSpace
from trio_kafka.world.simulated.faults import CallFault

MIB = 1 << 20


class Watch:
    """The check of the directories of a machine, whose free space a test sets."""

    def __init__(self, manager, world, percent=10):
        self.world = world
        self.percent = percent
        self.space = DiskSpace(lambda: manager.online, lambda: self.percent)

    async def free(self, mib, after_s=30.0):
        """Check when so much of 1000 MiB is free."""
        await trio.sleep(after_s)
        self.world.capacity = 1000 * MIB
        self.world.free_space = lambda: mib * MIB
        await self.space.check()


@pytest.fixture
async def watch(autojump_clock, world):
    await format_directory(world, "/data")
    return Watch(await started(world), world)


def lines(caplog):
    result = [
        (record.msg, record.fields["free_mib"], record.fields["full_in"])
        for record in caplog.records
    ]
    caplog.clear()
    return result


async def test_low_disk_space_is_logged_once_below_the_limit_and_again_below_half(
    autojump_clock, watch, caplog
):
    caplog.set_level("INFO")
    await watch.free(100)
    assert not lines(caplog)

    await watch.free(99, after_s=3000)
    assert lines(caplog) == [("disk nearly full", 99, "297000 s")]
    await watch.free(60, after_s=3000)
    assert not lines(caplog)
    await watch.free(49, after_s=3000)
    assert [line[:2] for line in lines(caplog)] == [("disk nearly full", 49)]
    assert watch.space.figures() == {"/data": 4.9}


async def test_fast_filling_disk_is_logged_before_the_limit(autojump_clock, watch, caplog):
    await watch.free(900)
    await watch.free(800)

    assert lines(caplog) == [("disk nearly full", 800, "240 s")]


async def test_recovered_disk_space_is_logged(autojump_clock, watch, caplog):
    caplog.set_level("INFO")
    await watch.free(50)
    await watch.free(105)  # not much above the limit: it would come and go
    assert [line[:2] for line in lines(caplog)] == [("disk nearly full", 50)]

    await watch.free(500)

    assert lines(caplog) == [("disk has space again", 500, "unknown")]
    await watch.free(90, after_s=30_000)
    assert [line[0] for line in lines(caplog)] == ["disk nearly full"]


async def test_limit_of_zero_disables_disk_space_warnings(autojump_clock, watch, caplog):
    watch.percent = 0
    await watch.free(500)
    await watch.free(1)

    assert not lines(caplog)


async def test_disk_whose_space_is_unknown_is_not_logged(autojump_clock, watch, caplog, world):
    world.universe.faults.add(CallFault(call="space", error="EIO"))

    await watch.free(1)

    assert not caplog.records
    assert watch.space.figures() == {}
