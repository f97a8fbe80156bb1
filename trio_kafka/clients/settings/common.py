"""Settings that producers, consumers and admin clients have in common.

One field is one setting: `retry.backoff.ms` is `retry_backoff_ms`. A test compares the fields with
Apache Kafka 4.4.0. Settings that are fields of no client have their reason in `without_effect`.
"""

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.jaas import parse_jaas
from trio_kafka.config.oauth_login import OauthLoginSettings
from trio_kafka.config.setting import (
    REQUIRED,
    boolean,
    int32,
    int64,
    password,
    string,
    string_list,
)
from trio_kafka.peers.backoff import Backoff


@frozen(kw_only=True)
class ClientSettings(OauthLoginSettings):
    """Settings of every client."""

    written: frozenset[str] = field(default=frozenset(), eq=False, repr=False)
    """Names of the settings that the user has written down."""

    bootstrap_servers: tuple[str, ...] = string_list(
        REQUIRED, "Addresses at which the client finds the cluster: host:port.", not_empty=True
    )
    client_dns_lookup: str = string(
        "use_all_dns_ips",
        "Whether bootstrap names stand for the canonical names of all their addresses.",
        choices=("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    )
    client_id: str = string("", "Name of the client in requests, logs and quotas.")
    security_protocol: str = string(
        "PLAINTEXT",
        "Protocol of the connections.",
        choices=("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"),
        any_case=True,
    )
    sasl_mechanism: str = string("GSSAPI", "Mechanism by which the client proves its user.")
    sasl_jaas_config: str | None = password(
        None, "The login of the client, in JAAS form.", check=parse_jaas
    )
    metadata_max_age_ms: int = int64(
        300000, "Age at which metadata are refreshed without another reason.", low=0
    )
    metadata_recovery_strategy: str = string(
        "rebootstrap",
        "What to do when no known broker is available: rebootstrap, or none.",
        choices=("REBOOTSTRAP", "NONE"),
        any_case=True,
    )
    metadata_recovery_rebootstrap_trigger_ms: int = int64(
        300000, "Time without metadata after which the bootstrap addresses are used again.", low=0
    )
    reconnect_backoff_ms: int = int64(50, "Pause after the first failed connection.", low=0)
    reconnect_backoff_max_ms: int = int64(1000, "Longest pause between two connections.", low=0)
    retry_backoff_ms: int = int64(100, "Pause before the first retry of a request.", low=0)
    retry_backoff_max_ms: int = int64(1000, "Longest pause before a retry.", low=0)
    request_timeout_ms: int = int32(30000, "Longest wait for the response to a request.", low=0)
    connections_max_idle_ms: int = int64(540000, "Idle timeout of a connection.")
    socket_connection_setup_timeout_ms: int = int64(10000, "Time for a new connection.")
    socket_connection_setup_timeout_max_ms: int = int64(
        30000, "Longest time for a new connection, after failures."
    )
    send_buffer_bytes: int = int32(
        131072, "SO_SNDBUF of a connection; -1: the system's choice.", low=-1
    )
    receive_buffer_bytes: int = int32(
        65536, "SO_RCVBUF of a connection; -1: the system's choice.", low=-1
    )

    enable_metrics_push: bool = boolean(
        True, "Metrics are pushed to brokers that have subscribed to them (KIP-714)."
    )
    metrics_num_samples: int = int32(2, "Windows over which rates and averages go.", low=1)
    metrics_sample_window_ms: int = int64(30000, "Length of such a window.", low=0)

    @property
    def reconnect_backoff(self) -> Backoff:
        """Pauses between connections to one broker."""
        return Backoff(self.reconnect_backoff_ms / 1000, self.reconnect_backoff_max_ms / 1000)

    @property
    def retry_backoff(self) -> Backoff:
        """Pauses between attempts of a request (KIP-580)."""
        return Backoff(self.retry_backoff_ms / 1000, self.retry_backoff_max_ms / 1000)

    @property
    def request_timeout_s(self) -> float:
        return self.request_timeout_ms / 1000
