"""Versions of APIs and levels of features that older Kafka releases serve.

`releases.tsv` has the last version of each API in each release, as changes from the release before:
`key:version`, `key:-` for an API that went. Releases below 3.3 are those of ZooKeeper mode. The
group protocols that were previews (KIP-848 before 4.0, KIP-932 before 4.1) are left out. Source:
ApiVersions responses of the releases, as franz-go's kversion lists them.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files
from typing import Final

from trio_kafka.attributes import frozen

_OWN_KEYS: Final = 10_000  # from here on: APIs of this project, which each release keeps
_KRAFT: Final = (3, 3)
_METADATA_LEVELS: Final = {  # metadata.version of a release
    (3, 3): 7,
    (3, 4): 8,
    (3, 5): 11,
    (3, 6): 14,
    (3, 7): 19,
    (3, 8): 20,
    (3, 9): 21,
    (4, 0): 25,
    (4, 1): 27,
    (4, 2): 29,
}
# First release with each level above 0 of the other features.
_LEVELS: Final[Mapping[str, Mapping[tuple[int, int], int]]] = {
    "kraft.version": {(3, 9): 1},
    "group.version": {(4, 0): 1},
    "transaction.version": {(4, 0): 2},
    "eligible.leader.replicas.version": {(4, 0): 1},
    "share.version": {(4, 2): 1},
    "streams.version": {(4, 2): 1},
}


class UnknownReleaseError(ValueError):
    """Release that is not in the table; the message lists those that are."""


@frozen(kw_only=True)
class Release:
    """A release of Kafka. last: last version of each API by key. levels: highest of features."""

    name: str
    last: Mapping[int, int]
    levels: Mapping[str, int]

    def last_of(self, key: int) -> int | None:
        """Return the last version of an API; None if the release does not have it."""
        return _NEWEST if key >= _OWN_KEYS else self.last.get(key)


_NEWEST: Final = 0x7FFF


def find_release(name: str) -> Release:
    """Return a release by its name, such as 3.9 or 3.9.1. Raises UnknownReleaseError."""
    last: dict[int, int] = {}
    releases: list[str] = []
    number = re.sub(r"^v|(?<=\d\.\d)\.\d+$", "", name)
    for line in _lines():
        release, _, changes = line.partition("\t")
        releases.append(release)
        for change in changes.split():
            key, _, version = change.partition(":")
            if version == "-":
                del last[int(key)]
            else:
                last[int(key)] = int(version)
        if release == number:
            return Release(name=release, last=last, levels=_levels(release))
    near = get_close_matches(number, releases, 1)
    hint = f", did you mean {near[0]}?" if near else ""
    raise UnknownReleaseError(f"release {name!r}: want one of {', '.join(releases)}{hint}")


def _lines() -> list[str]:
    text = files("trio_kafka.testing.kafka").joinpath("releases.tsv").read_text("ascii")
    return text.splitlines()[1:]


def _levels(release: str) -> dict[str, int]:
    major, minor = map(int, release.split("."))
    at = major, minor
    if at < _KRAFT:
        return {}
    levels = {"metadata.version": _METADATA_LEVELS[at]}
    for feature, steps in _LEVELS.items():
        reached = [level for first, level in steps.items() if first <= at]
        if reached:
            levels[feature] = max(reached)
    return levels
