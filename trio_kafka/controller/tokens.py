"""Changes of delegation tokens: which ones can be made, renewed and ended.

The log has the times of a token and its principals, not its HMAC. A renewal writes the whole record
again. Times never exceed the maximum of the token, which its creation fixed. Source:
DelegationTokenControlManager of Apache Kafka 4.4.0; KIP-48, KIP-373 (other owners).
"""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.controller.decision import ControllerSettings, Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import METADATA_VERSION
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol.stored.metadata.security import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
)
from trio_kafka.security.delegation_tokens import is_expired

TOKENS_LEVEL: Final = 14
"""First level of metadata.version with delegation tokens: 3.6-IV2."""
MOST_OF_ONE: Final = 10_000
"""Tokens that one requester may have at a time. A user needs no permission to make one, and each is
in the metadata log; Kafka has no limit."""
_LATEST: Final = (1 << 63) - 1
_A_STEP: Final = 200  # tokens, less than 1 µs each


@frozen(kw_only=True)
class NewToken:
    """A token to be made. owner, requester, renewers: principals as `type:name`.

    max_lifetime_ms: 0 or less: that of the settings.
    """

    token_id: str
    owner: str
    requester: str
    renewers: Sequence[str]
    max_lifetime_ms: int
    now_ms: int


@frozen(kw_only=True)
class TokenChange:
    """Another expiry of a token. token_id: None: no token has the HMAC of the request.

    principal: the client, as `type:name`.
    """

    token_id: str | None
    principal: str
    period_ms: int
    now_ms: int


def create_token(
    image: MetadataImage, new: NewToken, settings: ControllerSettings
) -> Decision[DelegationTokenRecord]:
    """Make a token. Raises KafkaError: UNSUPPORTED_VERSION; POLICY_VIOLATION for too many."""
    _check_level(image)
    _check_number(image, new)
    lifetime_ms = settings.delegation_token_max_lifetime_ms
    if new.max_lifetime_ms > 0:
        lifetime_ms = min(lifetime_ms, new.max_lifetime_ms)
    ends_ms = _sum(new.now_ms, lifetime_ms)
    record = DelegationTokenRecord(
        owner=new.owner,
        requester=new.requester,
        renewers=list(new.renewers),
        issue_timestamp=new.now_ms,
        max_timestamp=ends_ms,
        expiration_timestamp=min(
            ends_ms, _sum(new.now_ms, settings.delegation_token_expiry_time_ms)
        ),
        token_id=new.token_id,
    )
    return Decision(record, [record])


def renew_token(
    image: MetadataImage, change: TokenChange, settings: ControllerSettings
) -> Decision[int]:
    """Let a token live longer, and return its expiry. period_ms: 0 or less: that of the settings.

    Raises KafkaError.
    """
    record = _present(image, change)
    _check_alive(record, change)
    _check_principal(record, change)
    period_ms = settings.delegation_token_expiry_time_ms
    if change.period_ms > 0:
        period_ms = min(period_ms, change.period_ms)
    return _expiring(record, _sum(change.now_ms, period_ms))


def expire_token(image: MetadataImage, change: TokenChange) -> Decision[int]:
    """Let a token end after a period, and return its expiry. period_ms: negative: it ends now.

    Raises KafkaError.
    """
    record = _present(image, change)
    _check_principal(record, change)
    if change.period_ms < 0:
        return Decision(change.now_ms, [RemoveDelegationTokenRecord(record.token_id)])
    _check_alive(record, change)
    return _expiring(record, _sum(change.now_ms, change.period_ms))


def remove_expired(image: MetadataImage, now_ms: float) -> Decision[None]:
    """Remove the tokens that have ended."""
    return Decision(None, _removals(image, now_ms))


def _removals(image: MetadataImage, now_ms: float) -> Iterator[RemoveDelegationTokenRecord | None]:
    for number, record in enumerate(image.tokens.values(), 1):
        if is_expired(record, now_ms):
            yield RemoveDelegationTokenRecord(record.token_id)
        if not number % _A_STEP:
            yield None


def _present(image: MetadataImage, change: TokenChange) -> DelegationTokenRecord:
    _check_level(image)
    record = None if change.token_id is None else image.tokens.get(change.token_id)
    if record is None:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "no token has this HMAC")
    return record


def _check_level(image: MetadataImage) -> None:
    if image.features.get(METADATA_VERSION, 0) < TOKENS_LEVEL:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, "raise metadata.version to 3.6-IV2 for delegation tokens"
        )


def _check_number(image: MetadataImage, new: NewToken) -> None:
    if len(image.tokens) < MOST_OF_ONE:  # nearly always
        return
    own = sum(record.requester == new.requester for record in image.tokens.values())
    if own >= MOST_OF_ONE:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"{new.requester} has {own} tokens: expected fewer than {MOST_OF_ONE}; expire some",
        )


def _check_alive(record: DelegationTokenRecord, change: TokenChange) -> None:
    if is_expired(record, change.now_ms):
        raise KafkaError(
            ErrorCode.DELEGATION_TOKEN_EXPIRED, f"token {record.token_id} has expired: make another"
        )


def _check_principal(record: DelegationTokenRecord, change: TokenChange) -> None:
    if change.principal != record.owner and change.principal not in record.renewers:
        raise KafkaError(
            ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH,
            f"{change.principal} is neither owner nor renewer of token {record.token_id}",
        )


def _expiring(record: DelegationTokenRecord, expiry_ms: int) -> Decision[int]:
    expiry_ms = min(record.max_timestamp, expiry_ms)
    changed = copy(record)
    changed.expiration_timestamp = expiry_ms
    return Decision(expiry_ms, [changed])


def _sum(now_ms: int, period_ms: int) -> int:
    return min(_LATEST, now_ms + period_ms)
