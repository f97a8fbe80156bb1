"""Avro schemas of a schema registry, by the ids that stand in values of Confluent's wire format.

Plain HTTP requests with timeouts and retries. A schema never changes, so it is kept; an id that the
registry does not know is asked again after a while only. A registry that cannot be reached fails
the task, which Spark repeats: no record is put aside for that.
Source: Confluent's wire format (magic byte 0, schema id in four bytes, Avro) and registry API.
"""

import base64
import os
import struct
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.strict_json import parse_json
from trio_kafka_spark.client.errors import OptionError, SourceError

UNREACHABLE: Final = "SCHEMA_REGISTRY_UNAVAILABLE"
MAGIC: Final = 0
_HEAD: Final = struct.Struct(">bI")
_LARGEST: Final = 4 << 20  # bytes of an answer
_UNKNOWN_FOR_S: Final = 60.0
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"


class UnknownSchemaError(Exception):
    """A schema that the registry does not have, or that cannot be used: a reason to put aside."""


def split_id(value: bytes) -> tuple[int, bytes]:
    """Return the schema's id and the Avro data of a value. Raises UnknownSchemaError."""
    if len(value) < _HEAD.size:
        raise UnknownSchemaError(
            f"{len(value)} bytes: want magic byte 0, a schema id of 4 bytes, and Avro data"
        )
    magic, number = _HEAD.unpack_from(value)
    if magic != MAGIC:
        raise UnknownSchemaError(f"magic byte {magic & 0xFF}: want {MAGIC} before a schema id")
    return number, value[_HEAD.size :]


@frozen(kw_only=True)
class RegistrySettings:
    """Address of the registry: a value without secrets, which travels to tasks.

    credentials_env: name of an environment variable, on every machine, that holds `user:password`
        or a bearer token. timeout_s: of one attempt.
    """

    url: str
    credentials_env: str | None = None
    timeout_s: float = 10.0
    attempts: int = 4

    def __attrs_post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise OptionError("registry", "want an address that begins with http:// or https://")
        if parts.username is not None or parts.password is not None:
            raise OptionError(
                "registry",
                "holds credentials, which would be shown in plans; put them into an environment"
                " variable and name it as credentials_env",
            )


@define
class Registry:
    """A client of one registry, with what it has learned."""

    settings: RegistrySettings
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    _schemas: dict[int, object] = field(factory=dict, init=False)
    _unknown: dict[int, tuple[float, str]] = field(factory=dict, init=False)

    def schema(self, number: int) -> Any:
        """Return the Avro schema with this id, parsed from JSON.

        Raises UnknownSchemaError; SourceError if the registry does not answer.
        """
        schema = self._schemas.get(number)
        if schema is not None:
            return schema
        until, reason = self._unknown.get(number, (0.0, ""))
        if self.now() < until:
            raise UnknownSchemaError(reason)
        try:
            schema = _avro(self._get(f"/schemas/ids/{number}"), f"schema {number}")
        except UnknownSchemaError as error:
            self._unknown[number] = (self.now() + _UNKNOWN_FOR_S, str(error))
            raise
        self._schemas[number] = schema
        return schema

    def latest(self, subject: str) -> object:
        """Return the newest schema of a subject. Raises as `schema`."""
        quoted = urllib.parse.quote(subject, safe="")
        return _avro(self._get(f"/subjects/{quoted}/versions/latest"), f"subject {subject}")

    def _get(self, path: str) -> object:
        url = self.settings.url.rstrip("/") + path
        request = urllib.request.Request(url, headers={"Accept": _ACCEPT})  # noqa: S310
        secret = self._secret()
        if secret is not None:
            request.add_header("Authorization", secret)
        reason = ""
        for attempt in range(self.settings.attempts):
            if attempt:
                self.sleep(0.1 * 2**attempt)
            try:
                return self._answer(request, path)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code == 404:
                        raise UnknownSchemaError(f"the registry has no {path}") from None
                    reason = f"status {error.code}"
                if 400 <= error.code < 500 and error.code not in (408, 429):
                    break
            except (OSError, ValueError) as error:
                reason = str(error) or type(error).__name__
        raise SourceError(
            UNREACHABLE,
            f"schema registry {self.settings.url}: GET {path} failed: {reason};"
            " check its address, its credentials, and that tasks can reach it",
        )

    def _answer(self, request: urllib.request.Request, path: str) -> object:
        with urllib.request.urlopen(request, timeout=self.settings.timeout_s) as answer:  # noqa: S310
            body = answer.read(_LARGEST + 1)
        if len(body) > _LARGEST:
            raise ValueError(f"GET {path}: an answer of more than {_LARGEST} bytes")
        return parse_json(body)

    def _secret(self) -> str | None:
        name = self.settings.credentials_env
        if name is None:
            return None
        text = os.environ.get(name)
        if text is None:
            raise OptionError("credentials_env", f"no environment variable {name} on this machine")
        if ":" not in text:
            return f"Bearer {text}"
        return f"Basic {base64.b64encode(text.encode()).decode()}"


def _avro(answer: object, name: str) -> object:
    """Return the schema of a registry's answer. Raises UnknownSchemaError if it is no Avro."""
    if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
        raise UnknownSchemaError(f"{name}: the registry's answer has no schema")
    kind = answer.get("schemaType", "AVRO")
    if kind != "AVRO":
        raise UnknownSchemaError(f"{name} is of type {kind}: want AVRO")
    if answer.get("references"):
        raise UnknownSchemaError(f"{name} has references to other schemas, which are not read")
    try:
        return parse_json(answer["schema"])
    except ValueError:
        raise UnknownSchemaError(f"{name} is no JSON") from None
