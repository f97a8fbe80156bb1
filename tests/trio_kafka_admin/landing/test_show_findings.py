"""Findings as HTML."""

from typing import Any

from tests.trio_kafka_admin.findings.kit import moment
from tests.trio_kafka_admin.kit import Element
from tests.trio_kafka_admin.landing.kit import PLACE, finding, html
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.landing.show_findings import key_of, show_findings
from trio_kafka_admin.pages.overview import finding_row


def row(entry: Finding) -> dict[str, Any]:
    return finding_row(entry, moment(1.0))


def shown(*findings: Finding, ended: Any = ()) -> Element:
    data = {
        "findings": [row(entry) for entry in findings],
        "ended": [row(entry) for entry in ended],
    }
    return html(*show_findings(data, PLACE))


def test_broker_without_findings_says_so() -> None:
    assert shown().find("p", class_="good").text == "No problem found."


def test_finding_shows_severity_title_figures_age_and_a_link_to_its_subject() -> None:
    item = shown(finding(title="group <g> lags", more=": by 9", age_s=12.0)).find("li")

    assert item.text == "wrong group <g> lags: by 9. look for 12 s"
    assert item.find("b").text == "group <g> lags"
    assert item.find("a").attributes["href"] == "/admin/groups?name=g"
    assert item.attributes["class"] == "finding wrong"


def test_age_is_left_out_where_the_words_have_it() -> None:
    item = shown(finding(title="it waits", more=" for 12 s", age_s=12.0)).find("li")

    assert item.text == "wrong it waits for 12 s. look"


def test_finding_about_a_node_of_the_tree_links_to_it() -> None:
    link = shown(finding(node="broker-7/plane data")).find("a")

    assert link.attributes["href"] == "/admin/tree?path=broker-7%2Fplane%20data"


def test_consequences_are_folded_below_their_cause() -> None:
    below = (finding("a", title="first"), finding("b", title="second"))

    details = shown(finding(consequences=below)).find("details")

    assert "open" not in details.attributes
    assert details.find("summary").text == "2 findings that come of it"
    assert [item.find("b").text for item in details.all("li")] == ["first", "second"]


def test_further_findings_are_folded_and_all_of_them_have_a_key_of_their_own() -> None:
    page = shown(*(finding(str(number)) for number in range(20)))

    assert page.find("details", id="more-findings").find("summary").text == "8 findings more"
    keys = [item.attributes["data-key"] for item in page.all("li")]
    assert len(set(keys)) == 20


def test_key_of_a_finding_does_not_depend_on_its_figures() -> None:
    first, second = row(finding(more=": 1")), row(finding(more=": 2"))

    assert key_of(first) == key_of(second) != key_of(row(finding("other")))


def test_findings_that_are_over_say_for_how_long_and_the_latest_are_not_folded() -> None:
    over = [finding(str(number), ended_ago_s=240.0, title=f"t{number}") for number in range(5)]
    page = shown(ended=[finding("blocked-loop", title="it blocked", ended_ago_s=9.0), *over])

    items = [item.text for item in page.all("ul", class_="ended")[0].all("li")]
    assert items == [
        "over it blocked: so much",
        "over t0: so much; over for 4 minutes",
        "over t1: so much; over for 4 minutes",
    ]
    assert page.find("details", id="ended").find("summary").text == "3 more that are over"


def test_hostile_names_are_escaped_and_cut() -> None:
    page = shown(finding(title="<script>\x00\u202e", more=""))

    assert page.all("script") == []
    assert "\u202e" not in page.text
