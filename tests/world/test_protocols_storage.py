"""The contract of directories, files and leases, on both worlds."""

import errno
from contextlib import suppress

import pytest
import trio

from trio_kafka.world.protocols import PIECE, ColdRangeError, RangeCutError


async def test_appends_go_to_the_end_and_are_read_back(worlds, clock):
    file = worlds.create("a")

    assert file.append([b"abc", memoryview(b"de")]) == 0
    assert file.append([bytearray(b"fgh")]) == 5
    assert await file.append_slow([b"i"]) == 8
    assert file.append([]) == 9
    assert file.size == 9
    await file.sync()

    buffer = bytearray(20)
    assert await file.read(1, buffer) == 8
    assert buffer[:8] == b"bcdefghi"
    assert file.try_read(4, buffer) == 5
    assert buffer[:5] == b"efghi"
    assert file.try_read(9, buffer) == 0
    assert await file.read(100, buffer) == 0


async def test_append_of_more_buffers_than_a_system_call_takes_is_complete(worlds, clock):
    file = worlds.create("a")

    file.append([b"%04d" % number for number in range(3000)])

    buffer = bytearray(file.size + 1)
    assert await file.read(0, buffer) == file.size == 12_000
    assert buffer[-5:-1] == b"2999"


async def test_reopened_file_has_its_size_and_appends_at_its_end(worlds, clock):
    worlds.create("a", b"123").close()

    file = worlds.closed_at_the_end(worlds.root.open("a"))

    assert file.size == 3
    assert file.append([b"4"]) == 3


async def test_cold_bytes_are_refused_and_read_in_a_thread(worlds, clock):
    file = worlds.create("a", b"x" * 20_000)
    await file.sync()
    buffer = bytearray(20_000)

    worlds.chill(file)

    with pytest.raises(BlockingIOError):
        file.try_read(0, buffer)
    assert await file.read(0, buffer) == 20_000
    assert file.try_read(0, buffer) == 20_000


async def test_cold_bytes_of_a_lease_are_refused_and_read_in_a_thread(worlds, clock):
    file = worlds.create("a", b"x" * 20_000)
    await file.sync()
    worlds.chill(file)
    lease, buffer = file.lease(15_000), bytearray(20_000)

    with pytest.raises(BlockingIOError):
        lease.try_read(5000, buffer)
    assert await lease.read(0, 20_000) == b"x" * 15_000
    assert lease.try_read(5000, buffer) == 10_000
    assert lease.try_read(15_000, buffer) == 0
    lease.release()


