import errno
import os
from functools import partial
from random import Random
from tempfile import TemporaryDirectory

import pytest
import trio
from attrs import evolve

from tests.log.kit import PARTITION, append, batch, new_log, offsets, read, read_all
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.append import append_as_leader, append_in_thread
from trio_kafka.log.durability.sync import close, sync
from trio_kafka.log.files.open_files import SMALLEST, OpenFiles, budget_of
from trio_kafka.log.files.operations import run_now
from trio_kafka.log.read import find_slice, perform_in_threads, read_bytes
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.retention import delete_before
from trio_kafka.log.truncate import truncate_to
from trio_kafka.records.batch import read_header
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.protocols import PIECE
from trio_kafka.world.real import RealWorld

BUDGET = 16
SEGMENTS = 300
SIZE = len(batch())


def directory_of(world, count=8):
    """A directory with the files 0, 1, ...; each holds its name."""
    root = world.directory("/files", create=True)
    for number in range(count):
        file = root.create(str(number))
        file.append([str(number).encode()])
        file.close()
    return root


def get(files, root, *numbers):
    return [files.get(number, root, str(number)) for number in numbers]


async def slice_of(log, offset, size=SIZE, end=SEGMENTS):
    return await perform_in_threads(log, lambda: find_slice(log, offset, size, end_offset=end))


def is_open(file) -> bool:
    try:
        file.lease(0).release()
    except OSError:
        return False
    return True


async def sealed_log(world, files, path="/t-0", segments=SEGMENTS):
    """A durable log with one batch of one record in each segment; the last one is active."""
    log = new_log(world, path, files=files, segment_bytes=SIZE)
    for _ in range(segments + 1):
        append(log, batch())
    await sync(log)
    return log


def opened(files) -> int:
    return files.figures()["open"]


def refuse(world, *names, times=1 << 30, number=errno.EMFILE):
    """No descriptor is left for the files that end with one of `names`; how often it was asked."""
    attempts: list[str] = []

    def fault(machine: str, call: str, target: str) -> OSError | None:
        if call in ("open", "create") and target.endswith(names):
            attempts.append(target)
            if len(attempts) <= times:
                return OSError(number, os.strerror(number))
        return None

    world.universe.fault = fault
    return attempts


def allow(world) -> None:
    world.universe.fault = lambda machine, call, target: None


def test_budget_of_open_files_is_half_of_the_descriptors_and_has_a_minimum():
    assert budget_of(10_000) == 5_000
    assert budget_of(20) == budget_of(-1) == SMALLEST


async def test_the_least_recently_used_file_is_closed(autojump_clock, world):
    root, files = directory_of(world), OpenFiles(2)
    first, second = get(files, root, 0, 1)
    get(files, root, 0)

    (third,) = get(files, root, 2)

    assert [is_open(file) for file in (first, second, third)] == [True, False, True]
    assert files.figures().items() >= {"open": 2, "budget": 2, "evicted": 1}.items()


async def test_an_open_file_is_not_opened_again(autojump_clock, world):
    root, files = directory_of(world), OpenFiles(2)

    first, again = get(files, root, 0, 0)

    assert first is again


async def test_leased_file_stays_open_and_the_next_file_is_closed_instead(autojump_clock, world):
    root, files = directory_of(world), OpenFiles(2)
    first, second = get(files, root, 0, 1)
    lease = first.lease(1)

    (third,) = get(files, root, 2)

    assert [is_open(file) for file in (first, second, third)] == [True, False, True]
    lease.release()


async def test_leased_files_may_exceed_the_budget_until_an_opening_after_their_release(
    autojump_clock, world
):
    root, files = directory_of(world), OpenFiles(2)
    leases = [file.lease(1) for number in range(5) for file in get(files, root, number)]
    assert opened(files) == 5

    (new,) = get(files, root, 5)
    assert is_open(new)
    for lease in leases:
        lease.release()
    get(files, root, 6)

    assert opened(files) == 2


