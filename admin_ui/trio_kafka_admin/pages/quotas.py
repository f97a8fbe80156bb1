"""The page of quotas: limits of clients, what each uses, and which are throttled now."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

import attrs

from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.shapes import badge, bar
from trio_kafka_admin.table import DASH, Column, Row, figures, number, table, words


async def read(reader: BrokerReader, query: Query) -> Data:
    reading = await reader.quotas(most=query.limit(reader.max_rows))
    names = {kind.key: (kind.name, kind.unit) for kind in reading.kinds}
    return {
        "truncated": reading.truncated,
        "kinds": [attrs.asdict(kind) for kind in reading.kinds],
        "usage": [_named(attrs.asdict(usage), names) for usage in reading.usage],
        "limits": [_named(attrs.asdict(limit), names) for limit in reading.limits],
    }


def _named(row: dict[str, object], names: dict[str, tuple[str, str]]) -> dict[str, object]:
    """Return the row with the name of its quota and the unit of its figures."""
    name, unit = names[str(row["key"])]
    return {**row, "quota": name, "unit": unit}


def show(data: Data, place: Place) -> Iterator[Html]:
    del place
    yield from table("kinds", _KINDS, data["kinds"], key=itemgetter("key"), empty="")
    yield tag("h2", text("Usage"))
    key = itemgetter("key", "user", "client_id")
    empty = "No client has used anything that is counted. Usage is counted while limits are set."
    yield from table("usage", _USAGE, data["usage"], key=key, empty=empty)
    yield tag("h2", text("Limits"))
    yield from table("limits", _LIMITS, data["limits"], key=key, empty="No client has a limit.")
    if data["truncated"]:
        yield tag("p", text("There are more: use ?limit="), class_="more")


def _state(row: Row) -> Html:
    if row["limit"] is None:
        return badge("idle", "no limit")
    if row["throttle_ms"]:
        return badge("warn", f"above its limit for {row['throttle_ms'] / 1e3:,.1f} s more")
    return badge("good", "within its limit")


def _share(row: Row) -> Html:
    if not row["limit"]:
        return DASH
    share = row["used"] / row["limit"]
    return bar(share, f"{100 * share:,.0f} %", "warn" if share > 1 else "info")


def _who(key: str, head: str) -> Column:
    """Return a column of users or client ids, which may be a default or all of them."""

    def client_cell(row: Row) -> Html:
        name = row[key]
        return tag("i", text("default" if name is None else "any")) if not name else text(name)

    return Column(head=head, show=client_cell)


def _amount(key: str, head: str) -> Column:
    def amount(row: Row) -> Html:
        return DASH if row[key] is None else Html(f"{number(row[key], 1)} {text(row['unit'])}")

    return Column(head=head, show=amount, sort=lambda row: row[key], number=True)


_KINDS: Final = (
    words("name", "quota"),
    figures("limits", "limits"),
    figures("accounts", "clients counted", about="clients that share a limit count as one"),
    figures("throttled", "throttled now", about="connections that are not read from now"),
)
_USAGE: Final = (
    words("quota", "quota"),
    _who("user", "user"),
    _who("client_id", "client id"),
    Column(head="state", show=_state, sort=lambda row: row["throttle_ms"]),
    _amount("used", "used"),
    _amount("limit", "allowed"),
    Column(head="share", show=_share),
)
_LIMITS: Final = (
    words("quota", "quota"),
    _who("user", "user"),
    _who("client_id", "client id"),
    _amount("limit", "allowed"),
)
PAGE = Page(
    name="quotas",
    title="Quotas",
    order=64,
    about="Client quotas: the limit of each client, what it uses, and whether it is throttled.",
    read=read,
    show=show,
)
