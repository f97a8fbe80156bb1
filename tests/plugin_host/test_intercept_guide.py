"""docs/how-to/intercept-requests.md: its plugins are short, and its tests pass as they stand."""

import re
from pathlib import Path

import pytest

from tests.project.tree import ROOT
from trio_kafka.plugin_host.context import PluginContext

pytest_plugins = ["pytester"]

GUIDE = (ROOT / "docs" / "how-to" / "intercept-requests.md").read_text()
FILES = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL))
PLUGINS = [name for name in FILES if not name.startswith("test_")]


@pytest.mark.slow
def test_the_tests_of_the_intercept_guide_pass(pytester: pytest.Pytester) -> None:
    for name, text in FILES.items():
        Path(pytester.path, name).write_text(text)

    done = pytester.runpytest_subprocess(
        *("-p", "no:randomly", "-p", "no:asyncio", "-p", "no:cacheprovider", "-q")
    )

    done.assert_outcomes(passed=6)


def test_each_plugin_of_the_intercept_guide_has_tests_and_less_than_fifty_lines() -> None:
    assert len(PLUGINS) == 3
    assert [name for name in PLUGINS if f"test_{name}" not in FILES] == []
    assert [name for name in PLUGINS if len(FILES[name].splitlines()) >= 50] == []


def test_plugins_of_the_intercept_guide_import_only_the_plugin_api_and_messages() -> None:
    imported = {
        module for name in PLUGINS for module in re.findall(r"from (trio_kafka\S*)", FILES[name])
    }

    assert imported == {"trio_kafka.plugin", "trio_kafka.protocol.messages.k00_produce"}


def test_every_context_method_named_in_the_intercept_guide_exists() -> None:
    named = set(re.findall(r"`(?:await )?context\.(\w+)\(", GUIDE))

    assert {"before", "after", "around", "records", "with_values", "produce"} <= named
    assert [name for name in named if not hasattr(PluginContext, name)] == []
