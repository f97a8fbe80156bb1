"""Settings of the broker, with Kafka's types, defaults, bounds and update modes.

One field is one setting: `num.io.threads` is `num_io_threads`. A test compares the fields with
Apache Kafka 4.4.0. The package `unsupported` has the names of Kafka's other settings, and of the
fields here that no code reads yet. Settings without a default here (`node.id`, `process.roles`,
`controller.listener.names`) get one from `load`, which knows the embedded defaults.
"""

from collections.abc import Mapping

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.authorizer import check_authorizer_class, split_super_users
from trio_kafka.config.endpoints import Listeners
from trio_kafka.config.group_coordinator import GroupCoordinatorSettings
from trio_kafka.config.listeners import resolve_listeners, with_control_plane
from trio_kafka.config.properties import SettingText
from trio_kafka.config.quorum import address_of
from trio_kafka.config.setting import (
    BROKER,
    CLUSTER,
    REQUIRED,
    boolean,
    double,
    int16,
    int32,
    int64,
    string,
    string_list,
)
from trio_kafka.config.values import MAX_LONG

_RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
_ROLL = ("log.roll.ms", "log.roll.hours")
_JITTER = ("log.roll.jitter.ms", "log.roll.jitter.hours")
_FLUSH = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")


@frozen(kw_only=True, repr=False)  # it knows secrets
class BrokerConfig(GroupCoordinatorSettings):
    """Effective values of all described settings."""

    texts: Mapping[str, SettingText] = field(factory=dict, eq=False, repr=False)
    """Settings as written, by name: described, known and plugin settings."""
    changed: Mapping[str, str] = field(factory=dict, eq=False, repr=False)
    """Settings with a listener's prefix that were set while the broker runs: texts by name."""

    # Identity of the node
    node_id: int = int32(REQUIRED, "The number of this node in its cluster.", low=0)
    broker_id: int = int32(-1, "Old name of node.id.")
    broker_rack: str | None = string(None, "Rack of this broker, for the placement of replicas.")
    process_roles: tuple[str, ...] = string_list(
        REQUIRED, "Roles of this process.", choices=("broker", "controller"), not_empty=True
    )

    config_providers: tuple[str, ...] = string_list(
        (), "Providers of secrets, used as ${name:path:key} in a value.", update=CLUSTER
    )

    # Listeners
    listeners: tuple[str, ...] = string_list(
        ("PLAINTEXT://:9092",),
        "Addresses that accept connections: NAME://HOST:PORT.",
        update=BROKER,
        not_empty=True,
    )
    advertised_listeners: tuple[str, ...] | None = string_list(
        None,
        "Addresses that clients connect to; the listeners themselves if unset.",
        not_empty=True,
    )
    listener_security_protocol_map: str = string(
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "The security protocol of each listener name.",
        update=BROKER,
    )
    inter_broker_listener_name: str | None = string(None, "The listener that brokers use.")
    security_inter_broker_protocol: str = string(
        "PLAINTEXT",
        "The protocol of the listener that brokers use, where that is not named.",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    )
    controller_listener_names: tuple[str, ...] = string_list(
        REQUIRED, "The listeners that belong to the controller."
    )

    # The controller's quorum
    controller_quorum_voters: tuple[str, ...] = string_list((), "The voters: ID@HOST:PORT.")
    controller_quorum_bootstrap_servers: tuple[str, ...] = string_list(
        (), "Addresses at which a node finds the quorum."
    )
    controller_quorum_append_linger_ms: int = int32(
        25, "Time for which the leader gathers records before it writes them.", low=0
    )
    controller_quorum_election_timeout_ms: int = int32(
        1000, "Time without a leader after which a voter starts an election.", low=0
    )
    controller_quorum_election_backoff_max_ms: int = int32(
        1000, "Longest pause after an election without a winner.", low=0
    )
    controller_quorum_fetch_timeout_ms: int = int32(
        2000, "Time without a successful fetch after which a follower searches for a leader.", low=0
    )
    controller_quorum_request_timeout_ms: int = int32(
        2000, "Longest wait for the response of another voter.", low=0
    )
    controller_quorum_retry_backoff_ms: int = int32(
        20, "Pause before a failed request is retried.", low=0
    )

    # Connections and requests
    num_network_threads: int = int32(3, "Processors of a listener.", low=1, update=CLUSTER)
    num_io_threads: int = int32(8, "Requests that are worked on at once.", low=1, update=CLUSTER)
    queued_max_requests: int = int32(500, "Requests that wait for a handler.", low=1)
    socket_listen_backlog_size: int = int32(
        50, "Connections that wait to be accepted, in the kernel.", low=1
    )
    socket_receive_buffer_bytes: int = int32(
        102400, "SO_RCVBUF of a connection; -1: the system's choice."
    )
    socket_send_buffer_bytes: int = int32(
        102400, "SO_SNDBUF of a connection; -1: the system's choice."
    )
    socket_request_max_bytes: int = int32(104857600, "The largest request.", low=1)
    connections_max_idle_ms: int = int64(600000, "Idle timeout of a connection.")
    request_timeout_ms: int = int32(30000, "Longest wait for the response of another node.")
    fetch_max_bytes: int = int32(57671680, "Largest fetch response.", low=1024)
    max_incremental_fetch_session_cache_slots: int = int32(
        1000, "Fetch sessions that are kept.", low=0
    )
    max_request_partition_size_limit: int = int32(
        2000, "Partitions in one answer of DescribeTopicPartitions.", low=1
    )

    # Authorization
    authorizer_class_name: str = string(
        "", "The class that authorizes requests.", check=check_authorizer_class
    )
    super_users: str = string(
        "", "Principals that may do everything, separated by semicolons.", check=split_super_users
    )
    allow_everyone_if_no_acl_found: bool = boolean(
        False, "Allows access to resources that have no ACL."
    )

    # Topics
    auto_create_topics_enable: bool = boolean(True, "Creates topics when clients ask for them.")
    delete_topic_enable: bool = boolean(True, "Allows the deletion of topics.")
    num_partitions: int = int32(1, "Default number of partitions of a new topic.", low=1)
    default_replication_factor: int = int32(1, "Default number of replicas of a new topic.")
    min_insync_replicas: int = int32(
        1, "In-sync replicas that acks=all needs.", low=1, update=CLUSTER
    )
    unclean_leader_election_enable: bool = boolean(
        False,
        "Allows a replica that is behind to become leader, which loses records.",
        update=CLUSTER,
    )
    message_max_bytes: int = int32(1048588, "The largest batch.", low=0, update=CLUSTER)
    max_decompressed_message_bytes: int = int32(
        2147483639,
        "The largest record of a compressed batch.",
        low=1,
        high=2147483639,
        update=CLUSTER,
    )
    compression_type: str = string(
        "producer", "The codec that batches are stored with.", choices=_CODECS, update=CLUSTER
    )
    compression_gzip_level: int = int32(
        -1, "Level of gzip; -1: its own default.", low=1, high=9, also=(-1,), update=CLUSTER
    )
    compression_lz4_level: int = int32(9, "Level of lz4.", low=1, high=17, update=CLUSTER)
    compression_zstd_level: int = int32(3, "Level of zstd.", low=-131072, high=22, update=CLUSTER)

    # Where data is
    log_dir: tuple[str, ...] = string_list(
        ("/tmp/kafka-logs",),  # noqa: S108 - Kafka's default
        "The data directory, where log.dirs is not set.",
        not_empty=True,
    )
    log_dirs: tuple[str, ...] | None = string_list(None, "The data directories.", not_empty=True)
    cordoned_log_dirs: tuple[str, ...] = string_list(
        (), "Directories that are given no new replicas; * is all of them.", update=BROKER
    )
    num_replica_alter_log_dirs_threads: int | None = int32(
        None, "Replicas that move between directories at once; one for each directory if unset."
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = int64(
        MAX_LONG,
        "The most that moves between directories write in a second.",
        low=0,
        update=CLUSTER,
    )
    metadata_log_dir: str | None = string(
        None, "Directory of the metadata log; the first data directory if unset."
    )
    log_dir_failure_timeout_ms: int = int64(
        30000, "Longest time until the controller knows of a failed directory.", low=1
    )
    num_recovery_threads_per_data_dir: int = int32(
        2, "Logs of one directory that are recovered at once.", low=1, update=CLUSTER
    )
    background_threads: int = int32(
        10, "Blocking calls on behalf of background jobs at once.", low=1, update=CLUSTER
    )

    # Logs, and the defaults of topics
    log_segment_bytes: int = int32(1073741824, "Size of a segment.", low=1048576, update=CLUSTER)
    log_roll_ms: int | None = int64(None, "Age of a segment.", update=CLUSTER, synonyms=_ROLL)
    log_roll_hours: int = int32(168, "Age of a segment.", low=1, synonyms=_ROLL)
    log_roll_jitter_ms: int | None = int64(
        None,
        "Largest random part that is taken off a segment's age.",
        update=CLUSTER,
        synonyms=_JITTER,
    )
    log_roll_jitter_hours: int = int32(
        0, "Largest random part that is taken off a segment's age.", low=0, synonyms=_JITTER
    )
    log_retention_ms: int | None = int64(
        None, "Retention time of records; -1: unlimited.", update=CLUSTER, synonyms=_RETENTION
    )
    log_retention_minutes: int | None = int32(
        None, "Retention time of records.", synonyms=_RETENTION
    )
    log_retention_hours: int = int32(168, "Retention time of records.", synonyms=_RETENTION)
    log_retention_bytes: int = int64(
        -1, "Largest size of a partition; -1: unlimited.", update=CLUSTER
    )
    log_retention_check_interval_ms: int = int64(
        300000, "Interval between searches for segments to delete.", low=1
    )
    log_cleanup_policy: tuple[str, ...] = string_list(
        ("delete",), "Treatment of old records.", choices=("compact", "delete"), update=CLUSTER
    )
    log_segment_delete_delay_ms: int = int64(
        60000, "Time until the files of a deleted segment are removed.", low=0, update=CLUSTER
    )
    log_index_interval_bytes: int = int32(
        4096, "Bytes of records for one entry of an index.", low=0, update=CLUSTER
    )
    log_index_size_max_bytes: int = int32(10485760, "Size of an index.", low=4, update=CLUSTER)
    log_preallocate: bool = boolean(
        False, "Allocates new segments in their whole size.", update=CLUSTER
    )
    log_message_timestamp_type: str = string(
        "CreateTime",
        "Source of records' timestamps: the producer or the broker.",
        choices=("CreateTime", "LogAppendTime"),
        update=CLUSTER,
    )
    log_message_timestamp_before_max_ms: int = int64(
        MAX_LONG, "Largest distance of a record's timestamp in the past.", low=0, update=CLUSTER
    )
    log_message_timestamp_after_max_ms: int = int64(
        3600000, "Largest distance of a record's timestamp in the future.", low=0, update=CLUSTER
    )
    log_flush_interval_messages: int = int64(
        MAX_LONG, "Number of records after which a log is synced.", low=1, update=CLUSTER
    )
    log_flush_interval_ms: int | None = int64(
        None, "Time after which a log is synced.", update=CLUSTER, synonyms=_FLUSH
    )
    log_flush_scheduler_interval_ms: int = int64(
        MAX_LONG, "Interval between checks whether a log must be synced."
    )
    log_flush_offset_checkpoint_interval_ms: int = int32(
        60000, "Interval between checkpoints of recovery points.", low=0
    )
    log_flush_start_offset_checkpoint_interval_ms: int = int32(
        60000, "Interval between checkpoints of log start offsets.", low=0
    )
    log_initial_task_delay_ms: int = int64(
        30000, "Pause before the first run of a log's periodic jobs.", low=0, internal=True
    )
    log_cleaner_enable: bool = boolean(True, "Compacted topics are compacted.")
    log_cleaner_threads: int = int32(1, "Logs that are compacted at a time.", low=0, update=CLUSTER)
    log_cleaner_backoff_ms: int = int64(
        15000,
        "Least time between two looks of a cleaner that found nothing to do.",
        low=0,
        update=CLUSTER,
    )
    log_cleaner_dedupe_buffer_size: int = int64(
        134217728, "Memory of all cleaners for the keys of a log.", update=CLUSTER
    )
    log_cleaner_io_buffer_load_factor: float = double(
        0.9, "Largest fill of that memory.", update=CLUSTER
    )
    log_cleaner_io_buffer_size: int = int32(
        524288, "Memory of all cleaners for reading and writing.", low=0, update=CLUSTER
    )
    log_cleaner_io_max_bytes_per_second: float = double(
        1.7976931348623157e308,
        "The most that cleaners read and write in a second.",
        update=CLUSTER,
    )
    log_cleaner_delete_retention_ms: int = int64(
        86400000, "Retention time of tombstones in a compacted topic.", low=0, update=CLUSTER
    )
    log_cleaner_min_compaction_lag_ms: int = int64(
        0, "Age below which a record is not compacted.", low=0, update=CLUSTER
    )
    log_cleaner_max_compaction_lag_ms: int = int64(
        MAX_LONG, "Age above which a record is compacted.", low=1, update=CLUSTER
    )
    log_cleaner_min_cleanable_ratio: float = double(
        0.5, "Uncompacted share of a log at which it is compacted.", low=0, high=1, update=CLUSTER
    )
    log_local_retention_ms: int = int64(
        -2, "Local retention time of tiered topics; -2: log.retention.ms.", low=-2, update=CLUSTER
    )
    log_local_retention_bytes: int = int64(
        -2,
        "Largest local size of a partition of a tiered topic; -2: log.retention.bytes.",
        low=-2,
        update=CLUSTER,
    )
    log_remote_copy_lag_ms: int = int64(
        0, "Delay before a sealed segment of a tiered topic is copied.", low=-1, update=CLUSTER
    )
    log_remote_copy_lag_bytes: int = int64(
        -1, "Size of a tiered topic's newest data that is not copied.", low=-1, update=CLUSTER
    )

    # Producers, transactions
    producer_id_expiration_ms: int = int32(
        86400000,
        "Time without a batch after which the state of a producer is dropped.",
        low=1,
        update=CLUSTER,
    )
    producer_id_expiration_check_interval_ms: int = int32(
        600000, "Interval between searches for expired producers.", low=1, internal=True
    )
    transaction_state_log_num_partitions: int = int32(
        50, "Partitions of the transactions topic.", low=1
    )
    transaction_state_log_replication_factor: int = int16(
        3, "Replicas of the transactions topic.", low=1
    )
    transaction_state_log_min_isr: int = int32(
        2, "In-sync replicas that the transactions topic needs.", low=1
    )
    transaction_state_log_segment_bytes: int = int32(
        104857600, "Size of a segment of the transactions topic.", low=1
    )
    transaction_state_log_load_buffer_size: int = int32(
        5242880, "Bytes that are read at once where transactions are loaded.", low=1
    )
    transaction_max_timeout_ms: int = int32(
        900000, "The longest timeout that a transaction may ask for.", low=1
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = int32(
        10000, "Interval between searches for transactions that timed out.", low=1
    )
    transactional_id_expiration_ms: int = int32(
        604800000, "Time without a change after which a transactional id is dropped.", low=1
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = int32(
        3600000, "Interval between searches for expired transactional ids.", low=1
    )
    transaction_partition_verification_enable: bool = boolean(
        True,
        "A produced batch is taken only if its partition is part of the transaction.",
        update=CLUSTER,
    )
    add_partitions_to_txn_retry_backoff_max_ms: int = int32(
        100,
        "Longest wait for the end of the transaction before, to add a partition to the next.",
        low=0,
    )

    # Replicas
    num_replica_fetchers: int = int32(
        1, "Fetchers for each broker that is followed.", low=1, update=CLUSTER
    )
    replica_fetch_backoff_ms: int = int32(1000, "Pause after a failed fetch.", low=0)
    replica_fetch_max_bytes: int = int32(
        1048576, "Largest size of one partition in a fetch.", low=0
    )
    replica_fetch_min_bytes: int = int32(1, "Size for which a follower's fetch waits.")
    replica_fetch_response_max_bytes: int = int32(10485760, "Largest fetch.", low=0)
    replica_fetch_wait_max_ms: int = int32(500, "Longest wait of a follower's fetch.")
    replica_high_watermark_checkpoint_interval_ms: int = int64(
        5000, "Interval between checkpoints of high watermarks."
    )
    replica_lag_time_max_ms: int = int64(
        30000, "Time behind the leader after which a follower leaves the in-sync replicas."
    )
    replica_socket_receive_buffer_bytes: int = int32(65536, "SO_RCVBUF of a fetcher.")
    replica_socket_timeout_ms: int = int32(30000, "Longest wait of a fetcher for a response.")

    # Life of a broker, and the metadata log
    broker_heartbeat_interval_ms: int = int32(2000, "Interval between heartbeats of a broker.")
    broker_session_timeout_ms: int = int32(
        9000, "Time without a heartbeat after which a broker is fenced."
    )
    initial_broker_registration_timeout_ms: int = int32(
        60000, "Longest time for the registration of a broker at its start."
    )
    controlled_shutdown_enable: bool = boolean(True, "Moves leaders away before a broker stops.")
    metadata_log_segment_bytes: int = int32(
        1073741824, "Size of a segment of the metadata log.", low=8388608
    )
    metadata_log_segment_ms: int = int64(604800000, "Age of a segment of the metadata log.")
    metadata_log_max_record_bytes_between_snapshots: int = int64(
        20971520, "Size of new metadata records after which a snapshot is written.", low=1
    )
    metadata_log_max_snapshot_interval_ms: int = int64(
        3600000, "Time after which a snapshot is written; 0: no limit.", low=0
    )
    metadata_max_idle_interval_ms: int = int32(
        500, "An idle controller writes a no-op so often; 0: never.", low=0
    )
    metadata_max_retention_bytes: int = int64(
        104857600, "Largest size of the metadata log and its snapshots."
    )
    metadata_max_retention_ms: int = int64(
        604800000, "Retention time of the metadata log and its snapshots."
    )
    unstable_api_versions_enable: bool = boolean(
        False, "Versions of APIs that are not final are served.", internal=True
    )

    @property
    def embedded(self) -> bool:
        """True without `process.roles`: one node on its own, with its controller in process."""
        return "process.roles" not in self.texts

    @property
    def directories(self) -> tuple[str, ...]:
        """Data directories, in order."""
        return self.log_dir if self.log_dirs is None else self.log_dirs

    @property
    def metadata_directory(self) -> str:
        """Directory of the metadata log."""
        return self.metadata_log_dir or self.directories[0]

    @property
    def endpoints(self) -> Listeners:
        """Resolved listeners, computed at each access."""
        listeners = resolve_listeners(
            listeners=self.listeners,
            advertised=self.advertised_listeners,
            protocol_map=self.listener_security_protocol_map,
            map_is_given="listener.security.protocol.map" in self.texts,
            controller_names=self.controller_listener_names,
            inter_broker_name=self.inter_broker_listener_name,
            inter_broker_protocol=self.security_inter_broker_protocol,
            voter=address_of(self.node_id, self.controller_quorum_voters),
        )
        control = self.control_plane_listener_name
        return with_control_plane(listeners, control) if control else listeners
