"""Every number among the settings that are obeyed is a limit with tests below it, at it and above
it, or it is said why there is nothing to be tested like that.

That each value is refused beyond the bounds of its own setting is tested in
tests/config/test_setting.py, for all of them.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.project.tree import ROOT
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.plugins import HOST_SETTINGS
from trio_kafka.config.setting import settings_of
from trio_kafka.config.topic import TopicConfig
from trio_kafka.config.unsupported import UNSUPPORTED_FIELDS, UNSUPPORTED_TOPIC_SETTINGS
from trio_kafka.config.values import Kind

BROKER = "broker/test_limits.py::"
GROUPS = "broker/test_group_limits.py::"
CONNECTIONS = "network/admission/test_limits.py::"
LOG = "log/test_limits.py::"
CLEANER = "log/cleaner/"
RETENTION = "log/test_retention.py::"
METADATA = "raft/test_retention.py::"
PLUGINS = "plugin_host/test_limits.py::"
OWN_OF_GROUPS = f"{GROUPS}test_what_a_group_may_set_for_itself"
# Each limit and the test of it; those of topics have their brokers' defaults with them.
LIMITS: Final = {
    "max.connections": (
        f"{CONNECTIONS}test_who_is_above_the_brokers_limit_waits_until_somebody_leaves"
    ),
    "max.connections.per.ip": f"{CONNECTIONS}test_so_many_of_one_address_stay_and_no_more",
    "max.connection.creation.rate": f"{CONNECTIONS}test_connections_come_no_faster_than_the_rate",
    "connections.max.idle.ms": f"{BROKER}test_connections_max_idle_ms",
    "trio.fetch.session.max.partitions": (
        "replication/test_session_cache.py::"
        "test_sessions_remember_no_more_partitions_than_the_bound"
    ),
    "socket.request.max.bytes": f"{BROKER}test_socket_request_max_bytes",
    "trio.admin.request.max.bytes": f"{BROKER}test_trio_admin_request_max_bytes",
    "queued.max.request.bytes": f"{BROKER}test_queued_max_request_bytes",
    "queued.max.requests": f"{BROKER}test_num_io_threads_and_queued_max_requests",
    "num.io.threads": f"{BROKER}test_num_io_threads_and_queued_max_requests",
    "fetch.max.bytes": f"{BROKER}test_fetch_max_bytes",
    "max.incremental.fetch.session.cache.slots": (
        f"{BROKER}test_max_incremental_fetch_session_cache_slots"
    ),
    "max.request.partition.size.limit": f"{BROKER}test_max_request_partition_size_limit",
    "max.message.bytes": f"{BROKER}test_message_max_bytes",
    "max.decompressed.message.bytes": f"{BROKER}test_max_decompressed_message_bytes",
    "message.timestamp.after.max.ms": f"{BROKER}test_how_far_a_timestamp_may_be_from_now",
    "message.timestamp.before.max.ms": f"{BROKER}test_how_far_a_timestamp_may_be_from_now",
    "min.insync.replicas": "replication/test_append.py::test_so_many_in_sync_are_enough",
    "segment.bytes": f"{LOG}test_segment_bytes",
    "segment.ms": f"{LOG}test_segment_ms",
    "segment.index.bytes": f"{LOG}test_segment_index_bytes",
    "index.interval.bytes": f"{LOG}test_index_interval_bytes",
    "flush.messages": f"{LOG}test_flush_messages",
    "flush.ms": f"{LOG}test_flush_ms",
    "producer.id.expiration.ms": f"{LOG}test_producer_id_expiration_ms",
    "retention.ms": f"{RETENTION}test_segments_whose_newest_record_is_too_old_go",
    "retention.bytes": f"{RETENTION}test_segments_beyond_the_size_go",
    "file.delete.delay.ms": (
        "broker/test_jobs.py::test_the_files_of_a_deleted_topic_go_after_the_delay"
        "_and_nothing_ticks_after"
    ),
    "num.replica.alter.log.dirs.threads": (
        "replication/moves/test_moves.py::test_so_many_replicas_move_at_once"
    ),
    "replica.alter.log.dirs.io.max.bytes.per.second": (
        "replication/moves/test_mover.py::test_the_rate_holds"
    ),
    "background.threads": (
        "broker/parts/test_settings.py::test_each_data_directory_has_as_many_threads_as_the_setting_says"
    ),
    "num.recovery.threads.per.data.dir": (
        "log/manager/test_loading.py::test_so_many_logs_of_a_directory_are_loaded_at_once"
    ),
    "metadata.log.max.record.bytes.between.snapshots": (
        "raft/test_generator.py::test_a_snapshot_is_due_at_so_many_bytes"
    ),
    "metadata.log.max.snapshot.interval.ms": (
        "raft/test_generator.py::test_few_records_wait_for_the_interval_and_then_no_more"
    ),
    "metadata.max.retention.bytes": (
        f"{METADATA}test_the_oldest_go_until_log_and_snapshots_are_small_enough"
    ),
    "metadata.max.retention.ms": (
        f"{METADATA}test_what_is_too_old_goes_and_when_the_next_will_is_told"
    ),
    "broker.session.timeout.ms": (
        "controller/test_fencing.py::test_a_broker_that_is_silent_too_long_is_fenced"
        "_and_leads_no_more"
    ),
    "offset.metadata.max.bytes": f"{GROUPS}test_offset_metadata_max_bytes",
    "offsets.retention.minutes": f"{GROUPS}test_offsets_retention_minutes",
    "group.max.size": f"{GROUPS}test_group_max_size",
    "group.coordinator.append.linger.ms": (
        "coordinators/test_batches_broker.py::test_what_comes_before_the_linger_is_over_is_gathered"
    ),
    "group.consumer.max.size": f"{GROUPS}test_group_consumer_max_size",
    "group.min.session.timeout.ms": f"{GROUPS}test_group_session_timeouts",
    "group.max.session.timeout.ms": f"{GROUPS}test_group_session_timeouts",
    "group.consumer.min.session.timeout.ms": OWN_OF_GROUPS,
    "group.consumer.max.session.timeout.ms": OWN_OF_GROUPS,
    "group.consumer.min.heartbeat.interval.ms": OWN_OF_GROUPS,
    "group.consumer.max.heartbeat.interval.ms": OWN_OF_GROUPS,
    "group.consumer.min.assignment.interval.ms": OWN_OF_GROUPS,
    "group.consumer.max.assignment.interval.ms": OWN_OF_GROUPS,
    "delete.retention.ms": (
        f"{CLEANER}test_log_cleaner.py::test_a_tombstone_leaves_after_its_time"
    ),
    "log.cleaner.dedupe.buffer.size": (
        f"{CLEANER}test_cleaner.py::test_a_key_map_that_is_full_leaves_the_rest_to_the_next_run"
    ),
    "log.cleaner.io.buffer.load.factor": (
        f"{CLEANER}test_key_map.py::test_capacity_is_a_part_of_the_slots"
    ),
    "log.cleaner.io.buffer.size": (
        f"{CLEANER}test_batches.py::test_batches_are_read_in_chunks_with_their_positions"
    ),
    "log.cleaner.io.max.bytes.per.second": (
        f"{CLEANER}test_runner.py::test_a_run_in_slices_keeps_to_its_rate"
    ),
    "log.cleaner.threads": (
        f"{CLEANER}test_log_cleaner.py::test_settings_take_effect_while_it_runs"
    ),
    "max.compaction.lag.ms": (
        f"{CLEANER}test_selection.py::test_an_old_dirty_record_makes_a_log_due"
    ),
    "min.cleanable.dirty.ratio": (f"{CLEANER}test_selection.py::test_a_log_is_due_above_its_ratio"),
    "min.compaction.lag.ms": f"{CLEANER}test_selection.py::test_young_segments_stay",
    "plugin.<name>.limit": f"{PLUGINS}test_limit",
    "plugin.<name>.deadline.ms": f"{PLUGINS}test_deadline_ms",
    "plugin.<name>.start.ms": f"{PLUGINS}test_start_ms",
    "plugin.<name>.drain.ms": f"{PLUGINS}test_drain_ms",
    "plugin.<name>.failures": f"{PLUGINS}test_failures",
    "trio.request.log.queue": (
        "requests/request_log/test_log.py::test_what_finds_the_queue_full_is_dropped_and_counted"
    ),
    "trio.request.lives": (
        "introspect/test_recent_requests.py::test_the_slowest_are_the_slowest_and_the_latest_the_latest"
    ),
    "trio.disk.warning.percent": (
        "log/manager/test_disk_space.py::"
        "test_a_disk_below_the_limit_is_warned_of_once_and_again_at_half"
    ),
    "trio.watchdog.ms": (
        "introspect/test_watchdog.py::test_a_block_is_named_when_the_limit_is_reached"
    ),
}
# No limits: what there is nothing below or above of.
NO_LIMITS: Final = {
    "names and places": {"node.id", "broker.id", "plugin.<name>.order"},
    "how many there are": {
        "default.replication.factor",
        "num.network.threads",
        "num.partitions",
        "offsets.topic.num.partitions",
        "offsets.topic.replication.factor",
    },
    "how often or for how long, whatever there is": {
        "controller.quota.window.num",
        "controller.quota.window.size.seconds",
        "group.consumer.assignment.interval.ms",
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.regex.refresh.interval.ms",
        "group.consumer.session.timeout.ms",
        "group.initial.rebalance.delay.ms",
        "initial.broker.registration.timeout.ms",
        "log.cleaner.backoff.ms",
        "log.flush.offset.checkpoint.interval.ms",
        "log.flush.start.offset.checkpoint.interval.ms",
        "log.initial.task.delay.ms",
        "log.retention.check.interval.ms",
        "offsets.commit.timeout.ms",
        "offsets.retention.check.interval.ms",
        "producer.id.expiration.check.interval.ms",
        "quota.window.num",
        "quota.window.size.seconds",
        "replica.high.watermark.checkpoint.interval.ms",
        "request.timeout.ms",
    },
    "a matter of the kernel": {
        "socket.listen.backlog.size",
        "socket.receive.buffer.bytes",
        "socket.send.buffer.bytes",
        "trio.socket.buffer.max.bytes",
    },
    "the bytes of one read": {"offsets.load.buffer.size"},
    "which codec, or its level": {
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "offsets.topic.compression.codec",
    },
    "taken off another one by chance": {"segment.jitter.ms"},
    "a limit of the log that is tested as segment.bytes or segment.ms": {
        "internal.segment.bytes",
        "metadata.log.segment.bytes",
        "metadata.log.segment.ms",
        "offsets.topic.segment.bytes",
    },
}
NUMBERS = {Kind.SHORT, Kind.INT, Kind.LONG, Kind.DOUBLE}


def obeyed() -> Iterator[str]:
    """Numbers that some part obeys, once each: of topics where a topic may have its own."""
    topics = settings_of(TopicConfig)
    for_topics = {name for setting in topics.values() for name, _ in setting.server}
    yield from (name for name, setting in topics.items() if setting.kind in NUMBERS)
    for name, setting in settings_of(BrokerConfig).items():
        if setting.kind in NUMBERS and name not in for_topics:
            yield name
    yield from (f"plugin.<name>.{key}" for key, s in HOST_SETTINGS.items() if s.kind in NUMBERS)


def test_every_number_that_is_obeyed_is_a_limit_with_a_test_or_none() -> None:
    told = [*LIMITS, *(name for names in NO_LIMITS.values() for name in names)]

    assert sorted(told) == sorted(
        set(obeyed()) - UNSUPPORTED_FIELDS - UNSUPPORTED_TOPIC_SETTINGS.keys()
    )


@cache
def functions(file: Path) -> frozenset[str]:
    nodes = ast.walk(ast.parse(file.read_text()))
    return frozenset(n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("test", sorted(set(LIMITS.values())))
def test_the_test_of_a_limit_is_there(test: str) -> None:
    file, _, name = test.partition("::")

    assert name in functions(ROOT / "tests" / file)
