"""Listeners of a node: names, protocols and addresses that belong together, or are refused."""

import pytest

from trio_kafka.config.endpoints import SecurityProtocol
from trio_kafka.config.listeners import check_early_start, resolve_listeners, with_control_plane
from trio_kafka.config.setting import ConfigError
from trio_kafka.model import Endpoint

MAP = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"

PLAIN = "PLAINTEXT:PLAINTEXT,SSL:PLAINTEXT"


def resolve(*listeners, **others):
    arguments = {
        "advertised": None,
        "protocol_map": MAP,
        "map_is_given": False,
        "controller_names": (),
        "inter_broker_name": None,
        "inter_broker_protocol": "PLAINTEXT",
    }
    return resolve_listeners(listeners=listeners, **(arguments | others))


def shown(endpoints):
    return [str(endpoint) for endpoint in endpoints]


def test_the_default_listener_serves_clients_and_brokers():
    resolved = resolve("PLAINTEXT://:9092")

    assert shown(resolved.broker) == shown(resolved.advertised) == ["PLAINTEXT://:9092"]
    assert (resolved.controller, resolved.inter_broker) == ((), "PLAINTEXT")
    assert resolved.broker[0].protocol is SecurityProtocol.PLAINTEXT


def test_the_controller_listener_is_plaintext_by_default_and_not_advertised():
    resolved = resolve("PLAINTEXT://:9092", "CONTROLLER://:9093", controller_names=("CONTROLLER",))

    assert shown(resolved.broker) == shown(resolved.advertised) == ["PLAINTEXT://:9092"]
    assert shown(resolved.controller) == ["CONTROLLER://:9093"]


def test_advertised_listeners_are_in_the_order_of_listeners():
    resolved = resolve(
        "A://:1",
        "B://:2",
        protocol_map="A:PLAINTEXT,B:PLAINTEXT",
        map_is_given=True,
        advertised=("B://b.example.org:12", "A://a.example.org:11"),
        inter_broker_name="b",
    )

    assert shown(resolved.advertised) == ["A://a.example.org:11", "B://b.example.org:12"]
    assert resolved.inter_broker == "B"


@pytest.mark.parametrize(
    "listeners",
    [
        ("PLAINTEXT://:0", "CONTROLLER://:0"),
        ("PLAINTEXT://127.0.0.1:9092", "CONTROLLER://[::1]:9092"),
    ],
)
def test_two_listeners_may_share_port_0_or_one_port_of_ipv4_and_ipv6(listeners):
    assert len(resolve(*listeners, controller_names=("CONTROLLER",)).broker) == 1


def test_a_wildcard_address_is_allowed_when_another_address_is_advertised():
    resolved = resolve(
        "PLAINTEXT://0.0.0.0:1",
        "CONTROLLER://0.0.0.0:2",
        advertised=("PLAINTEXT://h:1", "CONTROLLER://h:2"),
        controller_names=("CONTROLLER",),
    )

    assert shown(resolved.advertised) == ["PLAINTEXT://h:1"]
    assert shown(resolved.controller) == ["CONTROLLER://0.0.0.0:2"]


def test_listeners_of_several_names_and_address_families_are_resolved_together():
    resolved = resolve(
        "IN://[::1]:9092",
        "IN4://127.0.0.1:9092",
        "OUT://[::]:9093",
        protocol_map="IN:PLAINTEXT,IN4:PLAINTEXT,OUT:PLAINTEXT,UNUSED:SSL",
        map_is_given=True,
        advertised=("OUT://[2001:db8::1]:443", "IN://[::1]:9092"),
        inter_broker_name="IN",
    )

    assert shown(resolved.broker) == ["IN://[::1]:9092", "IN4://127.0.0.1:9092", "OUT://[::]:9093"]
    assert shown(resolved.advertised) == ["IN://[::1]:9092", "OUT://[2001:db8::1]:443"]
    assert resolved.inter_broker == "IN"


