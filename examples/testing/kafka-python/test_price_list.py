import unittest

import pytest
from price_list import read_prices, set_price

from trio_kafka import running_broker
from trio_kafka.controls.values import Record
from trio_kafka.testing.kafka.threaded import Kafka


@pytest.mark.kafka(topics={"prices": 3})
def test_the_last_price_counts(kafka: Kafka) -> None:
    set_price(kafka.bootstrap, "tea", 3)
    set_price(kafka.bootstrap, "milk", 1)
    set_price(kafka.bootstrap, "tea", 4)
    set_price(kafka.bootstrap, "milk", None)

    assert read_prices(kafka.bootstrap) == {"tea": 4}
    written = {record.key: record.value for record in kafka.records("prices")}
    assert written == {b"tea": b"4", b"milk": None}


@pytest.mark.kafka(topics=["prices"])
def test_a_list_is_read_from_records_that_another_program_wrote(kafka: Kafka) -> None:
    kafka.produce("prices", Record(key="tea", value="5"), Record(key="salt", value="1"))

    assert read_prices(kafka.bootstrap) == {"tea": 5, "salt": 1}


def test_the_broker_is_empty_again(kafka: Kafka) -> None:
    assert kafka.topics() == []


class TestWithoutPytest(unittest.TestCase):
    """The same broker in unittest alone: `python -m unittest`."""

    def setUp(self) -> None:
        self.kafka = self.enterContext(running_broker(topics=["prices"]))

    def test_an_empty_list(self) -> None:
        assert read_prices(self.kafka.bootstrap) == {}
