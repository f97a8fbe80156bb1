"""Filters of quotas."""

import pytest
from attrs import frozen

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage, QuotaEntity
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.metadata.quotas import Match, quota_filter, quotas_that

USER: QuotaEntity = (("user", "alice"),)
ANYBODY: QuotaEntity = (("user", None),)
APP: QuotaEntity = (("client-id", "app"),)
BOTH: QuotaEntity = (("client-id", "app"), ("user", "alice"))
HOST: QuotaEntity = (("ip", "10.0.0.1"),)
ALL = (USER, ANYBODY, APP, BOTH, HOST)
IMAGE = MetadataImage(
    quotas=ImmutableMap({entity: {"k": float(at)} for at, entity in enumerate(ALL)})
)


@frozen
class Part:
    entity_type: str
    match_type: int
    match: str | None = None


def matching_entities(*parts: Part, strict: bool = False) -> list[QuotaEntity]:
    expected = quota_filter(parts, strict=strict)
    return [row[0] for row in quotas_that(expected, IMAGE) if row is not None]


@pytest.mark.parametrize(
    ("parts", "loose", "strict"),
    [
        ((), ALL, ()),
        ((Part("user", Match.EXACT, "alice"),), (USER, BOTH), (USER,)),
        ((Part("user", Match.EXACT, "bob"),), (), ()),
        ((Part("user", Match.DEFAULT),), (ANYBODY,), (ANYBODY,)),
        ((Part("user", Match.SPECIFIED),), (USER, ANYBODY, BOTH), (USER, ANYBODY)),
        ((Part("client-id", Match.SPECIFIED),), (APP, BOTH), (APP,)),
        (
            (Part("user", Match.EXACT, "alice"), Part("client-id", Match.SPECIFIED)),
            (BOTH,),
            (BOTH,),
        ),
        ((Part("ip", Match.SPECIFIED),), (HOST,), (HOST,)),
        ((Part("ip", Match.DEFAULT),), (), ()),
    ],
)
def test_quota_filter_finds_the_matching_entities(
    parts: tuple[Part, ...], loose: tuple[QuotaEntity, ...], strict: tuple[QuotaEntity, ...]
) -> None:
    assert matching_entities(*parts) == list(loose)
    assert matching_entities(*parts, strict=True) == list(strict)


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ((Part("", Match.SPECIFIED),), ErrorCode.INVALID_REQUEST),
        ((Part("user", 2), Part("user", 1)), ErrorCode.INVALID_REQUEST),
        ((Part("group", 2),), ErrorCode.UNSUPPORTED_VERSION),
        ((Part("user", Match.EXACT),), ErrorCode.INVALID_REQUEST),
        ((Part("user", Match.DEFAULT, "a"),), ErrorCode.INVALID_REQUEST),
        ((Part("user", Match.SPECIFIED, "a"),), ErrorCode.INVALID_REQUEST),
        ((Part("user", 3),), ErrorCode.INVALID_REQUEST),
        ((Part("ip", 2), Part("user", 2)), ErrorCode.INVALID_REQUEST),
        ((Part("client-id", 1), Part("ip", 0, "::1")), ErrorCode.INVALID_REQUEST),
    ],
)
def test_invalid_quota_filter_is_refused(parts: tuple[Part, ...], code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        quota_filter(parts, strict=False)
    assert refused.value.code is code
