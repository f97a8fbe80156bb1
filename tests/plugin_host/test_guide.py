"""docs/how-to/write-a-plugin.md: its plugin and its tests run, and what it tells of is there."""

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from attrs import fields
from trio.testing import MockClock

from tests.project.tree import ROOT
from trio_kafka.config.plugins import HOST_SETTINGS
from trio_kafka.model import TopicId
from trio_kafka.plugin import GroupAssignment, GroupSpec, MemberSpec
from trio_kafka.plugin_host.context import PluginContext
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.generation import GRACE_S
from trio_kafka.plugin_host.host import RESTART_PAUSES_S
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world

pytest_plugins = ["pytester"]

PAGE = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text()
DESIGN = (ROOT / "docs" / "design" / "plugins.md").read_text()
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def guide_plugin() -> Plugin:
    block = BLOCK.findall(PAGE)[0]
    names: dict[str, Any] = {"__name__": "keeper"}
    exec(block, names)
    plugin: Plugin = names["keeper"]
    return plugin


async def test_the_plugin_of_the_writing_guide_runs(autojump_clock: MockClock) -> None:
    settings = {"plugin.keeper.place": "there", "plugin.keeper.token": "secret"}
    async with served_broker(simulated_world(), settings, plugins=[guide_plugin()]) as served:
        hosted = served.broker.plugins.find("keeper")
        assert hosted.state is State.READY
        assert hosted.shown_settings() == {
            "place": "there",
            "most.things": "100",
            "token": "(hidden)",
        }

    assert (hosted.state, hosted.policy, hosted.order[0]) == (State.STOPPED, "restart", 50)


@pytest.mark.slow
def test_the_tests_of_the_writing_guide_pass(pytester: pytest.Pytester) -> None:
    module, *tests = BLOCK.findall(PAGE)
    Path(pytester.path, "keeper.py").write_text(module)
    for number, text in enumerate(tests):
        Path(pytester.path, f"test_block{number}.py").write_text(text)

    done = pytester.runpytest_subprocess(
        *("-p", "no:randomly", "-p", "no:asyncio", "-p", "no:cacheprovider", "-q")
    )

    done.assert_outcomes(passed=2)


def test_the_writing_guide_names_every_setting_that_all_plugins_have() -> None:
    assert [key for key in HOST_SETTINGS if f"`{key}`" not in PAGE] == []


def test_the_writing_guide_names_every_argument_of_a_declaration() -> None:
    inner = {"name", "run", "doc", "module"}
    names = {field_.name for field_ in fields(Plugin)} - inner
    assert [name for name in names if f"{name}=" not in PAGE] == []


@pytest.mark.parametrize(
    "name",
    [
        "add_api",
        "add_module",
        "before",
        "after",
        "around",
        "mount",
        "start",
        "counter",
        "add_group_assignor",
        "add_admin_page",
    ],
)
def test_every_context_method_named_in_the_writing_guide_exists(name: str) -> None:
    assert f"{name}(" in PAGE
    assert hasattr(PluginContext, name)


def test_the_assignor_of_the_writing_guide_assigns_partitions() -> None:
    [block] = re.findall(r"^    (class Everything:.*?\n)\n(?! )", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"GroupSpec": GroupSpec, "GroupAssignment": GroupAssignment}
    exec(dedent(f"    {block}"), names)
    topic = TopicId(bytes(16))
    members = {name: MemberSpec(topics={topic: 2}) for name in ("b", "a")}

    result = names["Everything"]().assign(GroupSpec(members=members, homogeneous=True))

    assert result == {"a": {topic: {0, 1}}}


def test_restart_pauses_and_states_in_the_docs_match_the_code() -> None:
    pauses = ", ".join(f"{pause:g}" for pause in RESTART_PAUSES_S[:-1])
    assert f"{pauses} and {RESTART_PAUSES_S[-1]:g} seconds" in PAGE.replace("\n", " ")
    assert " → ".join(state.value for state in State).replace("→ failed", "| failed") in (
        DESIGN.replace("\n", " ")
    )
    assert GRACE_S == 1
