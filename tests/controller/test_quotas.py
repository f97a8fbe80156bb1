"""Quotas that may be set, for whom, and the records of them."""

from math import inf, nan

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from tests.controller.kit import image_of
from tests.metadata.kit import replay_all
from trio_kafka.controller.quotas import CLIENT_KEYS, IP_KEYS, QuotaChange, alter_quotas
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage, QuotaEntity
from trio_kafka.quotas.quotas import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)

APP: QuotaEntity = (("client-id", "app"),)
ANYBODY: QuotaEntity = (("user", None),)
HOST: QuotaEntity = (("ip", "10.0.0.1"),)


def image(quotas: dict[QuotaEntity, dict[str, float]] | None = None) -> MetadataImage:
    base = image_of()
    return evolve(base, quotas=base.quotas.updated(quotas or {}))


def after(before: MetadataImage, *changes: QuotaChange) -> dict[QuotaEntity, dict[str, float]]:
    """The quotas when all changes were replayed."""
    for change in changes:
        delta = MetadataDelta(before)
        replay_all(delta, list(alter_quotas(before, change).records))
        before = delta.apply(before.offset + 1, 1, 0)
    return {entity: dict(quotas) for entity, quotas in before.quotas.items()}


def refused(change: QuotaChange) -> KafkaError:
    with pytest.raises(KafkaError) as result:
        alter_quotas(image(), change)
    assert result.value.code is ErrorCode.INVALID_REQUEST
    return result.value


def test_quotas_of_an_entity_can_be_set_changed_and_removed() -> None:
    first = QuotaChange(APP, {PRODUCER_BYTE_RATE: 1000.0, REQUEST_PERCENTAGE: 12.5})
    second = QuotaChange(APP, {PRODUCER_BYTE_RATE: 2000.0, REQUEST_PERCENTAGE: None})

    assert after(image(), first) == {APP: {PRODUCER_BYTE_RATE: 1000.0, REQUEST_PERCENTAGE: 12.5}}
    assert after(image(), first, second) == {APP: {PRODUCER_BYTE_RATE: 2000.0}}
    assert after(image(), first, QuotaChange(APP, dict.fromkeys(first.values))) == {}


def test_unchanged_quotas_write_no_records() -> None:
    there = image({APP: {PRODUCER_BYTE_RATE: 1000.0}})
    change = QuotaChange(APP, {PRODUCER_BYTE_RATE: 1000.0, CONSUMER_BYTE_RATE: None})
    assert not list(alter_quotas(there, change).records)


def test_an_unknown_quota_key_can_be_removed() -> None:
    assert not list(alter_quotas(image(), QuotaChange(APP, {"old": None})).records)
    there = image({APP: {"old": 1.0}})
    assert after(there, QuotaChange(APP, {"old": None})) == {}


@pytest.mark.parametrize(
    "entity",
    [
        (),
        (("group", "g"),),
        (("user", ""),),
        (("client-id", ""),),
        (("ip", ""),),
        (("ip", "10.0.0.1"), ("user", "alice")),
        (("client-id", None), ("ip", None)),
        (("ip", "not an address"),),
        (("ip", "10.0.0.256"),),
    ],
)
def test_invalid_quota_entities_are_refused(entity: QuotaEntity) -> None:
    refused(QuotaChange(entity, {}))


@pytest.mark.parametrize(
    "entity",
    [
        (("user", "alice"),),
        ANYBODY,
        APP,
        (("client-id", None),),
        (("client-id", "app"), ("user", "alice")),
        (("client-id", None), ("user", None)),
    ],
)
@pytest.mark.parametrize("key", CLIENT_KEYS)
def test_users_and_clients_accept_client_quota_keys_but_no_connection_rate(
    entity: QuotaEntity, key: str
) -> None:
    assert after(image(), QuotaChange(entity, {key: 5.0})) == {entity: {key: 5.0}}
    refused(QuotaChange(entity, {CONNECTION_CREATION_RATE: 5.0}))


@pytest.mark.parametrize("address", ["10.0.0.1", "::1", None])
def test_ip_addresses_accept_only_the_connection_rate_quota(address: str | None) -> None:
    entity: QuotaEntity = (("ip", address),)
    change = QuotaChange(entity, {CONNECTION_CREATION_RATE: 5.0})
    assert after(image(), change) == {entity: {CONNECTION_CREATION_RATE: 5.0}}
    for key in CLIENT_KEYS:
        refused(QuotaChange(entity, {key: 5.0}))


@pytest.mark.parametrize("key", [*CLIENT_KEYS, *IP_KEYS])
@pytest.mark.parametrize("value", [0.0, -1.0, -0.5, -inf, nan])
def test_a_quota_that_is_not_positive_is_refused(key: str, value: float) -> None:
    refused(QuotaChange(APP if key in CLIENT_KEYS else HOST, {key: value}))


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        (PRODUCER_BYTE_RATE, [1.0, 2.0**63, 5.0000001], [0.5, 1.9999999, 2.0**64, inf]),
        (CONSUMER_BYTE_RATE, [1.0, 2.0**63], [2.5, 2.0**64]),
        (REQUEST_PERCENTAGE, [0.01, 33.3, 1e300, inf], []),
        (CONTROLLER_MUTATION_RATE, [0.01, 33.3, inf], []),
        (CONNECTION_CREATION_RATE, [1.0, 2.0**31 - 1], [0.5, 2.0**31, inf]),
    ],
)
def test_quotas_out_of_bounds_or_with_a_disallowed_fraction_are_refused(
    key: str, good: list[float], bad: list[float]
) -> None:
    entity = HOST if key in IP_KEYS else APP
    for value in good:
        assert after(image(), QuotaChange(entity, {key: value})) == {entity: {key: value}}
    for value in bad:
        refused(QuotaChange(entity, {key: value}))


def test_one_invalid_or_repeated_quota_key_refuses_the_whole_change() -> None:
    refused(QuotaChange(APP, {PRODUCER_BYTE_RATE: 5.0, CONSUMER_BYTE_RATE: 0.0}))
    assert "named twice" in str(refused(QuotaChange(APP, {}, repeated=PRODUCER_BYTE_RATE)))


@given(
    st.lists(
        st.tuples(
            st.sampled_from([APP, ANYBODY]),
            st.dictionaries(
                st.sampled_from(list(CLIENT_KEYS)), st.none() | st.integers(1, 3).map(float)
            ),
        ),
        max_size=12,
    )
)
def test_any_sequence_of_quota_changes_gives_the_quotas_of_a_simple_model(
    edits: list[tuple[QuotaEntity, dict[str, float | None]]],
) -> None:
    expected: dict[QuotaEntity, dict[str, float]] = {}
    for entity, values in edits:
        quotas = {**expected.get(entity, {}), **values}
        expected[entity] = {key: value for key, value in quotas.items() if value is not None}
    changes = [QuotaChange(entity, values) for entity, values in edits]
    assert after(image(), *changes) == {at: quotas for at, quotas in expected.items() if quotas}
