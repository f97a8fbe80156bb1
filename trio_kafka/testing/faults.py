"""Faults by rule, as interceptors: requests that are late, fail, or lose their connection.

    faults = Faults([Fault(api=ProduceRequest, topic="o-*", error=ERROR, after=2, times=3)], seed=7)
    faults.put_on(harness.interceptors)   # or, in a plugin: context.around(None, faults.around)

A request meets the first rule that fits it. Rules count the requests that fit them, so that the
third to fifth can fail and no other; chance is the seed's alone. Faults come before the handler:
what has failed was not done. Rules may come and go while requests are served.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from math import inf
from random import Random
from typing import Any

import trio
from attrs import define, field, frozen

from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.model import ZERO_TOPIC_ID, TopicId
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.requests.context import Context
from trio_kafka.requests.interceptors import Interception, Interceptors, Kind, Owner
from trio_kafka.requests.parts import MissingPartError

Forward = Callable[[Any], Awaitable[Any]]
_NAMES = ("topic", "name", "topic_name")
_IDS = ("topic_id",)


@frozen(kw_only=True)
class Fault:
    """Which requests, and what becomes of them.

    api: their class, or None. client_id, topic: as file names are matched (`orders-*`).
    after: how many of them pass first. every: of those that follow the first, and each nth after
        it. times: how many have the fault, None: all that follow. chance: of each of these.
    window_s: from, to; seconds since the rule was added, in which it is one.
    delay_s: from, to. error: the API's answer. close: the connection ends. throttle_s: what an
        answer that can say so says of it; a client then waits by itself.
    """

    api: type[Any] | None = None
    client_id: str = "*"
    topic: str | None = None
    after: int = 0
    every: int = 1
    times: int | None = None
    chance: float = 1.0
    window_s: tuple[float, float] = (0.0, inf)
    delay_s: tuple[float, float] = (0.0, 0.0)
    error: ErrorCode | None = None
    close: bool = False
    throttle_s: float = 0.0

    @property
    def waits(self) -> bool:
        """Whether it takes more than a `before`."""
        return self.delay_s[1] > 0 or self.throttle_s > 0

    def fits(self, request: Any, context: Context) -> bool:
        """Whether the rule is about this request."""
        if self.api is not None and message_of(self.api).key != context.request.key:
            return False
        if not fnmatchcase(context.client_id, self.client_id):
            return False
        topic = self.topic
        return topic is None or any(fnmatchcase(name, topic) for name in topics(request, context))


@define(eq=False)
class Rule:
    """A fault, how many requests have fitted it, and how many have had it."""

    fault: Fault
    fitted: int = 0
    done: int = 0
    _added: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        timed = self.fault.window_s != (0.0, inf)
        self._added = trio.current_time() if timed else 0.0

    def is_open(self) -> bool:
        """Whether its time is now."""
        begins, ends = self.fault.window_s
        if (begins, ends) == (0.0, inf):
            return True
        return begins <= trio.current_time() - self._added < ends

    def strikes(self, chance: Random) -> bool:
        """Whether the request that has just been found to fit has the fault."""
        self.fitted += 1
        fault = self.fault
        if self.fitted <= fault.after or (fault.times is not None and self.done >= fault.times):
            return False
        if (self.fitted - fault.after - 1) % fault.every:
            return False
        if fault.chance < 1 and chance.random() >= fault.chance:
            return False
        self.done += 1
        return True


@define(eq=False)
class _Nobody:
    """Owns faults that nobody else does; they do not fail."""

    name: str = "faults"

    def failed(self, error: BaseException, where: str) -> None:
        """Whoever put them on sees the answers."""


@define(eq=False)
class Faults:
    """Rules, in order, and their counts."""

    _faults: Sequence[Fault]
    seed: object = 0
    _rules: list[Rule] = field(init=False)
    _chance: Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._rules = [Rule(fault) for fault in self._faults]
        self._chance = Random(str(self.seed))

    def add(self, fault: Fault) -> Rule:
        """One more, behind the others. One of delay or throttle wants `around`."""
        rule = Rule(fault)
        self._rules.append(rule)
        return rule

    def remove(self, rule: Rule) -> None:
        """It is none any more; who is late by it stays late. Raises ValueError."""
        self._rules.remove(rule)

    @property
    def done(self) -> list[int]:
        """How often each rule has struck."""
        return [rule.done for rule in self._rules]

    def put_on(
        self, interceptors: Interceptors, *, owner: Owner | None = None, order: int = 0
    ) -> list[Interception]:
        """Intercept what the rules are about; plain as long as no rule is one of delay."""
        late = any(rule.fault.waits for rule in self._rules)
        apis = {rule.fault.api for rule in self._rules}
        kind: Kind = "around" if late else "before"
        function = self.around if late else self.before
        return [
            interceptors.add(kind, api, function, order=order, owner=owner or _Nobody())
            for api in ({None} if None in apis else apis)
        ]

    def before(self, request: Any, context: Context) -> None:
        """Raises what the rule says."""
        fault = self._find(request, context)
        if fault is not None:
            _fail(fault)

    async def around(self, request: Any, context: Context, forward: Forward) -> Any:
        """The same, and late."""
        fault = self._find(request, context)
        if fault is not None:
            delay_s = self._chance.uniform(*fault.delay_s)
            if delay_s > 0:
                await context.parked(trio.sleep, delay_s)
            _fail(fault)
        answer = await forward(request)
        if fault is not None and fault.throttle_s > 0 and hasattr(answer, "throttle_time_ms"):
            answer.throttle_time_ms = max(answer.throttle_time_ms, round(fault.throttle_s * 1000))
        return answer

    def _find(self, request: Any, context: Context) -> Fault | None:
        for rule in self._rules:
            if rule.is_open() and rule.fault.fits(request, context):
                return rule.fault if rule.strikes(self._chance) else None
        return None


def _fail(fault: Fault) -> None:
    if fault.close:
        raise ProtocolError("a fault")
    if fault.error is not None:
        raise KafkaError(fault.error, "a fault")


def topics(request: Any, context: Context) -> Iterator[str]:
    """The names of the topics that a request names, by name or id, in any of its arrays."""
    for one in _items(request):
        for name in _NAMES:
            found = getattr(one, name, None)
            if found and isinstance(found, str):
                yield found
        for name in _IDS:
            topic_id = getattr(one, name, ZERO_TOPIC_ID)
            if topic_id != ZERO_TOPIC_ID:
                yield from _name_of(TopicId(topic_id), context)


def _name_of(topic_id: TopicId, context: Context) -> Iterator[str]:
    try:
        topic = context.metadata.image.topic(topic_id)
    except MissingPartError:
        return
    if topic is not None:
        yield topic.name


def _items(request: Any) -> Iterable[Any]:
    """What stands in its arrays: structs, of which messages name the first level topics."""
    for one in fields_of(type(request)):
        if one.kind == "array" and one.of is not None and one.of.struct is not None:
            yield from getattr(request, one.name) or ()