async def test_an_opening_looks_at_a_bounded_number_of_leased_files(autojump_clock, world):
    root, files = directory_of(world, 202), OpenFiles(1)
    files.budget = 200
    leases = [file.lease(1) for number in range(199) for file in get(files, root, number)]
    (idle,) = get(files, root, 199)

    get(files, root, 200)
    assert is_open(idle)
    assert opened(files) == 201
    for _ in range(3):  # each opening looks at the next ones
        files.close(201)
        get(files, root, 201)

    assert not is_open(idle)
    assert len(leases) == 199
    for lease in leases:
        lease.release()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
@pytest.mark.parametrize("call", ["open", "create"])
async def test_files_are_closed_and_the_call_is_repeated_when_no_descriptor_is_free(
    autojump_clock, world, number, call
):
    root, files = directory_of(world), OpenFiles(8)
    held = get(files, root, 0, 1, 2)
    attempts = refuse(world, "/3", "/new", times=1, number=number)

    if call == "open":
        files.open(root, "3").close()
    else:
        run_now(files.create(root, "new")).close()

    assert len(attempts) == 2
    assert not any(is_open(file) for file in held)
    assert files.evicted == 3


async def test_open_without_a_descriptor_raises_a_retriable_error(autojump_clock, world):
    root, files = directory_of(world), OpenFiles(8)
    attempts = refuse(world, "/3")

    with pytest.raises(KafkaError) as caught:
        files.open(root, "3")

    assert caught.value.code is ErrorCode.REPLICA_NOT_AVAILABLE
    assert caught.value.code.retriable
    assert len(attempts) == 2


async def test_other_errors_of_an_open_are_raised_and_close_no_file(autojump_clock, world):
    root, files = directory_of(world), OpenFiles(8)
    held = get(files, root, 0)
    refuse(world, "/3", number=errno.EIO)

    with pytest.raises(OSError, match="error") as caught:
        files.open(root, "3")
    with pytest.raises(FileNotFoundError):
        files.open(root, "missing")

    assert caught.value.errno == errno.EIO
    assert is_open(held[0])


async def test_random_reads_of_many_segments_keep_within_the_budget(autojump_clock, world):
    files = OpenFiles(BUDGET)
    log = await sealed_log(world, files)
    chance = Random(1)

    for _ in range(600):
        offset = chance.randrange(SEGMENTS)
        if chance.random() < 0.5:
            result = read(log, offset, 1 << 20, log.end_offset)
            assert len(result) == SIZE
            result.release()
        else:
            content = await read_bytes(log, offset, SIZE)
            assert int.from_bytes(content[:8], "big") == offset
        assert opened(files) <= BUDGET

    assert files.evicted > 300
    assert log.size == (SEGMENTS + 1) * SIZE
    assert offsets(await read_all(log)) == list(range(SEGMENTS + 1))


async def test_concurrent_cold_reads_succeed_with_a_budget_of_one_file(autojump_clock, world):
    files = OpenFiles(1)
    log = await sealed_log(world, files, segments=40)
    result: list[int] = []
    for segment in log.segments:
        segment.file.chill()

    async def read(offset: int) -> None:
        for number in range(offset, offset + 5):
            content = await read_bytes(log, number, SIZE)
            result.append(int.from_bytes(content[:8], "big"))

    async with trio.open_nursery() as nursery:
        for offset in range(0, 40, 5):
            nursery.start_soon(read, offset)

    assert sorted(result) == list(range(40))
    assert log.failed is None


async def test_append_and_read_at_the_end_open_and_use_no_other_file(autojump_clock, world):
    files = OpenFiles(BUDGET)
    log = await sealed_log(world, files, segments=40)
    before = list(files._files)
    attempts = refuse(world, "")
    log.config = evolve(log.config, segment_bytes=1 << 20)

    append(log, batch())
    read(log, log.end_offset - 1, 1 << 20, log.end_offset).release()

    assert list(files._files) == before
    assert attempts == []


