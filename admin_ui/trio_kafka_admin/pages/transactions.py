"""The page of transactions: transactional ids, and what is open in partitions; one id in full."""

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, Final

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.introspect.facts.transactions import OpenTransactionFacts, TransactionFacts
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.cells import assignment, named, span, spans
from trio_kafka_admin.described_page import DescribedPage, rows_of
from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.page import Data, Place
from trio_kafka_admin.paging import LAST, further_rows
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import Column, figures, number, shown, table, words
from trio_kafka_http.asgi_json import HttpError

_ROWS: Final = 100  # without ?limit=


@frozen(kw_only=True)
class TransactionsAnswer:
    """Data of the page. total: transactional ids that there are; the rows begin with the one after
    `first`.

    transaction: the one that is asked for by name; then there are no rows, and `open` has its
    transactions alone. open: transactions of partitions. open_total: more than are listed.
    """

    total: int
    first: int
    of: str
    transactions: tuple[TransactionFacts, ...]
    transaction: TransactionFacts | None
    open: tuple[OpenTransactionFacts, ...]
    open_total: int


async def read(reader: BrokerReader, query: Query) -> Data:
    most = query.limit(min(_ROWS, reader.max_rows))
    name = query.text("name")
    opened = await reader.open_transactions(most=most)
    if name:
        transaction = await reader.transaction(name)
        if transaction is None:
            raise HttpError(404, "this broker coordinates no transactional id of this name")
        entries = [entry for entry in opened.listed if entry.transactional_id == name]
        return {
            "total": 1,
            "first": 0,
            "of": "",
            "transactions": [],
            "transaction": attrs.asdict(transaction, recurse=False),
            "open": await rows_of(entries),
            "open_total": len(entries),
        }
    first = query.number("first", 0, low=0, high=LAST)
    page = await reader.transaction_page(of=query.text("of"), first=first, most=most)
    return {
        "total": page.total,
        "first": first,
        "of": query.text("of"),
        "transactions": await rows_of(page.transactions),
        "transaction": None,
        "open": await rows_of(opened.listed),
        "open_total": opened.total,
    }


def show(data: Data, place: Place) -> Iterator[Html]:
    if data["transaction"] is not None:
        yield from _show_one(data["transaction"])
    else:
        yield from _show_list(data, place)
    yield tag("h2", text("Open in partitions"))
    key, empty = itemgetter("topic", "partition", "start"), "No transaction is open."
    yield from table("open", _open(place), data["open"], key=key, empty=empty)
    left_out = data["open_total"] - len(data["open"])
    if left_out > 0:
        yield tag("p", text(f"{left_out} more: use ?limit="), class_="more")


def _show_list(data: Data, place: Place) -> Iterator[Html]:
    columns = (
        named("transactional_id", "transactional id", "transactions", place),
        words("state", "state"),
        spans("age_s", "age", "since the first partition of its transaction"),
        spans("left_s", "aborted in", "if its producer does not end it"),
        figures("partitions_total", "partitions"),
        words("waits_for", "waits for"),
        figures("parked", "parked", about="requests that wait for its end"),
        figures("producer_id", "producer"),
        figures("epoch", "epoch"),
        spans("state_s", "changed", "time since its last change"),
    )
    key = itemgetter("transactional_id")
    empty = "This broker coordinates no transactional id."
    yield from table("transactions", columns, data["transactions"], key=key, empty=empty)
    yield from further_rows(data, "transactions", place)


def _show_one(transaction: Mapping[str, Any]) -> Iterator[Html]:
    yield tag("h2", text(f"Transactional id {transaction['transactional_id'][:200]}"))
    facts = {
        "state": text(f"{transaction['state']} for {span(transaction['state_s'])}"),
        "waits for": shown(transaction["waits_for"]),
        "age": shown(span(transaction["age_s"])),
        "timeout": text(span(transaction["timeout_s"])),
        "aborted in": shown(span(transaction["left_s"])),
        "producer": text(f"{transaction['producer_id']}, epoch {transaction['epoch']}"),
        "protocol": text(f"transaction.version {transaction['version']}"),
        "partitions": join(
            [
                number(transaction["partitions_total"]),
                text(f": {assignment(transaction['partitions'])}"),
            ]
        ),
        "parked requests": number(transaction["parked"]),
    }
    yield tag("dl", *(join([tag("dt", text(key)), tag("dd", facts[key])]) for key in facts))


def _open(place: Place) -> tuple[Column, ...]:
    return (
        named("topic", "topic", "topics", place),
        figures("partition", "partition"),
        words("verdict", "verdict", "hanging: no coordinator ends it"),
        named("transactional_id", "transactional id", "transactions", place),
        figures("producer_id", "producer"),
        figures("epoch", "epoch"),
        figures("start", "from offset"),
        figures("held", "held back", about="offsets that read_committed readers do not get"),
        spans("ago_s", "silent for", "since the last batch of the producer"),
    )


def ask(query: Query, place: Place) -> Html:
    """Render the search field, and the way back from one id."""
    if query.text("name"):
        return tag("p", place.link("all transactions", "transactions"))
    return tag(
        "form",
        begin("input", name="of", placeholder="part of an id", value=query.text("of")),
        tag("button", text("show")),
        action=place.address("transactions"),
    )


PAGE = DescribedPage(
    name="transactions",
    title="Transactions",
    order=27,
    about="Transactional ids of this broker, open transactions first, and those of partitions.",
    read=read,
    show=show,
    ask=ask,
    answer=TransactionsAnswer,
    parameters={
        "name": "one transactional id",
        "of": "ids that contain this text",
        "first": "number of ids to skip",
        "limit": "most ids, and most transactions of partitions",
    },
)
