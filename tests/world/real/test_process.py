"""This process: its limit of descriptors, put back as it was, and its exit."""

import resource
import subprocess
import sys

import pytest

from trio_kafka.world.real.process import raise_descriptor_limit

BEFORE = resource.getrlimit(resource.RLIMIT_NOFILE)


@pytest.fixture(autouse=True)
def _as_before():
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, BEFORE)


def test_descriptor_limit_is_raised_to_the_hard_limit() -> None:
    soft, hard = BEFORE
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))

    assert raise_descriptor_limit() == hard
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)


def test_descriptor_limit_at_the_hard_limit_is_unchanged() -> None:
    raise_descriptor_limit()

    assert raise_descriptor_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_descriptor_limit_is_unchanged_when_the_system_refuses_a_higher_limit(monkeypatch) -> None:
    soft, hard = BEFORE
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))

    def refuse(kind: int, limits: tuple[int, int]) -> None:
        raise ValueError("above the kernel's own limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    result = raise_descriptor_limit()
    monkeypatch.undo()

    assert result == min(soft, 512)


END = """
import logging, threading
from trio_kafka.world.real.process import end_process
threading.Thread(target=threading.Event().wait).start()  # would keep the process
print("said")
end_process(7)
"""


def test_end_process_flushes_the_output_and_exits_with_the_status() -> None:
    done = subprocess.run(
        [sys.executable, "-c", END], capture_output=True, text=True, timeout=30, check=False
    )

    assert (done.returncode, done.stdout) == (7, "said\n")
