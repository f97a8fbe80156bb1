"""Checks of requests before an app, and handling of an app's failures.

An ASGI app itself, without sockets and hypercorn: the simulated world calls it directly. Apps are
mounted by path; `/healthz` and `/readyz` are its own. `/` leads on to the admin UI, or lists paths.
"""

import hmac
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Final

import trio

from trio_kafka.introspect.log import Logger
from trio_kafka.plugin_host.mounts import Mount, Mounts
from trio_kafka.security.principal import NOBODY, parse_principal
from trio_kafka_http.credentials import CHALLENGES, token_of
from trio_kafka_http.host_check import Names, same_origin
from trio_kafka_http.plane_statistics import PlaneStatistics
from trio_kafka_http.request_cycle import (
    LINGER_S,
    ClientGoneError,
    Headers,
    Message,
    Peer,
    Receive,
    RequestCycle,
    Send,
)
from trio_kafka_http.request_framing import framing_error
from trio_kafka_http.settings import HttpSettings, endpoints_of

EXTENSION: Final = "trio_kafka"
_LONGEST_PATH: Final = 2048
_OWN: Final = frozenset({"/healthz", "/readyz"})
_ROOT: Final = "/"
_UI: Final = "admin"  # the plugin to which `/` leads
_READ: Final = frozenset({"GET", "HEAD"})
_NEEDED: Final = "a token is needed: Authorization: Bearer, or Basic with the token as password"
_ALLOW: Final = ((b"allow", b"GET, HEAD"),)


