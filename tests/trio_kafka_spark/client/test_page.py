import re
from typing import Any

import pytest

from tests.trio_kafka_spark.client.page import PAGE, page
from trio_kafka_spark.client.options import KAFKA_OPTIONS
from trio_kafka_spark.client.settings import ClientSettings


def test_the_page_of_client_options_is_generated_from_the_option_table() -> None:
    assert PAGE.read_text() == page(), "run: .venv/bin/python -m tests.trio_kafka_spark.client.page"


def test_each_client_option_has_a_single_row_on_the_page() -> None:
    rows = re.findall(r"^\| `kafka\.([a-z0-9.]+)` \|", page(), re.MULTILINE)

    assert sorted(set(rows) - {"sasl.mechanism"}) == sorted(
        KAFKA_OPTIONS.keys() - {"sasl.mechanism"}
    )


def test_the_options_of_the_examples_on_the_page_are_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REPORTS_PASSWORD", "x")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page(), re.DOTALL):
        exec(block, names)
        result = ClientSettings.from_options(names["options"])

    assert result.security.sasl.login().options == {"username": "reports", "password": "x"}
