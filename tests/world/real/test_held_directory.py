import os

import pytest

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real.held_directory import held_directory, identity_of
from trio_kafka.world.real.volume import Volume


@pytest.fixture
def volume():
    return Volume(SkippingClock(), 1, blocking=True)


def test_held_directory_is_the_same_after_a_rename(volume, tmp_path):
    path = tmp_path / "a"
    path.mkdir()

    with held_directory(volume, str(path), identity_of(str(path))) as held:
        path.rename(tmp_path / "b")
        path.mkdir()
        file = held.create("f")
        file.append((b"12",))
        file.close()

        assert held.exists("f")
        assert not held.exists("g")
        assert held.names() == ["f"]
        held.open("f").close()

    assert os.listdir(path) == []
    assert (tmp_path / "b" / "f").read_bytes() == b"12"


def test_held_directory_refuses_another_directory_at_its_path(volume, tmp_path):
    path = tmp_path / "a"
    path.mkdir()
    identity = identity_of(str(path))
    path.rename(tmp_path / "b")
    path.mkdir()

    with (
        pytest.raises(FileNotFoundError, match="renamed"),
        held_directory(volume, str(path), identity),
    ):
        pass


def test_held_directory_refuses_a_name_with_a_slash(volume, tmp_path):
    with held_directory(volume, str(tmp_path), identity_of(str(tmp_path))) as held:
        for call in (held.exists, held.create, held.open):
            with pytest.raises(ValueError, match="/"):
                call("../a")


def test_descriptor_of_a_held_directory_is_closed_at_the_end_of_its_block(volume, tmp_path):
    before = len(os.listdir("/proc/self/fd"))

    with held_directory(volume, str(tmp_path), identity_of(str(tmp_path))):
        assert len(os.listdir("/proc/self/fd")) == before + 1

    assert len(os.listdir("/proc/self/fd")) == before
