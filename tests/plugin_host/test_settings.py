from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from attrs import NOTHING, frozen

from tests.plugin_host.plugins import echo
from trio_kafka.config.properties import SettingText
from trio_kafka.config.setting import ConfigError
from trio_kafka.plugin import string
from trio_kafka.plugin_host.declaration import plugin
from trio_kafka.plugin_host.settings import (
    problems,
    read_settings,
    settings_of_plugin,
    shown,
    unknown_plugins,
)


def setting_texts(**settings: str) -> Mapping[str, SettingText]:
    return {
        f"plugin.echo.{name.replace('_', '.')}": SettingText(text, "-c")
        for name, text in settings.items()
    }


def test_given_plugin_settings_override_the_defaults() -> None:
    read = read_settings(echo, setting_texts(prefix="> ", max_length="7", order="3", limit="2"))

    assert (read.own.prefix, read.own.max_length, read.own.token) == (">", 7, None)
    assert (read.host.order, read.host.limit, read.host.policy) == (3, 2, "isolate")


def test_defaults_of_host_settings_come_from_the_plugin_declaration() -> None:
    @plugin("echo", order=5, policy="restart", deadline_s=1.5, limit=4, enabled=False)
    @asynccontextmanager
    async def run(context: Any) -> Any:
        yield

    host = read_settings(run, {}).host

    assert (host.order, host.policy, host.deadline_ms, host.limit) == (5, "restart", 1500, 4)
    assert not host.enabled
    assert settings_of_plugin(run)["plugin.echo.policy"].default == "restart"


def test_every_problem_of_plugin_settings_is_reported_with_its_source() -> None:
    result = [
        str(problem)
        for problem in problems(echo, setting_texts(prefx="x", max_length="0", policy="no"))
    ]

    assert result == [
        "-c: plugin.echo.prefx: plugin echo has no such setting: did you mean plugin.echo.prefix?",
        "-c: plugin.echo.max.length: 0 is too small: want at least 1",
        "-c: plugin.echo.policy: 'no' is not one of isolate, restart, fatal",
    ]
    with pytest.raises(ConfigError, match="prefx"):
        read_settings(echo, setting_texts(prefx="x", max_length="0"))


def test_a_problem_does_not_show_a_value_from_a_provider() -> None:
    result = {"plugin.echo.max.length": SettingText("hunter2", "-c", "${env:LENGTH}")}

    [error] = problems(echo, result)

    assert "hunter2" not in str(error)
    assert "${env:LENGTH}" in str(error)


def test_a_plugin_setting_without_a_default_must_be_set() -> None:
    @frozen(kw_only=True)
    class Settings:
        place: str = string(NOTHING, "Where.")  # type: ignore[arg-type]

    @plugin("p", settings=Settings)
    @asynccontextmanager
    async def run(context: Any) -> Any:
        yield

    assert [str(problem) for problem in problems(run, {})] == ["plugin.p.place: must be set"]


def test_secret_plugin_settings_are_shown_as_hidden() -> None:
    read = read_settings(echo, setting_texts(token="hunter2"))

    assert read.own.token == "hunter2"
    assert shown(echo, read) == {"prefix": "", "max.length": "100", "token": "(hidden)"}
    assert shown(echo, read_settings(echo, {}))["token"] == ""


def test_settings_of_plugins_that_are_not_installed_are_reported() -> None:
    layer = {
        name: SettingText("x", "-c") for name in ("plugin.ecko.x", "plugin.echo.x", "plugin.x")
    }

    assert [str(unknown_plugin) for unknown_plugin in unknown_plugins(layer, ["echo"])] == [
        "-c: plugin.ecko.x: no plugin ecko is installed: did you mean echo?"
    ]
