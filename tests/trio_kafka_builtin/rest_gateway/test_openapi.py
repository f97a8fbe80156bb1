"""The document by itself: every reference leads somewhere."""

import json
import re

from trio_kafka_builtin.rest_gateway.openapi import document


def test_every_schema_reference_of_the_openapi_document_is_defined() -> None:
    made = document("/v1")
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(made)))

    assert named == made["components"]["schemas"].keys()
    assert made["servers"] == [{"url": "/v1"}]
