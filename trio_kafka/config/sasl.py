"""Settings of SASL: mechanisms of a listener, their users, and the limits of a session.

A listener may have values of its own, `listener.name.<name>.`, and for one mechanism
`listener.name.<name>.<mechanism>.`. Kafka reads `sasl.jaas.config` of a broker only with both
prefixes; here one without them is for all listeners. Source: KIP-103, KIP-85, KIP-226.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.jaas import HIDDEN, Login, parse_jaas
from trio_kafka.config.oauth import OauthSettings, TokenRules
from trio_kafka.config.sasl_names import SERVED
from trio_kafka.config.setting import BROKER, int32, int64, password, string_list

ENABLED: Final = "sasl.enabled.mechanisms"
JAAS: Final = "sasl.jaas.config"
LARGEST: Final = "sasl.server.max.receive.size"
LONGEST_SESSION: Final = "connections.max.reauth.ms"
DELAY: Final = "connection.failed.authentication.delay.ms"
_USER: Final = "user_"


@frozen(kw_only=True, init=False, eq=False, repr=False)  # is never made alone
class SaslSettings(OauthSettings):
    """SASL settings of `BrokerConfig`."""

    sasl_enabled_mechanisms: tuple[str, ...] = string_list(
        ("GSSAPI",), "Mechanisms that are offered.", update=BROKER
    )
    sasl_jaas_config: str | None = password(
        None, "The login of a listener's mechanism, in JAAS form.", update=BROKER, check=parse_jaas
    )
    sasl_server_max_receive_size: int = int32(
        524288, "The largest request before a connection is authenticated."
    )
    connection_failed_authentication_delay_ms: int = int32(
        100, "Delay before a connection that failed to authenticate is closed.", low=0
    )
    connections_max_reauth_ms: int = int64(
        0, "The longest life of an authenticated session; 0: no limit."
    )


@frozen(kw_only=True)
class SaslMechanism:
    """A mechanism of a listener.

    passwords: of the users of PLAIN, by name. tokens: of OAUTHBEARER. longest_session_ms: 0: no
    limit.
    """

    name: str
    passwords: Mapping[str, str] = field(factory=dict, repr=lambda _: HIDDEN)
    tokens: TokenRules | None = None
    longest_session_ms: int = 0


@frozen(kw_only=True)
class SaslListener:
    """SASL of one listener. largest: bytes of a frame before a client is authenticated."""

    mechanisms: tuple[SaslMechanism, ...]
    largest: int


def unserved(mechanisms: Iterable[str]) -> str | None:
    """Return why mechanisms cannot be enabled; None if they can."""
    names = ", ".join(SERVED)
    for mechanism in mechanisms:
        if mechanism == "GSSAPI":
            return f"GSSAPI (Kerberos), Kafka's default, is not supported: want some of {names}"
        if mechanism not in SERVED:
            return f"{mechanism!r} is not supported: want some of {names}"
    return None


def users_of(login: Login) -> dict[str, str]:
    """Return the passwords that a login of PLAIN names, by user: `user_ann="secret"`."""
    return {
        name.removeprefix(_USER): value
        for name, value in login.options.items()
        if name.startswith(_USER)
    }
