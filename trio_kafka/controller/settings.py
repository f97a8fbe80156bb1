"""The settings of brokers that decisions read: Kafka's names, Kafka's defaults."""

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class ControllerSettings:
    """See docs of the same names in the broker's configuration."""

    num_partitions: int = 1
    default_replication_factor: int = 1
    min_insync_replicas: int = 1
    delete_topic_enable: bool = True
    broker_session_timeout_ms: int = 9_000
