"""Pictures of the landing page in trouble, as drills leave it; `make troubles` keeps them."""

import os
import struct
import zlib
from base64 import b64decode
from functools import partial
from pathlib import Path

import pytest
import trio
from selenium.webdriver import Chrome
from trio.testing import MockClock

from tests.apis.kit import fetch_request
from tests.e2e.browser import browser
from tests.e2e.views import set_view
from tests.trio_kafka_admin.drills.kit import drill
from tests.trio_kafka_admin.drills.troubles import DIRECTORY, PICTURES, standalone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

WIDTH, TALLEST = 900, 470
LARGEST = 90_000  # bytes
CLIP = """
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    return [box("#live .headline").top + scrollY, box("#live .way").bottom + scrollY];
"""


def test_pictures_of_troubles_are_small(tmp_path: Path) -> None:
    kept = os.environ.get(DIRECTORY)
    source, target = (tmp_path, tmp_path) if kept is None else (Path(kept), PICTURES)
    if kept is None:
        trio.run(partial(leave_page, tmp_path), clock=MockClock(autojump_threshold=0))
    target.mkdir(parents=True, exist_ok=True)
    with browser() as driver:
        for page in sorted(source.glob("*.html")):
            picture = target / f"{page.stem}.png"
            take(driver, page, picture)
            assert 5_000 < picture.stat().st_size < LARGEST


async def leave_page(directory: Path) -> None:
    """Leave the landing page of a broker in which a fetch waits for its bytes."""
    async with drill() as exercise:
        topic = await exercise.served.create_topic("rare")
        request = fetch_request(topic, 0, max_wait_ms=30_000, min_bytes=100_000)
        exercise.hang(request, "nightly-export")
        await exercise.find("waiting-fetch")
        landing = await exercise.ui.ask("/admin/overview")
        (directory / "min-bytes.html").write_text(standalone(landing.body.decode()))


def take(driver: Chrome, page: Path, picture: Path) -> None:
    """Write a picture of headline, findings and the way of a request, down to TALLEST."""
    set_view(driver, WIDTH, "light", 2000)
    driver.get(page.as_uri())
    top, bottom = driver.execute_script(CLIP)
    height = min(bottom - top + 8, TALLEST)
    clip = {"x": 0, "y": top, "width": WIDTH, "height": height, "scale": 1}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
    picture.write_bytes(recompressed(b64decode(shot["data"])))


def recompressed(png: bytes) -> bytes:
    """A PNG with its pixels compressed as far as zlib can; a browser does it fast instead."""
    head, chunks, position = png[:8], list[tuple[bytes, bytes]](), 8
    while position < len(png):
        (size,) = struct.unpack_from(">I", png, position)
        kind, data = png[position + 4 : position + 8], png[position + 8 : position + 8 + size]
        chunks.append((kind, data))
        position += size + 12
    pixels = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    parts = [
        (b"IHDR", chunks[0][1]),
        (b"IDAT", zlib.compress(pixels, 9)),
        (b"IEND", b""),
    ]
    return head + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
