"""The plugin: its settings, and that nothing of it is imported before somebody asks."""

import logging
import subprocess
import sys

import pytest
import trio
from trio.testing import MockClock

from tests.project.tree import ROOT
from tests.trio_kafka_admin.kit import admin_ui
from trio_kafka.introspect.log_tail import LogTail
from trio_kafka.testing.asgi import ask
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_admin.plugin import admin

LOADED = """
import sys, trio_kafka_admin.plugin
print(*sorted(name for name in sys.modules if name.startswith("trio_kafka_admin")))
"""


def test_start_of_the_admin_plugin_imports_no_page() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True
    )

    loaded = [
        "trio_kafka_admin",
        "trio_kafka_admin.discovery",
        "trio_kafka_admin.plugin",
        "trio_kafka_admin.settings",
    ]
    assert done.stdout.split() == loaded


async def test_concurrent_first_requests_create_a_single_app(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        answers = []

        async def ask() -> None:
            answers.append(await ui.ask("/admin/static/app.js"))

        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(ask)

        assert [answer.status for answer in answers] == [200] * 10
        tree = (await ui.json("/admin/api/tree?own=1"))["rows"]
        assert len([row for row in tree if row["name"] == "admin-requests"]) == 1


async def test_settings_give_the_refresh_interval_and_row_limit_of_pages(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui(refresh_ms="250", max_rows="3") as ui:
        page = await ui.page("/admin/queues")

        assert page.find("div", id="live").attributes["data-refresh-ms"] == "250"
        assert sum(len(body.all("tr")) for body in page.all("tbody")) == 3
        page = await ui.page("/admin/queues?limit=5")
        assert sum(len(body.all("tr")) for body in page.all("tbody")) == 5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"refresh.ms": "-1"}, "refresh.ms"),
        ({"max.rows": "5001"}, "max.rows"),
        ({"path": "admin"}, "want /name"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_invalid_settings_of_the_admin_plugin_are_refused(
    autojump_clock: MockClock, settings: dict[str, str], words: str
) -> None:
    with pytest.raises(Exception, match=words):
        async with PluginHarness(admin, settings=settings):
            pass


async def test_disabled_admin_plugin_mounts_no_app(autojump_clock: MockClock) -> None:
    async with admin_ui(enabled="false") as ui:
        assert ui.served.broker.plugins.dependencies.mounts.find("/admin") is None


async def test_reload_of_the_admin_plugin_mounts_a_new_app(autojump_clock: MockClock) -> None:
    async with PluginHarness(admin, broker=True) as harness:
        before = harness.mounts.find("/admin")
        await harness.host.reload("admin")
        mount = harness.mounts.find("/admin")

        assert mount is not None
        assert mount is not before
        for target in ("/admin/plugins", "/admin/api/tree", "/admin/static/app.js"):
            assert (await ask(mount.app, "GET", target)).status == 200


async def test_log_is_kept_only_while_the_plugin_runs(autojump_clock: MockClock) -> None:
    def tails() -> int:
        return sum(isinstance(handler, LogTail) for handler in logging.getLogger().handlers)

    async with admin_ui():
        assert tails() == 1
    assert tails() == 0
    async with served_broker(simulated_world()):
        assert tails() == 0
