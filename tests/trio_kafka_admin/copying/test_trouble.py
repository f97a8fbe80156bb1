"""Troubles as queries of the page that copies them."""

from urllib.parse import urlencode

import pytest

from trio_kafka_admin.copying.trouble import KINDS, Trouble, trouble_of
from trio_kafka_admin.query import Query
from trio_kafka_http.asgi_json import HttpError


@pytest.mark.parametrize("kind", KINDS)
def test_the_query_of_a_trouble_leads_back_to_it(kind) -> None:
    trouble = Trouble(
        kind=kind,
        api="Fetch",
        client_id="a&b=ü",
        topic="t",
        partition=7,
        group_id="g h",
        transactional_id="p/1",
        seconds=2.5,
        amount=40,
        rule='{"api": "Fetch"}',
    )

    assert trouble_of(Query(urlencode(trouble.parameters()).encode())) == trouble


@pytest.mark.parametrize(
    "query", [b"kind=other", b"kind=crash-loop&ms=-1", b"kind=lagging-group&amount=x"]
)
def test_values_out_of_bounds_are_refused(query: bytes) -> None:
    with pytest.raises(HttpError):
        trouble_of(Query(query))
