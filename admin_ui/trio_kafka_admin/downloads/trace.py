"""Download of a trace: what runs in the next seconds, for Perfetto."""

from typing import Final

from trio_kafka.introspect.chrome_trace import chrome_trace
from trio_kafka_admin.compressed_body import CompressedBody, compress
from trio_kafka_admin.downloads.download import Download, Source
from trio_kafka_http.asgi_json import HttpError

SECONDS: Final = 10
MOST_SECONDS: Final = 20  # below the default deadline of a request
_EVENTS_PER_TURN: Final = 64  # 0.5 ms


async def _make(source: Source) -> CompressedBody:
    seconds = source.query.number("seconds", SECONDS, low=1, high=MOST_SECONDS)
    if source.recording.locked():
        raise HttpError(503, "another recording is under way")
    async with source.recording:
        recording = await source.reader.record(seconds)
    return await compress(chrome_trace(recording), most=_EVENTS_PER_TURN)


TRACE: Final = Download(
    name="trace",
    file_name="trio-kafka-trace.json",
    content_type="application/json",
    make=_make,
)
