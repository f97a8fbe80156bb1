"""A schema registry of a few lines, as an ASGI app."""

import json
from typing import Any

import httpx
import trio
from attrs import define, field


@define(eq=False, kw_only=True)
class RegistryApp:
    """schemas: answers by id. It waits `delay_s` before each, and answers `broken` if that is set.

    requested: paths, as they came.
    """

    schemas: dict[int, dict[str, Any]] = field(factory=dict)
    delay_s: float = 0.0
    broken: tuple[int, bytes] | None = None
    requested: list[str] = field(factory=list)

    @property
    def transport(self) -> httpx.AsyncBaseTransport:
        return httpx.ASGITransport(app=self)

    async def __call__(self, scope: Any, _: Any, send: Any) -> None:
        self.requested.append(scope["path"])
        await trio.sleep(self.delay_s)
        status, body = self.broken or self._answer(scope["path"])
        headers = [(b"content-type", b"application/vnd.schemaregistry.v1+json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _answer(self, path: str) -> tuple[int, bytes]:
        schema = self.schemas.get(int(path.rpartition("/")[2]))
        if schema is None:
            return 404, b'{"error_code": 40403, "message": "Schema not found"}'
        return 200, json.dumps(schema).encode()
