"""Which principal a request has, and whether that principal may do what it asks.

A request has the principal of its Authorization header, else that of its session, else none. One
without credentials may look if it comes from this machine, and changes nothing, unless
`anonymous.changes` is set; if the plane has a token, it may not look either. Then the authorizer
of the broker decides, as for every request of Kafka's protocol.
"""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import frozen

from trio_kafka.security.authorizer import ALLOW_ALL, Authorizer, is_loopback
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.security.resources import THE_CLUSTER
from trio_kafka_http.admission import READ, RefusedError, says_its_page
from trio_kafka_http.cookies import session_of
from trio_kafka_http.credentials import CHALLENGES, basic_of, token_of
from trio_kafka_http.logins import Logins
from trio_kafka_http.request_cycle import Message
from trio_kafka_http.sessions import Sessions

_NEEDED: Final = (
    "credentials are needed: Authorization: Basic with a user of SCRAM or with the token as"
    " password, or Bearer with the token"
)
_CHANGES: Final = "without credentials nothing can be changed: "
# Headers of proxies, beside those that begin with `x-forwarded`. A local client that sends one only
# loses by it.
_OF_PROXIES: Final = frozenset(
    {
        b"forwarded",
        b"via",
        b"x-real-ip",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-envoy-external-address",
        b"x-original-forwarded-for",
        b"true-client-ip",
        b"cf-connecting-ip",
        b"fastly-client-ip",
    }
)
_FORWARDED: Final = b"x-forwarded"


@frozen(kw_only=True)
class Visitor:
    """Principal of a request. session: id of its session. is_known: it has valid credentials."""

    principal: Principal = NOBODY
    session: str = ""
    is_known: bool = False


class Access:
    """Access to the plane. authorizer: returns that of the broker.

    anonymous_changes: requests of this machine without credentials may change something.
    """

    def __init__(
        self,
        *,
        logins: Logins,
        sessions: Sessions,
        authorizer: Callable[[], Authorizer],
        anonymous_changes: bool,
    ) -> None:
        self.logins = logins
        self.sessions = sessions
        self._authorizer = authorizer
        self._anonymous_changes = anonymous_changes

    def summary(self) -> str:
        """Return what holds, for the log."""
        if self.logins.accounts.has_token:
            rule = "every request needs credentials"
        elif self._anonymous_changes:
            rule = "this machine may look and change without credentials, others need them"
        else:
            rule = "this machine may look without credentials, all else needs them"
        decides = self._authorizer() is not ALLOW_ALL
        return f"{rule}; {'the authorizer decides' if decides else 'no authorizer is set'}"

    async def identify(self, scope: Message, headers: Mapping[bytes, bytes]) -> Visitor:
        """Return the visitor. Raises RefusedError: wrong credentials, or too many of them."""
        authorization = headers.get(b"authorization")
        if authorization:
            pair, token = basic_of(authorization), token_of(authorization)
            address, account = address_of(scope), None
            if pair is not None:
                account = await self.logins.by_password(*pair, address, way="basic")
            elif not self.logins.accounts.has_token:
                return Visitor()  # of another scheme, for an app
            elif token is not None:
                account = await self.logins.by_token(token, address)
            if account is None:
                raise _unauthorized(headers, _NEEDED)
            return Visitor(principal=account.principal, is_known=True)
        session = session_of(scope)
        principal = self.sessions.principal(session) if session else None
        if principal is None:
            return Visitor()
        if scope["method"] not in READ and not says_its_page(headers):
            raise RefusedError(403, "a session needs Origin or Sec-Fetch-Site to change something")
        return Visitor(principal=principal, session=session, is_known=True)

    def check(
        self,
        visitor: Visitor,
        scope: Message,
        headers: Mapping[bytes, bytes],
        needed: Operation | None,
    ) -> None:
        """Check that a visitor may do it. needed: on the cluster. Raises RefusedError."""
        if not visitor.is_known:
            self._check_anonymous(scope, headers)
        if needed is None:
            return
        address, principal = address_of(scope), visitor.principal
        if self._authorizer().authorize(principal, address, needed, THE_CLUSTER):
            return
        if not visitor.is_known:
            raise _unauthorized(headers, _NEEDED)
        raise RefusedError(
            403, f"{principal} has no permission {needed.name} on the cluster: ask an administrator"
        )

    def _check_anonymous(self, scope: Message, headers: Mapping[bytes, bytes]) -> None:
        is_near = is_loopback(address_of(scope)) and not _is_forwarded(headers)
        if self.logins.accounts.has_token or not is_near:
            raise _unauthorized(headers, _NEEDED)
        if scope["method"] not in READ and not self._anonymous_changes:
            raise _unauthorized(headers, _CHANGES + _NEEDED)


def _is_forwarded(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a proxy on this machine has sent the request for another machine."""
    return not _OF_PROXIES.isdisjoint(headers) or any(
        name.startswith(_FORWARDED) for name in headers
    )


def address_of(scope: Message) -> str:
    """Return the address that a request came from."""
    client = scope.get("client") or ("", 0)
    return str(client[0])


def _unauthorized(headers: Mapping[bytes, bytes], message: str) -> RefusedError:
    # A challenge to a script of a page would make the browser ask for a password.
    is_of_page = headers.get(b"sec-fetch-mode", b"navigate") != b"navigate"
    return RefusedError(401, message, () if is_of_page else CHALLENGES)