class RefusedError(Exception):
    """A request that is rejected before any app. closes: the connection too is closed."""

    def __init__(
        self, status: int, message: str, headers: Headers = (), *, closes: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers
        self.closes = closes


class Dispatcher:
    """Dispatcher of the requests of a plane.

    unready: returns why the broker is not ready, or an empty text.
    failure: returns why the broker stops by itself, or an empty text.
    deadline_s: limit of a request, from its head to the end of its response.
    """

    def __init__(
        self,
        *,
        settings: HttpSettings,
        deadline_s: float,
        mounts: Mounts,
        unready: Callable[[], Sequence[str]],
        failure: Callable[[], str],
        random_bytes: Callable[[int], bytes],
        statistics: PlaneStatistics,
        logger: Logger,
    ) -> None:
        bound = {endpoint.host for endpoint in endpoints_of(settings.listeners)}
        self._names = Names(frozenset(map(str.lower, {*bound, *settings.hosts})) - {""})
        self._settings = settings
        self._deadline_s = deadline_s
        self._token = (settings.token or "").encode()
        self._principal = parse_principal(settings.principal)
        self._mounts = mounts
        self._unready = unready
        self._failure = failure
        self._random_bytes = random_bytes
        self._statistics = statistics
        self._logger = logger

    async def serve(self, scope: Message, receive: Receive, send: Send, *, peer: Peer) -> None:
        """Answer one request, also if the app fails; close the connection if that is
        impossible.
        """
        if scope["type"] != "http":
            await _refuse_websocket(send)
            return
        cycle = RequestCycle(
            request_id=self._random_bytes(8).hex(),
            receive=receive,
            send=send,
            peer=peer,
            most_body=self._settings.max_body_bytes,
        )
        with self._statistics.request(scope, cycle, peer.node):
            deadline = trio.current_time() + self._deadline_s
            peer.answer_by(deadline + LINGER_S)
            with trio.CancelScope(deadline=deadline) as limit:
                await self._answer(scope, cycle, peer=peer, limit=limit)
            if not cycle.ended and not cycle.gone:
                await self._answer_timeout(scope, cycle, late=limit.cancelled_caught)
            if not cycle.ended:
                peer.abort()

    async def _answer(
        self, scope: Message, cycle: RequestCycle, *, peer: Peer, limit: trio.CancelScope
    ) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            self._admit(scope, headers, peer)
            if scope["path"] in _OWN:
                await self._answer_health(scope["path"], scope["method"], cycle)
                return
            if peer.probes_only:
                peer.refuse()
                raise RefusedError(503, "too many connections")
            path = scope["path"]
            if path == _ROOT:
                self._authorize(headers)
                await self._answer_root(scope["method"], cycle)
                return
            mount = self._mounts.find(path) if len(path) <= _LONGEST_PATH else None
            if mount is None or not mount.checks_tokens:
                self._authorize(headers)
            mount = self._check(path, headers, mount)
        except RefusedError as refused:
            await cycle.refuse(
                refused.status, refused.message, refused.headers, closes=refused.closes
            )
        except ClientGoneError:
            pass
        else:
            await self._run(
                mount, self._scope_of(scope, mount, cycle=cycle, peer=peer, limit=limit), cycle
            )

    def _admit(self, scope: Message, headers: Mapping[bytes, bytes], peer: Peer) -> None:
        """Check that the request may be served. Raises RefusedError."""
        if scope["http_version"] not in ("1.0", "1.1"):
            raise RefusedError(505, "only HTTP/1.1 is supported")
        if error := framing_error(scope["http_version"], headers):
            raise RefusedError(400, error, closes=True)
        # hypercorn bounds incomplete heads; a complete one may exceed that by the last receive.
        most = self._settings.max_header_bytes
        if _size_of_head(scope) > most:
            raise RefusedError(431, f"the head is larger than {most} bytes: max.header.bytes")
        host = headers.get(b"host", b"").decode("latin1")
        if not self._names.accepts(host, peer.local):
            raise RefusedError(421, "not a name of this server: add it to plugin.http.hosts")
        origin = headers.get(b"origin")
        if origin is not None and not same_origin(origin.decode("latin1"), host):
            raise RefusedError(403, "requests from pages of other origins are not allowed")

    def _authorize(self, headers: Mapping[bytes, bytes]) -> None:
        if not self._token:
            return
        token = token_of(headers.get(b"authorization", b""))
        if token is None or not hmac.compare_digest(token, self._token):
            raise RefusedError(401, _NEEDED, CHALLENGES)

    def _check(self, path: str, headers: Mapping[bytes, bytes], mount: Mount | None) -> Mount:
        if len(path) > _LONGEST_PATH:
            raise RefusedError(414, f"the path is longer than {_LONGEST_PATH}")
        if mount is None and (reason := self._failure()):
            raise RefusedError(503, f"the broker is stopping: {reason}")
        if mount is None:
            raise RefusedError(404, "nothing is here")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._settings.max_body_bytes:
            raise RefusedError(413, f"the body is larger than {self._settings.max_body_bytes}")
        return mount

    async def _answer_health(self, path: str, method: str, cycle: RequestCycle) -> None:
        """Answer health checks: `/healthz`: the process is alive; `/readyz`: it serves clients."""
        if method not in _READ:
            raise RefusedError(405, "only GET and HEAD", _ALLOW)
        if path == "/healthz":
            await cycle.answer(200, {"status": "alive"})
        elif reasons := list(self._unready()):
            await cycle.answer(503, {"status": "not ready", "reasons": reasons})
        else:
            await cycle.answer(200, {"status": "ready"})

    async def _answer_root(self, method: str, cycle: RequestCycle) -> None:
        """Redirect to the admin UI, if it is mounted; otherwise list the mount paths."""
        if method not in _READ:
            raise RefusedError(405, "only GET and HEAD", _ALLOW)
        mounts = list(self._mounts)
        index = {"paths": sorted([*_OWN, *(mount.path for mount in mounts)])}
        ui = next((mount.path for mount in mounts if mount.owner == _UI), None)
        if ui is None:
            await cycle.answer(200, index)
        else:
            await cycle.answer(307, index, ((b"location", ui.encode()),))

    def _scope_of(
        self,
        scope: Message,
        mount: Mount,
        *,
        cycle: RequestCycle,
        peer: Peer,
        limit: trio.CancelScope,
    ) -> Message:
        """Return the app's scope: mounted, without the token, with the plane's extension."""

        def unlimited() -> None:
            limit.deadline = inf
            peer.answer_by(inf)
            peer.when_left(end_app)

        def end_app() -> None:
            # Nothing else would end an app that waits for events.
            cycle.leave()
            limit.cancel()

        headers = scope["headers"]
        has_token = bool(self._token) and not mount.checks_tokens
        if has_token:
            headers = [header for header in headers if header[0] != b"authorization"]
        extension = {
            "request_id": cycle.request_id,
            "unlimited": unlimited,
            "authorized": has_token,
            "principal": self._principal if has_token else NOBODY,
        }
        return {
            **scope,
            "headers": headers,
            "root_path": scope.get("root_path", "") + mount.path,
            "extensions": {EXTENSION: extension},
        }

    async def _run(self, mount: Mount, scope: Message, cycle: RequestCycle) -> None:
        """Call the app, and handle its failure."""
        cycle.mount = mount.path
        report = partial(self._fail, mount=mount, scope=scope, cycle=cycle)
        try:
            await mount.app(scope, cycle.receive, cycle.send)
        except BaseExceptionGroup as errors:
            stopped, rest = errors.split(trio.Cancelled)
            if rest is not None:
                report(rest)
            if stopped is not None:
                raise stopped from None
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - an app's failure
            report(error)
        else:
            if not cycle.ended and not cycle.gone:
                report(None)

    def _fail(
        self, error: BaseException | None, *, mount: Mount, scope: Message, cycle: RequestCycle
    ) -> None:
        """Log and answer a failure. error: None: the app returned too early."""
        if cycle.too_large:
            return
        level = logging.DEBUG if cycle.gone else logging.ERROR
        self._logger.log(
            level,
            "an app failed" if error is not None else "app sent an incomplete response",
            plugin=mount.owner,
            mount=mount.path,
            method=scope["method"],
            path=scope["path"],
            request=cycle.request_id,
            exc_info=error,
        )

    async def _answer_timeout(self, scope: Message, cycle: RequestCycle, *, late: bool) -> None:
        """Answer a request that ran out of time, unless a response has begun."""
        if late:
            self._logger.warning(
                "request deadline expired",
                mount=cycle.mount,
                method=scope["method"],
                path=scope["path"],
                request=cycle.request_id,
            )
        with trio.move_on_after(LINGER_S):
            try:
                if cycle.too_large:
                    most = self._settings.max_body_bytes
                    await cycle.refuse(413, f"the body is larger than {most}")
                elif late and cycle.starved:
                    await cycle.refuse(408, "the body did not arrive in time")
                elif late:
                    await cycle.refuse(503, "no response within plugin.http.deadline.ms")
                else:
                    await cycle.refuse(500, "the app failed; see the broker's log")
            except ClientGoneError:
                pass


def _size_of_head(scope: Message) -> int:
    """Return the bytes of a request's head as HTTP/1.1 on the wire, with single spaces."""
    path = len(scope["raw_path"]) + len(scope["query_string"])
    line = len(scope["method"]) + path + len(" ? HTTP/1.1\r\n")
    return line + sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"])


async def _refuse_websocket(send: Send) -> None:
    start = {"type": "websocket.http.response.start", "status": 501, "headers": []}
    await send(start)
    await send({"type": "websocket.http.response.body", "body": b"", "more_body": False})
