"""The page of a copied trouble: lines for pytest that make it happen again."""

from collections.abc import Iterator

import trio

from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.copying.source import source_of
from trio_kafka_admin.copying.trouble import KINDS, trouble_of
from trio_kafka_admin.markup import Html, begin, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query


async def read(reader: BrokerReader, query: Query) -> Data:
    del reader
    await trio.lowlevel.checkpoint()
    trouble = trouble_of(query)
    return {"kind": trouble.kind, "source": source_of(trouble)}


def show(data: Data, place: Place) -> Iterator[Html]:
    yield tag("pre", tag("code", text_of(data["source"])), tabindex="0")
    hint = (
        "Save it as a test file and run pytest: the fixture kafka comes with trio-kafka, a real"
        " broker in memory. Then put your application in place of the client."
    )
    yield tag("p", text(hint), class_="more")
    del place


def text_of(source: str) -> Html:
    """Escape source; its lines stay lines."""
    return Html("\n".join(text(line) for line in source.split("\n")))


def ask(query: Query, place: Place) -> Html:
    """Return the choice of a trouble."""
    chosen = query.text("kind", KINDS[0])
    options = [tag("option", text(kind), value=kind, selected=kind == chosen) for kind in KINDS]
    fields = [
        tag("label", text(f"{label} "), begin("input", name=name, value=query.text(name)))
        for name, label in (("api", "API"), ("client", "client"), ("topic", "topic"))
    ]
    return tag(
        "form",
        tag("label", text("trouble "), tag("select", *options, name="kind")),
        *fields,
        tag("button", text("write the test"), type="submit"),
        action=place.address("copy"),
        method="get",
        class_="forms",
    )


PAGE = Page(
    name="copy",
    title="Copy as test",
    order=92,
    about="A trouble as a test for pytest, which makes it happen again in a broker of its own.",
    read=read,
    show=show,
    ask=ask,
    is_listed=False,
)
