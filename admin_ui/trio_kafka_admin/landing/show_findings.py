"""Findings as HTML: the worst first, what comes of them folded below."""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.texts import duration
from trio_kafka_admin.landing.shapes import mark
from trio_kafka_admin.markup import NOTHING, Html, tag, text
from trio_kafka_admin.page import Place
from trio_kafka_admin.subject_links import subject_address

Row = Mapping[str, Any]
_MOST: Final = 12  # findings that are not folded
_MOST_ENDED: Final = 3
_TIMED: Final = re.compile(r"\b(for|taken|waited) \d[\d.]* (s|minute)")


def show_findings(data: Mapping[str, Any], place: Place) -> Iterator[Html]:
    """Yield the findings, and those that are over."""
    findings, ended = data["findings"], data["ended"]
    if findings:
        items = [_finding(row, place) for row in findings[:_MOST]]
        yield tag("ul", *items, class_="findings")
        yield _folded("more-findings", findings[_MOST:], "more", place)
    else:
        yield tag("p", text("No problem found."), class_="good")
    if ended:
        yield tag("ul", *(_ended(row) for row in ended[:_MOST_ENDED]), class_="ended")
        rest = [_ended(row) for row in ended[_MOST_ENDED:]]
        if rest:
            summary = tag("summary", text(f"{len(rest)} more that are over"))
            yield tag("details", summary, tag("ul", *rest, class_="ended"), id="ended")


def _finding(row: Row, place: Place) -> Html:
    lasts = row["age_s"] or 0.0
    since = tag("small", text(f"for {duration(lasts)}")) if lasts >= 1 else NOTHING
    if row["ended_ago_s"] is not None or _TIMED.search(row["words"]):
        since = NOTHING  # its words say it
    below = row["consequences"]
    return tag(
        "li",
        mark(row["severity"]),
        Html(" "),
        tag("p", tag("b", text(row["title"])), text(row["more"]), Html(". "), *_links(row, place)),
        Html(" "),
        since,
        _folded(
            f"of-{key_of(row)}",
            below,
            "that come of it" if len(below) > 1 else "that comes of it",
            place,
        ),
        class_=f"finding {row['severity']}",
        data_key=key_of(row),
    )


def _folded(name: str, rows: Sequence[Row], words: str, place: Place) -> Html:
    if not rows:
        return NOTHING
    findings = "finding" if len(rows) == 1 else "findings"
    items = [_finding({**row, "consequences": ()}, place) for row in rows]
    summary = tag("summary", text(f"{len(rows)} {findings} {words}"))
    return tag("details", summary, tag("ul", *items, class_="findings"), id=name)


def _ended(row: Row) -> Html:
    """Return a finding that is over. The words of an event already say when it was."""
    ago = duration(row["ended_ago_s"])
    words = row["words"] if row["kind"] == "blocked-loop" else f"{row['words']}; over for {ago}"
    return tag(
        "li", tag("span", text("over"), class_="mark over"), Html(" "), tag("p", text(words))
    )


def _links(row: Row, place: Place) -> Iterator[Html]:
    yield _link(row, place)
    if row["copy"] is not None:
        yield Html(" ")
        yield place.link("copy as test", "copy", **row["copy"])


def _link(row: Row, place: Place) -> Html:
    if row["node"]:
        return place.link("look", "tree", path=row["node"])
    return tag("a", text("look"), href=subject_address(Subject(**row["link"]), place))


def key_of(row: Row) -> str:
    """Return an id of a finding that stays the same from one picture to the next."""
    subject = row["subject"]
    words = "\0".join((row["kind"], subject["kind"], subject["name"]))
    return blake2b(words.encode(errors="surrogateescape"), digest_size=8).hexdigest()
