"""Assignors by name."""

import pytest

from trio_kafka.clients.consumer.groups.assignors.named import named_assignors
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.config.setting import ConfigError


def test_default_setting_names_range_and_cooperative_sticky():
    settings = ConsumerSettings(bootstrap_servers=("a:1",))

    assignors = named_assignors(settings.partition_assignment_strategy)

    assert [assignor.name for assignor in assignors] == ["range", "cooperative-sticky"]
    assert [assignor.is_cooperative for assignor in assignors] == [False, True]


@pytest.mark.parametrize("names", [["mine"], []])
def test_unknown_assignors_are_rejected(names):
    with pytest.raises(ConfigError, match=r"partition\.assignment\.strategy"):
        named_assignors(names)
