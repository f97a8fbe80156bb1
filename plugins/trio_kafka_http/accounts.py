"""Users of the HTTP plane: those of SCRAM, owners of delegation tokens, the holder of its token."""

import hmac
from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.scram_users import scram_credential
from trio_kafka.security.delegation_tokens import DelegationTokens, is_expired
from trio_kafka.security.principal import USER, Principal
from trio_kafka.security.sasl.scram import (
    SHA_256,
    SHA_512,
    ScramCredential,
    ScramMechanism,
)
from trio_kafka.security.sasl.scram_server import decoy

_MECHANISMS: Final = (SHA_256, SHA_512)  # in the order of preference: the cheaper first


@frozen(kw_only=True)
class Account:
    """Principal with the credential that a password is checked against; tokens have none.

    delegation_token: id of the token that the user has presented.
    """

    principal: Principal
    delegation_token: str = ""
    mechanism: ScramMechanism | None = None
    credential: ScramCredential | None = field(default=None, repr=False)


class Accounts:
    """Source of accounts. image: the metadata as they are now. delegation_tokens: of the cluster.

    secret: of decoys, 16 bytes or more.

    token: of the plane; empty: none. holder: principal of requests that carry it.
    """

    def __init__(
        self,
        *,
        image: Callable[[], MetadataImage],
        delegation_tokens: DelegationTokens,
        secret: bytes,
        token: bytes,
        holder: Principal,
    ) -> None:
        self._image = image
        self._delegation_tokens = delegation_tokens
        self._secret = secret
        self._token = token
        self._holder = Account(principal=holder)

    @property
    def has_token(self) -> bool:
        return bool(self._token)

    def by_token(self, token: bytes) -> Account | None:
        """Return the holder's account for the right token."""
        is_right = hmac.compare_digest(token, self._token) and self._token
        return self._holder if is_right else None

    def find(self, user: str) -> Account | None:
        """Return the account of a user of SCRAM, or None."""
        image = self._image()
        for mechanism in _MECHANISMS:
            credential = scram_credential(image, mechanism, user)
            if credential is not None:
                principal = Principal(USER, user)
                return Account(principal=principal, mechanism=mechanism, credential=credential)
        return None

    def by_delegation_token(self, token_id: str, password: str) -> Account | None:
        """Return the account of a token's owner, for its id and its HMAC in base64 (KIP-48)."""
        owner = self._delegation_tokens.owner(token_id, password)
        return None if owner is None else Account(principal=owner, delegation_token=token_id)

    def is_current(self, account: Account) -> bool:
        """Return whether the account still has the credential that it logged in with."""
        if account.delegation_token:
            tokens = self._delegation_tokens
            record = tokens.records.get(account.delegation_token)
            return record is not None and not is_expired(record, tokens.now_ms())
        return account.credential is None or self.find(account.principal.name) == account

    def stand_in(self, user: str) -> tuple[ScramMechanism, ScramCredential]:
        """Return what an unknown user's password is checked against: it costs the same."""
        return SHA_256, decoy(SHA_256, self._secret, user)
