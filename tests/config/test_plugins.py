from trio_kafka.config.plugins import HOST_SETTINGS, POLICIES, HostSettings


def test_their_defaults_are_legal():
    for setting in HOST_SETTINGS.values():
        setting.check_value(setting.default)

    assert HostSettings().policy in POLICIES
    assert HOST_SETTINGS["policy"].choices == POLICIES
