"""Lists of a request that are longer than any honest client's are refused before work is done."""

from collections.abc import Callable
from typing import Any

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k14_sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from trio_kafka.protocol.messages.k33_alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from trio_kafka.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from trio_kafka.protocol.messages.k49_alter_client_quotas import AlterClientQuotasRequest, EntryData
from trio_kafka.protocol.messages.k57_update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from trio_kafka.protocol.structs.cluster import EntityData


def whole_code(answer: Any) -> int:
    return int(answer.error_code)


def topics(**filled: Any) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreatableTopic("t", -1, -1, **filled)], 5000)


def quotas(entries: int, parts: int) -> AlterClientQuotasRequest:
    entity = [EntityData(f"{number}", "a") for number in range(parts)]
    return AlterClientQuotasRequest([EntryData(entity) for _ in range(entries)])


@pytest.mark.parametrize(
    ("request_", "version", "code_of", "code"),
    [
        (
            SyncGroupRequest(
                "g",
                1,
                "m",
                protocol_type="consumer",
                protocol_name="range",
                assignments=[SyncGroupRequestAssignment(f"{n}", b"") for n in range(10_001)],
            ),
            5,
            whole_code,
            ErrorCode.INVALID_REQUEST,
        ),
        (
            topics(configs=[CreatableTopicConfig(f"{n}", "") for n in range(1001)]),
            7,
            lambda answer: answer.topics[0].error_code,
            ErrorCode.INVALID_REQUEST,
        ),
        (
            topics(assignments=[CreatableReplicaAssignment(n, [1]) for n in range(10_001)]),
            7,
            lambda answer: answer.topics[0].error_code,
            ErrorCode.POLICY_VIOLATION,
        ),
        (
            AlterConfigsRequest(
                [AlterConfigsResource(2, "t", [AlterableConfig(f"{n}", "") for n in range(1001)])]
            ),
            2,
            lambda answer: answer.responses[0].error_code,
            ErrorCode.INVALID_REQUEST,
        ),
        (
            OffsetDeleteRequest(
                "g",
                [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)] * 20_000)],
            ),
            0,
            whole_code,
            ErrorCode.INVALID_REQUEST,
        ),
        (
            OffsetDeleteRequest("g", [OffsetDeleteRequestTopic("t")] * 20_001),
            0,
            whole_code,
            ErrorCode.INVALID_REQUEST,
        ),
        (
            quotas(10_001, 1),
            1,
            lambda answer: answer.entries[-1].error_code,
            ErrorCode.POLICY_VIOLATION,
        ),
        (
            quotas(1, 30_001),
            1,
            lambda answer: answer.entries[-1].error_code,
            ErrorCode.POLICY_VIOLATION,
        ),
        (
            UpdateFeaturesRequest(5000, [FeatureUpdateKey("metadata.version", 33)] * 1001),
            2,
            whole_code,
            ErrorCode.INVALID_REQUEST,
        ),
    ],
    ids=[
        "SyncGroup",
        "CreateTopics-configs",
        "CreateTopics-assignments",
        "AlterConfigs",
        "OffsetDelete-partitions",
        "OffsetDelete-topics",
        "AlterClientQuotas-entries",
        "AlterClientQuotas-entity",
        "UpdateFeatures",
    ],
)
async def test_a_request_with_too_many_items_is_refused(
    autojump_clock: MockClock,
    request_: Any,
    version: int,
    code_of: Callable[[Any], int],
    code: ErrorCode,
) -> None:
    async with broker() as served:
        if not isinstance(request_, CreateTopicsRequest):
            await served.create_topic("t")
        await served.serve_groups("g")

        answer = await served.ask(request_, version)

    assert code_of(answer) == code


async def test_unknown_logger_names_in_a_long_list_are_left_out(
    autojump_clock: MockClock,
) -> None:
    names = [f"no.{number}" for number in range(5000)]
    describe_configs_resource = DescribeConfigsResource(8, "1", ["root", *names])
    async with broker() as served:
        answer = await served.ask(DescribeConfigsRequest([describe_configs_resource]), 4)

    assert [config.name for config in answer.results[0].configs] == ["root"]