async def test_a_large_range_is_sent_only_if_its_last_byte_is_cached(worlds, clock):
    near, _ = await worlds.pair()
    size = 1 << 20
    file = worlds.create("a", bytes(size))
    await file.sync()
    worlds.chill(file, 4096)
    lease = file.lease(size)

    assert lease.is_cold(0, size)
    with pytest.raises(ColdRangeError):  # another byte: the system reads the one before by now
        near.send_file_range(lease, 0, size // 2)
    assert near.send_file_range(lease, 0, 4096) == 4096

    await lease.read(0, size)
    assert not lease.is_cold(0, size)
    assert near.send_file_range(lease, 0, size)
    lease.release()


async def test_a_lease_may_be_released_while_a_thread_reads_from_it(worlds, clock):
    file = worlds.create("a", b"x" * 20_000)
    lease = file.lease(20_000)
    contents = []

    async def read():
        contents.append(await lease.read(0, 20_000))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        for _ in range(2):  # the read has begun
            await trio.lowlevel.checkpoint()
        lease.release()
        file.close()

    assert contents == [b"x" * 20_000]
    with pytest.raises(OSError) as caught:
        lease.try_read(0, bytearray(1))
    assert caught.value.errno == errno.EBADF


async def test_a_lease_of_a_closed_file_is_read_in_a_thread_only(worlds, clock):
    file = worlds.create("a", b"0123456789")
    lease = file.lease(10)
    file.close()

    with pytest.raises(BlockingIOError):
        lease.try_read(0, bytearray(10))
    assert await lease.read(2, 100) == b"23456789"
    lease.release()


async def test_try_read_of_partly_cold_bytes_is_short_before_the_end_of_the_file(worlds, clock):
    file = worlds.create("a", b"x" * (4 << 20))
    await file.sync()
    worlds.chill(file, 4096)
    buffer = bytearray(4 << 20)

    result = file.try_read(0, buffer)

    assert 0 < result < file.size
    assert await file.read(0, buffer) == 4 << 20


async def test_truncation_cuts_the_end_and_the_next_append_begins_there(worlds, clock):
    file = worlds.create("a", b"abcdef")

    file.truncate(2)

    assert file.size == 2
    assert file.append([b"z"]) == 2
    buffer = bytearray(10)
    assert await file.read(0, buffer) == 3
    assert buffer[:3] == b"abz"
    with pytest.raises(ValueError, match="cannot cut"):
        file.truncate(4)


async def test_modification_time_of_a_file_is_the_time_of_its_last_write(worlds, clock):
    file = worlds.create("a", b"1")
    written = file.modified_ms()
    assert abs(written - worlds.here.clock.wall() * 1000) < 10_000

    file.set_modified_ms(written - 60_000)

    again = worlds.closed_at_the_end(worlds.root.open("a"))
    await again.read(0, bytearray(1))
    assert file.modified_ms() == again.modified_ms() == written - 60_000
    file.append([b"2"])
    assert written - 100 <= again.modified_ms() < written + 10_000
    file.set_modified_ms(written - 60_000)
    file.truncate(1)
    assert written - 100 <= again.modified_ms() < written + 10_000


async def test_a_closed_file_refuses_every_call(worlds, clock):
    file = worlds.create("a", b"abc")
    other = worlds.create("b", b"bbb")  # may get the number of the first one
    file.close()
    file.close()
    buffer = bytearray(3)

    for call in (
        lambda: file.append([b"x"]),
        lambda: file.try_read(0, buffer),
        lambda: file.truncate(0),
        lambda: file.lease(1),
        file.modified_ms,
        lambda: file.set_modified_ms(0),
    ):
        with pytest.raises(OSError) as caught:
            call()
        assert caught.value.errno == errno.EBADF
    for wait in (lambda: file.read(0, buffer), lambda: file.append_slow([b"x"]), file.sync):
        with pytest.raises(OSError) as caught:
            await wait()
        assert caught.value.errno == errno.EBADF
    assert other.size == 3


async def test_directory_names_are_sorted_and_errors_are_the_errors_of_the_system(worlds, clock):
    for name in ("b", "a"):
        worlds.create(name)
    worlds.root.directory("sub", create=True)

    assert worlds.root.names() == ["a", "b", "sub"]
    assert worlds.root.exists("a")
    assert worlds.root.exists("sub")
    assert not worlds.root.exists("c")
    with pytest.raises(FileExistsError):
        worlds.root.create("b")
    with pytest.raises(FileNotFoundError):
        worlds.root.open("c")
    with pytest.raises(IsADirectoryError):
        worlds.root.open("sub")
    with pytest.raises(FileNotFoundError):
        worlds.root.rename("c", "d")
    with pytest.raises(FileNotFoundError):
        await worlds.root.unlink("c")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "a\0b"])
async def test_directory_calls_refuse_names_that_lead_to_another_directory(worlds, clock, name):
    for call in (worlds.root.create, worlds.root.open, worlds.root.directory, worlds.root.exists):
        with pytest.raises(ValueError, match="want one without slashes"):
            call(name)


async def test_rename_replaces_the_target_and_open_files_stay_usable(worlds, clock):
    old, replaced = worlds.create("a", b"a"), worlds.create("b", b"b")

    worlds.root.rename("a", "b")
    old.append([b"+"])

    assert worlds.root.names() == ["b"]
    buffer = bytearray(3)
    result = worlds.closed_at_the_end(worlds.root.open("b"))
    assert await result.read(0, buffer) == 2
    assert buffer[:2] == b"a+"
    assert await replaced.read(0, buffer) == 1
    assert buffer[:1] == b"b"


async def test_directory_rename_keeps_its_files_and_is_refused_over_a_full_directory(worlds, clock):
    for name in ("old", "full"):
        worlds.root.directory(name, create=True).create("f").close()
    worlds.root.directory("empty", create=True)

    with pytest.raises(OSError) as caught:
        worlds.root.rename("old", "full")
    worlds.root.rename("old", "empty")

    assert caught.value.errno == errno.ENOTEMPTY
    assert worlds.root.names() == ["empty", "full"]
    assert worlds.root.directory("empty").names() == ["f"]


