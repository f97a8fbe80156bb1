"""A plugin that does harm before it serves is named in the log, once."""

from pathlib import Path

import pytest

from tests.plugin_host.packages import write
from trio_kafka.cli import main
from trio_kafka.testing.processes import BrokerProcess, broker_process

pytestmark = pytest.mark.slow

BLOCKS_IN_ITS_IMPORT = """
    import json
    import time
    from contextlib import asynccontextmanager

    from trio_kafka.plugin import plugin

    time.sleep(0.4)

    @plugin("harm")
    @asynccontextmanager
    async def harm(context):
        yield
"""
HARMLESS = """
    from contextlib import asynccontextmanager

    import trio
    from trio_kafka.plugin import plugin

    @plugin("harm")
    @asynccontextmanager
    async def harm(context):
        yield
"""
BLOCKS_IN_ITS_START = """
    import time
    from contextlib import asynccontextmanager

    import trio
    from trio_kafka.plugin import plugin

    @plugin("harm")
    @asynccontextmanager
    async def harm(context):
        time.sleep(0.4)
        await trio.sleep(0.2)
        yield
"""
FAILS_IN_ITS_START = """
    from contextlib import asynccontextmanager

    from trio_kafka.plugin import plugin

    @plugin("harm")
    @asynccontextmanager
    async def harm(context):
        raise ValueError("as it says")
        yield
"""
FAILS_IN_A_TASK = """
    from contextlib import asynccontextmanager

    from trio_kafka.plugin import plugin

    async def fail():
        raise ValueError("as it says")

    @plugin("harm")
    @asynccontextmanager
    async def harm(context):
        context.nursery.start_soon(fail)
        yield
"""
WATCHED = "trio.watchdog.ms=100"


def install(directory: Path, source: str) -> None:
    write(directory, "harm", {"harm.py": source}, {"harm": "harm"})


def lines_with(broker: BrokerProcess, text: str) -> list[str]:
    return [line for line in broker.log.read_text().splitlines() if text in line]


@pytest.mark.parametrize("source", [BLOCKS_IN_ITS_IMPORT, BLOCKS_IN_ITS_START])
def test_plugin_that_blocks_the_loop_during_import_or_start_is_named_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    install(tmp_path, source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with broker_process(tmp_path, WATCHED) as broker:
        broker.stop()

        blocked = lines_with(broker, "loop blocked")  # a busy machine may hold it up, too
        assert sum("plugin=harm" in line for line in blocked) == 1


def test_reload_that_blocks_in_its_start_fails_and_the_old_generation_keeps_serving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, HARMLESS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with broker_process(tmp_path, WATCHED, "plugin.harm.start.ms=3600000") as broker:
        install(tmp_path, BLOCKS_IN_ITS_START)
        at = ["--bootstrap", broker.bootstrap, "--timeout", "10"]
        status = main(["plugin", "reload", "harm", *at])

        assert status == 1
        assert "it blocked the loop for" in capsys.readouterr().err
        blocked = lines_with(broker, "loop blocked")  # a busy machine may hold it up, too
        assert any("plugin=harm" in line for line in blocked)
        main(["plugin", "list", "--bootstrap", broker.bootstrap])
        (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("harm")]
        assert "ready" in row
        assert lines_with(broker, "Traceback") == []


@pytest.mark.parametrize("source", [FAILS_IN_ITS_START, FAILS_IN_A_TASK])
def test_failed_plugin_logs_exactly_one_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    install(tmp_path, source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with broker_process(tmp_path) as broker:
        broker.stop()

        assert len(lines_with(broker, "Traceback")) == 1
        assert lines_with(broker, "ValueError: as it says")


def test_failed_plugin_reload_logs_exactly_one_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, HARMLESS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with broker_process(tmp_path) as broker:
        install(tmp_path, FAILS_IN_ITS_START)
        assert main(["plugin", "reload", "harm", "--bootstrap", broker.bootstrap]) == 1

        assert len(lines_with(broker, "Traceback")) == 1
