from attrs import evolve

from tests.apis.page import LACKS, PAGE, missing, of_kafka, page, requests, rows
from trio_kafka.protocol.schema import Message
from trio_kafka.requests.api import Listing
from trio_kafka_apis.listed import LISTED


def message(key: int) -> Message:
    return next(one for one in requests() if one.key == key)


def test_the_page_is_as_it_would_be_written() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.apis.page"


def test_every_request_of_kafka_stands_in_it_once() -> None:
    keys = [int(row[0]) for row in rows()]

    assert keys == sorted(set(keys))
    assert len(requests()) == 91
    for one in requests():
        name = one.name.removesuffix("Request")
        assert (one.key in keys) != (f" {name} ({one.key})" in page())


def test_what_is_served_has_its_versions_and_the_others_say_so() -> None:
    listed = {key: (first, last) for key, _, first, last, *_ in LISTED}
    for key, _, _, here, lacks in rows():
        first, last = listed.get(int(key), (None, None))
        assert here == (
            "" if first is None else f"{first}" if first == last else f"{first} to {last}"
        )
        assert (lacks == "not served") == (first is None)


def test_versions_that_are_not_served_are_told() -> None:
    metadata = Listing(3, "Metadata", 0, 13, "here")

    assert missing(message(3), metadata) == ""
    assert (
        missing(message(3), evolve(metadata, first=1, last=11)) == "versions 0, versions 12 to 13"
    )
    assert missing(message(3), None) == "not served"


def test_an_unstable_version_is_none_that_is_missing() -> None:
    assert of_kafka(message(22)) == "0 to 5, unstable 6"
    assert missing(message(22), Listing(22, "InitProducerId", 0, 5, "here")) == LACKS[22]


def test_what_lacks_something_is_served() -> None:
    assert LACKS.keys() <= {key for key, *_ in LISTED}
