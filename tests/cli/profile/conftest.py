"""A directory of settings for the profiles of each test."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("TRIO_KAFKA_BOOTSTRAP", raising=False)
    monkeypatch.delenv("TRIO_KAFKA_PROFILE", raising=False)
    return tmp_path