@pytest.mark.parametrize(("port", "other"), [(9092, 9091), (9092, 9093), (0, 0)])
def test_listeners_of_one_host_may_have_neighbouring_ports(port, other):
    assert len(resolve(f"PLAINTEXT://h:{port}", f"SSL://h:{other}", protocol_map=PLAIN).broker) == 2


@pytest.mark.parametrize("host", ["", "h", "127.0.0.1", "[::1]"])
def test_two_listeners_with_the_same_port_are_refused(host):
    with pytest.raises(ConfigError, match="have the same port: change one"):
        resolve(f"PLAINTEXT://{host}:9092", "SSL://other:9092", protocol_map=PLAIN)


def test_advertised_listeners_may_share_a_port():
    # One balancer in front of several listeners.
    resolved = resolve(
        "PLAINTEXT://:1",
        "SSL://:2",
        protocol_map=PLAIN,
        advertised=("PLAINTEXT://h:443", "SSL://h:443"),
    )

    assert len(resolved.advertised) == 2


@pytest.mark.parametrize(
    ("listeners", "others", "name", "reason"),
    [
        ((), {}, "listeners", "must not be empty"),
        (
            ("A://::1:9092",),
            {},
            "listeners",
            "'A://::1:9092' is not NAME://HOST:PORT: put the IPv6 address in brackets",
        ),
        (
            ("A://h:70000",),
            {},
            "listeners",
            "'A://h:70000': port 70000 is too large: want 0 to 65535",
        ),
        (
            ("SSL://:9092",),
            {},
            "security.inter.broker.protocol",
            "no advertised listener is called PLAINTEXT: set inter.broker.listener.name",
        ),
        (
            ("IN://:1",),
            {},
            "listeners",
            "IN has no protocol: add IN:PLAINTEXT to listener.security.protocol.map",
        ),
        (
            ("PLAINTEXT://:1", "CONTROLLER://:2"),
            {"controller_names": ("CONTROLLER",), "map_is_given": True},
            "listeners",
            (
                "CONTROLLER has no protocol: add CONTROLLER:PLAINTEXT to"
                " listener.security.protocol.map"
            ),
        ),
        (
            ("SSL://:1", "CONTROLLER://:2"),
            {"controller_names": ("CONTROLLER",)},
            "listeners",
            (
                "CONTROLLER has no protocol: add CONTROLLER:PLAINTEXT to"
                " listener.security.protocol.map"
            ),
        ),
        (
            ("CONTROLLER://:2", "SSL://:1"),
            {"controller_names": ("CONTROLLER",)},
            "listeners",
            (
                "CONTROLLER has no protocol: add CONTROLLER:PLAINTEXT to"
                " listener.security.protocol.map"
            ),
        ),
        (
            ("PLAINTEXT://:1", "plaintext://:2"),
            {},
            "listeners",
            "PLAINTEXT is named twice: remove one",
        ),
        (
            ("PLAINTEXT://:1", "CONTROLLER://h:1"),
            {"controller_names": ("CONTROLLER",)},
            "listeners",
            "PLAINTEXT://:1 and CONTROLLER://h:1 have the same port: change one",
        ),
        (
            ("PLAINTEXT://127.0.0.1:1", "CONTROLLER://127.0.0.2:1"),
            {"controller_names": ("CONTROLLER",)},
            "listeners",
            "PLAINTEXT://127.0.0.1:1 and CONTROLLER://127.0.0.2:1 have the same port: change one",
        ),
        (
            ("CONTROLLER://:1",),
            {"controller_names": ("CONTROLLER",)},
            "listeners",
            "all belong to the controller: add one for clients",
        ),
        (
            ("PLAINTEXT://:1",),
            {"controller_names": ("CONTROLLER",)},
            "controller.listener.names",
            "CONTROLLER is not one of listeners: PLAINTEXT",
        ),
        (
            ("PLAINTEXT://0.0.0.0:1",),
            {},
            "listeners",
            (
                "PLAINTEXT://0.0.0.0:1: clients cannot connect to this"
                " address: set advertised.listeners"
            ),
        ),
        (
            ("PLAINTEXT://:1",),
            {"advertised": ("PLAINTEXT://0.0.0.0:1",)},
            "advertised.listeners",
            (
                "PLAINTEXT://0.0.0.0:1: clients cannot connect to this"
                " address: set advertised.listeners"
            ),
        ),
        (
            ("PLAINTEXT://:1", "CONTROLLER://0.0.0.0:2"),
            {"controller_names": ("CONTROLLER",), "voter": Endpoint("0.0.0.0", 2)},
            "advertised.listeners",
            (
                "CONTROLLER://0.0.0.0:2: clients cannot connect to this"
                " address: set advertised.listeners"
            ),
        ),
        (
            ("PLAINTEXT://:1", "CONTROLLER://:2"),
            {"controller_names": ("CONTROLLER",), "advertised": ("CONTROLLER://h:2",)},
            "advertised.listeners",
            "all belong to the controller: add one for clients",
        ),
        (
            ("PLAINTEXT://:1", "CONTROLLER://:2"),
            {"controller_names": ("controller",)},
            "controller.listener.names",
            "controller is not one of listeners: PLAINTEXT, CONTROLLER: write CONTROLLER",
        ),
        (
            ("PLAINTEXT://999.0.0.1:1", "SSL://[::1]:1"),
            {},
            "listeners",
            "PLAINTEXT://999.0.0.1:1 and SSL://[::1]:1 have the same port: change one",
        ),
        (
            ("PLAINTEXT://:1", "CONTROLLER://:2"),
            {"controller_names": ("CONTROLLER",), "inter_broker_name": "controller"},
            "inter.broker.listener.name",
            "controller belongs to the controller: want one of PLAINTEXT",
        ),
        (
            ("PLAINTEXT://:1",),
            {"protocol_map": "PLAINTEXT:SSL", "map_is_given": True},
            "security.inter.broker.protocol",
            ("the listener PLAINTEXT has the protocol SSL: set inter.broker.listener.name instead"),
        ),
        (
            ("PLAINTEXT://:1", "CONTROLLER://:2"),
            {
                "controller_names": ("CONTROLLER",),
                "advertised": ("PLAINTEXT://h:1", "CONTROLLER://0.0.0.0:2"),
            },
            "advertised.listeners",
            (
                "CONTROLLER://0.0.0.0:2: clients cannot connect to this"
                " address: set advertised.listeners"
            ),
        ),
        (
            ("PLAINTEXT://:1",),
            {"advertised": ("PLAINTEXT://h:1", "PLAINTEXT://h:2")},
            "advertised.listeners",
            "a listener is named twice: remove one",
        ),
        (
            ("PLAINTEXT://:1",),
            {"advertised": ("SSL://h:1",)},
            "advertised.listeners",
            "SSL is not one of listeners: PLAINTEXT",
        ),
        (
            ("PLAINTEXT://:1",),
            {"advertised": ("OUT://h:1",), "protocol_map": f"{MAP},OUT:PLAINTEXT"},
            "advertised.listeners",
            "OUT is not one of listeners: PLAINTEXT",
        ),
        (
            ("PLAINTEXT://:1",),
            {"inter_broker_name": "IN"},
            "inter.broker.listener.name",
            "IN is not one of the advertised listeners: PLAINTEXT",
        ),
        (
            ("A://:1",),
            {"protocol_map": "A:PLAINTEXT", "map_is_given": True},
            "security.inter.broker.protocol",
            "no advertised listener is called PLAINTEXT: set inter.broker.listener.name",
        ),
    ],
)
def test_listeners_that_cannot_be_served_are_refused(listeners, others, name, reason):
    with pytest.raises(ConfigError) as caught:
        resolve(*listeners, **others)

    assert (caught.value.name, caught.value.reason) == (name, reason)


