"""Configurations of listeners and their security, each with our verdict.

A row is a sentence, what it changes in the settings of a node that is broker and controller, and
the setting that our error names; None: accepted. `differs` says why Apache Kafka's verdict is
another one; `docs/reference/differences.md` tells of each.
"""

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

LISTENERS: Final = "listeners"
ADVERTISED: Final = "advertised.listeners"
MAP: Final = "listener.security.protocol.map"
CONTROLLERS: Final = "controller.listener.names"
VOTERS: Final = "controller.quorum.voters"
SERVERS: Final = "controller.quorum.bootstrap.servers"
EARLY: Final = "early.start.listeners"
NAME: Final = "inter.broker.listener.name"
PROTOCOL: Final = "security.inter.broker.protocol"
BETWEEN: Final = "sasl.mechanism.inter.broker.protocol"
TO_CONTROLLER: Final = "sasl.mechanism.controller.protocol"
ENABLED: Final = "sasl.enabled.mechanisms"
JAAS: Final = "sasl.jaas.config"
AUTH: Final = "ssl.client.auth"
PRINCIPALS: Final = "principal.builder.class"
ENGINES: Final = "ssl.engine.factory.class"
VALIDATORS: Final = "sasl.oauthbearer.jwt.validator.class"

AT_BIND: Final = "Kafka fails later, when it binds or advertises the address"
UNBRACKETED: Final = "an address of IPv6 without brackets is refused, as it may be a typing error"
LAST_WINS: Final = "Kafka takes the last protocol of a listener that is named twice"
NO_CLIENT: Final = "no broker connects to another one, so its mechanism need not be named"
ANY_PREFIX: Final = "Kafka ignores a login without the prefix of listener and mechanism"
NO_LINE: Final = "SCRAM needs no login line here"
NO_USERS: Final = "Kafka starts, and then no user of PLAIN can log in"
NO_LOGIN: Final = "Kafka starts, and then cannot log in to its own listener"
TWICE: Final = "Kafka removes an item that a list has twice"
OTHER_PROTOCOL: Final = "Kafka connects by another protocol than the listener has"
NO_JAVA: Final = "no Java class runs here, and this one must not be ignored"

NODE: Final[Mapping[str, str]] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    SERVERS: "localhost:9093",
    CONTROLLERS: "CONTROLLER",
    LISTENERS: "PLAINTEXT://:9092,CONTROLLER://:9093",
}
_DEFAULT: Final = (
    "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,"
    "CONTROLLER:PLAINTEXT"
)
_MODULES: Final = "org.apache.kafka.common.security"
PLAIN_LOGIN: Final = (
    f'{_MODULES}.plain.PlainLoginModule required username="b" password="p4ss" user_b="p4ss";'
)
SCRAM_LOGIN: Final = f'{_MODULES}.scram.ScramLoginModule required username="b" password="p4ss";'
_TWO: Final = {
    LISTENERS: "IN://:9091,OUT://:9092,CONTROLLER://:9093",
    MAP: "IN:PLAINTEXT,OUT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    NAME: "IN",
}
_SASL: Final = {
    LISTENERS: "SASL_PLAINTEXT://:9092,CONTROLLER://:9093",
    MAP: _DEFAULT,
    PROTOCOL: "SASL_PLAINTEXT",
    ENABLED: "PLAIN",
    BETWEEN: "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": PLAIN_LOGIN,
}
_OF_CONTROLLER: Final = {
    MAP: "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    ENABLED: "PLAIN",
    TO_CONTROLLER: "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": PLAIN_LOGIN,
}


@frozen
class Row:
    """A configuration. changes: a setting that is None is left out."""

    name: str
    changes: Mapping[str, str | None] = field(factory=dict)
    culprit: str | None = None
    differs: str = ""

    @property
    def settings(self) -> dict[str, str]:
        return {
            name: text for name, text in (NODE | dict(self.changes)).items() if text is not None
        }


def _listeners(text: str) -> dict[str, str | None]:
    return {LISTENERS: text}


