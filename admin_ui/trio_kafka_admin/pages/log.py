"""The page of the log: the last events of the broker's process, the newest first."""

from collections.abc import Iterator
from typing import Final

import attrs

from trio_kafka.introspect.log import LEVELS
from trio_kafka.introspect.log_tail import MOST
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, begin, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.shapes import Tone, badge

_RANKS: Final = {level: rank for rank, level in enumerate(("DEBUG", "INFO", "WARNING", "ERROR"))}
_TONES: Final[dict[str, Tone]] = {"DEBUG": "idle", "INFO": "info", "WARNING": "warn"}


async def read(reader: BrokerReader, query: Query) -> Data:
    level, search = query.one_of("level", LEVELS), query.text("of").lower()
    events = [
        event
        for event in reversed(await reader.log())
        if _RANKS.get(event.level, len(_RANKS)) >= _RANKS[level]
        and (search in event.text.lower() or search in event.logger.lower())
    ]
    most = query.limit(reader.max_rows)
    return {
        "level": level,
        "total": len(events),
        "events": [attrs.asdict(event) for event in events[:most]],
    }


def show(data: Data, place: Place) -> Iterator[Html]:
    del place
    if not data["events"]:
        yield tag("p", text("No event of the log matches."), class_="empty")
        return
    yield begin("ol", class_="lines", id="log")
    for event in data["events"]:
        yield tag(
            "li",
            tag("span", text(event["time"]), class_="idle"),
            Html(" "),
            badge(_TONES.get(event["level"], "bad"), event["level"]),
            Html(" "),
            tag("span", text(event["logger"]), class_="idle"),
            Html(" "),
            *_lines(event["text"]),
            id=f"event-{event['number']}",
        )
    yield Html("</ol>")
    left_out = data["total"] - len(data["events"])
    if left_out:
        yield tag("p", text(f"{left_out} older ones: use ?limit="), class_="more")


def _lines(event: str) -> Iterator[Html]:
    """Yield the text of an event, a line break before each line of its traceback."""
    first, *more = event.split("\n")
    yield text(first)
    for line in more:
        yield Html("<br>")
        yield text(line)


def ask(query: Query, place: Place) -> Html:
    """Render the choice of level, and the search."""
    level = query.one_of("level", LEVELS)
    choices = [
        tag("option", text(choice), value=choice, selected=choice == level) for choice in LEVELS
    ]
    fields = [
        tag("select", *choices, name="level", aria_label="least level"),
        begin(
            "input",
            name="of",
            placeholder="event or logger",
            aria_label="event or logger",
            value=query.text("of"),
        ),
        tag("button", text("show")),
    ]
    return tag("form", *fields, action=place.address("log"))


PAGE = Page(
    name="log",
    title="Log",
    order=66,
    about=f"The last {MOST} events of the log of this process, the newest first.",
    read=read,
    show=show,
    ask=ask,
)