async def test_files_of_a_segment_count_in_the_budget_only_when_durable(autojump_clock, world):
    files = OpenFiles(1)
    log = new_log(world, files=files, segment_bytes=SIZE)
    for _ in range(5):
        append(log, batch())
    owned = [segment.file for segment in log.segments]
    indexes = [segment.offsets.entries._file for segment in list(log.segments)[:-1]]
    assert opened(files) == 0
    assert all(is_open(file) for file in [*owned, *indexes])

    await sync(log)

    assert opened(files) == 1
    assert not any(is_open(file) for file in indexes)
    assert [is_open(file) for file in owned] == [False, False, False, True, True]


async def test_leased_file_stays_open_while_all_other_files_are_closed(autojump_clock, world):
    files = OpenFiles(BUDGET)
    log = await sealed_log(world, files, segments=40)
    held = read(log, 3, SIZE, log.end_offset)
    file = log.segments.at(3).file

    await read_all(log)

    assert is_open(file)
    assert log.segments.at(3).file is file
    held.release()


async def test_truncation_cuts_the_lease_of_a_segment_that_was_used_long_ago(autojump_clock, world):
    files = OpenFiles(2)
    log = new_log(world, files=files, segment_bytes=2 * SIZE)
    for _ in range(40):
        append(log, batch())
    await sync(log)
    held = read(log, 2, 2 * SIZE, log.end_offset)
    assert held.lease.end == 2 * SIZE
    await read_all(log)

    await truncate_to(log, 3)

    assert held.lease.cut
    held.release()


async def test_log_is_truncated_in_a_segment_whose_file_is_closed_and_appended_to(
    autojump_clock, world
):
    files = OpenFiles(4)
    log = await sealed_log(world, files)
    assert 100 not in [segment.base_offset for segment in files._files]

    await truncate_to(log, 100)
    for _ in range(10):
        append(log, batch())
    await sync(log)

    assert offsets(await read_all(log)) == list(range(110))
    assert opened(files) <= 4
    assert log.segments.active not in files._files


async def test_file_of_the_active_segment_is_never_evicted(autojump_clock, world):
    files = OpenFiles(1)
    log = await sealed_log(world, files, segments=40)
    await truncate_to(log, 20)
    active = log.segments.active.file

    await read_all(log)

    assert log.segments.active.file is active
    assert is_open(active)


async def test_segments_whose_files_are_closed_can_be_deleted(autojump_clock, world):
    files = OpenFiles(4)
    log = await sealed_log(world, files)

    assert await delete_before(log, 250, trio.lowlevel.checkpoint) == 250

    assert offsets(await read_all(log)) == list(range(250, SEGMENTS + 1))
    assert len([name for name in log.directory.names() if name.endswith(".log")]) == 51


async def test_deleted_segments_and_logs_keep_no_file_open(autojump_clock, world):
    files = OpenFiles(SEGMENTS * 2)
    log = await sealed_log(world, files, segments=20)
    await read_all(log)

    await delete_before(log, 10, trio.lowlevel.checkpoint)
    assert {segment.base_offset for segment in files._files} == set(range(10, 20))
    log.abandon()

    assert opened(files) == 0


@pytest.mark.parametrize("clean", [True, False])
async def test_load_of_a_log_keeps_within_the_budget_of_open_files(autojump_clock, world, clean):
    log = await sealed_log(world, OpenFiles())
    await close(log)
    files = OpenFiles(4)

    again = await open_log(
        world,
        log.directory,
        PARTITION,
        config=log.config,
        recovery=Recovery(clean=clean),
        files=files,
    )

    assert opened(files) <= 4
    assert offsets(await read_all(again)) == list(range(SEGMENTS + 1))
    assert again.size == log.size


async def test_read_without_a_descriptor_fails_retriably_and_the_log_does_not_fail(
    autojump_clock, world
):
    files = OpenFiles(2)
    log = await sealed_log(world, files, segments=40)
    refuse(world, ".log", ".index")

    for ask in (read, slice_of):
        with pytest.raises(KafkaError, match="REPLICA_NOT_AVAILABLE"):
            result = ask(log, 5, SIZE, log.end_offset)
            await result
    assert log.failed is None
    allow(world)

    assert int.from_bytes((await read_bytes(log, 5, SIZE))[:8], "big") == 5


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".log"])
async def test_a_roll_without_a_descriptor_appends_nothing_and_can_be_repeated(
    autojump_clock, world, suffix
):
    log = new_log(world, segment_bytes=SIZE)
    append(log, batch())
    refuse(world, suffix)

    with pytest.raises(KafkaError, match="REPLICA_NOT_AVAILABLE"):
        append(log, batch())
    assert (log.end_offset, len(log.segments), log.failed) == (1, 1, None)
    allow(world)
    append(log, batch())
    await sync(log)

    assert offsets(await read_all(log)) == [0, 1]
    assert len(log.segments) == 2


