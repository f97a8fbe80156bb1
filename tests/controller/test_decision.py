"""Decisions, and the settings that they read."""

from trio_kafka.controller.decision import ControllerSettings, Decision


def test_a_decision_has_no_records_by_default() -> None:
    assert Decision("answer").records == ()


def test_controller_settings_have_the_defaults_of_kafka() -> None:
    settings = ControllerSettings()

    assert (settings.num_partitions, settings.default_replication_factor) == (1, 1)
    assert (settings.broker_session_timeout_ms, settings.delete_topic_enable) == (9_000, True)
