"""Delegation tokens: proofs that an authenticated user has let others act for it (KIP-48).

A token is an id, which is no secret, and its HMAC by a key of the cluster, which is the token's
password. The metadata log has no HMAC, as it follows from the id. No text and no exception of this
module has one. Source: DelegationTokenManager and DelegationTokenCache of Apache Kafka 4.4.0.
"""

import base64
import hmac
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.metadata.security import DelegationTokenRecord
from trio_kafka.protocol.texts import show_uuid
from trio_kafka.security.principal import NOBODY, USER, Principal
from trio_kafka.security.sasl.scram import (
    ScramCredential,
    ScramMechanism,
    credential_of,
    salted_password,
)
from trio_kafka.security.sasl.scram_server import TokenLogin

_ID_SIZE: Final = 16  # bytes
_STEP: Final = 100  # tokens, about 3 µs each
_MOST_CREDENTIALS: Final = 1000
_Changes = Mapping[str, DelegationTokenRecord | None]


def password_of(token_hmac: bytes) -> str:
    """Return the password with which a client presents a token by SCRAM."""
    return base64.b64encode(token_hmac).decode()


def is_expired(record: DelegationTokenRecord, now_ms: float) -> bool:
    """Return whether a token has ended; its record remains until the next search."""
    return record.max_timestamp < now_ms or record.expiration_timestamp < now_ms


def check_may_request(principal: Principal, protocol: str) -> None:
    """Raise KafkaError(DELEGATION_TOKEN_REQUEST_NOT_ALLOWED) for a client that may have no tokens.

    That is one without an identity of its own, or with the identity of a token: it could otherwise
    prolong its own life. protocol: of the listener, such as `SASL_SSL`.
    """
    if (
        principal.token_authenticated
        or protocol == "PLAINTEXT"
        or (protocol == "SSL" and principal == NOBODY)
    ):
        raise KafkaError(
            ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
            "delegation tokens are for clients that log in by TLS or SASL, and not by a token",
        )


class DelegationTokens:
    """Tokens of the cluster, with the secrets that follow from their ids.

    secret_key: `delegation.token.secret.key`; empty: there are no tokens.
    wall_ms: returns the wall-clock time.
    random_bytes: of a source that cannot be predicted.
    """

    def __init__(
        self,
        secret_key: str,
        wall_ms: Callable[[], float],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self._key = secret_key.encode()
        self._wall_ms = wall_ms
        self._random_bytes = random_bytes
        self._records: dict[str, DelegationTokenRecord] = {}
        self._ids: dict[bytes, str] = {}  # by HMAC
        # The latest that were used: stretching a password takes 1 to 2 ms.
        self._credentials: dict[tuple[str, str], ScramCredential] = {}

    def __len__(self) -> int:
        return len(self._records)

    @property
    def enabled(self) -> bool:
        """Whether the broker has a key."""
        return bool(self._key)

    @property
    def records(self) -> Mapping[str, DelegationTokenRecord]:
        """Tokens by id; expired ones are among them until they are removed."""
        return self._records

    def check_enabled(self) -> None:
        """Raise KafkaError(DELEGATION_TOKEN_AUTH_DISABLED) for a broker without a key."""
        if not self._key:
            raise KafkaError(
                ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED,
                "delegation tokens are off: set delegation.token.secret.key on every node",
            )

    def apply(self, changes: _Changes) -> Iterator[None]:
        """Take changed tokens, in steps. None: the token is removed."""
        if not self._key:
            return
        for number, (token_id, record) in enumerate(changes.items(), 1):
            token_hmac = self.hmac_of(token_id)
            if record is not None:
                self._records[token_id], self._ids[token_hmac] = record, token_id
            elif self._records.pop(token_id, None) is not None:
                del self._ids[token_hmac]
                self._forget_credentials(token_id)
            if not number % _STEP:
                yield

    def now_ms(self) -> int:
        """Return the wall-clock time, by which tokens live."""
        return int(self._wall_ms())

    def new_id(self) -> str:
        """Return an id that no token has: 22 characters of base64url, as Kafka shows uuids."""
        while True:
            token_id = show_uuid(self._random_bytes(_ID_SIZE))
            if token_id not in self._records and not token_id.startswith("-"):
                return token_id

    def hmac_of(self, token_id: str) -> bytes:
        """Return the HMAC of a token: 64 bytes, HMAC-SHA-512 of its id."""
        return hmac.digest(self._key, token_id.encode(), "sha512")

    def find(self, token_hmac: bytes) -> str | None:
        """Return the id of the token with an HMAC."""
        return self._ids.get(token_hmac)

    def owner(self, token_id: str, password: str) -> Principal | None:
        """Return whom a client is that presents a token, or None if it is not valid.

        For clients that send the password itself, over an encrypted connection.
        """
        record = self._valid(token_id)
        expected = password_of(self.hmac_of(token_id))
        matches = hmac.compare_digest(expected.encode(), password.encode())
        if record is None or not matches:
            return None
        return Principal(USER, _name(record.owner), token_authenticated=True)

    def login(self, mechanism: ScramMechanism, token_id: str, salt: bytes) -> TokenLogin | None:
        """Return what SCRAM needs to know of a token, or None if it is not valid.

        salt: always the same for this token. The first call for a token takes 1 to 2 ms.
        """
        record = self._valid(token_id)
        if record is None:
            return None
        return TokenLogin(
            owner=_name(record.owner),
            expires_ms=record.expiration_timestamp,
            credential=self._credential(mechanism, token_id, salt),
        )

    def _valid(self, token_id: str) -> DelegationTokenRecord | None:
        record = self._records.get(token_id)
        return None if record is None or is_expired(record, self._wall_ms()) else record

    def _credential(self, mechanism: ScramMechanism, token_id: str, salt: bytes) -> ScramCredential:
        key = token_id, mechanism.name
        credential = self._credentials.pop(key, None)
        if credential is None:
            password = password_of(self.hmac_of(token_id))
            iterations = mechanism.fewest
            salted = salted_password(mechanism, password, salt=salt, iterations=iterations)
            credential = credential_of(mechanism, salted, salt=salt, iterations=iterations)
            if len(self._credentials) == _MOST_CREDENTIALS:
                del self._credentials[next(iter(self._credentials))]
        self._credentials[key] = credential  # as the latest
        return credential

    def _forget_credentials(self, token_id: str) -> None:
        for key in [key for key in self._credentials if key[0] == token_id]:
            del self._credentials[key]


def _name(principal: str) -> str:
    return principal.partition(":")[2]
