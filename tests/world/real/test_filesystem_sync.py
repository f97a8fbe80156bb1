import errno
import os

import pytest

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import filesystem_sync
from trio_kafka.world.real.filesystem_sync import sync_filesystem
from trio_kafka.world.real.storage import RealDirectory
from trio_kafka.world.real.volume import Volume

OTHER = "/dev/shm"


@pytest.fixture
def descriptor(tmp_path):
    result = os.open(tmp_path, os.O_RDONLY)
    yield result
    os.close(result)


@pytest.fixture
def uncached():
    filesystem_sync._syncfs.cache_clear()
    yield
    filesystem_sync._syncfs.cache_clear()


def test_sync_filesystem_succeeds_for_a_directory_of_the_filesystem(descriptor, tmp_path):
    assert sync_filesystem(descriptor, [str(tmp_path)])


@pytest.mark.skipif(not os.path.isdir(OTHER), reason="needs a second filesystem")
def test_sync_filesystem_is_false_for_a_directory_on_another_filesystem(descriptor, tmp_path):
    assert not sync_filesystem(descriptor, [str(tmp_path), OTHER])


def test_sync_filesystem_raises_the_error_of_the_system(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_PATH)  # of which nothing can be synced
    try:
        with pytest.raises(OSError) as caught:
            sync_filesystem(descriptor, [str(tmp_path)])
    finally:
        os.close(descriptor)
    assert caught.value.errno == errno.EBADF


@pytest.mark.parametrize("release", ["5.7.19", "4.18.0-553.el8", "5.x", "next"])
def test_sync_filesystem_is_false_on_kernels_that_report_no_sync_errors(
    descriptor, uncached, monkeypatch, release
):
    real = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((*real[:2], release, *real[3:])))

    assert not sync_filesystem(descriptor, [])


async def test_sync_of_a_locked_directory_uses_the_descriptor_of_its_lock_file(
    tmp_path, monkeypatch
):
    """Opened before all writes, so that no failure of a write is missed."""
    root = RealDirectory(Volume(SkippingClock(), 1), str(tmp_path))
    synced = []
    monkeypatch.setattr(
        "trio_kafka.world.real.storage.sync_filesystem",
        lambda descriptor, paths: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")),
    )

    unlock = root.lock(".lock")
    await root.sync_all(())
    unlock()
    await root.sync_all(())

    assert synced == [str(tmp_path / ".lock"), str(tmp_path)]
