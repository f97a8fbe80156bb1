"""Waits as JSON-ready data, and in pages: what for, how much, until when."""

from collections.abc import Mapping
from typing import Any, Final

from trio_kafka.introspect.waits import Subject, Wait, seconds
from trio_kafka_admin.markup import NOTHING, Html, join, tag, text
from trio_kafka_admin.page import Place
from trio_kafka_admin.subject_links import subject_link
from trio_kafka_admin.table import DASH

_LONGEST: Final = 400  # characters of words that are shown; clients choose names in them


def wait_data(wait: Wait) -> dict[str, Any]:
    """Return a wait as JSON-ready data; the texts that clients choose are cut."""
    return {
        "cause": wait.cause,
        "words": _cut(wait.words),
        "on": {"kind": wait.on.kind, "name": _cut(wait.on.name)},
        "needs": wait.needs,
        "has": wait.has,
        "unit": wait.unit,
        "age_s": wait.age_s,
        "left_s": wait.left_s,
        "then": wait.then,
    }


def on_link(wait: Mapping[str, Any], place: Place) -> Html:
    """Return a link to what is waited for."""
    return subject_link(Subject(wait["on"]["kind"], wait["on"]["name"]), place)


def amount(wait: Mapping[str, Any]) -> Html:
    """Return what there is, and how much is needed; a dash where nothing is counted."""
    if wait["needs"] is None:
        return DASH
    has = "" if wait["has"] is None else f"{_figure(wait['has'])} of "
    return text(f"{has}{_figure(wait['needs'])} {wait['unit']}")


def remaining(wait: Mapping[str, Any]) -> Html:
    """Return the time until the deadline; a dash without one."""
    left_s = wait["left_s"]
    return DASH if left_s is None else Html(text(seconds(left_s)).replace(" ", "&nbsp;"))


def wait_item(wait: Mapping[str, Any], place: Place) -> Html:
    """Return one link of a chain as a list item: on what, the wait, for how long, and its end."""
    times = []
    if wait["age_s"] is not None:
        times.append(f"for {seconds(wait['age_s'])}")
    if wait["left_s"] is not None:
        times.append(f"{seconds(wait['left_s'])} left")
    end = f", then {wait['then']}" if wait["then"] and wait["left_s"] is not None else ""
    lines = [
        tag("div", tag("b", on_link(wait, place)), text(f" ({wait['cause']})")),
        tag("div", text(wait["words"]), _meter(wait)),
    ]
    if times:
        lines.append(tag("div", text(f"{', '.join(times)}{end}"), class_="about"))
    return tag("li", *lines)


def _meter(wait: Mapping[str, Any]) -> Html:
    """Return a gauge of what there is; nothing where nothing is counted."""
    needs, has = wait["needs"], wait["has"]
    if needs is None or has is None or needs <= 0:
        return NOTHING
    label = f"{_figure(has)} of {_figure(needs)} {wait['unit']}"
    gauge = tag("meter", text(label), min=0, max=needs, value=min(has, needs), title=label)
    return join([text(" "), gauge])


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _cut(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
