"""The document by itself: every reference leads somewhere."""

import json
import re

from trio_kafka_builtin.rest_gateway.openapi import document


def test_every_reference_leads_somewhere() -> None:
    made = document("/v1")
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(made)))

    assert named == made["components"]["schemas"].keys()
    assert made["servers"] == [{"url": "/v1"}]
