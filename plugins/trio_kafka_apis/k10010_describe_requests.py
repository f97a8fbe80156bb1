"""DescribeRequests (key 10010, ours): list requests in flight, and the latest and slowest finished.

Never waits, but works in slices, so the response is no snapshot of one moment. It shows the header,
the sizes and the times of a request, with client id and address, but no content.

Needs DESCRIBE on the cluster.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.pending import Eventual, Work
from trio_kafka.protocol.messages.k10010_describe_requests import (
    DescribeRequestsRequest,
    DescribeRequestsResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.descriptions import LONGEST, make_life
from trio_kafka.requests.inspection import (
    MAX_REQUESTS,
    InspectedRequest,
    Selection,
    inspect_requests,
)
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.requests.loopback import InProcessClient
from trio_kafka.requests.registry import Registry
from trio_kafka.security.operations import Operation

NAMES: Final = 256  # API names in one request


@api(DescribeRequestsRequest)
def describe_requests(
    request: DescribeRequestsRequest, context: Context
) -> Eventual[DescribeRequestsResponse]:
    context.authorize(Operation.DESCRIBE, cluster=True)
    if request.which not in list(Selection):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"unknown kind of requests: {request.which}")
    client = request.client_id
    keys = frozenset([*request.api_keys, *keys_of(request.api_names, context)])

    def is_wanted(stamps: Stamps, client_id: str) -> bool:
        return (not keys or stamps.key in keys) and client in (None, client_id)

    most = MAX_REQUESTS if request.max_requests < 0 else min(request.max_requests, MAX_REQUESTS)
    inspection = inspect_requests(
        context.parts.planes, Selection(request.which), is_wanted, most, context[InProcessClient]
    )
    return Work(inspection).then(_response)


def _response(inspected: tuple[list[InspectedRequest], bool]) -> DescribeRequestsResponse:
    requests, truncated = inspected
    return DescribeRequestsResponse(truncated=truncated, requests=lazily(requests, make_life))


def keys_of(names: Sequence[str], context: Context) -> list[int]:
    """Return the keys of APIs, given by name (case is ignored) or by key.

    Every API that is served is known, and every one that was requested earlier.
    Raises KafkaError(INVALID_REQUEST) for an unknown name, and for too many names.
    """
    if len(names) > NAMES:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"{len(names)} API names: expected at most {NAMES}"
        )
    if not names:
        return []
    names_of = dict(context[Registry].names)
    for plane in context.parts.planes:
        names_of |= {
            key: plane.request_metrics.name_of(key) for key in plane.request_metrics.by_key
        }
    by_name = {name.lower(): key for key, name in names_of.items()}
    by_name |= {str(key): key for key in names_of}
    for name in names:
        if name.lower() not in by_name:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"no API has the name or key {name[:LONGEST]!r}",
            )
    return [by_name[name.lower()] for name in names]
