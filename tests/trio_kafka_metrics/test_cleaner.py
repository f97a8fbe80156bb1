from trio.testing import MockClock

from tests.trio_kafka_metrics.kit import harness, read
from trio_kafka.log.cleaner.cleaner_thread import CleanerThread
from trio_kafka.log.cleaner.job import CleaningStats
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka_metrics.cleaner import read_cleaner

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


async def test_state_and_last_run_of_the_log_cleaner_are_exported(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t", 1, {"cleanup.policy": "compact"})
        cleaner = plugin_harness.parts.cleaner
        first, second = CleanerThread(0), CleanerThread(1)
        first.stats, first.took_s, first.delay_ms = STATS, 4.5, 2500
        second.failed = True
        cleaner.cleaners = [first, second]
        cleaner.dirtiest_ratio = 0.756
        cleaner.moved_bytes = 180
        log = plugin_harness.parts[LogManager].logs[0]
        cleaner.states.uncleanable[log] = "damage"

        result = read(read_cleaner, plugin_harness.parts)
        path = plugin_harness.parts[LogManager].directories[0].path

    of_cleaner, of_manager = "kafka_log_logcleaner_", "kafka_log_logcleanermanager_"
    assert result[f"{of_cleaner}deadthreadcount"] == 1
    assert result[f"{of_cleaner}cleaner_recopy_percent"] == 30
    assert result[f"{of_cleaner}max_buffer_utilization_percent"] == 25
    assert result[f"{of_cleaner}max_clean_time_secs"] == 4.5
    assert result[f"{of_cleaner}max_compaction_delay_secs"] == 2.5
    assert result[f"{of_manager}max_dirty_percent"] == 75
    assert result[f"{of_manager}uncleanable_partitions_count{{logDirectory={path}}}"] == 1
    assert result[f"{of_manager}uncleanable_bytes{{logDirectory={path}}}"] == 0
    assert result["kafka_utils_throttler_cleaner_io_count"] == 180
