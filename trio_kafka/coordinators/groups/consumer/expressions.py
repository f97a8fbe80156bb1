"""Subscriptions by regular expression: they are in RE2's syntax, and match whole names.

Topics are looked through in slices, between other events of the shard, when a member brings a new
expression, when topics have been created, and from time to time; all expressions of a group at
once, so that it is assigned anew once. Source: TopicRegexResolver, maybeUpdateRegularExpressions.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import islice
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.effects import Effects
from trio_kafka.coordinators.groups.consumer import records
from trio_kafka.coordinators.groups.consumer.act import REGEX, Act
from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.coordinators.groups.consumer.subscriptions import Resolved
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps

_LEAST_INTERVAL_MS: Final = 10_000  # between two looks of one group
_SLICE: Final = 500  # topics times expressions, in one slice: some 0.9 ms
_logger: Final = get_logger(__name__)


class Change(Enum):
    """Whether a member's expression is another one, and whether it is known what it matches."""

    NONE = "none"
    UPDATED = "updated"
    RESOLVED = "resolved"


def compiled(regex: str) -> Any:
    """Raises KafkaError(INVALID_REGULAR_EXPRESSION)."""
    import re2  # noqa: PLC0415 - 3 ms, for those who subscribe by expressions

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error as error:
        text = error.args[0] if error.args else error
        reason = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {reason}.",
        ) from error


@define(eq=False)
class Search:
    """A search through all topics of one image, for all expressions of a group.

    may_describe: which topics the member that caused it may describe; None stands for all.
    """

    group_id: str
    names: Iterator[str]
    version: int
    began_ms: int
    patterns: dict[str, Any]
    found: dict[str, list[str]] = field(factory=dict)
    may_describe: Callable[[str], bool] | None = None

    def go_on(self) -> bool:
        """Look at some more topics; whether there are more."""
        names = list(islice(self.names, max(_SLICE // (len(self.patterns) or 1), 1)))
        may_describe = self.may_describe
        for regex, pattern in self.patterns.items():
            matched = filter(pattern.fullmatch, names)
            self.found[regex] += matched if may_describe is None else filter(may_describe, matched)
        return bool(names)


def update(
    act: Act, before: Member, after: Member, may_describe: Callable[[str], bool] | None = None
) -> Change:
    """Note that a member has another expression, and begin to look if that is due.

    Raises KafkaError(INVALID_REGULAR_EXPRESSION) for a new one that is none.
    """
    subscriptions = act.group.subscriptions
    old, new, change, is_new = before.regex, after.regex, Change.NONE, False
    if old != new:
        change = Change.UPDATED
        if old and subscriptions.regexes.get(old) == 1:
            act.write(records.no_expression(act.group.group_id, old))
        if new and new not in subscriptions.regexes:
            compiled(new)
            is_new = True
        elif not new or new in subscriptions.resolved:
            change = Change.RESOLVED
    if is_new or subscriptions.regexes:
        _search_if_due(act, before, after, may_describe, is_new=is_new)
    return change


def is_due(act: Act, regexes: Iterable[str]) -> bool:
    """Whether topics are to be looked through for these."""
    subscriptions = act.group.subscriptions
    if act.group.group_id in act.kind.searches:
        return False
    last_ms = subscriptions.refreshed_ms
    if last_ms <= act.now_ms <= last_ms + _LEAST_INTERVAL_MS:
        return False
    return (
        any(regex not in subscriptions.resolved for regex in regexes)
        or subscriptions.version < act.kind.new_topics_version
        or not last_ms <= act.now_ms <= last_ms + act.settings.consumer_regex_refresh_interval_ms
    )


def _search_if_due(
    act: Act,
    before: Member,
    after: Member,
    may_describe: Callable[[str], bool] | None,
    *,
    is_new: bool,
) -> None:
    regexes = act.group.subscriptions.regexes_with(before, after)
    if not regexes or not (is_due(act, regexes) or (is_new and _may(act))):
        return
    group_id, image = act.group.group_id, act.kind.image
    patterns: dict[str, Any] = {}
    for regex in regexes:
        try:
            patterns[regex] = compiled(regex)
        except KafkaError as error:  # written by somebody who took it for one
            _logger.warning("no expression", group=group_id, regex=regex, reason=str(error))
    act.kind.searches[group_id] = Search(
        group_id,
        iter(image.topics),
        image.offset,
        act.now_ms,
        patterns,
        {regex: [] for regex in regexes},
        may_describe,
    )
    act.effects.set_timer((REGEX, group_id), 0)


def _may(act: Act) -> bool:
    last_ms = act.group.subscriptions.refreshed_ms
    searches = act.group.group_id in act.kind.searches
    return not searches and not last_ms <= act.now_ms <= last_ms + _LEAST_INTERVAL_MS


def go_on(act: Act) -> Effects | Steps[Effects]:
    """The next slice of a look; after the last one, what it has found."""
    group_id = act.group.group_id
    search = act.kind.searches.get(group_id)
    if search is None:
        return act.effects
    if search.go_on():
        return act.effects.set_timer((REGEX, group_id), 0)
    del act.kind.searches[group_id]
    return _take(act, search)


def _take(act: Act, search: Search) -> Steps[Effects]:
    group = act.group
    subscriptions = group.subscriptions
    found = {
        regex: Resolved(frozenset(topics), search.version, search.began_ms)
        for regex, topics in search.found.items()
        if regex in subscriptions.regexes  # somebody still wants it
    }
    changed = {
        regex: resolved
        for regex, resolved in found.items()
        if _topics(subscriptions.resolved.get(regex)) != resolved.topics
    }
    for regex, resolved in found.items():
        act.write(
            records.expression(
                group.group_id, regex, resolved.topics, resolved.version, resolved.timestamp_ms
            )
        )
    metadata_hash = yield from act.metadata_hash(subscriptions.topics_if_resolved(changed))
    if changed or metadata_hash != group.metadata_hash:
        act.refreshed(act.bump(metadata_hash))
    _logger.info("expressions are resolved", group=group.group_id, regexes=sorted(found))
    return act.effects


def _topics(resolved: Resolved | None) -> frozenset[str]:
    return frozenset() if resolved is None else resolved.topics
