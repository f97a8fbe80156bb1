"""Changes of SCRAM credentials: which ones can be stored and removed.

A request changes a user once: a second change, also of another mechanism, rejects both. The salted
password of a request is not stored, only the two keys that are made of it. Source:
ScramControlManager of Apache Kafka 4.4.0; KIP-554.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.controller.decision import Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import METADATA_VERSION
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol.stored.metadata.security import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from trio_kafka.security.sasl.scram import BY_NUMBER, ScramMechanism, credential_of

SCRAM_LEVEL: Final = 11
"""First level of metadata.version with SCRAM credentials: 3.5-IV2."""
_A_STEP: Final = 50  # credentials, about 10 µs each
Altered = dict[str, KafkaError | None]
_Record = UserScramCredentialRecord | RemoveUserScramCredentialRecord


@frozen
class ScramChange:
    """A change of one credential. mechanism: its number. upsertion: None: it is removed."""

    user: str
    mechanism: int
    upsertion: "ScramUpsertion | None" = None


@frozen(kw_only=True)
class ScramUpsertion:
    """A password after PBKDF2, and its parameters. No text shows it."""

    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)
    iterations: int


def alter_scram(image: MetadataImage, changes: Sequence[ScramChange]) -> Decision[Altered]:
    """Store and remove credentials; the result has an error or None for each user.

    It is complete with the records.
    """
    altered: Altered = {}
    return Decision(altered, _records(image, changes, altered))


def _records(
    image: MetadataImage, changes: Sequence[ScramChange], altered: Altered
) -> Iterator[_Record | None]:
    for number, change in enumerate(changes, 1):
        if change.user not in altered:
            altered[change.user] = _error(image, change)
        elif altered[change.user] is None:
            altered[change.user] = KafkaError(
                ErrorCode.DUPLICATE_RESOURCE,
                "A user credential cannot be altered twice in the same request",
            )
        if not number % _A_STEP:
            yield None
    for number, change in enumerate(changes, 1):
        if altered[change.user] is None:
            yield _record(change)
        if not number % _A_STEP:
            yield None


def _record(change: ScramChange) -> _Record:
    upsertion = change.upsertion
    if upsertion is None:
        return RemoveUserScramCredentialRecord(name=change.user, mechanism=change.mechanism)
    credential = credential_of(
        BY_NUMBER[change.mechanism],
        upsertion.salted_password,
        salt=upsertion.salt,
        iterations=upsertion.iterations,
    )
    return UserScramCredentialRecord(
        name=change.user,
        mechanism=change.mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def _error(image: MetadataImage, change: ScramChange) -> KafkaError | None:
    """Return why a change is not possible; None if it is."""
    if image.features.get(METADATA_VERSION, 0) < SCRAM_LEVEL:
        return KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM"
        )
    mechanism = BY_NUMBER.get(change.mechanism)
    if not change.user:
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism is None:
        return KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    upsertion = change.upsertion
    if upsertion is not None:
        return _error_of_upsertion(mechanism, upsertion)
    if (change.user, change.mechanism) not in image.scram:
        return KafkaError(
            ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
        )
    return None


def _error_of_upsertion(mechanism: ScramMechanism, upsertion: ScramUpsertion) -> KafkaError | None:
    code = ErrorCode.UNACCEPTABLE_CREDENTIAL
    if upsertion.iterations < mechanism.fewest:
        return KafkaError(code, "Too few iterations")
    if upsertion.iterations > mechanism.most:
        return KafkaError(code, "Too many iterations")
    return None
