"""The way that most requests go through an `around`: run by hand, parked in `forward`, run on by
whoever has the answer, and over.

Each instruction here is on the way of each request. So these are functions, few and made for the
`around` of a route, which find what they need in their cells; whatever is not usual is a method of
the errand (`requests.around_errand`), or its task's (`requests.around_task`). None but `serve`
knows the `around`, which has the others.
"""

from collections.abc import Callable, Generator
from types import MethodType, coroutine
from typing import TYPE_CHECKING, Any

from trio_kafka.purgatory import Delayed
from trio_kafka.requests import around_task
from trio_kafka.requests.around_errand import AroundErrand
from trio_kafka.requests.around_forward import UNASKED
from trio_kafka.requests.context import Context
from trio_kafka.requests.errands import HERE, OVER, PARKED, STARTED, STARTS, TO_BEGIN, Worker
from trio_kafka.requests.slices import Lazily

if TYPE_CHECKING:
    from trio_kafka.requests.around import Around

# All of an errand.
Begin = Callable[[AroundErrand, Any, Context], Any]
GoOn = Callable[[Any, Any], None]
End = Callable[[AroundErrand, Worker, Any], None]


def serving(around: "Around") -> Callable[[Any, Context], Any]:
    """What stands in the place of a plain handler."""
    one, is_bounded, begin, end = around.one, around.is_bounded, around.begin, around.end
    limiter, spare = around.limiter, around.errands.lendable

    def serve(message: Any, context: Context) -> Any:
        errand = AroundErrand()
        errand.around = around
        errand.message = message
        errand.context = context
        errand.delayed = None
        errand.finish = None
        errand.inner_answer = UNASKED
        if not spare or limiter.free <= 0 or (is_bounded and around_task.is_full(one)):
            errand.state = TO_BEGIN
            errand.coroutine = errand.worker = None
            return around.stand_for(errand)
        errand.state = STARTS
        worker = errand.worker = spare.pop()
        worker.errand = errand
        if is_bounded:
            around_task.enter_now(errand)
        try:
            trap = worker.run(begin(errand, message, context).send, None)
        except StopIteration as stop:
            answer = errand.judge(stop.value)
        except BaseException as error:  # noqa: BLE001 - it is judged
            answer = errand.blame(error)
        else:
            if trap is not HERE:
                around_task.wait(errand, trap, worker)
            elif worker.missed:
                worker.settle()
            return errand.delayed if errand.state == PARKED else around.stand_for(errand)
        worker.put_back()
        end(errand, worker, answer)
        return errand.give(answer)

    return serve


def beginning(around: "Around") -> Begin:
    """What gives the coroutine of an errand. It raises what a function raises that takes something
    else.
    """
    function, elapsed = around.one.function, around.elapsed
    forward = _forwarding(around)

    def begin(errand: AroundErrand, message: Any, context: Context) -> Any:
        context.parking = errand
        errand.began = elapsed()
        made = errand.coroutine = function(message, context, MethodType(forward, errand))
        return made

    return begin


def _forwarding(around: "Around") -> Callable[[AroundErrand, Any], Any]:
    """`forward`, called with the errand; see `requests.around`.

    A coroutine that is a generator: an async function would need another one to be parked in,
    which costs 2 µs. Trio starts no task of it: who wants one awaits it in a function.
    """
    inner, inner_waits, is_plain = around.inner, around.inner_waits, around.is_plain
    response, elapsed = around.response, around.elapsed

    @coroutine
    def forward(errand: AroundErrand, message: Any) -> Generator[Any, Any, Any]:
        if errand.state != STARTS or message is not errand.message or not is_plain:
            around_task.set_out(errand, message)
        began = elapsed()
        made = Lazily.made
        try:
            answer = inner(message, errand.context)
            if inner_waits:
                answer = yield from answer
            if errand.state == STARTS:
                if type(answer) is Delayed:
                    errand.state = PARKED
                    errand.delayed = answer
                    errand.keeper = answer.purgatory
                    answer.purgatory = errand
                    answer = yield HERE
                else:
                    errand.state = STARTED
            if type(answer) is not response or Lazily.made != made:
                answer = yield from errand.opened(answer, made, again=inner_waits).__await__()
        except BaseException as error:
            answer = None  # or it would hold itself, by this frame
            if not around_task.is_said(errand, error):
                errand.began += elapsed() - began
                raise
            answer = around_task.say(errand, message, error)
        errand.inner_answer = answer
        if not is_plain:
            yield from around_task.come_back(errand).__await__()
        errand.began += elapsed() - began
        return answer

    return forward


def going_on(around: "Around") -> GoOn:
    """What is told that an errand's wait in `forward` has ended. answer: None if it was dropped."""
    limiter, spare, end = around.limiter, around.errands.lendable, around.end

    def go_on(errand: AroundErrand, answer: Any) -> None:
        if answer is None or limiter.free <= 0:
            errand.complete(answer)
            return
        errand.delayed = None
        worker: Any = errand.worker
        try:
            trap = worker.run(errand.coroutine.send, answer)
        except StopIteration as stop:
            answer = stop.value
            if (
                answer is None
                or answer is not errand.inner_answer
                or errand.context.request.stamps.answered
            ):
                answer = errand.judge(answer)
        except BaseException as error:  # noqa: BLE001 - it is judged
            answer = errand.blame(error)
        else:
            if trap is not HERE:
                around_task.wait(errand, trap, worker)
            elif worker.missed:
                worker.settle()
            return
        if worker.used:
            worker.wake()
        else:
            spare.append(worker)
        end(errand, worker, answer)

    return go_on


def ending(around: "Around") -> End:
    """What accounts for an errand that is over, in whatever way, and tells whoever waits for it.
    worker: had it. answer: None: there is none.
    """
    one, elapsed, is_bounded = around.one, around.elapsed, around.is_bounded

    def end(errand: AroundErrand, worker: Worker, answer: Any) -> None:
        spent = elapsed() - errand.began
        one.counted += 1
        one.seconds += spent
        if spent > one.alarm_s:
            one.note_slow(spent)
        context = errand.context
        context.request.stamps.plugin_s += spent
        if is_bounded:
            around_task.give_back(errand)
        errand.state = OVER
        context.parking = worker.errand = None
        worker.done += 1
        finish = errand.finish
        if finish is not None:
            errand.finish = None
            finish(errand.why() if answer is None else answer)

    return end
