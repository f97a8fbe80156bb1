"""Settings of the transaction coordinator."""

from trio_kafka.config.load import broker_config
from trio_kafka.coordinators.transactions.settings import (
    DEFAULT_TRANSACTION_SETTINGS,
    TransactionSettings,
    transaction_settings,
)


def test_default_settings_equal_the_broker_defaults() -> None:
    assert transaction_settings(broker_config({})) == DEFAULT_TRANSACTION_SETTINGS


def test_settings_are_read_from_the_broker_configuration() -> None:
    config = broker_config(
        {
            "transaction.max.timeout.ms": "1",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "2",
            "transactional.id.expiration.ms": "3",
            "transaction.remove.expired.transaction.cleanup.interval.ms": "4",
            "add.partitions.to.txn.retry.backoff.max.ms": "5",
        }
    )

    assert transaction_settings(config) == TransactionSettings(
        longest_timeout_ms=1,
        time_out_check_ms=2,
        id_expiration_ms=3,
        expiry_check_ms=4,
        longest_wait_ms=5,
    )
