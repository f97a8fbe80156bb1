from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.headers import (
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataResponse
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from trio_kafka.protocol.schema import message_of


def test_flexible_versions_have_the_newer_header_version() -> None:
    request, response = message_of(MetadataRequest), message_of(MetadataResponse)

    assert [request_header_version(request, version) for version in (0, 8, 9, 13)] == [1, 1, 2, 2]
    assert [response_header_version(response, version) for version in (0, 8, 9, 13)] == [0, 0, 1, 1]


def test_an_api_versions_response_has_header_0_in_every_version() -> None:
    request, response = message_of(ApiVersionsRequest), message_of(ApiVersionsResponse)

    assert [response_header_version(response, version) for version in range(6)] == [0] * 6
    assert [response_header_version(request, version) for version in range(6)] == [0] * 6
    assert request_header_version(request, 99) == 2  # a client of the future is still understood


def test_a_response_header_contains_the_correlation_id() -> None:
    assert to_bytes(ResponseHeader(5), 0).hex() == "00000005"
    assert to_bytes(ResponseHeader(5), 1).hex() == "0000000500"
