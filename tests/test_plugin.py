"""The plugin API has few names, each with one line in its page."""

import re
from pathlib import Path

from trio_kafka import plugin

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "plugin-api.md"
MOST = 40


def test_every_name_in_all_of_the_plugin_module_exists() -> None:
    for name in plugin.__all__:
        assert hasattr(plugin, name)
    assert len(set(plugin.__all__)) == len(plugin.__all__) <= MOST


def test_plugin_page_has_one_line_for_each_exported_name() -> None:
    named = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)

    assert sorted(named) == sorted(plugin.__all__)
