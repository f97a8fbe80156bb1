"""`forward` of one errand: what lies further in is asked, and what it delays is waited for.

What is delayed while whoever has the request starts the errand is given to that one, with the
errand as its keeper: it is registered once, in the purgatory of whoever delays it, and the errand
is told of its end first. Later the errand registers by itself what it waits for.

All of this is on the way of each request: what only some need stands in other functions, and in
attributes that an errand has in its dict, if at all.
"""

import types
from collections.abc import Callable, Generator
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_kafka.network.request import Request
from trio_kafka.purgatory import NO_ANSWER, Delayed, Keeper
from trio_kafka.requests.context import Context
from trio_kafka.requests.interceptors import around_task
from trio_kafka.requests.interceptors.errands import (
    CANCELLED,
    HERE,
    LEFT,
    OVER,
    PARKED,
    RUNS,
    STARTED,
    STARTS,
    TO_GO_ON,
    Worker,
)
from trio_kafka.requests.large_requests import LARGE, LAZY
from trio_kafka.requests.materialize import opened
from trio_kafka.requests.parking import Place, Places
from trio_kafka.requests.replies import Encoded
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.wire.frame import Frame
from trio_kafka.world.lending import pass_on

if TYPE_CHECKING:
    from trio_kafka.requests.interceptors.around import Around


UNASKED: Final = object()
_FORWARDED: Final = frozenset({STARTED, PARKED, CANCELLED, TO_GO_ON, OVER})


