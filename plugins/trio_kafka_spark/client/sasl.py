"""SASL of a connection: the clients' own exchange, with tokens of OAUTHBEARER.

Errors are those of the source, so that a job ends with the option or the broker that is wrong.
"""

from trio_kafka.config.jaas import JaasError
from trio_kafka.errors import KafkaError
from trio_kafka.peers.blocking_links import random_bytes
from trio_kafka.peers.sasl import authenticate
from trio_kafka.peers.session import Handshake
from trio_kafka.security.sasl.client import ClientExchange, begin_exchange, credentials_of
from trio_kafka.security.sasl.oauthbearer import OAUTHBEARER, oauthbearer
from trio_kafka_spark.client.errors import AuthenticationError, OptionError
from trio_kafka_spark.client.oauth import bearer_token
from trio_kafka_spark.client.security import OPTION, Sasl


def log_in(sasl: Sasl) -> Handshake:
    """Log in on a connection that has agreed on versions; returns for how many seconds.

    Raises AuthenticationError; OptionError for credentials that are missing on this machine.
    """
    exchange = _exchange(sasl)
    try:
        return (yield from authenticate(sasl.mechanism, exchange))
    except KafkaError as error:
        raise AuthenticationError(str(error.message)) from None


def _exchange(sasl: Sasl) -> ClientExchange:
    login = sasl.login()
    if sasl.mechanism == OAUTHBEARER:
        token, extensions = bearer_token(sasl, login)
        return oauthbearer(token, extensions)
    try:
        return begin_exchange(credentials_of(sasl.mechanism, login), random_bytes)
    except JaasError as error:
        raise OptionError(OPTION, str(error)) from None
