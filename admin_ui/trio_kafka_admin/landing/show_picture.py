"""The picture as HTML: stages from left to right, one below the other on a phone."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from trio_kafka_admin.findings.texts import counted
from trio_kafka_admin.landing.shapes import dot, legend, mark, shape
from trio_kafka_admin.landing.stage import BRANCHES
from trio_kafka_admin.markup import NOTHING, Html, begin, join, place_text, tag, text
from trio_kafka_admin.page import Place
from trio_kafka_admin.table import number

Row = Mapping[str, Any]
_STRIP: Final = 32  # dots of a folded stage
_BAR: Final = 100


def show_picture(data: Mapping[str, Any], place: Place) -> Iterator[Html]:
    """Yield a lane for each plane. A lane in which all is well is folded to a line a stage."""
    lanes = data["lanes"]
    for lane in lanes:
        if len(lanes) > 1:
            words = "" if lane["per_s"] is None else f", {lane['per_s']:,.1f} requests a second"
            yield tag("h3", text(f"plane {lane['plane']}{words}"), class_="lane")
        yield begin("ol", class_="way")
        for stage in lane["stages"]:
            if stage["name"] not in BRANCHES:
                yield _step(lane, stage, place)
        yield Html("</ol>")
    if lanes:
        yield legend()


def _step(lane: Row, stage: Row, place: Place) -> Html:
    """Return a stage; before the answers stand the branches, one below the other."""
    step = tag("li", _stage(lane, stage, place), class_=f"step {stage['name']}")
    if stage["name"] != "answers":
        return step
    branches = [
        tag("li", _stage(lane, branch, place), class_=f"step {branch['name']}")
        for branch in lane["stages"]
        if branch["name"] in BRANCHES
    ]
    return join([tag("li", tag("ol", *branches), class_="branches"), step])


def _stage(lane: Row, stage: Row, place: Place) -> Html:
    state = stage["state"]
    rows = stage["rows"]
    bar = () if stage["bar"] is None else (_bar(*stage["bar"]),)
    why = [tag("li", shape(row["severity"]), text(f" {row['words']}")) for row in stage["why"]]
    summary = tag(
        "summary",
        tag("span", text(stage["title"]), class_="name"),
        NOTHING if state == "well" else mark(state),
        tag("span", tag("b", number(stage["count"])), text(f" {stage['unit']}"), class_="count"),
        _strip(rows),
        tag("span", place_text(stage["brief"]), class_="brief") if stage["brief"] else NOTHING,
        *bar,
    )
    notes = [tag("li", place_text(note)) for note in stage["notes"]]
    return tag(
        "details",
        summary,
        tag("ul", *why, class_="why") if why else NOTHING,
        *(_row(row, place) for row in rows),
        tag("ul", *notes, class_="notes") if notes else NOTHING,
        id=f"stage-{lane['plane']}-{stage['name']}",
        class_=f"stage {state}",
        open=state != "well",
    )


def _strip(rows: Sequence[Row]) -> Html:
    """Return the dots of a folded stage: only the drawing, since its rows have links and words."""
    dots = [row for part in rows for row in part["dots"]]
    if not dots:
        return NOTHING
    drawn = [shape(row["state"]) for row in islice(dots, _STRIP)]
    more = len(dots) - len(drawn) + sum(row["more"] for row in rows)
    rest = text(f" +{more:,}") if more else NOTHING
    return tag("span", *drawn, rest, class_="strip", aria_hidden="true")


def _row(row: Row, place: Place) -> Html:
    label = tag("span", text(row["label"]), class_="label") if row["label"] else NOTHING
    more = (
        text(f" {counted(row['more'], 'further one', 'further ones')}") if row["more"] else NOTHING
    )
    dots = tag("span", *(dot(entry, place) for entry in row["dots"]), more, class_="dots")
    words = tag("span", text(row["words"]), class_="words") if row["words"] else NOTHING
    return tag("div", label, dots if row["dots"] or row["more"] else NOTHING, words, class_="row")


def _bar(value: float, bound: float) -> Html:
    filled = min(_BAR * value / bound, _BAR) if bound else 0
    return tag(
        "svg",
        tag("rect", width=_BAR, height=6, class_="ground"),
        tag("rect", width=f"{filled:.1f}", height=6, class_="filled"),
        class_="bar full" if filled >= _BAR else "bar",
        viewBox=f"0 0 {_BAR} 6",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{value:,.0f} of {bound:,.0f}",
    )
