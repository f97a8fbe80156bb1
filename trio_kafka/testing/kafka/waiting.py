"""Waits for a state of a broker under test, which is read every 5 ms until it is reached."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import trio

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

T = TypeVar("T")
TIMEOUT_S: Final = 10.0
_INTERVAL_S: Final = 0.005
_LAST_READ_S: Final = 2.0


class NotReachedError(AssertionError):
    """A state that a test waited for was not reached in time; the message says what there was."""


async def wait_until(
    condition: Callable[[], bool] | Callable[[], Awaitable[bool]],
    *,
    description: str = "the condition",
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Check a condition, sync or async, until it holds.

    description: of the condition, for the error.
    Raises NotReachedError after `timeout_s`.
    """
    with trio.move_on_after(timeout_s):
        while True:
            result = condition()
            if result if isinstance(result, bool) else await result:
                return
            await trio.sleep(_INTERVAL_S)
    raise NotReachedError(f"{description}: not reached within {timeout_s:g} s")


async def wait_for(
    read: Callable[[], Awaitable[T]],
    is_reached: Callable[[T], bool],
    *,
    unread: T,
    failure: Callable[[T], str],
    timeout_s: float,
) -> T:
    """Read a state until it is reached, and once more after `timeout_s`; return it.

    unread: state before the first read. failure: error message for the state that was read last.
    Raises NotReachedError.
    """
    state = unread

    async def condition() -> bool:
        nonlocal state
        state = await read()
        return is_reached(state)

    try:
        await wait_until(condition, timeout_s=timeout_s)
    except NotReachedError:
        with trio.move_on_after(_LAST_READ_S):
            if await condition():
                return state
    else:
        return state
    raise NotReachedError(failure(state))
