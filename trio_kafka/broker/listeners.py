"""Listeners as the planes take them, and as the cluster is told of them."""

from collections.abc import Sequence

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.metadata.image import ListenerEndpoint
from trio_kafka.model import Endpoint
from trio_kafka.network.settings import ListenerSettings


def listener_settings(config: BrokerConfig, processors: int) -> list[ListenerSettings]:
    """The broker's listeners, in the order of the settings. processors: num.network.threads."""
    idle_ms = config.connections_max_idle_ms
    return [
        ListenerSettings(
            name=listener.name,
            security_protocol=listener.protocol.name,
            host=listener.endpoint.host,
            port=listener.endpoint.port,
            processors=processors,
            largest_frame=config.socket_request_max_bytes,
            idle_s=idle_ms / 1000 if idle_ms >= 0 else float("inf"),
            backlog=config.socket_listen_backlog_size,
            send_buffer=_size(config.socket_send_buffer_bytes),
            receive_buffer=_size(config.socket_receive_buffer_bytes),
        )
        for listener in config.endpoints.broker
    ]


def advertised_endpoints(
    config: BrokerConfig, bound: Sequence[Endpoint], host_name: str
) -> list[ListenerEndpoint]:
    """What clients are told: port 0 is the port that was bound, no host is this machine's name.

    bound: the addresses of the listeners, in the order of the settings.
    """
    ports = {
        listener.name: address.port
        for listener, address in zip(config.endpoints.broker, bound, strict=True)
    }
    return [
        ListenerEndpoint(
            told.name,
            told.endpoint.host or host_name,
            told.endpoint.port or ports[told.name],
            told.protocol.value,
        )
        for told in config.endpoints.advertised
    ]


def _size(setting: int) -> int | None:
    """-1 leaves it to the system."""
    return None if setting < 0 else setting