def test_a_listener_may_have_each_protocol_and_two_of_them_have_tls():
    protocols = [
        resolve("IN://:1", protocol_map=f"IN:{name}", map_is_given=True, inter_broker_name="IN")
        .broker[0]
        .protocol
        for name in SecurityProtocol.__members__
    ]

    assert protocols == list(SecurityProtocol)
    assert [protocol.name for protocol in protocols if protocol.has_tls] == ["SSL", "SASL_SSL"]


CONTROLLED = {"protocol_map": f"{MAP},CONTROL:PLAINTEXT"}


def test_the_control_plane_uses_an_advertised_listener():
    listeners = resolve("PLAINTEXT://h:1", "CONTROL://h:2", **CONTROLLED)

    assert listeners.control is None
    assert with_control_plane(listeners, "control").control == "CONTROL"


@pytest.mark.parametrize(
    ("listeners", "others", "reason"),
    [
        (
            ("PLAINTEXT://h:1",),
            {},
            "control is not one of the advertised listeners: PLAINTEXT",
        ),
        (
            ("PLAINTEXT://h:1", "CONTROL://h:2"),
            {"advertised": ("PLAINTEXT://h:1",)},
            "control is not one of the advertised listeners: PLAINTEXT",
        ),
        (
            ("PLAINTEXT://h:1", "CONTROL://h:2"),
            {"inter_broker_name": "CONTROL"},
            "control is the listener that brokers use: choose another one",
        ),
    ],
)
def test_a_control_plane_without_a_listener_of_its_own_is_refused(listeners, others, reason):
    resolved = resolve(*listeners, **CONTROLLED, **others)

    with pytest.raises(ConfigError) as caught:
        with_control_plane(resolved, "control")

    assert (caught.value.name, caught.value.reason) == ("control.plane.listener.name", reason)


