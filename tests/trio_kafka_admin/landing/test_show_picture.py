"""The picture as HTML."""

from typing import Any

from attrs import asdict

from tests.trio_kafka_admin.kit import Element
from tests.trio_kafka_admin.landing.kit import PLACE, finding, html
from tests.trio_kafka_admin.landing.test_lanes import drawn, plane
from trio_kafka_admin.landing.show_picture import show_picture


def shown(*findings: Any, **how: Any) -> Element:
    data = {"lanes": [asdict(lane) for lane in drawn(*findings, **how)]}
    return html(*show_picture(data, PLACE))


def test_branches_stand_between_handlers_and_answers() -> None:
    steps = [step for step in shown().find("ol", class_="way").content if not isinstance(step, str)]

    assert [step.attributes["class"] for step in steps] == [
        "step listener",
        "step connections",
        "step channel",
        "step handlers",
        "branches",
        "step answers",
    ]
    branches = [step.attributes["class"] for step in steps[4].find("ol").all("li")]
    assert branches == ["step parked", "step coordinator", "step log"]


def test_stage_with_a_finding_is_open_and_says_why() -> None:
    page = shown(finding("lag"))

    stage = page.find("details", id="stage-data-coordinator")
    assert "open" in stage.attributes
    assert stage.find("ul", class_="why").text == "lag of something"
    assert stage.find("span", class_="mark wrong").text == "wrong"
    assert "open" not in page.find("details", id="stage-data-log").attributes


def test_folded_stage_draws_its_dots_without_links() -> None:
    stage = shown().find("details", id="stage-data-handlers")

    summary = stage.find("summary")
    assert len(summary.find("span", class_="strip").all("svg")) == 8
    assert summary.all("a") == []
    assert summary.find("span", class_="count").text == "3 of 8 busy"


def test_channel_has_a_bar_with_its_words() -> None:
    bar = shown().find("svg", class_="bar")

    assert bar.attributes["aria-label"] == "3 of 500"
    assert bar.find("rect", class_="filled").attributes["width"] == "0.6"
    assert shown(nodes=(plane("data", depth=500),)).find("svg", class_="bar full")


def test_several_planes_have_a_heading_each() -> None:
    page = shown(nodes=(plane("data"), plane("controller")))

    heads = [head.text for head in page.all("h3")]
    assert heads == [
        "plane data, 764.0 requests a second",
        "plane controller, 0.0 requests a second",
    ]
    assert shown().all("h3") == []
