"""Settings that Kafka does not have: they begin with `trio.`, but for one that it had until 3.9."""

from attrs import frozen

from trio_kafka.config.setting import int32, string
from trio_kafka.introspect.log import FORMATS, LEVELS


@frozen(kw_only=True)
class OwnSettings:
    """What `BrokerConfig` has beside Kafka's settings."""

    control_plane_listener_name: str | None = string(
        None, "The listener that has processors, handlers and a request channel of its own."
    )
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
    trio_request_lives: int = int32(
        16,
        "How many of the latest, and of the slowest, requests of each API are kept to be seen.",
        low=0,
        high=1000,
    )
    trio_watchdog_ms: int = int32(
        500,
        "How long one pass of the loop may last before who blocks it is named; 0: nobody watches.",
        low=10,
        also=(0,),
    )
