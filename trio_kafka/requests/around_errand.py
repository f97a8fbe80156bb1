"""One request on its way through one `around`: see `requests.around`.

An errand is on the way of each request of its API: few calls, and few objects. It is its own place
among those who run, and what its coroutine awaits in `forward`. Its task: `requests.around_task`.
"""

from collections.abc import Awaitable, Callable
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple

import trio

from trio_kafka.errors import InvariantError, KafkaError, ProtocolError
from trio_kafka.purgatory import NO_ANSWER, Delayed
from trio_kafka.requests import around_task
from trio_kafka.requests.context import Context
from trio_kafka.requests.errands import Worker
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.failures import check_answer
from trio_kafka.requests.interceptors import InterceptorError
from trio_kafka.requests.opening import opened, release_ranges
from trio_kafka.requests.parking import Parking
from trio_kafka.requests.replies import Encoded
from trio_kafka.requests.slices import LARGE, Lazily
from trio_kafka.steps import whole
from trio_kafka.world.lending import AbortFunction, RaiseCancel

if TYPE_CHECKING:
    from trio_kafka.requests.around import Around

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
NOT_NOW: Final = -1.0
HERE: Final = object()  # what the coroutine yields while it waits in `forward`
# What an errand does.
TO_BEGIN, RUNS, WAITS, PARKED, CANCELLED, TO_GO_ON, OVER = range(7)


