"""Settings of transactions and their coordinator."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import CLUSTER, boolean, int32


@frozen(kw_only=True)
class TransactionSettings:
    """Settings of transactions and their coordinator."""

    add_partitions_to_txn_retry_backoff_max_ms: int = int32(
        100, "Longest pause before a partition is added to a transaction again.", low=0
    )
    add_partitions_to_txn_retry_backoff_ms: int = int32(
        20, "First pause before a partition is added to a transaction again.", low=1
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = int32(
        10000, "Interval between searches for transactions that timed out.", low=1
    )
    transaction_max_timeout_ms: int = int32(
        900000, "The longest timeout that a transaction may ask for.", low=1
    )
    transaction_partition_verification_enable: bool = boolean(
        True,
        "A produced batch is taken only if its partition is part of the transaction.",
        update=CLUSTER,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = int32(
        3600000, "Interval between searches for expired transactional ids.", low=1
    )
    transaction_state_log_load_buffer_size: int = int32(
        5242880, "Bytes that are read at once where transactions are loaded.", low=1
    )
    transaction_two_phase_commit_enable: bool = boolean(
        False, "Transactions may wait for a commit that is decided elsewhere."
    )
    transactional_id_expiration_ms: int = int32(
        604800000, "Time without a change after which a transactional id is dropped.", low=1
    )
