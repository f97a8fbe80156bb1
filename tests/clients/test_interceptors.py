"""Interceptors by object and by dotted name, and those that raise."""

import logging

import pytest

from trio_kafka.clients.interceptors import InterceptorChain, split_interceptors
from trio_kafka.clients.metrics.measures import Total
from trio_kafka.clients.producer.interceptors import ProducerInterceptor
from trio_kafka.clients.settings.load import producer_settings
from trio_kafka.config.setting import ConfigError


class Mine(ProducerInterceptor[bytes, bytes]):
    """Does nothing."""


NAME = f"{__name__}.Mine"


@pytest.mark.parametrize("value", [[Mine()], [Mine], Mine(), NAME, [NAME], f" {NAME} "])
def test_interceptor_is_an_object_a_class_or_a_name(value: object) -> None:
    config = {"bootstrap.servers": "here:1", "interceptor.classes": value}

    rest, interceptors = split_interceptors(config, ProducerInterceptor)

    assert [type(interceptor).__name__ for interceptor in interceptors] == ["Mine"]
    assert producer_settings(rest).interceptor_classes[0].endswith("Mine")


@pytest.mark.parametrize("value", [None, "", [], ()])
def test_settings_without_interceptors_stay_as_they_are(value: object) -> None:
    config = {"interceptor.classes": value}

    assert split_interceptors(config, ProducerInterceptor) == (config, ())


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("com.example.Mine", "cannot be imported"),
        ("Mine", "cannot be imported"),
        ("trio_kafka.clients.interceptors.Nothing", "cannot be imported"),
        (["builtins.dict"], "a dict: want a ProducerInterceptor"),
        (7, "a int: want a ProducerInterceptor"),
    ],
)
def test_what_is_no_interceptor_is_a_config_error(value: object, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        split_interceptors({"interceptor.classes": value}, ProducerInterceptor)


def test_interceptor_that_raises_is_left_out_logged_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors = Total(2)
    chain: InterceptorChain[int] = InterceptorChain([1, 0, 2], errors)

    with caplog.at_level(logging.ERROR):
        value = chain.passed(8, lambda divisor, number: number // divisor)
        chain.tell(lambda divisor: 1 // divisor)

    assert value == 4
    assert errors.value == 2
    assert "interceptor failed" in caplog.text
