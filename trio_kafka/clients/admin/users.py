"""Calls about users: their credentials of SCRAM, without the keys.

A salted password is made here, so the password itself does not leave the client. Source: KIP-554.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.call import (
    Call,
    Plan,
    Rejection,
    perform,
    perform_single,
    result_of,
)
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import ANY, CONTROLLER
from trio_kafka.config.jaas import HIDDEN
from trio_kafka.peers.blocking_links import random_bytes
from trio_kafka.protocol.messages.k50_describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    UserName,
)
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from trio_kafka.security.sasl.scram import (
    BY_NAME,
    BY_NUMBER,
    SHA_256,
    printable_salt,
    salted_password,
)

__all__ = [
    "ScramCredentialInfo",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "alter_user_scram_credentials",
    "describe_user_scram_credentials",
    "scram_upsertion",
]


@frozen
class ScramCredentialInfo:
    """Mechanism of a credential, such as `SCRAM-SHA-256`, and its iterations."""

    mechanism: str
    iterations: int


@frozen
class UserScramCredentialDeletion:
    """Removal of a user's credential."""

    user: str
    mechanism: str


@frozen(kw_only=True)
class UserScramCredentialUpsertion:
    """A new credential of a user, or another one; see `scram_upsertion`. No text shows it."""

    user: str
    mechanism: str
    iterations: int
    salt: bytes = field(repr=lambda _: HIDDEN)
    salted_password: bytes = field(repr=lambda _: HIDDEN)


Alteration = UserScramCredentialDeletion | UserScramCredentialUpsertion
Infos = list[ScramCredentialInfo]


def scram_upsertion(
    user: str, password: str, *, mechanism: str = SHA_256.name, iterations: int = SHA_256.fewest
) -> UserScramCredentialUpsertion:
    """Return a credential with a random salt.

    It takes 2 ms for 4,096 iterations: call it in a thread for many more. Raises ValueError for an
    unknown mechanism or an empty password.
    """
    variant = BY_NAME.get(mechanism)
    if variant is None:
        raise ValueError(f"{mechanism!r} is no mechanism: want {' or '.join(BY_NAME)}")
    if not password:
        raise ValueError("an empty password: want at least one character")
    salt = printable_salt(random_bytes)
    salted = salted_password(variant, password, salt=salt, iterations=iterations)
    return UserScramCredentialUpsertion(
        user=user, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted
    )


def describe_user_scram_credentials(users: Iterable[str] = ()) -> Plan[Results[str, Infos]]:
    """Return the credentials of users, without their keys. users: none: all."""
    names = list(dict.fromkeys(users))

    def request(items: Sequence[str], _timeout_ms: int) -> DescribeUserScramCredentialsRequest:
        return DescribeUserScramCredentialsRequest([UserName(name) for name in items])

    if names:
        targets = dict.fromkeys(names, ANY)
        return perform(Call(targets=targets, request=request, read=_read_described))
    return _describe_all()


def alter_user_scram_credentials(alterations: Iterable[Alteration]) -> Plan[Results[str, None]]:
    """Store and remove credentials, one of each user.

    Brokers answer DUPLICATE_RESOURCE for a user with several, also of different mechanisms.
    """
    by_user: dict[str, list[Alteration]] = {}
    for alteration in alterations:
        by_user.setdefault(alteration.user, []).append(alteration)

    def request(items: Sequence[str], _timeout_ms: int) -> AlterUserScramCredentialsRequest:
        changes = [change for user in items for change in by_user[user]]
        return AlterUserScramCredentialsRequest(
            deletions=[
                ScramCredentialDeletion(change.user, _number(change.mechanism))
                for change in changes
                if isinstance(change, UserScramCredentialDeletion)
            ],
            upsertions=[
                _upsertion(change)
                for change in changes
                if isinstance(change, UserScramCredentialUpsertion)
            ],
        )

    targets = dict.fromkeys(by_user, CONTROLLER)
    return perform(Call(targets=targets, request=request, read=_read_altered))


def _describe_all() -> Plan[Results[str, Infos]]:
    call: Call[None, DescribeUserScramCredentialsResponse, dict[str, Infos]] = Call(
        targets={None: ANY},
        request=lambda _items, _timeout_ms: DescribeUserScramCredentialsRequest(None),
        read=_read_all,
    )
    return Results((yield from perform_single(call)), {})


def _upsertion(change: UserScramCredentialUpsertion) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=change.user,
        mechanism=_number(change.mechanism),
        iterations=change.iterations,
        salt=change.salt,
        salted_password=change.salted_password,
    )


def _number(mechanism: str) -> int:
    """Return the number of a mechanism; 0, which brokers reject, for an unknown one."""
    variant = BY_NAME.get(mechanism)
    return 0 if variant is None else variant.number


def _name(number: int) -> str:
    variant = BY_NUMBER.get(number)
    return f"mechanism {number}" if variant is None else variant.name


def _infos(row: DescribeUserScramCredentialsResult) -> Infos:
    return [ScramCredentialInfo(_name(i.mechanism), i.iterations) for i in row.credential_infos]


def _read_described(
    response: DescribeUserScramCredentialsResponse, items: Sequence[str]
) -> Iterator[tuple[str, Infos | Rejection]]:
    if response.error_code:
        for user in items:
            yield user, Rejection(response.error_code, response.error_message)
        return
    for row in response.results:
        yield row.user, result_of(row.error_code, row.error_message, _infos(row))


def _read_all(
    response: DescribeUserScramCredentialsResponse, _items: Sequence[None]
) -> Iterator[tuple[None, dict[str, Infos] | Rejection]]:
    infos = {row.user: _infos(row) for row in response.results}
    yield None, result_of(response.error_code, response.error_message, infos)


def _read_altered(
    response: AlterUserScramCredentialsResponse, _items: Sequence[str]
) -> Iterator[tuple[str, Rejection | None]]:
    for row in response.results:
        yield row.user, result_of(row.error_code, row.error_message, None)
