"""Settings of librdkafka."""

import pytest

from trio_kafka.cli.librdkafka_names import RENAMED, TRANSLATED, WITHOUT_EFFECT
from trio_kafka.clients.settings.load import check_name
from trio_kafka.config.setting import ConfigError


def test_every_new_name_is_a_setting_of_our_clients() -> None:
    for name in {*RENAMED.values(), *(name for name, _ in TRANSLATED)}:
        check_name(name)


def test_no_name_of_our_clients_is_renamed_or_ignored() -> None:
    for name in {*RENAMED, *WITHOUT_EFFECT}:
        with pytest.raises(ConfigError):
            check_name(name)
