"""The plugin's life: rules go with it; and the guide with a real broker and a real client."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.project.tree import ROOT
from tests.trio_kafka_builtin.faults.kit import MOVED, Http, code, harness_with
from trio_kafka.controls.faults.tables import KEYS, rules_of
from trio_kafka.requests.registry import installed_apis
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest
from trio_kafka_builtin.faults.plugin import faults

GUIDE = ROOT / "docs" / "how-to" / "faults.md"


async def test_the_faults_plugin_is_off_by_default(autojump_clock: MockClock) -> None:
    async with PluginHarness(faults) as harness:
        assert harness.mounts.find("/testing/v1") is None
        assert harness.hosted.current is None


async def test_rules_are_removed_when_the_plugin_stops(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        await Http(harness).add(**MOVED)
        assert await code(harness) != 0

        with trio.move_on_after(5):
            await harness.host.stop()

        assert len(harness.interceptors) == 0
        assert await code(harness) == 0


async def test_rules_are_removed_when_the_plugin_is_reloaded(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        await Http(harness).add(**MOVED)
        await Http(harness).add(name="late", delay_s=60, client_id="late")
        late = harness.client("late")
        late.send(EchoRequest())
        await trio.testing.wait_all_tasks_blocked()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(harness.host.reload, "faults")
            await trio.testing.wait_all_tasks_blocked()

        assert harness.hosted.generation == 2
        assert (await Http(harness)("GET")).json() == {"rules": []}
        assert await code(harness) == 0


@pytest.mark.slow
def test_the_program_of_the_faults_guide_prints_the_output_shown_in_the_guide(
    tmp_path: Path,
) -> None:
    text = GUIDE.read_text()
    [program] = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    [shown] = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, shown), done.stderr


def test_the_rules_file_of_the_faults_guide_is_valid() -> None:
    [file] = re.findall(r"^```toml\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)

    [rule] = rules_of("rules.toml", file, installed_apis())

    assert (rule.verdict, rule.times) == ("error", 2)


def test_the_faults_guide_names_every_field_of_a_rule() -> None:
    text = GUIDE.read_text()

    assert [key for key in (*KEYS, "where") if f"`{key}" not in text] == []
