import pytest

from tests.log.kit import append, batch, new_log, offsets, read_all
from tests.log.managers import SMALL, TOPIC_ID, format_directory, start, started
from trio_kafka.errors import LogDirError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.durability.close_together import close_together
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.rolling import roll
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulation import fault_on, run_simulated, run_until_crash
from trio_kafka.world.real import RealWorld

MANY = [TopicPartition("t", number) for number in range(20)]


def fill(logs: LogManager, partitions=MANY, count: int = 3) -> None:
    """Some batches of an idempotent producer, and a roll in between."""
    for partition in partitions:
        log = logs.create(partition, TOPIC_ID, SMALL)
        for number in range(count):
            own = {"producer_id": 7, "producer_epoch": 0, "base_sequence": number}
            append(log, batch(**own), 1)
            if not number:
                roll(log)


def calls(world, name: str) -> int:
    return sum(f" {name} " in line for line in world.universe.trace)


async def again(world) -> LogManager:
    logs = LogManager(world, ["/data"], Node("broker", "broker"))
    await start(logs, config=SMALL)
    return logs


async def test_close_of_many_logs_syncs_the_whole_disk_a_few_times(autojump_clock, world) -> None:
    await format_directory(world, "/data")
    logs = await started(world, "/data")
    fill(logs)
    world.universe.trace.clear()

    await logs.close()

    assert calls(world, "sync_all") == 3
    assert calls(world, "sync") < 10  # checkpoints and the marker


async def test_close_of_few_logs_does_not_sync_the_whole_disk(autojump_clock, world) -> None:
    await format_directory(world, "/data")
    logs = await started(world, "/data")
    fill(logs, MANY[:16])
    world.universe.trace.clear()

    await logs.close()

    assert calls(world, "sync_all") == 0


async def test_logs_outside_the_directory_are_synced_one_by_one(autojump_clock, world) -> None:
    root = world.directory("/data", create=True)
    logs = [new_log(world, f"/elsewhere/t-{number}") for number in range(20)]
    for log in logs:
        append(log, batch())

    await close_together(root, logs)

    assert all(log.closed and log.recovery_point == 1 for log in logs)
    assert calls(world, "sync") >= 20


async def test_power_loss_after_the_close_loses_no_record(autojump_clock, world) -> None:
    await format_directory(world, "/data")
    logs = await started(world, "/data")
    fill(logs)

    await logs.close()
    world.crash(kept=0.0)

    world = world.universe.machine(world.name)
    world.universe.trace.clear()
    result = await again(world)
    assert [directory.clean for directory in result.directories] == [True]
    for partition in MANY:
        log = result.get(partition)
        assert offsets(await read_all(log)) == [0, 1, 2]
        assert (log.topic_id, log.recovery_point, log.leader_epoch) == (TOPIC_ID, 3, 1)
        assert log.producers.get(7).last_sequence == 2
        assert log.producers.loads_at == 3
    reads = [line for line in world.universe.trace if " sync " in line and "t-1/" in line]
    assert not reads


async def test_log_closed_before_a_crash_ignores_checkpoints_of_a_deleted_log_of_its_name(
    autojump_clock, world
) -> None:
    """Offsets of a deleted topic would cut the log of the new one with its name."""
    await format_directory(world, "/data")
    logs = await started(world, "/data")
    fill(logs, count=8)
    for partition in MANY:
        logs.get(partition).high_watermark = 8
        logs.get(partition).set_start_offset(6)
    await logs.directories[0].checkpoint()
    for partition in MANY:
        logs.delete(partition)
    fill(logs)
    syncs = 0

    def fail_behind_the_logs(machine, call, target):
        nonlocal syncs
        syncs += call == "sync_all"
        return OSError(5, "EIO") if syncs == 3 and call == "create" else None

    world.universe.fault = fail_behind_the_logs
    await logs.close()
    world.universe.fault = lambda machine, call, target: None

    result = await again(world)
    assert not result.directories[0].clean
    for partition in MANY:
        assert offsets(await read_all(result.get(partition))) == [0, 1, 2]


async def test_logs_closed_together_can_be_opened_and_appended_to_again(
    autojump_clock, world
) -> None:
    await format_directory(world, "/data")
    logs = await started(world, "/data")
    fill(logs)
    for _ in range(3):
        await logs.close()
        logs = await again(world)
        for partition in MANY[:5]:
            append(logs.get(partition), batch())

    assert logs.get(MANY[0]).end_offset == 6
    assert logs.get(MANY[9]).end_offset == 3


async def test_appends_waiting_for_a_sync_are_notified_by_the_close(autojump_clock, world) -> None:
    root = world.directory("/data", create=True)
    logs = [new_log(world, f"/data/t-{number}", flush_messages=1) for number in range(20)]
    notified_logs = []
    for log in logs:
        log.on_durable = lambda log=log: notified_logs.append(log)
        append(log, batch())

    await close_together(root, logs)

    assert notified_logs == logs


async def test_failed_sync_of_the_disk_leaves_no_clean_shutdown_marker(
    autojump_clock, world
) -> None:
    await format_directory(world, "/data")
    logs = await started(world, "/data")
    fill(logs)
    world.universe.fault = fault_on("sync_all", OSError(5, "EIO"))

    await logs.close()

    assert isinstance(logs.directories[0].offline, LogDirError)
    assert not world.directory("/data").exists(".kafka_cleanshutdown")


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [number / 200 for number in range(1, 40, 4)])
@pytest.mark.parametrize("power", [True, False])
def test_crash_during_the_close_loses_no_durable_record(after_s, power) -> None:
    async def main(universe) -> None:
        world = universe.machine("broker")
        await format_directory(world, "/data")
        logs = await started(world, "/data")
        fill(logs)
        for log in logs.logs:
            await sync(log)
        for log in logs.logs:
            append(log, batch(), 2)

        await run_until_crash(world, lambda _: logs.close(), after_s, power=power)

        result = await again(universe.machine("broker"))
        least = 4 if result.directories[0].clean else 3
        for partition in MANY:
            log = result.get(partition)
            assert log.end_offset >= least
            assert offsets(await read_all(log)) == list(range(log.end_offset))
            assert log.topic_id == TOPIC_ID
            assert log.leader_epoch == log.end_offset // 4 + 1

    run_simulated(main, f"{after_s} {power}")


async def test_logs_closed_on_a_real_disk_are_loaded_again(tmp_path) -> None:
    world = RealWorld()
    path = str(tmp_path)
    await format_directory(world, path)
    logs = await started(world, path)
    fill(logs)

    await logs.close()

    result = LogManager(world, [path], Node("broker", "broker"))
    await start(result, config=SMALL)
    assert result.directories[0].clean
    for partition in MANY:
        assert offsets(await read_all(result.get(partition))) == [0, 1, 2]
    await result.close()
