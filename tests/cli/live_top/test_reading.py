"""Readings of a running broker for the live screen."""

import pytest

from trio_kafka.cli.broker_client import BrokerClientError, parse_address
from trio_kafka.cli.http_address import HttpAddress, HttpCredentials
from trio_kafka.cli.live_top.reading import NO_UI, read
from trio_kafka.testing.kafka.threaded import running_broker

UNKNOWN = HttpAddress("", HttpCredentials())


def test_reading_has_what_the_admin_ui_says_at_the_address_in_the_tree() -> None:
    with running_broker(
        {"plugin.http.listeners": "http://127.0.0.1:0"}, plugins=None, topics=["orders"]
    ) as broker:
        address = parse_address(broker.bootstrap)
        first = read(address, UNKNOWN, None, 10.0)
        second = read(address, UNKNOWN, first.tree, 10.0)

        assert first.missing == ""
        assert second.overview is not None
        assert second.overview.node_id == 1
        assert second.overview.lanes[0].stages
        assert {request.api_name for request in second.slowest} >= {"CreateTopics"}
        elsewhere = read(address, UNKNOWN.at("http://127.0.0.1:1/admin"), None, 10.0)
        assert elsewhere.overview is None
        assert elsewhere.missing.startswith("http://127.0.0.1:1/admin: ")


def test_broker_without_http_has_a_reading_that_says_what_is_missing() -> None:
    with running_broker() as broker:
        address = parse_address(broker.bootstrap)
        reading = read(address, UNKNOWN, None, 10.0)

    assert (reading.overview, reading.missing) == (None, NO_UI)
    with pytest.raises(BrokerClientError):
        read(address, UNKNOWN, None, 10.0)