async def test_a_roll_needs_no_snapshot_of_producers(autojump_clock, world):
    log = new_log(world, segment_bytes=SIZE)
    append(log, batch())
    refuse(world, ".snapshot")

    append(log, batch())
    await sync(log)

    assert offsets(await read_all(log)) == [0, 1]


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".log"])
async def test_a_truncation_without_a_descriptor_changes_nothing(autojump_clock, world, suffix):
    log = await sealed_log(world, OpenFiles(), segments=20)
    await close(log)
    recovery = Recovery(clean=True, high_watermark=21)
    log = await open_log(world, log.directory, PARTITION, config=log.config, recovery=recovery)
    ends = (log.end_offset, log.recovery_point, log.high_watermark, log.flush_end)
    refuse(world, suffix)

    with pytest.raises(KafkaError, match="REPLICA_NOT_AVAILABLE"):
        await truncate_to(log, 10)
    allow(world)

    assert (log.end_offset, log.recovery_point, log.high_watermark, log.flush_end) == ends
    assert log.failed is None
    assert offsets(await read_all(log)) == list(range(21))
    await truncate_to(log, 10)
    assert offsets(await read_all(log)) == list(range(10))


def descriptors_in(path: str) -> int:
    """How many descriptors of this process are of files in `path`."""
    result = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            result += os.readlink(f"/proc/self/fd/{name}").startswith(path)
        except FileNotFoundError:  # the descriptor that listed them
            continue
    return result


@pytest.mark.slow
async def test_process_has_at_most_the_budget_of_descriptors_open():
    with TemporaryDirectory() as path:
        world, files = RealWorld(SkippingClock()), OpenFiles(BUDGET)
        log = await sealed_log(world, files, f"{path}/t-0")
        assert descriptors_in(path) == BUDGET + 1
        chance = Random(2)

        for _ in range(300):
            offset = chance.randrange(SEGMENTS)
            content = await read_bytes(log, offset, SIZE)
            assert int.from_bytes(content[:8], "big") == offset
            assert descriptors_in(path) <= BUDGET + 1

        leases = [(await slice_of(log, offset)).lease() for offset in range(30)]
        assert descriptors_in(path) == 30 + 1
        for lease in leases:
            lease.release()
        await truncate_to(log, 100)
        assert offsets(await read_all(log)) == list(range(100))
        assert descriptors_in(path) == BUDGET + 1
        log.abandon()
        assert descriptors_in(path) == 0


async def test_lookup_fails_and_scans_no_segment_when_its_index_gets_no_descriptor(
    autojump_clock, world
):
    log = await sealed_log(world, OpenFiles(), segments=20)
    await close(log)
    log = await open_log(
        world, log.directory, PARTITION, config=log.config, recovery=Recovery(clean=True)
    )
    refuse(world, ".index")

    with pytest.raises(KafkaError, match="REPLICA_NOT_AVAILABLE"):
        await read_bytes(log, 5, SIZE)


