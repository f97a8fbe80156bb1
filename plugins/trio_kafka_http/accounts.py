"""Users of the HTTP plane: those of SCRAM in the metadata, and the holder of the plane's token."""

import hmac
from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.scram_users import scram_credential
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
    """Principal with the credential that a password is checked against; the token has none."""

    principal: Principal
    mechanism: ScramMechanism | None = None
    credential: ScramCredential | None = field(default=None, repr=False)


class Accounts:
    """Source of accounts. image: the metadata as they are now. secret: of decoys, 16 bytes or more.

    token: of the plane; empty: none. holder: principal of requests that carry it.
    """

    def __init__(
        self, *, image: Callable[[], MetadataImage], secret: bytes, token: bytes, holder: Principal
    ) -> None:
        self._image = image
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

    def is_current(self, account: Account) -> bool:
        """Return whether the account still has the credential that it logged in with."""
        return account.credential is None or self.find(account.principal.name) == account

    def stand_in(self, user: str) -> tuple[ScramMechanism, ScramCredential]:
        """Return what an unknown user's password is checked against: it costs the same."""
        return SHA_256, decoy(SHA_256, self._secret, user)
