"""Defaults of a listener are Kafka's."""

from trio_kafka.network.settings import ListenerSettings


def test_listener_settings_have_the_defaults_of_kafka() -> None:
    settings = ListenerSettings()

    assert settings.processors == 3
    assert settings.largest_frame == 104857600
    assert settings.idle_s == 600.0
    assert settings.backlog == 50
    assert settings.send_buffer == settings.receive_buffer == 102400
    assert settings.new_connections == 20