_ADDRESSES: Final = (
    Row("a listener for clients and one for the controller"),
    Row("blanks", _listeners(" PLAINTEXT://:9092 , CONTROLLER://:9093 ")),
    Row("names in lower case", _listeners("plaintext://:9092,controller://:9093")),
    Row("port 0 twice", _listeners("PLAINTEXT://:0,CONTROLLER://:0")),
    Row("an underscore", _listeners("PLAINTEXT://my_host:9092,CONTROLLER://:9093")),
    Row("a zone of IPv6", _listeners("PLAINTEXT://[fe80::1%eth0]:9092,CONTROLLER://:9093")),
    Row("two families", _listeners("PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9092")),
    Row("two of IPv4", _listeners("PLAINTEXT://127.0.0.1:92,CONTROLLER://127.0.0.2:92"), LISTENERS),
    Row("two of IPv6", _listeners("PLAINTEXT://[::1]:92,CONTROLLER://[::2]:92"), LISTENERS),
    Row("IPv4 and all", _listeners("PLAINTEXT://127.0.0.1:92,CONTROLLER://:92"), LISTENERS),
    Row("IPv4 and a name", _listeners("PLAINTEXT://127.0.0.1:92,CONTROLLER://h:92"), LISTENERS),
    Row("no IPv4", _listeners("PLAINTEXT://999.0.0.1:92,CONTROLLER://[::1]:92"), LISTENERS),
    Row(
        "three at one port",
        {**_TWO, LISTENERS: "IN://127.0.0.1:92,OUT://[::1]:92,CONTROLLER://h:92"},
        LISTENERS,
    ),
    Row("one port twice", _listeners("PLAINTEXT://:9092,CONTROLLER://:9092"), LISTENERS),
    Row(
        "a name twice",
        _listeners("PLAINTEXT://:1,PLAINTEXT://:2,CONTROLLER://:3"),
        LISTENERS,
    ),
    Row(
        "a name twice in two cases",
        _listeners("PLAINTEXT://:1,plaintext://:2,CONTROLLER://:3"),
        LISTENERS,
    ),
    Row(
        "an entry twice",
        _listeners("PLAINTEXT://:1,PLAINTEXT://:1,CONTROLLER://:3"),
        LISTENERS,
        TWICE,
    ),
    Row("no listeners", _listeners(""), LISTENERS),
    Row("an empty entry", _listeners("PLAINTEXT://:9092,,CONTROLLER://:9093"), LISTENERS),
    Row("an empty last entry", _listeners("PLAINTEXT://:9092,CONTROLLER://:9093,"), LISTENERS),
    Row("no port", _listeners("PLAINTEXT://h,CONTROLLER://:9093"), LISTENERS),
    Row("no name", _listeners("://:9092,CONTROLLER://:9093"), LISTENERS),
    Row("a path", _listeners("PLAINTEXT://h:9092/x,CONTROLLER://:9093"), LISTENERS),
    Row("a port above", _listeners("PLAINTEXT://h:70000,CONTROLLER://:9093"), LISTENERS, AT_BIND),
    Row("a port below", _listeners("PLAINTEXT://h:-1,CONTROLLER://:9093"), LISTENERS, AT_BIND),
    Row("no brackets", _listeners("PLAINTEXT://::1:9092,CONTROLLER://:1"), LISTENERS, UNBRACKETED),
    Row(
        "empty brackets", _listeners("PLAINTEXT://[]:9092,CONTROLLER://:1"), LISTENERS, UNBRACKETED
    ),
    Row("no protocol", _listeners("INTERNAL://:9092,CONTROLLER://:9093"), LISTENERS),
    Row("none for clients", _listeners("CONTROLLER://:9093"), LISTENERS),
)
_OF_ADVERTISED: Final = (
    Row("one of two is advertised", {**_TWO, ADVERTISED: "IN://h:1"}),
    Row("advertised at one port", {**_TWO, ADVERTISED: "IN://h:1,OUT://h:1"}),
    Row("advertised in lower case", {**_TWO, ADVERTISED: "in://h:1,out://h:2"}),
    Row("the controller is advertised", {ADVERTISED: "PLAINTEXT://h:1,CONTROLLER://h:2"}),
    Row("advertised at every address of IPv6", {ADVERTISED: "PLAINTEXT://[::]:1"}),
    Row("advertised at every address", {ADVERTISED: "PLAINTEXT://0.0.0.0:1"}, ADVERTISED),
    Row(
        "the controller is advertised at every address",
        {ADVERTISED: "PLAINTEXT://h:1,CONTROLLER://0.0.0.0:2"},
        ADVERTISED,
    ),
    Row("only the controller is advertised", {ADVERTISED: "CONTROLLER://h:2"}, ADVERTISED),
    Row("an unknown listener is advertised", {ADVERTISED: "PLAINTEXT://h:1,SSL://h:2"}, ADVERTISED),
    Row("advertised without a protocol", {ADVERTISED: "PLAINTEXT://h:1,X://h:2"}, ADVERTISED),
    Row("advertised twice", {ADVERTISED: "PLAINTEXT://h:1,PLAINTEXT://h:2"}, ADVERTISED),
    Row("nothing is advertised", {ADVERTISED: ""}, ADVERTISED),
    Row("advertised at a port above", {ADVERTISED: "PLAINTEXT://h:70000"}, ADVERTISED, AT_BIND),
    Row("bound to all", _listeners("PLAINTEXT://0.0.0.0:1,CONTROLLER://:2"), LISTENERS),
    Row("the controller is bound to all", _listeners("PLAINTEXT://:1,CONTROLLER://0.0.0.0:2")),
    Row(
        "the controller is bound to all and votes at a name",
        {**_listeners("PLAINTEXT://:1,CONTROLLER://0.0.0.0:2"), VOTERS: "1@h:2"},
    ),
    Row(
        "the controller votes at every address",
        {**_listeners("PLAINTEXT://:1,CONTROLLER://:2"), VOTERS: "1@0.0.0.0:2"},
        ADVERTISED,
    ),
)
_PROTOCOLS: Final = (
    Row(
        "a controller with SSL in its name",
        {LISTENERS: "PLAINTEXT://:1,MY_SSL://:2", CONTROLLERS: "MY_SSL"},
    ),
    Row(
        "a controller that is called SSL",
        {LISTENERS: "PLAINTEXT://:1,SSL://:2", CONTROLLERS: "SSL"},
    ),
    Row(
        "a controller without a protocol beside SSL",
        _listeners("PLAINTEXT://:1,SSL://:3,CONTROLLER://:2"),
        LISTENERS,
    ),
    Row(
        "a controller without a protocol beside SASL_PLAINTEXT",
        _listeners("PLAINTEXT://:1,SASL_PLAINTEXT://:3,CONTROLLER://:2"),
        LISTENERS,
    ),
    Row(
        "a controller without a protocol beside SASL_SSL in lower case",
        _listeners("PLAINTEXT://:1,sasl_ssl://:3,CONTROLLER://:2"),
        LISTENERS,
    ),
    Row("a map without the controller", {MAP: "PLAINTEXT:PLAINTEXT"}, LISTENERS),
    Row("a map in lower case", {MAP: "plaintext:plaintext,controller:plaintext"}),
    Row("a map with blanks", {MAP: " PLAINTEXT : PLAINTEXT , CONTROLLER : SSL "}),
    Row("a map of more listeners", {MAP: f"{_DEFAULT},OTHER:SSL"}),
    Row("a map with an empty last entry", {MAP: f"{_DEFAULT},"}),
    Row("a map with an empty entry", {MAP: f"OTHER:SSL,,{_DEFAULT}"}, MAP),
    Row("an empty map", {MAP: ""}, LISTENERS),
    Row("a map with an unknown protocol", {MAP: f"{_DEFAULT},OTHER:TLS"}, MAP),
    Row("a map without a colon", {MAP: f"{_DEFAULT},OTHER"}, MAP),
    Row("a map without a name", {MAP: f"{_DEFAULT},:SSL"}, MAP),
    Row("a map with a name twice", {MAP: f"{_DEFAULT},SSL:PLAINTEXT"}, MAP, LAST_WINS),
    Row("a map with a name in two cases", {MAP: f"{_DEFAULT},ssl:SSL"}, MAP),
)
_OF_CONTROLLERS: Final = (
    Row("the controller in lower case", {CONTROLLERS: "controller"}, CONTROLLERS),
    Row(
        "the controller in lower case, with a map",
        {CONTROLLERS: "controller", MAP: _DEFAULT},
        CONTROLLERS,
    ),
    Row("an unknown controller", {CONTROLLERS: "CONTROL"}, CONTROLLERS),
    Row("no name of a controller", {CONTROLLERS: ""}, CONTROLLERS),
    Row("no setting for the controller", {CONTROLLERS: None}, CONTROLLERS),
    Row("the controller twice", {CONTROLLERS: "CONTROLLER,CONTROLLER"}, CONTROLLERS, TWICE),
    Row(
        "two controllers",
        {LISTENERS: "PLAINTEXT://:1,A://:2,B://:3", CONTROLLERS: "B,A"},
    ),
    Row("a second controller without a listener", {CONTROLLERS: "CONTROLLER,B"}, CONTROLLERS),
    Row("all belong to the controller", {CONTROLLERS: "CONTROLLER,PLAINTEXT"}, LISTENERS),
    Row("no voter and no server", {SERVERS: None}, SERVERS),
    Row("another voter", {SERVERS: None, VOTERS: "2@h:1"}, VOTERS),
    Row("a voter without an address", {SERVERS: None, VOTERS: "1"}, VOTERS),
    Row("the controller starts early", {EARLY: "CONTROLLER"}),
    Row("clients start early", {EARLY: "PLAINTEXT, CONTROLLER"}),
    Row("none starts early", {EARLY: ""}),
    Row("an unknown listener starts early", {EARLY: "OTHER"}, EARLY),
    Row("a listener in lower case starts early", {EARLY: "plaintext"}, EARLY),
)
_BETWEEN_BROKERS: Final = (
    Row("brokers use a name", _TWO),
    Row("brokers use a name in lower case", {**_TWO, NAME: "in"}),
    Row("brokers use an unknown name", {**_TWO, NAME: "OTHER"}, NAME),
    Row("brokers use no name", {**_TWO, NAME: ""}, NAME),
    Row("brokers use what is not advertised", {**_TWO, ADVERTISED: "OUT://h:1"}, NAME),
    Row("brokers use the controller", {**_TWO, NAME: "CONTROLLER"}, NAME),
    Row("brokers use a name and a protocol", {**_TWO, PROTOCOL: "PLAINTEXT"}, PROTOCOL),
    Row("brokers use a protocol without a listener", {**_TWO, NAME: None}, PROTOCOL),
    Row("brokers use SSL without a listener", {PROTOCOL: "SSL"}, PROTOCOL),
    Row("brokers use a protocol in lower case", {PROTOCOL: "plaintext"}, PROTOCOL),
    Row(
        "brokers use a listener with another protocol",
        {MAP: "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT"},
        PROTOCOL,
        OTHER_PROTOCOL,
    ),
)
_OWN: Final = "listener.name.sasl_plaintext"
_OF_SASL: Final = (
    Row("brokers use PLAIN", _SASL),
    Row("brokers use SASL without a mechanism", {**_SASL, BETWEEN: None}, None, NO_CLIENT),
    Row("brokers use another mechanism", {**_SASL, BETWEEN: "SCRAM-SHA-256"}, BETWEEN),
    Row(
        "brokers use a mechanism that their listener lacks",
        {**_SASL, f"{_OWN}.{ENABLED}": "SCRAM-SHA-512"},
        BETWEEN,
    ),
    Row(
        "brokers use a mechanism that only their listener has",
        {**_SASL, ENABLED: "SCRAM-SHA-512", f"{_OWN}.{ENABLED}": "PLAIN"},
    ),
    Row("a mechanism beside PLAINTEXT", {BETWEEN: "OTHER", TO_CONTROLLER: "OTHER"}),
    Row("Kerberos", {**_SASL, ENABLED: "GSSAPI", BETWEEN: "GSSAPI"}, ENABLED),
    Row(
        "PLAIN without a login",
        {**_SASL, f"{_OWN}.plain.{JAAS}": None},
        f"{_OWN}.plain.{JAAS}",
    ),
    Row(
        "a login for all listeners",
        {**_SASL, f"{_OWN}.plain.{JAAS}": None, JAAS: PLAIN_LOGIN},
        None,
        ANY_PREFIX,
    ),
    Row(
        "a login of another mechanism",
        {**_SASL, f"{_OWN}.plain.{JAAS}": SCRAM_LOGIN},
        f"{_OWN}.plain.{JAAS}",
        NO_USERS,
    ),
    Row(
        "SCRAM without a login",
        {**_SASL, ENABLED: "SCRAM-SHA-256", BETWEEN: "SCRAM-SHA-256"},
        None,
        NO_LINE,
    ),
    Row(
        "SCRAM with a login",
        {
            **_SASL,
            ENABLED: "SCRAM-SHA-256",
            BETWEEN: "SCRAM-SHA-256",
            f"{_OWN}.scram-sha-256.{JAAS}": SCRAM_LOGIN,
        },
    ),
    Row("no mechanism", {**_SASL, ENABLED: ""}, ENABLED),
    Row("an unknown mechanism", {**_SASL, ENABLED: "PLAIN,OTHER"}, ENABLED),
    Row("a mechanism in lower case", {**_SASL, ENABLED: "plain"}, ENABLED),
    Row("a mechanism twice", {**_SASL, ENABLED: "PLAIN,PLAIN"}, ENABLED, TWICE),
    Row("SASL of the controller", _OF_CONTROLLER),
    Row(
        "SASL of the controller without a mechanism",
        {**_OF_CONTROLLER, TO_CONTROLLER: None},
        None,
        NO_CLIENT,
    ),
    Row(
        "SASL of the controller with another mechanism",
        {**_OF_CONTROLLER, TO_CONTROLLER: "SCRAM-SHA-256"},
        TO_CONTROLLER,
    ),
    Row(
        "SASL of the controller with a mechanism that is not enabled",
        {
            **_OF_CONTROLLER,
            TO_CONTROLLER: "SCRAM-SHA-256",
            "listener.name.controller.scram-sha-256.sasl.jaas.config": SCRAM_LOGIN,
        },
        TO_CONTROLLER,
        NO_LOGIN,
    ),
    Row("Kerberos of the controller", {**_OF_CONTROLLER, ENABLED: None}, ENABLED),
    Row(
        "PLAIN of the controller without a login",
        {**_OF_CONTROLLER, "listener.name.controller.plain.sasl.jaas.config": None},
        "listener.name.controller.plain.sasl.jaas.config",
    ),
    Row(
        "a mechanism of the controller's own",
        {
            **_OF_CONTROLLER,
            ENABLED: "SCRAM-SHA-256",
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        },
    ),
    Row(
        "SASL of the second controller without a login",
        {
            **_OF_CONTROLLER,
            LISTENERS: "PLAINTEXT://:1,CONTROLLER://:2,OTHER://:3",
            MAP: "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT,OTHER:SASL_SSL",
            CONTROLLERS: "CONTROLLER,OTHER",
        },
        "listener.name.other.plain.sasl.jaas.config",
    ),
)
_CLASSES: Final = (
    Row(
        "Kafka's own principals",
        {PRINCIPALS: f"{_MODULES}.authenticator.DefaultKafkaPrincipalBuilder"},
    ),
    Row("principals of another class", {PRINCIPALS: "java.lang.String"}, PRINCIPALS),
    Row("principals of a class that is missing", {PRINCIPALS: "org.example.A"}, PRINCIPALS),
    Row("Kafka's own engines of TLS", {ENGINES: f"{_MODULES}.ssl.DefaultSslEngineFactory"}),
    Row("engines of another class", {ENGINES: "java.lang.String"}, ENGINES, NO_JAVA),
    Row("Kafka's own checks of tokens", {VALIDATORS: f"{_MODULES}.oauthbearer.BrokerJwtValidator"}),
    Row("checks of another class", {VALIDATORS: "java.lang.String"}, VALIDATORS, NO_JAVA),
    Row("certificates of clients are asked for", {AUTH: "requested"}),
    Row("certificates of clients in upper case", {AUTH: "REQUIRED"}, AUTH),
)
ROWS: Final = (
    *_ADDRESSES,
    *_OF_ADVERTISED,
    *_PROTOCOLS,
    *_OF_CONTROLLERS,
    *_BETWEEN_BROKERS,
    *_OF_SASL,
    *_CLASSES,
)
