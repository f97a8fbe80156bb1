"""Settings that Kafka does not have: all of them begin with `trio.`."""

from attrs import frozen

from trio_kafka.config.setting import string
from trio_kafka.introspect.log import FORMATS, LEVELS


@frozen(kw_only=True)
class OwnSettings:
    """What `BrokerConfig` has beside Kafka's settings."""

    trio_log_format: str = string(
        "text", "How the broker's own log is written: for people, or as JSON.", choices=FORMATS
    )
    trio_log_level: str = string(
        "INFO", "The least severe events that the broker's own log has.", choices=LEVELS
    )
    trio_record_validation: str = string(
        "header",
        "How far produced records are checked: batch headers and CRC, or every record.",
        choices=("header", "full"),
    )
