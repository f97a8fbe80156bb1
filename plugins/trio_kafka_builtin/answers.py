"""What the ASGI apps of these plugins have in common: bodies of JSON, errors in JSON."""

import json
from typing import Any

from trio_kafka.hosting.mounts import Receive


class HttpError(Exception):
    """An answer that says what is wrong with a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def read_json(receive: Receive, most: int) -> Any:
    """The body of a request. most: bytes; it is parsed in one turn of the loop.

    Raises HttpError.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HttpError(400, "the client has left")
        body += message.get("body", b"")
        if len(body) > most:
            raise HttpError(413, f"the body is larger than {most}")
        if not message.get("more_body", False):
            break
    try:
        return json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise HttpError(400, f"the body is no JSON: {error}") from None