async def test_log_loaded_after_a_clean_close_opens_one_file(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    await close(log)
    files = OpenFiles()

    again = await open_log(
        world,
        log.directory,
        PARTITION,
        config=log.config,
        recovery=Recovery(clean=True),
        files=files,
    )

    assert opened(files) == 0
    assert is_open(again.segments.active.file)


# --- growing segments


def scarce(world, room):
    """Let there be room for so many files."""
    descriptors = world.descriptors
    descriptors.limit = 64
    descriptors.others = descriptors.shared - room
    return OpenFiles(SEGMENTS, descriptors)


def logs_of(world, files, count, **settings):
    return [new_log(world, f"/t-{number}", files=files, **settings) for number in range(count)]


def file_of(log):
    return log.segments.active._file


async def test_more_logs_than_descriptors_are_appended_to_and_read(autojump_clock, world):
    files = scarce(world, 10)
    logs = logs_of(world, files, 40)

    for _ in range(3):
        for log in logs:
            append(log, batch())
            await sync(log)
            assert world.descriptors.files <= 10

    for log in logs:
        assert offsets(await read_all(log)) == [0, 1, 2]
        assert log.failed is None
    assert files.given_up > 80
    assert files.figures()["growing"] <= 10


async def test_a_segment_with_bytes_that_are_not_durable_keeps_its_file(autojump_clock, world):
    (log,) = logs_of(world, files := OpenFiles(), 1)
    append(log, batch())

    assert files.close_idle(1) == 0
    assert is_open(file_of(log))
    await sync(log)

    assert files.close_idle(1) == 1
    assert file_of(log) is None
    assert log.size == SIZE


async def test_leased_active_segment_keeps_its_file(autojump_clock, world):
    (log,) = logs_of(world, files := OpenFiles(), 1)
    append(log, batch())
    await sync(log)
    held = read(log, 0, SIZE, 1)

    assert files.close_idle(1) == 0
    held.release()

    assert files.close_idle(1) == 1


async def test_a_segment_that_was_cut_and_has_grown_as_long_as_before_keeps_its_file(
    autojump_clock, world
):
    (log,) = logs_of(world, files := OpenFiles(), 1)
    append(log, batch())
    append(log, batch())
    await sync(log)
    await truncate_to(log, 1)
    append(log, batch())

    assert files.close_idle(1) == 0


async def test_segment_truncated_during_a_sync_keeps_its_file(autojump_clock, world):
    (log,) = logs_of(world, OpenFiles(), 1)
    append(log, batch())
    active = log.segments.active

    async def cut() -> None:
        active.truncate(0)
        append(log, batch())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(active.sync_file)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(cut)

    assert not active.give_up()


async def test_a_file_is_not_closed_between_the_pieces_of_an_append(autojump_clock, world):
    (log,) = logs_of(world, files := OpenFiles(), 1)
    large = bytearray(batch(size=3 * PIECE))
    closed = []

    log.latency.yield_point.bind(lambda: closed.append(files.close_idle(1)))
    append_as_leader(log, memoryview(large), read_header(large), leader_epoch=0, in_pieces=True)

    assert closed
    assert set(closed) == {0}
    assert log.end_offset == 1


async def test_file_is_not_closed_during_an_append_in_a_thread(autojump_clock, world):
    (log,) = logs_of(world, files := OpenFiles(), 1)
    content = batch()
    closed = []

    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            partial(
                append_in_thread, log, memoryview(content), read_header(content), leader_epoch=0
            )
        )
        await trio.testing.wait_all_tasks_blocked()
        closed.append(files.close_idle(1))

    assert closed == [0]
    assert log.end_offset == 1


async def test_segments_appended_to_most_recently_are_closed_last(autojump_clock, world):
    logs = logs_of(world, files := OpenFiles(), 3)
    for log in logs:
        append(log, batch())
        await sync(log)
    files.close_idle(0)
    for log in logs:
        log.segments.active.used()
    append(logs[0], batch())
    await sync(logs[0])

    assert files.close_idle(2) == 2

    assert [file_of(log) is None for log in logs] == [False, True, True]


async def test_segment_without_appends_since_its_opening_is_closed_first(autojump_clock, world):
    logs = logs_of(world, files := OpenFiles(), 2)
    append(logs[0], batch())
    await sync(logs[0])

    assert files.close_idle(1) == 1

    assert [file_of(log) is None for log in logs] == [False, True]


async def test_append_without_a_descriptor_is_refused_and_can_be_repeated(autojump_clock, world):
    files = OpenFiles()
    logs = logs_of(world, files, 2)
    await sync(logs[0])
    assert files.close_idle(1) == 1
    append(logs[1], batch())
    refuse(world, ".log")

    with pytest.raises(KafkaError, match="REPLICA_NOT_AVAILABLE"):
        append(logs[0], batch())
    assert (logs[0].end_offset, logs[0].failed) == (0, None)
    allow(world)
    append(logs[0], batch())

    assert offsets(await read_all(logs[0])) == [0]


