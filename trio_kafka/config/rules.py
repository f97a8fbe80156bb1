"""Rules across settings: contradictions, and settings that are rejected.

A setting that would be dangerous to ignore (encryption, principals, data placement) is rejected
while it is unsupported. The package `unsupported` has those that are accepted without an effect.
"""

from collections.abc import Mapping
from typing import Final

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import base_of
from trio_kafka.config.listener_rules import check_listeners
from trio_kafka.config.quorum import VOTERS, parse_voter
from trio_kafka.config.sasl import DELAY
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.topic import check_topic_defaults

_NO_JAVA: Final = "names a Java class, which this broker cannot run: leave it out"
_SECURITY: Final = "org.apache.kafka.common.security"
# Name to the reason why any value is rejected but the empty one, `false` and Kafka's own class.
REJECTED: Final = {
    "create.topic.policy.class.name": _NO_JAVA,
    "alter.config.policy.class.name": _NO_JAVA,
    "client.quota.callback.class": _NO_JAVA,
    "principal.builder.class": _NO_JAVA,
    "sasl.oauthbearer.jwt.validator.class": _NO_JAVA,
    "ssl.engine.factory.class": _NO_JAVA,
    "remote.log.storage.system.enable": "tiered storage is not supported yet: leave it out",
}
# Classes that do what is done here, by setting.
KAFKAS_OWN: Final[Mapping[str, tuple[str, ...]]] = {
    "principal.builder.class": (f"{_SECURITY}.authenticator.DefaultKafkaPrincipalBuilder",),
    "sasl.oauthbearer.jwt.validator.class": (
        f"{_SECURITY}.oauthbearer.DefaultJwtValidator",
        f"{_SECURITY}.oauthbearer.BrokerJwtValidator",
    ),
    "ssl.engine.factory.class": (f"{_SECURITY}.ssl.DefaultSslEngineFactory",),
}
CORDONED: Final = "cordoned.log.dirs"
ALL_DIRECTORIES: Final = "*"
_LEAST_DEDUPE: Final = 1 << 20


def reject_unsupported(name: str, text: str) -> None:
    """Raise ConfigError for an unsupported setting that must not be ignored.

    name: with or without a listener's prefix.
    """
    base, value = base_of(name), text.strip()
    harmless = value.lower() in ("", "false") or value in KAFKAS_OWN.get(base, ())
    if base in REJECTED and not harmless:
        raise ConfigError(name, REJECTED[base])


def check(config: BrokerConfig) -> None:
    """Raise ConfigError for the first broken rule."""
    _check_identity(config)
    _check_quorum(config)
    check_listeners(config)
    _check_times(config)
    _check_queued_bytes(config)
    _check_connections(config)
    _check_cleaners(config)
    _check_failed_authentication(config)
    _check_paths(config)
    check_cordoned(config)
    check_topic_defaults(config)


def _check_paths(config: BrokerConfig) -> None:
    """Raise ConfigError for a data directory whose name no file system can have."""
    for path in (*config.directories, config.metadata_directory):
        encodable = not any("\ud800" <= letter <= "\udfff" for letter in path)
        if "\0" in path or not encodable:
            raise ConfigError("log.dirs", f"{path!r} is not the name of a directory")


def check_cordoned(config: BrokerConfig) -> None:
    """Raise ConfigError for cordoned directories that are none of this broker's (KIP-1066)."""
    cordoned = config.cordoned_log_dirs
    if ALL_DIRECTORIES in cordoned and len(cordoned) > 1:
        raise ConfigError(CORDONED, f"{','.join(cordoned)}: want nothing beside *")
    unknown = [path for path in cordoned if path not in (ALL_DIRECTORIES, *config.directories)]
    if unknown:
        directories = ", ".join(config.directories)
        raise ConfigError(
            CORDONED, f"{unknown[0]} is not in log.dirs: want some of {directories}, or *"
        )


