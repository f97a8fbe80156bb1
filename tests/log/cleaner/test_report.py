from attrs import evolve

from tests.log.cleaner.logs import fill_log, managed, new_log
from trio_kafka.introspect.log import fields_of
from trio_kafka.log.cleaner.job import CleanedGroup, CleaningResult, CleaningStats, UnreadableBatch
from trio_kafka.log.cleaner.report import report_run
from trio_kafka.log.cleaner.selection import examine

STATS = CleaningStats(
    map_bytes_read=50,
    map_messages_read=5,
    map_keys=3,
    map_utilization=0.25,
    bytes_read=100,
    messages_read=10,
    bytes_written=30,
    messages_written=3,
    invalid_messages=0,
)
GROUP = CleanedGroup(
    base_offset=0,
    replaced=(0,),
    size=30,
    max_timestamp=-1,
    max_timestamp_offset=0,
    transactions=0,
    unchanged=False,
)


async def reported(world, caplog, stats, group=GROUP):
    """Events of a run with these results, by their text."""
    manager = await managed(world)
    log = new_log(manager)
    fill_log(log)
    dirty = await examine(log, None, log.now_ms())
    caplog.clear()
    with caplog.at_level("INFO"):
        report_run(dirty, CleaningResult(end_offset=9, groups=(group,), stats=stats), 1.5)
    return {record.getMessage(): fields_of(record) for record in caplog.records}


async def test_a_run_is_logged_with_its_counts(autojump_clock, world, caplog):
    events = await reported(world, caplog, STATS)

    assert list(events) == ["log compacted"]
    fields = events["log compacted"]
    assert (fields["partition"], fields["dirty_to"], fields["took_ms"]) == ("c-0", 9, 1500)


async def test_run_that_removed_records_without_a_key_logs_their_number(
    autojump_clock, world, caplog
):
    events = await reported(world, caplog, evolve(STATS, invalid_messages=4))

    assert events["records without a key removed"]["records"] == 4


async def test_offsets_of_unreadable_batches_are_logged(autojump_clock, world, caplog):
    batches = tuple(
        UnreadableBatch(
            base_offset=at,
            last_offset=at + 1,
            reason="the records end early",
            malformed=True,
            removed=at > 10,
        )
        for at in range(0, 20, 4)
    )

    events = await reported(
        world, caplog, evolve(STATS, unreadable_batches=5), evolve(GROUP, unreadable=batches)
    )

    fields = events["unreadable batches found"]
    assert fields["batches"] == 5
    assert fields["kept"].startswith("offsets 0 to 1: the records end early; offsets 4 to 5")
    assert fields["removed"].startswith("offsets 12 to 13: ")