class Forwarding(Place):
    """The half of an errand that is further in; implements `purgatory.Keeper`."""

    __slots__ = (
        "__dict__",
        "around",
        "began",
        "context",
        "coroutine",
        "delayed",
        "finish",
        "inner_answer",
        "keeper",
        "message",
        "state",
        "worker",
    )

    around: "Around"
    began: float  # by the stamps' clock, and as much later as was spent in `forward`
    context: Context
    coroutine: Any
    delayed: Delayed | None  # what is waited for in `forward`
    finish: Callable[[Any], None] | None  # who is told of the answer, if somebody waits for it
    inner_answer: Any  # what `forward` gave; UNASKED: it was not called, or is in its handler
    keeper: Keeper  # of `delayed`: a purgatory, or an errand further in
    message: Any
    state: int
    worker: Worker | None

    holds = False
    error: Exception | None = None  # what becomes of the request instead of an answer
    frame: Frame | None = None  # of the request, kept for the handler
    is_inside = False  # of one with a deadline: in `forward`
    left_s: float | None = None  # of its deadline, if it has waited
    result: Any = None  # of `delayed`, for a task that is woken
    waiter: trio.lowlevel.Task | None = None  # for `delayed`, if not its own task

    @property
    def forwarded(self) -> bool:
        """Whether `forward` is of no use any more."""
        return self.state in _FORWARDED or self.inner_answer is not UNASKED

    @property
    def is_over(self) -> bool:  # type: ignore[override]  # derived: no field more
        """See `parking.Place`."""
        return self.state == OVER

    @property
    def at(self) -> str:
        """What is told of whoever waits for it."""
        one = self.around.one
        return f"{one.owner.name} {one.where(self.around.route.api.name)}"

    @property
    def _group(self) -> Places:  # type: ignore[override]  # derived: no field more
        return self.around.errands

    @property
    def _request(self) -> Request:  # type: ignore[override]  # the same
        return self.context.request

    def go_on(self, answer: Any) -> None:
        """What it was parked for has ended, with an answer; None: it was dropped."""
        raise NotImplementedError

    def leave_request(self) -> None:
        """Nobody is there for an answer."""
        raise NotImplementedError

    @types.coroutine
    def forward(self, message: Any) -> Generator[Any, Any, Any]:
        """The answer from further in; see `requests.interceptors.around`.

        A coroutine that is a generator: an async function would need another one to be parked in,
        which costs 2 µs. Trio starts no task of it: who wants one awaits it in a function.
        """
        around = self.around
        if self.state != STARTS or message is not self.message or not around.is_plain:
            around_task.set_out(self, message)
        elapsed, inner = around.elapsed, around.inner
        began = elapsed()
        made = LAZY.made
        try:
            answer = inner(message, self.context)
            if around.inner_waits:
                answer = yield from answer
            if self.state == STARTS:
                if type(answer) is Delayed:
                    if self.holds:  # it has parked before, and was back at once
                        self.leave()
                    self.state = PARKED
                    self.delayed = answer
                    self.keeper = answer.purgatory
                    answer.purgatory = self
                    answer = yield HERE
                else:
                    self.state = STARTED
            if type(answer) is not around.response or LAZY.made != made:
                answer = yield from self._opened(answer, made).__await__()
        except BaseException as error:
            answer = None  # or it would hold itself, by this frame
            if not around_task.is_said(self, error):
                self.began += elapsed() - began
                raise
            answer = around_task.say(self, message, error)
        self.inner_answer = answer
        if not around.is_plain:
            yield from around_task.come_back(self).__await__()
        self.began += elapsed() - began
        return answer

    async def _opened(self, answer: Any, made: int) -> Any:
        """The message, of whatever there is. Raises what is further in has raised later.

        made: `LAZY.made` before.
        """
        around = self.around
        again = around.inner_waits  # whether others may have run since then
        self.inner_answer = None
        if type(answer) is GeneratorType:
            answer, again = await around.errands.all_of(answer), True
        if type(answer) is Delayed:
            answer = await self._waited_for(answer, again=again)
        if answer is LEFT:
            await trio.lowlevel.checkpoint_if_cancelled()
            return None
        if type(answer) is GeneratorType:
            answer = await around.errands.all_of(answer)
        if isinstance(answer, Exception):
            raise answer
        if answer is None or answer is NO_ANSWER:
            return None
        if type(answer) is Encoded and len(answer.body) <= LARGE:
            return whole(opened(around.route, answer))
        if type(answer) is Encoded or LAZY.made != made:
            return await around.errands.all_of(opened(around.route, answer))
        return answer

    async def _waited_for(self, delayed: Delayed, *, again: bool) -> Any:
        """What a Delayed ends with, an exception or LEFT, too."""
        if self.state != RUNS:
            return await around_task.wait_elsewhere(self, delayed, again=again)
        self.park(delayed, again=again)
        return LEFT if self.delayed is None else await pass_on(HERE)

    def keep(self, error: Exception) -> None:
        """This is what becomes of the request, whatever the interceptor makes of it."""
        error.__traceback__ = error.__context__ = error.__cause__ = None  # they hold this
        self.error = error

    # --- the keeper of what whoever has the request was given

    def watch(
        self,
        delayed: Delayed,
        lane: Callable[[Delayed], None],
        finish: Callable[[Any], None],
    ) -> None:
        """Have it registered where it waits; its end is told to this errand first."""
        self.finish = finish
        keeper = delayed.purgatory = self.keeper
        keeper.watch(delayed, lane, self.go_on)

    def look(self, delayed: Delayed) -> None:
        """It has not been registered yet."""
        self.keeper.look(delayed)

    def drop(self, delayed: Delayed) -> None:
        """Nobody is there for an answer."""
        del delayed
        self.leave_request()

    # --- what it waits for

    def park(self, delayed: Delayed, *, again: bool) -> None:
        """Wait for it without a place. again: it may have changed meanwhile."""
        errands, request = self.around.errands, self._request
        connection = request.connection
        if connection.left or connection.closed:  # the edge will not come again: nobody to answer
            self._cancel()
            delayed.purgatory.drop(delayed)
            return
        self.delayed, self.keeper = delayed, delayed.purgatory
        if self.waiter is None:
            self.state = PARKED
        stamps = request.stamps
        stamps.handled = stamps.handled or errands.elapsed()
        delayed.since = trio.current_time()
        connection.parked = self.leave_request
        connection.request, request.waits_for = request, delayed
        request.give_back()
        if self.holds:
            self.leave()
        self.keeper.watch(delayed, errands.complete, self.complete)
        if again:
            delayed.marked()

    def complete(self, answer: Any) -> None:
        """What is waited for has ended. None: it was dropped, or is to be, as the peer left."""
        delayed = self.delayed
        if delayed is None:
            return
        if answer is None:
            self._cancel()  # which calls `forget`, unless the coroutine is shielded
            if self.delayed is None:
                return
        waiter, worker = self.waiter, self.worker
        self.unpark()
        if answer is None:
            self.keeper.drop(delayed)
            answer = LEFT
        if waiter is not None:
            self.result = answer
            trio.lowlevel.reschedule(waiter)
        elif self.around.errands.by_hand and self.around.limiter.free > 0:
            self.state = RUNS
            self.go_on(answer)
        elif worker is not None:
            self.state, self.result = TO_GO_ON, answer
            worker.wake()

    def forget(self) -> None:
        """What is waited for is of no use any more."""
        delayed = self.delayed
        if delayed is not None:
            self.unpark()
            self.keeper.drop(delayed)

    def unpark(self) -> None:
        """It is not waited for any more."""
        self.delayed = self.waiter = None
        self.is_not_parked()

    def is_not_parked(self) -> None:
        """Its request waits for nobody."""
        request = self._request
        request.connection.parked = request.waits_for = None
