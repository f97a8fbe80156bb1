from typing import Any

import pytest

from trio_kafka.plugin_host.mounts import Mount, MountError, Mounts, check_path


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Serves nothing."""


def made(*paths: str) -> tuple[Mounts, list[Mount]]:
    mounts = Mounts()
    ours = [Mount(path, app, "ours") for path in paths]
    mounts.swap((), ours)
    return mounts, ours


@pytest.mark.parametrize(
    ("path", "found"),
    [("/a", "/a"), ("/a/", "/a"), ("/a/x", "/a"), ("/a/b", "/a/b"), ("/a/b/c", "/a/b")],
)
def test_the_longest_path_is_found(path: str, found: str) -> None:
    mounts, _ = made("/a", "/a/b")

    mount = mounts.find(path)

    assert mount is not None
    assert mount.path == found


@pytest.mark.parametrize("path", ["", "/", "/ab", "/b/a"])
def test_a_path_that_only_looks_alike_is_not_found(path: str) -> None:
    assert made("/a")[0].find(path) is None


def test_a_swap_is_whole_or_not_at_all() -> None:
    mounts, ours = made("/a", "/b")
    before = mounts.generation

    with pytest.raises(MountError, match="/b is already mounted by plugin ours"):
        mounts.swap(ours[:1], [Mount("/c", app, "x"), Mount("/b", app, "x")])

    assert [one.path for one in mounts] == ["/a", "/b"]
    assert mounts.generation == before


def test_who_leaves_takes_away_no_other_mount_of_the_path() -> None:
    mounts, ours = made("/a")
    theirs = Mount("/a", app, "theirs")
    mounts.swap(ours, [theirs])

    mounts.swap(ours, ())

    assert mounts.find("/a") is theirs


@pytest.mark.parametrize("path", ["", "/", "a", "/a/", "//a", "/a b", "/a/../b", "/.", "/a?b"])
def test_paths_that_cannot_be(path: str) -> None:
    with pytest.raises(MountError, match="want /name"):
        check_path(path)


@pytest.mark.parametrize("path", ["/a", "/a/b-c", "/v1.0/x_y~z"])
def test_paths_that_can_be(path: str) -> None:
    check_path(path)
