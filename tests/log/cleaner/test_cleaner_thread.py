from tests.log.cleaner.logs import fill_log, managed, new_log
from trio_kafka.log.cleaner.cleaner_thread import CleanerThread
from trio_kafka.log.cleaner.selection import examine


async def test_figures_of_a_cleaner_thread_show_partition_phase_and_bytes_of_its_run(
    autojump_clock, world
):
    manager = await managed(world)
    log, cleaner = new_log(manager), CleanerThread(0)
    fill_log(log)
    assert (cleaner.figures()["partition"], cleaner.figures()["phase"]) == (None, None)

    cleaner.dirty = await examine(log, None, log.now_ms())
    cleaner.progress.moved = 77
    cleaner.progress.indexing = False

    figures = cleaner.figures()
    assert (figures["partition"], figures["moved"], figures["phase"]) == ("c-0", 77, "records")
    assert figures["bytes"] == cleaner.dirty.total_bytes
