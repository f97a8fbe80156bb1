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

from tests.lanes import together
from tests.project.tree import ROOT
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.plugins import HOST_SETTINGS
from trio_kafka.config.setting import settings_of
from trio_kafka.config.topic import TopicConfig
from trio_kafka.config.unsupported import UNSUPPORTED_FIELDS, UNSUPPORTED_TOPIC_SETTINGS
from trio_kafka.config.values import Kind

BROKER = "broker/test_limits.py::"
GROUPS = "broker/test_group_limits.py::"
TRANSACTIONS = "broker/test_transaction_limits.py::"
CONNECTIONS = "network/admission/test_limits.py::"
LOG = "log/test_limits.py::"
CLEANER = "log/cleaner/"
RETENTION = "log/test_retention.py::"
METADATA = "raft/test_retention.py::"
PLUGINS = "plugin_host/test_limits.py::"
OWN_OF_GROUPS = f"{GROUPS}test_group_config_outside_of_the_broker_limits_is_refused"
# Each limit and the test of it; those of topics have their brokers' defaults with them.
LIMITS: Final = {
    "max.connections": (
        f"{CONNECTIONS}test_a_connection_above_the_broker_limit_waits_until_another_closes"
    ),
    "max.connections.per.ip": f"{CONNECTIONS}test_connections_of_an_address_above_its_limit_are_refused",
    "max.connection.creation.rate": f"{CONNECTIONS}test_connections_above_the_accept_rate_of_the_broker_are_delayed",
    "connection.failed.authentication.delay.ms": (
        "broker/test_sasl.py::test_a_wrong_password_is_answered_after_the_delay_and_before_the_close"
    ),
    "connections.max.reauth.ms": (
        "broker/test_sasl.py::"
        "test_a_session_that_is_renewed_loses_no_answer_and_one_that_is_not_is_closed"
    ),
    "sasl.server.max.receive.size": (
        "broker/test_sasl.py::test_a_frame_above_the_limit_of_the_sasl_phase_is_a_failed_login"
    ),
    "sasl.oauthbearer.clock.skew.seconds": (
        "security/tokens/test_claims.py::"
        "test_claims_within_the_tolerated_difference_of_clocks_are_valid"
    ),
    "delegation.token.max.lifetime.ms": (
        "controller/test_tokens.py::"
        "test_the_life_of_a_token_is_the_shorter_one_of_request_and_settings"
    ),
    "delegation.token.expiry.time.ms": (
        "controller/test_tokens.py::test_a_renewal_is_limited_by_the_settings"
    ),
    "delegation.token.expiry.check.interval.ms": (
        "broker/test_delegation_tokens.py::"
        "test_records_of_tokens_that_have_ended_are_removed_at_the_interval"
    ),
    "connections.max.idle.ms": f"{BROKER}test_idle_connection_is_closed_after_connections_max_idle_ms",
    "trio.fetch.session.max.partitions": (
        "replication/leader/test_session_cache.py::test_number_of_partitions_of_all_sessions_is_limited"
    ),
    "socket.request.max.bytes": f"{BROKER}test_frame_larger_than_socket_request_max_bytes_closes_the_connection",
    "trio.admin.request.max.bytes": f"{BROKER}test_admin_request_larger_than_trio_admin_request_max_bytes_closes_the_connection",
    "queued.max.request.bytes": f"{BROKER}test_request_waits_while_queued_max_request_bytes_are_in_use",
    "telemetry.max.bytes": "telemetry/test_client_telemetry.py::test_push_above_telemetry_max_bytes_is_rejected",
    "queued.max.requests": f"{BROKER}test_requests_beyond_handlers_and_queued_max_requests_wait_in_the_processor",
    "num.io.threads": f"{BROKER}test_requests_beyond_handlers_and_queued_max_requests_wait_in_the_processor",
    "fetch.max.bytes": f"{BROKER}test_fetch_response_has_at_most_fetch_max_bytes_of_all_partitions",
    "max.incremental.fetch.session.cache.slots": (
        f"{BROKER}test_fetch_session_without_a_free_cache_slot_gets_no_id"
    ),
    "max.request.partition.size.limit": f"{BROKER}test_describe_topic_partitions_pages_at_max_request_partition_size_limit",
    "max.message.bytes": f"{BROKER}test_batch_larger_than_message_max_bytes_is_refused",
    "max.decompressed.message.bytes": f"{BROKER}test_record_larger_than_max_decompressed_message_bytes_is_refused",
    "message.timestamp.after.max.ms": f"{BROKER}test_timestamp_too_far_from_the_brokers_time_is_refused",
    "message.timestamp.before.max.ms": f"{BROKER}test_timestamp_too_far_from_the_brokers_time_is_refused",
    "min.insync.replicas": "replication/leader/test_append.py::test_minimum_for_acks_all_is_capped_at_the_number_of_replicas",
    "segment.bytes": f"{LOG}test_segment_is_rolled_when_a_batch_would_exceed_segment_bytes",
    "segment.ms": f"{LOG}test_segment_is_rolled_when_its_age_exceeds_segment_ms",
    "segment.index.bytes": f"{LOG}test_segment_is_rolled_when_its_time_index_reaches_segment_index_bytes",
    "index.interval.bytes": f"{LOG}test_index_entry_is_added_when_index_interval_bytes_is_exceeded",
    "flush.messages": f"{LOG}test_sync_is_requested_at_flush_messages_unsynced_records",
    "flush.ms": f"{LOG}test_log_is_synced_after_flush_ms",
    "producer.id.expiration.ms": f"{LOG}test_producer_is_forgotten_at_producer_id_expiration_ms",
    "retention.ms": f"{RETENTION}test_segments_whose_newest_record_exceeds_retention_ms_are_removed",
    "retention.bytes": f"{RETENTION}test_segments_beyond_retention_bytes_are_removed",
    "file.delete.delay.ms": (
        "broker/test_jobs.py::test_files_of_a_deleted_topic_are_deleted_after_the_delay"
        "_and_the_job_ends"
    ),
    "num.replica.alter.log.dirs.threads": (
        "replication/moves/test_moves.py::test_number_of_concurrent_moves_is_limited"
    ),
    "replica.alter.log.dirs.io.max.bytes.per.second": (
        "replication/moves/test_mover.py::test_move_does_not_exceed_the_rate_limit"
    ),
    "background.threads": (
        "broker/parts/test_settings.py::test_thread_limit_of_each_data_directory_follows_background_threads"
    ),
    "num.recovery.threads.per.data.dir": (
        "log/manager/test_loading.py::test_number_of_logs_loaded_concurrently_in_a_directory_is_bounded"
    ),
    "metadata.log.max.record.bytes.between.snapshots": (
        "raft/test_generator.py::test_snapshot_is_due_exactly_at_its_limit_of_bytes"
    ),
    "metadata.log.max.snapshot.interval.ms": (
        "raft/test_generator.py::test_snapshot_of_few_records_is_written_once_after_the_interval"
    ),
    "metadata.max.retention.bytes": (
        f"{METADATA}test_oldest_snapshots_are_removed_until_the_size_is_within_max_bytes"
    ),
    "metadata.max.retention.ms": (
        f"{METADATA}test_snapshots_above_max_age_are_removed_and_the_next_removal_time_is_returned"
    ),
    "broker.session.timeout.ms": (
        "controller/test_fencing.py::"
        "test_a_broker_without_heartbeats_for_its_session_is_fenced_and_loses_leadership"
    ),
    "offset.metadata.max.bytes": f"{GROUPS}test_offset_metadata_longer_than_offset_metadata_max_bytes_is_refused",
    "offsets.retention.minutes": f"{GROUPS}test_committed_offsets_expire_after_offsets_retention_minutes",
    "group.max.size": f"{GROUPS}test_classic_group_has_at_most_group_max_size_members",
    "group.coordinator.append.linger.ms": (
        "coordinators/shards/test_batches_broker.py::test_commits_share_a_batch_only_within_the_linger"
    ),
    "group.consumer.max.size": f"{GROUPS}test_consumer_group_has_at_most_group_consumer_max_size_members",
    "group.min.session.timeout.ms": f"{GROUPS}test_session_timeout_outside_of_the_group_limits_is_refused",
    "group.max.session.timeout.ms": f"{GROUPS}test_session_timeout_outside_of_the_group_limits_is_refused",
    "group.consumer.min.session.timeout.ms": OWN_OF_GROUPS,
    "group.consumer.max.session.timeout.ms": OWN_OF_GROUPS,
    "group.consumer.min.heartbeat.interval.ms": OWN_OF_GROUPS,
    "group.consumer.max.heartbeat.interval.ms": OWN_OF_GROUPS,
    "group.consumer.min.assignment.interval.ms": OWN_OF_GROUPS,
    "group.consumer.max.assignment.interval.ms": OWN_OF_GROUPS,
    "transaction.max.timeout.ms": (
        f"{TRANSACTIONS}test_transaction_timeout_above_transaction_max_timeout_ms_is_refused"
    ),
    "transactional.id.expiration.ms": (
        f"{TRANSACTIONS}"
        "test_unused_transactional_id_is_removed_after_transactional_id_expiration_ms"
    ),
    "add.partitions.to.txn.retry.backoff.max.ms": (
        "coordinators/transactions/test_adding.py::test_requests_wait_at_most_100_ms_for_markers"
    ),
    "delete.retention.ms": (
        f"{CLEANER}test_log_cleaner.py::test_tombstone_is_removed_after_delete_retention_ms"
    ),
    "log.cleaner.dedupe.buffer.size": (
        f"{CLEANER}test_cleaner.py::test_next_run_compacts_the_records_for_which_the_key_map_had_no_room"
    ),
    "log.cleaner.io.buffer.load.factor": (
        f"{CLEANER}test_key_map.py::test_capacity_of_a_key_map_is_its_slots_times_the_load_factor"
    ),
    "log.cleaner.io.buffer.size": (
        f"{CLEANER}test_batches.py::test_batches_are_read_in_chunks_with_their_positions"
    ),
    "log.cleaner.io.max.bytes.per.second": (
        f"{CLEANER}test_runner.py::test_run_in_slices_does_not_exceed_its_bytes_per_second"
    ),
    "log.cleaner.threads": (
        f"{CLEANER}test_log_cleaner.py::test_number_of_cleaner_threads_changes_while_the_cleaner_runs"
    ),
    "max.compaction.lag.ms": (
        f"{CLEANER}test_selection.py::test_log_is_due_when_a_dirty_record_exceeds_the_max_compaction_lag"
    ),
    "min.cleanable.dirty.ratio": (
        f"{CLEANER}test_selection.py::test_log_is_due_above_its_min_cleanable_dirty_ratio"
    ),
    "min.compaction.lag.ms": f"{CLEANER}test_selection.py::test_segments_younger_than_the_min_compaction_lag_are_not_cleanable",
    "plugin.<name>.limit": f"{PLUGINS}test_requests_above_the_limit_setting_wait_for_their_turn",
    "plugin.<name>.deadline.ms": f"{PLUGINS}test_a_request_longer_than_deadline_ms_times_out",
    "plugin.<name>.start.ms": f"{PLUGINS}test_a_plugin_that_starts_longer_than_start_ms_fails",
    "plugin.<name>.drain.ms": f"{PLUGINS}test_a_plugin_that_stops_longer_than_drain_ms_has_an_error",
    "plugin.<name>.failures": f"{PLUGINS}test_a_plugin_fails_at_the_number_of_failed_requests_of_its_setting",
    "trio.request.log.queue": (
        "requests/request_log/test_log.py::test_request_log_lines_beyond_the_queue_bound_are_dropped_and_counted"
    ),
    "trio.request.lives": (
        "introspect/test_recent_requests.py::test_recent_requests_keep_the_latest_and_the_slowest_requests"
    ),
    "trio.disk.warning.percent": (
        "log/manager/test_disk_space.py::"
        "test_low_disk_space_is_logged_once_below_the_limit_and_again_below_half"
    ),
    "trio.watchdog.ms": (
        "introspect/test_watchdog.py::test_block_is_reported_when_the_limit_is_reached"
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
        "transaction.state.log.min.isr",
        "transaction.state.log.num.partitions",
        "transaction.state.log.replication.factor",
    },
    "how often or for how long, whatever there is": {
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
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
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        "transaction.remove.expired.transaction.cleanup.interval.ms",
    },
    "a matter of the kernel": {
        "socket.listen.backlog.size",
        "socket.receive.buffer.bytes",
        "socket.send.buffer.bytes",
        "trio.socket.buffer.max.bytes",
    },
    "the bytes of one read": {
        "offsets.load.buffer.size",
        "transaction.state.log.load.buffer.size",
    },
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
        "transaction.state.log.segment.bytes",
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


def test_every_numeric_setting_in_use_is_a_tested_limit_or_listed_as_no_limit() -> None:
    listed = [*LIMITS, *(name for names in NO_LIMITS.values() for name in names)]

    assert sorted(listed) == sorted(
        set(obeyed()) - UNSUPPORTED_FIELDS - UNSUPPORTED_TOPIC_SETTINGS.keys()
    )


@cache
def functions(file: Path) -> frozenset[str]:
    nodes = ast.walk(ast.parse(file.read_text()))
    return frozenset(n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


@together(sorted(set(LIMITS.values())))
def test_every_test_named_for_a_limit_exists(test: str) -> None:
    file, _, name = test.partition("::")

    assert name in functions(ROOT / "tests" / file)
