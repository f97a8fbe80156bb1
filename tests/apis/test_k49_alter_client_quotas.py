"""AlterClientQuotas: each entity for itself, in every version, kept in the metadata log."""

from collections.abc import Mapping

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, codes, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryData,
    OpData,
)
from trio_kafka.protocol.structs.cluster import EntityData
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world


def entry(names: Mapping[str, str | None], **values: float | None) -> EntryData:
    """The desired quotas of an entity; None: the quota goes."""
    return EntryData(
        [EntityData(kind, name) for kind, name in names.items()],
        [OpData(key, value or 0.0, remove=value is None) for key, value in values.items()],
    )


async def ask(
    served: ServedBroker, *entries: EntryData, version: int = 1, validate_only: bool = False
) -> AlterClientQuotasResponse:
    request = AlterClientQuotasRequest([*entries], validate_only=validate_only)
    answer: AlterClientQuotasResponse = await served.ask(request, version)
    return answer


async def alter(served: ServedBroker, *entries: EntryData) -> None:
    """Set quotas, which must be good."""
    assert not any(codes((await ask(served, *entries)).entries))


def quotas(served: ServedBroker) -> dict[object, dict[str, float]]:
    return {at: dict(limits) for at, limits in served.broker.metadata.image.quotas.items()}


@pytest.mark.parametrize("version", stable(AlterClientQuotasRequest))
async def test_quotas_are_in_force_when_the_request_is_answered(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        answer = await ask(
            served,
            entry({"user": "alice", "client-id": None}, producer_byte_rate=1000),
            entry({"ip": "10.0.0.1"}, connection_creation_rate=5),
            entry({"user": "bob"}, producer_byte_rate=0.5),
            version=version,
        )

        assert codes(answer.entries) == [0, 0, ErrorCode.INVALID_REQUEST]
        assert [result.error_message is None for result in answer.entries] == [True, True, False]
        assert [
            {part.entity_type: part.entity_name for part in result.entity}
            for result in answer.entries
        ] == [{"user": "alice", "client-id": None}, {"ip": "10.0.0.1"}, {"user": "bob"}]
        assert quotas(served) == {
            (("client-id", None), ("user", "alice")): {"producer_byte_rate": 1000.0},
            (("ip", "10.0.0.1"),): {"connection_creation_rate": 5.0},
        }


async def test_quotas_are_removed(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await alter(served, entry({"user": "a"}, producer_byte_rate=1, consumer_byte_rate=2))

        await alter(served, entry({"user": "a"}, producer_byte_rate=None))

        assert quotas(served) == {(("user", "a"),): {"consumer_byte_rate": 2.0}}


async def test_validate_only_changes_nothing(autojump_clock: MockClock) -> None:
    async with broker() as served:
        answer = await ask(
            served,
            entry({"user": "a"}, producer_byte_rate=1),
            entry({"user": "b"}, nothing=1),
            validate_only=True,
        )

        assert codes(answer.entries) == [0, ErrorCode.INVALID_REQUEST]
        assert not quotas(served)


async def test_the_first_entry_applies_for_an_entity_named_twice(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        answer = await ask(
            served,
            entry({"user": "a"}, producer_byte_rate=1),
            entry({"user": "a"}, producer_byte_rate=2),
        )

        assert codes(answer.entries) == [ErrorCode.INVALID_REQUEST]
        assert quotas(served) == {(("user", "a"),): {"producer_byte_rate": 1.0}}


async def test_a_quota_key_named_twice_is_refused(autojump_clock: MockClock) -> None:
    async with broker() as served:
        twice = EntryData([EntityData("user", "a")], [OpData("producer_byte_rate", 1.0)] * 2)

        assert codes((await ask(served, twice)).entries) == [ErrorCode.INVALID_REQUEST]


async def test_too_many_changes_in_one_request_are_refused(autojump_clock: MockClock) -> None:
    async with broker() as served:
        many = EntryData([EntityData("user", "a")], [OpData(f"k{n}", 1.0) for n in range(10_001)])

        answer = await ask(served, many)

        assert codes(answer.entries) == [ErrorCode.POLICY_VIOLATION]


async def test_a_request_without_entries_changes_nothing(autojump_clock: MockClock) -> None:
    async with broker() as served:
        assert (await ask(served)).entries == []


async def test_quotas_survive_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await alter(served, entry({"user": "a"}, producer_byte_rate=1))

    async with served_broker(world) as served:
        assert quotas(served) == {(("user", "a"),): {"producer_byte_rate": 1.0}}
