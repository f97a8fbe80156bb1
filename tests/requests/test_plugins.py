from attrs import fields

from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.protocol.messages.k10002_list_plugins import ListedPlugin
from trio_kafka.protocol.schema import fields_of
from trio_kafka.requests.plugins import Plugins, PluginStatus


def test_the_host_is_what_handlers_are_promised() -> None:
    promised = [name for name in vars(Plugins) if not name.startswith("_")]

    assert promised
    assert [name for name in promised if not hasattr(PluginHost, name)] == []


def test_all_that_is_known_of_a_plugin_can_be_asked() -> None:
    told = {field.name.removesuffix("_ms") for field in fields_of(ListedPlugin)}

    assert told == {field.name for field in fields(PluginStatus)}
