"""Links from a subject, which something waits for or which has trouble, to the page that shows it.

One mapping for all pages, so that a group, a topic or a directory is found at one place.
"""

from collections.abc import Callable, Mapping
from typing import Final

from trio_kafka.introspect.waits import Subject, SubjectKind, group_and_member
from trio_kafka_admin.markup import Html, join, tag, text
from trio_kafka_admin.page import Place

LONGEST: Final = 80  # characters of a name that a link shows
_LONGEST_LINKED: Final = 1000  # a longer name makes an address that servers refuse


def subject_address(subject: Subject, place: Place) -> str:
    """Return the address of the page that shows a subject; the tree if none shows it alone.

    A member leads to its group, a partition to its topic. A name that has no address, as it is too
    long or no Unicode, leads to the page of all.
    """
    address, name = _ADDRESSES.get(subject.kind), subject.name
    if address is None:
        return place.address("tree")
    if len(name) > _LONGEST_LINKED or not _is_unicode(name):
        return address("", place).partition("?")[0]
    return address(name, place)


def subject_link(subject: Subject, place: Place) -> Html:
    """Return kind and name of a subject as a link; a long name is cut."""
    name = subject.name
    if subject.kind == "member":
        name = "/".join(group_and_member(name))
    shown = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    link = tag("a", text(shown), href=subject_address(subject, place))
    return join([text(f"{subject.kind} "), link])


def _is_unicode(name: str) -> bool:
    """Return False for a lone surrogate, which no address can have."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _of_name(page: str) -> Callable[[str, Place], str]:
    return lambda name, place: place.address(page, name=name)


def _of_page(page: str) -> Callable[[str, Place], str]:
    return lambda _, place: place.address(page)


def _of_member(name: str, place: Place) -> str:
    """Return the address of the group of a member."""
    return place.address("groups", name=group_and_member(name)[0])


def _of_partition(name: str, place: Place) -> str:
    """Return the address of the topic in `topic-partition`."""
    return place.address("topics", name=name.rpartition("-")[0] or name)


def _of_request(name: str, place: Place) -> str:
    """Return the address of a request `connection/correlation id`."""
    connection, _, correlation = name.rpartition("/")
    return place.address("request", connection=connection, correlation=correlation)


_ADDRESSES: Final[Mapping[SubjectKind, Callable[[str, Place], str]]] = {
    "channel": _of_page("queues"),
    "client": _of_name("clients"),
    "connection": _of_name("clients"),
    "directory": _of_page("directories"),
    "group": _of_name("groups"),
    "job": _of_page("jobs"),
    "limiter": _of_page("queues"),
    "member": _of_member,
    "partition": _of_partition,
    "plugin": _of_page("plugins"),
    "quota": _of_page("quotas"),
    "request": _of_request,
    "topic": _of_name("topics"),
    "transaction": _of_name("transactions"),
}
