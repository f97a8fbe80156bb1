"""Sources of a token, as values: a text, a file, an endpoint, or claims without a signature.

`trio_kafka.peers.blocking_tokens` reads from them. No text shows a secret.
"""

from collections.abc import Mapping

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.jaas import HIDDEN
from trio_kafka.security.tls.settings import TlsSettings


def _hidden(_: object) -> str:
    return HIDDEN


@frozen
class GivenToken:
    """The token itself."""

    text: str = field(repr=_hidden)


@frozen
class TokenFile:
    """A file that holds a token; it is read anew for each renewal."""

    path: str


@frozen
class UnsecuredClaims:
    """Claims of tokens without a signature. options: of the login line, see `unsecured`."""

    options: Mapping[str, str] = field(repr=_hidden)


@frozen(kw_only=True)
class TokenEndpoint:
    """An endpoint that gives a token to a client (RFC 6749 §4.4).

    urlencode: of name and password, before they become a header. connect_s, read_s: longest waits.
    tls: for https.
    """

    url: str
    client_id: str
    client_secret: str = field(repr=_hidden)
    scope: str = ""
    urlencode: bool = False
    connect_s: float = 10.0
    read_s: float = 10.0
    tls: TlsSettings = field(factory=TlsSettings)


TokenSource = GivenToken | TokenFile | UnsecuredClaims | TokenEndpoint
