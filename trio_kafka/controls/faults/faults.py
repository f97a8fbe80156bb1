"""Faults: the fault rules in force of one running broker.

    faults = Faults(broker)
    with faults.add(FaultRule(api="Produce", topic="o-*", error=ERROR, times=3)) as fault:
        ...
        await fault.wait(3)

The first rule that matches a request and has its triggers met applies. The other matching rules
count the request as seen. Rules act as `around` interceptors. While there is no rule, none is
installed, and the broker's routes are the same objects as without faults.
"""

import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from random import Random  # noqa: TID251 - seeded by a rule
from types import TracebackType
from typing import Final, Self

import trio
from attrs import evolve, field

from trio_kafka.attributes import define
from trio_kafka.controls.api_names import UnknownApiError, key_of_api
from trio_kafka.controls.faults.asked_parts import parts_of
from trio_kafka.controls.faults.matching import Trigger, names_match, request_matches
from trio_kafka.controls.faults.parts import Names
from trio_kafka.controls.faults.rule import FaultRule
from trio_kafka.controls.faults.rule_values import RuleError
from trio_kafka.controls.faults.tables import table_of
from trio_kafka.controls.faults.verdicts import Forward, StruckRequest, apply
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.controls.running import HasParts
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.introspect.waits import Subject, Wait, seconds
from trio_kafka.requests.context import Context
from trio_kafka.requests.interceptors.registry import Interception
from trio_kafka.requests.registry import Registry

ORDER: Final = 0
_ALL: Final = None  # in the place of an API's key
_MOST_UNMATCHED: Final = 1000  # removed rules that are kept for the end of a test


class RemovedError(Exception):
    """Wait for hits of a rule that was removed before it had them."""


@define(eq=False, kw_only=True)
class Fault:
    """Handle of a rule in force; a context manager that removes it.

    keys: of its APIs; None: all. held: requests that it holds at present.
    """

    rule: FaultRule
    name: str
    keys: frozenset[int] | None
    held: int = field(default=0, init=False)
    _trigger: Trigger
    _remove: Callable[["Fault"], None]
    _removed: bool = field(default=False, init=False)
    _released: trio.Event = field(factory=trio.Event, init=False)
    _hit: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot, init=False)

    @property
    def hits(self) -> int:
        """Number of requests that got the fault."""
        return self._trigger.hits

    @property
    def seen(self) -> int:
        """Number of requests that matched."""
        return self._trigger.seen

    async def wait(self, hits: int = 1) -> None:
        """Wait until the rule has had a number of hits. Raises RemovedError."""
        await trio.lowlevel.checkpoint()
        while self.hits < hits:
            if self._removed:
                raise RemovedError(f"rule {self.name} was removed after {self.hits} of {hits} hits")
            await self._hit.park()

    def release(self) -> None:
        """Release the requests that the rule holds, and hold no others. Idempotent."""
        self._released.set()

    def remove(self) -> None:
        """Remove the rule and release its requests; a delayed one stays delayed. Idempotent."""
        if not self._removed:
            self._removed = True
            self.release()
            self._hit.unpark_all()
            self._remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()

    def matches(self, request: object, context: Context) -> bool:
        """Return whether the rule is about a request, at this time."""
        if self.keys is not None and context.request.key not in self.keys:
            return False
        if self.rule.hold and self._released.is_set():
            return False
        return self._trigger.is_open and request_matches(
            self.rule, request, context, parts=parts_of(context)
        )

    def see(self) -> bool:
        """Count a matching request; return whether the rule may apply to it."""
        return self._trigger.see()

    def count_hit(self) -> None:
        """Count a request that gets the fault, and wake those that wait for it."""
        self._trigger.hits += 1
        self._hit.unpark_all()

    async def strike(self, request: object, context: Context, forward: Forward) -> object:
        """Delay and hold a request, then return the response of the verdict.

        Raises KafkaError, and ProtocolError to close the connection.
        """
        delay_s = self._trigger.draw_delay_s()
        self.count_hit()
        if delay_s > 0:
            await context.parked(_Delay(self, delay_s).wait)
        if self.rule.hold:
            self.held += 1
            try:
                await context.parked(self.wait_released)
            finally:
                self.held -= 1

        def is_named(names: Names) -> bool:
            return names_match(self.rule, names)

        return await apply(
            StruckRequest(
                rule=self.rule,
                request=request,
                context=context,
                forward=forward,
                parts=parts_of(context),
                is_named=is_named,
            )
        )

    async def wait_released(self) -> None:
        """Wait until the rule holds no requests any more."""
        await self._released.wait()

    def waits(self, now: float) -> tuple[Wait, ...]:
        """Return what a request that the rule holds waits for. See `introspect.waits.Waiting`."""
        del now
        words = f"fault rule {self.name} to release it"
        return (Wait(cause="fault", words=words, on=Subject("fault rule", self.name)),)

    def figures(self) -> Figures:
        """Return what the tree shows."""
        return {"seen": self.seen, "hits": self.hits, "held": self.held, "rule": described(self)}


