"""One request on its way through one `around`: see `requests.around`.

An errand is on the way of each request of its API: few calls, and few objects. It is its own place
among those who run, and the keeper of what it delays (`requests.around_forward`). Its task:
`requests.around_task`.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import trio

from trio_kafka.errors import InvariantError, KafkaError, ProtocolError
from trio_kafka.purgatory import NO_ANSWER
from trio_kafka.requests import around_task
from trio_kafka.requests.around_forward import Forwarding
from trio_kafka.requests.context import Context
from trio_kafka.requests.errands import CANCELLED, HERE, OVER, PARKED, STARTS, TO_BEGIN, Worker
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.failures import check_answer
from trio_kafka.requests.opening import release_ranges
from trio_kafka.world.lending import AbortFunction, RaiseCancel

if TYPE_CHECKING:
    from trio_kafka.requests.around import Around

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class AroundErrand(Forwarding):
    """Run by hand, or by its task."""

    __slots__ = ("answer",)

    answer: Any  # in the end

    abort: AbortFunction | None = None
    cut_off = False  # its owner goes
    gone = False  # nobody is there for an answer
    waits_for: Any = None  # by `Context.parked`

    def __init__(
        self, around: "Around", message: Any, context: Context, worker: Worker | None
    ) -> None:
        """worker: who lends its name, so that it may be run by hand at once."""
        self.around, self.message, self.context = around, message, context
        self.state = TO_BEGIN if worker is None else STARTS
        self.worker = worker
        self.forwarded = False
        self.inside_s = 0.0
        self.coroutine = self.delayed = self.finish = None
        self.answer = self.inner_answer = None

    @property
    def is_parked(self) -> bool:
        """It waits for others, without a token."""
        return self.delayed is not None or self.waits_for is not None

    def give(self) -> Any:
        """The answer of one that is over while whoever has the request runs it."""
        error = self.error
        if error is not None:
            self.error = None
            raise error
        return NO_ANSWER if self.answer is None else self.answer

    # --- as those who keep errands want it

    def registered(self, finish: Callable[[Any], None]) -> bool:
        """See `errands.Errand`."""
        self.finish = finish
        if self.state == TO_BEGIN:
            return False
        if self.waits_for is not None:
            self._request.waits_for = self.waits_for
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
        return trio.lowlevel.Abort.FAILED if self.abort is None else self.abort(raise_cancel)

    def _cancel(self) -> None:
        """End its wait, by the scope of its task."""
        if self.worker is not None:
            self.worker.cancel()

    # --- its coroutine

    def start(self) -> Any:
        """The coroutine. Raises what a function raises that takes something else."""
        around, context = self.around, self.context
        one = around.one
        context.parking = self
        if one.in_hand is not None:
            one.in_hand.begin(self)
        self.began = around.elapsed()
        self.coroutine = coroutine = one.function(self.message, context, self.forward)
        return coroutine

    def go_on(self, value: object) -> None:
        """Run it by hand to its next wait, or its end; `value` is sent."""
        worker: Any = self.worker
        try:
            trap = worker.run((self.coroutine or self.start()).send, value)
        except StopIteration as stop:
            answer = stop.value
            around = self.around
            if (
                type(answer) is not around.response
                or self.inner_answer is None
                or self.context.request.stamps.answered
            ):
                self.judge(answer)
            else:
                self.answer = answer
        except BaseException as error:  # noqa: BLE001 - it is judged
            self.blame(error)
        else:
            if trap is not HERE:
                around_task.wait(self, trap, worker)
            elif worker.missed:
                worker.settle()
            return
        self.end()
        worker.errand = None  # as `Worker.is_done`: one call less
        worker.done += 1
        if worker.used:
            worker.wake()
        else:
            worker.spare.append(worker)
        finish, answer = self.finish, self.answer
        if finish is not None and answer is not None:
            self.finish = None
            finish(answer)
        elif finish is not None:
            self.tell()

    def judge(self, answer: Any) -> None:
        """The interceptor has returned this: whether it may be the answer."""
        if self.error is not None or self.gone:
            return
        around, request = self.around, self._request
        answered, inner = request.stamps.answered, self.inner_answer
        silent = answer is None and self.forwarded and inner is None
        try:
            if not silent or answered:
                check_answer(around.one, around.route, answer, request)
        except BaseException as error:  # noqa: BLE001 - it is judged
            self.blame(error)
            return
        if inner is not None or wants_answer(self.message):
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
            self.keep(answer)

    def end(self) -> None:
        """It is over, in whatever way."""
        around = self.around
        one = around.one
        spent = around.elapsed() - self.began - self.inside_s
        one.counted += 1
        one.seconds += spent
        if spent > one.alarm_s:
            one.note_slow(spent)
        context = self.context
        context.request.stamps.plugin_s += spent
        if around.is_bounded:
            around_task.give_back(self)
        inner = self.inner_answer
        if inner is not self.answer and around.has_ranges and inner is not None:
            release_ranges(inner, unless=self.answer)
        if one.in_hand is not None:
            one.in_hand.end(self)
        self.state, self.forwarded = OVER, True
        self.coroutine = self.worker = self.inner_answer = context.parking = None

    def tell(self) -> None:
        """Whoever waits for it, the answer, or why there is none."""
        finish, answer = self.finish, self.answer
        self.finish = None
        if self.gone:
            answer = None
        elif answer is None:
            answer, self.error = self.error or NO_ANSWER, None
        if finish is not None:
            finish(answer)

    # --- what its coroutine waits for

    async def parked(self, wait: Callable[[*Ts], Awaitable[T]], *args: *Ts, deadline: float) -> T:
        """See `Context.parked`."""
        self.waits_for = wait
        try:
            return await super().parked(wait, *args, deadline=deadline)
        finally:
            self.waits_for = None
