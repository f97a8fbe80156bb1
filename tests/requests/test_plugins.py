from attrs import fields

from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.protocol.messages.k10002_list_plugins import ListedPlugin
from trio_kafka.protocol.schema import fields_of
from trio_kafka.requests.plugins import Plugins, PluginStatus


def test_plugin_host_has_every_attribute_of_the_plugins_protocol() -> None:
    promised = [name for name in vars(Plugins) if not name.startswith("_")]

    assert promised
    assert [name for name in promised if not hasattr(PluginHost, name)] == []


def test_list_plugins_response_has_every_field_of_the_plugin_status() -> None:
    names = {field.name.removesuffix("_ms") for field in fields_of(ListedPlugin)}

    assert names == {field.name for field in fields(PluginStatus)}
