"""Open files of a real machine: failures, descriptors, and reads that cannot be refused."""

import errno
import gc
import os
import threading
from contextlib import suppress

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.world.conftest import chill_real
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import file as file_module
from trio_kafka.world.real.storage import RealDirectory
from trio_kafka.world.real.volume import Volume
from trio_kafka.world.recent_writes import WINDOW


def directory(path, **options):
    return RealDirectory(Volume(SkippingClock(), 1, **options), str(path))


@pytest.fixture
def file(tmp_path):
    file = directory(tmp_path).create("a")
    yield file
    file.close()


def failing(number):
    def call(*_):
        raise OSError(number, os.strerror(number))

    return call


ONE_OR_MORE = pytest.mark.parametrize("buffers", [[b"abcdef"], [b"abc", b"def"]])


def write_short(monkeypatch, taken=2):
    """The first call takes so many bytes, whichever it is."""
    write = os.pwrite
    monkeypatch.setattr(file_module, "_pwrite", lambda fd, data, at: write(fd, data[:taken], at))
    monkeypatch.setattr(
        file_module, "_pwritev", lambda fd, some, at: write(fd, b"".join(some)[:taken], at)
    )


@ONE_OR_MORE
def test_a_short_write_is_completed(file, monkeypatch, buffers):
    write_short(monkeypatch)

    assert file.append(buffers) == 0

    buffer = bytearray(10)
    assert file.try_read(0, buffer) == 6
    assert buffer[:6] == b"abcdef"


