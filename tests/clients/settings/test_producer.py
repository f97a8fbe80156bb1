"""Settings of the producer, held to Kafka's, and rules between them."""

import pytest

from tests.clients.settings.facts import differences, undeclared
from trio_kafka.clients.settings.load import producer_settings
from trio_kafka.clients.settings.producer import ProducerSettings
from trio_kafka.config.setting import ConfigError
from trio_kafka.records.compression import Codec

AT = {"bootstrap.servers": "a:1"}


def test_each_producer_setting_has_the_type_default_and_bounds_of_kafka():
    assert differences(ProducerSettings, "producer") == {}


def test_each_producer_setting_of_kafka_is_declared_or_listed_as_without_effect():
    assert undeclared(ProducerSettings, "producer") == set()


def test_idempotence_is_the_default_and_gives_way_to_settings_that_exclude_it():
    assert producer_settings(AT).is_idempotent
    for other in ({"acks": 1}, {"retries": 0}, {"max.in.flight.requests.per.connection": 6}):
        assert not producer_settings({**AT, **other}).is_idempotent
    assert not producer_settings({**AT, "enable.idempotence": False}).is_idempotent


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"acks": "1"}, "enable.idempotence: needs acks=all, not 1"),
        ({"retries": 0}, "enable.idempotence: needs retries"),
        ({"max.in.flight.requests.per.connection": 6}, "of at most 5"),
    ],
)
def test_idempotence_that_is_asked_for_contradicts_settings_that_exclude_it(other, reason):
    with pytest.raises(ConfigError, match=reason):
        producer_settings({**AT, "enable.idempotence": True, **other})


def test_transactions_need_idempotence():
    with pytest.raises(ConfigError, match=r"transactional\.id: transactions need"):
        producer_settings({**AT, "transactional.id": "t", "acks": 1})


def test_delivery_timeout_is_no_shorter_than_one_attempt():
    with pytest.raises(ConfigError, match=r"want at least linger\.ms"):
        producer_settings({**AT, "delivery.timeout.ms": 1000})
    assert producer_settings({**AT, "request.timeout.ms": 200_000}).delivery_timeout_s == 200.005
    assert producer_settings(AT).delivery_timeout_s == 120.0


def test_codec_has_its_own_level():
    settings = producer_settings({**AT, "compression.type": "zstd", "compression.zstd.level": 7})

    assert (settings.codec, settings.level) == (Codec.ZSTD, 7)
    assert producer_settings(AT).level is None
    assert producer_settings({**AT, "acks": "0"}).acks_number == 0
