"""Where the log of a replay goes. Its content is held by the decorator's tests."""

import tempfile
from pathlib import Path

from trio_kafka.testing.simulate.replay_log import LOG, ReplayLog


def test_replay_log_is_a_temporary_file_named_after_the_test_by_default(monkeypatch):
    monkeypatch.delenv(LOG, raising=False)
    default = ReplayLog("test_x[a-b]", "7").path
    monkeypatch.setenv(LOG, "given.log")

    assert default == Path(tempfile.gettempdir(), "trio-kafka-simulate", "test_x_a_b_-7.log")
    assert ReplayLog("test_x", "7").path == Path("given.log")
