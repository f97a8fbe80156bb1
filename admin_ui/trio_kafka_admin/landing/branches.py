"""Stages to which handlers send a request: it is parked, or uses a group or a log."""

from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.introspect.facts.groups import GroupFacts
from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.facts.storage import DirectoryFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.rules.directories import FULL_SHARE
from trio_kafka_admin.findings.rules.syncs import SLOW_S
from trio_kafka_admin.findings.texts import amount, counted, duration, short
from trio_kafka_admin.landing.dots import Dot, DotRow, DotState, dot_row
from trio_kafka_admin.landing.handler_dots import is_served, request_subject
from trio_kafka_admin.landing.stage import Stage

_MOST_GROUPS: Final = 5  # rows of groups
_MOST_APIS: Final = 5
_PARKED: Final = frozenset({"parked"})
_ON_PURPOSE: Final = frozenset({"bytes", "time", "change", "steps"})
_SHORT_S: Final = 1.0  # most requests that are parked are so for milliseconds
_LONG_S: Final = 5.0


def branch_stages(
    change: Change, requests: Sequence[RequestFacts], *, is_shared: bool
) -> Iterator[Stage]:
    """Yield the stages. is_shared: also those that all planes share: groups and log."""
    yield _parked(requests)
    if is_shared:
        yield _coordinator(change)
        yield _log(change)


def _parked(requests: Sequence[RequestFacts]) -> Stage:
    parked = [r for r in requests if r.stage in _PARKED and not is_served(r)]
    by_api = dict[str, list[RequestFacts]]()
    for request in parked:
        by_api.setdefault(request.api, []).append(request)
    rows = list[DotRow]()
    for api, own in sorted(by_api.items(), key=lambda entry: -len(entry[1]))[:_MOST_APIS]:
        oldest_s = max(request.age_s for request in own)
        rows.append(dot_row(api, map(_parked_dot, own), f"oldest {duration(oldest_s)}"))
    return Stage(
        name="parked",
        title="Parked",
        count=len(parked),
        unit="wait for something",
        brief=_oldest(parked),
        rows=rows,
    )


def _oldest(parked: Sequence[RequestFacts]) -> str:
    if not parked:
        return ""
    oldest = max(parked, key=lambda request: request.age_s)
    return f"oldest: {oldest.api} for {duration(oldest.age_s)}"


def _parked_dot(request: RequestFacts) -> Dot:
    words = "; ".join(wait.words for wait in request.why) or "parked"
    return Dot(
        _parked_state(request),
        f"{request.api} of {short(request.client_id)} for {duration(request.age_s)}: {words}",
        request_subject(request),
        f"{request.connection}/{request.correlation}",
    )


def _parked_state(request: RequestFacts) -> DotState:
    if request.age_s < _SHORT_S or not request.why or request.why[0].cause in _ON_PURPOSE:
        return "parked"
    return "wrong" if request.age_s > _LONG_S else "watch"


def _coordinator(change: Change) -> Stage:
    count = next((n.number("groups") for n in change.named("group-coordinator")), 0.0)
    count = max(count, len(change.now.groups))  # they are read a moment later
    rows = [
        dot_row(short(group.group_id), [_group_dot(group)], _group_words(group))
        for group in change.now.groups[:_MOST_GROUPS]
    ]
    more = int(count) - len(rows)
    return Stage(
        name="coordinator",
        title="Group coordinator",
        count=count,
        unit="group" if count == 1 else "groups",
        brief=f"lag {sum(group.lag for group in change.now.groups):,}" if count else "",
        rows=rows,
        notes=(f"{counted(more, 'further group')}",) if more > 0 else (),
    )


def _group_dot(group: GroupFacts) -> Dot:
    is_stuck = any(member.owes for member in group.members) and (group.state_s or 0.0) >= 3.0
    state: DotState = "good" if group.state == "Stable" else "idle"
    if is_stuck and group.state != "Stable":
        state = "wrong"
    words = f"{group.group_id}: {_group_words(group)}"
    return Dot(state, words, Subject("group", group.group_id), group.group_id)


def _group_words(group: GroupFacts) -> str:
    members = counted(len(group.members), "member")
    state = members if group.state == "Stable" else f"{group.state}, {members}"
    return f"{state}, lag {group.lag:,}" if group.lag else state


def _log(change: Change) -> Stage:
    written = next((n.number("partitions") for n in change.named("replica-manager")), 0.0)
    rows = [
        DotRow(directory.path, [_directory_dot(directory)], _directory_words(directory))
        for directory in change.now.directories
    ]
    return Stage(
        name="log",
        title="Log",
        count=written,
        unit="partition" if written == 1 else "partitions",
        brief=_space(change.now.directories),
        rows=rows,
    )


def _space(directories: Sequence[DirectoryFacts]) -> str:
    shares = [d.used_share for d in directories if d.used_share is not None]
    return f"disk {100 * max(shares):.0f} % full" if shares else ""


def _directory_dot(directory: DirectoryFacts) -> Dot:
    words = f"{directory.path}: {_directory_words(directory)}"
    state: DotState = "good"
    is_full = (directory.used_share or 0.0) >= FULL_SHARE
    if directory.error or is_full or any(sync.age_s >= SLOW_S for sync in directory.syncs):
        state = "wrong"
    return Dot(state, words, Subject("directory", directory.path), directory.path)


def _directory_words(directory: DirectoryFacts) -> str:
    if directory.error:
        return f"offline, {directory.error}"
    parts = [counted(directory.logs, "log")]
    if directory.used_share is not None:
        parts.append(f"disk {100 * directory.used_share:.0f} % full")
    if directory.free_bytes is not None:
        parts.append(f"{amount(directory.free_bytes)} free")
    if directory.syncs:
        oldest_s = max(sync.age_s for sync in directory.syncs)
        parts.append(f"{counted(len(directory.syncs), 'sync')} under way for {duration(oldest_s)}")
    return ", ".join(parts)
