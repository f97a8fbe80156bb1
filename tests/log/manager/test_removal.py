import trio

from tests.log.kit import append, batch, fill, read
from tests.log.managers import SMALL, T0, T1, TOPIC_ID, format_directory, started


async def test_two_calls_remove_each_deleted_log_once(autojump_clock, world):
    root = await format_directory(world, "/data")
    manager = await started(world)
    for partition in (T0, T1):
        manager.create(partition, TOPIC_ID, SMALL)
        manager.delete(partition)
    await trio.sleep(61)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(manager.removal.remove_due)
        nursery.start_soon(manager.removal.remove_due)

    assert not [name for name in root.names() if name.endswith("-delete")]
    assert manager.figures()["deleted"] == 0


async def test_a_deleted_log_frees_its_name_at_once_and_its_files_later(autojump_clock, world):
    root = await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, SMALL)
    append(log, batch())
    found = read(log, 0, 100, 1)

    manager.delete(T0)
    new = manager.create(T0, TOPIC_ID, SMALL)

    assert new.end_offset == 0
    marked = [name for name in root.names() if name.endswith("-delete")]
    assert len(marked) == 1
    assert await manager.removal.remove_due() == 60.0
    assert marked[0] in root.names()
    await trio.sleep(60)
    assert await manager.removal.remove_due() is None
    assert marked[0] not in root.names()
    assert not found.lease.cut
    found.release()


async def test_what_was_marked_deleted_before_a_start_is_removed_after_it(autojump_clock, world):
    root = await format_directory(world, "/data")
    await fill(root.directory(f"t-0.{'a' * 32}-delete", create=True), {"x.log": b"x"})
    manager = await started(world)

    await trio.sleep(61)
    await manager.removal.remove_due()

    assert manager.logs == ()
    assert f"t-0.{'a' * 32}-delete" not in root.names()
