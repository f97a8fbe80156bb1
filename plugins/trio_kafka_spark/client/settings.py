"""Settings of a client, from the `kafka.*` options of a Spark reader or writer.

A ClientSettings is a value: it is made on the driver, pickled with each task, and opens nothing.
Defaults are Kafka's, except for fetch sizes, which suit whole-partition reads.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.model import Endpoint
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.client.options import KAFKA_OPTIONS, KafkaOption, Use
from trio_kafka_spark.client.secret import Secret, resolve
from trio_kafka_spark.client.security import Security

PREFIX: Final = "kafka."
BOOTSTRAP: Final = "kafka.bootstrap.servers"
POLL_TIMEOUT: Final = "kafkaconsumer.polltimeoutms"
_IGNORED_PREFIXES: Final = ("config.providers.",)


@frozen(kw_only=True)
class WriteSettings:
    """Producer settings; a write is idempotent and acknowledged by all in-sync replicas."""

    batch_bytes: int = 128 << 10
    compression: str = "none"
    gzip_level: int | None = None
    lz4_level: int | None = None
    zstd_level: int | None = None
    in_flight: int = 5
    largest_request: int = 1 << 20
    buffer_bytes: int = 32 << 20
    delivery_timeout_ms: int = 120_000
    max_block_ms: int = 60_000
    ignore_keys: bool = False

    @property
    def compression_level(self) -> int | None:
        """Level of the codec in use; None: the codec's own default."""
        levels = {"gzip": self.gzip_level, "lz4": self.lz4_level, "zstd": self.zstd_level}
        return levels.get(self.compression)


@frozen(kw_only=True)
class ClientSettings:
    """All that a client needs to reach a cluster. No password is in its repr.

    fetch_bytes: bytes asked of one partition in one Fetch; a larger batch is still read.
    poll_timeout_ms: how long a read may wait for records that should be there.
    """

    bootstrap: tuple[Endpoint, ...]
    client_id: str = "trio-kafka-spark"
    security: Security = field(factory=Security)
    read_committed: bool = False
    request_timeout_ms: int = 30_000
    api_timeout_ms: int = 60_000
    connect_timeout_ms: int = 10_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1000
    metadata_max_age_ms: int = 300_000
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    fetch_bytes: int = 8 << 20
    fetch_max_bytes: int = 50 << 20
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    poll_timeout_ms: int = 120_000
    check_crcs: bool = True
    exclude_internal_topics: bool = True
    writing: WriteSettings = field(factory=WriteSettings)

    @classmethod
    def from_options(cls, options: Mapping[str, str], *, for_writing: bool = False) -> Self:
        """Settings from the `kafka.*` options, in any case; other options are left alone.

        `kafkaConsumer.pollTimeoutMs` is read here too. Raises OptionError for an option that is
        unknown or refused, for a value that is malformed, and where there is no address.
        """
        values: dict[str, Any] = dict(_parsed(options, for_writing=for_writing))
        if "bootstrap" not in values:
            client = "producer" if for_writing else "consumer"
            raise OptionError(BOOTSTRAP, f"must be specified for configuring Kafka {client}")
        parts: dict[str, Any] = {
            "security": Security.from_values(_taken(values, "security.")),
            "writing": WriteSettings(**_taken(values, "writing.")),
        }
        return cls(**values, **parts)


def _parsed(options: Mapping[str, str], *, for_writing: bool) -> Iterator[tuple[str, object]]:
    for key, value in options.items():
        lower = key.lower()
        if lower == POLL_TIMEOUT:
            yield "poll_timeout_ms", _value(key, _POLL_TIMEOUT, value)
        if not lower.startswith(PREFIX):
            continue
        name = lower.removeprefix(PREFIX)
        option = KAFKA_OPTIONS.get(name)
        if option is None:
            if not name.startswith(_IGNORED_PREFIXES):
                raise OptionError(key, _unknown(name))
        elif option.is_refused(for_writing=for_writing):
            raise OptionError(key, f"is not supported: {option.note}")
        elif option.target is not None:
            yield option.target, _value(key, option, value)


def _value(key: str, option: KafkaOption, value: str) -> object:
    if option.secret:
        return Secret(key, value)
    try:
        return option.parse(resolve(key, value))
    except OptionError:
        raise
    except ValueError as error:
        raise OptionError(key, str(error)) from None


def _taken(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Move the values whose names begin with `prefix` into a dict of their own."""
    names = [name for name in values if name.startswith(prefix)]
    return {name.removeprefix(prefix): values.pop(name) for name in names}


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, KAFKA_OPTIONS, n=1)
    return (
        f"is no setting of a Kafka client; did you mean {PREFIX}{near[0]}?"
        if near
        else ("is no setting of a Kafka client")
    )


_POLL_TIMEOUT: Final = KafkaOption(
    name=POLL_TIMEOUT, use=Use.HONOURED, target="poll_timeout_ms", note=""
)
