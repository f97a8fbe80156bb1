"""Calls about delegation tokens. A token's HMAC is its password: no text shows it.

Brokers refuse these calls on a connection without authentication, or one that logged in by a token.
Source: KIP-48, KIP-373.
"""

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.call import Call, Plan, Rejection, perform_single, result_of
from trio_kafka.clients.admin.calls.targets import ANY, CONTROLLER
from trio_kafka.config.jaas import HIDDEN
from trio_kafka.protocol.messages.k38_create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from trio_kafka.protocol.messages.k39_renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from trio_kafka.protocol.messages.k40_expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from trio_kafka.protocol.messages.k41_describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from trio_kafka.security.principal import parse_principal

__all__ = [
    "DelegationToken",
    "create_delegation_token",
    "describe_delegation_token",
    "expire_delegation_token",
    "renew_delegation_token",
]
_BY_BROKER: Final = -1


@frozen(kw_only=True)
class DelegationToken:
    """A token. owner, requester, renewers: principals, such as `User:ann`; requester: "": unknown.

    Times are in ms since 1970: it must be renewed before expiry_ms, and ends at max_ms at the
    latest. hmac: 64 bytes. password: the HMAC in base64: with the id as the user, and the option
    `tokenauth=true`, a client logs in by SCRAM.
    """

    token_id: str
    owner: str
    requester: str = ""
    renewers: tuple[str, ...] = ()
    issue_ms: int
    expiry_ms: int
    max_ms: int
    hmac: bytes = field(repr=lambda _: HIDDEN)

    @property
    def password(self) -> str:
        """The HMAC in base64."""
        return base64.b64encode(self.hmac).decode()


def create_delegation_token(
    *, owner: str | None = None, renewers: Iterable[str] = (), max_lifetime_ms: int = _BY_BROKER
) -> Plan[DelegationToken]:
    """Create a token. owner: None: the client itself. max_lifetime_ms: negative: the broker's.

    owner, renewers: principals, such as `User:ann`. Raises ClientError, ValueError for a text that
    is no principal.
    """
    owned = None if owner is None else parse_principal(owner)
    renewing = [parse_principal(renewer) for renewer in renewers]
    request = CreateDelegationTokenRequest(
        owner_principal_type=None if owned is None else owned.type,
        owner_principal_name=None if owned is None else owned.name,
        renewers=[CreatableRenewers(renewer.type, renewer.name) for renewer in renewing],
        max_lifetime_ms=max_lifetime_ms,
    )

    def read(
        response: CreateDelegationTokenResponse, _items: Sequence[None]
    ) -> Iterator[tuple[None, DelegationToken | Rejection]]:
        token = DelegationToken(
            token_id=response.token_id,
            owner=_text(response.principal_type, response.principal_name),
            requester=_text(
                response.token_requester_principal_type, response.token_requester_principal_name
            ),
            renewers=tuple(map(str, renewing)),
            issue_ms=response.issue_timestamp_ms,
            expiry_ms=response.expiry_timestamp_ms,
            max_ms=response.max_timestamp_ms,
            hmac=bytes(response.hmac),
        )
        yield None, result_of(response.error_code, None, token)

    call: Call[None, CreateDelegationTokenResponse, DelegationToken] = Call(
        targets={None: CONTROLLER}, request=lambda _items, _timeout_ms: request, read=read
    )
    return perform_single(call)


def renew_delegation_token(hmac: bytes, *, renew_period_ms: int = _BY_BROKER) -> Plan[int]:
    """Renew a token; return its expiry in ms since 1970. renew_period_ms: negative: the broker's.

    Raises ClientError.
    """
    call: Call[None, RenewDelegationTokenResponse, int] = Call(
        targets={None: CONTROLLER},
        request=lambda _items, _timeout_ms: RenewDelegationTokenRequest(hmac, renew_period_ms),
        read=_read_expiry,
    )
    return perform_single(call)


def expire_delegation_token(hmac: bytes, *, expiry_period_ms: int = -1) -> Plan[int]:
    """Let a token end after a period; return its expiry in ms since 1970. negative: now.

    Raises ClientError.
    """
    call: Call[None, ExpireDelegationTokenResponse, int] = Call(
        targets={None: CONTROLLER},
        request=lambda _items, _timeout_ms: ExpireDelegationTokenRequest(hmac, expiry_period_ms),
        read=_read_expiry,
    )
    return perform_single(call)


def describe_delegation_token(owners: Iterable[str] | None = None) -> Plan[list[DelegationToken]]:
    """Return the tokens that the client may see.

    owners: principals: only tokens that are theirs, or that they may renew.

    Raises ClientError.
    """
    named = None if owners is None else [parse_principal(owner) for owner in owners]
    request = DescribeDelegationTokenRequest(
        None
        if named is None
        else [DescribeDelegationTokenOwner(owner.type, owner.name) for owner in named]
    )
    call: Call[None, DescribeDelegationTokenResponse, list[DelegationToken]] = Call(
        targets={None: ANY},
        request=lambda _items, _timeout_ms: request,
        read=_read_described,
    )
    return perform_single(call)


def _text(kind: str, name: str) -> str:
    return f"{kind}:{name}" if kind else ""


def _read_expiry(
    response: RenewDelegationTokenResponse | ExpireDelegationTokenResponse, _items: Sequence[None]
) -> Iterator[tuple[None, int | Rejection]]:
    yield None, result_of(response.error_code, None, response.expiry_timestamp_ms)


def _read_described(
    response: DescribeDelegationTokenResponse, _items: Sequence[None]
) -> Iterator[tuple[None, list[DelegationToken] | Rejection]]:
    yield None, result_of(response.error_code, None, [_token(row) for row in response.tokens])


def _token(row: DescribedDelegationToken) -> DelegationToken:
    return DelegationToken(
        token_id=row.token_id,
        owner=_text(row.principal_type, row.principal_name),
        requester=_text(row.token_requester_principal_type, row.token_requester_principal_name),
        renewers=tuple(_text(r.principal_type, r.principal_name) for r in row.renewers),
        issue_ms=row.issue_timestamp,
        expiry_ms=row.expiry_timestamp,
        max_ms=row.max_timestamp,
        hmac=bytes(row.hmac),
    )
