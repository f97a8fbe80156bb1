"""The landing page as HTML."""

from typing import Any

from attrs import asdict

from tests.trio_kafka_admin.kit import Element, table_of
from tests.trio_kafka_admin.landing.kit import PLACE, html
from tests.trio_kafka_admin.landing.test_headline import api
from trio_kafka_admin.landing.show import show

DATA: dict[str, Any] = {
    "node_id": 7,
    "cluster_id": "<c>",
    "version": "1",
    "records_by": "compiled",
    "seconds": 2.0,
    "headline": {"sentence": "<1> client", "more": "1 connection open"},
    "findings": [],
    "ended": [],
    "lanes": [],
    "listeners": ["A://h:1", "B://h:2"],
    "counts": {"partitions": 12},
    "loops": [],
    "apis": [],
}


def shown(**data: object) -> Element:
    return html(*show({**DATA, **data}, PLACE))


def test_headline_comes_first() -> None:
    first = shown().all("p")[0]

    assert (first.attributes["class"], first.text) == ("headline", "<1> client")


def test_apis_without_requests_are_folded() -> None:
    apis = [asdict(api(5.0)), {**asdict(api(0.0)), "api": "Fetch"}]

    page = shown(apis=apis)

    assert [row["API"] for row in table_of(page, "apis")] == ["Produce"]
    folded = page.find("details", id="idle")
    assert folded.find("summary").text == "1 API without a request now"
    assert [row["API"] for row in table_of(folded, "idle-apis")] == ["Fetch"]


def test_planes_are_named_only_if_there_are_several() -> None:
    apis = [asdict(api(5.0))]
    other = {**apis[0], "plane": "plane controller"}

    assert "plane" not in table_of(shown(apis=apis), "apis")[0]
    assert [row["plane"] for row in table_of(shown(apis=[*apis, other]), "apis")] == [
        "plane data",
        "plane controller",
    ]


def test_facts_of_the_broker_come_last() -> None:
    facts = shown().find("dl")

    rows = dict(zip((name.text for name in facts.all("dt")), facts.all("dd"), strict=True))
    assert {name: fact.text for name, fact in rows.items()} == {
        "broker": "7",
        "cluster": "<c>",
        "trio-kafka": "1",
        "records by": "compiled",
        "listeners": "A://h:1 B://h:2",
        "partitions": "12",
    }
    assert shown().all("p")[-1].text == "Rates and means are of the last 2.0 s, times in ms."