async def test_unlink_removes_files_and_empty_directories_only(worlds, clock):
    sub = worlds.root.directory("sub", create=True)
    sub.create("f").close()

    with pytest.raises(OSError) as caught:
        await worlds.root.unlink("sub")
    await sub.unlink("f")
    await worlds.root.unlink("sub")
    await worlds.root.sync()

    assert caught.value.errno == errno.ENOTEMPTY
    assert worlds.root.names() == []


async def test_missing_directories_are_created_only_with_create(worlds, clock):
    with pytest.raises(FileNotFoundError):
        worlds.root.directory("sub")
    with pytest.raises(FileNotFoundError):
        worlds.here.directory(f"{worlds.path}/x/y")
    worlds.create("file").close()
    for create in (False, True):
        with pytest.raises(NotADirectoryError):
            worlds.root.directory("file", create=create)
        with pytest.raises(NotADirectoryError):
            worlds.here.directory(f"{worlds.path}/file", create=create)
        with pytest.raises(NotADirectoryError):
            worlds.here.directory(f"{worlds.path}/file/below", create=create)

    sub = worlds.root.directory("sub", create=True)
    again = worlds.root.directory("sub", create=True)
    deep = worlds.here.directory(f"{worlds.path}/x/y", create=True)

    sub.create("f").close()
    assert again.names() == ["f"]
    assert sub.path == f"{worlds.path}/sub"
    assert deep.path == f"{worlds.path}/x/y"
    assert worlds.root.directory("x").names() == ["y"]


async def test_lock_of_a_directory_is_exclusive_and_released_only_once(worlds, clock):
    unlock = worlds.root.lock(".lock")
    with pytest.raises(BlockingIOError):
        worlds.root.lock(".lock")

    unlock()
    unlock_again = worlds.root.lock(".lock")
    unlock()

    with pytest.raises(BlockingIOError):
        worlds.root.lock(".lock")
    unlock_again()
    assert worlds.root.names() == [".lock"]


async def test_lease_is_cut_by_a_truncation_below_its_end_though_the_file_grows_again(
    worlds, clock
):
    near, _far = await worlds.pair()
    file = worlds.create("a", b"0123456789")
    whole, start = file.lease(10), file.lease(4)

    file.truncate(6)
    file.append([b"XXXXXX"])

    assert (whole.cut, start.cut) == (True, False)
    assert (whole.end, start.end) == (10, 4)
    with pytest.raises(RangeCutError):
        near.send_file_range(whole, 0, 100)
    later = file.lease(12)
    assert not later.cut
    for lease in (whole, start, later):
        lease.release()


async def test_a_file_is_leased_until_its_last_lease_ends(worlds, clock):
    file = worlds.create("a", b"0123456789")
    assert not file.leased

    leases = file.lease(4), file.lease(4)

    assert file.leased
    leases[0].release()
    assert file.leased
    leases[1].release()
    assert not file.leased


async def test_a_leased_range_outlives_unlink_and_close(worlds, clock):
    near, far = await worlds.pair()
    file = worlds.create("a", b"0123456789")
    lease = file.lease(4)

    await worlds.root.unlink("a")
    file.close()
    worlds.create("b", b"another file")

    assert near.send_file_range(lease, 1, 2) == 2
    assert near.send_file_range(lease, 3, 100) == 1
    assert await worlds.receive(far, 3) == b"123"
    lease.release()
    lease.release()


async def test_file_range_longer_than_the_socket_buffer_is_sent_in_parts(worlds, clock):
    near, far = await worlds.pair()
    size = 16 << 20
    file = worlds.create("a", bytes(size))
    lease = file.lease(size)

    sent = near.send_file_range(lease, 0, size)
    assert 0 < sent < size
    with suppress(BlockingIOError):
        while True:
            sent += near.send_file_range(lease, sent, size)

    assert await worlds.receive(far, sent) == bytes(sent)
    lease.release()


async def test_cancelled_sync_and_cancelled_slow_append_complete(worlds, clock):
    file = worlds.create("a", b"1")

    with trio.CancelScope() as scope:
        scope.cancel()
        await file.append_slow([b"2"])
    with trio.CancelScope() as scope:
        scope.cancel()
        await file.sync()

    assert file.size == 2


async def test_a_slow_append_takes_buffers_of_all_kinds(worlds, clock):
    file = worlds.create("a", b"1")

    assert await file.append_slow([b"2", memoryview(b"34"), bytearray(b"5")]) == 1

    buffer = bytearray(10)
    assert file.size == 5
    assert bytes(buffer[: file.try_read(0, buffer)]) == b"12345"


