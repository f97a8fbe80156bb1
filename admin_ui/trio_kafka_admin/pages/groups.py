"""The page of groups: state, members, lag and rebalances; one group down to its partitions."""

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, Final

import attrs
import trio

from trio_kafka.introspect.facts.groups import GroupFacts
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.cells import (
    HISTORY_S,
    assignment,
    charts,
    name_link,
    named,
    span,
    spans,
)
from trio_kafka_admin.described_page import DescribedPage, rows_of
from trio_kafka_admin.group_rows import GroupsAnswer, group_head, group_row, partition_rows
from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.page import Data, Place
from trio_kafka_admin.paging import LAST, further_rows
from trio_kafka_admin.query import Query
from trio_kafka_admin.sparkline import sparkline
from trio_kafka_admin.table import DASH, Column, Row, figures, number, shown, table, words
from trio_kafka_http.asgi_json import HttpError

_ROWS: Final = 100  # without ?limit=
_A_STEP: Final = 8  # rows made between two checkpoints: each has a history


async def read(reader: BrokerReader, query: Query) -> Data:
    most = query.limit(min(_ROWS, reader.max_rows))
    name = query.text("name")
    if name:
        groups = await reader.groups(only=name)
        if not groups:
            raise HttpError(404, "this broker coordinates no group of this name")
        detail = await _detail(groups[0], reader, most)
        return _answer(reader, total=1, group=detail)
    first = query.number("first", 0, low=0, high=LAST)
    page = await reader.group_page(of=query.text("of"), first=first, most=most)
    rows = list[dict[str, Any]]()
    for place, group in enumerate(page.groups, 1):
        rows.append(group_row(group, reader.lag_history))
        if not place % _A_STEP:
            await trio.lowlevel.checkpoint()
    return _answer(reader, total=page.total, first=first, of=query.text("of"), groups=rows)


def _answer(
    reader: BrokerReader,
    *,
    total: int,
    first: int = 0,
    of: str = "",
    groups: list[dict[str, Any]] | None = None,
    group: dict[str, Any] | None = None,
) -> Data:
    return {
        "total": total,
        "first": first,
        "of": of,
        "groups": groups or [],
        "group": group,
        "unsampled": reader.lag_history.left_out,
    }


async def _detail(group: GroupFacts, reader: BrokerReader, most: int) -> dict[str, Any]:
    partitions = list[dict[str, Any]]()
    for place, row in enumerate(partition_rows(group, reader.lag_history, most), 1):
        partitions.append(row)
        if not place % _A_STEP:
            await trio.lowlevel.checkpoint()
    return {
        **group_head(group, reader.lag_history),
        "members": await rows_of(group.members),
        "partitions": partitions,
        "partitions_total": len(group.partitions),
        "rebalances": [attrs.asdict(rebalance) for rebalance in group.rebalances],
        "membership": await rows_of(group.membership),
    }


def show(data: Data, place: Place) -> Iterator[Html]:
    if data["group"] is not None:
        yield from _show_one(data["group"], place)
    else:
        yield from _show_list(data, place)
    if data["unsampled"]:
        yield tag("p", text(f"{data['unsampled']} partitions have no trend: there are too many."))


# The list


def _show_list(data: Data, place: Place) -> Iterator[Html]:
    columns = (
        named("group_id", "group", "groups", place),
        words("type", "type"),
        words("state", "state"),
        spans("state_s", "for"),
        figures("members", "members"),
        figures("owing", "late", about="members that the others wait for"),
        figures("lag", "lag", about="records"),
        _growth(),
        spans("catch_up_s", "caught up in", "at the rates of the last minute"),
        charts("history", "lag, 15 min", "lag"),
        figures("joins", "joins", about="of members in the last 15 minutes"),
        Column(head="last rebalance", show=_rebalance, sort=_rebalance_order),
    )
    key, empty = itemgetter("group_id"), "This broker coordinates no group."
    yield from table("groups", columns, data["groups"], key=key, empty=empty)
    yield from further_rows(data, "groups", place, "more, with less trouble")


def _growth() -> Column:
    return Column(
        head="trend /s",
        show=lambda row: _signed(row["growth_per_s"]),
        sort=lambda row: row["growth_per_s"],
        number=True,
        about="records by which the lag grows each second; with a minus it shrinks",
    )


def _signed(per_s: float | None) -> Html:
    if per_s is None:
        return DASH
    return join([text("+" if per_s > 0 else ""), number(per_s, 1)])


def _rebalance(row: Row) -> Html:
    rebalance = row["rebalance"]
    if rebalance is None:
        return DASH
    return text(f"{span(rebalance['ago_s'])} ago: {rebalance['cause'][:200]}")


