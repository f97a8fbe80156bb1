"""Table of ASGI apps by path: plugins mount them, a plane that speaks HTTP serves them.

The core knows no HTTP.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.security.operations import Operation

Scope = MutableMapping[str, Any]
Event = Scope  # ASGI's name for what an app receives and sends
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
_PATH: Final = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")


class MountError(Exception):
    """Path that cannot be mounted."""


@frozen(eq=False)
class Mount:
    """App that serves `path` and everything below; `owner` is the name of its plugin.

    checks_tokens: the app checks credentials itself, so the plane does not.
    look, change: what a client must be allowed on the cluster for GET and HEAD, and for all other
        methods. None: the app asks the authorizer itself, for each request.
    """

    path: str
    app: App
    owner: str
    checks_tokens: bool = False
    look: Operation | None = Operation.DESCRIBE
    change: Operation | None = Operation.ALTER


@define(eq=False)
class Mounts:
    """Apps by path; `generation` grows with every change."""

    generation: int = field(default=0, init=False)
    _mounts: dict[str, Mount] = field(factory=dict, init=False)

    def swap(self, leaving: Iterable[Mount], coming: Iterable[Mount]) -> None:
        """Remove and add mounts in one step. Raises MountError, and then changes nothing."""
        mounts = dict(self._mounts)
        for mount in leaving:
            if mounts.get(mount.path) is mount:
                del mounts[mount.path]
        for mount in coming:
            if mount.path in mounts:
                other = mounts[mount.path].owner
                raise MountError(f"path {mount.path} is already mounted by plugin {other}")
            mounts[mount.path] = mount
        self._mounts = mounts
        self.generation += 1

    def find(self, path: str) -> Mount | None:
        """Return the mount with the longest path that equals or contains `path`."""
        while path:
            if path in self._mounts:
                return self._mounts[path]
            path = path.rpartition("/")[0]
        return None

    def __iter__(self) -> Iterator[Mount]:
        """Iterate in path order."""
        mounts: Mapping[str, Mount] = self._mounts
        return iter([mounts[path] for path in sorted(mounts)])


def check_path(path: str) -> None:
    """Raise MountError unless the path consists of plain segments, such as `/admin/ui`."""
    if not _PATH.fullmatch(path) or any(segment in (".", "..") for segment in path.split("/")):
        raise MountError(f"path {path!r}: want /name or /name/name, without a slash at the end")
