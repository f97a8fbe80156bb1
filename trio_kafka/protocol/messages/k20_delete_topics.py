"""DeleteTopics (key 20): delete topics."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, request, response, string, struct, uuid


@struct
class DeleteTopicState:
    name: str | None = string(nullable="6+", default=None, cached=True)
    topic_id: bytes = uuid()


@request(key=20, versions="1-6", flexible="4+")
class DeleteTopicsRequest:
    """Topics by name up to v5, by name or id from v6 on."""

    response: ClassVar[type["DeleteTopicsResponse"]]

    topics: list[DeleteTopicState] = array(DeleteTopicState, "6+")
    topic_names: list[str] = array(string, "0-5", ignorable=True)
    timeout_ms: int = int32()


@struct
class DeletableTopicResult:
    name: str | None = string(nullable="6+", cached=True)
    topic_id: bytes = uuid("6+", ignorable=True)
    error_code: int = int16()
    error_message: str | None = string("5+", nullable="5+", default=None, ignorable=True)


@response(DeleteTopicsRequest)
class DeleteTopicsResponse:
    """An error code for each topic."""

    throttle_time_ms: int = int32(ignorable=True)
    responses: list[DeletableTopicResult] = array(DeletableTopicResult)
