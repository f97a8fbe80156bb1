"""Subscriptions by regular expression, in RE2's syntax; they match whole topic names.

Topics are searched beside the shard (`topic_searches`): when a member sends a new expression, when
topics were created, and periodically. The end of a search is an event. All expressions of a group
are searched at once, so that it is assigned once. An expression that took too long is rejected: it
matches nothing, and its members get the error with their next heartbeat.
Source: TopicRegexResolver, maybeUpdateRegularExpressions.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final

from trio_kafka.coordinators.groups.consumer import records
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.coordinators.groups.consumer.regex_pattern import compiled, shown
from trio_kafka.coordinators.groups.consumer.regex_search import Search
from trio_kafka.coordinators.groups.consumer.shard_state import ConsumerShardState
from trio_kafka.coordinators.groups.consumer.subscriptions import Resolved
from trio_kafka.coordinators.groups.consumer.transition import REGEX, Transition
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.shards.effects import Effects, EventResult
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps, sorted_in_steps

_LEAST_INTERVAL_MS: Final = 10_000  # between two searches of one group
_logger: Final = get_logger(__name__)


class Change(Enum):
    """Change of a member's expression. RESOLVED: the topics that match the new one are known."""

    NONE = "none"
    UPDATED = "updated"
    RESOLVED = "resolved"


def update(transition: Transition, before: Member, after: Member) -> Change:
    """Note that a member has another expression. `search_if_due` must follow.

    Raises KafkaError(INVALID_REGULAR_EXPRESSION) for an invalid new one.
    """
    subscriptions = transition.group.subscriptions
    old, new = before.regex, after.regex
    if old == new:
        return Change.NONE
    if old and subscriptions.regexes.get(old) == 1:
        transition.write(records.no_expression(transition.group.group_id, old))
    if _is_new(transition, before, after):
        compiled(new)
    elif not new or new in subscriptions.resolved:
        return Change.RESOLVED
    return Change.UPDATED


def _is_new(transition: Transition, before: Member, after: Member) -> bool:
    """Return whether the member brings an expression that no member of its group had."""
    new = after.regex
    return new not in ("", before.regex, *transition.group.subscriptions.regexes)


def check(transition: Transition, regex: str) -> None:
    """Raise KafkaError(INVALID_REGULAR_EXPRESSION) for an expression that took too long."""
    error = transition.state.run_searches.rejection_of(regex)
    if error is not None:
        raise error


def is_due(transition: Transition, regexes: Iterable[str], *, is_new: bool = False) -> bool:
    """Return whether topics must be searched for these expressions, one of which may be new."""
    subscriptions, now_ms = transition.group.subscriptions, transition.now_ms
    last_ms = subscriptions.refreshed_ms
    if transition.group.group_id in transition.state.searches:
        return False
    if last_ms <= now_ms <= last_ms + _LEAST_INTERVAL_MS:
        return False
    latest_ms = last_ms + transition.settings.consumer_regex_refresh_interval_ms
    return (
        is_new
        or any(regex not in subscriptions.resolved for regex in regexes)
        or subscriptions.version < transition.state.new_topics_version
        or not last_ms <= now_ms <= latest_ms
    )


def search_if_due(
    transition: Transition,
    before: Member,
    after: Member,
    may_describe: Callable[[str], bool] | None = None,
) -> None:
    """Start a search if one is due after the change of a member. Nothing of the event may fail
    afterwards: a search that is noted, and whose timer is never set, prevents all later ones.
    """
    is_new = _is_new(transition, before, after)
    if not is_new and not transition.group.subscriptions.regexes:
        return
    regexes = transition.group.subscriptions.regexes_with(before, after)
    if not regexes or not is_due(transition, regexes, is_new=is_new):
        return
    group_id, image = transition.group.group_id, transition.state.image
    transition.state.searches[group_id] = Search(
        group_id, image.topics, image.offset, transition.now_ms, tuple(regexes), may_describe
    )
    transition.effects.set_timer((REGEX, group_id), 0)


def start(transition: Transition) -> Effects:
    """Start the search that is due, when the records of its event are written."""
    state, group_id = transition.state, transition.group.group_id
    search = state.searches.get(group_id)
    if search is not None and not state.run_searches.submit(search):
        del state.searches[group_id]
        _logger.warning("search postponed: too many run", group=group_id)
    return transition.effects


def ended(search: Search, groups: Groups, now_ms: int) -> EventResult:
    """Take the matches of a search, unless its shard was loaded again or its group is gone."""
    state = ConsumerShardState.of(groups)
    group = groups.by_id.get(search.group_id)
    if state.searches.get(search.group_id) is not search:
        return Effects()
    del state.searches[search.group_id]
    if not isinstance(group, ConsumerGroup) or search.failed:
        return Effects()
    return _take(Transition.begin(state, group, now_ms), search)


def _take(transition: Transition, search: Search) -> Steps[Effects]:
    group = transition.group
    subscriptions = group.subscriptions
    for regex, error in search.rejected.items():
        _logger.warning(
            "regular expression rejected",
            group=group.group_id,
            regex=shown(regex),
            reason=str(error),
        )
    matches = {
        regex: Resolved(names, search.version, search.began_ms)
        for regex, names in search.matches.items()
        if regex in subscriptions.regexes  # a member still has it
    }
    changed = {
        regex: resolved
        for regex, resolved in matches.items()
        if _topics(subscriptions.resolved.get(regex)) != resolved.topics
    }
    for regex, resolved in matches.items():
        topics = yield from sorted_in_steps(resolved.topics)
        transition.write(
            records.expression(
                group.group_id, regex, topics, resolved.version, resolved.timestamp_ms
            )
        )
        yield
    counts = yield from subscriptions.topics_if_resolved(changed)
    metadata_hash = yield from transition.metadata_hash(counts)
    if changed or metadata_hash != group.metadata_hash:
        cause = "topics that match the group's regular expressions have changed"
        transition.refreshed(transition.bump(metadata_hash, cause))
    _logger.info(
        "regular expressions resolved",
        group=group.group_id,
        regexes=[shown(regex) for regex in sorted(matches)],
    )
    return transition.effects


def _topics(resolved: Resolved | None) -> frozenset[str]:
    return frozenset() if resolved is None else resolved.topics
