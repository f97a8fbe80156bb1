"""Faults by rule, as interceptors: requests are delayed, fail, or lose their connection.

    faults = Faults([Fault(api=ProduceRequest, topic="o-*", error=ERROR, after=2, times=3)], seed=7)
    faults.put_on(harness.interceptors)

A plugin calls `context.intercept` for each of `faults.interceptors()` instead.

The first rule that matches a request applies. A rule counts the requests that match it, so only
the third to fifth may fail, for example. All randomness comes from the seed. Faults come before the
handler, so a request that fails has no effect. Rules may be added and removed at any time.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from math import inf
from random import Random
from typing import Any

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.model import ZERO_TOPIC_ID, TopicId
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.requests.context import Context
from trio_kafka.requests.interceptors.registry import Interception, Interceptors, Kind, Owner
from trio_kafka.requests.parts import MissingPartError

Forward = Callable[[Any], Awaitable[Any]]
_NAMES = ("topic", "name", "topic_name")
_ID = "topic_id"
# Messages name partitions by a number in a struct of each, or by a list of numbers.
_NUMBERS = ("partition", "partition_index", "index", "partition_id")
_LISTS = ("partitions", "partition_indexes")


@frozen(kw_only=True)
class Fault:
    """Condition on requests, and the fault that they get.

    api: class of the requests; None: all. client_id, topic: patterns like those of file names
        (`orders-*`).
    partition: a partition that the request names, of the topic if one is given. The whole request
        gets the fault, whatever else it names.
    after: number of matching requests that pass first. every: then each nth one gets the fault.
        times: number of faults; None: no limit. chance: probability of each, from `seed` if given.
    window_s: start and end of the rule, in seconds since it was added.
    delay_s: least and greatest delay. error: error code of the response. close: close the
        connection. throttle_s: throttle time of the response, if it has one; clients then wait.
    """

    api: type[Any] | None = None
    client_id: str = "*"
    topic: str | None = None
    partition: int | None = None
    after: int = 0
    every: int = 1
    times: int | None = None
    chance: float = 1.0
    seed: object = None
    window_s: tuple[float, float] = (0.0, inf)
    delay_s: tuple[float, float] = (0.0, 0.0)
    error: ErrorCode | None = None
    close: bool = False
    throttle_s: float = 0.0

    @property
    def waits(self) -> bool:
        """Whether the fault needs an `around`, because it waits or changes the response."""
        return self.delay_s[1] > 0 or self.throttle_s > 0

    def fits(self, request: Any, context: Context) -> bool:
        """Return whether a request matches."""
        if self.api is not None and message_of(self.api).key != context.request.key:
            return False
        if not fnmatchcase(context.client_id, self.client_id):
            return False
        if self.topic is None and self.partition is None:
            return True
        return any(self._meets(name, one) for name, one in _topics(request, context))

    def _meets(self, name: str, one: Any) -> bool:
        """Return whether a topic, and a partition in the struct that names it, match."""
        if self.topic is not None and not fnmatchcase(name, self.topic):
            return False
        return self.partition is None or self.partition in _partitions_in(one)


@define(eq=False)
class Rule:
    """A fault in force. fitted: matching requests. done: requests that got the fault."""

    fault: Fault
    fitted: int = 0
    done: int = 0
    _added: float = field(init=False)
    _chance: Random | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        seed = self.fault.seed
        self._chance = None if seed is None else Random(str(seed))
        timed = self.fault.window_s != (0.0, inf)
        self._added = trio.current_time() if timed else 0.0

    def is_open(self) -> bool:
        """Return whether its window is open."""
        begins, ends = self.fault.window_s
        if (begins, ends) == (0.0, inf):
            return True
        return begins <= trio.current_time() - self._added < ends

    def strikes(self, chance: Random) -> bool:
        """Count a matching request; return whether it gets the fault."""
        self.fitted += 1
        fault = self.fault
        if self.fitted <= fault.after or (fault.times is not None and self.done >= fault.times):
            return False
        if (self.fitted - fault.after - 1) % fault.every:
            return False
        if fault.chance < 1 and (self._chance or chance).random() >= fault.chance:
            return False
        self.done += 1
        return True


@frozen
class FaultInterceptor:
    """Interceptor that rules need. request: class of its requests; None: all."""

    kind: Kind
    request: type[Any] | None
    function: Callable[..., Any]


@define(eq=False)
class _DefaultOwner:
    """Owner of faults that no plugin owns."""

    name: str = "faults"
    in_flight: None = None

    def failed(self, error: BaseException, where: str) -> None:
        """Ignore a failure: the test sees the responses."""


@define(eq=False)
class Faults:
    """Rules in order, with their counts."""

    _faults: Sequence[Fault]
    seed: object = 0
    _rules: list[Rule] = field(init=False)
    _chance: Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._rules = [Rule(fault) for fault in self._faults]
        self._chance = Random(str(self.seed))

    def add(self, fault: Fault) -> Rule:
        """Add a rule behind the others; it may need other `interceptors`."""
        rule = Rule(fault)
        self._rules.append(rule)
        return rule

    def remove(self, rule: Rule) -> None:
        """Remove a rule; requests that it delays stay delayed. Raises ValueError."""
        self._rules.remove(rule)

    @property
    def done(self) -> list[int]:
        """Number of faults of each rule."""
        return [rule.done for rule in self._rules]

    def put_on(
        self, interceptors: Interceptors, *, owner: Owner | None = None, order: int = 0
    ) -> list[Interception]:
        """Register the interceptors that the present rules need."""
        default = _DefaultOwner()
        return [
            interceptors.add(
                one.kind, one.request, one.function, order=order, owner=owner or default
            )
            for one in self.interceptors()
        ]

    def interceptors(self) -> list[FaultInterceptor]:
        """Return the interceptors that the present rules need, a `before` if no rule waits.

        An API without a rule gets none. No request gets two, because it would match a rule twice.
        """
        late: dict[type[Any] | None, bool] = {}
        for rule in self._rules:
            api = rule.fault.api
            late[api] = late.get(api, False) or rule.fault.waits
        if None in late:
            late = {None: any(late.values())}
        return [
            FaultInterceptor("around", api, self.around)
            if waits
            else FaultInterceptor("before", api, self.before)
            for api, waits in late.items()
        ]

    def before(self, request: Any, context: Context) -> None:
        """Raise the error of the matching rule."""
        fault = self._find(request, context)
        if fault is not None:
            _fail(fault)

    async def around(self, request: Any, context: Context, forward: Forward) -> Any:
        """Apply the matching rule, with its delay and throttle time."""
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
        raise ProtocolError("closed by a fault rule")
    if fault.error is not None:
        raise KafkaError(fault.error, "fault rule")


def _topics(request: Any, context: Context) -> Iterator[tuple[str, Any]]:
    """Yield each topic that a request names, by name or id, with the struct that names it.

    The struct is an item of the request's arrays, or an item below one that names no topic.
    """
    for outer in _items(request):
        named = False
        for name in _names_in(outer, context):
            named = True
            yield name, outer
        if not named:
            for inner in _items(outer):
                for name in _names_in(inner, context):
                    yield name, inner


def _names_in(one: Any, context: Context) -> Iterator[str]:
    """Yield the topic that a struct names."""
    for name in _NAMES:
        found = getattr(one, name, None)
        if found and isinstance(found, str):
            yield found
    topic_id = getattr(one, _ID, ZERO_TOPIC_ID)
    if topic_id != ZERO_TOPIC_ID:
        yield from _name_of(TopicId(topic_id), context)


def _partitions_in(one: Any) -> Iterator[int]:
    """Yield the partitions that a struct or its items name."""
    for struct in (one, *_items(one)):
        for name in _NUMBERS:
            found = getattr(struct, name, None)
            if isinstance(found, int):
                yield found
    for name in _LISTS:
        found = getattr(one, name, None)
        if isinstance(found, list):
            yield from (number for number in found if isinstance(number, int))


def _name_of(topic_id: TopicId, context: Context) -> Iterator[str]:
    try:
        topic = context.metadata.image.topic(topic_id)
    except MissingPartError:
        return
    if topic is not None:
        yield topic.name


def _items(message: Any) -> Iterator[Any]:
    """Yield the items of a message's arrays of structs."""
    for one in fields_of(type(message)):
        if one.kind == "array" and one.of is not None and one.of.struct is not None:
            yield from getattr(message, one.name) or ()