@define(eq=False)
class _Delay:
    """Delay of one request by a rule. until: set when it begins."""

    fault: Fault
    delay_s: float
    until: float = 0.0

    async def wait(self) -> None:
        """Wait for as long as the rule says."""
        self.until = trio.current_time() + self.delay_s
        await trio.sleep_until(self.until)

    def waits(self, now: float) -> tuple[Wait, ...]:
        """See `introspect.waits.Waiting`."""
        name = self.fault.name
        return (
            Wait(
                cause="fault",
                words=f"fault rule {name}, which delays it by {seconds(self.delay_s)}",
                on=Subject("fault rule", name),
                needs=self.delay_s,
                has=max(self.delay_s - (self.until - now), 0.0),
                unit="s",
                left_s=max(self.until - now, 0.0),
                then="it is served",
            ),
        )


class Faults:
    """Rules in force of a broker, in the order in which they were added.

    seed: of rules without a seed of their own. order: place among the interceptors; the lowest is
        nearest to the client. most: limit of the number of rules.
    failures: errors of predicates and of responses by function, with their places.
    """

    def __init__(
        self,
        broker: HasParts,
        *,
        seed: object = 0,
        order: int = ORDER,
        node: Node | None = None,
        most: int | None = None,
    ) -> None:
        self._parts = broker.parts
        self._seed = seed
        self._order = order
        self._most = most
        self._node = node or Node("faults", "part")
        self._owner = RecordingOwner("faults")
        self._faults: dict[str, Fault] = {}
        self._nodes: dict[str, Node] = {}
        self._unmatched: deque[Fault] = deque(maxlen=_MOST_UNMATCHED)
        self._placed: dict[int | None, Interception] = {}
        self._added = 0

    def add(self, rule: FaultRule) -> Fault:
        """Add a rule behind the others. Raises RuleError."""
        if self._most is not None and len(self._faults) >= self._most:
            raise RuleError(f"there are {self._most} rules, the most allowed: remove one")
        keys = _keys_of(rule.api, self._parts.apis)
        if rule.respond is not None and not callable(rule.respond):
            _check_response(rule, keys, self._parts.apis)
        self._added += 1
        name = rule.name or f"fault-{self._added}"
        if name in self._faults:
            raise RuleError(f"name: {name!r} is taken: remove that rule, or choose another name")
        seed = f"{self._seed}/{self._added}" if rule.seed is None else str(rule.seed)
        fault = Fault(
            rule=evolve(rule, name=name),
            name=name,
            keys=keys,
            trigger=Trigger(rule, Random(seed)),  # noqa: S311 - to be repeated
            remove=self._forget,
        )
        self._faults[name] = fault
        self._nodes[name] = self._node.add(name, "part", fault.figures)
        self._place()
        return fault

    def add_all(self, rules: Iterable[FaultRule]) -> list[Fault]:
        """Add some rules, or none of them if one is invalid. Raises RuleError."""
        added: list[Fault] = []
        try:
            for number, rule in enumerate(rules, 1):
                try:
                    added.append(self.add(rule))
                except RuleError as error:
                    raise RuleError(f"rule {number}: {error}") from error
        except BaseException:
            for fault in added:
                fault.remove()
            raise
        return added

    def attach(self, broker: HasParts) -> None:
        """Apply the rules in force to the next life of the broker.

        Counts go on.
        """
        self._parts = broker.parts
        self._placed.clear()
        self._place()

    def find(self, name: str) -> Fault | None:
        """Return the rule of a name, or None."""
        return self._faults.get(name)

    def clear(self) -> None:
        """Remove all rules, and forget those that matched nothing."""
        for fault in list(self):
            fault.remove()
        self._unmatched.clear()

    def __iter__(self) -> Iterator[Fault]:
        return iter(list(self._faults.values()))

    def __len__(self) -> int:
        return len(self._faults)

    @property
    def unmatched(self) -> list[Fault]:
        """Rules that no request has matched since `clear`, removed ones too."""
        return [*self._unmatched, *(fault for fault in self if not fault.seen)]

    @property
    def failures(self) -> list[tuple[BaseException, str]]:
        return self._owner.failures

    # --- the interceptors

    def _forget(self, fault: Fault) -> None:
        del self._faults[fault.name]
        if not fault.seen:
            self._unmatched.append(fault)
        self._nodes.pop(fault.name).remove()
        self._place()

    def _place(self) -> None:
        """Install the interceptors that the rules need, one for each API or one for all of them.

        No request meets two, because it would count twice. No other task runs meanwhile.
        """
        interceptors, apis = self._parts.interceptors, self._parts.apis
        needed: set[int | None] = set()
        for fault in self._faults.values():
            needed |= {_ALL} if fault.keys is None else fault.keys
        requests = {key: _request_of(key, apis) for key in needed}
        if None in requests.values():  # for all APIs, or for one that is switched off at present
            requests = {_ALL: None}
        for key in self._placed.keys() - requests.keys():
            interceptors.remove(self._placed.pop(key))
        for key in requests.keys() - self._placed.keys():
            self._placed[key] = interceptors.add(
                "around", requests[key], self._around, order=self._order, owner=self._owner
            )

    async def _around(
        self, request: object, context: Context, forward: Callable[[object], Awaitable[object]]
    ) -> object:
        """Apply the first rule that matches and has its triggers met."""
        first: Fault | None = None
        for fault in self:
            if fault.matches(request, context) and fault.see():
                if fault.rule.observe:
                    fault.count_hit()
                elif first is None:
                    first = fault
        if first is None:
            return await forward(request)
        return await first.strike(request, context, forward)


