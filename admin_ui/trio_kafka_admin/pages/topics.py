"""The page of topics: size, traffic and readers; one topic down to its partitions."""

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, Final

import trio

from trio_kafka.introspect.facts.topics import TopicDetails
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.cells import name_link, named, spans
from trio_kafka_admin.described_page import DescribedPage, rows_of
from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.page import Data, Place
from trio_kafka_admin.paging import LAST, further_rows
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import DASH, Column, Row, figures, number, shown, table, words
from trio_kafka_admin.topic_rows import TopicsAnswer, topic_partition_row, topic_row
from trio_kafka_http.asgi_json import HttpError

_ROWS: Final = 100  # without ?limit=
_A_STEP: Final = 32  # rows made between two checkpoints
_READERS: Final = 3  # groups of a topic that the list names


async def read(reader: BrokerReader, query: Query) -> Data:
    most = query.limit(min(_ROWS, reader.max_rows))
    name = query.text("name")
    if name:
        details = await reader.topic(name, most=most)
        if details is None:
            raise HttpError(404, "the cluster has no topic of this name")
        detail = await _detail(details, reader)
        return {"total": 1, "first": 0, "of": "", "topics": [], "topic": detail}
    first = query.number("first", 0, low=0, high=LAST)
    page = await reader.topic_page(of=query.text("of"), first=first, most=most)
    rows = list[dict[str, Any]]()
    for place, topic in enumerate(page.topics, 1):
        rows.append(topic_row(topic, reader.traffic))
        if not place % _A_STEP:
            await trio.lowlevel.checkpoint()
    return {
        "total": page.total,
        "first": first,
        "of": query.text("of"),
        "topics": rows,
        "topic": None,
    }


async def _detail(details: TopicDetails, reader: BrokerReader) -> dict[str, Any]:
    partitions = list[dict[str, Any]]()
    for place, partition in enumerate(details.partitions, 1):
        partitions.append(topic_partition_row(details.facts.name, partition, reader.traffic))
        if not place % _A_STEP:
            await trio.lowlevel.checkpoint()
    producers, settings = details.producers, details.settings
    return {
        "topic": topic_row(details.facts, reader.traffic),
        "partitions": partitions,
        "producers": None if producers is None else await rows_of(producers),
        "producers_total": details.producers_total,
        "settings": None if settings is None else await rows_of(settings),
        "readers": await rows_of(details.readers),
    }


def show(data: Data, place: Place) -> Iterator[Html]:
    if data["topic"] is not None:
        yield from _show_one(data["topic"], place)
    else:
        yield from _show_list(data, place)


# The list


def _show_list(data: Data, place: Place) -> Iterator[Html]:
    columns = (
        named("name", "topic", "topics", place),
        figures("partitions", "partitions"),
        figures("led_here", "led here", about="partitions that this broker leads"),
        figures("troubled", "troubled", about="without leader, offline, or not all in sync"),
        figures("records", "records", about="from the start to the end of the logs led here"),
        figures("bytes", "bytes"),
        figures("records_in_per_s", "records in/s", digits=1),
        figures("bytes_in_per_s", "bytes in/s"),
        figures("bytes_out_per_s", "bytes out/s"),
        Column(
            head="read by",
            show=lambda row: _groups(row, place),
            sort=lambda row: len(row["groups"]),
        ),
    )
    key, empty = itemgetter("name"), "There are no topics."
    yield from table("topics", columns, data["topics"], key=key, empty=empty)
    yield from further_rows(data, "topics", place)


def _groups(row: Row, place: Place) -> Html:
    groups = row["groups"]
    links = [name_link(group, "groups", place) for group in groups[:_READERS]]
    more = len(groups) - _READERS
    parts = [*links, text(f"{more} more")] if more > 0 else links
    return join([part for link in parts for part in (text(", "), link)][1:]) if parts else DASH


# One topic


def _show_one(detail: Mapping[str, Any], place: Place) -> Iterator[Html]:
    topic = detail["topic"]
    yield tag("h2", text(f"Topic {topic['name']}"))
    yield _facts(topic)
    yield tag("h2", text("Partitions"))
    key = itemgetter("partition")
    yield from table("partitions", _PARTITIONS, detail["partitions"], key=key, empty="None.")
    left_out = topic["partitions"] - len(detail["partitions"])
    if left_out:
        yield tag("p", text(f"{left_out} more: use ?limit="), class_="more")
    yield tag("h2", text("Groups that read it"))
    of_group, empty = itemgetter("group_id"), "No group has committed offsets for it."
    yield from table("readers", _readers(place), detail["readers"], key=of_group, empty=empty)
    yield tag("h2", text("Producers"))
    yield from _producers(detail)
    yield tag("h2", text("Settings"))
    yield from _settings(detail)


