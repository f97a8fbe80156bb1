"""Waits: what a request or a task waits for, as data, with whom and until when.

The first wait of a chain is what the waiting thing itself waits for; each further one is what the
one before waits for: a request for a group, the group for a member. A test holds that every kind of
wait in the code fills them.
"""

from typing import Literal, Protocol, runtime_checkable

from trio_kafka.attributes import frozen

WaitCause = Literal[
    "bytes",  # a Fetch: fewer bytes than it asks for
    "change",  # something has to change: metadata, a shard, a group's offsets
    "channel",  # the request channel is full
    "client",  # the client does not read its answer
    "fault",  # a fault rule delays it
    "handler",  # no handler is free
    "member",  # another member of the group has not joined, or its leader not assigned
    "memory",  # the memory pool has no room
    "plugin",  # code of a plugin runs
    "processor",  # its processor has not come to the answer yet
    "quota",  # the client used more than its quota
    "read",  # a directory reads from its disk
    "steps",  # it is being computed, in slices of the loop
    "sync",  # a directory writes to its disk
    "time",  # nothing but time: a delay that the protocol wants
    "token",  # a limiter has no token
    "work",  # a task that has nothing to do until something asks it
]
SubjectKind = Literal[
    "broker",
    "channel",
    "client",
    "connection",
    "controller",
    "directory",
    "fault rule",
    "group",
    "job",
    "limiter",
    "listener",
    "member",
    "partition",
    "plugin",
    "quota",
    "request",
    "shard",
    "task",
    "topic",
    "transaction",
]


@frozen
class Subject:
    """Thing that something waits for, or that has trouble.

    name: as users know it: a topic, `topic-partition`, `group`, `group/member id` (see
    `member_subject`), a path, a client id; a connection by its id. Clients choose some, so it is
    escaped where it is shown.
    """

    kind: SubjectKind
    name: str


def member_subject(group_id: str, member_id: str) -> Subject:
    """Return a member of a group. A slash and a percent sign in the group's id are quoted."""
    quoted = group_id.replace("%", "%25").replace("/", "%2F")
    return Subject("member", f"{quoted}/{member_id}")


def group_and_member(name: str) -> tuple[str, str]:
    """Return the ids in the name of a `member_subject`."""
    quoted, _, member_id = name.partition("/")
    return quoted.replace("%2F", "/").replace("%25", "%"), member_id


@frozen(kw_only=True)
class Wait:
    """One wait.

    on: what or whom it waits for. needs, has: how much of `unit`; None: nothing is counted.
    age_s: how long the wait has lasted; left_s: until its deadline, never negative; None: unknown,
    and no deadline. then: what happens at the deadline, as in "it is answered with what is there";
    empty if there is none. words: the wait as a sentence part that needs nothing else, as in
    "12 of 100,000 bytes from topic rare".
    """

    cause: WaitCause
    words: str
    on: Subject
    needs: float | None = None
    has: float | None = None
    unit: str = ""
    age_s: float | None = None
    left_s: float | None = None
    then: str = ""


@runtime_checkable
class Waiting(Protocol):
    """Thing that waits. It holds what it needs for its work, and computes its waits when asked."""

    def waits(self, now: float) -> tuple[Wait, ...]:
        """Return its waits, its own first. now: `trio.current_time()`."""


def timed(wait: Wait, age_s: float | None, left_s: float | None) -> Wait:
    """Return a wait with another age and another time until its deadline.

    `attrs.evolve` takes four times as long, and lists have thousands of waits.
    """
    return Wait(
        cause=wait.cause,
        words=wait.words,
        on=wait.on,
        needs=wait.needs,
        has=wait.has,
        unit=wait.unit,
        age_s=age_s,
        left_s=left_s,
        then=wait.then,
    )


def seconds(span_s: float) -> str:
    """Return a span of time in words: "0.3 s", "51 s", "4 min", "2.0 h"."""
    if span_s < 9.95:
        return f"{max(span_s, 0.0):.1f} s"
    if span_s < 600:
        return f"{span_s:.0f} s"
    return f"{span_s / 60:.0f} min" if span_s < 7200 else f"{span_s / 3600:.1f} h"
