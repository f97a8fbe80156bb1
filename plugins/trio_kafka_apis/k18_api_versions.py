"""ApiVersions (key 18): which APIs and versions this broker serves, and which features the cluster
has.

Never waits; anybody may ask, also before authentication. The answer is kept as bytes until the
registry or the metadata change. A version that nobody knows is answered in version 0 with
UNSUPPORTED_VERSION and the versions of this API, so that the client asks again (KIP-511). A client
that says where it believes to be is told when it is elsewhere (KIP-1242). Produce is listed from
version 0 on, as Kafka does for librdkafka, though 0 to 2 are not served.
"""

import re
from typing import Final

from trio_kafka.plugin import Context, Encoded, ErrorCode, KafkaError, api, message_of, to_bytes
from trio_kafka.protocol.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

API_VERSIONS: Final = 18
PRODUCE: Final = 0
NO_NODE: Final = -1
# Source: KIP-511, of names and versions of client software.
SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def say_error(
    request: ApiVersionsRequest | None, code: ErrorCode, message: str | None
) -> ApiVersionsResponse:
    """The code alone; with the versions of this API when it is the version that is not known."""
    del request, message
    response = ApiVersionsResponse(error_code=code)
    if code is ErrorCode.UNSUPPORTED_VERSION:
        first, last = message_of(ApiVersionsRequest).versions
        response.api_keys.append(ApiVersion(API_VERSIONS, first, last))
    return response


@api(ApiVersionsRequest, error=say_error)
def api_versions(request: ApiVersionsRequest, context: Context) -> Encoded:
    version = context.version
    if version >= 3:
        _note_software(request, context)
    if version >= 5:
        _check_place(request, context)
    cache, epoch = context.apis.cache, context.features.epoch
    answer: tuple[int, Encoded] | None = cache.get((API_VERSIONS, version))
    if answer is None or answer[0] != epoch:
        answer = epoch, Encoded(to_bytes(make_response(context, version), version))
        cache[API_VERSIONS, version] = answer
    return answer[1]


def make_response(context: Context, version: int) -> ApiVersionsResponse:
    """What is served now. A version below 4 cannot say that a feature may be at level 0."""
    features = context.features
    supported = [
        SupportedFeatureKey(name=name, min_version=lowest, max_version=highest)
        for name, (lowest, highest) in sorted(features.supported.items())
        if version >= 4 or lowest > 0
    ]
    finalized = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in sorted(features.finalized.items())
    ]
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(one.key, 0 if one.key == PRODUCE else one.first, one.last)
            for one in context.apis
        ],
        supported_features=supported,
        finalized_features_epoch=features.epoch,
        finalized_features=finalized,
    )


def _note_software(request: ApiVersionsRequest, context: Context) -> None:
    name, version = request.client_software_name, request.client_software_version
    software = context.connection.software
    if software is not None and software == (name, version):
        return
    if not (SOFTWARE.fullmatch(name) and SOFTWARE.fullmatch(version)):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "name or version of the client software")
    context.connection.software = name, version


def _check_place(request: ApiVersionsRequest, context: Context) -> None:
    cluster, node = request.cluster_id, request.node_id
    if (cluster is None) != (node == NO_NODE):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "want both cluster id and node id, or neither")
    if cluster is not None and (cluster, node) != (context.cluster_id, context.node_id):
        raise KafkaError(ErrorCode.REBOOTSTRAP_REQUIRED)
