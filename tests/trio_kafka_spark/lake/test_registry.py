import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from trio_kafka.testing.ports import unused_port
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.lake.registry import Registry, RegistrySettings, UnknownSchemaError, split_id

Answer = tuple[int, bytes]


class Served:
    """A registry on loopback: answers by path, and what was asked with which credentials."""

    def __init__(self, answers: dict[str, Callable[[int], Answer]]) -> None:
        self.requested_paths: list[str] = []
        self.credentials: list[str | None] = []
        served = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                served.requested_paths.append(self.path)
                served.credentials.append(self.headers.get("Authorization"))
                answer = answers.get(self.path, lambda _: (404, b'{"error_code": 40403}'))
                status, body = answer(served.requested_paths.count(self.path))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def registry_with(answers: dict[str, Callable[[int], Answer]]) -> Iterator[Served]:
    served = Served(answers)
    thread = threading.Thread(target=served.server.serve_forever)
    thread.start()
    try:
        yield served
    finally:
        served.server.shutdown()
        served.server.server_close()
        thread.join()


def schema_answer(schema: Any, **more: Any) -> Callable[[int], Answer]:
    return lambda _: (200, json.dumps({"schema": json.dumps(schema), **more}).encode())


def client(url: str, **settings: Any) -> Registry:
    return Registry(RegistrySettings(url=url, **settings), sleep=lambda _: None)


def test_the_schema_id_is_split_from_the_data() -> None:
    assert split_id(b"\x00\x00\x00\x01\x02data") == (258, b"data")


@pytest.mark.parametrize(
    ("value", "reason"),
    [(b"", "0 bytes: want magic"), (b"\x00\x00", "2 bytes"), (b"{abcd", "magic byte 123: want 0")],
)
def test_a_value_without_a_schema_id_is_refused_with_the_reason(value: bytes, reason: str) -> None:
    with pytest.raises(UnknownSchemaError, match=reason):
        split_id(value)


def test_a_schema_is_requested_from_the_registry_once() -> None:
    with registry_with({"/schemas/ids/7": schema_answer("long")}) as served:
        registry = client(served.url)

        assert [registry.schema(7), registry.schema(7)] == ["long", "long"]
        assert served.requested_paths == ["/schemas/ids/7"]


def test_an_unknown_schema_id_is_requested_again_only_after_a_minute() -> None:
    now = 100.0
    with registry_with({}) as served:
        registry = Registry(RegistrySettings(url=served.url), now=lambda: now)
        for _ in range(3):
            with pytest.raises(UnknownSchemaError, match="the registry has no /schemas/ids/8"):
                registry.schema(8)
        assert len(served.requested_paths) == 1

        now += 61
        with pytest.raises(UnknownSchemaError):
            registry.schema(8)
        assert len(served.requested_paths) == 2


def test_a_request_is_repeated_after_status_503_of_the_registry() -> None:
    def stumbling(times: int) -> Answer:
        return (503, b"") if times < 3 else schema_answer("int")(times)

    with registry_with({"/schemas/ids/1": stumbling}) as served:
        assert client(served.url).schema(1) == "int"
        assert len(served.requested_paths) == 3


def test_a_request_is_not_repeated_after_status_401_of_the_registry() -> None:
    with registry_with({"/schemas/ids/1": lambda _: (401, b"")}) as served:
        with pytest.raises(SourceError, match=r"\[SCHEMA_REGISTRY_UNAVAILABLE\].*status 401"):
            client(served.url).schema(1)
        assert len(served.requested_paths) == 1


def test_an_unreachable_registry_fails_the_task() -> None:
    with pytest.raises(SourceError, match=r"GET /schemas/ids/1 failed: .*refused"):
        client(f"http://127.0.0.1:{unused_port()}").schema(1)


@pytest.mark.parametrize("body", [b"no json", b"x" * (5 << 20)])
def test_a_registry_response_that_is_too_long_or_no_json_fails_the_task(body: bytes) -> None:
    with (
        registry_with({"/schemas/ids/1": lambda _: (200, body)}) as served,
        pytest.raises(SourceError, match="SCHEMA_REGISTRY_UNAVAILABLE"),
    ):
        client(served.url).schema(1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (schema_answer("int", schemaType="PROTOBUF"), "is of type PROTOBUF: want AVRO"),
        (schema_answer("int", references=[{"name": "x"}]), "has references"),
        (lambda _: (200, b"[]"), "has no schema"),
        (lambda _: (200, b'{"schema": "{"}'), "is no JSON"),
    ],
)
def test_an_unusable_schema_of_the_registry_is_an_unknown_schema_error(
    answer: Callable[[int], Answer], reason: str
) -> None:
    with (
        registry_with({"/schemas/ids/1": answer}) as served,
        pytest.raises(UnknownSchemaError, match=reason),
    ):
        client(served.url).schema(1)


def test_the_newest_schema_of_a_subject_is_found() -> None:
    with registry_with({"/subjects/a%2Fb-value/versions/latest": schema_answer("int")}) as served:
        assert client(served.url + "/").latest("a/b-value") == "int"


@pytest.mark.parametrize(
    ("secret", "sent"), [("u:p", "Basic dTpw"), ("token", "Bearer token"), (None, None)]
)
def test_registry_credentials_are_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, secret: str | None, sent: str | None
) -> None:
    monkeypatch.setenv("REGISTRY_SECRET", secret or "")
    name = None if secret is None else "REGISTRY_SECRET"
    with registry_with({"/schemas/ids/1": schema_answer("int")}) as served:
        registry = client(served.url, credentials_env=name)
        registry.schema(1)

        assert served.credentials == [sent]
        assert "token" not in repr(registry)


def test_an_error_names_a_missing_environment_variable_of_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REGISTRY_SECRET", raising=False)

    with pytest.raises(OptionError, match="no environment variable REGISTRY_SECRET"):
        client("http://127.0.0.1:1", credentials_env="REGISTRY_SECRET").schema(1)


@pytest.mark.parametrize("url", ["localhost:8081", "file:///etc/passwd", "http://"])
def test_a_registry_address_other_than_http_is_refused(url: str) -> None:
    with pytest.raises(OptionError, match="begins with http"):
        RegistrySettings(url=url)


def test_credentials_in_an_address_are_refused_and_not_shown() -> None:
    with pytest.raises(OptionError, match="holds credentials") as caught:
        RegistrySettings(url="https://" + "u:s3cr3t@registry.example")

    assert "s3cr3t" not in str(caught.value)
