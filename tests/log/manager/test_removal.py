import trio

from tests.log.kit import append, batch, fill, read
from tests.log.managers import SMALL, T0, T1, TOPIC_ID, format_directory, started


async def test_concurrent_removals_remove_each_deleted_log_once(autojump_clock, world):
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
    result = read(log, 0, 100, 1)

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
    assert not result.lease.cut
    result.release()


async def test_directory_marked_deleted_before_a_start_is_removed_after_it(autojump_clock, world):
    root = await format_directory(world, "/data")
    await fill(root.directory(f"t-0.{'a' * 32}-delete", create=True), {"x.log": b"x"})
    manager = await started(world)

    await trio.sleep(61)
    await manager.removal.remove_due()

    assert manager.logs == ()
    assert f"t-0.{'a' * 32}-delete" not in root.names()


async def deleted_log(world):
    """A manager with one deleted log and one that is served, and the name of the deleted one."""
    root = await format_directory(world, "/data")
    manager = await started(world)
    served = manager.create(T1, TOPIC_ID, SMALL)
    append(manager.create(T0, TOPIC_ID, SMALL), batch())
    manager.delete(T0)
    (name,) = [name for name in root.names() if name.endswith("-delete")]
    return manager, served, root, name


async def test_directory_stays_online_if_an_operator_removed_a_deleted_log(autojump_clock, world):
    manager, served, root, name = await deleted_log(world)
    folder = root.directory(name)
    for file in folder.names():
        await folder.unlink(file)
    await root.unlink(name)

    await trio.sleep(61)
    assert await manager.removal.remove_due() is None

    assert manager.directories[0].offline is None
    append(served, batch())


async def test_directory_stays_online_if_a_file_vanishes_during_the_removal(autojump_clock, world):
    manager, _, _, name = await deleted_log(world)
    removed = []

    def fault(machine, call, target):
        if call == "unlink" and name in target and not removed:
            removed.append(target)
            return OSError(2, "gone")
        return None

    world.universe.fault = fault
    await trio.sleep(61)
    await manager.removal.remove_due()

    assert removed
    assert manager.directories[0].offline is None


async def test_file_that_appears_during_the_removal_is_removed(autojump_clock, world):
    manager, _, root, name = await deleted_log(world)
    folder, late = root.directory(name), []

    def fault(machine, call, target):
        if call == "unlink" and target.endswith(".log") and not late:
            late.append(target)
            folder.create("late.cleaned").close()

    world.universe.fault = fault
    await trio.sleep(61)
    await manager.removal.remove_due()

    assert late
    assert name not in root.names()
    assert manager.directories[0].offline is None


async def test_folder_inside_a_deleted_log_is_kept_and_logged(autojump_clock, world, caplog):
    manager, _, root, name = await deleted_log(world)
    await fill(root.directory(name).directory("notes", create=True), {"today": b"x"})

    await trio.sleep(61)
    await manager.removal.remove_due()

    assert root.directory(name).directory("notes").names() == ["today"]
    assert "deleted partition not removed" in caplog.text
    assert manager.directories[0].offline is None


async def test_io_error_during_the_removal_takes_the_directory_offline(autojump_clock, world):
    manager, _, _, name = await deleted_log(world)
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "broken") if call == "unlink" and name in target else None
    )

    await trio.sleep(61)
    await manager.removal.remove_due()

    assert manager.directories[0].offline is not None
