"""Faults by rule, as interceptors: requests that are late, fail, or lose their connection.

    faults = Faults([Fault(api=ProduceRequest, topic="o-*", error=ERROR, after=2, times=3)], seed=7)
    faults.put_on(harness.interceptors)   # or, in a plugin: `context.intercept` for each place

A request meets the first rule that fits it. Rules count the requests that fit them, so that the
third to fifth can fail and no other; chance is the seed's alone. Faults come before the handler:
what has failed was not done. Rules may come and go while requests are served.
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
# How messages name partitions: by a number in a struct of each, or by a list of numbers.
_NUMBERS = ("partition", "partition_index", "index", "partition_id")
_LISTS = ("partitions", "partition_indexes")


@frozen(kw_only=True)
class Fault:
    """Which requests, and what becomes of them.

    api: their class, or None. client_id, topic: as file names are matched (`orders-*`).
    partition: that the request names, of the topic if there is one; all of the request has the
        fault then, whatever else it names.
    after: how many of them pass first. every: of those that follow the first, and each nth after
        it. times: how many have the fault, None: all that follow. chance: of each of these; by
        `seed` where there is one.
    window_s: from, to; seconds since the rule was added, in which it is one.
    delay_s: from, to. error: the API's answer. close: the connection ends. throttle_s: what an
        answer that can say so says of it; a client then waits by itself.
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
        """Whether it takes more than a `before`."""
        return self.delay_s[1] > 0 or self.throttle_s > 0

    def fits(self, request: Any, context: Context) -> bool:
        """Whether the rule is about this request."""
        if self.api is not None and message_of(self.api).key != context.request.key:
            return False
        if not fnmatchcase(context.client_id, self.client_id):
            return False
        if self.topic is None and self.partition is None:
            return True
        return any(self._meets(name, one) for name, one in _topics(request, context))

    def _meets(self, name: str, one: Any) -> bool:
        """Whether it is about a topic, and about a partition in the struct that names that."""
        if self.topic is not None and not fnmatchcase(name, self.topic):
            return False
        return self.partition is None or self.partition in _partitions_in(one)


@define(eq=False)
class Rule:
    """A fault, how many requests have fitted it, and how many have had it."""

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
        if fault.chance < 1 and (self._chance or chance).random() >= fault.chance:
            return False
        self.done += 1
        return True


@frozen
class Place:
    """An interceptor that rules need. request: the class that it is for, None: all."""

    kind: Kind
    request: type[Any] | None
    function: Callable[..., Any]


@define(eq=False)
class _Nobody:
    """Owns faults that nobody else does; they do not fail."""

    name: str = "faults"
    in_flight: None = None

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
        """One more, behind the others; perhaps it needs other places."""
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
        """Intercept what the rules are about as they are now."""
        nobody = _Nobody()
        return [
            interceptors.add(
                one.kind, one.request, one.function, order=order, owner=owner or nobody
            )
            for one in self.places()
        ]

    def places(self) -> list[Place]:
        """The interceptors that the rules need now, plain where none of them waits: none for an API
        of which no rule is, and never two for a request, which would meet its rule twice.
        """
        late: dict[type[Any] | None, bool] = {}
        for rule in self._rules:
            api = rule.fault.api
            late[api] = late.get(api, False) or rule.fault.waits
        if None in late:
            late = {None: any(late.values())}
        return [
            Place("around", api, self.around) if waits else Place("before", api, self.before)
            for api, waits in late.items()
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


def _topics(request: Any, context: Context) -> Iterator[tuple[str, Any]]:
    """Topics, by name or id, each with the struct that names it: in an array of the request, or in
    one below that names none itself, such as those of groups.
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
    """The topic that a struct names itself."""
    for name in _NAMES:
        found = getattr(one, name, None)
        if found and isinstance(found, str):
            yield found
    topic_id = getattr(one, _ID, ZERO_TOPIC_ID)
    if topic_id != ZERO_TOPIC_ID:
        yield from _name_of(TopicId(topic_id), context)


def _partitions_in(one: Any) -> Iterator[int]:
    """The partitions that a struct names beside its topic, or below it."""
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
    """What stands in its arrays of structs."""
    for one in fields_of(type(message)):
        if one.kind == "array" and one.of is not None and one.of.struct is not None:
            yield from getattr(message, one.name) or ()
