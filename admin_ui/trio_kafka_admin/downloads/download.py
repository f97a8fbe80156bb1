"""The interface of a download: a file that is made when a viewer asks for it."""

from collections.abc import Awaitable, Callable, Mapping

import trio
from attrs import frozen

from trio_kafka.plugin_host.mounts import Scope, Send
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.compressed_body import CompressedBody, accepts_gzip
from trio_kafka_admin.page_registry import PageRegistry
from trio_kafka_admin.query import Query
from trio_kafka_admin.responses import GUARDS
from trio_kafka_admin.static_files import StaticFile


@frozen(kw_only=True)
class Source:
    """Sources of a download. recording: held while a trace is recorded, which slows tasks."""

    reader: BrokerReader
    query: Query
    registry: PageRegistry
    static: Mapping[str, StaticFile]
    recording: trio.Lock


@frozen(kw_only=True)
class Download:
    """File to keep.

    name: last part of its address. file_name: as which a browser keeps it. make: returns its
    content; raises HttpError for a bad query, and KafkaError.
    """

    name: str
    file_name: str
    content_type: str
    make: Callable[[Source], Awaitable[CompressedBody]]


async def send_download(
    scope: Scope, send: Send, download: Download, body: CompressedBody | None
) -> None:
    """Send a file, with gzip if the client accepts it; a browser keeps it under its name.

    body: None: only the head, without a length.
    """
    is_gzip = accepts_gzip(dict(scope["headers"]).get(b"accept-encoding", b""))
    headers = [
        (b"content-type", download.content_type.encode()),
        (b"content-disposition", f'attachment; filename="{download.file_name}"'.encode()),
        *([] if body is None else [(b"content-length", _length(body, is_gzip=is_gzip))]),
        (b"cache-control", b"no-store"),
        (b"vary", b"accept-encoding"),
        *([(b"content-encoding", b"gzip")] if is_gzip else ()),
        *GUARDS,
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if body is not None:
        for chunk in body.chunks if is_gzip else body.decompressed():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await trio.lowlevel.checkpoint()
    await send({"type": "http.response.body", "body": b""})


def _length(body: CompressedBody, *, is_gzip: bool) -> bytes:
    return str(body.compressed_size if is_gzip else body.size).encode()
