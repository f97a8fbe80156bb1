"""What the task of an errand does, when it is not run by hand: see `requests.interceptors.around`.

Also what only some interceptors need: a deadline, a limit, `forward` in another task.
"""

from typing import TYPE_CHECKING, Any, Final

import outcome
import trio

from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, ProtocolError
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.failures import split_cancelled, tell_owner
from trio_kafka.requests.interceptors.errands import (
    CANCELLED,
    HERE,
    LEFT,
    OVER,
    RUNS,
    STARTED,
    STARTS,
    TO_BEGIN,
    TO_GO_ON,
    WAITS,
    Worker,
)
from trio_kafka.requests.interceptors.registry import Interception, InterceptorError
from trio_kafka.world.lending import abort_of, pass_on

if TYPE_CHECKING:
    from trio_kafka.requests.interceptors.around_errand import AroundErrand
    from trio_kafka.requests.interceptors.around_forward import Forwarding

_NEVER: Final = float("inf")
# Of what is further in, what no answer says.
_NOT_SAID: Final = (InvariantError, ProtocolError, InterceptorError)


def wait(errand: "AroundErrand", trap: Any, worker: Worker) -> None:
    """Let the task wait for what the coroutine, run by hand, waits for."""
    errand.state = WAITS
    errand.abort = abort_of(trap)
    if errand.waits_for is None:
        errand.is_not_parked()
        limiter = errand.around.limiter
        if limiter.free > 0 and not errand.holds:
            limiter.take_nowait(errand)
            errand.holds = True
    _begin_deadline(errand, worker)
    if errand.abort is None:
        worker.wake()
    else:
        worker.settle()


async def run(errand: "AroundErrand", worker: Worker) -> None:
    """Begin, or go on with what the task's sleep has ended with."""
    state = errand.state
    try:
        if state == TO_BEGIN:
            errand.is_not_parked()
            errand.context.request.stamps.handled = 0.0
            errand.worker = worker
            if errand.gone:
                _leave(errand, worker)
                return
            await errand.take()
            await enter(errand)
        elif state == TO_GO_ON:
            await errand.take()
    except BaseException as error:
        if state == TO_BEGIN:
            errand.gone = True
            _leave(errand, worker)
            raise
        worker.given, state = outcome.Error(error), CANCELLED
    if state in {TO_BEGIN, TO_GO_ON}:
        worker.given, errand.result = errand.result, None
    await _drive(errand, worker, throws=state == CANCELLED)


async def _drive(errand: "AroundErrand", worker: Worker, *, throws: bool) -> None:
    """Run the coroutine here until it is parked, or over."""
    cancelled: BaseException | None = None
    answer: Any = None
    while True:
        errand.state = RUNS
        value: Any
        value, worker.given = worker.given, None
        try:
            coroutine = errand.coroutine or errand.begin()
            trap = coroutine.throw(value.error) if throws else coroutine.send(value)
        except StopIteration as stop:
            answer = errand.judge(stop.value)
            break
        except BaseException as error:  # noqa: BLE001 - it is judged
            cancelled, rest = split_cancelled(error)
            if rest is not None:
                answer = errand.blame(rest)
            del rest
            break
        if trap is HERE:
            return
        errand.state = WAITS
        _begin_deadline(errand, worker)
        worker.given, throws = await pass_on(trap), False
    value = coroutine = None
    if cancelled is not None:
        answer = _answer_all_the_same(errand, worker)
    if errand.delayed is not None:  # somebody else's task waits in `forward`
        end_elsewhere(errand)
    errand.end(worker, answer)
    if cancelled is not None:
        try:
            raise cancelled
        finally:
            del cancelled  # or it would hold itself, by this frame


def _leave(errand: "AroundErrand", worker: Worker) -> None:
    """It was never begun."""
    if errand.around.is_bounded:
        give_back(errand)
    errand.leave()
    errand.state = OVER
    errand.context.parking = worker.errand = None
    worker.done += 1
    finish, errand.finish = errand.finish, None
    if finish is not None:
        finish(errand.why())


