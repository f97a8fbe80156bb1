"""`around`s: a request in the hands of an async interceptor is an errand, with a task of its own.

The interceptor is a coroutine that is run by hand in the name of its task, by whoever has the
request: so what only forwards wakes no task, and if the answer is there at once nothing is parked.
What is further in may delay: then its Delayed is what the errand delays, too, and whoever is told
of its end first is the errand, which is run on by hand. The task itself goes on with what waits for
something of Trio's, under a token as an async handler; a Delayed of its own stands for it then.

Whoever waits in `forward` has no token. A request whose peer leaves while it is parked, in
`forward` or by `Context.parked`, is cancelled; one that runs goes on. Whoever is cancelled in
`forward` drops what it waits for.

`forward` may be called once, with a request of the same class. It gives a message, an error answer
too, or None where there is no answer; it raises KafkaError for an API that cannot say errors. The
time in it is not the interceptor's: neither deadline nor limit count it.
"""

from collections.abc import Callable
from typing import Any, Final

from trio_kafka.purgatory import Delayed
from trio_kafka.requests.context import Context
from trio_kafka.requests.interceptors.around_errand import SEND, AroundErrand
from trio_kafka.requests.interceptors.around_forward import UNASKED
from trio_kafka.requests.interceptors.around_task import enter_now, is_full, keep_frame, wait
from trio_kafka.requests.interceptors.before_after import Means
from trio_kafka.requests.interceptors.errands import HERE, PARKED, STARTS, TO_BEGIN, Errands
from trio_kafka.requests.interceptors.registry import Interception
from trio_kafka.requests.materialize import has_ranges
from trio_kafka.requests.replies import Route

_NEVER: Final = float("inf")


class Around:
    """One `around` of a route; `inner`: what lies within, async if `inner_waits`."""

    def __init__(
        self,
        route: Route,
        one: Interception,
        inner: Callable[..., Any],
        means: Means,
        errands: Errands,
        *,
        inner_waits: bool,
        inner_parks: bool,
    ) -> None:
        """inner_parks: there are more of them in `inner`."""
        self.route = route
        self.request = route.api.request
        self.response = route.api.response
        self.one = one
        self.inner = inner
        self.inner_waits = inner_waits
        self.elapsed = means.elapsed
        self.failures = means.failures
        self.errands = errands
        self.limiter = errands.limiter
        self.lendable = errands.lendable
        self.has_ranges = has_ranges(route.api.response)
        # Whether something is taken before the interceptor runs, and given back in `forward`.
        self.is_bounded = one.limiter is not None or one.deadline_s is not None
        # Whether nothing is to be done but to call it.
        self.is_plain = not (self.is_bounded or inner_waits or inner_parks)
        if one.in_flight is not None:
            one.in_flight.watch(one, errands)

    def serve(self, message: Any, context: Context) -> Any:
        """In the place of a plain handler."""
        errand = AroundErrand()  # its fields here: to call an initialiser costs as much as all
        errand.around = self
        errand.message = message
        errand.context = context
        errand.delayed = None
        errand.finish = None
        errand.inner_answer = UNASKED
        lendable = self.lendable
        if not lendable or self.limiter.free <= 0 or (self.is_bounded and is_full(self.one)):
            errand.state = TO_BEGIN
            errand.coroutine = errand.worker = None
            return self._stand_for(errand)
        errand.state = STARTS
        worker = errand.worker = lendable.pop()
        worker.errand = errand
        if self.is_bounded:
            enter_now(errand)
        enter, names = worker.enter, worker.names
        before = names["task"]
        names["task"] = worker.task
        try:
            try:
                trap = enter(SEND, errand.begin(), None)
            finally:
                names["task"] = before
        except StopIteration as stop:
            answer = errand.judge(stop.value)
        except BaseException as error:  # noqa: BLE001 - it is judged
            answer = errand.blame(error)
        else:
            if trap is not HERE:
                wait(errand, trap, worker)
            elif worker.missed:
                worker.settle()
            return errand.delayed if errand.state == PARKED else self._stand_for(errand)
        worker.put_back()
        errand.end(worker, answer)
        return errand.give(answer)

    def _stand_for(self, errand: AroundErrand) -> Delayed:
        """What stands for an errand that has a task."""
        request = errand.context.request
        if not errand.forwarded or request.connection.left or request.connection.closed:
            keep_frame(errand)
        return Delayed((errand,), _NEVER, _by_the_errand, purgatory=self.errands)


def _by_the_errand(timed_out: bool) -> None:
    """The `try_complete` of what stands for an errand, which tells `finish` itself."""
    del timed_out
