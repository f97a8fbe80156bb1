"""One supervised pipeline: its process, its restarts, its last lines, its queries."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from hmac import compare_digest
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import Logger
from trio_kafka.introspect.metrics import Counter
from trio_kafka.introspect.tree import Figures
from trio_kafka.peers.backoff import Backoff
from trio_kafka.world.protocols import Child
from trio_kafka.world.world import World
from trio_kafka_builtin.pipelines.definition import Definition
from trio_kafka_builtin.pipelines.lines import Lines
from trio_kafka_builtin.pipelines.log_file import LogFile
from trio_kafka_builtin.pipelines.queries import Queries

# A child that prints without end is slowed to this rate, because its pipe fills.
MOST_BYTES_PER_S: Final = 2 << 20
_KILLED_S: Final = 5.0  # time for a killed process to end


class State(StrEnum):
    """State of a pipeline, as the page shows it."""

    WAITING = "waiting"  # for the broker to serve
    RUNNING = "running"
    PAUSED = "paused"  # before a restart
    STOPPING = "stopping"
    STOPPED = "stopped"
    FINISHED = "finished"
    FAILED = "failed"
    DISABLED = "disabled"


@define(kw_only=True)
class RestartPauses:
    """Pauses before restarts. healthy_s: a run this long resets the pause to the first."""

    backoff: Backoff
    healthy_s: float
    _restarts: int = field(init=False, default=0)

    def pause_after(self, ran_s: float) -> float:
        """Return the pause in seconds after a run of `ran_s` seconds."""
        if ran_s >= self.healthy_s:
            self._restarts = 0
        self._restarts += 1
        return self.backoff.pause_s(self._restarts)


@define(kw_only=True, eq=False)
class Pipeline:
    """Child process of one pipeline: started, restarted by its policy, and stopped.

    environment: variables for a child, by its token. restarted, rows: counters.

    status: of the last process, negative: its signal; since: seconds since 1970 of the state.
    """

    definition: Definition
    world: World
    lines: Lines
    file: LogFile
    logger: Logger
    environment: Callable[[str, str], Mapping[str, str]]
    restarted: Counter
    rows: Counter
    state: State = State.WAITING
    since: float = 0.0
    restarts: int = 0
    status: int | None = None
    error: str = ""
    next_start: float | None = None
    queries: Queries = field(factory=Queries)
    _child: Child | None = None
    _token: str = field(default="", repr=False)
    _stop: trio.Event = field(factory=trio.Event)

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def pid(self) -> int | None:
        return None if self._child is None else self._child.pid

    def knows(self, token: str) -> bool:
        """Compare a token with that of the running child, in constant time."""
        return compare_digest(token.encode(), self._token.encode()) and bool(self._token)

    def stop(self) -> None:
        """Stop: SIGTERM, and SIGKILL after the grace period. Idempotent."""
        self._stop.set()

    async def run(self) -> None:
        """Run the command repeatedly, as its policy says, until stopped or finished."""
        definition = self.definition
        if not definition.enabled:
            self._go(State.DISABLED)
            await trio.lowlevel.checkpoint()
            return
        pauses = RestartPauses(
            backoff=Backoff(definition.pause_s, definition.longest_pause_s),
            healthy_s=definition.healthy_s,
        )
        while not self._stop.is_set():
            begun = trio.current_time()
            await self._run_once()
            if self._stop.is_set() or not self._is_run_again():
                break
            await self._pause(pauses.pause_after(trio.current_time() - begun))
            self.restarts += 1
            self.restarted.value += 1
        self.next_start = None
        if self._stop.is_set():
            self._go(State.STOPPED)
        else:
            self._go(State.FAILED if self.status else State.FINISHED)

    def _is_run_again(self) -> bool:
        restart = self.definition.restart
        return restart == "always" or (restart == "on-failure" and self.status != 0)

    async def _pause(self, pause_s: float) -> None:
        self._go(State.PAUSED)
        self.next_start = self.since + pause_s
        self.logger.info("pipeline restarts", pipeline=self.name, after_s=pause_s)
        with trio.move_on_after(pause_s):
            await self._stop.wait()
        self.next_start = None

    async def _run_once(self) -> None:
        definition = self.definition
        self._token = self.world.random_bytes(32).hex()
        try:
            child = await self.world.start_child(
                definition.command,
                environment={**definition.environment, **self.environment(self.name, self._token)},
                directory=definition.directory,
            )
        except OSError as error:
            self._token = ""
            self._ended(None, f"not started: {error}")
            return
        self._child = child
        self.queries.clear()
        self.error = ""
        self._go(State.RUNNING)
        await self._say(f"started as process group {child.pid}")
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._end_when_told, child, name=f"{self.name} end")
                await self._read(child)
                status = await child.wait()
                nursery.cancel_scope.cancel()
            self._ended(status, _ending_of(status))
            await self._say(self.error or "ended with status 0")
        finally:
            self._child, self._token = None, ""
            child.close()
            # Already killed or ended: wait for the kernel, so that no process is left.
            with trio.move_on_after(_KILLED_S, shield=True) as limit:
                await child.wait()
            if limit.cancelled_caught:
                child.kill()
            self.file.close()

    async def _read(self, child: Child) -> None:
        """Read output until its end."""
        while piece := await child.receive():
            self.lines.feed(piece)
            await self.file.write(piece)
            await trio.sleep(len(piece) / MOST_BYTES_PER_S)
        self.lines.end()

    async def _end_when_told(self, child: Child) -> None:
        await self._stop.wait()
        self._go(State.STOPPING)
        child.terminate()
        await trio.sleep(self.definition.grace_s)
        self.logger.warning("pipeline killed", pipeline=self.name, after_s=self.definition.grace_s)
        while True:
            child.kill()
            await trio.sleep(_KILLED_S)

    def _ended(self, status: int | None, error: str) -> None:
        self.status = 127 if status is None else status
        self.error = error
        log = self.logger.warning if error and not self._stop.is_set() else self.logger.info
        log("pipeline ended", pipeline=self.name, status=self.status, reason=error)

    async def _say(self, words: str) -> None:
        self.lines.say(words)
        await self.file.write(f"[trio-kafka] {words}\n".encode())

    def _go(self, state: State) -> None:
        self.state = state
        self.since = self.world.clock.wall()

    # --- for display

    def figures(self) -> Figures:
        """Return figures for the tree."""
        lags = [query.lag for query in self.queries if query.lag is not None]
        return {
            "state": self.state.value,
            "since": self.since,
            "pid": self.pid,
            "restarts": self.restarts,
            "status": self.status,
            "lines": self.lines.count,
            "queries": len(self.queries),
            "posts": self.queries.posts,
            "rows": self.rows.value,
            "lag": sum(lags) if lags else None,
        }

    def shown(self, most_lines: int) -> dict[str, object]:
        """Return the pipeline as a JSON-ready row of the page."""
        return {
            "name": self.name,
            "state": self.state.value,
            "since": self.since,
            "pid": self.pid,
            "restarts": self.restarts,
            "status": self.status,
            "error": self.error,
            "next_start": self.next_start,
            "command": list(self.definition.command),
            "restart": self.definition.restart,
            "lines": self.lines.last(most_lines),
            "queries": [query.shown() for query in self.queries],
        }


def _ending_of(status: int) -> str:
    if status < 0:
        return f"ended by signal {-status}"
    return f"ended with status {status}" if status else ""