def _check_identity(config: BrokerConfig) -> None:
    if config.broker_id not in (-1, config.node_id):
        reason = f"{config.broker_id} is not node.id, which is {config.node_id}: leave it out"
        raise ConfigError("broker.id", reason)
    if set(config.process_roles) != {"broker", "controller"}:
        roles = ",".join(config.process_roles)
        reason = f"{roles!r}: a node has both roles for now: want broker,controller"
        raise ConfigError("process.roles", reason)


def _check_quorum(config: BrokerConfig) -> None:
    voters = config.controller_quorum_voters
    if not config.embedded:
        if not config.controller_listener_names:
            raise ConfigError(
                "controller.listener.names", "must not be empty: name a listener for the controller"
            )
        if not voters and not config.controller_quorum_bootstrap_servers:
            reason = "must be set, or controller.quorum.voters, since process.roles is set"
            raise ConfigError("controller.quorum.bootstrap.servers", reason)
    if len(voters) > 1:
        raise ConfigError(
            VOTERS, f"{len(voters)} voters: want one, since a cluster has one node for now"
        )
    for voter in voters:
        voter_id, _ = parse_voter(voter)
        if voter_id != config.node_id:
            reason = f"the voter is {voter_id}, but node.id is {config.node_id}: use one number"
            raise ConfigError(VOTERS, reason)
    servers = config.controller_quorum_bootstrap_servers
    if len(servers) > 1:
        reason = f"{len(servers)} servers: want one, since a cluster has one node for now"
        raise ConfigError("controller.quorum.bootstrap.servers", reason)


def _check_times(config: BrokerConfig) -> None:
    wait = config.replica_fetch_wait_max_ms
    if wait > config.replica_socket_timeout_ms:
        reason = (
            f"{wait} is above replica.socket.timeout.ms, so answers would come too late: lower it"
        )
        raise ConfigError("replica.fetch.wait.max.ms", reason)
    if wait > config.replica_lag_time_max_ms:
        reason = f"{wait} is above replica.lag.time.max.ms, so waiting would count as lag: lower it"
        raise ConfigError("replica.fetch.wait.max.ms", reason)
    if config.broker_heartbeat_interval_ms >= config.broker_session_timeout_ms:
        interval, session = config.broker_heartbeat_interval_ms, config.broker_session_timeout_ms
        reason = f"{interval} is not below broker.session.timeout.ms, which is {session}: lower it"
        raise ConfigError("broker.heartbeat.interval.ms", reason)


def _check_queued_bytes(config: BrokerConfig) -> None:
    queued, largest = config.queued_max_request_bytes, config.socket_request_max_bytes
    if 0 < queued < largest:
        reason = (
            f"{queued} is below socket.request.max.bytes, which is {largest}: raise it, or use -1"
        )
        raise ConfigError("queued.max.request.bytes", reason)


def _check_connections(config: BrokerConfig) -> None:
    overrides = "max.connections.per.ip.overrides"
    if config.max_connections_per_ip == 0 and not config.max_connections_per_ip_overrides:
        raise ConfigError(
            "max.connections.per.ip", f"0 rejects every connection: set {overrides} too"
        )


def _check_cleaners(config: BrokerConfig) -> None:
    threads, size = config.log_cleaner_threads, config.log_cleaner_dedupe_buffer_size
    if threads and size // threads <= _LEAST_DEDUPE:
        reason = f"{size} is too small for {threads} threads: each needs more than {_LEAST_DEDUPE}"
        raise ConfigError("log.cleaner.dedupe.buffer.size", reason)


def _check_failed_authentication(config: BrokerConfig) -> None:
    idle, delay = config.connections_max_idle_ms, config.connection_failed_authentication_delay_ms
    if 0 <= idle <= delay:
        reason = f"{delay} is not below connections.max.idle.ms, which is {idle}: lower it"
        raise ConfigError(DELAY, reason)
