"""DescribeClientQuotas: what was set, as a filter wants it, in every version."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from tests.apis.test_k49_alter_client_quotas import alter, entry
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k48_describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)


def quotas_of(
    answer: DescribeClientQuotasResponse,
) -> dict[tuple[tuple[str, str | None], ...], object]:
    """By entity its quotas."""
    assert answer.error_code == ErrorCode.NONE
    assert answer.entries is not None
    return {
        tuple((part.entity_type, part.entity_name) for part in result.entity): {
            value.key: value.value for value in result.values
        }
        for result in answer.entries
    }


@pytest.mark.parametrize("version", stable(DescribeClientQuotasRequest))
async def test_quotas_are_found_by_a_filter(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        await alter(
            served,
            entry({"user": "alice"}, producer_byte_rate=1000),
            entry({"user": None}, request_percentage=12.5),
            entry({"user": "alice", "client-id": "app"}, consumer_byte_rate=5),
        )
        request = DescribeClientQuotasRequest([ComponentData("user", 0, "alice")])

        answer = await served.ask(request, version)
        strict = await served.ask(
            DescribeClientQuotasRequest([ComponentData("user", 2, None)], strict=True), version
        )

        assert quotas_of(answer) == {
            (("user", "alice"),): {"producer_byte_rate": 1000.0},
            (("client-id", "app"), ("user", "alice")): {"consumer_byte_rate": 5.0},
        }
        assert quotas_of(strict) == {
            (("user", "alice"),): {"producer_byte_rate": 1000.0},
            (("user", None),): {"request_percentage": 12.5},
        }


@pytest.mark.parametrize("version", stable(DescribeClientQuotasRequest))
async def test_an_invalid_filter_is_an_error_without_entries(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        twice = DescribeClientQuotasRequest(
            [ComponentData("user", 2, None), ComponentData("user", 1, None)]
        )

        answer = await served.ask(twice, version)

        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert answer.error_message
        assert answer.entries is None


async def test_many_quotas_are_described_in_slices(autojump_clock: MockClock) -> None:
    async with broker() as served:
        many = [entry({"client-id": f"c{n}"}, producer_byte_rate=n + 1) for n in range(500)]
        await alter(served, *many)

        answer = await served.ask(DescribeClientQuotasRequest())

        assert len(quotas_of(answer)) == 500
