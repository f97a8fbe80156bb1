"""The settings that decisions read."""

from trio_kafka.controller.settings import ControllerSettings


def test_defaults_are_kafkas() -> None:
    settings = ControllerSettings()

    assert (settings.num_partitions, settings.default_replication_factor) == (1, 1)
    assert (settings.broker_session_timeout_ms, settings.delete_topic_enable) == (9_000, True)