async def test_unsynced_segments_are_synced_and_closed_when_descriptors_are_scarce(
    autojump_clock, world
):
    files = OpenFiles(SEGMENTS, world.descriptors)
    logs = logs_of(world, files, 30)
    for log in logs:
        append(log, batch())
    scarce(world, 20)
    world.descriptors.close_idle = files.close_idle

    async with trio.open_nursery() as nursery:
        await nursery.start(files.run)
        assert files.close_idle(1) == 0
        await trio.sleep(5)
        nursery.cancel_scope.cancel()

    assert world.descriptors.files <= 4
    for log in logs:
        append(log, batch())
        await sync(log)


async def test_stopping_broker_may_use_reserved_descriptors(autojump_clock, world):
    files = scarce(world, 10)
    (log,) = logs_of(world, files, 1)
    append(log, batch())
    await sync(log)
    assert files.close_idle(1) == 1
    scarce(world, 0).close_all()
    world.descriptors.files = world.descriptors.least_files

    with pytest.raises(KafkaError, match="reserved"):
        append(log, batch())
    files.may_use_reserve = True
    append(log, batch())

    assert log.end_offset == 2


async def test_sync_of_a_segment_whose_file_is_closed_opens_no_file(autojump_clock, world):
    (log,) = logs_of(world, files := OpenFiles(), 1)
    append(log, batch())
    await sync(log)
    files.close_idle(1)
    attempts = refuse(world, ".log")

    await sync(log)

    assert attempts == []
    assert log.recovery_point == 1


async def test_a_file_that_another_program_has_cut_is_not_appended_to(autojump_clock, world):
    (log,) = logs_of(world, files := OpenFiles(), 1)
    append(log, batch())
    await sync(log)
    files.close_idle(1)
    file = log.directory.open(f"{0:020}.log")
    file.truncate(1)
    file.close()

    with pytest.raises(LogDirError, match="another program"):
        append(log, batch())


async def test_log_whose_file_is_closed_can_be_rolled_and_truncated(autojump_clock, world):
    (log,) = logs_of(world, files := OpenFiles(), 1, segment_bytes=2 * SIZE)
    for _ in range(5):
        append(log, batch())
        await sync(log)
        files.close_idle(10)
    assert len(log.segments) == 3

    files.close_idle(10)
    await truncate_to(log, 3)
    append(log, batch())

    assert offsets(await read_all(log)) == [0, 1, 2, 3]
    await close(log)
    assert world.descriptors.files == 0


async def test_file_opened_by_a_load_can_be_closed_as_idle(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    await close(log)
    files = OpenFiles()
    for clean in (True, False):
        again = await open_log(
            world,
            log.directory,
            PARTITION,
            config=log.config,
            recovery=Recovery(clean=clean),
            files=files,
        )
        assert files.close_idle(1) == 1
        assert offsets(await read_all(again)) == [0]
        again.abandon()


async def test_truncation_keeps_its_file_open_until_the_end(autojump_clock, world):
    (log,) = logs_of(world, files := OpenFiles(), 1, segment_bytes=4 * SIZE)
    for _ in range(100):
        append(log, batch())
    await sync(log)
    kept = log.segments.at(log.segments.floor(4))
    pressed = 0

    async def press(task_status) -> None:
        """Sync and close the file as often as possible, and let no file be opened again."""
        nonlocal pressed
        task_status.started()
        while log.end_offset != 5:
            await trio.sleep(0.0001)
            if log.writer.blocked_by and not kept.sealed:
                refuse(world, ".log")
                await kept.sync_file()
                files.close_idle(10)
                pressed += 1

    async with trio.open_nursery() as nursery:
        await nursery.start(press)
        await truncate_to(log, 5)
    allow(world)

    assert pressed
    assert log.failed is None
    append(log, batch())
    assert offsets(await read_all(log)) == [0, 1, 2, 3, 4, 5]