@pytest.mark.parametrize(
    ("bound", "advertised", "voter", "expected"),
    [
        ("CONTROLLER://h:2", None, Endpoint("v", 9), "CONTROLLER://h:2"),
        ("CONTROLLER://h:2", ("CONTROLLER://a:3",), Endpoint("v", 9), "CONTROLLER://a:3"),
        ("CONTROLLER://:2", None, Endpoint("v", 9), "CONTROLLER://v:9"),
        ("CONTROLLER://0.0.0.0:2", None, Endpoint("v", 9), "CONTROLLER://v:9"),
        ("CONTROLLER://0.0.0.0:2", None, None, "CONTROLLER://:2"),
    ],
)
def test_the_controller_is_found_at_its_advertised_address_or_where_it_votes(
    bound, advertised, voter, expected
):
    listeners = resolve(
        "PLAINTEXT://:1",
        bound,
        controller_names=("CONTROLLER",),
        advertised=advertised and ("PLAINTEXT://h:1", *advertised),
        voter=voter,
    )

    assert shown(listeners.advertised_controller) == [expected]
    assert shown(listeners.controller) == [bound]


def test_only_the_first_controller_listener_is_found_where_the_node_votes():
    listeners = resolve(
        "PLAINTEXT://:1",
        "A://:2",
        "B://:3",
        controller_names=("B", "A"),
        voter=Endpoint("v", 9),
    )

    assert shown(listeners.advertised_controller) == ["B://v:9", "A://:2"]


def test_a_controller_listener_with_ssl_in_its_name_is_plaintext_by_default():
    listeners = resolve("PLAINTEXT://:1", "MY_SSL://:2", controller_names=("MY_SSL",))

    assert [listener.protocol.name for listener in listeners.controller] == ["PLAINTEXT"]


def test_only_known_listeners_in_upper_case_start_early():
    listeners = resolve("PLAINTEXT://:1", "CONTROLLER://:2", controller_names=("CONTROLLER",))

    check_early_start(("CONTROLLER", "", "PLAINTEXT"), listeners)
    for name, hint in (("OTHER", ""), ("plaintext", ": write PLAINTEXT")):
        with pytest.raises(ConfigError) as caught:
            check_early_start((name,), listeners)
        assert caught.value.name == "early.start.listeners"
        assert caught.value.reason == f"{name} is not one of listeners: PLAINTEXT, CONTROLLER{hint}"
