"""SASL of a connection: the exchange, and the tokens, of all clients.

Errors are those of the source, so that a job ends with the option or the broker that is wrong.
"""

from collections.abc import Callable

from trio_kafka.config.jaas import JaasError
from trio_kafka.config.sasl_names import OAUTHBEARER
from trio_kafka.errors import KafkaError
from trio_kafka.peers.blocking_links import handshakes
from trio_kafka.peers.session import Handshake
from trio_kafka.security.sasl.client import Credentials, credentials_of
from trio_kafka.security.tokens.login import TokenLogin
from trio_kafka_spark.client.errors import AuthenticationError, OptionError
from trio_kafka_spark.client.security import OPTION, Sasl


def login_of(sasl: Sasl) -> Callable[[], Handshake]:
    """Maker of the logins of one client's connections, which share a token.

    Raises OptionError for credentials that are missing on this machine.
    """
    handshake_of = handshakes(_credentials(sasl))

    def log_in() -> Handshake:
        """Log in on a connection that has agreed on versions. Raises AuthenticationError."""
        try:
            handshake = handshake_of()
            return float("inf") if handshake is None else (yield from handshake)
        except KafkaError as error:
            raise AuthenticationError(str(error.message)) from None

    return log_in


def _credentials(sasl: Sasl) -> Credentials | TokenLogin:
    if sasl.mechanism == OAUTHBEARER:
        return sasl.token_login()
    try:
        return credentials_of(sasl.mechanism, sasl.login())
    except JaasError as error:
        raise OptionError(OPTION, str(error)) from None
