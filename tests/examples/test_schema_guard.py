"""The example that refuses what does not fit: its tests, its README, a real client, a registry."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.examples.packages import Example, run_at, serving

pytestmark = pytest.mark.slow
GUARD = Example("schema_guard")


@pytest.mark.timeout(120)
def test_the_tests_of_the_schema_guard_example_pass() -> None:
    assert "passed" in GUARD.run_tests()


def send(bootstrap: str, topic: str, *values: bytes) -> list[KafkaError | None]:
    """Send values one after the other; return the error of each to an idempotent producer."""
    errors: list[KafkaError | None] = []
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "compression.type": "zstd"}
    )
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(20) == 0
    return errors


def create(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    try:
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(20)
    except KafkaException as error:
        raise AssertionError(str(error)) from error


@contextmanager
def registry(schema: str) -> Iterator[str]:
    """A registry on loopback with one schema, 7; its address."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_schema = self.path == "/schemas/ids/7"
            body = json.dumps(
                {"schema": schema, "schemaType": "JSON"} if is_schema else {}
            ).encode()
            self.send_response(200 if is_schema else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Nothing: the test's output is its own."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_the_commands_of_the_schema_guard_readme_work_with_a_real_client(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    [schema] = GUARD.blocks("json")
    (tmp_path / "schemas" / "orders.json").write_text(schema)
    [block] = GUARD.blocks("sh")
    _, start, listed = block.splitlines()
    setting = start.partition(" -c ")[2].replace("=schemas", f"={tmp_path / 'schemas'}")

    with serving(GUARD, tmp_path, setting) as broker:
        create(broker.bootstrap, "orders")
        errors = send(
            broker.bootstrap, "orders", b'{"total": 1}', b'{"total": -1}', b'{"total": 2}'
        )
        printed = run_at(broker, listed)

    assert errors[0] is None
    assert errors[1] is not None
    assert errors[1].code() == KafkaError.INVALID_RECORD
    assert errors[2] is None
    assert "ready" in printed
    assert "/total: a value is less than the minimum of 0" in (GUARD.path / "README.md").read_text()


def test_records_are_validated_with_a_schema_from_the_registry(tmp_path: Path) -> None:
    framed = b"\x00\x00\x00\x00\x07"
    with registry('{"type": "integer"}') as address:
        settings = [
            "plugin.schema_guard.topics=numbers-*",
            f"plugin.schema_guard.registry={address}",
            "plugin.schema_guard.registry.deadline.ms=20000",  # the host may be slow
        ]
        with serving(GUARD, tmp_path, *settings) as broker:
            create(broker.bootstrap, "numbers-1")
            errors = send(broker.bootstrap, "numbers-1", framed + b"1", framed + b'"x"', b"1")

    assert [error and error.code() for error in errors] == [
        None,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_RECORD,
    ], broker.log.read_text()
