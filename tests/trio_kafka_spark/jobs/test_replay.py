"""Order and pace of a replay."""

import pyarrow as pa
import pytest

from tests.trio_kafka_spark.jobs.kit import record, records, tuples
from trio_kafka_spark.jobs.replay import DUE, paced, replay


class Clock:
    """Time that passes only in sleeps."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        assert seconds > 0
        self.now += seconds


def batches(*dues):
    return [pa.RecordBatch.from_pydict({DUE: pa.array(due, pa.int64())}) for due in dues]


def played(speed, *dues):
    """(seconds since the begin, rows) of each batch that comes out."""
    clock = Clock()
    output = paced(batches(*dues), speed, clock=clock, sleep=clock.sleep)
    return [(round(clock.now - 100, 3), batch.column(DUE).to_pylist()) for batch in output]


def test_replayed_rows_wait_until_the_time_of_their_timestamp():
    assert played(1.0, [5_000_000, 5_000_000, 6_000_000], [], [6_500_000, 9_000_000]) == [
        (0.0, [5_000_000, 5_000_000]),
        (1.0, [6_000_000]),
        (1.5, [6_500_000]),
        (4.0, [9_000_000]),
    ]


def test_the_replay_speed_divides_the_waits():
    assert played(4.0, [0, 1_000_000, 2_000_000]) == [
        (0.0, [0]),
        (0.25, [1_000_000]),
        (0.5, [2_000_000]),
    ]


def test_replayed_rows_close_in_time_are_sent_together():
    result = played(1.0, list(range(0, 100_000, 1000)))

    assert len(result) <= 6
    assert [row for _, rows in result for row in rows] == list(range(0, 100_000, 1000))


@pytest.mark.spark
def test_a_replay_has_all_rows_in_one_task_ordered_by_time_and_offset(spark):
    entries = [record(n, partition=1, seconds=10 - n) for n in range(5)]
    entries += [record(n, partition=0, seconds=n) for n in range(20)]

    result = replay(records(spark, *entries).repartition(3), topic="again", speed=None)

    parts = [part for part in result.rdd.glom().collect() if part]
    assert len(parts) == 1
    assert tuples(result, "topic", "partition")[:10] == [("again", 0)] * 10
    in_one = [row["timestamp"] for row in parts[0] if row["partition"] == 1]
    assert in_one == sorted(in_one, reverse=True)
    assert result.columns == ["topic", "partition", "key", "value", "headers", "timestamp"]


@pytest.mark.spark
def test_a_paced_replay_keeps_all_rows_and_can_drop_the_partition_column(spark):
    entries = [record(n, seconds=n) for n in range(20)]

    result = replay(records(spark, *entries), speed=1000.0, keep_partitions=False)

    assert result.count() == 20
    assert result.columns == ["topic", "key", "value", "headers", "timestamp"]


@pytest.mark.parametrize("speed", [0, -1, float("inf"), float("nan")])
def test_a_replay_speed_that_is_no_positive_number_is_refused(speed):
    with pytest.raises(ValueError, match="want a number above 0"):
        replay(None, speed=speed)
