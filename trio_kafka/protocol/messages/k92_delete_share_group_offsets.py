"""DeleteShareGroupOffsets (key 92): delete the start offsets of an empty share group."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, request, response, string, struct, uuid


@struct
class DeleteShareGroupOffsetsRequestTopic:
    topic_name: str = string(cached=True)


@request(key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest:
    """Topics of a group."""

    response: ClassVar[type["DeleteShareGroupOffsetsResponse"]]

    group_id: str = string()
    topics: list[DeleteShareGroupOffsetsRequestTopic] = array(DeleteShareGroupOffsetsRequestTopic)


@struct
class DeleteShareGroupOffsetsResponseTopic:
    topic_name: str = string(cached=True)
    topic_id: bytes = uuid()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@response(DeleteShareGroupOffsetsRequest)
class DeleteShareGroupOffsetsResponse:
    """An error for each topic."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = array(
        DeleteShareGroupOffsetsResponseTopic
    )
