"""`trio-kafka requests`: the requests that a broker has in hand, or had."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli.broker_client import (
    BrokerClientError,
    declare_broker,
    name_of,
    parse_address,
    report_error,
    send_request,
)
from trio_kafka.cli.columns import LEFT, RIGHT, columns
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k10010_describe_requests import (
    IN_HAND,
    LATEST,
    NOT_YET,
    SLOWEST,
    DescribeRequestsRequest,
    DescribeRequestsResponse,
    RequestLife,
)
from trio_kafka.protocol.schema import fields_of

MORE: Final = "There are more requests: ask for less with --api or --client."
NO_NAMES: Final = "this server cannot filter requests by --api: is it a current trio-kafka?"
NO_REQUESTS: Final = "this server cannot show its requests: is it trio-kafka?"
_NAMES_SINCE: Final = 1  # version of DescribeRequests
KINDS: Final = {"in-hand": IN_HAND, "latest": LATEST, "slowest": SLOWEST}


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "which",
        nargs="?",
        default="in-hand",
        choices=list(KINDS),
        help="in-hand: where they are and what they wait for; latest; slowest: of the last hour",
    )
    declare_broker(parser)
    parser.add_argument(
        "--api",
        action="append",
        default=[],
        help="only of this API: its name as in the table, or its key; may be repeated",
    )
    parser.add_argument("--client", metavar="ID", help="only of this client id")
    parser.add_argument(
        "--most", type=int, default=-1, metavar="NUMBER", help="no more than so many"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help='print one JSON object; times are microseconds, -1 is "not yet"',
    )


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
    """Show a broker's requests: in hand, the latest, or the slowest of the last hour."""
    try:
        answer = read_requests(
            parse_address(bootstrap), which, api=api, client=client, most=most, timeout_s=timeout
        )
    except BrokerClientError as error:
        return report_error(bootstrap, error)
    for line in as_json(answer) if json else as_text(answer, which):
        print(line)
    return 0


def read_requests(
    address: Endpoint,
    which: str = "in-hand",
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
    wanted = DescribeRequestsRequest(KINDS[which], [], client, most, list(api))
    first, unknown = (_NAMES_SINCE, NO_NAMES) if api else (0, NO_REQUESTS)
    answer: DescribeRequestsResponse = send_request(
        wanted, address, timeout_s, unknown=unknown, first=first
    )
    return answer


# --- for people

_HOPS: Final = ("queue", "local", "remote", "response_queue", "send", "throttle")
_WHO: Final = ("API", "v", "client", "software", "peer", "listener")
_IN_HAND: Final = (*_WHO, "age ms", "stage", "waits for")
_OVER: Final = (
    *_WHO,
    "ago s",
    "total ms",
    "queue",
    "local",
    "remote",
    "resp.q",
    "send",
    "throttle",
)
_OVER_REST: Final = ("plugin", "bytes in", "out", "error")


def as_text(answer: DescribeRequestsResponse, which: str) -> Iterator[str]:
    """Lines of a table."""
    if which == "in-hand":
        rows = [
            [*_who(one), _ms(one.age_us), one.stage, one.waits_for or "-"]
            for one in answer.requests
        ]
        yield from columns(_IN_HAND, rows, [LEFT] * len(_WHO) + [RIGHT, LEFT, LEFT])
    else:
        rows = [[*_who(one), *_times(one)] for one in answer.requests]
        head = _OVER + _OVER_REST
        right = [RIGHT] * (len(head) - len(_WHO) - 1)
        yield from columns(head, rows, [*([LEFT] * len(_WHO)), *right, LEFT])
    if answer.truncated:
        yield MORE


def _who(one: RequestLife) -> list[str]:
    software = f"{one.software_name} {one.software_version}".strip()
    return [
        one.api_name,
        str(one.api_version),
        one.client_id or "-",
        software or "-",
        one.peer,
        one.listener if one.plane == "data" else f"{one.listener} ({one.plane})",
    ]


def _times(one: RequestLife) -> list[str]:
    return [
        f"{one.ended_us / 1e6:.1f}",
        _ms(one.total_us),
        *(_ms(getattr(one, f"{hop}_us")) for hop in _HOPS),
        _ms(one.plugin_us),
        str(one.request_bytes),
        str(one.response_bytes),
        name_of(one.error_code) if one.error_code else "-",
    ]


def _ms(microseconds: int) -> str:
    return "-" if microseconds == NOT_YET else f"{microseconds / 1e3:.3f}"


# --- for programs


def as_json(answer: DescribeRequestsResponse) -> Iterator[str]:
    """One object, over several lines."""
    names = [field.name for field in fields_of(RequestLife)]
    shown = [{name: getattr(one, name) for name in names} for one in answer.requests]
    yield json.dumps({"truncated": answer.truncated, "requests": shown}, indent=2)
