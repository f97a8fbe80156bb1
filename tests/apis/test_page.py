import pytest
from attrs import evolve

from tests.apis.page import LACKS, PAGE, here, missing, of_kafka, page, requests, rows
from trio_kafka.protocol.schema import Message
from trio_kafka.requests.api import Listing
from trio_kafka_apis.listed import LISTED


def message(key: int) -> Message:
    return next(request for request in requests() if request.key == key)


def test_the_api_page_equals_its_generated_text() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.apis.page"


def test_every_kafka_request_is_listed_once_on_the_page() -> None:
    keys = [int(row[0]) for row in rows()]

    assert keys == sorted(set(keys))
    assert len(requests()) == 91
    for request in requests():
        name = request.name.removesuffix("Request")
        assert (request.key in keys) != (f" {name} ({request.key})" in page())


def test_served_apis_have_versions_and_the_others_are_marked_not_served() -> None:
    served = {key for key, *_ in LISTED}
    for key, _, _, versions, lacks in rows():
        assert (versions != "") == (lacks != "not served") == (int(key) in served)


def test_missing_versions_of_an_api_are_listed() -> None:
    metadata = Listing(3, "Metadata", 0, 13, 13, "here")

    assert here(metadata) == "0 to 13"
    assert missing(message(3), metadata) == ""
    assert (
        missing(message(3), evolve(metadata, first=1, last=11, newest=11))
        == "versions 0, versions 12 to 13"
    )
    assert missing(message(3), None) == "not served"


@pytest.mark.parametrize(
    ("newest", "versions", "lacks"),
    [(6, "0 to 5, unstable 6", LACKS[22]), (5, "0 to 5", f"versions 6, {LACKS[22]}")],
)
def test_an_unstable_version_is_listed_as_served_or_missing(
    newest: int, versions: str, lacks: str
) -> None:
    listing = Listing(22, "InitProducerId", 0, 5, newest, "here")

    assert of_kafka(message(22)) == "0 to 5, unstable 6"
    assert here(listing) == versions
    assert missing(message(22), listing) == lacks


def test_every_api_with_a_noted_gap_is_served() -> None:
    assert LACKS.keys() <= {key for key, *_ in LISTED}
