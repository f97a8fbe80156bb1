"""The gateway's OpenAPI document."""


def document(root: str) -> dict[str, object]:
    """Return OpenAPI 3.0. root: mount path of the app."""
    topic = _parameter("topic", "path")
    partition = _parameter("partition", "path", "integer")
    return {
        "openapi": "3.0.3",
        "info": {"title": "trio-kafka REST gateway", "version": "1"},
        "servers": [{"url": root}],
        "paths": {
            "/topics": {
                "get": _operation(
                    "Names of topics",
                    "200",
                    _parameter("after", "query"),
                    _parameter("limit", "query", "integer"),
                ),
                "post": _operation("Make a topic", "201", body="Topic"),
            },
            "/topics/{topic}": {
                "get": _operation("A topic and its partitions", "200", topic),
                "delete": _operation("Remove a topic", "204", topic),
            },
            "/topics/{topic}/records": {
                "post": _operation("Append records", "200", topic, body="Records")
            },
            "/topics/{topic}/partitions/{partition}/records": {
                "get": _operation(
                    "Records from an offset on",
                    "200",
                    topic,
                    partition,
                    _parameter("offset", "query", "integer"),
                    _parameter("max_bytes", "query", "integer"),
                    _parameter("wait_ms", "query", "integer"),
                    _parameter("format", "query"),
                )
            },
            "/openapi.json": {"get": _operation("This document", "200")},
        },
        "components": {"schemas": {"Topic": _TOPIC, "Records": _RECORDS, "Error": _ERROR}},
    }


def _parameter(name: str, place: str, kind: str = "string") -> dict[str, object]:
    return {"name": name, "in": place, "required": place == "path", "schema": {"type": kind}}


def _operation(
    summary: str, status: str, *parameters: dict[str, object], body: str = ""
) -> dict[str, object]:
    error = {"schema": {"$ref": "#/components/schemas/Error"}}
    operation: dict[str, object] = {
        "summary": summary,
        "parameters": list(parameters),
        "responses": {
            status: {"description": "Done"},
            "default": {"description": "Not done", "content": {"application/json": error}},
        },
    }
    if body:
        schema = {"schema": {"$ref": f"#/components/schemas/{body}"}}
        operation["requestBody"] = {"required": True, "content": {"application/json": schema}}
    return operation


_TOPIC = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "partitions": {"type": "integer"},
        "replication_factor": {"type": "integer"},
        "configs": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
_RECORDS = {
    "type": "object",
    "required": ["records"],
    "additionalProperties": False,
    "properties": {
        "format": {"enum": ["json", "string", "binary"]},
        "acks": {"enum": ["all", -1, 1]},
        "records": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "key": {},
                    "value": {},
                    "partition": {"type": "integer"},
                    "timestamp": {"type": "integer"},
                    "headers": {"type": "array", "items": {"type": "object"}},
                },
            },
        },
    },
}
_ERROR = {
    "type": "object",
    "properties": {
        "error_code": {"type": "integer"},
        "message": {"type": "string"},
        "kafka_error": {"type": "string"},
        "kafka_code": {"type": "integer"},
    },
}
