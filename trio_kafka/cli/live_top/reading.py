"""One reading of a broker for the screen: its tree, its requests, and what its admin UI says."""

import time
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.http_address import HttpAddress
from trio_kafka.cli.live_top.address import KINDS, admin_address
from trio_kafka.cli.live_top.documents import GroupLag, Overview, read_groups, read_overview
from trio_kafka.cli.requests import read_requests
from trio_kafka.cli.tree import read_tree
from trio_kafka.introspect.snapshots import WORKING, TreeSnapshot
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k10010_describe_requests import RequestLife
from trio_kafka.protocol.tree_rows import look_of

MOST_ROWS: Final = 200
NO_UI: Final = "this broker serves no admin UI, which tells stages, findings and lag"


@frozen(kw_only=True)
class Reading:
    """Content of the screen. before: the tree of the reading before, for rates.

    overview: None, and `missing` says why, if the admin UI did not answer.
    """

    before: TreeSnapshot | None
    tree: TreeSnapshot
    slowest: list[RequestLife]
    in_flight: list[RequestLife]
    overview: Overview | None
    groups: list[GroupLag]
    missing: str


def read(
    address: Endpoint, at: HttpAddress, before: TreeSnapshot | None, timeout_s: float
) -> Reading:
    """Read a broker. at: URL of its admin UI; empty: it is found in the tree.

    Raises BrokerClientError if the broker does not answer. An admin UI that does not is a part of
    the reading.
    """
    kinds = list({*WORKING, *KINDS})
    tree = look_of(read_tree(address, kinds=kinds, timeout_s=timeout_s), time.monotonic())
    served = admin_address(tree, address.host)
    ui = at or (None if served is None else at.at(served))
    overview, groups, missing = None, list[GroupLag](), NO_UI
    if ui is not None:
        try:
            overview = read_overview(ui, timeout_s)
            groups, missing = read_groups(ui, MOST_ROWS, timeout_s).groups, ""
        except CommandFailedError as error:
            missing = str(error)
    return Reading(
        before=before,
        tree=tree,
        slowest=_requests(address, "slowest", timeout_s),
        in_flight=_requests(address, "in-flight", timeout_s),
        overview=overview,
        groups=groups,
        missing=missing,
    )


def _requests(address: Endpoint, which: str, timeout_s: float) -> list[RequestLife]:
    return list(read_requests(address, which, most=MOST_ROWS, timeout_s=timeout_s).requests)
