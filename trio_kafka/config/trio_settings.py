"""Settings that Kafka does not have: they begin with `trio.`, but for one that it had until 3.9."""

import re
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import CLUSTER, Outside, int32, string, texts
from trio_kafka.introspect.log import FORMATS, LEVELS

MOST_FILTERS: Final = 1000  # names of a filter that each request is compared with
_LONGEST_TOPIC: Final = 249
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]+")


def refuse_internal(topic: str) -> None:
    """Raise ValueError for a topic that belongs to the cluster: its name begins with `__`.

    A line of text in `__consumer_offsets` would be a damaged record to the group coordinator.
    """
    if topic.startswith("__"):
        raise ValueError(f"{topic!r} is an internal topic: want a name without leading '__'")


def check_destination(topic: str) -> None:
    """Raise ValueError unless `topic` can be a topic and the broker may write lines to it."""
    refuse_internal(topic)
    if topic in (".", "..") or len(topic) > _LONGEST_TOPIC or not _TOPIC.fullmatch(topic):
        raise ValueError(
            f"{topic[:_LONGEST_TOPIC]!r} is not a topic name: want 1 to {_LONGEST_TOPIC} ASCII"
            " letters, digits, '.', '_' and '-'"
        )


def _check_filter(items: tuple[str, ...]) -> None:
    if len(items) > MOST_FILTERS:
        raise ValueError(f"{len(items)} items: want at most {MOST_FILTERS}")


@frozen(kw_only=True, init=False, eq=False, repr=False)  # is never made alone
class TrioSettings:
    """What `BrokerConfig` has beside Kafka's settings."""

    control_plane_listener_name: str | None = string(
        None, "The listener that has processors, handlers and a request channel of its own."
    )
    trio_admin_request_max_bytes: int = int32(
        1048576,
        "The largest request of an API that declares no size of its own, as Produce does.",
        low=1024,
    )
    trio_fetch_session_max_partitions: int = int32(
        250000,
        "Partitions that all fetch sessions remember together; clients beyond it have no session.",
        low=0,
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
    trio_request_log: str = string(
        "off",
        "Where requests are logged when they are answered.",
        choices=("off", "file", "topic"),
        update=CLUSTER,
    )
    trio_request_log_apis: tuple[str, ...] = texts(
        (),
        "Names or keys of the APIs whose requests are logged; none: of all.",
        update=CLUSTER,
        check=_check_filter,
    )
    trio_request_log_clients: tuple[str, ...] = texts(
        (),
        "Client ids whose requests are logged, or their beginnings with a *; none: of all.",
        update=CLUSTER,
        check=_check_filter,
    )
    trio_request_log_file: str | None = string(
        None,
        "The file of the request log, if it is one. It is set at the start only.",
        names=Outside.FILE,
    )
    trio_request_log_topic: str = string(
        "trio-request-log",
        "The topic of the request log, if it is one. Internal topics are refused.",
        update=CLUSTER,
        check=check_destination,
    )
    trio_request_log_queue: int = int32(
        10000,
        "Requests that wait to be logged; more are not logged, and counted.",
        low=1,
        high=1000000,
    )
    trio_request_lives: int = int32(
        16,
        "How many of the latest, and of the slowest, requests of each API are kept to be seen.",
        low=0,
        high=1000,
    )
    trio_socket_buffer_max_bytes: int = int32(
        2097152,
        "What SO_SNDBUF and SO_RCVBUF grow to where a connection moves more at once; 0: nothing.",
        low=0,
    )
    trio_watchdog_ms: int = int32(
        500,
        "How long one pass of the loop may last before who blocks it is named; 0: nobody watches.",
        low=10,
        also=(0,),
    )