@ONE_OR_MORE
def test_partial_append_that_fails_is_truncated(file, monkeypatch, tmp_path, buffers):
    file.append([b"before"])
    write_short(monkeypatch)
    monkeypatch.setattr(os, "pwrite", failing(errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        file.append(buffers)
    monkeypatch.undo()

    assert file.size == 6
    assert (tmp_path / "a").stat().st_size == 6
    assert file.append([b"+"]) == 6


async def test_append_that_cannot_be_truncated_after_a_failure_breaks_the_file(file, monkeypatch):
    monkeypatch.setattr(file_module, "_pwrite", failing(errno.EIO))
    monkeypatch.setattr(os, "ftruncate", failing(errno.EIO))
    with pytest.raises(OSError):
        file.append([b"abc"])
    monkeypatch.undo()

    await check_broken(file)


async def test_failed_sync_breaks_the_file(file, monkeypatch):
    file.append([b"abc"])
    monkeypatch.setattr(os, "fdatasync", failing(errno.EIO))
    with pytest.raises(OSError):
        await file.sync()
    monkeypatch.undo()

    await check_broken(file)


async def check_broken(file):
    buffer = bytearray(1)
    for call in (
        lambda: file.append([b"x"]),
        lambda: file.try_read(0, buffer),
        lambda: file.truncate(0),
        lambda: file.lease(0),
    ):
        with pytest.raises(OSError, match="broken before"):
            call()
    for wait in (lambda: file.read(0, buffer), lambda: file.append_slow([b"x"]), file.sync):
        with pytest.raises(OSError, match="broken before") as caught:
            await wait()
        assert caught.value.errno == errno.EIO


def test_descriptor_is_closed_with_the_last_lease(file):
    file.append([b"abc"])
    first, last = file.lease(1), file.lease(2)

    file.close()
    first.release()
    assert os.pread(last.key, 3, 0) == b"abc"

    last.release()
    with pytest.raises(OSError):
        os.fstat(last.key)


async def test_a_file_is_leased_while_a_read_waits_for_a_thread(file):
    file.append([b"abc"])
    limiter, other = file._volume.limiter, object()
    await limiter.acquire_on_behalf_of(other)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(file.read, 0, bytearray(3))
        await wait_all_tasks_blocked()
        assert file.leased
        limiter.release_on_behalf_of(other)

    assert not file.leased


async def test_short_read_of_the_system_is_continued(file, monkeypatch):
    content = bytes(range(100))
    file.append([content])
    preadv = os.preadv

    def short(fd, buffers, position):
        return preadv(fd, (buffers[0][:30],), position)

    monkeypatch.setattr(file_module, "_preadv", short)
    buffer = bytearray(110)

    assert await file.read(0, buffer) == 100
    assert buffer[:100] == content


async def test_file_closed_during_a_sync_keeps_its_descriptor_until_the_sync_ends(
    file, monkeypatch, nursery
):
    begun, gate, seen = threading.Event(), threading.Event(), []

    def sync(fd):
        begun.set()
        gate.wait()
        seen.append(os.fstat(fd).st_size)

    monkeypatch.setattr(os, "fdatasync", sync)
    file.append([b"abc"])
    nursery.start_soon(file.sync)
    with trio.fail_after(30):
        while not begun.is_set():
            await trio.sleep(0.001)

    file.close()
    gate.set()
    with trio.fail_after(30):
        while not seen:
            await trio.sleep(0.001)

    assert seen == [3]


def test_try_read_without_nowait_support_reads_only_recently_written_bytes(tmp_path):
    (tmp_path / "old").write_bytes(b"x" * 100)
    root = directory(tmp_path, nowait=False)
    old = root.open("old")
    buffer = bytearray(100)
    with pytest.raises(BlockingIOError):
        old.try_read(0, buffer)
    assert old.try_read(100, buffer) == 0

    old.append([b"new"])
    assert old.try_read(100, buffer) == 3
    with pytest.raises(BlockingIOError):
        old.try_read(99, buffer)
    old.truncate(50)
    with pytest.raises(BlockingIOError):
        old.try_read(49, buffer)
    old.append([b"again"])
    assert old.try_read(50, buffer) == 5
    old.close()


@pytest.mark.slow
def test_writes_to_other_files_make_bytes_cold_without_nowait_support(tmp_path):
    root = directory(tmp_path, nowait=False)
    first, second = root.create("a"), root.create("b")
    first.append([b"abc"])
    buffer = bytearray(3)
    assert first.try_read(0, buffer) == 3

    second.append([bytes(WINDOW)])

    with pytest.raises(BlockingIOError):
        first.try_read(0, buffer)
    assert second.try_read(0, buffer) == 3
    first.close()
    second.close()


def test_try_read_in_a_worker_process_blocks(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 100)
    root = directory(tmp_path, nowait=False, blocking=True)

    file = root.open("a")

    assert file.try_read(0, bytearray(100)) == 100
    file.close()


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="no tmpfs here")
async def test_file_calls_work_on_a_memory_file_system():
    name = f"trio-kafka-{os.getpid()}"
    root = directory("/dev/shm")
    with suppress(FileNotFoundError):
        await root.unlink(name)
    file = root.create(name)

    file.append([b"abc"])
    buffer = bytearray(4)
    assert file.try_read(0, buffer) == 3
    assert await file.read(0, buffer) == 3
    await file.sync()

    file.close()
    await root.unlink(name)


async def test_size_of_a_file_grows_when_a_slow_append_returns(file, monkeypatch):
    seen = []
    pwrite = os.pwrite

    def watched(fd, data, position):
        done = pwrite(fd, data[:2], position)  # short, as on a disk that is filling
        seen.append(file.size)
        return done

    monkeypatch.setattr(os, "pwrite", watched)

    assert await file.append_slow([b"abc", b"de"]) == 0

    assert seen == [0, 0, 0]
    assert file.size == 5


async def test_partial_slow_append_that_fails_is_truncated(file, monkeypatch, tmp_path):
    file.append([b"before"])
    monkeypatch.setattr(os, "pwrite", failing(errno.ENOSPC))

    with pytest.raises(OSError) as caught:
        await file.append_slow([b"x"])

    assert caught.value.errno == errno.ENOSPC
    assert file.size == os.path.getsize(tmp_path / "a") == 6
    assert file.append([b"y"]) == 6


@pytest.mark.parametrize("options", [{}, {"blocking": True}], ids=["loop", "blocking"])
@pytest.mark.parametrize("refuses", [True, False])
def test_closed_file_refuses_calls_and_is_in_no_reference_cycle(
    tmp_path, monkeypatch, options, refuses
):
    monkeypatch.setattr(Volume, "can_refuse", lambda *_: refuses)
    file = directory(tmp_path, **options).create("a")
    file.append([b"abc"])

    file.close()

    for call in (lambda: file.append([b"d"]), lambda: file.try_read(0, bytearray(3))):
        with pytest.raises(OSError, match="Bad file descriptor"):
            call()
    assert not [entry for entry in (file.append, file.try_read) if file in gc.get_referents(entry)]


async def test_measure_finds_the_size_of_a_file_that_another_program_truncated(file, tmp_path):
    file.append([bytes(100)])
    (path,) = [entry for entry in tmp_path.rglob("*") if entry.is_file()]
    os.truncate(path, 40)

    assert file.size == 100
    assert file.measure() == file.size == 40
    os.truncate(path, 400)
    assert file.measure() == 40


async def test_a_look_at_a_large_range_holds_while_half_a_mebibyte_of_it_lies_ahead(file):
    size = 1 << 20
    file.append([bytes(size)])
    await file.sync()
    lease = file.lease(size)
    assert not lease.is_cold(0, size)
    chill_real(file)

    assert not lease.is_cold(size // 2, size // 2)
    assert lease.is_cold(size // 2 + 1, size // 2 - 1)

    lease.release()
