"""The plugin API has few names, each with one line in its page."""

import re
from importlib import import_module
from pathlib import Path

from trio_kafka import plugin
from trio_kafka.broker.roles import BROKER
from trio_kafka.requests.parts import FIELDS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "plugin-api.md"
MOST = 40


def test_every_name_in_all_of_the_plugin_module_exists() -> None:
    for name in plugin.__all__:
        assert hasattr(plugin, name)
    assert len(set(plugin.__all__)) == len(plugin.__all__) <= MOST


def test_parts_of_the_plugin_page_are_found_by_handlers_of_a_broker() -> None:
    imports = re.findall(r"^\| `from ([\w.]+) import (\w+)` \|", PAGE.read_text(), re.MULTILINE)

    assert imports
    found_by_class = {part.face or part.kind for part in BROKER} | FIELDS.keys()
    assert {getattr(import_module(module), name) for module, name in imports} <= found_by_class


def test_plugin_page_has_one_line_for_each_exported_name() -> None:
    named = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)

    assert sorted(named) == sorted(plugin.__all__)
