"""The controls of a running broker: fault rules, recorded requests, limits of API versions."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.controls.api_limits import ApiLimits, NoVersionLeftError
from trio_kafka.controls.api_names import UnknownApiError
from trio_kafka.controls.controls import Controls
from trio_kafka.controls.faults import Fault, Faults, RuleError
from trio_kafka.controls.faults.faults import RemovedError
from trio_kafka.controls.faults.tables import rule_of, table_of
from trio_kafka.controls.recorder import RecordedRequest, Recorder
from trio_kafka.introspect.log import Logger
from trio_kafka.introspect.tree import Node
from trio_kafka.plugin import PluginContext
from trio_kafka.requests.registry import Registry
from trio_kafka.strict_json import dump_json
from trio_kafka_builtin.faults.app import Answer, Control, ControlRequest
from trio_kafka_builtin.faults.job_control import JobControl
from trio_kafka_builtin.faults.settings import FaultSettings
from trio_kafka_builtin.faults.state_controls import ClockControl, GroupControl
from trio_kafka_http.asgi_json import HttpError, read_number

_WAIT_S: Final = 30.0
_LONGEST_WAIT_S: Final = 3600.0
_SHOWN: Final = 1000  # recorded requests in one response
_CONDITIONS: Final = ("topic", "group", "client_id", "principal")


@contextmanager
def open_controls(
    context: PluginContext[FaultSettings], node: Node
) -> Iterator[Mapping[str, Control]]:
    """Yield the controls by name; at the end remove rules, records and limits."""
    settings = context.settings
    controls = Controls(
        context,
        seed=settings.seed,
        most_rules=settings.most,
        most_requests=settings.most_requests,
        node=node,
    )
    try:
        yield {
            "faults": FaultControl(controls.faults, context.parts.apis, context.logger),
            "requests": RequestControl(controls.recorder),
            "versions": VersionControl(controls.limits),
            "clock": ClockControl(context),
            "groups": GroupControl(context),
            "jobs": JobControl(context),
        }
    finally:
        controls.clear()


@frozen
class FaultControl:
    """`/faults`: rules are listed, added, waited for, released, removed."""

    _faults: Faults
    _apis: Registry
    _logger: Logger

    async def answer(self, request: ControlRequest) -> Answer:
        """Answer a request. Raises HttpError."""
        match request.method, *request.names:
            case ["GET"]:
                return 200, {"rules": [_shown(fault) for fault in self._faults]}
            case ["POST"]:
                return 201, self._add(await request.read_body())
            case ["DELETE"]:
                self._faults.clear()
                return 204, None
            case [_, name, *_]:
                return await self._answer_for(self._find(name), request)
        raise request.no_such()

    async def _answer_for(self, fault: Fault, request: ControlRequest) -> Answer:
        """Answer a request for one rule. Raises HttpError."""
        match request.method, *request.names[1:]:
            case ["GET"]:
                return 200, _shown(fault)
            case ["DELETE"]:
                fault.remove()
                return 204, None
            case ["POST", "release"]:
                fault.release()
                return 200, _shown(fault)
            case ["POST", "wait"]:
                return await self._wait(fault, request)
        raise request.no_such()

    def _find(self, name: str) -> Fault:
        fault = self._faults.find(name)
        if fault is None:
            raise HttpError(404, f"no rule {name[:80]!r}")
        return fault

    def _add(self, body: object) -> Mapping[str, object]:
        """Add one rule, or the rules of `{"rules": [...]}`, all or none."""
        if isinstance(body, dict) and set(body) == {"rules"}:
            several, tables = True, body["rules"]
        else:
            several, tables = False, [body]
        try:
            if not isinstance(tables, list):
                raise RuleError("rules: want a list of rules")
            added = self._faults.add_all([rule_of(table, self._apis) for table in tables])
        except RuleError as error:
            text = str(error) if several else str(error).removeprefix("rule 1: ")
            raise HttpError(400, text) from None
        for fault in added:
            self._logger.warning("fault rule added", rule=dump_json(table_of(fault.rule)))
        shown = [_shown(fault) for fault in added]
        return {"rules": shown} if several else shown[0]

    async def _wait(self, fault: Fault, request: ControlRequest) -> Answer:
        """Wait for hits: `{"hits": 1, "timeout_s": 30}`."""
        hits, timeout_s = _wait_of(await request.read_body(), "hits")
        request.unlimited()
        try:
            with trio.fail_after(timeout_s):
                await fault.wait(hits)
        except trio.TooSlowError:
            raise HttpError(
                408, f"rule {fault.name} had {fault.hits} of {hits} hits after {timeout_s:g} s"
            ) from None
        except RemovedError as error:
            raise HttpError(410, str(error)) from None
        return 200, _shown(fault)


@frozen
class RequestControl:
    """`/requests`: recorded requests are listed, waited for, discarded; recording starts, stops."""

    _recorder: Recorder

    async def answer(self, request: ControlRequest) -> Answer:
        """Answer a request. Raises HttpError."""
        recorder = self._recorder
        match request.method, *request.names:
            case ["GET"]:
                return 200, self._list(self._select(request.query), request)
            case ["DELETE"]:
                recorder.clear()
                return 204, None
            case ["POST", "start"]:
                recorder.start()
                return 200, self._state()
            case ["POST", "stop"]:
                recorder.stop()
                return 200, self._state()
            case ["POST", "wait"]:
                return await self._wait(request)
            case ["GET", "frames"]:
                from trio_kafka.controls.recorder.frames import saved  # noqa: PLC0415 - seldom

                lines = saved(self._select(request.query)).splitlines()
                return 200, {"frames": [json.loads(line) for line in lines]}
        raise request.no_such()

    def _state(self) -> dict[str, object]:
        recorder = self._recorder
        return {
            "recording": recorder.is_on,
            "recorded": len(recorder.requests()),
            "dropped": recorder.dropped,
        }

    def _select(self, query: Mapping[str, str]) -> list[RecordedRequest]:
        api, conditions = _selection_of(query)
        try:
            return self._recorder.requests(api, **conditions)
        except UnknownApiError as error:
            raise HttpError(400, str(error)) from None

    def _list(self, recorded: list[RecordedRequest], request: ControlRequest) -> dict[str, object]:
        limit = read_number(request.query, "limit", _SHOWN, low=0, high=_SHOWN)
        with_message = request.query.get("message") == "true"
        return {
            **self._state(),
            "count": len(recorded),
            "requests": [
                _shown_request(entry, with_message=with_message)
                for entry in recorded[max(len(recorded) - limit, 0) :]
            ],
        }

    async def _wait(self, request: ControlRequest) -> Answer:
        """Wait for requests: `{"count": 1, "timeout_s": 30}`, with conditions in the query."""
        count, timeout_s = _wait_of(await request.read_body(), "count")
        api, conditions = _selection_of(request.query)
        request.unlimited()
        try:
            with trio.fail_after(timeout_s):
                recorded = await self._recorder.wait(count, api, **conditions)
        except UnknownApiError as error:
            raise HttpError(400, str(error)) from None
        except trio.TooSlowError:
            have = len(self._select(request.query))
            raise HttpError(408, f"{have} of {count} requests after {timeout_s:g} s") from None
        return 200, self._list(recorded, request)


@frozen
class VersionControl:
    """`/versions`: versions of APIs are listed and capped; APIs are switched off and restored."""

    _limits: ApiLimits

    async def answer(self, request: ControlRequest) -> Answer:
        """Answer a request. Raises HttpError."""
        try:
            match request.method, *request.names:
                case ["GET"]:
                    return 200, self._shown()
                case ["DELETE"]:
                    self._limits.clear()
                    return 204, None
                case ["DELETE", api]:
                    self._limits.restore(api)
                    return 204, None
                case ["POST", api]:
                    self._limit(api, await request.read_body())
                    return 200, self._shown()
        except (UnknownApiError, NoVersionLeftError) as error:
            raise HttpError(400, str(error)) from None
        raise request.no_such()

    def _limit(self, api: str, body: object) -> None:
        """Cap an API by `{"last": 11}`, or switch it off by `{"off": true}`."""
        match body:
            case {"off": True, **rest} if not rest:
                self._limits.switch_off(api)
            case {"last": int(last), **rest} if not rest and not isinstance(last, bool):
                self._limits.cap_versions(api, last)
            case _:
                raise HttpError(400, 'want {"last": VERSION} or {"off": true}')

    def _shown(self) -> dict[str, object]:
        served = {api.api: {"first": api.first, "last": api.last} for api in self._limits.served}
        limited = {api: list(versions) for api, versions in self._limits.limited.items()}
        return {"versions": served, "limits": limited}


def _shown(fault: Fault) -> dict[str, object]:
    """Return the table of a rule with its counts."""
    counts = {"seen": fault.seen, "hits": fault.hits, "held": fault.held}
    return {**table_of(fault.rule), **counts}


def _shown_request(request: RecordedRequest, *, with_message: bool) -> dict[str, object]:
    shown = {
        "number": request.number,
        "api": request.api,
        "version": request.version,
        "correlation": request.correlation,
        "client_id": request.client_id,
        "principal": request.principal,
        "listener": request.listener,
        "connection": request.connection,
        "topics": request.topics,
    }
    if with_message:
        from trio_kafka.protocol.json_data import to_data  # noqa: PLC0415 - 30 ms, seldom

        shown["message"] = to_data(request.message)
    return shown


def _selection_of(query: Mapping[str, str]) -> tuple[str | None, dict[str, Any]]:
    """Return the API and the conditions of a query. Raises HttpError."""
    allowed = ("api", "partition", "limit", "message", *_CONDITIONS)
    for name in query:
        if name not in allowed:
            raise HttpError(400, f"unknown condition {name[:40]!r}: want some of {allowed}")
    conditions: dict[str, Any] = {name: query[name] for name in _CONDITIONS if name in query}
    if "partition" in query:
        conditions["partition"] = read_number(query, "partition", 0)
    return query.get("api"), conditions


def _wait_of(body: object, count_field: str) -> tuple[int, float]:
    """Return the number to wait for, and the time limit. Raises HttpError."""
    if not isinstance(body, dict) or not set(body) <= {count_field, "timeout_s"}:
        raise HttpError(400, f'want {{"{count_field}": NUMBER, "timeout_s": SECONDS}}')
    count, timeout_s = body.get(count_field, 1), body.get("timeout_s", _WAIT_S)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise HttpError(400, f"{count_field}: {count!r}, want a number of at least 1")
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if not is_number or not 0 <= timeout_s <= _LONGEST_WAIT_S:
        raise HttpError(400, f"timeout_s: {timeout_s!r}, want 0 to {_LONGEST_WAIT_S:g}")
    return count, float(timeout_s)
