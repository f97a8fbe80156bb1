"""Content that a disk holds and may lose."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.world.simulated.disk import (
    SECTOR,
    DirectoryNode,
    FileNode,
    Link,
    Rename,
    Unlink,
)


def survivors(make, seeds=100, kept=0.5):
    """The contents that a power loss leaves, over many seeds."""
    result = set()
    for seed in range(seeds):
        root = DirectoryNode()
        make(root)
        root.lose_power(Random(seed), kept)
        result.add(tuple(sorted((name, bytes(node.data)) for name, node in root.names.items())))
    return result


def add(root, name, data=b""):
    file = FileNode()
    root.change(Link(name, file))
    file.append(data)
    return file


def test_synced_bytes_without_a_synced_name_may_be_lost():
    def make(root):
        file = add(root, "a", b"x")
        file.sync(file.changes)

    assert survivors(make) == {(), (("a", b"x"),)}


def test_file_with_a_synced_name_may_keep_none_part_or_all_of_its_bytes():
    def make(root):
        add(root, "a", b"x" * 2 * SECTOR)
        root.sync(root.changes)

    half = b"x" * SECTOR
    assert {data for ((_, data),) in survivors(make)} == {
        b"",
        half,
        half + half,
        half + bytes(SECTOR),
        bytes(2 * SECTOR),
    }


def test_lost_write_before_a_kept_write_leaves_zeros():
    def make(root):
        file = add(root, "a", b"one")
        file.append(b"two")
        root.sync(root.changes)

    result = survivors(make)
    assert (("a", bytes(3) + b"two"),) in result
    assert (("a", b"two"),) not in result


def test_changes_after_the_start_of_a_sync_may_be_lost():
    def make(root):
        file = add(root, "a", b"x")
        names, bytes_ = root.changes, file.changes
        file.append(b"y")
        add(root, "b")
        root.sync(names)
        file.sync(bytes_)

    assert survivors(make, kept=0.0) == {(("a", b"x"),), (("a", b"x\0"),)}


def test_truncation_may_be_undone_by_a_power_loss_until_the_file_is_synced():
    def make(root):
        file = add(root, "a", b"abc")
        root.sync(root.changes)
        file.sync(file.changes)
        file.truncate(1)

    assert survivors(make) == {(("a", b"abc"),), (("a", b"a"),)}


def test_rename_is_atomic_and_kept_only_with_earlier_changes():
    def make(root):
        old = add(root, "a", b"old")
        old.sync(old.changes)
        root.sync(root.changes)
        new = add(root, "a.tmp", b"new")
        new.sync(new.changes)
        root.change(Rename("a.tmp", "a"))

    assert survivors(make) == {
        (("a", b"old"),),
        (("a", b"old"), ("a.tmp", b"new")),
        (("a", b"new"),),
    }


def test_unlink_may_be_undone_by_a_power_loss_until_the_directory_is_synced():
    def make(root):
        file = add(root, "a", b"x")
        file.sync(file.changes)
        root.sync(root.changes)
        root.change(Unlink("a"))

    assert survivors(make) == {(), (("a", b"x"),)}


def test_page_cache_is_empty_after_a_power_loss():
    root = DirectoryNode()
    file = add(root, "a", b"x")

    root.lose_power(Random(0), 1.0)

    assert file.cold == 0


@given(
    st.lists(st.one_of(st.binary(max_size=1500), st.integers(0, 3000), st.none()), max_size=20),
    st.integers(),
)
def test_synced_bytes_survive_any_power_loss(steps, seed):
    """Bytes append, a number truncates, None syncs; nothing is cut after the last sync."""
    file = FileNode()
    for step in steps:
        if step is None:
            file.sync(file.changes)
        elif isinstance(step, int):
            file.truncate(min(step, file.size))
        else:
            file.append(step)
    file.sync(file.changes)
    synced = bytes(file.data)
    file.append(b"more")

    file.lose_power(Random(seed), 0.5)

    assert bytes(file.data[: len(synced)]) == synced
