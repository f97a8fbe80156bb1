"""Settings of the producer."""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.config.setting import (
    ConfigError,
    boolean,
    int32,
    int64,
    string,
    string_list,
)
from trio_kafka.config.values import MAX_INT
from trio_kafka.records.compression import Codec

MOST_IDEMPOTENT_IN_FLIGHT: Final = 5  # batches of a producer that a broker remembers
_ACKS: Final = {"all": -1, "-1": -1, "0": 0, "1": 1}


@frozen(kw_only=True)
class ProducerSettings(ClientSettings):
    """Settings of a producer. `checked` has the rules between several settings."""

    receive_buffer_bytes: int = int32(
        32768, "SO_RCVBUF of a connection; -1: the system's choice.", low=-1
    )
    acks: str = string(
        "all",
        "Replicas that must have a batch before it counts as written.",
        choices=("all", "-1", "0", "1"),
    )
    batch_size: int = int32(16384, "Size at which a batch is full.", low=0)
    buffer_memory: int = int64(33554432, "Memory for records that are not acknowledged.", low=0)
    compression_type: str = string(
        "none", "Codec of batches.", choices=("none", "gzip", "snappy", "lz4", "zstd")
    )
    compression_gzip_level: int = int32(
        -1, "Level of gzip; -1: its own default.", low=1, high=9, also=(-1,)
    )
    compression_lz4_level: int = int32(9, "Level of lz4.", low=1, high=17)
    compression_zstd_level: int = int32(3, "Level of zstd.", low=-131072, high=22)
    delivery_timeout_ms: int = int32(
        120000, "Time for all attempts of a record, from `send` on.", low=0
    )
    enable_idempotence: bool = boolean(True, "Retries never write a record twice.")
    interceptor_classes: tuple[str, ...] = string_list(
        (), "Interceptors: dotted names of classes, or objects."
    )
    linger_ms: int = int64(5, "Time for which a batch waits for more records.", low=0)
    max_block_ms: int = int64(60000, "Longest wait of `send` for metadata and memory.", low=0)
    max_in_flight_requests_per_connection: int = int32(
        5, "Requests to one broker that wait for their responses.", low=1
    )
    max_request_size: int = int32(1048576, "Largest request, and largest record.", low=0)
    metadata_max_idle_ms: int = int64(
        300000, "Time without a record after which the metadata of a topic are dropped.", low=5000
    )
    partitioner_adaptive_partitioning_enable: bool = boolean(
        True, "Partitions of slow brokers get fewer records without a key (KIP-794)."
    )
    partitioner_ignore_keys: bool = boolean(False, "Keys do not decide the partition.")
    retries: int = int32(MAX_INT, "Attempts after the first one.", low=0, high=MAX_INT)
    transaction_timeout_ms: int = int32(
        60000, "Time after which the broker aborts an open transaction."
    )
    transactional_id: str | None = string(
        None, "Name of the producer in transactions; unset: no transactions.", not_empty=True
    )

    @property
    def acks_number(self) -> int:
        """Value of `acks` in requests: -1, 0 or 1."""
        return _ACKS[self.acks]

    @property
    def codec(self) -> Codec:
        return Codec[self.compression_type.upper()]

    @property
    def level(self) -> int | None:
        """Compression level; None: the codec has none."""
        levels = {
            Codec.GZIP: self.compression_gzip_level,
            Codec.LZ4: self.compression_lz4_level,
            Codec.ZSTD: self.compression_zstd_level,
        }
        return levels.get(self.codec)

    @property
    def is_idempotent(self) -> bool:
        """True if batches have sequence numbers.

        The default gives way to other settings that exclude it, as in Kafka (KIP-679).
        """
        if not self.enable_idempotence:
            return False
        return "enable.idempotence" in self.written or (
            self.acks_number == -1
            and self.retries > 0
            and self.max_in_flight_requests_per_connection <= MOST_IDEMPOTENT_IN_FLIGHT
        )

    @property
    def delivery_timeout_s(self) -> float:
        """Time for all attempts: the default is no shorter than one attempt and its linger."""
        least_ms = self.linger_ms + self.request_timeout_ms
        if "delivery.timeout.ms" in self.written:
            least_ms = 0
        return max(self.delivery_timeout_ms, least_ms) / 1000


def check_producer(settings: ProducerSettings) -> None:
    """Raise ConfigError for settings that contradict one another. Source: ProducerConfig."""
    if settings.is_idempotent or settings.transactional_id is not None:
        _check_idempotence(settings)
    least_ms = settings.linger_ms + settings.request_timeout_ms
    if "delivery.timeout.ms" in settings.written and settings.delivery_timeout_ms < least_ms:
        reason = f"{settings.delivery_timeout_ms} is too small: want at least linger.ms + "
        raise ConfigError("delivery.timeout.ms", f"{reason}request.timeout.ms, {least_ms}")


def _check_idempotence(settings: ProducerSettings) -> None:
    if not settings.is_idempotent:
        reason = (
            "transactions need enable.idempotence=true, acks=all, retries and at most 5 in flight"
        )
        raise ConfigError("transactional.id", reason)
    name = "enable.idempotence"
    if settings.acks_number != -1:
        raise ConfigError(name, f"needs acks=all, not {settings.acks}: set one of both")
    if settings.retries == 0:
        raise ConfigError(name, "needs retries: set one of both")
    if settings.max_in_flight_requests_per_connection > MOST_IDEMPOTENT_IN_FLIGHT:
        reason = "needs max.in.flight.requests.per.connection of at most 5"
        raise ConfigError(name, reason)
