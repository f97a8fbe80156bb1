"""A plugin that does not end cannot keep a broker's process from ending."""

from pathlib import Path

import pytest

from tests.plugin_host.packages import write
from trio_kafka.testing.processes import broker_process

STUBBORN = """
    from contextlib import asynccontextmanager

    import trio
    from trio_kafka.plugin import plugin

    async def hold_on():
        while True:
            try:
                await trio.sleep_forever()
            except BaseException:
                pass

    @plugin("stubborn")
    @asynccontextmanager
    async def stubborn(context):
        context.nursery.start_soon(hold_on, name="holds on")
        yield
"""


@pytest.mark.slow
def test_sigterm_stops_the_broker_despite_a_plugin_task_that_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "stubborn", {"stubborn.py": STUBBORN}, {"stubborn": "stubborn"})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with broker_process(tmp_path, "plugin.stubborn.drain.ms=100") as broker:
        broker.stop()

        log = broker.log.read_text()
        assert broker.process.returncode == 0
        assert "plugins abandoned" in log
        assert "stubborn (holds on)" in log
        assert "broker stopped" in log
