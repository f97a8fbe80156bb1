"""Settings of the transaction coordinator."""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.broker import BrokerConfig


@frozen(kw_only=True)
class TransactionSettings:
    """Settings in force. Times are in ms.

    longest_timeout_ms: `transaction.max.timeout.ms`. time_out_check_ms: interval between searches
    for transactions that are too old. id_expiration_ms: time without a change after which an id is
    removed. expiry_check_ms: interval between searches for such ids. longest_wait_ms: for the end
    of the transaction before, until a request that adds partitions is answered with an error.
    """

    longest_timeout_ms: int = 900_000
    time_out_check_ms: int = 10_000
    id_expiration_ms: int = 604_800_000
    expiry_check_ms: int = 3_600_000
    longest_wait_ms: int = 100


DEFAULT_TRANSACTION_SETTINGS: Final = TransactionSettings()


def transaction_settings(config: BrokerConfig) -> TransactionSettings:
    """Return the settings of a broker."""
    return TransactionSettings(
        longest_timeout_ms=config.transaction_max_timeout_ms,
        time_out_check_ms=config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
        id_expiration_ms=config.transactional_id_expiration_ms,
        expiry_check_ms=config.transaction_remove_expired_transaction_cleanup_interval_ms,
        longest_wait_ms=config.add_partitions_to_txn_retry_backoff_max_ms,
    )
