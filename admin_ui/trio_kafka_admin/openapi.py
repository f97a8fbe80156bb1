"""The OpenAPI document of the admin UI: each page's data as JSON, with its parameters and shape."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from trio_kafka_admin.described_page import DescribedPage
from trio_kafka_admin.json_schema import Schema, Schemas
from trio_kafka_admin.page import Page, Place
from trio_kafka_admin.plain_answers import PLAIN_ANSWERS

DOCUMENT: Final = "openapi.json"
_NUMBERS: Final = frozenset({"limit", "first", "depth"})
_ERROR: Final[Schema] = {
    "type": "object",
    "properties": {"error_code": {"type": "integer"}, "message": {"type": "string"}},
    "required": ["error_code", "message"],
    "additionalProperties": False,
}
_INDEX: Final[Schema] = {
    "type": "object",
    "properties": {
        "pages": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "about": {"type": "string"},
                    "path": {"type": "string"},
                },
                "required": ["title", "about", "path"],
            },
        }
    },
    "required": ["pages"],
}


def openapi_document(pages: Iterable[Page], place: Place) -> dict[str, Any]:
    """Return OpenAPI 3.1. Pages of other plugins are there with data of any shape."""
    schemas = Schemas()
    paths = {
        place.address("api"): _operation("List of the pages.", {}, _INDEX),
        **{
            place.address(f"api/{page.name}"): _operation(
                page.about, _parameters_of(page), _shape_of(page, schemas)
            )
            for page in pages
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Admin UI of trio-kafka",
            "version": "1",
            "description": "What the pages show, as JSON. Read-only. See docs/how-to/admin-ui.md.",
        },
        "paths": paths,
        "components": {"schemas": {**schemas.by_name, "Error": _ERROR}},
    }


def _shape_of(page: Page, schemas: Schemas) -> Schema:
    answer = getattr(page, "answer", None)
    if isinstance(answer, type):
        return schemas.of(answer)
    plain = PLAIN_ANSWERS.get(page.name)
    if plain is None:
        return {"type": "object"}
    # Such a page may add keys: only those that are named here are promised.
    properties = {key: schemas.of(kind) for key, kind in plain.keys.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _parameters_of(page: Page) -> Mapping[str, str]:
    if isinstance(page, DescribedPage):
        return page.parameters
    plain = PLAIN_ANSWERS.get(page.name)
    return {} if plain is None else plain.parameters


def _operation(summary: str, parameters: Mapping[str, str], shape: Schema) -> dict[str, Any]:
    return {
        "get": {
            "summary": summary,
            "parameters": [
                {
                    "name": name,
                    "in": "query",
                    "required": False,
                    "description": about,
                    "schema": {"type": "integer" if name in _NUMBERS else "string"},
                }
                for name, about in parameters.items()
            ],
            "responses": {
                "200": {
                    "description": "The data of the page.",
                    "content": {"application/json": {"schema": shape}},
                },
                "default": {
                    "description": "An error.",
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Error"}}
                    },
                },
            },
        }
    }
