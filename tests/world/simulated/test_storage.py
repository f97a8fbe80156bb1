"""Simulated directories across lives."""

import pytest

from trio_kafka.testing.simulation import run_simulated


def test_locks_end_with_the_crash_of_their_machine():
    async def main(universe):
        world = universe.machine("m")
        world.directory("/d", create=True).lock(".lock")
        world.crash(power=False)
        universe.machine("m").directory("/d").lock(".lock")

    run_simulated(main)


def test_top_directory_survives_a_power_loss_and_an_unsynced_subdirectory_may_not():
    async def main(universe):
        world = universe.machine("m")
        world.directory("/data/a", create=True).directory("t-0", create=True)
        world.crash(kept=0.0)
        return universe.machine("m").directory("/data/a").names()

    assert run_simulated(main) == []


def test_only_names_from_before_the_start_of_a_directory_sync_are_durable():
    async def main(universe):
        world = universe.machine("m")
        root = world.directory("/d", create=True)
        root.create("before")
        universe.at(1e-4, lambda: root.create("after"))
        await root.sync()
        assert root.names() == ["after", "before"]
        world.crash(kept=0.0)
        return universe.machine("m").directory("/d").names()

    assert run_simulated(main) == ["before"]


def test_a_file_does_not_replace_a_directory_nor_a_directory_a_file():
    async def main(universe):
        root = universe.machine("m").directory("/d", create=True)
        root.create("file")
        root.directory("sub", create=True)
        with pytest.raises(IsADirectoryError):
            root.rename("file", "sub")
        with pytest.raises(NotADirectoryError):
            root.rename("sub", "file")
        root.rename("file", "file")
        return root.names()

    assert run_simulated(main) == ["file", "sub"]
