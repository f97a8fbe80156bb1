"""`trio-kafka requests`: requests of a broker that are in flight, or have ended."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from trio_kafka.cli.broker_client import (
    error_name,
    parse_address,
    send_request,
)
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k10010_describe_requests import (
    IN_FLIGHT,
    LATEST,
    NOT_YET,
    SLOWEST,
    DescribeRequestsRequest,
    DescribeRequestsResponse,
    RequestLife,
)
from trio_kafka.protocol.schema import fields_of

MORE: Final = "There are more requests: narrow the output with --api or --client."
NO_NAMES: Final = "the server cannot filter by --api: leave it out, or update the broker"
NO_REQUESTS: Final = "the server has no API DescribeRequests: only a trio-kafka broker has it"
_NAMES_SINCE: Final = 1  # version of DescribeRequests
KINDS: Final = {"in-flight": IN_FLIGHT, "latest": LATEST, "slowest": SLOWEST}


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "which",
        nargs="?",
        default="in-flight",
        choices=list(KINDS),
        help="in-flight: in flight now, with stage and wait; latest; slowest: of the last hour",
    )
    declare_broker(parser)
    parser.add_argument(
        "--api",
        action="append",
        default=[],
        help="only requests of this API: its name, in any case, or its key; may be repeated",
    )
    parser.add_argument("--client", metavar="ID", help="only requests with this client id")
    parser.add_argument(
        "--most", type=int, default=-1, metavar="NUMBER", help="show at most this many"
    )
    declare_json(parser, "one JSON object; times are in microseconds, -1 where not yet known")


def requests(
    *,
    which: str,
    bootstrap: str,
    api: Sequence[str],
    client: str | None,
    most: int,
    json: bool,
    timeout: float,
) -> int:
    """Show a broker's requests: those in flight, the latest, or the slowest of the last hour."""
    address = parse_address(bootstrap)
    answer = read_requests(address, which, api=api, client=client, most=most, timeout_s=timeout)
    return print_answer(answer, as_data, partial(as_text, which=which), json=json)


def read_requests(
    address: Endpoint,
    which: str = "in-flight",
    *,
    api: Sequence[str] = (),
    client: str | None = None,
    most: int = -1,
    timeout_s: float = 5.0,
) -> DescribeRequestsResponse:
    """Return the requests of a broker; this request is one of them.

    api: names of APIs, in any case, or keys; empty: all.
    Raises BrokerClientError, also for an unknown API.
    """
    request = DescribeRequestsRequest(KINDS[which], [], client, most, list(api))
    first, unknown = (_NAMES_SINCE, NO_NAMES) if api else (0, NO_REQUESTS)
    return send_request(request, address, timeout_s, unknown=unknown, first=first)


# --- for people

_HOPS: Final = ("queue", "local", "remote", "response_queue", "send", "throttle")
_CLIENT: Final = ("API", "v", "client", "software", "peer", "listener")
_IN_FLIGHT: Final = (*_CLIENT, "age ms", "stage", "waits for")
_ENDED: Final = (
    *_CLIENT,
    "ago s",
    "total ms",
    "queue",
    "local",
    "remote",
    "resp.q",
    "send",
    "throttle",
)
_ENDED_REST: Final = ("plugin", "bytes in", "out", "error")


def as_text(answer: DescribeRequestsResponse, which: str) -> Iterator[str]:
    """Yield the lines of a table."""
    if which == "in-flight":
        rows = [
            [*_client_cells(request), _ms(request.age_us), request.stage, request.waits_for or "-"]
            for request in answer.requests
        ]
        yield from columns(_IN_FLIGHT, rows, [LEFT] * len(_CLIENT) + [RIGHT, LEFT, LEFT])
    else:
        rows = [[*_client_cells(request), *_time_cells(request)] for request in answer.requests]
        head = _ENDED + _ENDED_REST
        right = [RIGHT] * (len(head) - len(_CLIENT) - 1)
        yield from columns(head, rows, [*([LEFT] * len(_CLIENT)), *right, LEFT])
    if answer.truncated:
        yield MORE


def _client_cells(request: RequestLife) -> list[str]:
    software = f"{request.software_name} {request.software_version}".strip()
    return [
        request.api_name,
        str(request.api_version),
        request.client_id or "-",
        software or "-",
        request.peer,
        request.listener if request.plane == "data" else f"{request.listener} ({request.plane})",
    ]


def _time_cells(request: RequestLife) -> list[str]:
    return [
        f"{request.ended_us / 1e6:.1f}",
        _ms(request.total_us),
        *(_ms(getattr(request, f"{hop}_us")) for hop in _HOPS),
        _ms(request.plugin_us),
        str(request.request_bytes),
        str(request.response_bytes),
        error_name(request.error_code) if request.error_code else "-",
    ]


def _ms(microseconds: int) -> str:
    return "-" if microseconds == NOT_YET else f"{microseconds / 1e3:.3f}"


# --- for programs


def as_data(answer: DescribeRequestsResponse) -> dict[str, object]:
    """Return the requests for JSON, and whether the broker left some out."""
    names = [field.name for field in fields_of(RequestLife)]
    shown = [{name: getattr(request, name) for name in names} for request in answer.requests]
    return {"truncated": answer.truncated, "requests": shown}