class AroundErrand(Parking):
    """state: it WAITS for something of Trio's, is PARKED in `forward`, or CANCELLED there; TO_BEGIN
    and TO_GO_ON in its task.
    """

    __slots__ = (
        "abort",
        "answer",
        "around",
        "began",
        "context",
        "coroutine",
        "cut_off",
        "delayed",
        "error",
        "finish",
        "forwarded",
        "frame",
        "gone",
        "inner_answer",
        "left_s",
        "message",
        "outer",
        "own_s",
        "result",
        "state",
        "waiter",
        "waits_for",
        "worker",
    )

    abort: AbortFunction | None
    answer: Any
    coroutine: Any
    error: Exception | None  # what becomes of the request instead of `answer`
    finish: Callable[[Any], None] | None
    frame: memoryview | None
    inner_answer: Any  # what `forward` gave
    left_s: float  # of its deadline
    outer: Delayed | None  # that stands for this
    result: Any  # of `delayed`, which is waited for in `forward`
    waiter: trio.lowlevel.Task | None  # for it, if not its own task
    waits_for: Any  # by `Context.parked`
    worker: Worker | None

    def __init__(self, around: "Around", message: Any, context: Context) -> None:
        self._group = around.errands
        self._request = context.request
        self.around, self.message, self.context = around, message, context
        self.state, self.holds, self.forwarded = TO_BEGIN, False, False
        self.worker = self.coroutine = None
        # Of the interceptor's own time: when the part that goes on began, if one does; all of it.
        self.began, self.own_s = NOT_NOW, 0.0
        self.delayed: Delayed | None = None
        self.waiter = self.waits_for = self.frame = None
        self.answer = self.inner_answer = self.error = self.outer = None
        self.gone = self.cut_off = False  # nobody is there for an answer; its owner goes

    @property
    def at(self) -> str:
        """What is told of whoever waits for it."""
        one = self.around.one
        return f"{one.owner.name} {one.where(self.around.route.api.name)}"

    def give(self, timed_out: bool) -> Any:
        """The answer, when it is over: the `try_complete` of the Delayed that stands for this."""
        del timed_out
        error = self.error
        if error is not None:
            self.error = None
            raise error
        return NO_ANSWER if self.answer is None else self.answer

    # --- as those who keep errands want it

    def registered(self, delayed: Delayed, finish: Callable[[Any], None]) -> bool:
        """See `errands.Errand`."""
        self.outer, self.finish = delayed, finish
        state = self.state
        if state == PARKED:
            inner: Any = self.delayed
            inner.since = delayed.since
            self._request.waits_for = inner
        elif state == TO_BEGIN:
            return False
        elif self.waits_for is not None:
            self._request.waits_for = self.waits_for
        else:
            self.is_not_parked()
        return True

    def leave_request(self) -> None:
        """Nobody is there for an answer."""
        if self.waits_for is not None:
            self._cancel()
        elif self.state == TO_BEGIN:
            self.gone = True
        else:
            self.drop()

    def cancel(self) -> None:
        """Its owner goes: the request is answered."""
        self.cut_off = True
        self._cancel()

    async def run(self, worker: Worker) -> None:
        """See `errands.Errand`."""
        await around_task.run(self, worker)

    def end_wait(self, raise_cancel: RaiseCancel) -> trio.lowlevel.Abort:
        """Its task is cancelled while it sleeps."""
        if self.state == PARKED:
            self.state = CANCELLED
            self.forget()
            return trio.lowlevel.Abort.SUCCEEDED
        return trio.lowlevel.Abort.FAILED if self.abort is None else self.abort(raise_cancel)

    def _cancel(self) -> None:
        """End its wait, by the scope of its task."""
        if self.worker is not None:
            self.worker.cancel()

    # --- its coroutine

    def start(self) -> Any:
        """The coroutine."""
        one = self.around.one
        self.context.parking = self
        if one.deadline_s is not None:
            self.left_s = one.deadline_s
        self.began = self.around.elapsed()
        if one.in_hand is not None:
            one.in_hand.begin(self)
        self.coroutine = one.function(self.message, self.context, self.forward)
        return self.coroutine

    def go_on(self) -> None:
        """Run it by hand to its next wait, or its end."""
        worker: Any = self.worker
        self.state = RUNS
        try:
            trap = worker.run((self.coroutine or self.start()).send, None)
        except StopIteration as stop:
            self.accept(stop.value)
        except BaseException as error:  # noqa: BLE001 - it is judged
            self.blame(error)
        else:
            if trap is not HERE:
                around_task.wait(self, trap, worker)
            elif worker.missed:
                worker.settle()
            return
        self.end()
        self.around.errands.give_back(worker)
        if self.outer is not None:
            self.tell()

    def accept(self, answer: Any) -> None:
        """The interceptor has returned this."""
        around, request = self.around, self._request
        if type(answer) is not around.response or request.stamps.answered:
            silent = answer is None and self.forwarded and self.inner_answer is None
            try:
                if not silent or request.stamps.answered:
                    check_answer(around.one, around.route, answer, request)
            except BaseException as error:  # noqa: BLE001 - it is judged
                self.blame(error)
                return
        if self.inner_answer is not None or wants_answer(self.message):
            self.answer = answer

    def blame(self, error: BaseException) -> None:
        """What becomes of what was raised."""
        if self.error is not None:
            return
        around, request, message = self.around, self._request, self.message
        try:
            code, text = around.failures.blame(around.one, request, around.route, error)
            self.answer = around.failures.answer(request, around.route, message, code, text)
        except (KafkaError, ProtocolError, InvariantError) as answer:
            self._keep(answer)

    def _keep(self, error: Exception) -> None:
        """This is what becomes of the request, whatever the interceptor makes of it."""
        error.__traceback__ = error.__context__ = error.__cause__ = None  # they hold this
        self.error = error

    def end(self) -> None:
        """It is over, in whatever way."""
        around = self.around
        one = around.one
        spent = self.own_s
        if self.began != NOT_NOW:
            spent += around.elapsed() - self.began
        one.counted += 1
        one.seconds += spent
        if spent > one.alarm_s:
            one.note_slow(spent)
        self._request.stamps.plugin_s += spent
        if self.delayed is not None:  # somebody else's task waits in `forward`
            around_task.end_elsewhere(self)
        if around.is_bounded:
            around_task.give_back(self)
        if self.holds:
            self.leave()
        if around.has_ranges:
            inner = self.inner_answer
            if inner is not None and inner is not self.answer:
                release_ranges(inner, unless=self.answer)
        if one.in_hand is not None:
            one.in_hand.end(self)
        self.state = OVER
        self.forwarded = True
        self.coroutine = self.worker = self.inner_answer = self.context.parking = None

    def tell(self) -> None:
        """Whoever waits for it, the answer, or why there is none."""
        outer = self.outer
        if outer is None:
            return
        answer: Any = None
        if not self.gone:
            try:
                answer = outer.try_complete(False)
            except Exception as error:  # noqa: BLE001 - whoever waits for it answers for it
                answer = error
        finish = self.finish
        self.outer = self.finish = None
        if finish is not None:
            finish(answer)

    # --- what the interceptor calls

    async def forward(self, message: Any) -> Any:  # noqa: C901, PLR0912 - calls cost more
        """The answer from further in; see `requests.around`."""
        around = self.around
        if self.forwarded or type(message) is not around.request:
            raise around_task.misused(self, message)
        self.forwarded = True
        self.own_s += around.elapsed() - self.began
        self.began = NOT_NOW
        if around.is_bounded:
            around_task.give_back(self)
        if self.frame is not None:
            self._request.frame, self.frame = self.frame, None
        again, made = around.inner_waits, Lazily.made
        answer: Any
        try:
            if again:
                answer = await around.inner(message, self.context)
            else:
                answer = around.inner(message, self.context)
            if type(answer) is GeneratorType:
                answer, again = await around.errands.all_of(answer), True
            if type(answer) is Delayed:
                if self.state == RUNS:
                    self.park(answer, again=again)
                    await self
                    answer, self.result = self.result, None
                    if answer is None:  # its peer has left
                        await trio.lowlevel.checkpoint_if_cancelled()
                else:
                    answer = await around_task.wait_elsewhere(self, answer, again=again)
                if type(answer) is GeneratorType:
                    answer = await around.errands.all_of(answer)
                if isinstance(answer, Exception):
                    raise answer
            if type(answer) is Encoded and len(answer.body) <= LARGE:
                answer = whole(opened(around.route, answer))
            elif type(answer) is Encoded or (Lazily.made != made and answer is not None):
                answer = await around.errands.all_of(opened(around.route, answer))
        except (InvariantError, ProtocolError, InterceptorError) as error:
            answer = None  # or it would hold itself, by this frame
            if not isinstance(error, InterceptorError):
                self._keep(error)
            raise
        except Exception as error:  # noqa: BLE001 - it is judged
            answer = around_task.say(self, message, error)
        self.inner_answer = answer = None if answer is NO_ANSWER else answer
        if around.is_bounded:
            await around_task.enter(self)
        self.context.parking = self  # one further in had it meanwhile
        self.began = around.elapsed()
        return answer

    async def parked(self, wait: Callable[[*Ts], Awaitable[T]], *args: *Ts, deadline: float) -> T:
        """See `Context.parked`."""
        self.waits_for = wait
        try:
            return await super().parked(wait, *args, deadline=deadline)
        finally:
            self.waits_for = None

    # --- a Delayed that is waited for

    def __await__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self.state == PARKED:
            return HERE
        raise StopIteration

    def park(self, delayed: Delayed, *, again: bool) -> None:
        """Wait for it without a place. again: it may have changed meanwhile."""
        errands, request = self.around.errands, self._request
        connection = request.connection
        if connection.left or connection.closed:  # the edge will not come again: nobody to answer
            self.result = None
            self._cancel()
            return
        self.delayed = delayed
        if self.waiter is None:
            self.state = PARKED
        if self.outer is not None:  # else whoever is told of this does so
            stamps = request.stamps
            stamps.handled = stamps.handled or errands.elapsed()
            delayed.since = trio.current_time()
            connection.parked = self.drop
            connection.request, request.waits_for = request, delayed
            request.give_back()
        if self.holds:
            self.leave()
        errands.parked += 1
        delayed.purgatory.watch(delayed, errands.complete, self.complete)
        if again:
            delayed.marked()

    def complete(self, answer: Any) -> None:
        """What is waited for has ended. None: it was dropped, as the peer left."""
        if answer is None and self.delayed is not None:
            self._cancel()  # which calls `end_wait`, unless the coroutine is shielded
        if self.delayed is None:
            return
        self.result = answer
        errands, waiter, worker = self.around.errands, self.waiter, self.worker
        self.unpark()
        if waiter is not None:
            trio.lowlevel.reschedule(waiter)
        elif errands.by_hand and errands.limiter.free > 0:
            self.go_on()
        elif worker is not None:
            self.state = TO_GO_ON
            worker.wake()

    def drop(self) -> None:
        """Whoever waits for it has left: its end without an answer is told to `complete`."""
        if self.delayed is not None:
            self.delayed.purgatory.drop(self.delayed)

    def forget(self) -> None:
        """What is waited for is of no use any more."""
        delayed = self.delayed
        if delayed is not None:
            self.unpark()
            delayed.purgatory.drop(delayed)

    def unpark(self) -> None:
        """It is not waited for any more."""
        self.delayed = self.waiter = None
        self.around.errands.parked -= 1
        request = self._request
        request.connection.parked = request.waits_for = None

    def is_not_parked(self) -> None:
        """What was until now was no parking."""
        request = self._request
        request.connection.parked = request.waits_for = None
        request.stamps.handled = 0.0
