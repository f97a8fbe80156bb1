"""A token endpoint in a thread, with answers that a test gives."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from attrs import Factory, define

from trio_kafka.strict_json import dump_json


class TokenRequest(NamedTuple):
    """Request of a client: its credentials as they are in the header, and its form."""

    credentials: str | None
    form: bytes


@define
class Endpoint:
    """answer: returns status and document, or bytes, of the next request."""

    url: str
    answer: Callable[[], tuple[int, Any]]
    requests: list[TokenRequest] = Factory(list)


@contextmanager
def token_endpoint(
    answer: Callable[[], tuple[int, Any]], *, tls: ssl.SSLContext | None = None
) -> Iterator[Endpoint]:
    """Serve an endpoint for the duration of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"] or 0))
            endpoint.requests.append(TokenRequest(self.headers["Authorization"], form))
            status, document = endpoint.answer()
            body = document if isinstance(document, bytes) else dump_json(document).encode()
            self.send_response(status)
            self.send_header("Location", "/other")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815 - the name of the interface

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        scheme = "http" if tls is None else "https"
        endpoint = Endpoint(f"{scheme}://127.0.0.1:{server.server_port}/token", answer)
        try:
            yield endpoint
        finally:
            server.shutdown()
            thread.join()


def granted(text: str) -> Callable[[], tuple[int, Any]]:
    """Answer each request with a token."""
    return lambda: (200, {"access_token": text, "token_type": "Bearer"})
