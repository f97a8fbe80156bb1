"""Directories of a real machine."""

import errno
import os
import subprocess
import sys
import threading

import pytest
import trio
import trio.testing

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import storage
from trio_kafka.world.real.storage import RealDirectory, make_directories
from trio_kafka.world.real.volume import Volume


@pytest.fixture
def root(tmp_path):
    return RealDirectory(Volume(SkippingClock(), 1), str(tmp_path))


def test_a_lock_holds_against_another_process(root, tmp_path):
    unlock = root.lock(".lock")
    attempt = [
        sys.executable,
        "-c",
        "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)",
        str(tmp_path / ".lock"),
    ]

    assert subprocess.run(attempt, capture_output=True, check=False).returncode == 1
    unlock()
    assert subprocess.run(attempt, capture_output=True, check=False).returncode == 0


async def test_unlink_removes_a_symbolic_link_and_not_its_directory(root, tmp_path):
    root.directory("sub", create=True).create("f").close()
    os.symlink(tmp_path / "sub", tmp_path / "link")

    await root.unlink("link")

    assert root.names() == ["sub"]


def test_only_a_regular_file_is_opened(root, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/dev/zero", tmp_path / "device")
    before = len(os.listdir("/proc/self/fd"))

    for name in ("pipe", "device"):
        with pytest.raises(OSError, match=rf"not a regular file: '.*/{name}'"):
            root.open(name)

    assert len(os.listdir("/proc/self/fd")) == before


def test_symbolic_link_to_a_missing_file_is_no_file_not_found_error(root, tmp_path):
    os.symlink("nothing", tmp_path / "link")

    with pytest.raises(OSError, match=r"a symbolic link to a missing file: '.*/link'") as caught:
        root.open("link")

    assert not isinstance(caught.value, FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        root.open("nothing")


async def test_a_failed_open_leaks_no_descriptor(root, tmp_path, monkeypatch):
    root.create("a").close()
    before = len(os.listdir("/proc/self/fd"))

    def fail(fd):
        raise OSError("disk")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", fail)
        with pytest.raises(OSError, match="disk"):
            root.open("a")

    assert len(os.listdir("/proc/self/fd")) == before


async def test_sync_of_a_directory_calls_fsync_on_the_directory(root, tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))

    await root.sync()

    assert synced == [str(tmp_path)]


async def test_sync_together_syncs_files_then_inner_directories_then_the_directory_itself(
    root, tmp_path, monkeypatch
):
    synced = []
    for call in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, call, lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    inside = [(root.directory(name, create=True), name.upper().encode()) for name in "xy"]

    await root.sync_together("f", inside)

    assert synced == [str(tmp_path / name) for name in ("x/f", "y/f", "x", "y", "")]


async def test_sync_together_makes_files_of_equal_content_hard_links_where_possible(
    root, tmp_path, monkeypatch
):
    inside = [(root.directory(name, create=True), b"same") for name in "xy"]

    await root.sync_together("f", inside)
    assert os.path.samefile(tmp_path / "x" / "f", tmp_path / "y" / "f")

    def refuse(there, at):
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    await root.sync_together("f", inside)
    assert not os.path.samefile(tmp_path / "x" / "f", tmp_path / "y" / "f")
    assert (tmp_path / "y" / "f").read_bytes() == b"same"


async def test_failed_sync_together_leaks_no_descriptor(root, monkeypatch):
    before = os.listdir("/proc/self/fd")

    def fail(fd):
        raise OSError(errno.EIO, "EIO")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(OSError, match="EIO"):
        await root.sync_together("f", [(root.directory("x", create=True), b"1")])

    assert os.listdir("/proc/self/fd") == before


def test_parent_of_each_created_directory_is_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(storage, "sync_directory", synced.append)

    make_directories(f"{tmp_path}/a/b")
    make_directories(f"{tmp_path}/a/b")

    assert os.path.isdir(tmp_path / "a" / "b")
    assert synced == [str(tmp_path), f"{tmp_path}/a"]


async def test_directory_and_its_subdirectories_share_a_thread_limiter(root):
    inside = root.directory("sub", create=True)
    limiter = root._volume.limiter
    assert limiter.total_tokens == 1

    inside.resize(3)

    assert limiter.total_tokens == 3
    assert await inside.names_slow() == []


async def test_descriptors_of_files_and_locks_are_counted_until_their_last_lease_ends(tmp_path):
    volume = Volume(SkippingClock(), 1)
    root, descriptors = RealDirectory(volume, str(tmp_path)), volume.descriptors
    unlock, file, slow = root.lock(".lock"), root.create("a"), await root.create_slow("b")
    lease = file.lease(0)
    assert (descriptors.files, descriptors.others) == (2, 1)

    for _ in range(2):
        file.close()
        slow.close()
        unlock()
    assert (descriptors.files, descriptors.others) == (1, 0)
    lease.release()

    assert descriptors.files == 0


async def test_sync_together_of_many_files_has_at_most_16_files_open(root, monkeypatch):
    open_now, most = [], []
    create, sync = storage._create_whole, storage._sync_files

    def count_open(*arguments):
        open_now.append(1)
        most.append(len(open_now))
        return create(*arguments)

    def count_closed(descriptors):
        sync(descriptors)
        open_now.clear()

    monkeypatch.setattr(storage, "_create_whole", count_open)
    monkeypatch.setattr(storage, "_sync_files", count_closed)
    inside = [(root.directory(f"t-{n}", create=True), f"{n}".encode()) for n in range(50)]

    await root.sync_together("name", inside)

    assert max(most) == 16
    assert len(most) == 50
    assert all(directory.names() == ["name"] for directory, _ in inside)


@pytest.mark.parametrize("call", ["unlink", "create_slow"])
async def test_call_that_waits_for_a_thread_changes_its_directory_after_a_rename(
    root, tmp_path, call
):
    before = root.directory("a", create=True)
    before.create("kept").close()
    name = {"unlink": "kept", "create_slow": "new"}[call]
    go_on = threading.Event()

    async def perform() -> None:
        created = await getattr(before, call)(name)
        if created is not None:
            created.close()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(root._volume.run, go_on.wait)  # takes the only thread
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(perform)
        await trio.testing.wait_all_tasks_blocked()
        root.move(before, "b")
        after = root.directory("a", create=True)
        after.create("kept").close()
        go_on.set()

    assert after.names() == ["kept"]
    assert before.names() == ([] if call == "unlink" else ["kept", "new"])


async def test_unlink_without_a_free_descriptor_uses_the_path(root, tmp_path, monkeypatch):
    root.create("a").close()

    def exhausted(*_):
        raise OSError(errno.EMFILE, "no descriptor")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", exhausted)
        await root.unlink("a")

    assert root.names() == []


def test_private_directory_is_for_its_user_alone(root, tmp_path):
    root.directory("shared", create=True)
    root.directory("private", create=True, private=True)

    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in root.names()}
    assert modes["private"] == 0o700
    assert modes["shared"] & 0o055
