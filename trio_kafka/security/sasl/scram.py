"""SCRAM: keys of a password, and the parts of messages that client and server share.

A server keeps no password, but two keys made of it. Source: RFC 5802, RFC 7677 (SHA-256);
ScramFormatter and ScramMechanism of Apache Kafka 4.4.0. No channel binding and no SASLprep, as in
Kafka.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen

GS2: Final = "n,,"
"""Begin of the client's first message: no channel binding, no authorization id."""
_SALT_BITS: Final = 130
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


@frozen(kw_only=True)
class ScramMechanism:
    """A variant of SCRAM.

    number: in messages and records. digest: name of the hash.
    fewest, most: iterations that a credential may have (PBKDF2).
    """

    name: str
    number: int
    digest: str
    fewest: int = 4096
    most: int = 16384


SHA_256: Final = ScramMechanism(name="SCRAM-SHA-256", number=1, digest="sha256")
SHA_512: Final = ScramMechanism(name="SCRAM-SHA-512", number=2, digest="sha512")
BY_NAME: Final[Mapping[str, ScramMechanism]] = {m.name: m for m in (SHA_256, SHA_512)}
BY_NUMBER: Final[Mapping[int, ScramMechanism]] = {m.number: m for m in (SHA_256, SHA_512)}


@frozen(kw_only=True)
class ScramCredential:
    """A password as a server keeps it. No text shows it."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


def salted_password(
    mechanism: ScramMechanism, password: str, *, salt: bytes, iterations: int
) -> bytes:
    """Return the password after PBKDF2: 0.2 ms (SHA-256) or 0.4 ms for 1,000 iterations."""
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


def client_key_of(digest: str, salted: bytes) -> bytes:
    return hmac.digest(salted, b"Client Key", digest)


def server_key_of(digest: str, salted: bytes) -> bytes:
    return hmac.digest(salted, b"Server Key", digest)


def hash_of(digest: str, data: bytes) -> bytes:
    return hashlib.new(digest, data).digest()


def credential_of(
    mechanism: ScramMechanism, salted: bytes, *, salt: bytes, iterations: int
) -> ScramCredential:
    """Return the credential of a salted password."""
    digest = mechanism.digest
    return ScramCredential(
        salt=salt,
        stored_key=hash_of(digest, client_key_of(digest, salted)),
        server_key=server_key_of(digest, salted),
        iterations=iterations,
    )


def fits(mechanism: ScramMechanism, password: str, credential: ScramCredential) -> bool:
    """Return whether a password is that of a credential: takes as long as `salted_password`."""
    salted = salted_password(
        mechanism, password, salt=credential.salt, iterations=credential.iterations
    )
    key = hash_of(mechanism.digest, client_key_of(mechanism.digest, salted))
    return hmac.compare_digest(key, credential.stored_key)


def printable_salt(random_bytes: Callable[[int], bytes]) -> bytes:
    """Return a random salt of 130 bits as Kafka's tools make it: digits of base 36.

    Salts of one form do not tell credentials apart.
    """
    return base_36(int.from_bytes(random_bytes(_SALT_BITS // 8 + 1)) >> (8 - _SALT_BITS % 8))


def base_36(number: int) -> bytes:
    """Return the lowest 130 bits of a number in base 36."""
    number &= (1 << _SALT_BITS) - 1
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits.encode() or b"0"


def xor(key: bytes, signature: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(key, signature, strict=True))


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def from_base64(text: str) -> bytes:
    """Decode. Raises ValueError for text that is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
