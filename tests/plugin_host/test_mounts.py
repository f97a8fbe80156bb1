from typing import Any

import pytest

from trio_kafka.plugin_host.mounts import Mount, MountError, Mounts, check_path


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Serves nothing."""


def new_mounts(*paths: str) -> tuple[Mounts, list[Mount]]:
    mounts = Mounts()
    ours = [Mount(path, app, "ours") for path in paths]
    mounts.swap((), ours)
    return mounts, ours


@pytest.mark.parametrize(
    ("path", "mount_path"),
    [("/a", "/a"), ("/a/", "/a"), ("/a/x", "/a"), ("/a/b", "/a/b"), ("/a/b/c", "/a/b")],
)
def test_the_mount_with_the_longest_matching_path_is_found(path: str, mount_path: str) -> None:
    mounts, _ = new_mounts("/a", "/a/b")

    mount = mounts.find(path)

    assert mount is not None
    assert mount.path == mount_path


@pytest.mark.parametrize("path", ["", "/", "/ab", "/b/a"])
def test_a_path_that_only_shares_a_text_prefix_with_a_mount_is_not_found(path: str) -> None:
    assert new_mounts("/a")[0].find(path) is None


def test_a_refused_swap_of_mounts_changes_nothing() -> None:
    mounts, ours = new_mounts("/a", "/b")
    before = mounts.generation

    with pytest.raises(MountError, match="/b is already mounted by plugin ours"):
        mounts.swap(ours[:1], [Mount("/c", app, "x"), Mount("/b", app, "x")])

    assert [mount.path for mount in mounts] == ["/a", "/b"]
    assert mounts.generation == before


def test_removing_an_old_mount_keeps_a_new_mount_of_the_same_path() -> None:
    mounts, ours = new_mounts("/a")
    theirs = Mount("/a", app, "theirs")
    mounts.swap(ours, [theirs])

    mounts.swap(ours, ())

    assert mounts.find("/a") is theirs


@pytest.mark.parametrize("path", ["", "/", "a", "/a/", "//a", "/a b", "/a/../b", "/.", "/a?b"])
def test_invalid_mount_paths_are_refused(path: str) -> None:
    with pytest.raises(MountError, match="want /name"):
        check_path(path)


@pytest.mark.parametrize("path", ["/a", "/a/b-c", "/v1.0/x_y~z"])
def test_valid_mount_paths_are_accepted(path: str) -> None:
    check_path(path)