LARGE = b"".join(number.to_bytes(4, "big") for number in range(PIECE // 2))  # two pieces


@pytest.mark.parametrize(
    ("size", "times"), [(0, 0), (1, 0), (PIECE, 0), (PIECE + 1, 1), (2 * PIECE, 1)]
)
async def test_size_of_a_file_grows_when_all_pieces_of_an_append_are_written(
    worlds, clock, size: int, times: int
):
    file, sizes = worlds.create("a", b"123"), []

    assert file.append_in_pieces(memoryview(LARGE)[:size], lambda: sizes.append(file.size)) == 3

    assert sizes == [3] * times
    assert file.size == 3 + size
    buffer = bytearray(2 * PIECE + 10)
    assert await file.read(3, buffer) == size
    assert buffer[:size] == LARGE[:size]
    assert file.append([b"4"]) == 3 + size


async def test_append_in_pieces_that_raises_between_pieces_leaves_no_bytes(worlds, clock):
    file = worlds.create("a", b"123")

    def between() -> None:
        raise KeyError("of others")

    with pytest.raises(KeyError, match="of others"):
        file.append_in_pieces(LARGE, between)

    assert file.size == 3
    assert worlds.closed_at_the_end(worlds.root.open("a")).size == 3
    assert file.append([b"4"]) == 3


async def test_append_in_pieces_to_a_file_closed_between_pieces_raises_ebadf(worlds, clock):
    file = worlds.create("a", b"123")

    with pytest.raises(OSError, match=r"[Bb]ad file|closed") as caught:
        file.append_in_pieces(LARGE, file.close)

    assert caught.value.errno == errno.EBADF
    with pytest.raises(OSError, match=r"[Bb]ad file|closed"):
        file.append_in_pieces(LARGE, lambda: None)


async def test_names_slow_gives_the_same_names_as_names(worlds, clock):
    for name in ("b", "a", "c"):
        worlds.create(name)

    assert await worlds.root.names_slow() == worlds.root.names() == ["a", "b", "c"]


async def test_create_slow_creates_a_file_with_its_content(worlds, clock):
    root = worlds.root
    buffer = bytearray(10)

    file = worlds.closed_at_the_end(await root.create_slow("a", memoryview(b"123")))

    assert file.size == 3
    assert file.append([b"4"]) == 3
    assert await file.read(0, buffer) == 4
    assert buffer[:4] == b"1234"
    assert worlds.closed_at_the_end(await root.create_slow("empty")).size == 0
    with pytest.raises(FileExistsError):
        await root.create_slow("a", b"other")
    assert worlds.closed_at_the_end(root.open("a")).size == 4


async def test_create_slow_with_replace_replaces_an_existing_file(worlds, clock):
    worlds.create("a", b"1" * 100)
    buffer = bytearray(10)

    file = worlds.closed_at_the_end(await worlds.root.create_slow("a", b"23", replace=True))
    await file.sync()

    again = worlds.closed_at_the_end(worlds.root.open("a"))
    assert await again.read(0, buffer) == 2
    assert buffer[:2] == b"23"


async def test_cancelled_create_slow_completes(worlds, clock):
    with trio.CancelScope() as scope:
        scope.cancel()
        file = worlds.closed_at_the_end(await worlds.root.create_slow("a", b"12"))

    again = worlds.closed_at_the_end(worlds.root.open("a"))
    assert file.size == again.size == 2


async def test_read_that_is_cancelled_before_its_start_is_not_done(worlds, clock):
    file = worlds.create("a", b"1")
    buffer = bytearray(1)

    with trio.move_on_after(0) as scope:
        await file.read(0, buffer)

    assert scope.cancelled_caught
    assert buffer == b"\0"


async def test_sync_together_writes_the_file_of_each_directory(worlds, clock):
    x, y, z, there = (worlds.root.directory(name, create=True) for name in ("x", "y", "z", "there"))
    there.create("f").close()
    of_one_content = [(x, b"1"), (y, b"1")]

    await worlds.root.sync_together("f", [*of_one_content, (z, b"22"), (there, b"")])

    assert [await content_of(worlds, file_name) for file_name in (x, y, z, there)] == [
        b"1",
        b"1",
        b"22",
        b"",
    ]


async def test_repeated_sync_together_replaces_the_files(worlds, clock):
    inside = [worlds.root.directory(name, create=True) for name in ("x", "y")]
    await worlds.root.sync_together("f", [(file_name, b"before") for file_name in inside])
    held = worlds.closed_at_the_end(inside[0].open("f"))

    with trio.CancelScope() as scope:
        scope.cancel()
        await worlds.root.sync_together("f", [(file_name, b"now") for file_name in inside])

    assert [await content_of(worlds, file_name) for file_name in inside] == [b"now", b"now"]
    assert held.size == len(b"before")  # what had the name is another file, and as it was


async def content_of(worlds, directory):
    file = worlds.closed_at_the_end(directory.open("f"))
    content = bytearray(file.size)
    await file.read(0, content)
    return bytes(content)


async def test_sync_together_names_a_missing_directory_in_its_error(worlds, clock):
    gone = worlds.root.directory("gone", create=True)
    here = worlds.root.directory("here", create=True)

    await worlds.root.unlink("gone")

    for inside in ([(here, b"1"), (gone, b"1")], [(gone, b"1"), (here, b"1")], [(gone, b"")]):
        with pytest.raises(FileNotFoundError, match="gone"):
            await worlds.root.sync_together("f", inside)


async def test_sync_together_finds_directories_by_their_names(worlds, clock):
    before = worlds.root.directory("x", create=True)
    worlds.root.rename("x", "y")
    now = worlds.root.directory("x", create=True)

    await worlds.root.sync_together("f", [(before, b"1")])

    assert (now.names(), worlds.root.directory("y").names()) == (["f"], [])


async def test_create_of_a_directory_keeps_an_existing_directory_and_refuses_a_file(worlds, clock):
    worlds.root.directory("d", create=True).create("a").close()
    worlds.create("file")

    assert worlds.root.directory("d", create=True).names() == ["a"]
    with pytest.raises(NotADirectoryError):
        worlds.root.directory("file", create=True)


async def length_of(worlds, name):
    other = worlds.closed_at_the_end(worlds.root.open(name))
    return other.size


async def test_reserved_file_is_long_for_other_readers_and_as_written_for_its_owner(worlds, clock):
    file = worlds.create("a")
    file.append([b"12345"])
    file.reserve(1000)
    buffer = bytearray(10)

    assert file.size == 5
    assert file.append([b"67"]) == 5
    assert file.try_read(0, buffer) == 7
    assert file.try_read(6, buffer) == 1
    assert file.try_read(7, buffer) == 0
    assert await file.read(3, bytearray(100)) == 4
    assert await length_of(worlds, "a") == 1000


@pytest.mark.parametrize("ends", ["trim", "truncate", "close"])
async def test_reserved_space_is_released_by_trim_truncate_and_close(worlds, clock, ends):
    file = worlds.create("a")
    file.reserve(1000)
    file.reserve(2000)
    file.append([b"12345"])

    if ends == "truncate":
        file.truncate(5)
    else:
        getattr(file, ends)()

    assert await length_of(worlds, "a") == 5


async def test_a_directory_knows_the_space_of_its_file_system(worlds, clock):
    space = await worlds.root.space()

    assert space.total >= space.usable > 0


async def test_absolute_path_makes_a_path_absolute(worlds, clock):
    assert worlds.here.absolute_path(worlds.path) == worlds.path
    assert worlds.here.absolute_path(f"{worlds.path}/") == worlds.path
    assert worlds.here.absolute_path("data")[0] == "/"


async def test_moved_directory_stays_usable_under_its_new_name(worlds, clock):
    inside = worlds.root.directory("old", create=True)
    file = worlds.closed_at_the_end(inside.create("a"))
    file.append([b"abc"])

    worlds.root.move(inside, "new")

    assert inside.path == f"{worlds.root.path}/new"
    assert "old" not in worlds.root.names()
    file.append([b"de"])
    assert worlds.closed_at_the_end(inside.open("a")).size == 5
    inside.create("b").close()
    assert worlds.root.directory("new").names() == ["a", "b"]
    await inside.sync()


async def test_sync_all_syncs_the_files_of_a_directory_at_once(worlds, clock):
    inside = worlds.root.directory("d", create=True)
    file = inside.create("closed")
    file.append([b"1"])
    file.close()

    done = await worlds.root.sync_all([inside])

    assert done in (True, False)  # False: an old system, or not this one
    assert inside.names() == ["closed"]
