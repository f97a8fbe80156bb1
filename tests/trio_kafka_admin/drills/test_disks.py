"""Drills: a slow sync, a disk that is nearly full, and a lost log directory."""

import errno
import os

import trio
from trio.testing import MockClock

from tests.apis.kit import batch, produce_request
from tests.trio_kafka_admin.drills.kit import Drill, drill
from tests.trio_kafka_admin.drills.troubles import tell
from trio_kafka.testing.simulation import fault_on
from trio_kafka.world.simulated.faults import Verdict


def plant(exercise: Drill, call: str, verdict: Verdict, place: str) -> None:
    exercise.served.broker.world.universe.fault = fault_on(call, verdict, place)


async def test_produce_that_waits_for_a_slow_sync_names_the_directory(
    autojump_clock: MockClock,
) -> None:
    async with drill() as exercise:
        topic = await exercise.served.create_topic("ledger", configs={"flush.messages": "1"})
        await trio.sleep(1)
        plant(exercise, "sync", 20.0, "/data/ledger-0")
        exercise.hang(produce_request(topic, (0, batch(b"a"))), "ledger-writer")
        finding = await exercise.find("slow-sync")
        await tell(exercise.ui, "slow-sync", finding)
        await trio.sleep(5)
        later = await exercise.find("slow-sync")
        kinds = await exercise.findings()

    assert finding["subject"] == {"kind": "directory", "name": "/data"}
    assert "a sync of ledger-0 has taken " in finding["more"]
    assert finding["more"].endswith("; 1 request waits for it (Produce)")
    assert [below["kind"] for below in later["consequences"]] == ["long-wait"]
    assert kinds == ["slow-sync"]


async def test_disk_that_is_nearly_full_is_a_finding_before_it_is_full(
    autojump_clock: MockClock,
) -> None:
    async with drill() as exercise:
        world = exercise.served.broker.world
        topic = await exercise.served.create_topic("archive")
        for _ in range(20):  # so that four percent are room for the load
            await exercise.served.ask(produce_request(topic, (0, batch(os.urandom(900_000)))))
        world.capacity = round(world.disk.size / 0.96)
        finding = await exercise.find("directory-space")
        await tell(exercise.ui, "full-disk", finding)

    assert finding["title"] == "the disk of /data is 96 % full"
    assert finding["severity"] == "wrong"


async def test_lost_directory_says_why_and_how_many_others_serve(
    autojump_clock: MockClock,
) -> None:
    broken = OSError(errno.EIO, os.strerror(errno.EIO))
    async with drill(settings={"log.dirs": "/data,/more"}) as exercise:
        topic = await exercise.served.create_topic("t", 2, configs={"flush.messages": "1"})
        plant(exercise, "append", broken, "/more/t-")
        for number in range(2):
            exercise.hang(produce_request(topic, (number, batch(b"a"))), "writer")
        finding = await exercise.find("lost-directory")
        await tell(exercise.ui, "lost-directory", finding)

    assert finding["title"] == "log directory /more is offline"
    assert finding["more"].endswith("; 1 other directory serves")
