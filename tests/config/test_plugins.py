from trio_kafka.config.plugins import HOST_SETTINGS, POLICIES, HostSettings


def test_defaults_of_plugin_host_settings_are_valid():
    for setting in HOST_SETTINGS.values():
        setting.check_value(setting.default)

    assert HostSettings().policy in POLICIES
    assert HOST_SETTINGS["policy"].choices == POLICIES
