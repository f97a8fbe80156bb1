"""The document by itself: every reference leads somewhere."""

import json
import re

from trio_kafka_builtin.rest_gateway.openapi import document


def test_every_schema_reference_of_the_openapi_document_is_defined() -> None:
    openapi = document("/v1")
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(openapi)))

    assert named == openapi["components"]["schemas"].keys()
    assert openapi["servers"] == [{"url": "/v1"}]