def _answer_all_the_same(errand: "AroundErrand", worker: Worker) -> Any:
    """It is cancelled: by its deadline, or as its owner goes? If not, nobody is there."""
    one = errand.around.one
    if errand.cut_off:
        why = "goes"
    elif one.deadline_s is not None and trio.current_time() >= worker.scope.deadline:
        why = "took too long"
        one.late += 1
        late = trio.TooSlowError(f"more than {one.deadline_s} s of its own")
        tell_owner(one, errand.around.route.api.name, late)
    else:
        errand.gone = True
        return errand.settle_for(None)
    return errand.blame(KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{one.owner.name} {why}"))


def keep_frame(errand: "AroundErrand") -> None:
    """Whoever parks a request gives its frame back: not before the handler has read it."""
    request = errand.context.request
    if request.connection.left or request.connection.closed:
        errand.gone = True  # it will not be parked, and its frame is gone
        errand.inner_answer = None
        if errand.worker is not None:
            errand.worker.cancel()
    else:
        errand.frame, request.frame = request.frame, None


# --- `forward`, when it goes wrong or is called in another task


def is_said(errand: "Forwarding", error: BaseException) -> bool:
    """Whether an answer says what was raised further in. If not, it is to be raised."""
    if errand.state == STARTS:
        errand.state = STARTED
    errand.inner_answer = None
    if isinstance(error, InvariantError | ProtocolError):
        errand.keep(error)
    return isinstance(error, Exception) and not isinstance(error, _NOT_SAID)


def say(errand: "Forwarding", message: Any, error: Any) -> Any:
    """The error of what is further in, as an answer."""
    failures, route = errand.around.failures, errand.around.route
    request = errand.context.request
    code, text = failures.judge(request, route, error)
    return failures.answer(request, route, message, code, text)


async def wait_elsewhere(errand: "Forwarding", delayed: Delayed, *, again: bool) -> Any:
    """What a Delayed ends with, for a task that the interceptor has started."""
    errand.waiter = trio.lowlevel.current_task()
    errand.park(delayed, again=again)
    if errand.delayed is None:
        errand.waiter = None
    else:

        def abort(raise_cancel: object) -> trio.lowlevel.Abort:
            del raise_cancel
            errand.forget()
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)
    answer, errand.result = errand.result, None
    if type(answer) is InterceptorError:
        raise answer
    if answer is None or answer is LEFT:
        return LEFT
    await errand.take()  # not earlier: many are woken at once, and run one after the other
    return answer


def end_elsewhere(errand: "Forwarding") -> None:
    """The request is answered: nobody needs to wait any more."""
    waiter = errand.waiter
    errand.forget()
    errand.result = InterceptorError(f"{errand.at}: the request has been answered")
    if waiter is not None:
        trio.lowlevel.reschedule(waiter)


# --- frame, deadline and limit


def set_out(errand: "Forwarding", message: Any) -> None:
    """It forwards: the handler has its request, and what follows is not its own time."""
    around = errand.around
    if errand.forwarded:
        raise InterceptorError(f"{errand.at}: forward is called again, or after the answer")
    if type(message) is not around.request:
        found, want = type(message).__name__, around.request.__name__
        raise InterceptorError(f"{errand.at}: forwards {found}, want {want}")
    errand.inner_answer = None
    if errand.frame is not None:
        errand.context.request.frame, errand.frame = errand.frame, None
    if around.is_bounded:
        errand.is_inside = True
        give_back(errand)


def is_full(one: Interception) -> bool:
    """Whether those who begin now have to wait."""
    return one.limiter is not None and one.limiter.available_tokens <= 0


def enter_now(errand: "AroundErrand") -> None:
    """Be one of those who run: it is not full."""
    limiter = errand.around.one.limiter
    if limiter is not None:
        limiter.acquire_on_behalf_of_nowait(errand)


async def come_back(errand: "Forwarding") -> None:
    """`forward` has its answer: what follows is the interceptor's own time."""
    if errand.around.is_bounded:
        await enter(errand)
        errand.is_inside = False
    errand.context.parking = errand  # one further in had it meanwhile


async def enter(errand: "Forwarding") -> None:
    """Be one of those who run at once; who waits for that is parked."""
    limiter = errand.around.one.limiter
    if limiter is None:
        return
    try:
        limiter.acquire_on_behalf_of_nowait(errand)
    except trio.WouldBlock:
        await errand.parked(limiter.acquire_on_behalf_of, errand, deadline=_NEVER)


def give_back(errand: "Forwarding") -> None:
    """What follows is not the interceptor's own time."""
    limiter, worker = errand.around.one.limiter, errand.worker
    if limiter is not None and errand in limiter.statistics().borrowers:
        limiter.release_on_behalf_of(errand)
    if worker is not None and worker.scope.deadline != _NEVER:
        errand.left_s = worker.scope.deadline - trio.current_time()
        worker.scope.deadline = _NEVER


def _begin_deadline(errand: "AroundErrand", worker: Worker) -> None:
    """It waits: from here on its own time counts, unless it is in `forward`."""
    if errand.around.one.deadline_s is None or errand.is_inside:
        return
    if worker.scope.deadline == _NEVER:
        left_s = errand.around.one.deadline_s if errand.left_s is None else errand.left_s
        worker.scope.deadline = trio.current_time() + left_s
