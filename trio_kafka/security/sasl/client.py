"""Credentials of a client, and the exchange in which it presents them."""

import base64
from collections.abc import Callable, Generator
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.jaas import HIDDEN, JaasError, Login
from trio_kafka.security.sasl.oauthbearer import oauthbearer
from trio_kafka.security.sasl.plain import PLAIN, plain
from trio_kafka.security.sasl.scram import BY_NAME
from trio_kafka.security.sasl.scram_client import scram
from trio_kafka.security.tokens.bearer import BearerToken

_NONCE: Final = 24  # bytes
LongCall = Callable[[], bytes]
"""Computation of several ms, to be made where it keeps no other task waiting."""
ClientExchange = Generator[bytes | LongCall, bytes, None]
"""Yields the client's tokens and is sent the server's, or yields a LongCall for its result."""


@frozen(kw_only=True)
class Credentials:
    """User name and password for PLAIN or SCRAM. by_token: they are a delegation token."""

    mechanism: str
    username: str
    password: str = field(repr=lambda _: HIDDEN)
    by_token: bool = False


def credentials_of(mechanism: str, login: Login) -> Credentials:
    """Return the credentials of a login line. Raises JaasError if one is missing or malformed."""
    username, password = login.need("username"), login.need("password")
    if not username or not password or "\0" in username + password:
        raise JaasError("username and password may be neither empty nor hold a NUL")
    by_token = login.options.get("tokenauth", "").lower() == "true"
    return Credentials(mechanism=mechanism, username=username, password=password, by_token=by_token)


def begin_exchange(
    credentials: Credentials | BearerToken, random_bytes: Callable[[int], bytes]
) -> ClientExchange:
    """Return the client's side of an exchange, which raises AuthenticationError.

    random_bytes: of a source that cannot be predicted.
    """
    if isinstance(credentials, BearerToken):
        return oauthbearer(credentials.text, credentials.extensions)
    if credentials.mechanism == PLAIN:
        return plain(credentials.username, credentials.password)
    return scram(
        BY_NAME[credentials.mechanism],
        credentials.username,
        credentials.password,
        nonce=base64.urlsafe_b64encode(random_bytes(_NONCE)).decode(),
        extension=",tokenauth=true" if credentials.by_token else "",
    )
