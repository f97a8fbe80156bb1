"""The interceptor of audited APIs: one event per request."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Final

from trio_kafka.plugin import Context, PluginContext, PluginError
from trio_kafka.requests.registry import Registry
from trio_kafka_builtin.audit.event_writer import Event, EventWriter
from trio_kafka_builtin.audit.settings import AuditSettings
from trio_kafka_builtin.audit.subjects import (
    ADMIN,
    DATA,
    LONGEST,
    MOST,
    Subjects,
    name_of,
    subjects_of,
)

ALL_ADMIN: Final = "admin"
NO_ACKS: Final = 0
SCHEMA: Final = 1  # version of events; grows when a field changes its meaning
Forward = Callable[[object], Awaitable[object]]


def apis_of(names: Iterable[str], registry: Registry) -> list[type[object]]:
    """Return the request classes of the audited APIs. Raises PluginError for an unknown name."""
    served = {listed.key: registry.get(listed.key) for listed in registry}
    by_name = {api.name.lower(): api for api in served.values() if api is not None}
    requests: dict[int, type[object]] = {}
    for name in names:
        if name.lower() == ALL_ADMIN:
            requests |= {key: api.request for key, api in served.items() if api and key in ADMIN}
        elif (api := by_name.get(name.lower())) is not None:
            requests[api.key] = api.request
        else:
            raise PluginError(f"plugin.audit.apis: no API {name!r} is served: want `admin` or one")
    return list(requests.values())


class AuditInterceptor:
    """`around` of each audited API; rejected and unanswered requests are audited, too."""

    def __init__(self, context: PluginContext[AuditSettings], writer: EventWriter) -> None:
        self._writer = writer
        self._parts = context.parts
        self._wall = context.world.clock.wall
        self._random = context.world.random
        self._sample = context.settings.sample
        self._own_topic = context.settings.topic

    async def around(self, request: object, context: Context, forward: Forward) -> object:
        """Forward the request, and record it with its outcome."""
        key = context.request.key
        sampled = self._sample if key in DATA else 1
        if sampled > 1 and self._random.randrange(sampled):
            return await forward(request)
        event = self._begin(key, request, context)
        if sampled > 1:
            event["one_of"] = sampled
        subjects = subjects_of(key, request, self._parts.metadata.image)
        try:
            answer = await forward(request)
        except BaseException:
            # The client left, or the broker stops: the request may have taken effect.
            self._end(event, subjects, None)
            raise
        if answer is None and getattr(request, "acks", None) == NO_ACKS:
            event["acknowledged"] = False  # no response; an error would have been raised
            self._end(event, subjects, None, done=True)
        else:
            self._end(event, subjects, answer)
        return answer

    def _begin(self, key: int, request: object, context: Context) -> Event:
        software = context.connection.software
        api = self._parts.apis.get(key)
        event: Event = {
            "schema": SCHEMA,
            "time": datetime.fromtimestamp(self._wall(), UTC).isoformat(timespec="milliseconds"),
            "broker": int(self._parts.node_id),
            "principal": context.principal,
            "client_id": context.client_id[:LONGEST],
            "software": None if software is None else " ".join(software)[:LONGEST],
            "address": context.peer.host,
            "listener": context.listener,
            "api": str(key) if api is None else api.name,
            "api_version": context.version,
            "correlation_id": context.correlation,
        }
        if getattr(request, "validate_only", False):
            event["validate_only"] = True
        return event

    def _end(self, event: Event, subjects: Subjects, answer: object, *, done: bool = False) -> None:
        """Record the outcome. answer: None: no response; done: none was expected."""
        errors = [] if answer is None else subjects.record_outcomes(answer)
        if subjects.shape.read and self._is_idle(subjects):
            return
        failed = [error for error in errors if error]
        event["outcome"] = "done" if done else _outcome(errors, failed)
        event["error"] = name_of(failed[0]) if failed else None
        event["subjects"] = [subject.plain() for subject in subjects.subjects[:MOST]]
        if subjects.count > MOST:
            event["more_subjects"] = subjects.count - MOST
        self._writer.take(event)

    def _is_idle(self, subjects: Subjects) -> bool:
        """True for reads of the event topic, each of which would cause the next event."""
        return all(subject.name == self._own_topic for subject in subjects.subjects)


def _outcome(errors: list[int], failed: list[int]) -> str:
    """Return the outcome. errors: the top-level one first, then those of items."""
    if not errors:
        return "unknown"
    if not failed:
        return "done"
    return "refused" if errors[0] or len(failed) == len(errors) - 1 else "partly"
