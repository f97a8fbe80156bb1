"""Handling of requests before an app, and of an app's failures.

An ASGI app itself, without sockets and hypercorn: the simulated world calls it directly. Apps are
mounted by path; `/healthz`, `/readyz`, `/login` and `/logout` are its own. `/` leads on to the
admin UI, or lists paths. `admission` and `access` decide about a request.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Final

import trio

from trio_kafka.introspect.log import Logger
from trio_kafka.plugin_host.mounts import Mount, Mounts
from trio_kafka.security.operations import Operation
from trio_kafka_http.access import Access, Visitor
from trio_kafka_http.admission import READ, RefusedError, check_request, is_navigation
from trio_kafka_http.cookies import without_session
from trio_kafka_http.host_check import Names
from trio_kafka_http.login_app import PATHS, answer_login
from trio_kafka_http.login_page import PAGE_HEADERS, login_address, refusal_page, safe_next
from trio_kafka_http.plane_statistics import PlaneStatistics
from trio_kafka_http.request_cycle import (
    LINGER_S,
    BodyTooLargeError,
    ClientGoneError,
    Message,
    Peer,
    Receive,
    RequestCycle,
    Send,
)
from trio_kafka_http.settings import HttpSettings, endpoints_of

EXTENSION: Final = "trio_kafka"
_LONGEST_PATH: Final = 2048
_OWN: Final = frozenset({"/healthz", "/readyz"})
_ROOT: Final = "/"
_UI: Final = "admin"  # the plugin to which `/` leads
_ALLOW: Final = ((b"allow", b"GET, HEAD"),)


class Dispatcher:
    """Dispatcher of the requests of a plane.

    unready: returns why the broker is not ready, or an empty text.
    failure: returns why the broker stops by itself, or an empty text.
    access: to all but its own paths.
    deadline_s: limit of a request, from its head to the end of its response.
    """

    def __init__(
        self,
        *,
        settings: HttpSettings,
        access: Access,
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
        self._access = access
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
            check_request(
                scope,
                headers,
                local=peer.local,
                names=self._names,
                most=self._settings.max_header_bytes,
            )
            path = scope["path"]
            if path in _OWN:
                await self._answer_health(path, scope["method"], cycle)
                return
            if peer.probes_only:
                peer.refuse()
                raise RefusedError(503, "too many connections")
            if path in PATHS:
                await answer_login(scope, headers, cycle, self._access)
                return
            mount = self._mounts.find(path) if len(path) <= _LONGEST_PATH else None
            visitor = await self._authorize(scope, headers, mount)
            if path == _ROOT:
                await self._answer_root(scope["method"], cycle)
                return
            mount = self._check(path, headers, mount)
        except RefusedError as refused:
            await self._refuse(refused, scope, headers, cycle)
        except BodyTooLargeError:
            pass  # answered by `serve`
        except ClientGoneError:
            pass
        else:
            app_scope = self._scope_of(scope, mount, visitor, cycle=cycle, peer=peer, limit=limit)
            await self._run(mount, app_scope, cycle)

    async def _authorize(
        self, scope: Message, headers: Mapping[bytes, bytes], mount: Mount | None
    ) -> Visitor:
        """Return the visitor of a request that is allowed. Raises RefusedError."""
        if mount is not None and mount.checks_tokens:
            return Visitor()
        visitor = await self._access.identify(scope, headers)
        needed = None
        if mount is not None:
            needed = mount.look if scope["method"] in READ else mount.change
        elif scope["path"] == _ROOT:
            needed = Operation.DESCRIBE  # it lists what is mounted
        self._access.check(visitor, scope, headers, needed)
        return visitor

    async def _refuse(
        self,
        refused: RefusedError,
        scope: Message,
        headers: Mapping[bytes, bytes],
        cycle: RequestCycle,
    ) -> None:
        """Answer a rejected request; a person gets the login, or a page."""
        address = scope["raw_path"] + (
            b"?" + scope["query_string"] if scope["query_string"] else b""
        )
        next_path = safe_next(address.decode("latin1"))
        is_for_person = refused.status in (401, 403) and is_navigation(scope, headers)
        if is_for_person and refused.status == 401 and b"authorization" not in headers:
            location = login_address(next_path).encode()
            await cycle.answer(303, {"message": refused.message}, ((b"location", location),))
        elif is_for_person and refused.status == 403:
            page = refusal_page(refused.message, next_path)
            await cycle.answer_page(403, page, (*PAGE_HEADERS, *refused.headers))
        else:
            await cycle.refuse(
                refused.status, refused.message, refused.headers, closes=refused.closes
            )

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
        if method not in READ:
            raise RefusedError(405, "only GET and HEAD", _ALLOW)
        if path == "/healthz":
            await cycle.answer(200, {"status": "alive"})
        elif reasons := list(self._unready()):
            await cycle.answer(503, {"status": "not ready", "reasons": reasons})
        else:
            await cycle.answer(200, {"status": "ready"})

    async def _answer_root(self, method: str, cycle: RequestCycle) -> None:
        """Redirect to the admin UI, if it is mounted; otherwise list the mount paths."""
        if method not in READ:
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
        visitor: Visitor,
        *,
        cycle: RequestCycle,
        peer: Peer,
        limit: trio.CancelScope,
    ) -> Message:
        """Return the app's scope: mounted, without credentials, with the plane's extension."""

        def unlimited() -> None:
            limit.deadline = inf
            peer.answer_by(inf)
            peer.when_left(end_app)

        def end_app() -> None:
            # Nothing else would end an app that waits for events.
            cycle.leave()
            limit.cancel()

        headers = without_session(scope)
        if visitor.is_known:
            headers = [header for header in headers if header[0] != b"authorization"]
        extension = {
            "request_id": cycle.request_id,
            "unlimited": unlimited,
            "authorized": visitor.is_known,
            "principal": visitor.principal,
            "has_session": bool(visitor.session),
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


async def _refuse_websocket(send: Send) -> None:
    start = {"type": "websocket.http.response.start", "status": 501, "headers": []}
    await send(start)
    await send({"type": "websocket.http.response.body", "body": b"", "more_body": False})
