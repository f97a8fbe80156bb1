"""`around`s: a request in the hands of an async interceptor is an errand, with a task of its own.

The interceptor is a coroutine that is run by hand in the name of its task, by whoever has the
request: so what only forwards wakes no task, and if the answer is there at once nothing is parked.
The task itself goes on with what waits for something of Trio's, under a token as an async handler.
When what is further in delays, the errand waits in `forward`, without a token. A request whose peer
leaves while it is parked, in `forward` or by `Context.parked`, is cancelled; one that runs goes on.
Whoever is cancelled in `forward` drops what it waits for.

`forward` may be called once, with a request of the same class. It gives a message, an error answer
too, or None where there is no answer; it raises KafkaError for an API that cannot say errors. The
time in it is not the interceptor's: neither deadline nor limit count it.
"""

from collections.abc import Callable
from typing import Any, Final

from trio_kafka.purgatory import Delayed
from trio_kafka.requests.around_errand import OVER, AroundErrand
from trio_kafka.requests.around_task import keep_frame
from trio_kafka.requests.context import Context
from trio_kafka.requests.errands import Errands
from trio_kafka.requests.interceptors import Interception
from trio_kafka.requests.links import Means
from trio_kafka.requests.opening import has_ranges
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
    ) -> None:
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
        self.has_ranges = has_ranges(route.api.response)
        # Whether something is taken before the interceptor runs, and given back in `forward`.
        self.is_bounded = one.limiter is not None or one.deadline_s is not None

    def serve(self, message: Any, context: Context) -> Any:
        """In the place of a plain handler."""
        errand = AroundErrand(self, message, context)
        limit = self.one.limiter
        if limit is None or limit.available_tokens > 0:
            worker = self.errands.borrow(errand)
            if worker is not None:
                if limit is not None:
                    limit.acquire_on_behalf_of_nowait(errand)
                errand.worker = worker
                errand.go_on()
                if errand.state == OVER:
                    return errand.give(timed_out=False)
        request = context.request
        if not errand.forwarded or request.connection.left or request.connection.closed:
            keep_frame(errand)
        return Delayed((errand,), _NEVER, errand.give, purgatory=self.errands)