def _rebalance_order(row: Row) -> float | None:
    return None if row["rebalance"] is None else row["rebalance"]["ago_s"]


# One group


def _show_one(group: Mapping[str, Any], place: Place) -> Iterator[Html]:
    yield tag("h2", text(f"Group {group['group_id'][:200]}"))
    yield _facts(group)
    yield tag("h2", text("Members"))
    of_member, empty = itemgetter("member_id"), "The group has no members."
    yield from table("members", _members(place), group["members"], key=of_member, empty=empty)
    yield tag("h2", text("Partitions"))
    of_partition = itemgetter("topic", "partition")
    empty = "The group has committed no offsets."
    yield from table(
        "partitions", _partitions(place), group["partitions"], key=of_partition, empty=empty
    )
    left_out = group["partitions_total"] - len(group["partitions"])
    if left_out:
        yield tag("p", text(f"{left_out} more, with less lag: use ?limit="), class_="more")
    yield tag("h2", text("Rebalances"))
    key, empty = itemgetter("epoch", "at_ms"), "None since this broker coordinates the group."
    yield from table("rebalances", _rebalances(place), group["rebalances"], key=key, empty=empty)
    yield tag("h2", text("Joins and leaves in the last 15 minutes"))
    of_client, empty = itemgetter("client_id"), "No member has joined or left."
    yield from table(
        "membership", _membership(place), group["membership"], key=of_client, empty=empty
    )


def _facts(group: Mapping[str, Any]) -> Html:
    since = span(group["state_s"])
    facts = {
        "type": text(group["type"]),
        "state": text(f"{group['state']} for {since}" if since else group["state"]),
        "generation" if group["type"] == "classic" else "epoch": text(group["epoch"]),
        "protocol": shown(group["protocol"]),
        "lag": number(group["lag"]),
        "trend": join([_signed(group["growth_per_s"]), text(" records/s")]),
        "caught up in": shown(span(group["catch_up_s"])),
        "15 minutes": sparkline(group["history"], window_s=HISTORY_S, noun="lag"),
    }
    return tag("dl", *(join([tag("dt", text(key)), tag("dd", facts[key])]) for key in facts))


def _members(place: Place) -> tuple[Column, ...]:
    return (
        Column(head="member", show=lambda row: text(row["member_id"][:200])),
        words("instance_id", "instance"),
        named("client_id", "client", "clients", place),
        words("host", "host"),
        words("owes", "owes", "what the others wait for"),
        spans("heartbeat_s", "heard", "time since its last heartbeat"),
        spans("left_s", "removed in", "if it says nothing until then"),
        Column(head="assigned", show=lambda row: shown(assignment(row["assigned"]))),
    )


def _partitions(place: Place) -> tuple[Column, ...]:
    return (
        named("topic", "topic", "topics", place),
        figures("partition", "partition"),
        figures("offset", "offset", about="committed"),
        figures("end", "end", about="high watermark"),
        figures("lag", "lag"),
        figures("produced_per_s", "in/s", digits=1),
        figures("consumed_per_s", "read/s", digits=1),
        _growth(),
        spans("catch_up_s", "caught up in"),
        charts("history", "lag, 15 min", "lag"),
        Column(head="member", show=lambda row: shown((row["member_id"] or "")[:200])),
    )


def _rebalances(place: Place) -> tuple[Column, ...]:
    return (
        spans("ago_s", "ago"),
        figures("epoch", "epoch"),
        words("cause", "cause"),
        Column(head="client", show=lambda row: name_link(row["client_id"], "clients", place)),
    )


def _membership(place: Place) -> tuple[Column, ...]:
    return (
        named("client_id", "client", "clients", place),
        figures("joins", "joins"),
        figures("leaves", "leaves"),
        Column(head="latest", show=_latest),
    )


def _latest(row: Row) -> Html:
    return text(", ".join(f"{kind} {span(ago_s)} ago" for ago_s, kind in row["recent"][:6]))


def ask(query: Query, place: Place) -> Html:
    """Render the search field, and the way back from one group."""
    if query.text("name"):
        return tag("p", place.link("all groups", "groups"))
    return tag(
        "form",
        begin("input", name="of", placeholder="part of a group's name", value=query.text("of")),
        tag("button", text("show")),
        action=place.address("groups"),
    )


PAGE = DescribedPage(
    name="groups",
    title="Groups",
    order=24,
    about="Groups that this broker coordinates, the most troubled first.",
    read=read,
    show=show,
    ask=ask,
    answer=GroupsAnswer,
    parameters={
        "name": "one group, by its id",
        "of": "groups whose id contains this text",
        "first": "number of groups to skip",
        "limit": "most groups, or most partitions of one group",
    },
)