def _facts(topic: Mapping[str, Any]) -> Html:
    facts = {
        "id": text(topic["topic_id"]),
        "partitions": number(topic["partitions"]),
        "led here": number(topic["led_here"]),
        "troubled": number(topic["troubled"]),
        "records": number(topic["records"]),
        "bytes": number(topic["bytes"]),
        "records in/s": number(topic["records_in_per_s"], 1),
        "bytes in/s": number(topic["bytes_in_per_s"]),
        "bytes out/s": number(topic["bytes_out_per_s"]),
    }
    return tag("dl", *(join([tag("dt", text(key)), tag("dd", facts[key])]) for key in facts))


def _nodes(key: str, head: str, about: str = "") -> Column:
    return Column(head=head, show=lambda row: shown(", ".join(map(str, row[key]))), about=about)


_PARTITIONS: Final = (
    figures("partition", "partition"),
    Column(
        head="leader",
        show=lambda row: text("none" if row["leader"] < 0 else row["leader"]),
        sort=lambda row: row["leader"],
        number=True,
    ),
    words("role", "here", "role of the replica on this broker"),
    words("error", "error"),
    figures("leader_epoch", "leader epoch"),
    figures("partition_epoch", "partition epoch"),
    figures("log_epoch", "log epoch", about="leader epoch of the last batch"),
    _nodes("isr", "in sync"),
    _nodes("replicas", "replicas"),
    figures("start", "start"),
    figures("high_watermark", "high watermark"),
    figures("end", "end"),
    figures("records_in_per_s", "records in/s", digits=1),
    figures("bytes", "bytes"),
    figures("segments", "segments"),
)


def _readers(place: Place) -> tuple[Column, ...]:
    return (
        named("group_id", "group", "groups", place),
        words("state", "state"),
        figures("members", "members"),
        figures("partitions", "partitions", about="with a committed offset"),
        figures("lag", "lag"),
    )


_PRODUCERS: Final = (
    figures("partition", "partition"),
    words("producer_id", "producer id"),
    figures("epoch", "epoch"),
    figures("last_sequence", "last sequence"),
    spans("ago_s", "wrote", "time since its last batch"),
    figures("transaction_start", "open transaction", about="its first offset"),
)


def _producers(detail: Mapping[str, Any]) -> Iterator[Html]:
    producers = detail["producers"]
    if producers is None:
        yield tag("p", text("You need the permission READ on the topic to see them."))
        return
    key = itemgetter("partition", "producer_id")
    empty = "No idempotent or transactional producer has written to it."
    yield from table("producers", _PRODUCERS, producers, key=key, empty=empty)
    left_out = detail["producers_total"] - len(producers)
    if left_out:
        yield tag("p", text(f"{left_out} more wrote before these: use ?limit="), class_="more")


def _settings(detail: Mapping[str, Any]) -> Iterator[Html]:
    settings = detail["settings"]
    if settings is None:
        words_ = "You need the permission DESCRIBE_CONFIGS on the topic to see them."
        yield tag("p", text(words_))
        return
    columns = (
        words("name", "setting"),
        words("value", "value"),
        words("source", "source"),
    )
    yield from table("settings", columns, settings, key=itemgetter("name"), empty="None.")


def ask(query: Query, place: Place) -> Html:
    """Render the search field, and the way back from one topic."""
    if query.text("name"):
        return tag("p", place.link("all topics", "topics"))
    return tag(
        "form",
        begin("input", name="of", placeholder="part of a topic's name", value=query.text("of")),
        tag("button", text("show")),
        action=place.address("topics"),
    )


PAGE = DescribedPage(
    name="topics",
    title="Topics",
    order=22,
    about="Topics of the cluster: the troubled ones first, then those with the most traffic.",
    read=read,
    show=show,
    ask=ask,
    answer=TopicsAnswer,
    parameters={
        "name": "one topic, by its name",
        "of": "topics whose name contains this text",
        "first": "number of topics to skip",
        "limit": "most topics, or most partitions, producers and groups of one topic",
    },
)
