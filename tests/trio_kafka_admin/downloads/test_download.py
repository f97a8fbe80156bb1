"""Sending of downloads."""

import gzip
import json

from trio.testing import MockClock

from tests.trio_kafka_admin.kit import admin_ui


async def test_a_download_is_compressed_for_clients_that_accept_it(
    autojump_clock: MockClock,
) -> None:
    target = "/admin/download/trace?seconds=1"
    async with admin_ui() as ui:
        small = await ui.ask(target, **{"accept-encoding": "gzip"})
        plain = await ui.ask(target)

    assert small.headers["content-encoding"] == "gzip"
    assert int(small.headers["content-length"]) == len(small.body)
    assert "content-encoding" not in plain.headers
    assert int(plain.headers["content-length"]) == len(plain.body)
    assert json.loads(gzip.decompress(small.body)).keys() == json.loads(plain.body).keys()


async def test_head_answers_without_a_body_and_with_the_guards(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        answer = await ui.ask("/admin/download/snapshot", "HEAD")

    assert answer.status == 200
    assert answer.body == b""
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
