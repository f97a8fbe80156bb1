"""Settings of trio-kafka that Kafka does not have, and one that Kafka had until 3.9.

All but that one begin with `trio.`.
"""

import re
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import CLUSTER, Outside, int32, string, string_list
from trio_kafka.config.tls import TlsBrokerSettings
from trio_kafka.introspect.log import FORMATS, LEVELS

VALIDATIONS: Final = ("auto", "header", "full")
MOST_FILTERS: Final = 1000  # names of a filter that each request is compared with
_LONGEST_TOPIC: Final = 249
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]+")


def reject_internal_topic(topic: str) -> None:
    """Raise ValueError for an internal topic, whose name begins with `__`.

    A line of text in `__consumer_offsets` would be a damaged record to the group coordinator.
    """
    if topic.startswith("__"):
        raise ValueError(f"{topic!r} is an internal topic: want a name without leading '__'")


def check_destination(topic: str) -> None:
    """Raise ValueError unless `topic` is a valid name of a topic for lines of text."""
    reject_internal_topic(topic)
    if topic in (".", "..") or len(topic) > _LONGEST_TOPIC or not _TOPIC.fullmatch(topic):
        raise ValueError(
            f"{topic[:_LONGEST_TOPIC]!r} is not a topic name: want 1 to {_LONGEST_TOPIC} ASCII"
            " letters, digits, '.', '_' and '-'"
        )


def _check_filter(items: tuple[str, ...]) -> None:
    if len(items) > MOST_FILTERS:
        raise ValueError(f"{len(items)} items: want at most {MOST_FILTERS}")


@frozen(kw_only=True, init=False, eq=False, repr=False)  # is never made alone
class TrioSettings(TlsBrokerSettings):
    """Settings of `BrokerConfig` besides Kafka's."""

    control_plane_listener_name: str | None = string(
        None, "Listener with its own processors, handlers and request channel."
    )
    trio_admin_request_max_bytes: int = int32(
        1048576,
        "Largest request of an API without a size of its own, such as that of Produce.",
        low=1024,
    )
    trio_disk_warning_percent: int = int32(
        10,
        "Free space of a log directory below which a warning is logged, percent; 0: never.",
        low=0,
        high=99,
        update=CLUSTER,
    )
    trio_fetch_session_max_partitions: int = int32(
        250000,
        "Partitions in all fetch sessions together; clients beyond it get no session.",
        low=0,
    )
    trio_log_format: str = string(
        "text", "Format of the broker's own log: text for people, or JSON.", choices=FORMATS
    )
    trio_log_level: str = string(
        "INFO", "Lowest level of events in the broker's own log.", choices=LEVELS
    )
    trio_record_validation: str = string(
        "auto",
        "Check of produced records: batch headers and CRC only, or every record as in Kafka. auto:"
        " every record if the compiled leaf is installed, see `trio-kafka --version`.",
        choices=VALIDATIONS,
    )
    trio_request_log: str = string(
        "off",
        "Destination of the request log.",
        choices=("off", "file", "topic"),
        update=CLUSTER,
    )
    trio_request_log_apis: tuple[str, ...] = string_list(
        (),
        "Names or keys of the APIs to log; empty: all.",
        update=CLUSTER,
        check=_check_filter,
    )
    trio_request_log_clients: tuple[str, ...] = string_list(
        (),
        "Client ids to log, or prefixes that end with *; empty: all.",
        update=CLUSTER,
        check=_check_filter,
    )
    trio_request_log_file: str | None = string(
        None,
        "File of the request log. Read at the start only.",
        names=Outside.FILE,
    )
    trio_request_log_topic: str = string(
        "trio-request-log",
        "Topic of the request log. Internal topics are rejected.",
        update=CLUSTER,
        check=check_destination,
    )
    trio_request_log_queue: int = int32(
        10000,
        "Bound of the queue of requests to log; requests beyond it are counted, not logged.",
        low=1,
        high=1000000,
    )
    trio_request_lives: int = int32(
        16,
        "Number of latest, and of slowest, requests that are kept for each API.",
        low=0,
        high=1000,
    )
    trio_socket_buffer_max_bytes: int = int32(
        2097152,
        "Largest SO_SNDBUF and SO_RCVBUF of a busy connection; 0: they do not grow.",
        low=0,
    )
    trio_watchdog_ms: int = int32(
        500,
        "Duration of one pass of the loop after which the blocking code is logged; 0: never.",
        low=10,
        also=(0,),
    )
