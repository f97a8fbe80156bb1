"""Settings of the listeners, for the planes and for the registration of the broker."""

from collections.abc import Mapping

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.endpoints import NamedEndpoint
from trio_kafka.config.listener_overrides import value_for
from trio_kafka.metadata.image import ListenerEndpoint
from trio_kafka.model import Endpoint
from trio_kafka.network.settings import ListenerSettings


def listener_settings(config: BrokerConfig) -> list[ListenerSettings]:
    """Return the listeners of the data plane, in the order of the settings."""
    endpoints = config.endpoints
    return [
        _settings(config, listener, int(str(value_for(config, listener.name, _PROCESSORS))))
        for listener in endpoints.broker
        if listener.name != endpoints.control
    ]


def control_settings(config: BrokerConfig) -> ListenerSettings | None:
    """Return the listener of the control plane, which has one processor; None without
    such a plane.
    """
    endpoints = config.endpoints
    for listener in endpoints.broker:
        if listener.name == endpoints.control:
            return _settings(config, listener, 1)
    return None


def advertised_endpoints(
    config: BrokerConfig, bound: Mapping[str, Endpoint], host_name: str
) -> list[ListenerEndpoint]:
    """Return the advertised listeners; port 0 becomes the bound port, no host the machine's name.

    bound: the bound addresses by listener name.
    """
    return [
        ListenerEndpoint(
            advertised.name,
            advertised.endpoint.host or host_name,
            advertised.endpoint.port or bound[advertised.name].port,
            advertised.protocol.value,
        )
        for advertised in config.endpoints.advertised
    ]


_PROCESSORS = "num.network.threads"


def _settings(config: BrokerConfig, listener: NamedEndpoint, processors: int) -> ListenerSettings:
    idle_ms = config.connections_max_idle_ms
    return ListenerSettings(
        name=listener.name,
        security_protocol=listener.protocol.name,
        host=listener.endpoint.host,
        port=listener.endpoint.port,
        processors=processors,
        largest_frame=config.socket_request_max_bytes,
        largest_common_frame=config.trio_admin_request_max_bytes,
        idle_s=idle_ms / 1000 if idle_ms >= 0 else float("inf"),
        backlog=config.socket_listen_backlog_size,
        send_buffer=_size(config.socket_send_buffer_bytes),
        receive_buffer=_size(config.socket_receive_buffer_bytes),
        largest_buffer=config.trio_socket_buffer_max_bytes,
    )


def _size(setting: int) -> int | None:
    """Return a buffer size; None (for -1) leaves it to the system."""
    return None if setting < 0 else setting
