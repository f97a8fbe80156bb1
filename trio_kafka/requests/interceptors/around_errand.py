"""One request on its way through one `around`: see `requests.interceptors.around`.

An errand is on the way of each request of its API: few calls, and few objects. It is its own place
among those who run, and the keeper of what it delays (`around_forward`). Its task:
`requests.interceptors.around_task`.
"""

from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any, Final, TypeVar, TypeVarTuple

import trio

from trio_kafka.errors import InvariantError, KafkaError, ProtocolError
from trio_kafka.purgatory import NO_ANSWER
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.failures import check_answer
from trio_kafka.requests.interceptors import around_task
from trio_kafka.requests.interceptors.around_forward import UNASKED, Forwarding
from trio_kafka.requests.interceptors.errands import (
    CANCELLED,
    HERE,
    OVER,
    PARKED,
    RUNS,
    TO_BEGIN,
    WAITS,
    Worker,
)
from trio_kafka.requests.materialize import release_ranges
from trio_kafka.world.lending import AbortFunction, RaiseCancel

# Called with the coroutine: a method of that one would be made anew each time.
SEND: Final = CoroutineType.send
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class AroundErrand(Forwarding):
    """Run by hand, or by its task."""

    __slots__ = ()

    abort: AbortFunction | None = None
    cut_off = False  # its owner goes
    gone = False  # nobody is there for an answer
    waits_for: Any = None  # by `Context.parked`

    @property
    def is_parked(self) -> bool:
        """It waits for others, without a token."""
        return self.delayed is not None or self.waits_for is not None

    def give(self, answer: Any) -> Any:
        """The answer of one that is over while whoever has the request runs it."""
        error = self.error
        if error is not None:
            self.error = None
            raise error
        return NO_ANSWER if answer is None else answer

    # --- as those who keep errands want it

    def is_of(self, in_flight: object) -> bool:
        """See `errands.Errand`."""
        return self.state != TO_BEGIN and self.around.one.in_flight is in_flight

    def registered(self, finish: Callable[[Any], None]) -> bool:
        """See `errands.Errand`."""
        self.finish = finish
        if self.state == TO_BEGIN:
            return False
        if self.waits_for is not None:
            self._request.waits_for = self.name_wait(self.waits_for)
        else:
            self.is_not_parked()
            self._request.stamps.handled = 0.0
        return True

    def leave_request(self) -> None:
        """Nobody is there for an answer: who is parked is cancelled, who runs runs on."""
        self.gone = True
        if self.waits_for is not None:
            self._cancel()
        elif self.state != TO_BEGIN:
            self.complete(None)

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
        if self.state == WAITS and self.abort is not None:
            return self.abort(raise_cancel)
        if self.worker is not None:
            self.worker.missed = True  # it is run by hand, or judged: see `Worker.put_back`
        return trio.lowlevel.Abort.FAILED

    def _cancel(self) -> None:
        """End its wait, by the scope of its task."""
        if self.worker is not None and self.state != OVER:
            self.worker.cancel()

    # --- its coroutine

    def begin(self) -> Any:
        """Make it. Raises what a function raises that takes something else."""
        around, context = self.around, self.context
        context.parking = self
        elapsed, function = around.elapsed, around.one.function
        self.began = elapsed()
        self.coroutine = made = function(self.message, context, self.forward)
        return made

    def go_on(self, answer: Any) -> None:
        """Run it on by hand, to its next wait or its end."""
        around = self.around
        if answer is None or around.limiter.free <= 0:
            self.complete(answer)
            return
        self.delayed, self.state = None, RUNS
        worker: Any = self.worker
        enter, names = worker.enter, worker.names
        before = names["task"]
        names["task"] = worker.task
        try:
            try:
                trap = enter(SEND, self.coroutine, answer)
            finally:
                names["task"] = before
        except StopIteration as stop:
            answer = self.judge(stop.value)
        except BaseException as error:  # noqa: BLE001 - it is judged
            answer = self.blame(error)
        else:
            if trap is not HERE:
                around_task.wait(self, trap, worker)
            elif worker.missed:
                worker.settle()
            return
        if worker.used or worker.missed:  # as `put_back`: a call less
            worker.wake()
        else:
            worker.spare.append(worker)
        self.end(worker, answer)

    def judge(self, answer: Any) -> Any:
        """The interceptor has returned this: what is the answer."""
        inner = self.inner_answer
        if answer is inner and answer is not None and not self.context.request.stamps.answered:
            return answer  # as most: it has only forwarded
        if self.error is not None or self.gone:
            return self.settle_for(None)
        around, request = self.around, self._request
        inner = None if inner is UNASKED else inner
        silent = answer is None and self.forwarded and inner is None
        try:
            if not silent or request.stamps.answered:
                check_answer(around.one, around.route, answer, request)
        except BaseException as error:  # noqa: BLE001 - it is judged
            return self.blame(error)
        is_wanted = inner is not None or wants_answer(self.message)
        return self.settle_for(answer if is_wanted else None)

    def blame(self, error: BaseException) -> Any:
        """What becomes of what was raised: the answer."""
        answer = None
        if self.error is None:
            around, request, message = self.around, self._request, self.message
            try:
                code, text = around.failures.blame(around.one, request, around.route, error)
                answer = around.failures.answer(request, around.route, message, code, text)
            except (KafkaError, ProtocolError, InvariantError) as said:
                self.keep(said)
        return self.settle_for(None if self.gone else answer)

    def settle_for(self, answer: Any) -> Any:
        """This is the answer, None: there is none. What else `forward` gave is not sent."""
        inner = self.inner_answer
        if inner is not UNASKED and inner is not answer:
            self.inner_answer = None
            if inner is not None and self.around.has_ranges:
                release_ranges(inner, unless=answer)
        return answer

    def why(self) -> Any:
        """What whoever waits for it is told instead of an answer."""
        if self.gone:
            return None
        error, self.error = self.error, None
        return error or NO_ANSWER

    def end(self, worker: Worker, answer: Any) -> None:
        """It is over, in whatever way: whoever waits for it is told. worker: had it. answer: None:
        there is none.
        """
        around = self.around
        one, elapsed = around.one, around.elapsed
        spent = elapsed() - self.began
        one.counted += 1
        one.seconds += spent
        if spent > one.alarm_s:
            one.note_slow(spent)
        context = self.context
        context.request.stamps.plugin_s += spent
        if around.is_bounded:
            around_task.give_back(self)
        if self.holds:  # run by hand, it has parked and was back at once
            self.leave()
        self.state = OVER
        context.parking = worker.errand = None
        worker.done += 1
        finish = self.finish
        if finish is not None:
            self.finish = None
            finish(self.why() if answer is None else answer)

    # --- what its coroutine waits for

    def name_wait(self, wait: Any) -> str:
        """What its request waits for, as people see it: with the plugin's name."""
        name = getattr(wait, "__qualname__", type(wait).__name__)
        return f"{name} in plugin {self.around.one.owner.name}"

    async def parked(self, wait: Callable[[*Ts], Awaitable[T]], *args: *Ts, deadline: float) -> T:
        """See `Context.parked`."""
        self.waits_for = wait
        try:
            return await super().parked(wait, *args, deadline=deadline)
        finally:
            self.waits_for = None
