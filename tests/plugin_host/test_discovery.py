import sys
from pathlib import Path

import pytest

from tests.plugin_host.packages import write
from tests.plugin_host.plugins import echo
from trio_kafka.plugin_host.discovery import NoPluginError, Origin, installed, of_plugins

TWO = """
    from contextlib import asynccontextmanager
    from trio_kafka.plugin import plugin

    @plugin("one")
    @asynccontextmanager
    async def plugin_one(context):
        yield

    @plugin("other")
    @asynccontextmanager
    async def other(context):
        yield

    nothing = 3
"""


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Origin:
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path, "two", {"two.py": TWO}, {"two": "two"})
    [result] = [candidate for candidate in installed() if candidate.name == "two"]
    return result


def test_discovery_does_not_import_the_plugin_module(origin: Origin) -> None:
    assert origin.source == "entry point two = two"
    assert [name for name in sys.modules if name.startswith("two@")] == []


def test_an_entry_point_to_a_module_loads_all_its_plugins(origin: Origin) -> None:
    plugins, imported = origin.load()

    assert [plugin.name for plugin in plugins] == ["one", "other"]
    assert imported is not None
    assert imported.users == 2
    imported.users = 1
    imported.release()


def test_an_entry_point_to_an_attribute_loads_one_plugin(origin: Origin) -> None:
    plugins, imported = Origin(name="x", source="x", module="two", attribute="other").load()

    assert [plugin.name for plugin in plugins] == ["other"]
    assert imported is not None
    imported.release()


@pytest.mark.parametrize(("attribute", "why"), [("nothing", "found 3"), ("absent", "found None")])
def test_an_entry_point_to_a_non_plugin_is_refused_with_the_object_found(
    origin: Origin, attribute: str, why: str
) -> None:
    with pytest.raises(NoPluginError, match=why):
        Origin(name="x", source="entry point x", module="two", attribute=attribute).load()

    assert [name for name in sys.modules if name.startswith("two@")] == []


def test_an_entry_point_to_a_module_without_plugins_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "empty_one.py").write_text("")

    with pytest.raises(NoPluginError, match="the module declares no plugin"):
        Origin(name="x", source="x", module="empty_one", attribute="").load()


def test_plugins_given_as_objects_are_imported_only_by_a_reload() -> None:
    [origin] = of_plugins([echo])

    first, none = origin.load()
    again, imported = origin.load(afresh=True)

    assert first == [echo]
    assert none is None
    assert [plugin.name for plugin in again] == ["echo"]
    assert again[0] is not echo
    assert imported is not None
    imported.release()
