"""The READMEs of the plugins that come along: all settings, and examples that are what happens."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.project.tree import ROOT
from trio_kafka.config.setting import settings_of
from trio_kafka.config.values import show
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.testing.asgi import Answer, ask
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_admin.plugin import admin
from trio_kafka_builtin.audit.plugin import audit
from trio_kafka_builtin.mask.plugin import mask
from trio_kafka_builtin.rest_gateway.plugin import rest_gateway
from trio_kafka_http.plugin import http
from trio_kafka_metrics.plugin import metrics

PLUGINS: dict[str, Plugin] = {
    "admin_ui/trio_kafka_admin": admin,
    "plugins/trio_kafka_builtin/audit": audit,
    "plugins/trio_kafka_builtin/mask": mask,
    "plugins/trio_kafka_builtin/rest_gateway": rest_gateway,
    "plugins/trio_kafka_http": http,
    "plugins/trio_kafka_metrics": metrics,
}
REQUEST_LINE = re.compile(r"(GET|POST|PUT|DELETE) (\S+)(?: (.+))?")


def readme(place: str) -> str:
    return (ROOT / place / "README.md").read_text()


def blocks(place: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", readme(place), re.MULTILINE | re.DOTALL)


def table(plugin: Plugin) -> Iterator[str]:
    """Lines of a README under `## Settings`."""
    yield f"`plugin.{plugin.name}.<name>`; what every plugin has besides: "
    yield "[docs/how-to/write-a-plugin.md](DOCS/how-to/write-a-plugin.md)."
    yield ""
    yield "| name | default | what it says |"
    yield "| --- | --- | --- |"
    assert plugin.settings is not None
    for name, setting in settings_of(plugin.settings).items():
        default = show(setting.kind, setting.default)
        yield f"| `{name}` | {f'`{default}`' if default else ''} | {setting.doc} |"


def settings_text(place: str) -> str:
    up = "../" * (place.count("/") + 1)
    text = "\n".join(table(PLUGINS[place])).replace("besides: \n", "besides: ")
    return text.replace("DOCS", f"{up}docs")


@pytest.mark.parametrize("place", PLUGINS)
def test_readme_of_a_plugin_lists_all_settings_of_the_plugin(place: str) -> None:
    assert readme(place).partition("## Settings\n\n")[2] == settings_text(place) + "\n"


@pytest.mark.parametrize("place", PLUGINS)
def test_every_link_in_the_readme_of_a_plugin_leads_to_a_file(place: str) -> None:
    directory = ROOT / place
    links = re.findall(r"\]\(([^)]+)\)", readme(place))
    assert links
    assert [link for link in links if not (directory / link).exists()] == []


@pytest.mark.parametrize("place", list(PLUGINS))
async def test_requests_in_the_readme_of_a_plugin_get_the_responses_shown(
    place: str, autojump_clock: MockClock
) -> None:
    settings = {"plugin.rest_gateway.enabled": "true"}
    for block in blocks(place, "properties"):
        settings |= dict(line.split("=", 1) for line in block.splitlines())
    others = [plugin for plugin in PLUGINS.values() if plugin is not http]  # it wants a socket
    for block in blocks(place, "python"):
        names: dict[str, Any] = {"__name__": "readme"}
        exec(compile(block, place, "exec"), names)
        others += [name for name in names.values() if isinstance(name, Plugin)]
    (transcript,) = blocks(place, "http")
    if "plugin.audit.enabled" not in settings:
        others.remove(audit)
    if "plugin.mask.enabled" not in settings:
        others.remove(mask)

    async with served_broker(simulated_world(), settings, plugins=tuple(others)) as served:
        mounts = served.broker.plugins.dependencies.mounts
        answer, lines = Answer(), iter(transcript.splitlines())
        for line in lines:
            match = REQUEST_LINE.fullmatch(line)
            if match is None:  # one more line of the answer before
                assert says(answer, line), answer.body
                continue
            method, target, text = match.groups()
            mount = mounts.find(target.partition("?")[0])
            assert mount is not None, target
            below, expected = target.removeprefix(mount.path) or "/", next(lines)
            for _ in range(10):  # what is written later comes later
                answer = await ask(mount.app, method, below, body=(text or "").encode())
                if says(answer, expected):
                    break
                await trio.sleep(0.5)
            assert says(answer, expected), answer.body


def says(answer: Answer, line: str) -> bool:
    status, text = line.split(" ", 1)
    if str(answer.status) != status:
        return False
    if text.startswith("{"):
        return fits(json.loads(text), answer.json())
    return f"\n{text}" in answer.body.decode()


def fits(expected: Any, actual: Any) -> bool:
    """Whether all that is wanted is there; there may be more fields."""
    if isinstance(expected, dict):
        return all(name in actual and fits(value, actual[name]) for name, value in expected.items())
    if isinstance(expected, list):
        return len(expected) == len(actual) and all(map(fits, expected, actual))
    return bool(expected == actual)


def write() -> None:
    """The settings of all READMEs anew: `python -m tests.project.test_plugin_readmes`."""
    for place in PLUGINS:
        path = Path(ROOT / place / "README.md")
        head = path.read_text().partition("## Settings\n\n")[0]
        path.write_text(f"{head}## Settings\n\n{settings_text(place)}\n")


if __name__ == "__main__":
    write()
