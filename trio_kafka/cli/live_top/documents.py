"""Documents of the admin UI that the screen shows: `/api/overview` and `/api/groups`.

Fields that the screen does not show are passed over.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

from attrs import Factory
from cattrs import BaseValidationError, Converter

from trio_kafka.attributes import frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.http_client import read_json

T = TypeVar("T")
_CONVERTER: Final = Converter(detailed_validation=False)


@frozen(kw_only=True)
class Headline:
    """Two sentences on the whole broker."""

    sentence: str
    more: str


@frozen(kw_only=True)
class Finding:
    """A sentence on something that needs a person. severity: wrong, watch or waits."""

    severity: str
    words: str


@frozen(kw_only=True)
class Stage:
    """A stage of a request's way. state: well, waits, watch or wrong."""

    title: str
    count: float
    unit: str
    state: str


@frozen(kw_only=True)
class Lane:
    """The way of the requests of a plane."""

    plane: str
    stages: list[Stage]


@frozen(kw_only=True)
class Overview:
    """Content of the overview of the admin UI."""

    node_id: int
    headline: Headline
    findings: list[Finding]
    lanes: list[Lane]


@frozen(kw_only=True)
class GroupLag:
    """A group. lag: in records; growth_per_s: of the lag, None until it was seen twice."""

    group_id: str
    type: str
    state: str
    members: int
    lag: int | None
    growth_per_s: float | None
    catch_up_s: float | None


@frozen(kw_only=True)
class Groups:
    """Groups, at most as many as were asked for. total: of all groups."""

    total: int
    groups: list[GroupLag] = Factory(list)


def read_overview(at: str, timeout_s: float) -> Overview:
    """Read the overview of the admin UI at a URL. Raises CommandFailedError."""
    return structured(at, read_json(at, "api/overview", timeout_s), Overview)


def read_groups(at: str, limit: int, timeout_s: float) -> Groups:
    """Read up to `limit` groups. Raises CommandFailedError."""
    return structured(at, read_json(at, f"api/groups?limit={limit}", timeout_s), Groups)


def structured(at: str, document: object, shape: type[T]) -> T:
    """Return a document as a value of `shape`. Raises CommandFailedError for another one."""
    try:
        if not isinstance(document, Mapping):
            raise TypeError
        return _CONVERTER.structure(document, shape)
    except (BaseValidationError, ValueError, TypeError, KeyError) as error:
        raise CommandFailedError(
            f"{at}: the admin UI there has another version than this command", FAILED
        ) from error