def described(fault: Fault) -> str:
    """Return the table of a rule as JSON."""
    return json.dumps(table_of(fault.rule))


def _request_of(key: int | None, apis: Registry) -> type[object] | None:
    """Return the class of an API's requests; None for all APIs, and for one that is not served."""
    api = None if key is None else apis.get(key)
    return None if api is None else api.request


def _keys_of(api: object, apis: Registry) -> frozenset[int] | None:
    """Return the keys of APIs by name, key or class; None for all. Raises RuleError."""
    if api is None:
        return None
    several = api if isinstance(api, list | tuple) else (api,)
    if not several:
        raise RuleError("api: the list is empty, want at least one API")
    try:
        return frozenset(key_of_api(name, apis) for name in several)
    except UnknownApiError as error:
        raise RuleError(f"api: {error}") from None


def _check_response(rule: FaultRule, keys: frozenset[int] | None, apis: Registry) -> None:
    """Check that a response belongs to the rule's only API. Raises RuleError."""
    kind = type(rule.respond).__name__
    api = apis.get(next(iter(keys))) if keys is not None and len(keys) == 1 else None
    if api is None:
        raise RuleError(f"respond: {kind} needs a rule for exactly one API")
    if not isinstance(rule.respond, api.response):
        raise RuleError(f"respond: {kind}, want {api.response.__name__}")
