"""The ASGI app of the test controls: one path below the mount for each control.

The first word of the path names the control (`faults`, `requests`, `versions`), the rest is its
own. Responses are JSON; an error has `error_code` and `message`.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, Protocol
from urllib.parse import parse_qsl, unquote

from trio_kafka.attributes import frozen
from trio_kafka.plugin_host.mounts import Receive, Scope, Send
from trio_kafka_builtin.faults.settings import FaultSettings
from trio_kafka_http.asgi_json import HttpError, read_json, send_json

PLANE: Final = "trio_kafka"  # the plane's extension of the scope
_NOT_GUARDED: Final = (
    "test controls need credentials: set plugin.http.token, log in as a user, or start the broker"
    " with --testing"
)


Answer = tuple[int, Mapping[str, object] | None]
"""Status, and the body as JSON types."""


@frozen(kw_only=True)
class ControlRequest:
    """Request to a control. names: words of the path behind the control's name."""

    method: str
    names: tuple[str, ...]
    query: Mapping[str, str]
    read_body: Callable[[], Awaitable[object]]
    unlimited: Callable[[], None]

    def no_such(self) -> HttpError:
        """Return the error for a method or path that the control does not have."""
        return HttpError(405, f"{self.method} is not a method of /{'/'.join(self.names)} here")


class Control(Protocol):
    """Control of the running broker below one path. `answer` raises HttpError."""

    async def answer(self, request: ControlRequest) -> Answer: ...


class TestingApp:
    """ASGI app of the test controls. controls: by the first word of the path."""

    def __init__(self, settings: FaultSettings, controls: Mapping[str, Control]) -> None:
        self._settings = settings
        self._controls = controls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a test control, or send its error."""
        try:
            status, body = await self._answer(scope, receive)
        except HttpError as error:
            status = error.status
            body = {"error_code": status, "message": str(error)}
        await send_json(send, status, body)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        """Answer a request. Raises HttpError."""
        plane = scope.get("extensions", {}).get(PLANE, {})
        if self._settings.token_required and not plane.get("authorized", False):
            raise HttpError(403, _NOT_GUARDED)
        root = scope.get("root_path", "") or self._settings.path
        words = [unquote(word) for word in scope["path"].removeprefix(root).strip("/").split("/")]
        if words == [""]:
            return 200, {"controls": sorted(self._controls)}
        control = self._controls.get(words[0])
        if control is None:
            names = ", ".join(sorted(self._controls))
            raise HttpError(404, f"no control {words[0][:40]!r}: there are {names}")
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin1"), True))
        return await control.answer(
            ControlRequest(
                method=scope["method"],
                names=tuple(words[1:]),
                query=query,
                read_body=partial(read_json, receive, self._settings.max_body_bytes),
                unlimited=plane.get("unlimited", _nothing),
            )
        )


def _nothing() -> None:
    """Lift no limit, for a plane without one."""
