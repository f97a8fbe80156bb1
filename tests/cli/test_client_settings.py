"""Settings of clients from options; what goes wrong is tested with `produce`."""

import warnings

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.client_settings import (
    client_errors,
    parse_properties,
    settings_for,
    shown_warnings,
)
from trio_kafka.cli.cluster_address import Bootstrap
from trio_kafka.clients.errors import TopicError
from trio_kafka.clients.settings.admin import AdminSettings
from trio_kafka.clients.settings.producer import ProducerSettings


def test_properties_are_names_and_values():
    assert parse_properties(["a=1", "b=c=d", "e="]) == {"a": "1", "b": "c=d", "e": ""}
    with pytest.raises(CommandFailedError, match="want NAME=VALUE"):
        parse_properties(["=1"])


def test_error_of_a_client_names_the_broker():
    with pytest.raises(CommandFailedError, match="h:1: no") as failure, client_errors("h:1"):
        raise TopicError("no")

    assert failure.value.status == 1


def test_settings_of_another_kind_of_client_are_left_out():
    cluster = Bootstrap("h:1", {"linger.ms": "5", "retries": "2"})

    assert settings_for(AdminSettings, cluster) == {"retries": "2", "bootstrap.servers": "h:1"}
    assert settings_for(ProducerSettings, cluster) == {
        "linger.ms": "5",
        "retries": "2",
        "bootstrap.servers": "h:1",
    }


def test_options_go_before_files_and_properties_before_both():
    cluster = Bootstrap("h:1", {"acks": "0", "retries": "1"}, {"retries": "3"})

    assert settings_for(ProducerSettings, cluster, {"acks": "1", "retries": "2"}) == {
        "acks": "1",
        "retries": "3",
        "bootstrap.servers": "h:1",
    }
    assert cluster.without_properties().properties == {}


def test_warnings_are_lines(capsys):
    with shown_warnings():
        warnings.warn("old", stacklevel=1)

    assert capsys.readouterr().err == "trio-kafka: warning: old\n"
