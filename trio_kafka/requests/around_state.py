"""The states of an errand: a request on its way through one `around`."""

from typing import Final

# TO_BEGIN and TO_GO_ON in its task. STARTS: run by whoever has the request, who is given what
# `forward` delays; RUNS: later, or in its task. WAITS for something of Trio's; PARKED in `forward`,
# or CANCELLED there.
TO_BEGIN, STARTS, RUNS, WAITS, PARKED, CANCELLED, TO_GO_ON, OVER = range(8)
HERE: Final = object()  # what a coroutine yields while it waits in `forward`
LEFT: Final = object()  # in the place of what was waited for in `forward`: the peer has left
