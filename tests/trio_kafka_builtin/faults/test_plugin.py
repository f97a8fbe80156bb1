"""The plugin's life: rules go with it; and a real broker, a real client and curl."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import trio
from confluent_kafka import Producer
from trio.testing import MockClock

from tests.project.tree import ROOT
from tests.trio_kafka_builtin.faults.kit import MOVED, Http, code, harness_with
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.processes import broker_process, unused_port
from trio_kafka.testing.sample_apis import EchoRequest
from trio_kafka_builtin.faults.plugin import faults

GUIDE = ROOT / "docs" / "how-to" / "faults.md"
HTTP = "127.0.0.1:8083"


async def test_it_is_off_where_no_setting_turns_it_on(autojump_clock: MockClock) -> None:
    async with PluginHarness(faults) as harness:
        assert harness.mounts.find("/testing/v1") is None
        assert harness.hosted.current is None


async def test_rules_go_when_the_plugin_stops(autojump_clock: MockClock) -> None:
    async with harness_with() as harness:
        await Http(harness).add(**MOVED)
        assert await code(harness) != 0

        with trio.move_on_after(5):
            await harness.host.stop()

        assert len(harness.interceptors) == 0
        assert await code(harness) == 0


async def test_rules_do_not_outlive_a_reload(autojump_clock: MockClock) -> None:
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
def test_the_guide_works_with_a_real_client(tmp_path: Path) -> None:
    token, http = "open-sesame", f"127.0.0.1:{unused_port()}"
    [settings] = re.findall(
        r"^```properties\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL
    )
    block = re.findall(r"^```sh\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)[0]
    add, listed, remove, clear = block.replace(HTTP, http).strip().split("\n\n")
    given = settings.replace("${env:HTTP_TOKEN}", token).replace(HTTP, http).splitlines()
    lines = [line for line in given if not line.startswith("config.providers")]

    def run(commands: str) -> str:
        done = subprocess.run(
            ["bash", "-ec", commands],
            env={**os.environ, "HTTP_TOKEN": token},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        return done.stdout

    with broker_process(tmp_path, *lines) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
        lost: list[object] = []

        def produce(count: int) -> None:
            for number in range(count):
                producer.produce(
                    "orders", b"%d" % number, on_delivery=lambda e, _: e and lost.append(e)
                )
                assert producer.flush(20) == 0

        produce(1)
        added = run(add)
        produce(20)
        shown = run(listed)
        run(remove)
        left = run(listed)
        run(clear)
        empty = run(listed)
        refused = run(f"curl -sS http://{http}/faults")

    assert lost == []  # the client tries again
    assert '"name": "leader-moves"' in added
    assert '"done": 5' in shown
    assert "leader-moves" not in left
    assert "slow" in left
    assert '"rules": []' in empty
    assert "token" in refused
