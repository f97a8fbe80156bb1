"""Every API of the protocol has an answer that says an error."""

import importlib
import pkgutil
from typing import Any

import trio_kafka.protocol.messages as messages
from tests.lanes import together
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from trio_kafka.protocol.messages.k15_describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.protocol.size_check import MANY
from trio_kafka.protocol.versions import covers
from trio_kafka.requests.chunked_codec import encode_in_steps
from trio_kafka.requests.error_answers import generic_error_answer
from trio_kafka.requests.lazy_arrays import LazyArray
from trio_kafka.scheduling.chunked_work import whole

CODE = ErrorCode.UNKNOWN_SERVER_ERROR


def requests() -> list[tuple[type[Any], int]]:
    result = []
    for module in pkgutil.iter_modules(messages.__path__, f"{messages.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            message = getattr(value, "__message__", None)
            if message is not None and message.kind == "request" and message.response is not None:
                result += [
                    (value, version)
                    for version in range(message.versions[0], message.versions[1] + 1)
                ]
    return sorted(result, key=lambda request: (message_of(request[0]).key or 0, request[1]))


def filled(cls: type[Any], version: int) -> Any:
    """Something in every field, one item in every array."""
    message = cls()
    for field in fields_of(cls):
        if covers(field.versions, version):
            value = _value(field, version)
            if value is not None:
                setattr(message, field.name, value)
    return message


def _value(field: Field, version: int) -> Any:
    if field.kind == "array":
        return [_value(field.item, version)]
    if field.kind == "struct":
        return filled(field.part, version)
    return {"string": f"a {field.name}", "int32": 7, "int16": 1}.get(field.kind)


def codes_in(answer: Any) -> list[int]:
    result = []
    for field in fields_of(type(answer)):
        value = getattr(answer, field.name)
        if field.name.endswith("error_code"):
            result.append(value)
        elif isinstance(value, list):
            result += [
                code for item in value if hasattr(item, "__fields__") for code in codes_in(item)
            ]
    return result


@together(requests(), label=lambda pair: f"{message_of(pair[0]).name}-{pair[1]}")
def test_every_api_has_an_error_response_in_every_version(pair: tuple[type[Any], int]) -> None:
    request_class, version = pair
    response = message_of(request_class).response
    assert response is not None

    answer = generic_error_answer(filled(request_class, version), response, version, CODE, "why")

    assert CODE in codes_in(answer)
    data = to_bytes(answer, version)
    assert CODE in codes_in(decoder(response, version)(data)[0])


def test_every_partition_of_a_fetch_gets_its_own_error() -> None:
    request = FetchRequest(
        topics=[
            FetchTopic(topic="t", partitions=[FetchPartition(partition=n) for n in (3, 5)]),
            FetchTopic(topic="u", partitions=[FetchPartition(partition=0)]),
        ]
    )
    answer = generic_error_answer(request, FetchResponse, 4, CODE, None)

    assert [
        (topic.topic, partition.partition_index, partition.error_code)
        for topic in answer.responses
        for partition in topic.partitions
    ] == [("t", 3, -1), ("t", 5, -1), ("u", 0, -1)]


def test_produce_without_acks_gets_no_error_response() -> None:
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=2)])]

    answer = generic_error_answer(
        ProduceRequest(acks=1, topic_data=data), ProduceResponse, 8, CODE, "why"
    )
    (partition,) = answer.responses[0].partition_responses
    assert (partition.index, partition.error_code, partition.error_message) == (2, -1, "why")
    assert partition.base_offset == -1
    request = ProduceRequest(acks=0, topic_data=data)
    assert generic_error_answer(request, ProduceResponse, 8, CODE, "why") is None


def test_error_response_has_the_names_of_the_request_in_its_items() -> None:
    request = DescribeGroupsRequest(groups=["g", "h"])
    answer = generic_error_answer(request, DescribeGroupsResponse, 6, CODE, "why")

    assert [group.group_id for group in answer.groups] == ["g", "h"]
    assert {group.error_message for group in answer.groups} == {"why"}


def test_error_response_of_an_empty_request_is_empty() -> None:
    answer = generic_error_answer(FetchRequest(), FetchResponse, 4, CODE, None)

    assert answer.responses == []


def test_items_of_a_large_error_response_are_created_lazily() -> None:
    request = DescribeGroupsRequest(groups=[f"group-{n}" for n in range(MANY + 1)])

    answer = generic_error_answer(request, DescribeGroupsResponse, 0, CODE, None)

    assert type(answer.groups) is LazyArray
    read, _ = decoder(DescribeGroupsResponse, 0)(to_bytes_lazily(answer), 0)
    assert {group.error_code for group in read.groups} == {CODE}
    assert [group.group_id for group in read.groups] == request.groups


def to_bytes_lazily(answer: Any) -> bytes:
    return b"".join(whole(encode_in_steps(answer, 0)))
