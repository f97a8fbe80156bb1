"""Controls of a broker's clock and a view of its groups, for suites in other languages."""

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

import attrs
import trio

from trio_kafka.attributes import frozen
from trio_kafka.controls.clock import ClockError, clock_of_loop, move_clock
from trio_kafka.controls.groups import describe_group, list_groups
from trio_kafka.controls.values import Group
from trio_kafka.plugin import PluginContext
from trio_kafka_builtin.faults.app import Answer, ControlRequest
from trio_kafka_builtin.faults.settings import FaultSettings
from trio_kafka_http.asgi_json import HttpError

_LOOK_S: Final = 0.01
_WAIT_S: Final = 30.0
_LONGEST_S: Final = 3600.0
_LONGEST_MOVE_S: Final = 366 * 86_400.0
_CONDITIONS: Final = {"state": str, "members": int, "lag": int, "timeout_s": int | float}


@frozen
class ClockControl:
    """`/clock`: the broker's time.

    GET reads it, POST moves it by `{"seconds": 3600, "hold": true}`, DELETE undoes all moves.
    """

    _context: PluginContext[FaultSettings]

    async def answer(self, request: ControlRequest) -> Answer:
        """Answer a request. Raises HttpError."""
        match request.method, *request.names:
            case ["GET"]:
                await trio.lowlevel.checkpoint()
                return 200, self._shown()
            case ["POST"]:
                seconds, hold = _move_of(await request.read_body())
                request.unlimited()
                try:
                    deadlines = await move_clock(self._context, seconds, hold)
                except (ClockError, TimeoutError) as error:
                    raise HttpError(409, str(error)) from None
                return 200, {**self._shown(), "deadlines": deadlines}
            case ["DELETE"]:
                await trio.lowlevel.checkpoint()
                try:
                    clock_of_loop().reset_wall()
                except RuntimeError as error:
                    raise HttpError(409, str(error)) from None
                return 200, self._shown()
        raise request.no_such()

    def _shown(self) -> dict[str, object]:
        wall = self._context.world.clock.wall()
        try:
            moved_s = clock_of_loop().moved
        except ClockError:
            moved_s = None
        time = dt.datetime.fromtimestamp(wall, dt.UTC)
        return {"time": time.isoformat(), "timestamp_ms": int(wall * 1000), "moved_s": moved_s}


@frozen
class GroupControl:
    """`/groups`: groups are listed, described and waited for."""

    _context: PluginContext[FaultSettings]

    async def answer(self, request: ControlRequest) -> Answer:
        """Answer a request. Raises HttpError."""
        match request.method, *request.names:
            case ["GET"]:
                return 200, {
                    "groups": [_shown(group) for group in await list_groups(self._context)]
                }
            case ["GET", group_id]:
                return 200, _shown(await describe_group(self._context, group_id))
            case ["POST", group_id, "wait"]:
                return 200, await self._wait(group_id, request)
        raise request.no_such()

    async def _wait(self, group_id: str, request: ControlRequest) -> dict[str, object]:
        """Wait for `{"state": "Stable", "members": 2, "lag": 0, "timeout_s": 30}`."""
        conditions = _conditions_of(await request.read_body())
        timeout_s = float(conditions.pop("timeout_s", _WAIT_S))
        request.unlimited()
        group = await describe_group(self._context, group_id)
        with trio.move_on_after(timeout_s):
            while not group.matches(**conditions):
                await trio.sleep(_LOOK_S)
                group = await describe_group(self._context, group_id)
        if not group.matches(**conditions):
            raise HttpError(408, f"group {group_id[:80]!r} after {timeout_s:g} s: {_shown(group)}")
        return _shown(group)


def _shown(group: Group) -> dict[str, object]:
    return {
        **attrs.asdict(group),
        "offsets": _by_partition(group.offsets),
        "lag": _by_partition(group.lag),
    }


def _by_partition(values: Mapping[tuple[str, int], int]) -> dict[str, int]:
    return {f"{topic}-{partition}": value for (topic, partition), value in values.items()}


def _move_of(body: object) -> tuple[float, bool | None]:
    """Return seconds, and whether clients are held. Raises HttpError."""
    if not isinstance(body, dict) or not {"seconds"} <= set(body) <= {"seconds", "hold"}:
        raise HttpError(400, 'want {"seconds": SECONDS}, with "hold": true or false if you like')
    seconds, hold = body["seconds"], body.get("hold")
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 <= seconds <= _LONGEST_MOVE_S:
        raise HttpError(400, f"seconds: {seconds!r}, want 0 to {_LONGEST_MOVE_S:g}")
    if hold is not None and not isinstance(hold, bool):
        raise HttpError(400, f"hold: {hold!r}, want true or false")
    return float(seconds), hold


def _conditions_of(body: object) -> dict[str, Any]:
    """Return the state, members, lag and time limit to wait for. Raises HttpError."""
    if not isinstance(body, dict) or not set(body) <= set(_CONDITIONS):
        raise HttpError(400, f"want an object with some of {', '.join(_CONDITIONS)}")
    for name, value in body.items():
        if not isinstance(value, _CONDITIONS[name]) or isinstance(value, bool):
            raise HttpError(400, f"{name}: {value!r} is not a value for it")
    if not 0 <= body.get("timeout_s", _WAIT_S) <= _LONGEST_S:
        raise HttpError(400, f"timeout_s: want 0 to {_LONGEST_S:g}")
    return dict(body)
