"""ApiVersions (key 18): list the APIs and versions that are served, and the cluster's features.

Never waits. The encoded response is cached until the registry or the epoch of the features changes;
this grows with every record of the metadata, so with each subscription, too. An unknown version is
answered in version 0 with UNSUPPORTED_VERSION and the versions of this API, so that the client
retries (KIP-511). A client that names the broker it expects is told if this is another one
(KIP-1242). The APIs of telemetry are listed while there is a subscription: a client that sees them
asks at once, and librdkafka logs each time. Produce is listed from version 0 on, as Kafka does for
librdkafka, although versions 0 to 2 are not served.

Needs no permission, as in Kafka: it comes before authentication.
"""

from collections.abc import Collection
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.client_software import FIRST_VERSION, names_software
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from trio_kafka.protocol.schema import message_of
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.parts import Features, MissingPartError
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.replies import Encoded
from trio_kafka.telemetry.client_telemetry import ClientTelemetry

API_VERSIONS: Final = 18
PRODUCE: Final = 0
TELEMETRY: Final = frozenset({71, 72})
NO_NODE: Final = -1
LONGEST: Final = 256  # characters of the software's name, and of its version, that are kept


def say_error(
    request: ApiVersionsRequest | None, code: ErrorCode, message: str | None
) -> ApiVersionsResponse:
    """Return the code; for an unknown version also the versions of this API."""
    del request, message
    response = ApiVersionsResponse(error_code=code)
    if code is ErrorCode.UNSUPPORTED_VERSION:
        first, last = message_of(ApiVersionsRequest).versions
        response.api_keys.append(ApiVersion(API_VERSIONS, first, last))
    return response


@api(ApiVersionsRequest, error=say_error)
def api_versions(request: ApiVersionsRequest, context: Context) -> Encoded:
    version = context.version
    if version >= FIRST_VERSION:
        _note_software(request, context)
    if version >= 5:
        _check_place(request, context)
    cache, epoch = context[Registry].cache, context[Features].epoch
    answer: tuple[int, Encoded] | None = cache.get((API_VERSIONS, version))
    if answer is None or answer[0] != epoch:
        unlisted = () if _is_subscribed(context) else TELEMETRY
        answer = epoch, Encoded(to_bytes(make_response(context, version, unlisted), version))
        cache[API_VERSIONS, version] = answer
    return answer[1]


def _is_subscribed(context: Context) -> bool:
    """Return whether any client is to push metrics."""
    try:
        return context[ClientTelemetry].is_subscribed
    except MissingPartError:
        return False


def make_response(
    context: Context, version: int, unlisted: Collection[int] = ()
) -> ApiVersionsResponse:
    """Return the APIs and features that are served now. unlisted: keys that are left out.

    Before version 4 a feature whose lowest level is 0 is left out: clients cannot parse it.
    """
    features = context[Features]
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
            ApiVersion(api.key, 0 if api.key == PRODUCE else api.first, api.last)
            for api in context[Registry]
            if api.key not in unlisted
        ],
        supported_features=supported,
        finalized_features_epoch=features.epoch,
        finalized_features=finalized,
    )


def _note_software(request: ApiVersionsRequest, context: Context) -> None:
    name, version = request.client_software_name, request.client_software_version
    software = name[:LONGEST], version[:LONGEST]
    if context.connection.software == software:
        return
    if not names_software(request, context.version):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"client software {name!r} {version!r}: expected letters, digits, - and .",
        )
    context.connection.software = software


def _check_place(request: ApiVersionsRequest, context: Context) -> None:
    cluster, node = request.cluster_id, request.node_id
    if (cluster is None) != (node == NO_NODE):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "cluster id without node id, or the reverse: expected both or neither",
        )
    if cluster is not None and (cluster, node) != (context.cluster_id, context.node_id):
        raise KafkaError(ErrorCode.REBOOTSTRAP_REQUIRED)
