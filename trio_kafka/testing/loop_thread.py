"""A thread with a Trio loop of its own, for callers without one: tests, asyncio, notebooks.

The loop's clock is a `SkippingClock`, so that time can be moved. Calls come from any thread and any
other loop. A failure in the loop ends it; each call then raises `LoopEndedError` from it.
"""

import math
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Any, Final, Generic, TypeVar

import sniffio
import trio

from trio_kafka.errors import only_leaf
from trio_kafka.world.clock import SkippingClock

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

T = TypeVar("T")
V = TypeVar("V")
_JOIN_S: Final = 60.0


class LoopEndedError(RuntimeError):
    """The loop has ended: it was stopped, or something in it failed (`__cause__`)."""


class LoopThread(Generic[V]):
    """Thread that runs a Trio loop, and in it the block of an async context manager.

    make: returns the context manager; called in the loop.
    clock: of the loop. calls: in progress.
    """

    def __init__(
        self,
        make: Callable[[SkippingClock], AbstractAsyncContextManager[V]],
        name: str = "trio-kafka",
    ) -> None:
        self.name = name
        self.clock = SkippingClock()
        self._make = make
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._entered: Future[V] = Future()
        self.calls: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._ended = False
        self._raised = False
        self._token: trio.lowlevel.TrioToken
        self._nursery: trio.Nursery
        self._stopping: trio.Event

    def start(self) -> V:
        """Start the thread, enter the block, and return its value. Raises what entering raises."""
        self._thread.start()
        try:
            return self._entered.result()
        except BaseException:
            self._raised = True
            self.stop()
            raise

    def stop(self) -> None:
        """Leave the block, and wait for the thread. Idempotent.

        Raises what the block or its exit raised. Raises TimeoutError if the thread does not end.
        """
        if self._thread.is_alive():
            _soon(self._token, self._stopping.set)
        self._thread.join(_JOIN_S)
        if self._thread.is_alive():
            raise TimeoutError(f"{self.name}: the loop did not end within {_JOIN_S:g} s")
        if self._failure is not None and not self._raised:
            self._raised = True
            raise self._failure

    def stack(self) -> str:
        """Return where the thread is now, as the lines of a traceback."""
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001 - documented
        return "".join(traceback.format_stack(frame)) if frame else "the thread has ended"

    @property
    def failure(self) -> BaseException | None:
        """Failure that ended the loop."""
        return self._failure

    def call(self, function: Callable[..., Awaitable[T]], *args: object) -> T:
        """Run an async function in the loop, and wait for its result. Ctrl-C cancels it.

        Raises LoopEndedError, and RuntimeError if called in the loop itself.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("a blocking call in the broker's own loop: await the method instead")
        future = self._submit(function, *args)
        try:
            error = future.exception()
        except BaseException:
            future.cancel()
            raise
        if error is not None:
            raise error  # here, as `result` would add frames of `concurrent` to the traceback
        return future.result()

    async def await_call(self, function: Callable[..., Awaitable[T]], *args: object) -> T:
        """Run an async function in the loop, and await its result in asyncio, anyio or Trio.

        Cancellation of the caller cancels it. Raises LoopEndedError, and RuntimeError in a Trio
        loop whose clock jumps.
        """
        if threading.current_thread() is self._thread:
            return await function(*args)
        future = self._submit(function, *args)
        if sniffio.current_async_library() == "asyncio":
            import asyncio  # noqa: PLC0415 - the caller has imported it

            return await asyncio.wrap_future(future)
        _refuse_autojump()
        done, token = trio.Event(), trio.lowlevel.current_trio_token()
        future.add_done_callback(lambda _: _soon(token, done.set))
        try:
            await done.wait()
        except trio.Cancelled:
            future.cancel()
            raise
        return future.result()

    def hold(self) -> threading.Event:
        """Block the loop until the event that is returned is set. Raises LoopEndedError."""
        resume = threading.Event()
        held = threading.Event()

        def block() -> None:
            held.set()
            resume.wait()

        with self._lock:
            if self._ended:
                raise self._error()
            try:
                self._token.run_sync_soon(block)
            except trio.RunFinishedError:
                raise self._error() from self._failure
        held.wait()
        return resume

    def _run(self) -> None:
        try:
            trio.run(self._main, clock=self.clock)
        except BaseException as error:  # noqa: BLE001 - raised by `start` or `stop`
            self._failure = only_leaf(error) if isinstance(error, Exception) else error
            _settle(self._entered, error=self._failure)
        finally:
            with self._lock:
                self._ended = True
            for call in list(self.calls):
                _settle(call, error=self._error())

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._stopping = trio.Event()
        async with self._make(self.clock) as value, trio.open_nursery() as nursery:
            self._nursery = nursery
            _settle(self._entered, value)
            try:
                await self._stopping.wait()
            finally:
                nursery.cancel_scope.cancel()  # it also tells `_spawn` that it is being closed

    def _submit(self, function: Callable[..., Awaitable[T]], *args: object) -> "Future[T]":
        future: Future[T] = Future()
        with self._lock:
            if self._ended:
                raise self._error()
            self.calls.add(future)
        future.add_done_callback(self.calls.discard)
        try:
            self._token.run_sync_soon(self._spawn, future, function, args)
        except trio.RunFinishedError:
            raise self._error() from self._failure
        return future

    def _spawn(
        self, future: "Future[T]", function: Callable[..., Awaitable[T]], args: tuple[object, ...]
    ) -> None:
        if self._nursery.cancel_scope.cancel_called:
            # A closed nursery would raise, here between the loop's tasks, and crash the loop.
            if self._stopping.is_set():
                _settle(future, error=self._error())
            return  # else the loop fails, and `_run` settles the future: it knows the reason
        name = getattr(function, "__qualname__", repr(function))
        self._nursery.start_soon(self._serve, future, function, args, name=f"call {name}")

    async def _serve(
        self, future: "Future[T]", function: Callable[..., Awaitable[T]], args: tuple[object, ...]
    ) -> None:
        try:
            with trio.CancelScope() as scope:
                cancel = partial(_soon, self._token, scope.cancel)
                future.add_done_callback(lambda done: cancel() if done.cancelled() else None)
                result = await function(*args)
                _settle(future, result)
        except Exception as error:  # noqa: BLE001 - raised in the calling thread
            _settle(future, error=error)
        # When the loop itself is cancelled, `_run` settles the future: it knows the reason.

    def _error(self) -> LoopEndedError:
        error = LoopEndedError(
            f"{self.name}: the loop has ended, with its block or its test"
            if self._failure is None
            else f"{self.name}: the loop has failed: {self._failure!r}"
        )
        error.__cause__ = self._failure
        return error


def _settle(future: "Future[T]", result: Any = None, error: BaseException | None = None) -> None:
    """Set the result, unless the future was cancelled meanwhile."""
    with suppress(InvalidStateError):
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _refuse_autojump() -> None:
    clock = trio.lowlevel.current_clock()
    if getattr(clock, "autojump_threshold", math.inf) != math.inf:
        raise RuntimeError(
            "this loop's clock jumps ahead (autojump) while it waits for the broker, which works in"
            " another thread in real time: use a broker in this loop (kafka_in_loop), or the"
            " system's clock here and kafka.advance()"
        )


def _soon(token: trio.lowlevel.TrioToken, call: Callable[[], object]) -> None:
    """Call a function in a loop, unless that has ended."""
    with suppress(trio.RunFinishedError):
        token.run_sync_soon(call)
