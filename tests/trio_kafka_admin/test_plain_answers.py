"""Keys of pages that are described apart from the page."""

from trio_kafka_admin.discovery import page_names
from trio_kafka_admin.json_schema import Schemas
from trio_kafka_admin.plain_answers import PLAIN_ANSWERS


def test_each_plain_answer_is_that_of_a_page() -> None:
    assert set(PLAIN_ANSWERS) <= set(page_names())


def test_types_of_plain_answers_have_a_json_schema() -> None:
    schemas = Schemas()

    for answer in PLAIN_ANSWERS.values():
        for kind in answer.keys.values():
            assert schemas.of(kind)
