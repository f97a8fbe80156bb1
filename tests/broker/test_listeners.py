from math import inf

from tests.broker.kit import config_of
from trio_kafka.broker.listeners import advertised_endpoints, control_settings, listener_settings
from trio_kafka.model import Endpoint

TWO = {
    "listeners": "ONE://:0,TWO://127.0.0.1:9093",
    "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT",
    "inter.broker.listener.name": "ONE",
}


def test_listeners_are_read_from_the_settings_in_their_order() -> None:
    first, second = listener_settings(
        config_of(
            {
                **TWO,
                "socket.request.max.bytes": "1000",
                "socket.listen.backlog.size": "9",
                "socket.send.buffer.bytes": "-1",
                "socket.receive.buffer.bytes": "4096",
                "trio.socket.buffer.max.bytes": "8192",
                "connections.max.idle.ms": "1500",
                "num.network.threads": "5",
                "listener.name.two.num.network.threads": "2",
            }
        )
    )

    assert (first.name, first.host, first.port) == ("ONE", "", 0)
    assert (second.name, second.host, second.port) == ("TWO", "127.0.0.1", 9093)
    assert first.security_protocol == "PLAINTEXT"
    assert (first.processors, second.processors) == (5, 2)
    assert (first.largest_frame, first.idle_s, first.backlog) == (1000, 1.5, 9)
    assert (first.send_buffer, first.receive_buffer, first.largest_buffer) == (None, 4096, 8192)


def test_connections_max_idle_ms_of_minus_1_never_closes_idle_connections() -> None:
    (listener,) = listener_settings(config_of({"connections.max.idle.ms": "-1"}))

    assert listener.idle_s == inf


def test_advertised_endpoint_defaults_to_the_bound_port_and_the_machine_name() -> None:
    bound = {"TWO": Endpoint("127.0.0.1", 9093), "ONE": Endpoint("0.0.0.0", 40001)}

    first, second = advertised_endpoints(config_of(TWO), bound, "here")

    assert (first.name, first.host, first.port, first.security_protocol) == (
        "ONE",
        "here",
        40001,
        0,
    )
    assert (second.name, second.host, second.port) == ("TWO", "127.0.0.1", 9093)


def test_advertised_listeners_override_bound_addresses() -> None:
    config = config_of({"advertised.listeners": "PLAINTEXT://kafka.example:29092"})

    (endpoint,) = advertised_endpoints(config, {"PLAINTEXT": Endpoint("127.0.0.1", 40001)}, "")

    assert (endpoint.host, endpoint.port) == ("kafka.example", 29092)


def test_control_plane_listener_belongs_to_no_other_plane_and_has_one_processor() -> None:
    config = config_of({**TWO, "control.plane.listener.name": "two", "num.network.threads": "5"})

    control = control_settings(config)

    assert control is not None
    assert (control.name, control.port, control.processors) == ("TWO", 9093, 1)
    assert [setting.name for setting in listener_settings(config)] == ["ONE"]
    assert control_settings(config_of(TWO)) is None
