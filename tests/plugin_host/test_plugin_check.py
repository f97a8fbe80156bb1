from pathlib import Path

import pytest

from tests.plugin_host.packages import write
from tests.plugin_host.plugins import echo
from trio_kafka.config.properties import SettingText
from trio_kafka.plugin_host.discovery import Origin, of_plugins
from trio_kafka.plugin_host.plugin_check import check_plugins


def test_a_valid_plugin_has_no_problems() -> None:
    [result] = check_plugins({}, of_plugins([echo]))

    assert (result.name, result.plugin, list(result.problems)) == ("echo", echo, [])


def test_each_invalid_plugin_setting_is_reported_as_a_problem() -> None:
    settings = {
        "plugin.echo.zzzzzzzz": SettingText("1", "a"),
        "plugin.nobody.x": SettingText("1", "b"),
    }

    first, second = check_plugins(settings, of_plugins([echo]))

    assert list(first.problems) == ["a: plugin.echo.zzzzzzzz: plugin echo has no such setting"]
    assert (second.name, second.source) == ("plugin.nobody.x", "b")
    assert list(second.problems) == ["no plugin nobody is installed"]


def test_the_second_of_two_plugins_with_the_same_name_is_reported() -> None:
    _, second = check_plugins({}, of_plugins([echo, echo]))

    assert "the name echo is taken by" in second.problems[0]


def test_a_disabled_plugin_is_not_imported_by_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path, "bad_one", {"bad_one.py": "1 / 0\n"}, {"bad_one": "bad_one"})
    origin = Origin(name="bad_one", source="entry point", module="bad_one", attribute="")

    [broken] = check_plugins({}, [origin])
    [off] = check_plugins({"plugin.bad_one.enabled": SettingText("False", "-c")}, [origin])

    assert broken.problems == ["its import failed: ZeroDivisionError: division by zero"]
    assert (off.plugin, list(off.problems)) == (None, [])
