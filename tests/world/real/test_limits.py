"""What the system allows this process; put back as it was."""

import resource

import pytest

from trio_kafka.world.real.limits import raise_descriptor_limit

BEFORE = resource.getrlimit(resource.RLIMIT_NOFILE)


@pytest.fixture(autouse=True)
def _as_before():
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, BEFORE)


def test_as_many_descriptors_as_the_hard_limit_allows() -> None:
    soft, hard = BEFORE
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))

    assert raise_descriptor_limit() == hard
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)


def test_what_is_high_enough_stays() -> None:
    raise_descriptor_limit()

    assert raise_descriptor_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_a_system_that_refuses_leaves_the_limit_as_it_is(monkeypatch) -> None:
    soft, hard = BEFORE
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))

    def refuse(kind: int, limits: tuple[int, int]) -> None:
        raise ValueError("above the kernel's own limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    found = raise_descriptor_limit()
    monkeypatch.undo()

    assert found == min(soft, 512)
