"""The query of an address."""

import pytest

from trio_kafka_admin.query import Query
from trio_kafka_http.asgi_json import HttpError


def test_last_value_of_a_repeated_query_parameter_counts() -> None:
    query = Query(b"path=a%2Fb&path=c+d%20e&empty=")

    assert query.text("path") == "c d e"
    assert query.text("empty", "there") == "there"
    assert query.text("other", "default") == "default"


def test_query_number_outside_its_bounds_is_refused() -> None:
    query = Query(b"depth=-1&limit=500&big=99999999999999999999&word=x&float=1.5")

    assert query.number("depth", 3, low=-1, high=9) == -1
    assert query.number("limit", 3, low=1, high=500) == 500
    assert query.number("other", 3, low=1, high=9) == 3
    for name, low, high in (
        ("depth", 0, 9),
        ("limit", 1, 499),
        ("big", 0, 1 << 70),
        ("word", 0, 9),
        ("float", 0, 9),
    ):
        with pytest.raises(HttpError, match=f"{name}=.*want a number from {low} to {high}"):
            query.number(name, 0, low=low, high=high)


def test_query_word_that_is_not_a_choice_is_refused() -> None:
    assert Query(b"").one_of("which", ("a", "b")) == "a"
    assert Query(b"which=b").one_of("which", ("a", "b")) == "b"
    with pytest.raises(HttpError, match=r"which='c': want one of a, b"):
        Query(b"which=c").one_of("which", ("a", "b"))


@pytest.mark.parametrize("raw", [b"a=%ff", "a=\xe9".encode("latin1"), b"&".join([b"a=1"] * 21)])
def test_query_that_cannot_be_decoded_gets_status_400(raw: bytes) -> None:
    with pytest.raises(HttpError, match="the query cannot be decoded") as refused:
        Query(raw)

    assert refused.value.status == 400
